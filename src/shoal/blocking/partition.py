"""Partitioning record blocks, each on its own, side by side on all cores."""

import os
from functools import partial

import numpy as np

from shoal.blocking.cells import Integers
from shoal.errors import DataError
from shoal.kernels.standardize import Matrix
from shoal.parallel import Progress, Task, Watch, quiet, side_by_side
from shoal.partitioning.methods import Partitioner

_BATCHES = 8  # pieces of work a core: enough to keep all busy to the end, few enough to follow


def partition_blocks(X: Matrix, k: int, search: Partitioner, blocks: Integers, progress: Progress = quiet) -> Integers:
    """Partition each block of records on its own; labels count on from one block to the next."""
    sizes = np.bincount(blocks)
    if sizes.min() < k:
        raise DataError("k-above-block", k=k, number=int(sizes.min()), counts="record")
    order = np.argsort(blocks, kind="stable")
    ends = np.cumsum(sizes)
    per_batch = len(X) / (_BATCHES * (os.cpu_count() or 1))
    batch_of = ((ends - sizes) // per_batch).astype(np.int64)
    batches = np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(batch_of)) + 1)
    tasks: list[Task[list[Integers]]] = [
        partial(_in_turn, X, k, search, [order[ends[b] - sizes[b] : ends[b]] for b in batch]) for batch in batches
    ]
    found = [labels for batch in side_by_side(tasks, len(X), progress) for labels in batch]
    labels = np.empty(len(X), np.int64)
    formed = 0
    for b, own in enumerate(found):
        labels[order[ends[b] - sizes[b] : ends[b]]] = own + formed
        formed += int(own.max()) + 1
    return labels


def _in_turn(X: Matrix, k: int, search: Partitioner, pieces: list[Integers], *, watch: Watch) -> list[Integers]:
    """Partition some blocks one after the other."""
    if len(pieces) == 1:
        return [search(np.ascontiguousarray(X[pieces[0]]), k, watch=watch)]
    found = []
    for rows in pieces:
        if watch[1] != 0:
            break
        done = int(watch[0])
        found.append(search(np.ascontiguousarray(X[rows]), k, watch=watch))
        watch[0] = done + len(rows)
    return found


def block_records(memory: int, d: int, n: int, workers: int | None = None) -> int:
    """Return how many of n records of d attributes a block may have if blocks may take half of `memory` bytes.

    If all fit in one block, that is n: no blocks, no loss. Otherwise each worker has one block at a time. The other
    half is for the records as they were read, what is written, and the program itself.

    Measured (500,000 to 2,200,000 records, d = 2, 5, 10): MDAV on the tree takes 16 d + 32 bytes a record beside its
    matrix of 8 d; the labels are 8 more.
    """
    room = memory // (2 * (24 * d + 40))
    return n if n <= room else max(1, room // (workers or os.cpu_count() or 1))

"""What blocking cost: the loss with blocks against the loss without, measured where the whole cannot be run."""

from dataclasses import dataclass

import numpy as np

from shoal.blocking.cells import Integers
from shoal.blocking.partition import partition_blocks
from shoal.blocking.seams import repair_seams
from shoal.kernels.standardize import Matrix
from shoal.parallel import Progress, quiet
from shoal.partitioning.methods import Partitioner, group_errors

_REGIONS = 3


@dataclass(frozen=True)
class BlockCost:
    """The sum of squared errors of some records, partitioned in their blocks and without; `records` is how many."""

    records: int
    blocked: float
    whole: float

    @property
    def ratio(self) -> float:
        """How many times the loss without blocks."""
        return self.blocked / self.whole if self.whole > 0 else 1.0


def sampled_cost(
    X: Matrix,
    k: int,
    search: Partitioner,
    blocks: Integers,
    repair: bool = False,
    most: int = 200_000,
    progress: Progress = quiet,
) -> BlockCost:
    """Estimate what blocking cost on up to `most` records.

    If there are no more, it is measured on all. Otherwise three regions, spread evenly over the blocks, are partitioned
    twice: by block, and as if each region were a file of its own. A region is a block with the blocks of the nearest
    centroids, as many as fit and at least one. If two blocks are too many records, they are thinned to what fits (every
    so-manieth in the order of values); the blocks are then smaller than in truth, so the estimate is rather too high.

    The borders between a region and the rest are borders in both partitions. They hide part of the cost: a region of
    two blocks shows one of the several borders of each.

    Parameters
    ----------
    X, k, search, blocks, progress
        As for `partition_blocks`.
    repair
        Whether seams are repaired.
    most
        How many records are partitioned for the estimate.
    """
    regions = [np.arange(len(X))] if len(X) <= most else _regions(X, k, blocks, most // _REGIONS)
    records, blocked, whole = 0, 0.0, 0.0
    for rows in regions:
        piece = np.ascontiguousarray(X[rows])
        _, inside = np.unique(blocks[rows], return_inverse=True)
        labels = partition_blocks(piece, k, search, inside, progress)
        if repair:
            labels = repair_seams(piece, k, labels, inside, progress)
        records += len(rows)
        blocked += sse(piece, labels)
        whole += sse(piece, partition_blocks(piece, k, search, np.zeros(len(rows), np.int64), progress))
    return BlockCost(records, blocked, whole)


def _regions(X: Matrix, k: int, blocks: Integers, most: int) -> list[Integers]:
    sizes = np.bincount(blocks)
    centroids = np.stack([np.bincount(blocks, x) for x in X.T], axis=1) / sizes[:, None]
    regions = []
    for start in np.unique(np.linspace(0, len(sizes) - 1, _REGIONS + 2)[1:-1].astype(np.int64)):
        near = np.argsort(((centroids - centroids[start]) ** 2).sum(axis=1), kind="stable")
        fit = max(2, int(np.searchsorted(np.cumsum(sizes[near]), most, side="right")))
        rows = np.flatnonzero(np.isin(blocks, near[:fit]))
        regions.append(_thinned(X, rows, k, blocks[rows], most))
    return regions


def _thinned(X: Matrix, rows: Integers, k: int, blocks: Integers, most: int) -> Integers:
    """Leave out records of each block evenly, in the order of their values, so that about `most` remain."""
    step = -(-len(rows) // most)
    if step == 1:
        return rows
    kept = []
    for block in np.unique(blocks):
        own = rows[blocks == block]
        own = own[np.lexsort(X[own].T)]
        kept.append(own[:: max(1, min(step, len(own) // k))])
    return np.concatenate(kept)


def sse(X: Matrix, labels: Integers) -> float:
    """Return the sum of squared errors within groups."""
    return float(group_errors(X, labels).sum())

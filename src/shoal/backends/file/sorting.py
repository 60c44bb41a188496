"""Records by block and back: every block has its region of a file, in which its records keep their order."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from shoal.backends.file.spill import Spill
from shoal.kernels.standardize import Matrix

Integers = NDArray[np.int64]


def sort_by_block(
    codes: Spill[np.float64],
    number: Callable[[Matrix], Integers],
    starts: Integers,
    records: Spill[np.float64],
    block_of: Spill[np.int32],
    rows: int,
) -> Iterator[int]:
    """Sort records by block, in batches; yield how many are done.

    Parameters
    ----------
    codes
        The records in the order of the file.
    number
        Returns the blocks of some records, -1 for those that are left out.
    starts
        Where the region of each block begins.
    records, block_of
        What is written: the records by block, and the block of each record.
    rows
        How many records to have in memory.
    """
    ends = starts.copy()
    for start, some in codes.chunks(rows):
        blocks = number(some)
        block_of.write(start, blocks[:, None])
        there = blocks >= 0
        kept, rows_kept = (blocks, some) if there.all() else (blocks[there], some[there])
        sorted_rows = rows_kept[np.argsort(kept, kind="stable")]
        for block, first, last in _runs(kept, len(starts)):
            records.write(int(ends[block]), sorted_rows[first:last])
            ends[block] += last - first
        yield start + len(some)


def in_file_order(
    records: Spill[np.float64], block_of: Spill[np.int32], starts: Integers, rows: int
) -> Iterator[tuple[Matrix, NDArray[np.bool_]]]:
    """Return what the records of all blocks publish in the order of the file again, and which records are left in.

    So many records are read at a time; rows come for those that are left in alone.
    """
    ends = starts.copy()
    for _, column in block_of.chunks(rows):
        there = column[:, 0] >= 0
        blocks = column[there, 0]
        sorted_rows = np.empty((len(blocks), records.width))
        for block, first, last in _runs(blocks, len(starts)):
            records.read_into(int(ends[block]), sorted_rows[first:last])
            ends[block] += last - first
        some = np.empty_like(sorted_rows)
        some[np.argsort(blocks, kind="stable")] = sorted_rows
        yield some, there


def _runs(blocks: NDArray[np.integer], count: int) -> Iterator[tuple[int, int, int]]:
    """Return the blocks that occur, each with its place among the records when these are sorted by block."""
    sizes = np.bincount(blocks, minlength=count)
    last = np.cumsum(sizes)
    for block in np.flatnonzero(sizes).tolist():
        yield block, int(last[block] - sizes[block]), int(last[block])

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
    """Put the records of every block together, so many at a time; yield how many are done.

    Parameters
    ----------
    codes
        The records in the order of the file, wider than `records` where they have the number of their part too.
    number
        Gives the blocks of some records.
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
        sorted_rows = some[np.argsort(blocks, kind="stable"), : records.width]
        for block, first, last in _runs(blocks, len(starts)):
            records.write(int(ends[block]), sorted_rows[first:last])
            ends[block] += last - first
        yield start + len(some)


def in_file_order(
    records: Spill[np.float64], block_of: Spill[np.int32], starts: Integers, rows: int
) -> Iterator[Matrix]:
    """Give the records of all blocks in the order of the file again, so many at a time."""
    ends = starts.copy()
    for _, column in block_of.chunks(rows):
        blocks = column[:, 0]
        sorted_rows = np.empty((len(blocks), records.width))
        for block, first, last in _runs(blocks, len(starts)):
            records.read_into(int(ends[block]), sorted_rows[first:last])
            ends[block] += last - first
        some = np.empty_like(sorted_rows)
        some[np.argsort(blocks, kind="stable")] = sorted_rows
        yield some


def _runs(blocks: NDArray[np.integer], count: int) -> Iterator[tuple[int, int, int]]:
    """Give the blocks that occur, each with its place among the records when these are sorted by block."""
    sizes = np.bincount(blocks, minlength=count)
    last = np.cumsum(sizes)
    for block in np.flatnonzero(sizes).tolist():
        yield block, int(last[block] - sizes[block]), int(last[block])

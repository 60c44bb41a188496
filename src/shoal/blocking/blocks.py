"""What a tree of record blocks knows: the block of a cell, and so of any record."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.blocking.cells import Cells, Contents, Integers
from shoal.kernels.standardize import Matrix


@dataclass(frozen=True)
class RecordBlocks:
    """Record blocks, as unions of cells."""

    cells: Cells
    block: Integers  # (m,) array of int64: the block of each node of the cells; -1 for inner nodes
    sizes: Integers  # (b,) array of int64: how many records each block has
    centroids: Matrix  # (b, d) array: the mean record of each block, to a billionth of the range
    fused: int = 0  # how many leaves had fewer than k records and were fused with another
    # How many blocks have more records than asked for because these cannot be told apart: they lie in one place, or
    # too few others lie beside it. They are partitioned like any other, but need more memory
    crowded: int = 0

    def assign(self, X: Matrix) -> Integers:
        """Return the block of each record, 0, 1, ...; X may be any part of the records that made the tree."""
        blocks: Integers = self.block[self.cells.leaf_of(X)]
        return blocks


def united(
    cells: Cells, inside: Contents, block: NDArray[np.integer], *, fusing: bool = False, crowded: int = 0
) -> RecordBlocks:
    """Merge the leaves of cells into blocks, numbered by the first of their leaves.

    With `fusing`, leaves were fused because they were small: a block has the number of one of its leaves.
    """
    _, first, inverse = np.unique(block, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    by_leaf = rank[inverse]
    number, _ = cells.leaves()
    by_node = np.where(number >= 0, by_leaf[number], -1)
    sizes = np.zeros(len(first), np.int64)
    np.add.at(sizes, by_leaf, inside.counts)
    sums = np.zeros((len(first), inside.sums.shape[1]))
    np.add.at(sums, by_leaf, inside.centroids(cells) * inside.counts[:, None])
    fused = len(block) - len(first) if fusing else 0
    return RecordBlocks(cells, by_node, sizes, sums / sizes[:, None], fused, crowded)


@dataclass(frozen=True)
class PartBlocks:
    """Record blocks of parts, numbered one part after the other."""

    within: list[RecordBlocks | None]  # the blocks of each part; None if it is one
    records: list[int]  # how many each part has

    @property
    def _sizes(self) -> list[Integers]:
        pairs = zip(self.within, self.records, strict=True)
        return [np.array([count]) if blocks is None else blocks.sizes for blocks, count in pairs]

    @property
    def sizes(self) -> Integers:
        """How many records each block has."""
        return np.concatenate(self._sizes)

    @property
    def crowded(self) -> int:
        """How many blocks have more records than asked for: see `RecordBlocks`."""
        return sum(blocks.crowded for blocks in self.within if blocks is not None)

    @property
    def fused(self) -> int:
        """How many leaves were fused with another."""
        return sum(blocks.fused for blocks in self.within if blocks is not None)

    def assign(self, X: Matrix, parts: Integers) -> Integers:
        """Return the block of each record, of which X is the outline and `parts` the number of its part."""
        blocks = (np.cumsum([0, *map(len, self._sizes)])[:-1])[parts]
        for part in np.unique(parts):
            within = self.within[part]
            if within is not None:
                blocks[parts == part] += within.assign(X[parts == part])
        return blocks

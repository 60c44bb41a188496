"""Cells: the records counted in boxes that halve the space, which is all that a tree of record blocks needs to know.

Whatever holds the records (a matrix, a file read in chunks, a cluster) is known here only as a `Gather`: it looks at
every record once and adds up what was seen. What is seen are integers (counts, and places in the box of all records in
30 bits), so the sum does not depend on the order of the rows, on chunks or on the engine, and nor does any tree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PlanError
from shoal.kernels.cells import BITS, count_below, leaves_of, number_leaves, sum_in_leaves
from shoal.kernels.standardize import Matrix

Integers = NDArray[np.int64]

COUNTERS = 20  # a pass keeps about 2^20 counters: 8 MB


class Sum(Protocol):
    """What is seen in some records; the sum of two is what is seen in both."""

    def __add__(self, other: Any, /) -> Self:
        """Add."""


Seen = TypeVar("Seen", bound=Sum)


class Gather(Protocol):
    """One pass over all records: `look` at pieces of any size, in any order, and add up what was seen."""

    def __call__(self, look: Callable[[Matrix], Seen]) -> Seen:
        """Look."""


@dataclass(frozen=True)
class Extent:
    """The box of some records."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __add__(self, other: "Extent") -> "Extent":
        return Extent(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def extent(X: Matrix) -> Extent:
    """Look at the least and largest value of each attribute."""
    return Extent(X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf))


def places_a_unit(box: Extent) -> NDArray[np.float64]:
    """Return how many of the 2^30 places of each attribute are in a unit of it; 0 where all records are equal."""
    width = box.high - box.low
    room = np.finfo(np.float64).max
    return np.divide(2.0**BITS, width, out=np.zeros_like(width), where=width > 0).clip(max=room)


def refuse_small(k: int, most: int) -> None:
    """Refuse blocks that cannot hold a group."""
    if most < k:
        raise PlanError("block-below-k", field="scale.block_size", k=k)


class Cells(Protocol):
    """Cells that hold all records, each of which lies in one leaf."""

    @property
    def low(self) -> NDArray[np.float64]:
        """The least value of each attribute."""

    @property
    def scale(self) -> NDArray[np.float64]:
        """How many places are in a unit of each attribute."""

    def leaves(self) -> tuple[Integers, int]:
        """Return the numbers of leaves, -1 for other nodes, and how many."""

    def leaf_of(self, X: Matrix) -> Integers:
        """Return the node of the leaf in which each record lies."""


@dataclass(frozen=True)
class CellTree:
    """A binary tree of cells; only cells that have records exist."""

    # (d,) arrays: the place of a value x in its attribute is ``(x - low) * scale``, rounded down, in 0 .. 2^30 - 1
    low: NDArray[np.float64]
    scale: NDArray[np.float64]
    # (m, 2) array of int64: the lower and the upper half of each node; -1 where there is none. A leaf has neither
    children: Integers
    # (m,) array of int64: how often the box was halved. A node of depth t is halved across attribute t mod d
    depth: Integers

    def leaves(self) -> tuple[Integers, int]:
        """Return the numbers of leaves along their paths (Morton's order), -1 for inner nodes, and how many."""
        number, count = number_leaves(self.children)
        return number, int(count)

    def leaf_of(self, X: Matrix) -> Integers:
        """Return the node of the leaf in which each record lies."""
        found: Integers = leaves_of(np.ascontiguousarray(X), self.low, self.scale, self.children, self.depth)
        return found


@dataclass(frozen=True)
class Tally:
    """What a pass sees in the open cells: counts in the cells below each, and the extent of its records' places."""

    counts: Integers
    least: Integers
    most: Integers

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.counts + other.counts, np.minimum(self.least, other.least), np.maximum(self.most, other.most))


def tally(tree: CellTree, open_cells: Integers, bits: int, X: Matrix) -> Tally:
    """Look at the records of the open leaves, `bits` halvings further down."""
    slot = np.full(len(tree.children), -1)
    slot[open_cells] = np.arange(len(open_cells))
    args = (tree.low, tree.scale, tree.children, tree.depth, slot, len(open_cells), bits)
    return Tally(*count_below(np.ascontiguousarray(X), *args))


@dataclass(frozen=True)
class Contents:
    """How many records each leaf has, and the sums of their places."""

    counts: Integers
    sums: Integers

    def __add__(self, other: "Contents") -> "Contents":
        return Contents(self.counts + other.counts, self.sums + other.sums)

    def centroids(self, cells: Cells) -> NDArray[np.float64]:
        """Return the mean record of each leaf, to a billionth of the box."""
        width = np.divide(1.0, cells.scale, out=np.zeros_like(cells.scale), where=cells.scale > 0)
        centroids: NDArray[np.float64] = cells.low + (self.sums / self.counts[:, None] + 0.5) * width
        return centroids


def contents(tree: CellTree, X: Matrix) -> Contents:
    """Look at what lies in the leaves."""
    number, leaves = tree.leaves()
    args = (tree.low, tree.scale, tree.children, tree.depth, number, leaves)
    return Contents(*sum_in_leaves(np.ascontiguousarray(X), *args))


def grow(gather: Gather, most: int, whole_levels: bool) -> CellTree:
    """Halve cells until none has more than `most` records.

    A pass over the records counts as many halvings ahead as 2^20 counters allow, so a few passes do, whatever the
    depth. A cell whose records all have the same place cannot be halved and stays as it is. With `whole_levels` all d
    attributes are halved at a time, which is the 2^d-tree; otherwise one after the other.
    """
    box = gather(extent)
    stride = len(box.low) if whole_levels else 1
    tree = CellTree(box.low, places_a_unit(box), np.full((1, 2), -1), np.zeros(1, np.int64))
    open_cells = np.zeros(1, np.int64)
    while len(open_cells) > 0:
        bits = max(1, COUNTERS - int(len(open_cells) - 1).bit_length())
        seen = gather(partial(tally, tree, open_cells, bits))
        divisible = (seen.least < seen.most).any(axis=1)
        tree, open_cells = _halved(tree, open_cells[divisible], seen.counts[divisible], most, stride)
    return tree


def _halved(
    tree: CellTree, open_cells: Integers, counts: Integers, most: int, stride: int
) -> tuple[CellTree, Integers]:
    """Halve the open cells as far as the counts below them tell; return those that must be halved further."""
    pyramid = [counts]
    while pyramid[0].shape[1] > 1:
        pyramid.insert(0, pyramid[0][:, 0::2] + pyramid[0][:, 1::2])
    cells, row, path = open_cells, np.arange(len(open_cells)), np.zeros(len(open_cells), np.int64)
    depths, births = [tree.depth], []
    size, deepest = len(tree.depth), BITS * len(tree.low)
    at_depth = tree.depth[cells]
    for inside, below in zip(pyramid, [*pyramid[1:], None], strict=True):
        halve = (at_depth < deepest) & ((at_depth % stride != 0) | (inside[row, path] > most))
        cells, row, path, at_depth = cells[halve], row[halve], path[halve], at_depth[halve]
        if below is None:  # the counts reach no further
            break
        exists = below[row[:, None], 2 * path[:, None] + [0, 1]] > 0
        parent, side = np.nonzero(exists)
        born = np.full(exists.shape, -1)
        born[exists] = np.arange(size, size + len(parent))
        births.append((cells, born))
        cells, row, path, at_depth = born[exists], row[parent], 2 * path[parent] + side, at_depth[parent] + 1
        depths.append(at_depth)
        size += len(cells)
    children = np.full((size, 2), -1)
    children[: len(tree.children)] = tree.children
    for mothers, born in births:
        children[mothers] = born
    return CellTree(tree.low, tree.scale, children, np.concatenate(depths)), cells

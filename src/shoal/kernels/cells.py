"""Cells of space, halved attribute by attribute: which cell a record lies in, and what a pass over records counts.

A record's place in the box of all data is d integers of 30 bits. A cell is a node of a binary tree: the child taken at
depth t is bit 29 - t // d of attribute t % d. All that is counted is integers, so passes add up in any order.
"""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.stop import stoppable
from shoal.kernels.types import Floats, Integers

BITS = 30  # 2^33 records of 30 bits add up in an int64


def leaves_of(X: Floats, low: Floats, scale: Floats, children: Integers, depth: Integers) -> Integers:
    """Return the leaf of each record; -1 if no record that the tree was grown from lies there."""
    found = np.empty(len(X), np.int64)
    with stoppable() as watch:
        _native.leaves_of(X, low, scale, children, depth, watch, found)
    return found


def count_below(
    X: Floats,
    low: Floats,
    scale: Floats,
    children: Integers,
    depth: Integers,
    slot: Integers,
    open_cells: int,
    bits: int,
) -> tuple[Integers, Integers, Integers]:
    """Count, for each open leaf, the records in each of the 2^bits cells below it, and the extent of their places.

    ``slot[node]`` is the number of an open leaf, -1 for other nodes.
    """
    counts = np.empty((open_cells, 1 << bits), np.int64)
    least, most = np.empty((open_cells, X.shape[1]), np.int64), np.empty((open_cells, X.shape[1]), np.int64)
    with stoppable() as watch:
        _native.count_below(X, low, scale, children, depth, slot, bits, watch, counts, least, most)
    return counts, least, most


def sum_in_leaves(
    X: Floats, low: Floats, scale: Floats, children: Integers, depth: Integers, number: Integers, leaves: int
) -> tuple[Integers, Integers]:
    """Return how many records each leaf has, and the sums of their places; ``number[node]`` numbers the leaves."""
    counts, sums = np.empty(leaves, np.int64), np.empty((leaves, X.shape[1]), np.int64)
    with stoppable() as watch:
        _native.sum_in_leaves(X, low, scale, children, depth, number, watch, counts, sums)
    return counts, sums


def number_leaves(children: Integers) -> tuple[Integers, int]:
    """Return numbers of the leaves, along the path of bits that leads to them (-1 for inner nodes), and how many."""
    number = np.empty(len(children), np.int64)
    return number, _native.number_leaves(children, number)

"""Cells of space, halved attribute by attribute: which cell a record lies in, and what a pass over records counts.

A record's place in the box of all data is d integers of 30 bits. A cell is a node of a binary tree: the child taken at
depth t is bit 29 - t // d of attribute t % d. All that is counted is integers, so passes add up in any order.
"""

import numpy as np
from numba import njit

from shoal.kernels.types import Floats, Integers

BITS = 30  # 2^33 records of 30 bits add up in an int64


@njit(cache=True, nogil=True)
def place_in_box(record: Floats, low: Floats, scale: Floats, place: Integers) -> None:
    """Write where a record lies in the box, each attribute in 0 .. 2^30 - 1."""
    for j in range(record.shape[0]):
        place[j] = min(max(int((record[j] - low[j]) * scale[j]), 0), (1 << BITS) - 1)


@njit(cache=True, nogil=True)
def bit_at(place: Integers, depth: int) -> int:
    """Return which half is taken at a depth."""
    d = place.shape[0]
    return int(place[depth % d] >> (BITS - 1 - depth // d)) & 1


@njit(cache=True, nogil=True)
def descend(place: Integers, children: Integers, depth: Integers) -> int:
    """Return the leaf in which a place lies; -1 if no record that the tree was grown from lies there."""
    node = 0
    while node >= 0 and (children[node, 0] >= 0 or children[node, 1] >= 0):
        node = children[node, bit_at(place, depth[node])]
    return node


@njit(cache=True, nogil=True)
def leaves_of(X: Floats, low: Floats, scale: Floats, children: Integers, depth: Integers) -> Integers:
    """Return the leaf of each record."""
    place = np.empty(X.shape[1], np.int64)
    found = np.empty(X.shape[0], np.int64)
    for i in range(X.shape[0]):
        place_in_box(X[i], low, scale, place)
        found[i] = descend(place, children, depth)
    return found


@njit(cache=True, nogil=True)
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
    d = X.shape[1]
    counts = np.zeros((open_cells, 1 << bits), np.int64)
    least, most = np.full((open_cells, d), 1 << BITS), np.full((open_cells, d), -1)
    place = np.empty(d, np.int64)
    for i in range(X.shape[0]):
        place_in_box(X[i], low, scale, place)
        leaf = descend(place, children, depth)
        at = slot[leaf]
        if at < 0:
            continue
        path = 0
        for t in range(depth[leaf], depth[leaf] + bits):
            path = 2 * path + (bit_at(place, t) if t < BITS * d else 0)
        counts[at, path] += 1
        for j in range(d):
            least[at, j] = min(least[at, j], place[j])
            most[at, j] = max(most[at, j], place[j])
    return counts, least, most


@njit(cache=True, nogil=True)
def sum_in_leaves(
    X: Floats, low: Floats, scale: Floats, children: Integers, depth: Integers, number: Integers, leaves: int
) -> tuple[Integers, Integers]:
    """Return how many records each leaf has, and the sums of their places; ``number[node]`` numbers the leaves."""
    d = X.shape[1]
    counts, sums = np.zeros(leaves, np.int64), np.zeros((leaves, d), np.int64)
    place = np.empty(d, np.int64)
    for i in range(X.shape[0]):
        place_in_box(X[i], low, scale, place)
        leaf = number[descend(place, children, depth)]
        counts[leaf] += 1
        for j in range(d):
            sums[leaf, j] += place[j]
    return counts, sums


@njit(cache=True, nogil=True)
def number_leaves(children: Integers) -> tuple[Integers, int]:
    """Return numbers of the leaves, along the path of bits that leads to them (-1 for inner nodes), and how many."""
    number = np.full(children.shape[0], -1)
    stack = np.empty(children.shape[0] + 1, np.int64)
    stack[0], size, leaves = 0, 1, 0
    while size > 0:
        size -= 1
        node = stack[size]
        if children[node, 0] < 0 and children[node, 1] < 0:
            number[node] = leaves
            leaves += 1
        for side in (1, 0):
            if children[node, side] >= 0:
                stack[size] = children[node, side]
                size += 1
    return number, leaves

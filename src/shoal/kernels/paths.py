"""Paths of records, joined end to end until one goes through all of them."""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.types import Floats, Integers


def savings(X: Floats, depot: Floats, near: Integers, watch: Integers) -> tuple[Integers, Floats]:
    """Return the pairs of near neighbours, each once, and what joining them saves over two trips from the depot.

    s(a, b) = d(depot, a) + d(depot, b) - d(a, b).
    """
    pairs, saved = np.empty((near.size, 2), np.int64), np.empty(near.size)
    size = _native.savings(X, depot, near, watch, pairs, saved)
    return pairs[:size], saved[:size]


def join_ends(pairs: Integers, ranking: Integers, n: int, watch: Integers) -> tuple[Integers, Integers]:
    """Join pairs in the order of the ranking wherever both are ends of different paths.

    Return the up to two records that each is joined to, -1 where there is none; and, for the ends of paths, the record
    at the other end (a record alone is both).
    """
    joined, other = np.empty((n, 2), np.int64), np.empty(n, np.int64)
    _native.join_ends(pairs, ranking, watch, joined, other)
    return joined, other


def nearest_next(X: Floats, other: Integers, start: int, watch: Integers) -> Integers:
    """Walk from `start` over all paths: enter each at the end nearest to where the last one was left.

    ``other[i]`` is the record at the other end of the path of record i (itself, if the record is a path of its own).
    Return the ends by which paths were entered, in order; -1 where the walk was stopped. Ties go to the lowest index.
    """
    entered = np.empty(len(X), np.int64)
    size = _native.nearest_next(X, other, start, watch, entered)
    return entered[:size]


def unrolled(entered: Integers, joined: Integers) -> Integers:
    """Return all records in order, each path from the end by which it was entered to the other."""
    order = np.empty(len(joined), np.int64)
    _native.unrolled(entered, joined, order)
    return order

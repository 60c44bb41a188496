"""Paths of records, joined end to end until one goes through all of them."""

import math

import numpy as np
from numba import njit

from shoal.kernels.kd_tree import fit_boxes, nearest_in_tree, new_search, remove, sort_compactly
from shoal.kernels.packed_records import pack
from shoal.kernels.types import Floats, Integers


@njit(cache=True, nogil=True)
def distance(X: Floats, a: int, b: int) -> float:
    """Return the distance between two records."""
    # Four sums side by side, as one addition need not wait for the last: this is where the time goes.
    d = X.shape[1]
    s, t, u, v = 0.0, 0.0, 0.0, 0.0
    for j in range(0, d - 3, 4):
        s += (X[a, j] - X[b, j]) * (X[a, j] - X[b, j])
        t += (X[a, j + 1] - X[b, j + 1]) * (X[a, j + 1] - X[b, j + 1])
        u += (X[a, j + 2] - X[b, j + 2]) * (X[a, j + 2] - X[b, j + 2])
        v += (X[a, j + 3] - X[b, j + 3]) * (X[a, j + 3] - X[b, j + 3])
    for j in range(d - d % 4, d):
        s += (X[a, j] - X[b, j]) * (X[a, j] - X[b, j])
    return math.sqrt((s + t) + (u + v))


@njit(cache=True, nogil=True)
def savings(X: Floats, depot: Floats, near: Integers, watch: Integers) -> tuple[Integers, Floats]:
    """Return the pairs of near neighbours, each once, and what joining them saves over two trips from the depot.

    s(a, b) = d(depot, a) + d(depot, b) - d(a, b).
    """
    n, m = near.shape
    away = np.zeros(n)
    for a in range(n):
        for j in range(X.shape[1]):
            away[a] += (X[a, j] - depot[j]) * (X[a, j] - depot[j])
        away[a] = math.sqrt(away[a])
    pairs, saved = np.empty((n * m, 2), np.int64), np.empty(n * m)
    size = 0
    for a in range(n):
        if watch[1] != 0:
            break
        for b in near[a]:
            twice = False
            for c in near[b]:
                twice |= c == a
            if a < b or not twice:
                pairs[size, 0], pairs[size, 1] = a, b
                saved[size] = away[a] + away[b] - distance(X, a, b)
                size += 1
    return pairs[:size], saved[:size]


@njit(cache=True, nogil=True)
def join_ends(pairs: Integers, ranking: Integers, n: int, watch: Integers) -> tuple[Integers, Integers]:
    """Join pairs in the order of the ranking wherever both are ends of different paths.

    Return the up to two records that each is joined to, -1 where there is none; and, for the ends of paths, the record
    at the other end (a record alone is both).
    """
    joined, other = np.full((n, 2), -1), np.arange(n)
    for at in ranking:
        if watch[1] != 0:
            break
        a, b = pairs[at]
        if joined[a, 1] >= 0 or joined[b, 1] >= 0 or other[a] == b:
            continue
        joined[a, 0 if joined[a, 0] < 0 else 1] = b
        joined[b, 0 if joined[b, 0] < 0 else 1] = a
        start, stop = other[a], other[b]
        other[start], other[stop] = stop, start
    return joined, other


@njit(cache=True, nogil=True)
def nearest_next(X: Floats, other: Integers, start: int, watch: Integers) -> Integers:
    """Walk from `start` over all paths: enter each at the end nearest to where the last one was left.

    ``other[i]`` is the record at the other end of the path of record i (itself, if the record is a path of its own).
    Return the ends by which paths were entered, in order; -1 where the walk was stopped. Ties go to the lowest index.
    """
    n = X.shape[0]
    entered = np.full(n, -1)
    left, place = np.ones(n, np.bool_), np.empty(n, np.int64)
    near, nearest, search = np.empty(1), np.empty(1, np.int64), new_search()
    x, count, size = start, n, 0
    while count > 0:
        # As in MDAV, a tree serves until half of its records are gone.
        record = np.flatnonzero(left)
        rows = X[record]
        sort_compactly(rows, record)
        store = pack(rows, record, place, True)
        fit_boxes(store)
        enough = count // 2
        begin = 0  # any lane will do to begin the search in a new tree
        while count > enough:
            if watch[1] != 0:
                return entered
            if size > 0:
                nearest_in_tree(store, begin, X[x], near, nearest, search)
                x = nearest[0]
            entered[size] = x
            size += 1
            remove(store, place[x])
            left[x] = False
            count -= 1
            if other[x] != x:
                x = other[x]
                remove(store, place[x])
                left[x] = False
                count -= 1
            begin = place[x]
            watch[0] = n - count
    return entered[:size]


@njit(cache=True, nogil=True)
def unrolled(entered: Integers, joined: Integers) -> Integers:
    """Return all records in order, each path from the end by which it was entered to the other."""
    order = np.empty(joined.shape[0], np.int64)
    size = 0
    for x in entered:
        before, here = -1, x
        while here >= 0:
            order[size] = here
            size += 1
            ahead = joined[here, 0] if joined[here, 0] != before else joined[here, 1]
            before, here = here, ahead
    return order

"""The points nearest to some others, found in a k-d tree; ties go to the lowest index."""

import numpy as np
from numba import njit

from shoal.kernels.kd_tree import fit_boxes, nearest_in_tree, new_search, remove, sort_compactly
from shoal.kernels.packed_records import Blocks, pack, sort_heap
from shoal.kernels.types import Floats, Integers


@njit(cache=True, nogil=True)
def planted(points: Floats) -> tuple[Blocks, Integers]:
    """Return a tree of points, and in which lane each is."""
    record, place = np.arange(points.shape[0]), np.empty(points.shape[0], np.int64)
    rows = points.copy()
    sort_compactly(rows, record)
    store = pack(rows, record, place, True)
    fit_boxes(store)
    return store, place


@njit(cache=True, nogil=True)
def nearest_points(points: Floats, asked: Floats, begin: Integers, m: int, watch: Integers) -> Integers:
    """Return the m points nearest to each row of `asked`, in order; -1 where there are fewer.

    ``begin[i]`` is a point from which the search for row i starts: the nearer it is, the sooner the search ends.
    """
    store, place = planted(points)
    search = new_search()
    near, nearest = np.empty(m), np.empty(m, np.int64)
    found = np.full((asked.shape[0], m), -1)
    for i in range(asked.shape[0]):
        if watch[1] != 0:
            break
        size = nearest_in_tree(store, place[begin[i]], asked[i], near, nearest, search)
        sort_heap(near[:size], nearest[:size])
        found[i, :size] = nearest[:size]
        watch[0] = i + 1
    return found


@njit(cache=True, nogil=True)
def fuse_small(centroids: Floats, counts: Integers, k: int) -> Integers:
    """Fuse leaves of fewer than k records, in their order, with the one of the nearest centroid that is still there.

    Return for each leaf the one that it ends up in. One pass will do: a leaf that came before and is still there has k.
    """
    leaves = centroids.shape[0]
    store, place = planted(centroids)
    search = new_search()
    near, nearest = np.empty(1), np.empty(1, np.int64)
    size, block = counts.copy(), np.arange(leaves)
    left = leaves
    for i in range(leaves):
        if size[i] < k and left > 1:
            remove(store, place[i])
            nearest_in_tree(store, place[i], centroids[i], near, nearest, search)
            block[i] = nearest[0]
            size[nearest[0]] += size[i]
            left -= 1
    for i in range(leaves):
        while block[block[i]] != block[i]:
            block[i] = block[block[i]]
    return block

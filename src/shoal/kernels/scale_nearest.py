"""The points nearest to some others, found in a k-d tree; ties go to the lowest index."""

import numpy as np
from numba import njit

from shoal.kernels.blocks import pack
from shoal.kernels.tree import fit_boxes, nearest_in_tree, new_search, sort_compactly
from shoal.kernels.types import Floats, Integers


@njit(cache=True, nogil=True)
def nearest_points(points: Floats, asked: Floats, begin: Integers, m: int, watch: Integers) -> Integers:
    """Return the m points nearest to each row of `asked`, in order; -1 where there are fewer.

    ``begin[i]`` is a point from which the search for row i starts: the nearer it is, the sooner the search ends.
    """
    count = points.shape[0]
    record, place = np.arange(count), np.empty(count, np.int64)
    rows = points.copy()
    sort_compactly(rows, record)
    store = pack(rows, record, place, True)
    fit_boxes(store)
    search = new_search()
    near, nearest = np.empty(m), np.empty(m, np.int64)
    found = np.full((asked.shape[0], m), -1)
    for i in range(asked.shape[0]):
        if watch[1] != 0:
            break
        size = nearest_in_tree(store, place[begin[i]], asked[i], near, nearest, search)
        for at in range(size - 1, -1, -1):  # the worst is on top of the heap: take it out, and find the next worst
            worst = 0
            for other in range(1, at + 1):
                if near[other] > near[worst] or (near[other] == near[worst] and nearest[other] > nearest[worst]):
                    worst = other
            found[i, at] = nearest[worst]
            near[worst], nearest[worst] = near[at], nearest[at]
        watch[0] = i + 1
    return found

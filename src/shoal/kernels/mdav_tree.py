"""MDAV by searching a k-d tree: the same groups as by scanning, in about n log n while the attributes are few."""

import numpy as np
from numba import njit

from shoal.kernels.exact_sum import add_record, digit_range, mean_of, sum_of
from shoal.kernels.kd_tree import farthest_in_tree, fit_boxes, nearest_in_tree, new_search, remove, sort_compactly
from shoal.kernels.packed_records import copy_point, farthest_from_mean, pack, remaining, restart
from shoal.kernels.simd import LANES
from shoal.kernels.types import Floats, Integers


@njit(cache=True, nogil=True)
def mdav_tree(X: Floats, k: int, watch: Integers) -> Integers:
    """Return the labels of MDAV-generic; see `shoal.partitioning.mdav`."""
    n, d = X.shape
    bits = X.view(np.int64)
    first, digits = digit_range(bits)
    total = sum_of(bits, first, digits)
    labels = np.full(n, -1)
    place = np.empty(n, np.int64)
    mean, point, centre, travelled = np.empty(d), np.empty(d), np.empty(d), np.empty(2)
    near, nearest = np.empty(k - 1), np.empty(k - 1, np.int64)
    distance, seen, search = np.empty(LANES), np.empty(LANES * LANES, np.int64), new_search()
    count, formed = n, 0
    while count >= 2 * k:
        # A tree serves until half of its records are gone; then the rest is packed into a new one.
        rows, record = remaining(X, labels, count)
        sort_compactly(rows, record)
        store = pack(rows, record, place, True)
        fit_boxes(store)
        mean_of(total, first, count, mean)
        restart(store, mean, centre, travelled, distance)
        enough = max(2 * k, count // 2)
        pair = False
        while count >= enough or pair:
            if watch[1] != 0:
                return labels
            if pair:
                x = farthest_in_tree(store, point, centre, travelled[0], search)
                pair = False
            else:
                mean_of(total, first, count, mean)
                x = store.record[farthest_from_mean(store, mean, centre, travelled, distance, seen)]
                pair = count >= 3 * k
            copy_point(X[x], point)
            remove(store, place[x])
            labels[x] = formed
            add_record(total, first, bits[x], -1)
            if k > 1:
                nearest_in_tree(store, place[x], point, near, nearest, search)
            for y in nearest:
                labels[y] = formed
                add_record(total, first, bits[y], -1)
                remove(store, place[y])
            formed += 1
            count -= k
            watch[0] = n - count
    for i in range(n):
        if labels[i] < 0:
            labels[i] = formed
    watch[0] = n
    return labels

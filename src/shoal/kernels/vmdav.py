"""V-MDAV on the tree: groups that grow while their next record is much nearer to them than to the others."""

import math

import numpy as np
from numba import njit

from shoal.kernels.exact_sum import add_record, digit_range, mean_of, sum_of
from shoal.kernels.kd_tree import fit_boxes, nearest_in_tree, new_search, remove, sort_compactly
from shoal.kernels.packed_records import farthest_from_centre, measure_from, pack, remaining
from shoal.kernels.simd import LANES
from shoal.kernels.types import Floats, Integers


@njit(cache=True, nogil=True)
def nearest_other(near: Floats, nearest: Integers, found: int, x: int) -> tuple[float, int]:
    """Return the least (distance, record) among those found, x apart; infinity and -1 if there is none."""
    best, other = np.inf, -1
    for at in range(found):
        if nearest[at] != x and (other < 0 or near[at] < best or (near[at] == best and nearest[at] < other)):
            best, other = near[at], nearest[at]
    return best, other


@njit(cache=True, nogil=True)
def attach(X: Floats, labels: Integers, order: Integers, first: int, digits: int) -> None:
    """Assign each record without a label to the group with the nearest mean; `order` has the others, group by group."""
    d = X.shape[1]
    bits = X.view(np.int64)
    left = np.empty(X.shape[0] - order.shape[0], np.int64)
    size = 0
    for i in range(X.shape[0]):
        if labels[i] < 0:
            left[size] = i
            size += 1
    best, chosen = np.full(size, np.inf), np.zeros(size, np.int64)
    mean = np.empty(d)
    total = np.zeros((d, digits), np.int64)
    start = 0
    while start < order.shape[0] and size > 0:
        stop = start
        total *= 0
        while stop < order.shape[0] and labels[order[stop]] == labels[order[start]]:
            add_record(total, first, bits[order[stop]], 1)
            stop += 1
        mean_of(total, first, stop - start, mean)
        for at in range(size):
            distance = 0.0
            for j in range(d):
                distance += (X[left[at], j] - mean[j]) * (X[left[at], j] - mean[j])
            if distance < best[at]:
                best[at], chosen[at] = distance, labels[order[start]]
        start = stop
    for at in range(size):
        labels[left[at]] = chosen[at]


@njit(cache=True, nogil=True)
def vmdav_tree(X: Floats, k: int, gain: float, watch: Integers) -> Integers:
    """Return the labels of V-MDAV; see `shoal.partitioning.vmdav`."""
    n, d = X.shape
    bits = X.view(np.int64)
    first, digits = digit_range(bits)
    labels = np.full(n, -1)
    place, order = np.empty(n, np.int64), np.empty(n, np.int64)
    centroid = np.empty(d)
    mean_of(sum_of(bits, first, digits), first, n, centroid)
    near, nearest = np.empty(k + 1), np.empty(k + 1, np.int64)
    # The nearest record outside the group, for each of its members: measured once, and again only when that one joins.
    gap, beyond = np.empty(2 * k), np.empty(2 * k, np.int64)
    distance, seen, search = np.empty(LANES), np.empty(LANES * LANES, np.int64), new_search()
    assigned, formed = 0, 0
    while n - assigned >= k:
        rows, record = remaining(X, labels, n - assigned)
        sort_compactly(rows, record)
        store = pack(rows, record, place, True)
        fit_boxes(store)
        measure_from(store, centroid, distance)
        enough = max(k, (n - assigned) // 2)
        while n - assigned >= enough:
            if watch[1] != 0:
                return labels
            start = assigned
            lane, _, _ = farthest_from_centre(store, centroid, 0.0, distance, seen)
            x = store.record[lane]
            remove(store, lane)
            order[assigned] = x
            if k > 1:
                nearest_in_tree(store, lane, X[x], near[: k - 1], nearest[: k - 1], search)
            for at in range(k - 1):
                order[assigned + 1 + at] = nearest[at]
                remove(store, place[nearest[at]])
            assigned += k
            for at in range(k):
                y = order[start + at]
                found = nearest_in_tree(store, place[y], X[y], near[:1], nearest[:1], search)
                gap[at], beyond[at] = nearest_other(near, nearest, found, -1)
            while assigned - start < 2 * k - 1 and assigned < n:
                d_in, x = nearest_other(gap, beyond, assigned - start, -1)
                found = nearest_in_tree(store, place[x], X[x], near[:2], nearest[:2], search)
                d_out, other = nearest_other(near, nearest, found, x)
                if not math.sqrt(d_in) < gain * math.sqrt(d_out):
                    break
                remove(store, place[x])
                order[assigned] = x
                gap[assigned - start], beyond[assigned - start] = d_out, other
                assigned += 1
                for at in range(assigned - start - 1):
                    if beyond[at] == x:
                        y = order[start + at]
                        found = nearest_in_tree(store, place[y], X[y], near[:1], nearest[:1], search)
                        gap[at], beyond[at] = nearest_other(near, nearest, found, -1)
            for at in range(start, assigned):
                labels[order[at]] = formed
            formed += 1
            watch[0] = assigned
    attach(X, labels, order[:assigned], first, digits)
    watch[0] = n
    return labels

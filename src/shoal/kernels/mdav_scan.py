"""MDAV by scanning the remaining records: the quickest way while they are few, or their attributes many.

A scan measures eight records at once and finds, in one pass, the nearest records of a centre and the farthest one. The
record farthest from the mean needs no scan (`farthest_from_centre`), so that a group costs one pass.
"""

import numpy as np
from numba import njit

from shoal.kernels.exact_sum import add_record, digit_range, mean_of, sum_of
from shoal.kernels.packed_records import Blocks, copy_point, erase, farthest_from_mean, offer, pack, remaining, restart
from shoal.kernels.simd import LANES, lanes_at_least, lanes_at_most, lowest_lane, squared_distances
from shoal.kernels.types import Floats, Integers


@njit(cache=True, nogil=True)
def scan(store: Blocks, point: Floats, near: Floats, nearest: Integers, distance: Floats) -> int:
    """Fill the heap of the records nearest to a point, and return the farthest record."""
    d = store.values.shape[1]
    size, limit = 0, np.inf
    best, farthest = -1.0, -1
    if nearest.shape[0] == 0:
        limit = -1.0
    for block in range(store.values.shape[0]):
        squared_distances(store.values, block * d * LANES, point, distance)
        mask = lanes_at_most(distance, limit)
        while mask != 0:
            lane = lowest_lane(mask)
            mask &= mask - 1
            size = offer(distance[lane], store.record[block * LANES + lane], near, nearest, size)
            if size == nearest.shape[0]:
                limit = near[0]
        mask = lanes_at_least(distance, best)
        while mask != 0:
            lane = lowest_lane(mask)
            mask &= mask - 1
            record = store.record[block * LANES + lane]
            if distance[lane] > best or (distance[lane] == best and record < farthest):
                best, farthest = distance[lane], record
    return farthest


@njit(cache=True, nogil=True)
def mdav_scan(X: Floats, k: int, watch: Integers) -> Integers:
    """Return the labels of MDAV-generic; see `shoal.partitioning.mdav`."""
    n, d = X.shape
    bits = X.view(np.int64)
    first, digits = digit_range(bits)
    total = sum_of(bits, first, digits)
    labels = np.full(n, -1)
    place = np.empty(n, np.int64)
    mean, point, centre, travelled = np.empty(d), np.empty(d), np.empty(d), np.empty(2)
    near, nearest = np.empty(k - 1), np.empty(k - 1, np.int64)
    distance, seen = np.empty(LANES), np.empty(LANES * LANES, np.int64)
    count, formed = n, 0
    while count >= 2 * k:
        # Pack the remaining records together again as soon as an eighth of the lanes would be dead.
        rows, record = remaining(X, labels, count)
        store = pack(rows, record, place, False)
        mean_of(total, first, count, mean)
        restart(store, mean, centre, travelled, distance)
        enough = max(2 * k, count - count // LANES)
        opposite = -1  # x_s, known as soon as the group of x_r has been found by a scan from x_r
        while count >= enough or opposite >= 0:
            if watch[1] != 0:
                return labels
            if opposite >= 0:
                x, opposite, pair = opposite, -1, False
            else:
                mean_of(total, first, count, mean)
                x = store.record[farthest_from_mean(store, mean, centre, travelled, distance, seen)]
                pair = count >= 3 * k
            copy_point(X[x], point)
            erase(store, place[x])
            farthest = scan(store, point, near, nearest, distance)
            labels[x] = formed
            add_record(total, first, bits[x], -1)
            for y in nearest:
                labels[y] = formed
                add_record(total, first, bits[y], -1)
                erase(store, place[y])
            formed += 1
            count -= k
            watch[0] = n - count
            if pair:
                # If even the farthest was taken into the group, all that are left are as far: look again without it.
                opposite = farthest if labels[farthest] < 0 else scan(store, point, near[:0], nearest[:0], distance)
    for i in range(n):
        if labels[i] < 0:
            labels[i] = formed
    watch[0] = n
    return labels

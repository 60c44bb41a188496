"""MDAV-generic, three searches for the same groups: a scan, a k-d tree, and a scan of attributes of every type.

A scan measures eight records at once and finds, in one pass, the nearest records of a centre and the farthest one: the
quickest way while records are few, or their attributes many. The record farthest from the mean needs no scan
(`farthest_from_mean`), so that a group costs one pass. A tree finds the same groups in about n log n while the
attributes are few. Where values are missing, a missing one is as far from every value, so that distances have no
triangle inequality that a tree could use, and all is scanned.
"""

import numpy as np
from numba import njit

from shoal.kernels import _native
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.mixed_average import average_record, take_away, tally_all
from shoal.kernels.packed_records import copy_point, offer
from shoal.kernels.simd import LANES, lanes_above, lanes_below, lowest_lane, mixed_distances
from shoal.kernels.types import Floats, Integers


def mdav_scan(X: Floats, k: int, watch: Integers) -> Integers:
    """Return the labels of MDAV-generic; see `shoal.partitioning.mdav`."""
    labels = np.empty(len(X), np.int64)
    _native.mdav_scan(X, k, watch, labels)
    return labels


def mdav_tree(X: Floats, k: int, watch: Integers) -> Integers:
    """Return the labels of MDAV-generic; see `shoal.partitioning.mdav`."""
    labels = np.empty(len(X), np.int64)
    _native.mdav_tree(X, k, watch, labels)
    return labels


@njit(cache=True, nogil=True)
def pack_remaining(values: Floats, labels: Integers, count: int, place: Integers) -> tuple[Floats, Integers]:
    """Lay out the `count` records without a label in blocks of eight; note in `place` in which lane each is.

    Returns the blocks, (blocks, 1 + attributes, 8), whose first row is 0, or NaN where no record is; and the record in
    each lane. Records keep their order, on which `scan_mixed` relies.
    """
    n, d = values.shape
    blocks = np.full(((count + LANES - 1) // LANES, 1 + d, LANES), np.nan)
    record = np.empty(count, np.int64)
    lane = 0
    for i in range(n):
        if labels[i] < 0:
            blocks[lane // LANES, 0, lane % LANES] = 0.0
            for j in range(d):
                blocks[lane // LANES, 1 + j, lane % LANES] = values[i, j]
            record[lane] = i
            place[i] = lane
            lane += 1
    return blocks, record


@njit(cache=True, nogil=True)
def scan_mixed(
    blocks: Floats,
    record: Integers,
    point: Floats,
    space: EncodedMatrix,
    near: Floats,
    nearest: Integers,
    distance: Floats,
) -> int:
    """Fill the heap of the records nearest to a point, and return the farthest record.

    Records come in the order of their indices, so that of several as near or as far the first to come stays.
    """
    size, limit = 0, np.inf
    best, farthest = -1.0, -1
    if nearest.shape[0] == 0:
        limit = -1.0
    for block in range(blocks.shape[0]):
        mixed_distances(blocks, block * blocks.shape[1] * LANES, point, space.kinds, space.apart, distance)
        mask = lanes_below(distance, limit)
        while mask != 0:
            lane = lowest_lane(mask)
            mask &= mask - 1
            size = offer(distance[lane], record[block * LANES + lane], near, nearest, size)
            if size == nearest.shape[0]:
                limit = near[0]
        mask = lanes_above(distance, best)
        while mask != 0:
            lane = lowest_lane(mask)
            mask &= mask - 1
            if distance[lane] > best:
                best, farthest = distance[lane], record[block * LANES + lane]
    return farthest


@njit(cache=True, nogil=True)
def mdav_generic(space: EncodedMatrix, k: int, watch: Integers) -> Integers:
    """Return the labels of MDAV-generic; see `shoal.partitioning.mdav`. No squared distance may overflow."""
    n, d = space.values.shape
    tally = tally_all(space)
    labels = np.full(n, -1)
    place = np.empty(n, np.int64)
    point, distance = np.empty(d), np.empty(LANES)
    near, nearest = np.empty(k - 1), np.empty(k - 1, np.int64)
    count, formed = n, 0
    while count >= 2 * k:
        # Pack the remaining records together again as soon as an eighth of the lanes would be dead.
        blocks, record = pack_remaining(space.values, labels, count, place)
        enough = max(2 * k, count - count // LANES)
        opposite = -1  # x_s, known as soon as the group of x_r has been found by a scan from x_r
        while count >= enough or opposite >= 0:
            if watch[1] != 0:
                return labels
            if opposite >= 0:
                x, opposite, pair = opposite, -1, False
            else:
                average_record(tally, space, count, point)
                x = scan_mixed(blocks, record, point, space, near[:0], nearest[:0], distance)
                pair = count >= 3 * k
            copy_point(space.values[x], point)
            blocks[place[x] // LANES, 0, place[x] % LANES] = np.nan
            farthest = scan_mixed(blocks, record, point, space, near, nearest, distance)
            labels[x] = formed
            take_away(tally, space, x)
            for y in nearest:
                labels[y] = formed
                take_away(tally, space, int(y))
                blocks[place[y] // LANES, 0, place[y] % LANES] = np.nan
            formed += 1
            count -= k
            watch[0] = n - count
            if pair:
                # If even the farthest was taken into the group, all that are left are as far: look again without it.
                if labels[farthest] >= 0:
                    farthest = scan_mixed(blocks, record, point, space, near[:0], nearest[:0], distance)
                opposite = farthest
    for i in range(n):
        if labels[i] < 0:
            labels[i] = formed
    watch[0] = n
    return labels

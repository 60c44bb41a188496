"""Records in blocks of eight, and the farthest of them from a centre that moves little.

Inside a block the values lie attribute by attribute, so that eight distances are computed at once. A record is removed
by making its lane NaN. Blocks are the leaves of an eight-ary heap: the children of node g are 8g + 1 .. 8g + 8, and
block b is node (number of inner nodes) + b. What a node knows of its eight children lies side by side as well.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.simd import LANES, farthest_bounds, lanes_at_least, largest, lowest_lane, squared_distances
from shoal.kernels.types import Floats, Integers

# Relative error that no chain of roundings in this file reaches, and one that covers squares which underflow.
SLACK = 1e-12
UNDERFLOW = 1e-160


class Blocks(NamedTuple):
    """Records in blocks of eight; arrays only, so that kernels can take it apart."""

    values: Floats  # (blocks, attributes, 8): NaN where no record is
    record: Integers  # (8 * blocks,): the record in each lane, -1 where there never was one
    keys: Floats  # (inner nodes, 8): how far from the centre a child's records can be, see `farthest_from_centre`
    boxes: Floats  # (inner nodes, attributes, low and high, 8): of the children's records; no nodes if only scanned
    lowest: Integers  # (inner nodes, 8): no child's record has a lower index; no nodes if only scanned


@njit(cache=True, nogil=True)
def remaining(X: Floats, labels: Integers, count: int) -> tuple[Floats, Integers]:
    """Return the `count` records without a label, and which they are."""
    # Loops, here and in copy_point, because numba takes seconds to compile the array expressions.
    rows = np.empty((count, X.shape[1]))
    record = np.empty(count, np.int64)
    at = 0
    for i in range(X.shape[0]):
        if labels[i] < 0:
            for j in range(X.shape[1]):
                rows[at, j] = X[i, j]
            record[at] = i
            at += 1
    return rows, record


@njit(cache=True, nogil=True)
def copy_point(source: Floats, target: Floats) -> None:
    """Copy the values of a record or a mean."""
    for j in range(source.shape[0]):
        target[j] = source[j]


@njit(cache=True, nogil=True)
def erase(store: Blocks, lane: int) -> None:
    """Take the record out of a lane."""
    for j in range(store.values.shape[1]):
        store.values[lane // LANES, j, lane % LANES] = np.nan


@njit(cache=True, nogil=True)
def pack(rows: Floats, record: Integers, place: Integers, searched: bool) -> Blocks:
    """Lay out records in blocks, in the order given, and note in `place` in which lane each is.

    Room for boxes is made if the blocks are to be searched as a tree; `fit_boxes` fills it.
    """
    n, d = rows.shape
    blocks = (n + LANES - 1) // LANES
    values = np.full((blocks, d, LANES), np.nan)
    lanes = np.full(blocks * LANES, -1)
    for i in range(n):
        for j in range(d):
            values[i // LANES, j, i % LANES] = rows[i, j]
        lanes[i] = record[i]
        place[record[i]] = i
    inner, width = 1, LANES
    while width < blocks:
        inner += width
        width *= LANES
    boxed = inner if searched else 0
    boxes, lowest = np.empty((boxed, d, 2, LANES)), np.empty((boxed, LANES), np.int64)
    return Blocks(values, lanes, np.empty((inner, LANES)), boxes, lowest)


@njit(cache=True, nogil=True)
def measure_from(store: Blocks, centre: Floats, distance: Floats) -> None:
    """Set the key of every node to the distance from the centre to the farthest record below it."""
    d = store.values.shape[1]
    used = store.values.shape[0]
    first = store.keys.shape[0]
    while first > 0:
        above = (first - 1) // LANES
        for at in range(used):
            if first == store.keys.shape[0]:
                squared_distances(store.values, at * d * LANES, centre, distance)
                store.keys[above + at // LANES, at % LANES] = math.sqrt(largest(distance, 0))
            else:
                store.keys[above + at // LANES, at % LANES] = largest(store.keys, (first + at) * LANES)
        for at in range(used, -(-used // LANES) * LANES):
            store.keys[above + at // LANES, at % LANES] = -np.inf
        used = -(-used // LANES)
        first = above


@njit(cache=True, nogil=True)
def farthest_from_centre(
    store: Blocks, centre: Floats, travelled: float, distance: Floats, seen: Integers
) -> tuple[int, float, int]:
    """Return the lane of the record farthest from the centre (lowest index on ties), its squared distance, the work.

    What makes it fast: a key is the distance measured at some time, less the way `travelled` by the centre up to then.
    The centre cannot have moved away from a record by more than it has travelled since, so key + travelled bounds the
    distance from above for ever, whatever is removed. Only blocks whose bound reaches the best are measured again.
    MDAV's mean hardly moves while the records around it are peeled off from outside, so these are few.

    The work is the number of blocks measured. `distance` and `seen` are scratch: eight values, and one a level.
    """
    d = store.values.shape[1]
    inner = store.keys.shape[0]
    best, chosen, chosen_record = -1.0, -1, -1
    measured = 0
    limit, away = -np.inf, travelled * (1.0 + SLACK) + UNDERFLOW
    node, level = 0, 0
    seen[0] = 0
    while True:
        lane, key = -1, -np.inf
        for at in range(LANES):
            if store.keys[node, at] > key and not (seen[level] >> at) & 1:
                lane, key = at, store.keys[node, at]
        if lane < 0 or key < limit:
            if node == 0:
                return chosen, best, measured
            above = (node - 1) // LANES
            store.keys[above, (node - 1) % LANES] = largest(store.keys, node * LANES)
            node = above
            level -= 1
            continue
        seen[level] |= 1 << lane
        if store.boxes.shape[0] > 0 and store.lowest[node, lane] > chosen_record >= 0:
            # No tie below can win. Without this test, a search among many duplicates would enter every one of them.
            farthest_bounds(store.boxes, store.keys, node, centre, centre, away, distance)
            if not distance[lane] > best:
                continue
        child = LANES * node + 1 + lane
        if child < inner:
            node = child
            level += 1
            seen[level] = 0
            continue
        block = child - inner
        squared_distances(store.values, block * d * LANES, centre, distance)
        measured += 1
        far = largest(distance, 0)
        store.keys[node, lane] = math.sqrt(far) - travelled if far >= 0.0 else far
        if far < best:
            continue
        mask = lanes_at_least(distance, far)
        while mask != 0:
            at = block * LANES + lowest_lane(mask)
            mask &= mask - 1
            if far > best or store.record[at] < chosen_record:
                best, chosen, chosen_record = far, at, store.record[at]
        radius = math.sqrt(best)
        limit = radius - travelled - SLACK * (radius + travelled) - UNDERFLOW


@njit(cache=True, nogil=True)
def step_length(before: Floats, after: Floats) -> float:
    """Return the distance between two points, rounded up."""
    total = 0.0
    for j in range(before.shape[0]):
        total += (after[j] - before[j]) * (after[j] - before[j])
    return math.sqrt(total) * (1.0 + SLACK) + UNDERFLOW


@njit(cache=True, nogil=True)
def restart(store: Blocks, mean: Floats, centre: Floats, travelled: Floats, distance: Floats) -> None:
    """Measure all records from the mean, where the way of `farthest_from_mean` begins."""
    copy_point(mean, centre)
    travelled[0], travelled[1] = 0.0, 0.0
    measure_from(store, centre, distance)


@njit(cache=True, nogil=True)
def farthest_from_mean(
    store: Blocks, mean: Floats, centre: Floats, travelled: Floats, distance: Floats, seen: Integers
) -> int:
    """Return the lane of the record farthest from the mean.

    Between calls, `centre` is where the mean was, and `travelled` the way it has come and the work done since all was
    measured; `restart` begins again.
    """
    # Rounded up, so that the difference of two readings is never less than the way between them.
    travelled[0] = (travelled[0] + step_length(centre, mean)) * (1.0 + 4.5e-16)
    copy_point(mean, centre)
    lane, best, measured = farthest_from_centre(store, centre, travelled[0], distance, seen)
    travelled[1] += measured
    # The error of a bound grows with the way: after an outlier has gone, measure afresh (but not all the time).
    if travelled[0] > 1e3 * math.sqrt(best) and travelled[1] >= store.values.shape[0]:
        restart(store, mean, centre, travelled, distance)
    return lane


@njit(cache=True, nogil=True)
def offer(distance: float, record: int, near: Floats, nearest: Integers, size: int) -> int:
    """Offer a record to the nearest so far, a heap with the worst (distance, record) on top; return its new size."""
    capacity = nearest.shape[0]
    if size < capacity:
        at = size
        size += 1
        while at > 0:
            up = (at - 1) // 2
            if near[up] > distance or (near[up] == distance and nearest[up] > record):
                break
            near[at], nearest[at] = near[up], nearest[up]
            at = up
    else:
        if distance > near[0] or (distance == near[0] and record > nearest[0]):
            return size
        at = 0
        while 2 * at + 1 < capacity:
            down = 2 * at + 1
            other = down + 1
            if other < capacity and (
                near[other] > near[down] or (near[other] == near[down] and nearest[other] > nearest[down])
            ):
                down = other
            if distance > near[down] or (distance == near[down] and record > nearest[down]):
                break
            near[at], nearest[at] = near[down], nearest[down]
            at = down
    near[at], nearest[at] = distance, record
    return size


@njit(cache=True, nogil=True)
def sort_heap(near: Floats, nearest: Integers) -> None:
    """Sort the records of a full heap, the nearest first: the farthest goes to the end, the end into the heap."""
    for end in range(near.shape[0] - 1, 0, -1):
        distance, record = near[end], nearest[end]
        near[end], nearest[end] = near[0], nearest[0]
        offer(distance, record, near[:end], nearest[:end], end)

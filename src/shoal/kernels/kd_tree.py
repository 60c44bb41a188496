"""A k-d tree over blocks of eight records, from which records are removed.

The tree is only an order of the records: sorted so that every aligned run of 8, 64, 512, ... of them is compact, they
need no pointers (see `blocks` for the numbering of nodes). A node keeps the bounding boxes of its eight children,
tightened whenever a record goes, and tests a point against all eight at once.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.packed_records import SLACK, UNDERFLOW, Blocks, erase, offer
from shoal.kernels.simd import (
    LANES,
    farthest_bounds,
    lanes_at_least,
    lanes_at_most,
    largest,
    lowest_lane,
    nearest_bounds,
    smallest,
    squared_distances,
)
from shoal.kernels.types import Floats, Integers

NO_RECORD = 1 << 62


class Search(NamedTuple):
    """Scratch of the searches in a tree: nodes still to visit, the best on top, and eight distances."""

    bound: Floats
    node: Integers
    distance: Floats


@njit(cache=True, nogil=True)
def new_search() -> Search:
    """Return scratch for any tree: seven siblings stay behind on each level, and 22 levels hold 2^66 records."""
    return Search(np.empty(22 * LANES), np.empty(22 * LANES, np.int64), np.empty(LANES))


@njit(cache=True, nogil=True)
def select(rows: Floats, record: Integers, low: int, high: int, nth: int, j: int) -> None:
    """Reorder rows low .. high so that by attribute j the first nth are the smallest (Hoare's quickselect)."""
    d = rows.shape[1]
    high -= 1
    while low < high:
        a, b, c = rows[low, j], rows[(low + high) // 2, j], rows[high, j]
        pivot = max(min(a, b), min(max(a, b), c))
        up, down = low, high
        while up <= down:
            while rows[up, j] < pivot:
                up += 1
            while rows[down, j] > pivot:
                down -= 1
            if up <= down:
                for m in range(d):
                    rows[up, m], rows[down, m] = rows[down, m], rows[up, m]
                record[up], record[down] = record[down], record[up]
                up += 1
                down -= 1
        if nth <= down:
            high = down
        elif nth >= up:
            low = up
        else:
            return


@njit(cache=True, nogil=True)
def sort_compactly(rows: Floats, record: Integers) -> None:
    """Reorder records so that every aligned run of 8, 64, 512, ... of them fills a small box.

    Halve across the widest attribute, always at a multiple of the largest power of eight below the run's length.
    """
    n, d = rows.shape
    low = np.empty(128, np.int64)
    high = np.empty(128, np.int64)
    low[0], high[0], size = 0, n, 1
    while size > 0:
        size -= 1
        start, stop = low[size], high[size]
        if stop - start <= LANES:
            continue
        widest, width = 0, -1.0
        for j in range(d):
            least, most = rows[start, j], rows[start, j]
            for i in range(start + 1, stop):
                least = min(least, rows[i, j])
                most = max(most, rows[i, j])
            if most - least > width:
                widest, width = j, most - least
        if width == 0.0:
            record[start:stop].sort()  # duplicates in order of their index: see `lowest_below`
            continue
        run = LANES
        while run * LANES < stop - start:
            run *= LANES
        runs = -(-(stop - start) // run)
        middle = start + runs // 2 * run
        select(rows, record, start, stop, middle, widest)
        low[size], high[size] = start, middle
        low[size + 1], high[size + 1] = middle, stop
        size += 2


@njit(cache=True, nogil=True)
def fit_box(store: Blocks, node: int) -> bool:
    """Fit the box of a node, kept by its parent, to what is left below it; return whether it changed."""
    d, boxes = store.values.shape[1], store.boxes
    inner = boxes.shape[0]
    above, lane = (node - 1) // LANES, (node - 1) % LANES
    changed = False
    for j in range(d):
        if node >= inner:
            at = ((node - inner) * d + j) * LANES
            low, high = smallest(store.values, at), largest(store.values, at)
        else:
            at = (node * d + j) * 2 * LANES
            low, high = smallest(boxes, at), largest(boxes, at + LANES)
        if low > high:  # nothing is left: a box of NaN is never entered
            low, high = np.nan, np.nan
        if low != boxes[above, j, 0, lane] or high != boxes[above, j, 1, lane]:
            boxes[above, j, 0, lane], boxes[above, j, 1, lane] = low, high
            changed = True
    return changed


@njit(cache=True, nogil=True)
def fit_boxes(store: Blocks) -> None:
    """Fill in the boxes and the lowest record of all nodes."""
    used, first = store.values.shape[0], store.keys.shape[0]
    while first > 0:
        above = (first - 1) // LANES
        store.boxes[above : above + -(-used // LANES)] = np.nan
        store.lowest[above : above + -(-used // LANES)] = NO_RECORD
        for at in range(used):
            fit_box(store, first + at)
            lowest = NO_RECORD
            for lane in range(LANES):
                if first < store.keys.shape[0]:
                    lowest = min(lowest, store.lowest[first + at, lane])
                elif store.record[at * LANES + lane] >= 0:
                    lowest = min(lowest, store.record[at * LANES + lane])
            store.lowest[above + at // LANES, at % LANES] = lowest
        used = -(-used // LANES)
        first = above


@njit(cache=True, nogil=True)
def remove(store: Blocks, lane: int) -> None:
    """Remove the record in a lane; boxes are fitted towards the root for as long as they change."""
    erase(store, lane)
    node = store.boxes.shape[0] + lane // LANES
    while node > 0 and fit_box(store, node):
        node = (node - 1) // LANES


@njit(cache=True, nogil=True)
def lowest_below(store: Blocks, node: int) -> int:
    """Return an index that no record below a node undercuts: with it, ties are settled without entering the node.

    Duplicates are packed in the order of their index, so that among many of them a search enters few.
    """
    return int(store.lowest[(node - 1) // LANES, (node - 1) % LANES])


@njit(cache=True, nogil=True)
def push(search: Search, size: int, mask: int, node: int, sign: float) -> int:
    """Put the children of a node that are in the mask on the stack, least sign * bound on top; return its new size.

    Of equal ones the first comes on top: among duplicates, that is where the lowest indices are.
    """
    floor = size
    while mask != 0:
        lane = lowest_lane(mask)
        mask &= mask - 1
        bound = sign * search.distance[lane]
        at = size
        while at > floor and search.bound[at - 1] <= bound:
            search.bound[at], search.node[at] = search.bound[at - 1], search.node[at - 1]
            at -= 1
        search.bound[at], search.node[at] = bound, LANES * node + 1 + lane
        size += 1
    return size


@njit(cache=True, nogil=True)
def nearest_in_tree(store: Blocks, lane: int, point: Floats, near: Floats, nearest: Integers, search: Search) -> int:
    """Fill the heap of the records nearest to a point, beginning with the block of `lane`; return how many there are.

    From that block up to the root, only siblings whose box reaches into the ball of the nearest so far are entered.
    A box that just touches the ball is entered if it may have a record as far as the worst, with a lower index.
    """
    d, inner = store.values.shape[1], store.boxes.shape[0]
    capacity = nearest.shape[0]
    found, limit = 0, np.inf
    home = inner + lane // LANES
    search.bound[0], search.node[0], size = 0.0, home, 1
    while True:
        while size > 0:
            size -= 1
            node = search.node[size]
            if search.bound[size] > limit or (search.bound[size] == limit and lowest_below(store, node) > nearest[0]):
                continue
            if node < inner:
                nearest_bounds(store.boxes, node * d * 2 * LANES, point, search.distance)
                size = push(search, size, lanes_at_most(search.distance, limit), node, 1.0)
                continue
            block = node - inner
            squared_distances(store.values, block * d * LANES, point, search.distance)
            mask = lanes_at_most(search.distance, limit)
            while mask != 0:
                at = lowest_lane(mask)
                mask &= mask - 1
                found = offer(search.distance[at], store.record[block * LANES + at], near, nearest, found)
                if found == capacity:
                    limit = near[0]
        if home == 0:
            return found
        above = (home - 1) // LANES
        nearest_bounds(store.boxes, above * d * 2 * LANES, point, search.distance)
        mask = lanes_at_most(search.distance, limit) & ~(1 << (home - 1) % LANES)
        size = push(search, 0, mask, above, 1.0)
        home = above


@njit(cache=True, nogil=True)
def farthest_in_tree(store: Blocks, point: Floats, centre: Floats, travelled: float, search: Search) -> int:
    """Return the record farthest from a point, the lowest index on ties: far boxes first, none that falls short.

    `centre` and `travelled` say what the keys of the store mean (see `farthest_from_centre`), for a second bound.
    """
    away = travelled * (1.0 + SLACK) + UNDERFLOW
    d, inner = store.values.shape[1], store.boxes.shape[0]
    best, farthest = -1.0, -1
    search.bound[0], search.node[0], size = -np.inf, 0, 1
    while size > 0:
        size -= 1
        node = search.node[size]
        if -search.bound[size] < best or (-search.bound[size] == best and lowest_below(store, node) > farthest):
            continue
        if node < inner:
            farthest_bounds(store.boxes, store.keys, node, point, centre, away, search.distance)
            size = push(search, size, lanes_at_least(search.distance, best), node, -1.0)
            continue
        block = node - inner
        squared_distances(store.values, block * d * LANES, point, search.distance)
        mask = lanes_at_least(search.distance, best)
        while mask != 0:
            at = lowest_lane(mask)
            mask &= mask - 1
            record = store.record[block * LANES + at]
            if search.distance[at] > best or (search.distance[at] == best and record < farthest):
                best, farthest = search.distance[at], record
    return farthest

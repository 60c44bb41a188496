"""An intruder's links: the published class nearest to a record, and the patterns in which two records agree."""

import numpy as np
from numba import njit

from shoal.kernels.encoded import MODE
from shoal.kernels.kd_tree import Search, fit_boxes, new_search, push, sort_compactly
from shoal.kernels.packed_records import Blocks, pack
from shoal.kernels.simd import LANES, lanes_at_most, lowest_lane, nearest_bounds, squared_distances
from shoal.kernels.types import Floats, Integers


@njit(cache=True, nogil=True)
def nearest_classes(
    store: Blocks, lane: int, point: Floats, own: int, size: Integers, search: Search
) -> tuple[int, int, bool]:
    """Search the classes nearest to a point, beginning with the block of `lane`.

    Return the lowest of them, how many records those at exactly this distance have, and whether `own` is one of them.
    Unlike `nearest_in_tree` this must see all that are tied, so a box that touches the ball is always entered.
    """
    d, inner = store.values.shape[1], store.boxes.shape[0]
    limit, lowest, tied, mine = np.inf, -1, 0, False
    home = inner + lane // LANES
    search.bound[0], search.node[0], left = 0.0, home, 1
    while True:
        while left > 0:
            left -= 1
            node = search.node[left]
            if search.bound[left] > limit:
                continue
            if node < inner:
                nearest_bounds(store.boxes, node * d * 2 * LANES, point, search.distance)
                left = push(search, left, lanes_at_most(search.distance, limit), node, 1.0)
                continue
            block = node - inner
            squared_distances(store.values, block * d * LANES, point, search.distance)
            mask = lanes_at_most(search.distance, limit)
            while mask != 0:
                at = lowest_lane(mask)
                mask &= mask - 1
                found = store.record[block * LANES + at]
                if search.distance[at] < limit:
                    limit, lowest, tied, mine = search.distance[at], found, size[found], found == own
                elif search.distance[at] == limit:
                    lowest = found if lowest < 0 else min(lowest, found)
                    tied += size[found]
                    mine = mine or found == own
        if home == 0:
            return lowest, tied, mine
        above = (home - 1) // LANES
        nearest_bounds(store.boxes, above * d * 2 * LANES, point, search.distance)
        mask = lanes_at_most(search.distance, limit) & ~(1 << (home - 1) % LANES)
        left = push(search, 0, mask, above, 1.0)
        home = above


@njit(cache=True, nogil=True)
def link_to_nearest(
    Z: Floats, rows: Floats, labels: Integers, first: Integers, size: Integers, asked: Integers
) -> tuple[int, float]:
    """Link the records `asked` of Z to the nearest of the published classes, whose values are `rows`.

    Return how many are linked to themselves if the first record of the lowest nearest class is taken, and how many are
    to be expected if one of all the nearest records is drawn. `labels` says in which class each record is published;
    classes are numbered in the order of their first record, so that the lowest class has the lowest index.
    """
    m = rows.shape[0]
    record = np.arange(m)
    place = np.empty(m, np.int64)
    rows = rows.copy()
    sort_compactly(rows, record)
    store = pack(rows, record, place, True)
    fit_boxes(store)
    search = new_search()
    linked, expected = 0, 0.0
    for i in asked:
        own = labels[i]
        # Masking moves a record a little: where it went is the best place to begin.
        lowest, tied, mine = nearest_classes(store, place[own], Z[i], own, size, search)
        if lowest == own and first[own] == i:
            linked += 1
        if mine:
            expected += 1.0 / tied
    return linked, expected


@njit(cache=True, nogil=True)
def link_by_types(
    values: Floats, rows: Floats, labels: Integers, size: Integers, asked: Integers, kinds: Integers, apart: Floats
) -> float:
    """Return how many records are expected to be linked to themselves by the distances of `EncodedMatrix`."""
    expected = 0.0
    for i in asked:
        best, tied, mine = np.inf, 0, False
        for c in range(rows.shape[0]):
            distance = 0.0
            for j in range(rows.shape[1]):
                x, y = values[i, j], rows[c, j]
                if np.isnan(x) or np.isnan(y):
                    distance += 0.0 if np.isnan(x) and np.isnan(y) else apart[j]
                elif kinds[j] == MODE:
                    distance += 0.0 if x == y else apart[j]
                else:
                    distance += (x - y) ** 2
            if distance < best:
                best, tied, mine = distance, size[c], c == labels[i]
            elif distance == best:
                tied += size[c]
                mine = mine or c == labels[i]
        if mine:
            expected += 1.0 / tied
    return expected


@njit(cache=True, nogil=True)
def agreement(point: Floats, columns: Floats, within: float, pattern: Integers) -> None:
    """Write the pattern of agreement with each published class: bit j is set where attribute j is within the limit."""
    for c in range(pattern.shape[0]):
        pattern[c] = 0
    for j in range(columns.shape[0]):
        x, bit = point[j], 1 << j
        for c in range(pattern.shape[0]):
            pattern[c] += bit if abs(columns[j, c] - x) <= within else 0


@njit(cache=True, nogil=True)
def count_patterns(Z: Floats, columns: Floats, size: Integers, asked: Integers, within: float) -> Integers:
    """Count each pattern of agreement over the pairs of the records asked with all published records."""
    d, m = columns.shape
    counts = np.zeros(1 << d, np.int64)
    pattern = np.empty(m, np.int64)
    for i in asked:
        agreement(Z[i], columns, within, pattern)
        for c in range(m):
            counts[pattern[c]] += size[c]
    return counts


@njit(cache=True, nogil=True)
def link_by_weight(
    Z: Floats, columns: Floats, labels: Integers, size: Integers, asked: Integers, within: float, weight: Floats
) -> float:
    """Return how many records are expected to be linked to themselves if each takes one of highest weight at random."""
    pattern = np.empty(columns.shape[1], np.int64)
    expected = 0.0
    for i in asked:
        agreement(Z[i], columns, within, pattern)
        best, tied = -np.inf, 0
        for c in range(pattern.shape[0]):
            w = weight[pattern[c]]
            if w > best:
                best, tied = w, size[c]
            elif w == best:
                tied += size[c]
        if weight[pattern[labels[i]]] == best:
            expected += 1.0 / tied
    return expected

"""Groups that must hold enough different values, or the distribution of the file, of confidential attributes."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.encoded import MODE, EncodedMatrix
from shoal.kernels.l_diversity import SLACK, LDiversity, diversity_of, known_counts
from shoal.kernels.mdav import pack_remaining, scan_mixed
from shoal.kernels.mixed_average import Tally, average_record, count_record, settle, take_away, tally_all
from shoal.kernels.packed_records import copy_point, offer, sort_heap
from shoal.kernels.simd import LANES, mixed_distances
from shoal.kernels.t_closeness import ordered_distances
from shoal.kernels.types import Floats, Integers

# Groups as far from what is asked are ties, whatever rounding says: distances are compared in units of this size.
UNIT = 1e-12


class Attributes(NamedTuple):
    """Confidential attributes; arrays only, so that kernels can take it apart."""

    codes: Integers  # (attributes, records): the rank of the value among all different ones in the file
    below: Integers  # how many records of the file have a value up to each, one attribute after the other
    first: Integers  # (attributes + 1,): where each begins in `below`
    known: Integers  # (attributes,): how many values are known; ranks from there on are missing values
    ordered: NDArray[np.bool_]


class Parts(NamedTuple):
    """The records in the order of a confidential attribute, cut into parts; arrays only, for kernels.

    Which of the records with one value are in which part is left open where a cut goes through them. So records are in
    pools, one for each value that is cut, and one for all others of a part; a part has shares in up to three pools.
    """

    pool: Integers  # (records,)
    start: Integers  # (parts + 1,): where the shares of a part begin
    shares: Integers  # the pool of each share
    left: Integers  # how many records of that pool the part has still to give
    extra: Integers  # (parts,): how many records more than there are groups it has


@njit(cache=True, nogil=True)
def unordered_distances(start: Integers, code: Integers, below: Integers) -> Floats:
    """Return for each class the sum over the values it has more of than the file of how much more, in shares.

    Arguments as for `ordered_distances`.
    """
    distances = np.zeros(start.shape[0] - 1)
    for c in range(distances.shape[0]):
        since = start[c]
        for i in range(start[c], start[c + 1]):
            v = code[i]
            if i + 1 == start[c + 1] or code[i + 1] != v:
                in_file = below[v] - (below[v - 1] if v > 0 else 0)
                distances[c] += max((i + 1 - since) / (start[c + 1] - start[c]) - in_file / below[-1], 0.0)
                since = i + 1
    return distances


@njit(cache=True, nogil=True)
def distances_from_file(start: Integers, code: Integers, below: Integers, ordered: bool) -> Floats:
    """Return the earth mover's distance, from 0 to 1, of each class; arguments as for `ordered_distances`."""
    distances: Floats
    if ordered and below.shape[0] > 1:
        distances = ordered_distances(start, code, below) / (below.shape[0] - 1)
    else:
        distances = unordered_distances(start, code, below)
    return distances


@njit(cache=True, nogil=True)
def _severity(attributes: Attributes, members: Integers, wanted: LDiversity, t: float) -> float:
    """Return how far a group is from what is asked: by the values it lacks, then by its distance; -1 if it satisfies.

    Asked are a diversity of every attribute, if its l is not 0, and a distance from the file of at most t, if that is
    finite.
    """
    lacking, distance = 0.0, 0.0
    start = np.array([0, members.shape[0]])
    for a in range(attributes.codes.shape[0]):
        code = np.sort(attributes.codes[a][members])
        if wanted.l > 0:
            found = diversity_of(known_counts(code, attributes.known[a]), wanted.form, wanted.c)
            lacking = max(lacking, wanted.l - found)
        if t < np.inf:
            below = attributes.below[attributes.first[a] : attributes.first[a + 1]]
            distance = max(distance, distances_from_file(start, code, below, attributes.ordered[a])[0])
    if lacking <= SLACK and distance <= t:
        return -1.0
    return float(np.rint(lacking * 2 / UNIT)) + round(distance / UNIT)


@njit(cache=True, nogil=True)
def _empty_tally(space: EncodedMatrix) -> Tally:
    """Return a tally of no records that has room for the sum of all."""
    tally = tally_all(space)
    for i in range(space.values.shape[0]):
        take_away(tally, space, i)
    return tally


@njit(cache=True, nogil=True)
def _centre(space: EncodedMatrix, tally: Tally, members: Integers, point: Floats) -> None:
    """Write the average record of a group; the tally is empty before and after."""
    for i in members:
        count_record(tally, space, i, 1)
    for j in range(space.values.shape[1]):
        if space.kinds[j] == MODE:
            frequency, winner = tally.frequency[tally.starts[j] :], tally.winner[2 * tally.starts[j] :]
            for i in members:
                x = space.values[i, j]
                node = 0 if np.isnan(x) else (space.levels[j] + int(x)) // 2
                while node > 0:
                    settle(frequency, winner, node)
                    node //= 2
    average_record(tally, space, members.shape[0], point)
    for i in members:
        take_away(tally, space, i)


@njit(cache=True, nogil=True)
def _worst(severity: Floats) -> int:
    """Return the group with the highest severity, the lowest of several."""
    worst = 0
    for g in range(1, severity.shape[0]):
        if severity[g] > severity[worst]:
            worst = g
    return worst


@njit(cache=True, nogil=True)
def merge_groups(
    space: EncodedMatrix,
    attributes: Attributes,
    order: Integers,
    start: Integers,
    wanted: LDiversity,
    t: float,
    watch: Integers,
) -> Integers:
    """Return for each group the lowest of those it is merged with; see `shoal.partitioning.diversity.merge_until`.

    Group g has the records order[start[g]] .. order[start[g + 1]]. A merged group is a chain of such groups, under the
    number of the lowest.
    """
    groups, d = start.shape[0] - 1, space.values.shape[1]
    tally = _empty_tally(space)
    centre, severity = np.empty((groups, d)), np.empty(groups)
    for g in range(groups):
        members = order[start[g] : start[g + 1]]
        _centre(space, tally, members, centre[g])
        severity[g] = _severity(attributes, members, wanted, t)
    home = np.arange(groups)
    gone = np.full(groups, -1)  # the group that one was merged into, -1 if it is still there
    following, last = np.full(groups, -1), np.arange(groups)
    gathered = np.empty(order.shape[0], np.int64)
    place, distance = np.empty(groups, np.int64), np.empty(LANES)
    near, nearest = np.empty(1), np.empty(1, np.int64)
    count = packed = groups
    blocks, record = pack_remaining(centre, gone, count, place)
    while count > 1 and watch[1] == 0:
        worst = _worst(severity)
        if severity[worst] < 0:
            break
        if count < packed - packed // LANES:  # an eighth of the lanes are dead
            blocks, record = pack_remaining(centre, gone, count, place)
            packed = count
        blocks[place[worst] // LANES, 0, place[worst] % LANES] = np.nan
        scan_mixed(blocks, record, centre[worst], space, near, nearest, distance)
        low, high = min(worst, nearest[0]), max(worst, nearest[0])
        gone[high], severity[high] = low, -1.0
        count -= 1
        following[last[low]], last[low] = high, last[high]
        size, part = 0, low
        while part >= 0:
            home[part] = low
            for i in order[start[part] : start[part + 1]]:
                gathered[size] = i
                size += 1
            part = following[part]
        _centre(space, tally, gathered[:size], centre[low])
        severity[low] = _severity(attributes, gathered[:size], wanted, t)
        for g in (low, high):
            block, lane = place[g] // LANES, place[g] % LANES
            blocks[block, 0, lane] = 0.0 if g == low else np.nan
            for j in range(d):
                blocks[block, 1 + j, lane] = centre[g, j]
    return home


@njit(cache=True, nogil=True)
def squared_error(space: EncodedMatrix, order: Integers, start: Integers) -> float:
    """Return the sum of the squared distances of the records to the average record of their group."""
    tally = _empty_tally(space)
    point, distance = np.empty(space.values.shape[1]), np.empty(LANES)
    place = np.empty(order.shape[0], np.int64)
    total = 0.0
    for g in range(start.shape[0] - 1):
        members = order[start[g] : start[g + 1]]
        _centre(space, tally, members, point)
        rows = space.values[members]
        blocks, _ = pack_remaining(rows, np.full(members.shape[0], -1), members.shape[0], place)
        for block in range(blocks.shape[0]):
            mixed_distances(blocks, block * blocks.shape[1] * LANES, point, space.kinds, space.apart, distance)
            for lane in range(min(LANES, members.shape[0] - block * LANES)):
                total += distance[lane]
    return total


class _Heaps(NamedTuple):
    """The nearest records of each pool, as many as a group can take."""

    start: Integers  # (pools + 1,): where those of a pool begin
    near: Floats
    nearest: Integers
    size: Integers  # (pools,)


@njit(cache=True, nogil=True)
def _heaps(parts: Parts) -> _Heaps:
    """Make room for one record a share, and an extra one."""
    pools = parts.shares.max() + 1
    start = np.arange(pools + 1)
    start[1:] += np.cumsum(np.bincount(parts.shares))
    return _Heaps(start, np.empty(start[-1]), np.empty(start[-1], np.int64), np.empty(pools, np.int64))


@njit(cache=True, nogil=True)
def _find_nearest(
    space: EncodedMatrix, blocks: Floats, record: Integers, point: Floats, parts: Parts, heaps: _Heaps, distance: Floats
) -> None:
    """Fill the heaps with the records of each pool that are nearest to a point, and sort them, the nearest first."""
    limit = np.full(heaps.size.shape[0], np.inf)
    heaps.size[:] = 0
    for block in range(blocks.shape[0]):
        mixed_distances(blocks, block * blocks.shape[1] * LANES, point, space.kinds, space.apart, distance)
        for lane in range(min(LANES, record.shape[0] - block * LANES)):
            i = record[block * LANES + lane]
            pool = parts.pool[i]
            if distance[lane] < limit[pool]:  # never true of a dead lane, which is NaN
                low, high = heaps.start[pool], heaps.start[pool + 1]
                near, nearest = heaps.near[low:high], heaps.nearest[low:high]
                heaps.size[pool] = offer(distance[lane], i, near, nearest, heaps.size[pool])
                if heaps.size[pool] == high - low:
                    limit[pool] = near[0]
    for pool in range(heaps.size.shape[0]):
        low = heaps.start[pool]
        sort_heap(heaps.near[low : low + heaps.size[pool]], heaps.nearest[low : low + heaps.size[pool]])


@njit(cache=True, nogil=True)
def _take(parts: Parts, p: int, heaps: _Heaps, taken: Integers) -> int:
    """Return the nearest record that part p can give."""
    best = best_at = -1
    for share in range(parts.start[p], parts.start[p + 1]):
        if parts.left[share] > 0:
            pool = parts.shares[share]
            at = heaps.start[pool] + taken[pool]
            closer = best < 0 or heaps.near[at] < heaps.near[best_at]
            if closer or (heaps.near[at] == heaps.near[best_at] and heaps.nearest[at] < heaps.nearest[best_at]):
                best, best_at = share, at
    parts.left[best] -= 1
    taken[parts.shares[best]] += 1
    return int(heaps.nearest[best_at])


@njit(cache=True, nogil=True)
def _one_of_each(parts: Parts, heaps: _Heaps, group: Integers) -> int:
    """Write the group that takes the nearest record of each part, and one that a part has too many; return its size."""
    taken = np.zeros(heaps.size.shape[0], np.int64)
    size = 0
    more = True
    for p in range(parts.extra.shape[0]):
        group[size] = _take(parts, p, heaps, taken)
        size += 1
        if more and parts.extra[p] > 0:
            parts.extra[p] -= 1
            group[size] = _take(parts, p, heaps, taken)
            size += 1
            more = False
    return size


@njit(cache=True, nogil=True)
def groups_across(space: EncodedMatrix, parts: Parts, watch: Integers) -> Integers:
    """Return the labels of groups with one record of each part; see `shoal.partitioning.diversity.t_first`.

    `parts` is used up. No squared distance may overflow.
    """
    n, d = space.values.shape
    tally, heaps = tally_all(space), _heaps(parts)
    labels, place = np.full(n, -1), np.empty(n, np.int64)
    group = np.empty(parts.extra.shape[0] + 1, np.int64)
    point, distance = np.empty(d), np.empty(LANES)
    near, nearest = np.empty(0), np.empty(0, np.int64)  # the scans look for the farthest record only
    count, formed = n, 0
    while count > 0:
        # Pack the remaining records together again as soon as an eighth of the lanes would be dead.
        blocks, record = pack_remaining(space.values, labels, count, place)
        enough = max(1, count - count // LANES)
        while count >= enough:
            if watch[1] != 0:
                return labels
            if formed % 2 == 0:  # x_r, farthest from the average; else x_s, farthest from x_r
                average_record(tally, space, count, point)
            x = scan_mixed(blocks, record, point, space, near, nearest, distance)
            copy_point(space.values[x], point)
            _find_nearest(space, blocks, record, point, parts, heaps, distance)
            size = _one_of_each(parts, heaps, group)
            for y in group[:size]:
                labels[y] = formed
                take_away(tally, space, y)
                blocks[place[y] // LANES, 0, place[y] % LANES] = np.nan
            formed += 1
            count -= size
    return labels

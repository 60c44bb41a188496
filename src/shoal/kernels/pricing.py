"""Groups of negative reduced cost, found by a depth-first search that covers all of them.

In the set-partitioning model of microaggregation a column is a group T of m = k..2k-1 records. It costs its SSE, which
is the sum of the squared distances of its pairs divided by m. Given a dual value for every record, its reduced cost is
its SSE less the duals of its members.
"""

import numpy as np
from numba import njit

from shoal.kernels.types import Floats, Integers


@njit(cache=True, nogil=True)
def distance(X: Floats, x: int, y: int) -> float:
    """Return the squared distance between two records."""
    total = 0.0
    for j in range(X.shape[1]):
        total += (X[x, j] - X[y, j]) ** 2
    return total


@njit(cache=True, nogil=True)
def group_costs(X: Floats, members: Integers) -> Floats:
    """Return the SSE of each group, a row of `members` that ends in -1 where it is shorter than the longest."""
    costs = np.zeros(members.shape[0])
    for g in range(members.shape[0]):
        size, pairs = 0, 0.0
        for a in range(members.shape[1]):
            if members[g, a] < 0:
                break
            size += 1
            for b in range(a):
                pairs += distance(X, members[g, a], members[g, b])
        costs[g] = pairs / size
    return costs


@njit(cache=True, nogil=True)
def promising(
    candidate: Integers, apart: Floats, key: Floats, count: int, size: int, cost: float, gain: float, k: int,
    duals: Floats, near: Floats, threshold: float, scratch: Floats,
) -> int:  # fmt: skip
    """Keep the candidates that can join a group S in a group whose reduced cost is below the threshold.

    Let T have m members: the `size` of S and t = m - size others, the pairs of S being known, those between S and the
    candidate x summing to ``apart[x]``, and those of x with the t - 1 others being no nearer than its t - 1 nearest
    records anywhere, ``near[x, t - 1]``. So the reduced cost of T is at least

        size * cost(S) / m - gain(S) + sum over the others x of (apart[x] + near[x, t - 1] / 2) / m - duals[x],

    and at least that with the t smallest terms of all candidates in place of T's own. `key` becomes this bound with x
    forced to be one of them, the least over m. Those kept are at the front of the arrays; return how many.
    """
    longest = 2 * k - 1
    for c in range(count):
        key[c] = np.inf
    smallest = np.empty(longest)
    for m in range(max(k, size + 1), longest + 1):
        t = m - size
        if t > count:
            break
        for at in range(t):
            smallest[at] = np.inf
        for c in range(count):
            x = candidate[c]
            term = (apart[c] + near[x, t - 1] / 2) / m - duals[x]
            scratch[c] = term
            if term < smallest[t - 1]:
                at = t - 1
                while at > 0 and smallest[at - 1] > term:
                    smallest[at] = smallest[at - 1]
                    at -= 1
                smallest[at] = term
        least = size * cost / m - gain
        for at in range(t):
            least += smallest[at]
        if least < threshold:
            for c in range(count):
                key[c] = min(key[c], least + max(0.0, scratch[c] - smallest[t - 1]))
    kept = 0
    for c in range(count):
        if key[c] < threshold:
            candidate[kept], apart[kept], key[kept] = candidate[c], apart[c], key[c]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def grown(found: Integers) -> Integers:
    """Return the same rows with room for as many again; by loops, as numba compiles a copied slice for seconds."""
    larger = np.empty((2 * found.shape[0], found.shape[1]), np.int64)
    for g in range(found.shape[0]):
        for c in range(found.shape[1]):
            larger[g, c] = found[g, c]
    return larger


@njit(cache=True, nogil=True)
def price(
    X: Floats, k: int, duals: Floats, near: Floats, rank: Integers, anchors: Integers, threshold: float,
    only_better: bool, limit: int, room: int, watch: Integers,
) -> tuple[Integers, Floats]:  # fmt: skip
    """Find groups whose reduced cost is below a threshold, each from the member of the lowest rank: its anchor.

    Members are added one by one, the most promising candidate first; once all groups with it have been seen, it is no
    candidate any more. What a candidate is for the group so far is kept by the size of that group.

    ``near[x, q]`` is the sum of the q smallest squared distances from x to others, q = 0..2k-2. With `only_better`,
    groups of an anchor must have a lower reduced cost than those found before. The search from an anchor is given up
    after `limit` groups and parts of groups, all searches after `room` groups. Return the groups, one a row that ends
    in -1, and for every anchor a lower bound on the reduced cost of its groups.
    """
    n, longest = X.shape[0], 2 * k - 1
    candidate = np.empty((longest, n), np.int64)
    apart, key, scratch = np.empty((longest, n)), np.empty((longest, n)), np.empty((1, n))
    count, at, member = np.zeros(longest, np.int64), np.zeros(longest, np.int64), np.empty(longest, np.int64)
    cost, gain = np.zeros(longest), np.zeros(longest)
    found, groups = np.empty((64, longest), np.int64), 0
    lowest = np.empty(anchors.shape[0])
    for a in range(anchors.shape[0]):
        lowest[a] = -np.inf
    for a in range(anchors.shape[0]):
        member[0], gain[1], best = anchors[a], duals[anchors[a]], threshold
        c = 0
        for x in range(n):
            if rank[x] > rank[anchors[a]]:
                candidate[1, c], apart[1, c] = x, distance(X, x, anchors[a])
                c += 1
        size, at[1], nodes = 1, 0, 0
        count[1] = promising(candidate[1], apart[1], key[1], c, 1, 0.0, gain[1], k, duals, near, best, scratch[0])
        while size > 0:
            first = next_up = at[size]
            for c in range(first, count[size]):
                if key[size, c] < key[size, next_up]:
                    next_up = c
            if first == count[size] or key[size, next_up] >= best:
                size -= 1
                continue
            nodes += 1
            if nodes > limit or groups >= room or watch[1] != 0:
                break
            x = member[size] = candidate[size, next_up]
            new_cost, new_gain = (size * cost[size] + apart[size, next_up]) / (size + 1), gain[size] + duals[x]
            candidate[size, next_up], apart[size, next_up] = candidate[size, first], apart[size, first]
            key[size, next_up] = key[size, first]
            at[size] = first + 1
            if size + 1 >= k and new_cost - new_gain < best:
                if groups == found.shape[0]:
                    found = grown(found)
                for c in range(longest):
                    found[groups, c] = member[c] if c <= size else -1
                groups += 1
                if only_better:
                    best = new_cost - new_gain
            if size + 1 < longest:
                c = 0
                for other in range(first + 1, count[size]):
                    y = candidate[size, other]
                    candidate[size + 1, c], apart[size + 1, c] = y, apart[size, other] + distance(X, x, y)
                    c += 1
                size += 1
                cost[size], gain[size], at[size] = new_cost, new_gain, 0
                count[size] = promising(
                    candidate[size],
                    apart[size],
                    key[size],
                    c,
                    size,
                    new_cost,
                    new_gain,
                    k,
                    duals,
                    near,
                    best,
                    scratch[0],
                )
        lowest[a] = best
        for s in range(1, size + 1):  # what a search given up has left to do
            for c in range(at[s], count[s]):
                lowest[a] = min(lowest[a], key[s, c])
        if groups >= room or watch[1] != 0:
            break
    return found[:groups], lowest

"""The optimal cut of a line of records into groups of k to 2k-1: the dynamic programme of Hansen and Mukherjee.

Nothing here subtracts running sums, so nothing cancels. The line has a *post* at every k-th record, and each start of a
group has its post: the first that is not before it. A group of k to 2k-1 records has `left` records before the post of
its start, fewer than k, and `right` from the post on, fewer than 2k. With mean and SSE of the two sides at hand,

    SSE = SSE_left + SSE_right + left right / (left + right) |mean_right - mean_left|^2   (Chan, Golub & LeVeque 1983)

is a sum of terms that are never negative, measured from records beside the post, of which the group has one at least
(left < k <= left + right). Its relative error is of order k eps at worst, whatever lies elsewhere on the line: an
offset of 1e9, a gap, 1e7 records; 2e-14 was the most that was seen at k = 100,000. Ends in (b, b + k] have starts in
(b - 2k, b], which have their posts at b and b - k: two posts are in use at a time, in the two halves of the arrays, and
the state is O(k d) however long the line.

The cost of the best cut of the first i records, f(i), is kept in double-double: where the line begins with outliers,
f is large and the differences that decide are not.
"""

from typing import TypeAlias

import numpy as np
from numba import njit

from shoal.kernels.types import Floats, Integers

Start: TypeAlias = tuple[int, int, int, int]


@njit(cache=True, nogil=True, error_model="numpy")
def set_post(line: Floats, b: int, before: Floats, after: Floats) -> None:
    """Put a post at record b: the means, and in the last column the SSE, of every number of records on its two sides.

    Row `left` of `before` describes the records b - left .. b - 1, row `right` of `after` the records b .. b + right -
    1. Welford's update, walking away from the post. The walk back measures from record b - 1, so that the rounding of a
    gap at the post enters once and not with every step (at k = 100,000 that is a factor of 100); its means are stored,
    like those of the walk on, as measured from record b.
    """
    n, d = line.shape
    lefts = min(before.shape[0], b + 1)
    rights = min(after.shape[0], n - b + 1)
    before[:lefts] = 0.0
    after[:rights] = 0.0
    for a in range(d):
        mean, sse = 0.0, 0.0
        for left in range(1, lefts):
            x = line[b - left, a] - line[b - 1, a]
            deviation = x - mean
            mean += deviation * (1.0 / left)
            sse += deviation * (x - mean)
            before[left, a] = mean + (line[b - 1, a] - line[b, a])
            before[left, d] += sse
        mean, sse = 0.0, 0.0
        for right in range(1, rights):
            x = line[b + right - 1, a] - line[b, a]
            deviation = x - mean
            mean += deviation * (1.0 / right)
            sse += deviation * (x - mean)
            after[right, a] = mean
            after[right, d] += sse


@njit(cache=True, nogil=True)
def start_at(j: int, k: int, b: int, half: int) -> Start:
    """Return start j, its post, its row in `before`, and what to add to an end to have the row of the end in `after`.

    The post is b, whose rows are in the given half of the arrays, or the one before it, in the other half.
    """
    if j <= b - k:
        b, half = b - k, 1 - half
    return j, b, half * k + b - j, half * 2 * k - b


@njit(cache=True, nogil=True, error_model="numpy", inline="always")  # a call costs more than the sum: 2x on the whole
def group_sse(before: Floats, after: Floats, start: Start, end: int) -> float:
    """SSE of the records from a start up to, and without, an end."""
    d = before.shape[1] - 1
    j, post, row, shift = start
    between = 0.0
    for a in range(d):
        step = after[shift + end, a] - before[row, a]
        between += step * step
    sse: float = before[row, d] + after[shift + end, d] + between * ((post - j) * (end - post) / (end - j))
    return sse


@njit(cache=True, nogil=True)
def extend(f: Floats, row: int, sse: float, new_row: int) -> None:
    """Set f of `new_row` to f of `row` plus a group's SSE (Knuth's TwoSum, then renormalised)."""
    high = f[row, 0]
    total = high + sse
    part = total - high
    rest = (high - (total - part)) + (sse - part) + f[row, 1]
    f[new_row, 0] = total + rest
    f[new_row, 1] = rest - (f[new_row, 0] - total)


@njit(cache=True, nogil=True, error_model="numpy")
def cut_by_scan(line: Floats, k: int, watch: Integers) -> Integers:
    """Size of the last group in the best cut of the first i records, at place i - 1; any line. O(n k d).

    f(i) = min over m in k..2k-1 of f(i - m) + SSE(i - m .. i - 1); the smallest m wins ties.
    """
    n, d = line.shape
    sizes = np.zeros(n, dtype=np.int64)
    before = np.empty((2 * k, d + 1))
    after = np.empty((4 * k, d + 1))
    f = np.full((2 * k, 2), np.inf)  # in the rows of `before`; infinite where there is no cut
    f[0] = 0.0
    half = 1
    for b in range(0, n, k):
        half = 1 - half
        set_post(line, b, before[half * k : half * k + k], after[half * 2 * k : half * 2 * k + 2 * k])
        for i in range(max(b + 1, k), min(b + k, n) + 1):
            watch[0] = i
            if watch[1] != 0:
                return sizes
            best, best_row, best_size = np.inf, 0, 0
            for m in range(k, min(2 * k - 1, i) + 1):
                start = start_at(i - m, k, b, half)
                row = start[2]
                sse = group_sse(before, after, start, i)
                lead = (f[row, 0] - f[best_row, 0]) + (f[row, 1] - f[best_row, 1])
                if lead + sse < best:
                    best, best_row, best_size = sse, row, m
            sizes[i - 1] = best_size
            # The row of f(i) is that of f(i - 2k), which no later end can use.
            extend(f, best_row, best, (1 - half) * k + b + k - i)
    return sizes


@njit(cache=True, nogil=True, error_model="numpy")
def cut_sorted(line: Floats, k: int, watch: Integers) -> Integers:
    """As `cut_by_scan`, for one attribute in sorted order: about O(n) for any k, O(n log k) at the very worst.

    Sorted, the SSE satisfies the quadrangle inequality: for starts q < j, SSE(q, i) - SSE(j, i) does not fall as i
    grows. Once j is the better start it remains so, and it outlives q. So the starts that are best for some end form a
    queue, each with the first end that it serves, and the ends move along the queue and never back.
    """
    n = line.shape[0]
    sizes = np.zeros(n, dtype=np.int64)
    before = np.empty((2 * k, 2))
    after = np.empty((4 * k, 2))
    f = np.full((2 * k, 2), np.inf)
    f[0] = 0.0
    starts = np.empty(2 * k, dtype=np.int64)
    first_ends = np.empty(2 * k, dtype=np.int64)
    head, tail, reach = 0, 0, 0
    half = 1
    for b in range(0, n, k):
        half = 1 - half
        set_post(line, b, before[half * k : half * k + k], after[half * 2 * k : half * 2 * k + 2 * k])
        for a in range(tail - head):  # at most k starts are alive: with the k to come they fit
            starts[a], first_ends[a] = starts[head + a], first_ends[head + a]
        head, tail = 0, tail - head
        for i in range(max(b + 1, k), min(b + k, n) + 1):
            watch[0] = i
            if watch[1] != 0:
                return sizes
            while head < tail and (starts[head] <= i - 2 * k or (head + 1 < tail and first_ends[head + 1] <= i)):
                head += 1
            new = start_at(i - k, k, b, half)
            row = new[2]
            if f[row, 0] < np.inf:
                first = i
                while head < tail:
                    old = start_at(starts[tail - 1], k, b, half)
                    lead = (f[row, 0] - f[old[2], 0]) + (f[row, 1] - f[old[2], 1])
                    low = max(i, first_ends[tail - 1])
                    if lead + group_sse(before, after, new, low) > group_sse(before, after, old, low):
                        # The old start is better at `low`; the new one is at `high`, or the old one has ended there.
                        # Between them, gallop from where the last search ended: most end a few records from there.
                        high = min(old[0] + 2 * k, n + 1)
                        probe, step = max(min(i + reach, high - 1), low + 1), 1
                        while high - low > 1:
                            if lead + group_sse(before, after, new, probe) > group_sse(before, after, old, probe):
                                low = probe
                                probe += step
                            else:
                                high = probe
                                probe -= step
                            step *= 2
                            if not low < probe < high:
                                probe = (low + high) // 2
                        first = high
                        reach = first - i
                        break
                    tail -= 1
                if first <= n:
                    starts[tail], first_ends[tail] = new[0], first
                    tail += 1
            best = start_at(starts[head], k, b, half)
            sizes[i - 1] = i - best[0]
            extend(f, best[2], group_sse(before, after, best, i), (1 - half) * k + b + k - i)
    return sizes


@njit(cache=True, nogil=True)
def number_groups(sizes: Integers, order: Integers) -> Integers:
    """Walk back over the last groups, and label the records, in record order, with groups counted along the line."""
    n = sizes.shape[0]
    g, i = -1, n
    while i > 0:
        g += 1
        i -= sizes[i - 1]
    labels = np.empty(n, dtype=np.int64)
    i = n
    while i > 0:
        for t in range(i - sizes[i - 1], i):
            labels[order[t]] = g
        g -= 1
        i -= sizes[i - 1]
    return labels


@njit(cache=True, nogil=True, error_model="numpy")
def costs_before(line: Floats, end: int, mean: Floats, costs: Floats) -> None:
    """Set costs[m] to the SSE of the m records before `end`, for every m up to the end of the array.

    Welford's update once more, from the end back: one walk has the groups of all sizes, for every k. `mean` is scratch.
    """
    d = line.shape[1]
    for a in range(d):
        mean[a] = 0.0
    sse = 0.0
    for m in range(1, min(costs.shape[0] - 1, end) + 1):
        between = 0.0
        for a in range(d):
            deviation = (line[end - m, a] - line[end - 1, a]) - mean[a]
            between += deviation * deviation
            mean[a] += deviation * (1.0 / m)
        sse += between * ((m - 1) / m)
        costs[m] = sse


@njit(cache=True, nogil=True, error_model="numpy")
def cut_for_each(line: Floats, n: int, ks: Integers, openings: Integers, watch: Integers) -> Integers:
    """As `cut_by_scan`, for every k of a range at once, from the same group costs: a row of sizes for each. O(n k d).

    The line for the q-th k is the n records from ``openings[q]`` on.
    """
    most = 2 * ks.max()
    sizes = np.zeros((ks.shape[0], n), dtype=np.int64)
    mean, costs = np.empty(line.shape[1]), np.empty(most)
    f = np.full((ks.shape[0], most, 2), np.inf)  # f(i) is in row i mod 2k; infinite where there is no cut
    f[:, 0] = 0.0
    for end in range(ks.min(), line.shape[0] + 1):
        watch[0] = min(end, n)
        if watch[1] != 0:
            return sizes
        costs_before(line, end, mean, costs)
        for q in range(ks.shape[0]):
            k, i = ks[q], end - openings[q]
            if not k <= i <= n:
                continue
            best, best_row, best_size = np.inf, 0, 0
            for m in range(k, min(2 * k - 1, i) + 1):
                row = (i - m) % (2 * k)
                lead = (f[q, row, 0] - f[q, best_row, 0]) + (f[q, row, 1] - f[q, best_row, 1])
                if lead + costs[m] < best:
                    best, best_row, best_size = costs[m], row, m
            sizes[q, i - 1] = best_size
            extend(f[q], best_row, best, i % (2 * k))
    return sizes


@njit(cache=True, nogil=True, error_model="numpy")
def closing_costs(line: Floats, n: int, ks: Integers, watch: Integers) -> Floats:
    """Cost of the best cut of a cycle of n records opened at s, for every k (a row each) and s = 0 .. 2k-2.

    `line` is the cycle with its first 2k - 2 records, of the largest k, once more at its end. A group's cost is the
    same however the cycle is opened, so that another opening takes one more addition a group, not d. Costs are plain
    sums here: to choose an opening, their last digits do not matter.
    """
    most = 2 * ks.max()
    closing = np.full((ks.shape[0], most - 1), np.inf)
    mean, costs = np.empty(line.shape[1]), np.empty(most)
    f = np.full((ks.shape[0], most, most - 1), np.inf)  # f(i), opened at s, is in row i mod 2k and column s
    for end in range(line.shape[0] + 1):
        watch[0] = min(end, n)
        if watch[1] != 0:
            return closing
        costs_before(line, end, mean, costs)
        for q in range(ks.shape[0]):
            k = ks[q]
            best = f[q, end % (2 * k), : 2 * k - 1]
            best[:] = np.inf
            for m in range(k, min(2 * k - 1, end) + 1):
                before = f[q, (end - m) % (2 * k)]
                for s in range(best.shape[0]):
                    cost = before[s] + costs[m]
                    best[s] = cost if cost < best[s] else best[s]
            if n <= end < n + best.shape[0]:
                closing[q, end - n] = best[end - n]
            if end < best.shape[0]:
                best[end] = 0.0
    return closing

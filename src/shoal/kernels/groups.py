"""Kernels over the members of groups.

Members lie group by group, those of group g in ``starts[g]:starts[g + 1]``, and no group is empty. Within a group they
go from the least value to the largest, equal ones from the least weight to the largest: whatever is added up is added
in this order, so that no result depends on the order of the records. Weights are positive.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.mixed_average import convex, median_level
from shoal.kernels.types import Floats, Integers


@njit(cache=True, nogil=True)
def gathered(x: Floats, weights: Floats, group: Integers, starts: Integers) -> tuple[Floats, Floats]:
    """Return values and weights group by group, each group sorted as above, by insertion: for small groups only."""
    place = starts[:-1].copy()
    values, counts = np.empty_like(x), np.empty_like(weights)
    for i in range(x.size):
        first = starts[group[i]]
        j = place[group[i]]
        place[group[i]] += 1
        while j > first and (values[j - 1] > x[i] or (values[j - 1] == x[i] and counts[j - 1] > weights[i])):
            values[j], counts[j] = values[j - 1], counts[j - 1]
            j -= 1
        values[j], counts[j] = x[i], weights[i]
    return values, counts


@njit(cache=True, nogil=True)
def means(values: Floats, weights: Floats, first: Integers, last: Integers) -> Floats:
    """Weighted mean of the members ``first[g]:last[g]`` of each group, added with compensation.

    Weights of one change no bit of the plain mean.
    """
    result = np.empty(first.size)
    for g in range(first.size):
        x, w = values[first[g] : last[g]], weights[first[g] : last[g]]
        total, lost, weight = 0.0, 0.0, 0.0
        for i in range(x.size):
            term = w[i] * x[i]
            new = total + term
            lost += (total - new) + term if abs(total) >= abs(term) else (term - new) + total
            total = new
            weight += w[i]
        mean = (total + lost) / weight
        if not np.isfinite(mean):  # the sum overflowed, the mean does not
            mean = 0.0
            for i in range(x.size):
                mean += (w[i] / weight) * x[i]
        result[g] = mean
    return result


@njit(cache=True, nogil=True)
def middle(weights: Floats, starts: Integers) -> tuple[Integers, Integers]:
    """Return the places of the lower and the upper median of each group.

    The lower one is the first member at which the running weight reaches half of the group's. The upper one is the next
    member if it is exactly half, else the same.
    """
    lower = np.empty(starts.size - 1, np.int64)
    upper = np.empty(starts.size - 1, np.int64)
    for g in range(lower.size):
        total = 0.0
        for i in range(starts[g], starts[g + 1]):
            total += weights[i]
        place = starts[g]
        running = weights[place]
        while running < total / 2:
            place += 1
            running += weights[place]
        lower[g] = place
        upper[g] = place + 1 if running == total / 2 else place
    return lower, upper


@njit(cache=True, nogil=True)
def convex_medians(places: Integers, weights: Floats, starts: Integers) -> Integers:
    """Return the convex median of each group of levels, given by their places 0, 1, ... in the order of the levels.

    It is the lower median of frequencies that were made convex; outside of a group's own range these are 0.
    """
    result = np.empty(starts.size - 1, np.int64)
    for g in range(result.size):
        low = places[starts[g]]
        frequency = np.zeros(places[starts[g + 1] - 1] - low + 1)
        for i in range(starts[g], starts[g + 1]):
            frequency[places[i] - low] += weights[i]
        hull = np.empty(frequency.size)
        convex(frequency, hull)  # type: ignore[arg-type]  # weights do as well as counts
        result[g] = low + median_level(hull)  # type: ignore[arg-type]
    return result


@njit(cache=True, nogil=True)
def least_distant(
    values: Floats, numbers: NDArray[np.bool_], column_weights: Floats, weights: Floats, starts: Integers
) -> Integers:
    """Return the place of each group's member with the least weighted sum of squared distances to all; the first wins.

    Distances are those of `EncodedMatrix`; columns are of `numbers` or of categories. Every pair is
    measured once, and each member's sum runs over the others in their order.
    """
    result = np.empty(starts.size - 1, np.int64)
    for g in range(result.size):
        first, last = starts[g], starts[g + 1]
        sums = np.zeros(last - first)
        for a in range(first, last):
            for b in range(a + 1, last):
                distance = 0.0
                for j in range(values.shape[1]):
                    x, y = values[a, j], values[b, j]
                    difference = x - y
                    if np.isnan(difference):
                        if np.isnan(x) != np.isnan(y):
                            distance += column_weights[j]
                    elif numbers[j]:
                        distance += difference * difference
                    elif difference != 0:
                        distance += column_weights[j]
                sums[a - first] += weights[b] * distance
                sums[b - first] += weights[a] * distance
        result[g] = first + np.argmin(sums)
    return result

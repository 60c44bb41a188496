"""The average of the remaining records, attribute by attribute according to its type, kept up as records leave.

Sums are exact, and frequencies are counted, so that the average is always the one that a fresh start would give.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MODE, EncodedMatrix
from shoal.kernels.exact_sum import add_record, digit_range, mean_of
from shoal.kernels.types import Floats, Integers


class Tally(NamedTuple):
    """What the average record is computed from; arrays only, so that kernels can take it."""

    present: Integers  # (attributes,): how many remaining records have a value
    total: Integers  # (attributes, digits): the exact sums where the average is a mean, see `shoal.kernels.exact_sum`
    first: int  # the lowest digit of the sums
    starts: Integers  # (attributes + 1,): where the levels of an attribute begin in `frequency`
    frequency: Integers  # how many remaining records have each level or category, attribute after attribute
    winner: Integers  # a tournament a nominal attribute, from 2 * starts[j] on, see `settle`
    hull: Integers  # scratch: as many as the most levels
    numbers: Floats  # scratch: (attributes,)


@njit(cache=True, nogil=True)
def sum_digits(space: EncodedMatrix) -> tuple[int, int]:
    """Return the lowest digit and the number of digits that the sums of all columns of means need."""
    n, d = space.values.shape
    column = np.empty(n)
    first, end = 64, 0
    for j in range(d):
        if space.kinds[j] == MEAN:
            for i in range(n):
                column[i] = 0.0 if np.isnan(space.values[i, j]) else space.values[i, j]
            low, digits = digit_range(column.view(np.int64))
            first, end = min(first, low), max(end, low + digits)
    return first, max(end - first, 0)


@njit(cache=True, nogil=True)
def settle(frequency: Integers, winner: Integers, node: int) -> None:
    """Let the two children of a node play: the more frequent category wins, of equals the one with the lower number.

    The winner of node g plays in node g // 2, that of node 1 is the mode, and category c starts from node (number of
    categories) + c. When a category loses a record, only the nodes above it play again.
    """
    a, b = winner[2 * node], winner[2 * node + 1]
    b_wins = frequency[b] > frequency[a] or (frequency[b] == frequency[a] and b < a)
    winner[node] = b if b_wins else a


@njit(cache=True, nogil=True)
def level_of(x: float, step: float) -> int:
    """Return the place of a level, or the number of a category; attributes without weight have their levels at 0."""
    return round(x / step) if step > 0.0 else 0


@njit(cache=True, nogil=True)
def count_record(tally: Tally, space: EncodedMatrix, i: int, sign: int) -> None:
    """Add (sign = 1) or take away (sign = -1) a record; tournaments are left alone."""
    for j in range(space.values.shape[1]):
        x = space.values[i, j]
        tally.numbers[j] = 0.0
        if np.isnan(x):
            continue
        tally.present[j] += sign
        if space.kinds[j] == MEAN:
            tally.numbers[j] = x
        else:
            tally.frequency[tally.starts[j] + level_of(x, space.steps[j])] += sign
    add_record(tally.total, tally.first, tally.numbers.view(np.int64), sign)


@njit(cache=True, nogil=True)
def tally_all(space: EncodedMatrix) -> Tally:
    """Count all records."""
    n, d = space.values.shape
    first, digits = sum_digits(space)
    starts = np.zeros(d + 1, np.int64)
    most = 0
    for j in range(d):
        starts[j + 1] = starts[j] + space.levels[j]
        most = max(most, space.levels[j])
    tally = Tally(
        np.zeros(d, np.int64),
        np.zeros((d, digits), np.int64),
        first,
        starts,
        np.zeros(starts[d], np.int64),
        np.zeros(2 * starts[d], np.int64),
        np.empty(most, np.int64),
        np.empty(d),
    )
    for i in range(n):
        count_record(tally, space, i, 1)
    for j in range(d):
        if space.kinds[j] == MODE:
            categories = space.levels[j]
            frequency, winner = tally.frequency[starts[j] :], tally.winner[2 * starts[j] :]
            for c in range(categories):
                winner[categories + c] = c
            for node in range(categories - 1, 0, -1):
                settle(frequency, winner, node)
    return tally


@njit(cache=True, nogil=True)
def take_away(tally: Tally, space: EncodedMatrix, i: int) -> None:
    """Take a record out of the average."""
    count_record(tally, space, i, -1)
    for j in range(space.values.shape[1]):
        if space.kinds[j] == MODE and not np.isnan(space.values[i, j]):
            frequency, winner = tally.frequency[tally.starts[j] :], tally.winner[2 * tally.starts[j] :]
            node = (space.levels[j] + level_of(space.values[i, j], space.steps[j])) // 2
            while node > 0:
                settle(frequency, winner, node)
                node //= 2


@njit(cache=True, nogil=True)
def convex(frequency: Integers, hull: Integers) -> None:
    """Write the least frequencies above the given ones that rise to a peak and fall: no dips remain [1]_.

    At level i, the smaller of the largest frequency up to i and the largest from i on.

    References
    ----------
    .. [1] J. Domingo-Ferrer and V. Torra, "Median-based aggregation operators for prototype construction in ordinal
       scales", International Journal of Intelligent Systems 18 (2003) 633-655.
    """
    peak = 0
    for i in range(frequency.shape[0]):
        peak = max(peak, frequency[i])
        hull[i] = peak
    peak = 0
    for i in range(frequency.shape[0] - 1, -1, -1):
        peak = max(peak, frequency[i])
        hull[i] = min(hull[i], peak)


@njit(cache=True, nogil=True)
def median_level(frequency: Integers) -> int:
    """Return the lower median: the first level up to which at least half of all are."""
    total = 0
    for f in frequency:
        total += f
    level, below = 0, frequency[0]
    while 2 * below < total:
        level += 1
        below += frequency[level]
    return level


@njit(cache=True, nogil=True)
def average_record(tally: Tally, space: EncodedMatrix, count: int, average: Floats) -> None:
    """Write the average of the `count` remaining records; missing where more of them miss the value than have it."""
    for j in range(average.shape[0]):
        if count - tally.present[j] > tally.present[j]:
            average[j] = np.nan
        elif space.kinds[j] == MEAN:
            mean_of(tally.total[j : j + 1], tally.first, tally.present[j], average[j : j + 1])
        elif space.kinds[j] == MODE:
            average[j] = tally.winner[2 * tally.starts[j] + 1]
        else:
            frequency = tally.frequency[tally.starts[j] : tally.starts[j + 1]]
            if space.kinds[j] == CONVEX_MEDIAN:
                hull = tally.hull[: frequency.shape[0]]
                convex(frequency, hull)
                frequency = hull
            average[j] = median_level(frequency) * space.steps[j]

"""Kernels over the members of groups.

Members lie group by group, those of group g in ``starts[g]:starts[g + 1]``, and no group is empty. Within a group they
go from the least value to the largest, equal ones from the least weight to the largest: whatever is added up is added
in this order, so that no result depends on the order of the records. Weights are positive.
"""

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.types import Floats, Integers


def gathered(x: Floats, weights: Floats, group: Integers, starts: Integers) -> tuple[Floats, Floats]:
    """Return values and weights group by group, each group sorted as above, by insertion: for small groups only."""
    values, counts = np.empty_like(x), np.empty_like(weights)
    _native.gathered(x, weights, group, starts, values, counts)
    return values, counts


def means(values: Floats, weights: Floats, first: Integers, last: Integers) -> Floats:
    """Weighted mean of the members ``first[g]:last[g]`` of each group, added with compensation.

    Weights of one change no bit of the plain mean.
    """
    result = np.empty(first.size)
    _native.means(values, weights, first, last, result)
    return result


def middle(weights: Floats, starts: Integers) -> tuple[Integers, Integers]:
    """Return the places of the lower and the upper median of each group.

    The lower one is the first member at which the running weight reaches half of the group's. The upper one is the next
    member if it is exactly half, else the same.
    """
    lower, upper = np.empty(starts.size - 1, np.int64), np.empty(starts.size - 1, np.int64)
    _native.middle(weights, starts, lower, upper)
    return lower, upper


def convex_medians(places: Integers, weights: Floats, starts: Integers) -> Integers:
    """Return the convex median of each group of levels, given by their places 0, 1, ... in the order of the levels.

    It is the lower median of frequencies that were made convex; outside of a group's own range these are 0.
    """
    result = np.empty(starts.size - 1, np.int64)
    _native.convex_medians(places, weights, starts, result)
    return result


def least_distant(
    values: Floats, numbers: NDArray[np.bool_], column_weights: Floats, weights: Floats, starts: Integers
) -> Integers:
    """Return the place of each group's member with the least weighted sum of squared distances to all; the first wins.

    Distances are those of `EncodedMatrix`; columns are of `numbers` or of categories. Every pair is
    measured once, and each member's sum runs over the others in their order.
    """
    result = np.empty(starts.size - 1, np.int64)
    _native.least_distant(values, numbers, column_weights, weights, starts, result)
    return result

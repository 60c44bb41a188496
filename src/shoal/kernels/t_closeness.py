"""How far the distribution of a numeric attribute in a class is from that in the whole file."""

import numpy as np
from numba import njit

from shoal.kernels.types import Floats, Integers


@njit(cache=True, nogil=True)
def ordered_distances(start: Integers, code: Integers, below: Integers) -> Floats:
    """Return for each class the sum over all values of |share of the class up to it - share of the file up to it|.

    Class c has the records start[c] .. start[c + 1], sorted by `code`, the rank of their value among all different
    ones; ``below[v]`` records of the file have a value up to v. Between two values of a class its share stays the same
    while that of the file grows, so one search finds where the sign changes, and running sums give both parts: a class
    costs as much as it has records, not as the file has values.
    """
    values = below.shape[0]
    n = below[values - 1]
    running = np.zeros(values + 1)  # sums of `below`: whole numbers, exact to 2^53
    for v in range(values):
        running[v + 1] = running[v] + below[v]
    distances = np.zeros(start.shape[0] - 1)
    for c in range(distances.shape[0]):
        low, high = start[c], start[c + 1]
        size = high - low
        total = 0.0
        at = 0
        for i in range(low, high + 1):
            until = code[i] if i < high else values
            if until > at:  # the values at .. until have i - low records of the class below them
                level = (i - low) * n / size
                middle = at + np.searchsorted(below[at:until], level)
                total += level * (middle - at) - (running[middle] - running[at])
                total += running[until] - running[middle] - level * (until - middle)
                at = until
        distances[c] = total / n
    return distances

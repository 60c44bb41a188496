"""How far the distribution of a confidential attribute in a class is from that in the whole file."""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.types import Floats, Integers


def ordered_distances(start: Integers, code: Integers, below: Integers) -> Floats:
    """Return for each class the sum over all values of |share of the class up to it - share of the file up to it|.

    Class c has the records start[c] .. start[c + 1], sorted by `code`, the rank of their value among all different
    ones; ``below[v]`` records of the file have a value up to v. A class costs as much as it has records, not as the
    file has values.
    """
    distances = np.empty(len(start) - 1)
    _native.ordered_distances(start, code, below, distances)
    return distances


def distances_from_file(start: Integers, code: Integers, below: Integers, ordered: bool) -> Floats:
    """Return the earth mover's distance, from 0 to 1, of each class; arguments as for `ordered_distances`."""
    distances = np.empty(len(start) - 1)
    _native.distances_from_file(start, code, below, bool(ordered), distances)
    return distances

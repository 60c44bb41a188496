"""An intruder's links: the published class nearest to a record, and the patterns in which two records agree."""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.stop import stoppable
from shoal.kernels.types import Floats, Integers


def link_to_nearest(
    Z: Floats, rows: Floats, labels: Integers, first: Integers, size: Integers, asked: Integers
) -> tuple[int, float]:
    """Link the records `asked` of Z to the nearest of the published classes, whose values are `rows`.

    Return how many are linked to themselves if the first record of the lowest nearest class is taken, and how many are
    to be expected if one of all the nearest records is drawn. `labels` says in which class each record is published;
    classes are numbered in the order of their first record, so that the lowest class has the lowest index.
    """
    with stoppable() as watch:
        return _native.link_to_nearest(Z, rows, labels, first, size, asked, watch)


def count_patterns(Z: Floats, columns: Floats, size: Integers, asked: Integers, within: float) -> Integers:
    """Count each pattern of agreement over the pairs of the records asked with all published records.

    Bit j of a pattern is set where the values of attribute j, a row of `columns`, are within the limit.
    """
    counts = np.empty(1 << len(columns), np.int64)
    with stoppable() as watch:
        _native.count_patterns(Z, columns, size, asked, within, watch, counts)
    return counts


def link_by_weight(
    Z: Floats, columns: Floats, labels: Integers, size: Integers, asked: Integers, within: float, weight: Floats
) -> float:
    """Return how many records are expected to be linked to themselves if each takes one of highest weight at random."""
    with stoppable() as watch:
        return _native.link_by_weight(Z, columns, labels, size, asked, within, weight, watch)

"""The nearest of some average records, for records that miss values."""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.stop import stoppable
from shoal.kernels.types import Floats, Integers


def nearest_average(values: Floats, averages: Floats, centre: Floats, kinds: Integers, weights: Floats) -> Integers:
    """Return, for each record, the average record nearest to it in the values that it has.

    Of several, the one nearest to the centre in the values that it misses: what nobody knows is taken to be usual.
    Further ties go to the first.
    """
    nearest = np.empty(len(values), np.int64)
    values, averages = np.ascontiguousarray(values), np.ascontiguousarray(averages)
    with stoppable() as watch:
        _native.nearest_average(values, averages, centre, kinds, weights, watch, nearest)
    return nearest

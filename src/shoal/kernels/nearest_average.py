"""The nearest of some average records, for records that miss values."""

import numpy as np
from numba import njit

from shoal.kernels.encoded import MODE
from shoal.kernels.types import Floats, Integers


@njit(cache=True, nogil=True)
def nearest_average(values: Floats, averages: Floats, centre: Floats, kinds: Integers, weights: Floats) -> Integers:
    """Return, for each record, the average record nearest to it in the values that it has.

    Of several, the one nearest to the centre in the values that it misses: what nobody knows is taken to be usual.
    Further ties go to the first.
    """
    nearest = np.zeros(values.shape[0], np.int64)
    for i in range(values.shape[0]):
        best, best_unknown = np.inf, np.inf
        for g in range(averages.shape[0]):
            known, unknown = 0.0, 0.0
            for j in range(values.shape[1]):
                missing = np.isnan(values[i, j])
                value = centre[j] if missing else values[i, j]
                if kinds[j] == MODE:
                    apart = 0.0 if value == averages[g, j] else weights[j]
                else:
                    apart = (value - averages[g, j]) ** 2
                if missing:
                    unknown += apart
                else:
                    known += apart
            if known < best or (known == best and unknown < best_unknown):
                best, best_unknown, nearest[i] = known, unknown, g
    return nearest

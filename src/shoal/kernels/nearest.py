"""The nearest of some average records, for records that miss values."""

import numpy as np
from numba import njit

from shoal.kernels.types import Floats, Integers
from shoal.space import MODE


@njit(cache=True, nogil=True)
def nearest_average(values: Floats, averages: Floats, kinds: Integers, weights: Floats) -> Integers:
    """Return, for each record, the average record nearest to it in the values that it has; ties go to the first."""
    nearest = np.zeros(values.shape[0], np.int64)
    for i in range(values.shape[0]):
        best = np.inf
        for g in range(averages.shape[0]):
            distance = 0.0
            for j in range(values.shape[1]):
                if np.isnan(values[i, j]):
                    continue
                if kinds[j] == MODE:
                    distance += 0.0 if values[i, j] == averages[g, j] else weights[j]
                else:
                    distance += (values[i, j] - averages[g, j]) ** 2
            if distance < best:
                best, nearest[i] = distance, g
    return nearest

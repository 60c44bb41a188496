"""Sums over rows that match where a missing value stands for any value."""

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.stop import stoppable
from shoal.kernels.types import Floats


def matching_sums(asked: NDArray[np.int32], rows: NDArray[np.int32], values: Floats) -> Floats:
    """Add up, for each row asked, the values of all rows that are alike wherever neither has a 0, a missing value.

    Rows that have values in the same columns share a hash table for each set of columns that they are compared in.
    """
    sums = np.empty((len(asked), values.shape[1]))
    with stoppable() as watch:
        _native.matching_sums(asked, rows, values, watch, sums)
    return sums

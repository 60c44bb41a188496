"""The average of the remaining records, attribute by attribute according to its type, kept up as records leave."""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.types import Floats, Integers


def averages_as_they_leave(space: EncodedMatrix, leaving: Integers) -> Floats:
    """Return the average of all records, then that of those left after the first leaving one is gone, the second, ...

    A value is missing where more of the records miss it than have it. Sums are exact, and frequencies are counted, so
    that the average is always the one that a fresh start would give. The convex median is that of [1]_.

    References
    ----------
    .. [1] J. Domingo-Ferrer and V. Torra, "Median-based aggregation operators for prototype construction in ordinal
       scales", International Journal of Intelligent Systems 18 (2003) 633-655.
    """
    averages = np.empty((len(leaving) + 1, space.values.shape[1]))
    _native.averages_as_they_leave(space, leaving, averages)
    return averages

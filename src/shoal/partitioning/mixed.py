"""MDAV-generic for attributes of every type, with missing values."""

import numpy as np
import numpy.typing as npt

from shoal.kernels.encoded import MODE, EncodedMatrix
from shoal.kernels.mdav_mixed import mdav_generic


def within_range(space: EncodedMatrix) -> EncodedMatrix:
    """Return a space in which no squared distance overflows; a power of two changes no comparison.

    Weights can then become so small that they lose digits or vanish: missing values and categories count for nothing
    beside such numbers, as they would by rounding.
    """
    values = np.ascontiguousarray(space.values, dtype=np.float64)
    numbers = space.kinds != MODE
    peak = max(
        np.fmax.reduce(np.abs(values[:, numbers]), axis=None, initial=0.0), np.sqrt(space.weights.max(initial=0))
    )
    if not peak > 1e150:
        return space._replace(values=values)
    down = 2.0**-520  # also the square of twice the largest float64, and thousands of them, stay finite
    return space._replace(
        values=np.where(numbers, values * down, values),
        weights=space.weights * down * down,
        steps=np.where(numbers, space.steps * down, space.steps),
    )


def mdav_mixed(space: EncodedMatrix, k: int, watch: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
    """Partition records by MDAV-generic [1]_: groups of k, the last of up to 2k - 1.

    The algorithm of `shoal.partitioning.mdav.mdav` with distances of `EncodedMatrix`; on a plain one, groups are the
    same. The average record is, attribute by attribute, the mean, the median, the convex median [2]_ or the mode of the
    values present; it misses a value that more records miss than have. Of several categories that are as frequent, the
    mode is the one with the lowest number; medians are lower medians. Ties go to the lowest record index.

    Parameters
    ----------
    space
        The records and how distances among them are measured.
    k
        The least number of records in a group.
    watch
        Two integers shared with another thread: the first is kept at the number of records assigned so far; once the
        second is not zero, the search stops, and records not yet assigned have label -1.

    Returns
    -------
    labels
        One integer a record; groups are numbered in the order they are formed.

    References
    ----------
    .. [1] J. Domingo-Ferrer and V. Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation",
       Data Mining and Knowledge Discovery 11 (2005) 195-212.
    .. [2] J. Domingo-Ferrer and V. Torra, "Median-based aggregation operators for prototype construction in ordinal
       scales", International Journal of Intelligent Systems 18 (2003) 633-655.
    """
    if watch is None:
        watch = np.zeros(2, np.int64)
    labels: npt.NDArray[np.int64] = mdav_generic(within_range(space), k, watch)
    return labels

"""MDAV: maximum distance to average vector, for numbers and for attributes of every type."""

import numpy as np

from shoal.kernels.encoded import MODE, EncodedMatrix
from shoal.kernels.mdav import mdav_generic, mdav_scan, mdav_tree
from shoal.kernels.types import Floats, Integers

# Measured (k = 3, processor time). The tree takes as long as a scan at 2,000 to 4,000 records, 3 ms; at 10,000, scan /
# tree is 1.5 to 1.8 with 5 attributes, 0.4 (uniform) to 2.3 (clustered) with 16. At 100,000 it is 1.2 to 4.5 with 12
# attributes, 0.6 to 5.8 with 16: in uniform data of many attributes a tree enters nearly every box.
TREE_FROM = 10_000
TREE_UP_TO = 16


def within_range(X: Floats) -> Floats:
    """Return X in C order, scaled by a power of two, which changes no comparison, where squares would be lost.

    Unlike `within_squares` it scales as little as possible: a naive search compares distances of any size.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    peak = max(X.max(initial=0.0), -X.min(initial=0.0))
    if peak > 1e150:
        return X * 2.0**-512
    return X * 2.0**512 if 0 < peak < 1e-140 else X


def mdav(X: Floats, k: int, watch: Integers | None = None) -> Integers:
    """Partition records by MDAV-generic [1]_: groups of k, the last of up to 2k - 1.

    While 3k or more records are left: x_r, the record farthest from the mean of those left, and its k - 1 nearest form
    a group; x_s, the record then farthest from x_r, and its k - 1 nearest form another. If 2k or more are left, one
    more group is formed around the farthest from the mean; the rest is the last. Ties go to the lowest record index.

    Few records or many attributes are scanned; otherwise a k-d tree is searched. The groups are the same to the record.

    References
    ----------
    .. [1] J. Domingo-Ferrer and V. Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation",
       Data Mining and Knowledge Discovery 11 (2005) 195-212.
    """
    if watch is None:
        watch = np.zeros(2, np.int64)
    search = mdav_tree if X.shape[0] >= TREE_FROM and X.shape[1] <= TREE_UP_TO else mdav_scan
    labels: Integers = search(within_range(X), k, watch)
    return labels


def space_within_range(space: EncodedMatrix) -> EncodedMatrix:
    """Return a space in which no squared distance overflows; a power of two changes no comparison.

    Weights can then become so small that they lose digits or vanish: missing values and categories count for nothing
    beside such numbers, as they would by rounding.
    """
    values = np.ascontiguousarray(space.values, dtype=np.float64)
    numbers = space.kinds != MODE
    peak = max(np.fmax.reduce(np.abs(values[:, numbers]), axis=None, initial=0.0), np.sqrt(space.apart.max(initial=0)))
    if not peak > 1e150:
        return space._replace(values=values)
    down = 2.0**-520  # also the square of twice the largest float64, and thousands of them, stay finite
    return space._replace(
        values=np.where(numbers, values * down, values),
        apart=space.apart * down * down,
        steps=np.where(numbers, space.steps * down, space.steps),
    )


def mdav_mixed(space: EncodedMatrix, k: int, watch: Integers | None = None) -> Integers:
    """Partition records by MDAV-generic [1]_: groups of k, the last of up to 2k - 1.

    The algorithm of `shoal.partitioning.mdav.mdav` with distances of `EncodedMatrix`; on a plain one, groups are the
    same. The average record is, attribute by attribute, the mean, the median, the convex median [2]_ or the mode of the
    values present; it misses a value that more records miss than have. Of several categories that are as frequent, the
    mode is the one with the lowest number; medians are lower medians. Ties go to the lowest record index.

    References
    ----------
    .. [1] J. Domingo-Ferrer and V. Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation",
       Data Mining and Knowledge Discovery 11 (2005) 195-212.
    .. [2] J. Domingo-Ferrer and V. Torra, "Median-based aggregation operators for prototype construction in ordinal
       scales", International Journal of Intelligent Systems 18 (2003) 633-655.
    """
    if watch is None:
        watch = np.zeros(2, np.int64)
    labels: Integers = mdav_generic(space_within_range(space), k, watch)
    return labels

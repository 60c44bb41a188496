"""MDAV: maximum distance to average vector."""

import numpy as np
import numpy.typing as npt

from shoal.kernels.mdav_scan import mdav_scan
from shoal.kernels.mdav_tree import mdav_tree

# Measured (k = 3, processor time). At 10,000 records scan and tree take much the same, under 0.1 s, and small files
# need not compile the tree. At 100,000, scan / tree is 1.3 (uniform) to 4.2 (clustered) at 12 attributes, 0.5 to 4.2 at
# 16, 0.1 to 4.6 at 24: in uniform data of many attributes a tree enters nearly every box.
TREE_FROM = 10_000
TREE_UP_TO = 16


def within_range(X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return X in C order, scaled by a power of two, which changes no comparison, where squares would be lost."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    peak = max(X.max(initial=0.0), -X.min(initial=0.0))
    if peak > 1e150:
        return X * 2.0**-512
    return X * 2.0**512 if 0 < peak < 1e-140 else X


def mdav(X: npt.NDArray[np.float64], k: int, watch: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
    """Partition records by MDAV-generic [1]_: groups of k, the last of up to 2k - 1.

    While 3k or more records are left: x_r, the record farthest from the mean of those left, and its k - 1 nearest form
    a group; x_s, the record then farthest from x_r, and its k - 1 nearest form another. If 2k or more are left, one
    more group is formed around the farthest from the mean; the rest is the last. Ties go to the lowest record index.

    Few records or many attributes are scanned; otherwise a k-d tree is searched. The groups are the same to the record.

    Parameters
    ----------
    X
        An (n, d) matrix in which squared Euclidean distance is the right distance.
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
    """
    if watch is None:
        watch = np.zeros(2, np.int64)
    search = mdav_tree if X.shape[0] >= TREE_FROM and X.shape[1] <= TREE_UP_TO else mdav_scan
    labels: npt.NDArray[np.int64] = search(within_range(X), k, watch)
    return labels

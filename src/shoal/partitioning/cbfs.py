"""CBFS: centroid-based fixed-size microaggregation."""

import numpy as np

from shoal.kernels.mdav import cbfs_tree
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.mdav import within_range


def cbfs(X: Floats, k: int, watch: Integers | None = None) -> Integers:
    """Partition records by centroid-based fixed-size microaggregation [1]_: groups of k, a few of up to 2k - 1.

    While k or more records are left, the one farthest from the centroid of those left and its k - 1 nearest form a
    group. The fewer than k records that remain join the group with the nearest centroid. Ties go to the lowest record
    index. All labels are -1 once it is stopped.

    References
    ----------
    .. [1] M. Laszlo and S. Mukherjee, "Minimum spanning tree partitioning algorithm for microaggregation", IEEE
       Transactions on Knowledge and Data Engineering 17 (2005) 902-911.
    """
    if watch is None:
        watch = np.zeros(2, np.int64)
    rows = within_range(X)
    labels = cbfs_tree(rows, k, watch)
    if watch[1] != 0:
        return np.full(len(X), -1)
    left = np.flatnonzero(labels < 0)
    if left.size:
        centroids = group_means(rows, labels)
        distances = ((rows[left, None, :] - centroids) ** 2).sum(axis=2)
        labels[left] = np.argmin(distances, axis=1)
    return labels


def group_means(X: Floats, labels: Integers) -> Floats:
    """Return the mean record of each of the groups 0, 1, ...; records with the label -1 are in none."""
    grouped = labels >= 0
    size = np.bincount(labels[grouped])
    return np.column_stack([np.bincount(labels[grouped], x) / size for x in X[grouped].T])

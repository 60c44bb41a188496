"""Orderings: put the records of several attributes in a line, which the optimal cut then divides.

An ordering is a function of X that returns a permutation: a projection by which records are sorted, a walk from record
to record. The one that takes longest and serves best, `tour`, has a module of its own. Where to
cut is not decided here but in `shoal.partitioning.optimal_cut`, which measures the loss in all the attributes, not
along the line.
"""

import numpy as np

from shoal.kernels.paths import nearest_next
from shoal.kernels.standardize import matrix_near_one, standardize, within_squares
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.cbfs import cbfs, group_means
from shoal.partitioning.mdav import mdav
from shoal.partitioning.optimal_cut import cut


def pca(X: Floats, k: int, watch: Integers | None = None) -> Integers:
    """Partition records along their first principal component, cut optimally (PCP microaggregation [1]_).

    The line is ``(X - mean) w``, with w the eigenvector of the covariance matrix that has the largest eigenvalue: of
    all projections, the one that keeps most of the variance [2]_. The cut has the least sum of squared errors, over
    all attributes, of any division of this line into groups of k to 2k - 1. O(n d^2 + n log n + n k d).

    The first loading of w of at least half the size of its largest is positive. If the two largest eigenvalues are
    equal (two uncorrelated z-scores, for instance), every direction in their plane keeps as much variance; the one
    that LAPACK returns is taken, and another LAPACK may return another. Records of equal score stand in the line as
    they stand in X. Constant columns have no part in w.

    References
    ----------
    .. [1] J. Nin, J. Herranz and V. Torra, "On the disclosure risk of multivariate microaggregation", Data & Knowledge
       Engineering 67 (2008) 399-412; with groups of equal size: J. M. Mateo-Sanz and J. Domingo-Ferrer, "A method for
       data-oriented multivariate microaggregation", Statistical Data Protection (1999) 89-99.
    .. [2] I. T. Jolliffe, Principal Component Analysis, 2nd ed., Springer 2002.
    """
    return cut(X, principal_order(X), k, watch)


def zscores(X: Floats, k: int, watch: Integers | None = None) -> Integers:
    """Partition records along the sum of their z-scores, cut optimally (Zscores microaggregation [1]_).

    The line is ``sum_j (x_ij - mean_j) / sd_j``. It suits attributes that rise together; two that are opposed cancel in
    the sum, where `pca` would set them against each other. The cut has the least sum of squared errors, over all
    attributes, of any division of this line into groups of k to 2k - 1. O(n log n + n k d).

    X is z-scored for the sum, whatever its scale; the cut measures loss in X as it is. Records of equal sum stand in
    the line as they stand in X. Constant columns add nothing.

    Parameters, and the labels that are returned, are those of `pca`.

    References
    ----------
    .. [1] J. Nin, J. Herranz and V. Torra, "On the disclosure risk of multivariate microaggregation", Data & Knowledge
       Engineering 67 (2008) 399-412; J. Domingo-Ferrer and J. M. Mateo-Sanz, "Practical data-oriented microaggregation
       for statistical disclosure control", IEEE Transactions on Knowledge and Data Engineering 14 (2002) 189-201.
    """
    return cut(X, zscore_order(X), k, watch)


def npn_mhm(X: Floats, k: int, watch: Integers | None = None) -> Integers:
    """Partition records along the nearest point next, cut optimally (NPN-MHM [1]_).

    The line begins at the record farthest from the mean and goes on to the nearest record not yet visited. It does not
    depend on k. Ties go to the lowest record index. O(n log n + n k d) for few attributes.

    References
    ----------
    .. [1] J. Domingo-Ferrer, A. Martínez-Ballesté, J. M. Mateo-Sanz and F. Sebé, "Efficient multivariate data-oriented
       microaggregation", VLDB Journal 15 (2006) 355-369.
    """
    return _unless_stopped(X, nearest_next_order(X, watch), k, watch)


def mdav_mhm(X: Floats, k: int, watch: Integers | None = None) -> Integers:
    """Partition records along the groups of MDAV, cut optimally (MDAV-MHM [1]_); see `group_order`.

    Each group of MDAV is a stretch of the line, so that the cut never loses more than MDAV.

    References
    ----------
    .. [1] J. Domingo-Ferrer, A. Martínez-Ballesté, J. M. Mateo-Sanz and F. Sebé, "Efficient multivariate data-oriented
       microaggregation", VLDB Journal 15 (2006) 355-369.
    """
    return _unless_stopped(X, group_order(X, mdav(X, k, watch), watch), k, watch)


def cbfs_mhm(X: Floats, k: int, watch: Integers | None = None) -> Integers:
    """Partition records along the groups of CBFS, cut optimally (CBFS-MHM [1]_); see `group_order`.

    References
    ----------
    .. [1] J. Domingo-Ferrer, A. Martínez-Ballesté, J. M. Mateo-Sanz and F. Sebé, "Efficient multivariate data-oriented
       microaggregation", VLDB Journal 15 (2006) 355-369.
    """
    return _unless_stopped(X, group_order(X, cbfs(X, k, watch), watch), k, watch)


def _unless_stopped(X: Floats, order: Integers, k: int, watch: Integers | None) -> Integers:
    return np.full(len(X), -1) if watch is not None and watch[1] != 0 else cut(X, order, k, watch)


def nearest_next_order(X: Floats, watch: Integers | None = None) -> Integers:
    """Order records by the nearest point next: from the one farthest from the mean to the nearest not yet visited.

    Once stopped, records stand as they stand in X.
    """
    watch = np.zeros(2, np.int64) if watch is None else watch
    rows = within_squares(X)
    start = int(np.argmax(((rows - rows.mean(axis=0)) ** 2).sum(axis=1)))
    order = nearest_next(rows, np.arange(len(rows)), start, watch)
    return np.arange(len(rows)) if watch[1] != 0 else order


def group_order(X: Floats, labels: Integers, watch: Integers | None = None) -> Integers:
    """Order records group by group: the nearest point next of the groups' centroids, then within each group.

    The first group is the one whose centroid is farthest from the mean of the centroids, the next the one with the
    nearest centroid. A group is entered at its record nearest to the last record of the group before (the first group
    at its record farthest from its centroid) and left after the nearest point next. Ties go to the lowest index. Once
    stopped, records stand as they stand in X.
    """
    if watch is not None and watch[1] != 0:
        return np.arange(len(X))
    rows = within_squares(X)
    centroids = group_means(rows, labels)
    entered = nearest_next_order(centroids, watch)
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    first = members[entered[0]]
    at = int(first[np.argmax(((rows[first] - centroids[entered[0]]) ** 2).sum(axis=1))])
    order = np.empty(len(X), np.int64)
    place = 0
    for group in entered:
        left = members[group]
        while left.size:
            nearest = int(np.argmin(((rows[left] - rows[at]) ** 2).sum(axis=1)))
            at = int(left[nearest])
            order[place] = at
            left = np.delete(left, nearest)
            place += 1
    return order


def principal_order(X: Floats) -> Integers:
    """Order records along their first principal component; equal scores stand as they stand in X."""
    return line(X, principal_direction(X))


def zscore_order(X: Floats) -> Integers:
    """Order records along the sum of their z-scores; equal sums stand as they stand in X."""
    return line(standardize(X), np.ones(X.shape[1]))


def principal_direction(X: Floats) -> Floats:
    """Return the unit vector w of the most variance: the first eigenvector of the covariance matrix of X."""
    centred, _ = matrix_near_one(X)
    centred -= centred.mean(axis=0)
    centred[:, X.min(axis=0) == X.max(axis=0)] = 0.0  # a mean may be a rounding error away from its constant
    centred, _ = matrix_near_one(centred)  # nor do squares vanish beside a large offset
    w: Floats = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    # Not simply the largest: with two z-scored attributes both loadings are sqrt(1/2), and rounding would choose.
    loading = np.argmax(np.abs(w) >= np.abs(w).max() / 2)
    return -w if w[loading] < 0 else w


def line(X: Floats, w: Floats) -> Integers:
    """Sort records by their projection, less their mean, on w; equal ones stay as they stand in X."""
    peak = np.abs(X).max(initial=0.0)
    if peak > 1e300:
        X = X * 2.0**-64
    # One attribute after another, not X @ w: BLAS may add the same record differently in different rows.
    score = np.zeros(len(X))
    for j in np.flatnonzero(w):
        score += (X[:, j] - X[:, j].mean()) * w[j]
    return np.argsort(score, kind="stable")

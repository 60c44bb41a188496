"""Groups of k units: people or firms, of which one may have several records, and records in several groups."""

import numpy as np

from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.kd_nearest import nearest_points
from shoal.kernels.mdav import mdav_units_generic, mdav_units_tree
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.diversity import Units, merge_until, refuse_few
from shoal.partitioning.mdav import space_within_range, within_range


def mdav_units(space: EncodedMatrix, units: Units, watch: Integers | None = None) -> Integers:
    """Partition records by MDAV-generic [1]_ into groups that have records of at least k different units.

    That is the (X, Y)-anonymity of [2]_, with the published values as X and the unit as Y. Groups are formed around x_r
    and x_s as in `shoal.partitioning.mdav.mdav`; each takes, of the k - 1 nearest units that are not in it yet, the
    nearest record. Other records of these units stay for other groups. When records of fewer than k units are left,
    each joins the group with the nearest centroid; if not all attributes are numbers without gaps, the nearest group as
    `merge_until` has it. Ties go to the lowest record index.

    References
    ----------
    .. [1] J. Domingo-Ferrer and V. Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation",
       Data Mining and Knowledge Discovery 11 (2005) 195-212.
    .. [2] K. Wang and B. C. M. Fung, "Anonymizing sequential releases", KDD 2006, 414-423.
    """
    watch = np.zeros(2, np.int64) if watch is None else watch
    refuse_few(units)
    if not space.plain:
        return _mixed(space, units, watch)
    X = within_range(space.values)
    labels = mdav_units_tree(X, units.least, units.codes, watch)
    rest = labels < 0
    if watch[1] != 0 or not rest.any():
        return labels
    # Searches begin at the first centroid, and groups are few beside records.
    labels[rest] = nearest_points(
        centroids(X[~rest], labels[~rest]), X[rest], np.zeros(rest.sum(), np.int64), 1, watch
    )[:, 0]
    return labels


def _mixed(space: EncodedMatrix, units: Units, watch: Integers) -> Integers:
    """Partition records with attributes of every type; those that are left are groups of their own, and merged."""
    labels = mdav_units_generic(space_within_range(space), units.least, units.codes, watch)
    rest = np.flatnonzero(labels < 0)
    if watch[1] != 0 or not len(rest):
        return labels
    labels[rest] = labels.max() + 1 + np.arange(len(rest))
    return merge_until(space, labels, [], None, None, units=units, watch=watch)


def centroids(X: Floats, labels: Integers) -> Floats:
    """Return the mean of each group, whose labels have no gaps."""
    sizes = np.bincount(labels)
    return np.column_stack([np.bincount(labels, column) / sizes for column in X.T])

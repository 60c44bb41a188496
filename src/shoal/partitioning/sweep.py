"""Sweeps: one tour, and partitions for every k of a range from it."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.partitioning.optimal_cut import best_openings, cut_each
from shoal.partitioning.tours import tour


def sweep_cuts(
    X: npt.NDArray[np.float64],
    ks: Sequence[int],
    order: npt.NDArray[np.int64] | None = None,
    watch: npt.NDArray[np.int64] | None = None,
) -> dict[int, npt.NDArray[np.int64]]:
    """Partition records for every k of a range in one run: FDM [1]_, the fast data-oriented microaggregation.

    What takes time is the tour, and it does not depend on k. The group costs, too, are shared by all k. For each k the
    partition is that of `shoal.partitioning.tours.tour_cut`.

    Parameters
    ----------
    X
        An (n, d) matrix in which squared Euclidean distance is the right distance.
    ks
        The least numbers of records in a group, each at most n.
    order
        A line to cut instead of the tour, from its first record to its last: a permutation of 0..n-1.
    watch
        As for `shoal.partitioning.tours.tour`; all labels are -1 once the search has been stopped.

    Returns
    -------
    dict
        For each k one integer a record; groups are numbered along the tour.

    References
    ----------
    .. [1] R. Mortazavi and S. Jalili, "Fast data-oriented microaggregation algorithm for large numerical datasets",
       Knowledge-Based Systems 67 (2014) 195-205.
    """
    if order is not None:
        return cut_each(X, order, ks, watch=watch)
    cycle = tour(X, watch)
    return cut_each(X, cycle, ks, best_openings(X, cycle, ks, watch), watch)

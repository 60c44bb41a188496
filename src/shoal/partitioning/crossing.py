"""Crossing two partitions of the same records: of each part in which they differ, the better half is kept."""

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from shoal.partitioning.numbering import contiguous


def group_errors(X: npt.NDArray[np.float64], labels: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the sum of squared distances to the group mean, for each of the groups 0, 1, ..."""
    size = np.bincount(labels)
    error = np.zeros(len(size))
    for x in X.T:
        mean = np.bincount(labels, x) / size
        error += np.bincount(labels, (x - mean[labels]) ** 2)
    return error


def cross(
    X: npt.NDArray[np.float64], labels: npt.NDArray[np.int64], other: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Combine two partitions into one that is at least as good as either.

    Groups of the two that share a record belong together. Each component of this graph is a set of records that both
    partitions cover with whole groups, so that the choice in one component leaves all others as they are: the crossing
    of tours by components [1]_, for partitions.

    Parameters
    ----------
    X
        An (n, d) matrix in which squared Euclidean distance is the right distance.
    labels, other
        Two partitions of its rows; groups are numbered 0, 1, ... without a gap.

    Returns
    -------
    labels
        The partition with the lower sum of squared errors in each component, the first one where they are equal.

    References
    ----------
    .. [1] D. Whitley, D. Hains and A. Howe, "Tunneling between optima: partition crossover for the traveling salesman
       problem", GECCO 2009, 915-922.
    """
    errors, others = group_errors(X, labels), group_errors(X, other)
    both = len(errors) + len(others)
    shared = coo_matrix((np.ones(len(labels)), (labels, len(errors) + other)), shape=(both, both))
    components, component = connected_components(shared, directed=False)
    first = np.bincount(component[: len(errors)], errors, minlength=components)
    second = np.bincount(component[len(errors) :], others, minlength=components)
    better = (second < first)[component[: len(errors)]]
    return contiguous(np.where(better[labels], len(errors) + other, labels))

"""The optimal cut: any line of records, divided at the best places."""

import numpy as np
import numpy.typing as npt

from shoal.kernels.cut import cut_by_scan, cut_sorted, number_groups


def cut(
    X: npt.NDArray[np.float64],
    order: npt.NDArray[np.int64],
    k: int,
    watch: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.int64]:
    """Cut a line of records into consecutive groups of k to 2k - 1 with the least sum of squared errors.

    The least cost of the first i records is f(i) = min over m in k..2k-1 of f(i - m) + SSE of the last m. In general
    that is O(n k d); one attribute in sorted order takes O(n) for any k. Among cuts of equal computed cost,
    the one with the smallest last group is taken, then with the smallest last but one, and so on.

    Parameters
    ----------
    X
        An (n, d) matrix in which squared Euclidean distance is the right distance; k <= n.
    order
        The records as they stand in the line: a permutation of 0..n-1.
    k
        The least number of records in a group.
    watch
        Two integers shared with another thread: the first is kept at the number of records that the cut has passed;
        once the second is not zero, the search stops and all labels are -1.

    Returns
    -------
    labels
        One integer a record, in the order of X; groups are numbered along the line.

    References
    ----------
    S. L. Hansen, S. Mukherjee: A polynomial algorithm for optimal univariate microaggregation. IEEE Transactions on
    Knowledge and Data Engineering 15(4), 2003.

    J. Domingo-Ferrer, A. Martínez-Ballesté, J. M. Mateo-Sanz, F. Sebé: Efficient multivariate data-oriented
    microaggregation. VLDB Journal 15, 2006 (MHM: the same cut for several attributes, on an ordering that suits them).
    """
    if watch is None:
        watch = np.zeros(2, np.int64)
    line = np.take(np.asarray(X, dtype=np.float64), order, axis=0)
    peak = max(line.max(), -line.min())
    if not 1e-100 < peak < 1e100:  # squares would overflow or vanish; a power of two changes no digit and no cut
        line = np.ldexp(line, -np.frexp(peak)[1])
    is_sorted = line.shape[1] == 1 and bool(np.all(line[:-1] <= line[1:]))
    sizes = cut_sorted(line, k, watch) if is_sorted else cut_by_scan(line, k, watch)
    if watch[1] != 0:
        return np.full(len(line), -1)
    labels: npt.NDArray[np.int64] = number_groups(sizes, np.asarray(order, dtype=np.int64))
    return labels


def univariate(X: npt.NDArray[np.float64], k: int, watch: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
    """Partition records by one attribute, optimally: no partition into groups of at least k has a lower SSE.

    With one attribute some optimal partition is a cut of the sorted records (Hansen & Mukherjee 2003). Records of equal
    value stand in the line as they stand in X.

    Parameters
    ----------
    X
        An (n, 1) matrix; k <= n.
    k
        The least number of records in a group.
    watch
        As for `cut`.

    Returns
    -------
    labels
        One integer a record; groups are numbered from the smallest values to the largest.
    """
    return cut(X, np.argsort(X[:, 0], kind="stable"), k, watch)

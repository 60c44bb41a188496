"""The optimal cut: any line of records, divided at the best places."""

from collections.abc import Sequence

import numpy as np

from shoal.kernels.optimal_cut import closing_costs, cut_by_scan, cut_for_each, cut_sorted, number_groups
from shoal.kernels.standardize import within_squares
from shoal.kernels.types import Floats, Integers

# Up to this k a cycle is opened at the best of all places, which takes O(n k (d + k)); beyond, at its longest edge.
OPENED_BEST_UP_TO = 32


def cut(
    X: Floats,
    order: Integers,
    k: int,
    watch: Integers | None = None,
) -> Integers:
    """Cut a line of records, X[order], into consecutive groups of k to 2k - 1 with the least sum of squared errors.

    The least cost of the first i records is f(i) = min over m in k..2k-1 of f(i - m) + SSE of the last m. In general
    that is O(n k d); one attribute in sorted order takes O(n) for any k. Among cuts of equal computed cost,
    the one with the smallest last group is taken, then with the smallest last but one, and so on.

    References
    ----------
    S. L. Hansen, S. Mukherjee: A polynomial algorithm for optimal univariate microaggregation. IEEE Transactions on
    Knowledge and Data Engineering 15(4), 2003.

    J. Domingo-Ferrer, A. Martínez-Ballesté, J. M. Mateo-Sanz, F. Sebé: Efficient multivariate data-oriented
    microaggregation. VLDB Journal 15, 2006 (MHM: the same cut for several attributes, on an ordering that suits them).
    """
    if watch is None:
        watch = np.zeros(2, np.int64)
    line = within_squares(X[order])
    is_sorted = line.shape[1] == 1 and bool(np.all(line[:-1] <= line[1:]))
    sizes = cut_sorted(line, k, watch) if is_sorted else cut_by_scan(line, k, watch)
    if watch[1] != 0:
        return np.full(len(line), -1)
    labels: Integers = number_groups(sizes, np.asarray(order, dtype=np.int64))
    return labels


def cut_each(
    X: Floats,
    order: Integers,
    ks: Sequence[int],
    openings: Integers | None = None,
    watch: Integers | None = None,
) -> dict[int, Integers]:
    """Cut a line, or a cycle, for every k of a range at once: as `cut` for each k, from the same group costs.

    One walk back from each record has the SSE of the groups of all sizes that end there; sizes that several k allow are
    counted once. O(n k d) for the largest k, not for their sum. `openings` are, for each k, the place in `order` at
    which its line begins, if `order` is a cycle: see `best_openings`.
    """
    if watch is None:
        watch = np.zeros(2, np.int64)
    if openings is None:
        openings = np.zeros(len(ks), np.int64)
    n = len(order)
    unrolled = np.r_[order, order[: openings.max()]]
    line = within_squares(X[unrolled])
    sizes = cut_for_each(line, n, np.array(ks, dtype=np.int64), openings, watch)
    if watch[1] != 0:
        return {k: np.full(n, -1) for k in ks}
    return {k: number_groups(own, unrolled[s : s + n]) for k, s, own in zip(ks, openings, sizes, strict=True)}


def best_openings(
    X: Floats,
    cycle: Integers,
    ks: Sequence[int],
    watch: Integers | None = None,
) -> Integers:
    """Find, for each k, where to open a cycle of records so that its optimal cut costs least; 0 if stopped.

    Groups have at most 2k - 1 records: of any 2k - 1 places in a row, one at least is a border of groups in the optimal
    cut of the cycle. So the best of the first 2k - 1 openings is the best of all. They are tried at once, in
    O(n k (d + k)), for k up to 32. Beyond, the cycle is opened at its longest edge, which is seldom inside a group of
    the optimal cut. Ties go to the first opening.
    """
    if watch is None:
        watch = np.zeros(2, np.int64)
    n = len(cycle)
    openings = np.zeros(len(ks), np.int64)
    tried = np.array([at for at, k in enumerate(ks) if k <= min(OPENED_BEST_UP_TO, n // 2)], dtype=np.int64)
    longest = np.array([at for at, k in enumerate(ks) if OPENED_BEST_UP_TO < k <= n // 2], dtype=np.int64)
    if longest.size:
        openings[longest] = longest_edge(X, cycle)
    if tried.size:
        small = np.array(ks, dtype=np.int64)[tried]
        line = within_squares(X[np.r_[cycle, cycle[: 2 * small.max() - 2]]])
        costs = closing_costs(line, n, small, watch)
        openings[tried] = 0 if watch[1] != 0 else np.argmin(costs, axis=1)
    return openings


def longest_edge(X: Floats, cycle: Integers) -> int:
    """Return the place in a cycle that is farthest from the place before it; the first on ties."""
    line = within_squares(X[cycle])
    return int(np.argmax(((line - np.roll(line, 1, axis=0)) ** 2).sum(axis=1)))


def univariate(X: Floats, k: int, watch: Integers | None = None) -> Integers:
    """Partition records by one attribute, optimally: no partition into groups of at least k has a lower SSE.

    With one attribute some optimal partition is a cut of the sorted records (Hansen & Mukherjee 2003). Records of equal
    value stand in the line as they stand in X.
    """
    return cut(X, np.argsort(X[:, 0], kind="stable"), k, watch)

"""Tours: a short cycle through all records, from which partitions for any k, or for every k of a range, are cut."""

from collections.abc import Sequence

import numpy as np

from shoal.kernels.paths import join_ends, nearest_next, savings, unrolled
from shoal.kernels.standardize import within_squares
from shoal.kernels.tour import shortened
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.methods import order_of_rows
from shoal.partitioning.neighbours import neighbours
from shoal.partitioning.optimal_cut import best_openings, cut_each, longest_edge
from shoal.plan import Tour

NEIGHBOURS = 10  # that a record may be joined to
# Records that a move may turn round: all that it might up to 200,000 records. At 1,000,000 x 5, uniform, the moves take
# 8 s of processor time and make the tour 1.3 % shorter; without a limit they had not ended after four minutes.
REACH = 100_000
# Kicks for each record, and in all: three make the tours of the reference sets 1 to 3 % shorter in under half a second.
# At 100,000 x 10, two a record took 7 s (uniform) and 20 s (clustered), for 0.3 and 3.6 % of the loss at k = 3.
KICKS = 3
MOST_KICKS = 30_000
# Without moves that shorten it, a tour joins the pair that saves most of all pairs up to so many different records, and
# beyond, of so many neighbours of each. On EIA (4,074 different records), all pairs take 2.4 s of processor time and
# lose 0.442, 0.680, 1.024 and 2.087 % at k = 3, 4, 5 and 10; 50 neighbours 0.04 s and 0.442, 0.677, 1.020 and 2.102 %.
ALL_PAIRS = 2_000
SAVED_NEIGHBOURS = 50


def tour(X: Floats, watch: Integers | None = None, how: Tour = "refined") -> Integers:
    """Order records along a short cycle through all of them: a heuristic for the travelling salesman's problem.

    The longest edge lies between the last record and the first. Once stopped, records stand as they stand in X.

    The savings heuristic of Clarke and Wright [1]_ joins ends of paths in the order of d(m, a) + d(m, b) - d(a, b),
    where m is the mean record and (a, b) a pair of near neighbours. The paths that are left are joined by going from
    the end of each to the nearest end of another. Moves of 2-opt and Or-opt [2]_ then shorten the cycle until none that
    joins near neighbours does any more, and go on after kicks: two short stretches somewhere are exchanged, and what
    follows is kept if the cycle is shorter for it [3]_. The kicks come from a generator with a fixed seed. About
    O(n log n) for few attributes.

    With `how` "savings" the cycle is that of the savings heuristic, without moves and kicks, and with more pairs to
    choose from: all of them up to 2,000 different records, beyond those of each record's 50 nearest.

    Equal records stand together, in the order of their index. All else is settled by values: another order of the rows
    of X gives the same tour.

    References
    ----------
    .. [1] G. Clarke and J. W. Wright, "Scheduling of vehicles from a central depot to a number of delivery points",
       Operations Research 12 (1964) 568-581; for microaggregation: R. Mortazavi and S. Jalili, "Fast data-oriented
       microaggregation algorithm for large numerical datasets", Knowledge-Based Systems 67 (2014) 195-205.
    .. [2] J. L. Bentley, "Fast algorithms for geometric traveling salesman problems", ORSA Journal on Computing 4
       (1992) 387-411.
    .. [3] O. Martin, S. W. Otto and E. W. Felten, "Large-step Markov chains for the traveling salesman problem",
       Complex Systems 5 (1991) 299-326.
    """
    if watch is None:
        watch = np.zeros(2, np.int64)
    if watch[1] != 0:
        return np.arange(len(X))
    points, point_of = distinct(within_squares(X))
    cycle = short_cycle(points, watch, how)
    if watch[1] != 0:
        return np.arange(len(X))
    cycle = np.roll(cycle, -longest_edge(points, cycle))
    rank = np.empty(len(points), np.int64)
    rank[cycle] = np.arange(len(points))
    return np.argsort(rank[point_of], kind="stable")


def distinct(X: Floats) -> tuple[Floats, Integers]:
    """Return the different records of X, sorted by their attributes, and which of them each record is."""
    order = order_of_rows(X)
    rows = X[order]
    new = np.r_[True, (rows[1:] != rows[:-1]).any(axis=1)]
    point_of = np.empty(len(X), np.int64)
    point_of[order] = np.cumsum(new) - 1
    return rows[new], point_of


def short_cycle(points: Floats, watch: Integers, how: Tour = "refined") -> Integers:
    """Return a short cycle through different points, which are sorted; in that order if the search is stopped."""
    n = len(points)
    varying = (points[:1] != points).any(axis=0)
    if n <= 3 or np.count_nonzero(varying) == 1:  # there and back is as short as sorted, and worse to cut
        return np.arange(n)
    if how == "savings" and n <= ALL_PAIRS:
        cycle = savings_cycle(points, *all_savings(points, points.mean(axis=0)), watch)
        return np.arange(n) if watch[1] != 0 else cycle
    near = neighbours(points, NEIGHBOURS if how == "refined" else SAVED_NEIGHBOURS, watch)
    if watch[1] != 0:
        return np.arange(n)
    pairs, saved = savings(points, points.mean(axis=0), near, watch)
    if watch[1] != 0:
        return np.arange(n)
    cycle = savings_cycle(points, pairs, saved, watch)
    if watch[1] != 0:
        return np.arange(n)
    if how == "savings":
        return cycle
    return np.asarray(shortened(points, near, cycle, REACH, min(KICKS * n, MOST_KICKS), watch))


def savings_cycle(points: Floats, pairs: Integers, saved: Floats, watch: Integers) -> Integers:
    """Join pairs of path ends in the order of what that saves, and the paths that are left at their nearest ends."""
    n = len(points)
    joined, other = join_ends(pairs, np.argsort(-saved, kind="stable"), n, watch)
    ends = np.flatnonzero(joined[:, 1] < 0)
    place = np.empty(n, np.int64)
    place[ends] = np.arange(len(ends))
    entered = nearest_next(points[ends], place[other[ends]], 0, watch)
    return np.arange(n) if watch[1] != 0 else unrolled(ends[entered], joined)


def all_savings(points: Floats, depot: Floats) -> tuple[Integers, Floats]:
    """Return all pairs of points, each once, and what joining them saves: see `shoal.kernels.paths.savings`."""
    away = np.sqrt(((points - depot) ** 2).sum(axis=1))
    pairs = np.column_stack(np.triu_indices(len(points), 1))
    apart = [np.sqrt(((points[a + 1 :] - points[a]) ** 2).sum(axis=1)) for a in range(len(points))]
    return pairs, away[pairs[:, 0]] + away[pairs[:, 1]] - np.concatenate(apart)


def tour_cut(X: Floats, k: int, watch: Integers | None = None, how: Tour = "refined") -> Integers:
    """Partition records by FDM [1]_: a tour through all of them, opened where it is best and cut optimally.

    The cut has the least sum of squared errors of any division of the tour into groups of k to 2k - 1, for k up to 32
    wherever the cycle is opened; for larger k it is opened at its longest edge. For several k, see
    `sweep_cuts`.

    References
    ----------
    .. [1] R. Mortazavi and S. Jalili, "Fast data-oriented microaggregation algorithm for large numerical datasets",
       Knowledge-Based Systems 67 (2014) 195-205.
    """
    return sweep_cuts(X, [k], watch=watch, how=how)[k]


def sweep_cuts(
    X: Floats,
    ks: Sequence[int],
    order: Integers | None = None,
    watch: Integers | None = None,
    how: Tour = "refined",
) -> dict[int, Integers]:
    """Partition records for every k of a range in one run: FDM [1]_, the fast data-oriented microaggregation.

    `order` is a line to cut instead of the tour, from its first record to its last.

    What takes time is the tour, and it does not depend on k. The group costs, too, are shared by all k. For each k the
    partition is that of `tour_cut`.

    References
    ----------
    .. [1] R. Mortazavi and S. Jalili, "Fast data-oriented microaggregation algorithm for large numerical datasets",
       Knowledge-Based Systems 67 (2014) 195-205.
    """
    if order is not None:
        return cut_each(X, order, ks, watch=watch)
    cycle = tour(X, watch, how)
    if watch is not None and watch[1] != 0:
        return {k: np.full(len(X), -1) for k in ks}
    return cut_each(X, cycle, ks, best_openings(X, cycle, ks, watch), watch)

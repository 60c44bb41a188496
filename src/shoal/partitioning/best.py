"""The best partition that a budget can buy: good starts, refined, and recombined where the table is small enough."""

import math
from collections.abc import Callable
from importlib.util import find_spec
from time import monotonic

import numpy as np

from shoal.kernels.types import Floats, Integers
from shoal.partitioning.mdav import mdav, within_range
from shoal.partitioning.methods import by_first_record, group_errors
from shoal.partitioning.optimal_cut import univariate
from shoal.partitioning.refinement import Refined, refine
from shoal.plan import Effort

# Without a budget: so many proposals a record, a second or two for ten thousand records, and no more for more than so
# many. A proposal takes time as the square of large k, so that beyond k = 30 as many are made as take the same time.
STEPS, STEPS_RECORDS, STEPS_K = 500, 50_000, 30
SEARCHES = 2  # that run side by side; not the number of cores, on which no result may depend
# Seconds from which on columns pay, by k; beyond, groups have too many members for a search to price them all.
COLUMNS_FROM = {2: 5.0, 3: 5.0, 4: 20.0}
COLUMNS_RECORDS = 6_000
TOUR_SECONDS = 5e-6  # a record: what a tour takes at least, with the neighbour lists
REFINED = 0.45  # of the budget, before columns are generated
GENERATED = 0.6  # of what is left, for the columns; the rest is for choosing from them


def best(X: Floats, k: int, *, effort: Effort | None = None, seed: int = 0, watch: Integers | None = None) -> Integers:
    """Partition records as well as a budget allows.

    The better of two starts, MDAV and (with a budget) a tour that is cut optimally, is refined by annealing, which
    never raises its error: no partition is worse than MDAV's. With enough time, up to 6,000 records and k = 4, groups
    are generated whose linear relaxation is the lower bound of all partitions, and the best partition over these and
    all groups met by the searches is chosen by set partitioning (HiGHS); what time is left goes to refinement again.
    One attribute that varies has its optimal cut.

    Records are searched in the order of their values, so that the order in which they come decides nothing but ties in
    MDAV's start.

    Parameters
    ----------
    X
        An (n, d) matrix in which squared Euclidean distance is the right distance; k <= n.
    k
        The least number of records in a group.
    effort
        The budget. In steps, or if nothing is given, the result depends on nothing but the arguments.
    seed
        Other seeds, other searches.
    watch
        As for `shoal.partitioning.refinement.refine`; stopped before there is any partition, all labels are -1.

    Returns
    -------
    labels
        One integer a record, numbered by the first record of each group.
    """
    watch = np.zeros(2, np.int64) if watch is None else watch
    order = np.lexsort(X.T[::-1])
    start = mdav(X, k, watch)
    if watch[1] != 0:
        return np.full(len(X), -1)
    labels = np.empty(len(X), np.int64)
    labels[order] = _searched(np.ascontiguousarray(X[order]), k, start[order], effort or Effort(), seed, watch)
    return by_first_record(labels)


def refined(
    start: Callable[..., Integers], X: Floats, k: int, *, effort: Effort, seed: int = 0, watch: Integers | None = None
) -> Integers:
    """Refine the partition that a method finds, for a budget."""
    watch = np.zeros(2, np.int64) if watch is None else watch
    labels = start(X, k, watch=watch)
    if watch[1] != 0 or len(X) < 2 * k:
        return labels
    order = np.lexsort(X.T[::-1])  # so that the order in which records come does not matter
    found = np.empty(len(X), np.int64)
    found[order] = _refine(np.ascontiguousarray(X[order]), k, labels[order], effort, seed, watch).labels
    return by_first_record(found)


def _searched(X: Floats, k: int, start: Integers, effort: Effort, seed: int, watch: Integers) -> Integers:
    """Search from MDAV's partition."""
    varying = np.flatnonzero(X.min(axis=0) < X.max(axis=0))
    if len(X) < 2 * k or not len(varying):
        return start
    if len(varying) == 1:
        return univariate(X[:, varying], k)
    end = None if effort.seconds is None else monotonic() + effort.seconds
    labels = _start(X, k, start, effort, watch)
    if watch[1] != 0:
        return labels
    if end is None:
        return _refine(X, k, labels, effort, seed, watch).labels
    if not _has_columns(len(X), k, effort):
        return _refine(X, k, labels, Effort(None, max(end - monotonic(), 1e-3)), seed, watch).labels
    return _recombined(X, k, labels, end, seed, watch)


def _start(X: Floats, k: int, start: Integers, effort: Effort, watch: Integers) -> Integers:
    """Return the better of MDAV's partition and of a tour that is cut; of the latter, if there is time for it."""
    starts = [start]
    if effort.steps is not None or (effort.seconds or 0.0) > 10 * TOUR_SECONDS * len(X):
        from shoal.partitioning.tours import tour_cut

        starts.append(tour_cut(X, k, watch))
        starts = starts if watch[1] == 0 else starts[:1]
    rows = within_range(X)
    return min(starts, key=lambda labels: float(group_errors(rows, labels).sum()))


def _refine(X: Floats, k: int, labels: Integers, effort: Effort, seed: int, watch: Integers) -> Refined:
    usual = STEPS * min(len(X), STEPS_RECORDS) * min(1.0, (STEPS_K / k) ** 2)
    steps = (effort.steps or math.ceil(usual)) if effort.seconds is None else None
    return refine(X, k, labels, steps=steps, seconds=effort.seconds, seed=seed, watch=watch, searches=SEARCHES)


def _has_columns(n: int, k: int, effort: Effort) -> bool:
    enough = (effort.seconds or 0.0) >= COLUMNS_FROM.get(k, np.inf)
    return enough and n <= COLUMNS_RECORDS and find_spec("highspy") is not None


def _recombined(X: Floats, k: int, labels: Integers, end: float, seed: int, watch: Integers) -> Integers:
    """Refine, generate columns, choose from all groups that were met, and refine the choice while time lasts."""
    from shoal.partitioning.column_generation import column_generation
    from shoal.partitioning.recombination import solve_over_columns

    def left() -> float:
        return max(end - monotonic(), 1e-3)

    found = _refine(X, k, labels, Effort(None, REFINED * left()), seed, watch)
    if watch[1] != 0:
        return found.labels
    met = [found.labels, *found.optima]
    columns = column_generation(X, k, found.labels, GENERATED * left(), watch)
    solved = solve_over_columns(X, k, columns, met, 0.9 * left(), watch)
    if solved.optimal or watch[1] != 0 or left() < 0.2:
        return solved.labels
    return _refine(X, k, solved.labels, Effort(None, left()), seed + 1, watch).labels

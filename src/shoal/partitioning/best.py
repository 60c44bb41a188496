"""The best partition that a budget can buy: good starts, refined, and recombined where the table is small enough."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import count
from time import monotonic

import numpy as np

from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.kd_groups import kd_groups
from shoal.kernels.mixed_anneal import group_losses
from shoal.kernels.stop import until
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.diversity import NO_LIMITS, Frequencies, Limits, Secret, merge_until, satisfied, t_first
from shoal.partitioning.mdav import mdav, mdav_mixed, space_within_range, within_range
from shoal.partitioning.methods import by_first_record, contiguous, group_errors, ignore, order_of_rows
from shoal.partitioning.mixed_refinement import embedded, refine_mixed
from shoal.partitioning.optimal_cut import univariate
from shoal.partitioning.refinement import REGIONAL_FIRST, USUAL_K, WHOLE, Refined, cooling_steps, refine
from shoal.plan import Effort

# Without a budget: so many proposals a record, if these are searched as a whole, but no more than take some ten seconds
# on one core (0.1 to 0.3 microseconds each at k up to 30, for some ten attributes; beyond, as the square of k). More no
# longer pay: on the reference sets ten times as many lower the error by 0.5 to 1 %. Fewer for many attributes.
STEPS, MOST_STEPS, USUAL_ATTRIBUTES = 2_000, 40_000_000, 20
# Regions take one cooling of so many proposals in all; of so many a record at least.
REGIONAL_STEPS, REGIONAL_LEAST = 20_000_000, 20.0
# For attributes of every type, whose proposals take longer: as many a record, for so many records at least and at most.
MIXED_STEPS, FEWEST, MIXED_RECORDS = 300, 512, 20_000
BEFORE = 100  # proposals a record before groups are repaired to satisfy l and t
REPAIRED = 0.3  # of the seconds, for the search before groups are repaired
MERGED, REPAIRED_BY = 0.5, 0.75  # of the seconds, when the first repair and when all must have ended
SEARCHES = 2  # that run side by side; not the number of cores, on which no result may depend
# Seconds a record from which on solving parts again pays, by k; beyond, groups have too many members to list them.
PARTS_FROM = {2: 0.002, 3: 0.002, 4: 0.004, 5: 0.01, 6: 0.01}
PARTS_RECORDS = 6_000
PROVABLE = {2: 300, 3: 300, 4: 100}  # records of which the optimum is often found and proved within seconds, by k
PASSES, ANNEALED = 3, 0.4  # of annealing and of solving parts, in turn; the share of the former
LAST = 0.3  # seconds that are worth another pass
TOUR_SECONDS = 5e-6  # a record: what a tour takes at least, with the neighbour lists
MDAV_UP_TO = 0.5  # of the seconds; what takes longer gives way to the leaves of a k-d tree
TOUR_UP_TO = 0.3  # of the seconds that are left
GRACE = 0.2  # seconds that MDAV has in any case
CLOSING = 6e-7  # seconds a record, for what follows the search
HOPELESS = 1e-6  # seconds a record: too few for MDAV, which takes four times as many, and for a search


def best(
    X: Floats,
    k: int,
    *,
    effort: Effort | None = None,
    seed: int = 0,
    watch: Integers | None = None,
    hurried: Callable[[], None] = ignore,
) -> Integers:
    """Partition records as well as a budget allows.

    The better of two starts, MDAV and (with a budget) a tour that is cut optimally, is refined by annealing, which
    never raises its error: no partition is worse than MDAV's. With enough time, up to 6,000 records and k = 6, parts of
    the partition are then solved again, over the groups that coolings ended in and others of low reduced cost
    (`shoal.partitioning.neighbourhoods`), in turn with more annealing. Of a few hundred records and k up to 4 the
    optimum may be proved, which ends the search.
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
    hurried
        Called if the seconds do not last for MDAV, and the search starts from the leaves of a k-d tree.

    Returns
    -------
    labels
        One integer a record, numbered by the first record of each group.
    """
    watch = np.zeros(2, np.int64) if watch is None else watch
    end = _end(effort, len(X))
    start = within_time(end, len(X), lambda flag: mdav(X, k, flag), lambda: _cells(X, k, watch), watch, hurried)
    if watch[1] != 0:
        return np.full(len(X), -1)
    if end - monotonic() < HOPELESS * len(X):
        return by_first_record(start)
    order = order_of_rows(X)
    labels = np.empty(len(X), np.int64)
    labels[order] = _searched(np.ascontiguousarray(X[order]), k, start[order], _left(effort, end), seed, watch)
    return by_first_record(labels)


def _cells(X: Floats, k: int, watch: Integers) -> Integers:
    return kd_groups(within_range(X), k, watch)


def cells(space: EncodedMatrix, k: int) -> Integers:
    """Return cells of a k-d tree, of k to 2k - 1 records of any type: groups where there is no time for better ones."""
    return kd_groups(embedded(space_within_range(space)), k, np.zeros(2, np.int64))


def _end(effort: Effort | None, records: int) -> float:
    """Return when a search must end, in good time for what follows it; infinite if nobody waits."""
    if effort is None or effort.seconds is None:
        return math.inf
    return monotonic() + effort.seconds - min(CLOSING * records, effort.seconds / 2)


def _left(effort: Effort | None, end: float) -> Effort:
    """Return the effort that is left at this moment."""
    return (effort or Effort()) if end == math.inf else Effort(None, max(end - monotonic(), 1e-3))


def within_time(
    end: float,
    records: int,
    find: Callable[[Integers], Integers],
    instead: Callable[[], Integers],
    watch: Integers,
    hurried: Callable[[], None],
) -> Integers:
    """Find a partition within its part of the time until `end`; if that is too short, take one `instead`."""
    now = monotonic()
    seconds = max(MDAV_UP_TO * (end - now), GRACE)
    if seconds >= HOPELESS * records:
        with until(now + seconds, watch, records) as flag:
            found = find(flag)
        if flag[1] == 0 or watch[1] != 0:
            return found
    hurried()
    return instead()


def refined(
    start: Callable[..., Integers],
    X: Floats,
    k: int,
    *,
    effort: Effort,
    seed: int = 0,
    watch: Integers | None = None,
    hurried: Callable[[], None] = ignore,
) -> Integers:
    """Refine the partition that a method finds, for a budget; arguments are as for `best`."""
    watch = np.zeros(2, np.int64) if watch is None else watch
    end = _end(effort, len(X))
    found = lambda flag: start(X, k, watch=flag)  # noqa: E731
    labels = within_time(end, len(X), found, lambda: _cells(X, k, watch), watch, hurried)
    if watch[1] != 0 or len(X) < 2 * k or end - monotonic() < HOPELESS * len(X):
        return labels
    labels = _divided(X, k, labels, watch)
    order = order_of_rows(X)  # so that the order in which records come does not matter
    better = np.empty(len(X), np.int64)
    better[order] = _refine(np.ascontiguousarray(X[order]), k, labels[order], _left(effort, end), seed, watch).labels
    return by_first_record(better)


def _divided(X: Floats, k: int, labels: Integers, watch: Integers) -> Integers:
    """Divide groups of more than 2k - 1 records, which V-MDAV may end with; this never adds to the error."""
    labels = labels.copy()
    for group in np.flatnonzero(np.bincount(labels) > 2 * k - 1):
        members = np.flatnonzero(labels == group)
        own = _cells(np.ascontiguousarray(X[members]), k, watch)
        labels[members[own > 0]] = labels.max() + own[own > 0]
    return labels


def best_mixed(
    space: EncodedMatrix,
    k: int,
    *,
    effort: Effort | None = None,
    seed: int = 0,
    watch: Integers | None = None,
    hurried: Callable[[], None] = ignore,
) -> Integers:
    """Partition records with attributes of every type, and missing values, as well as a budget allows.

    MDAV's groups are refined by annealing, which never raises their loss, and lowers it the more the more steps it may
    take. Arguments and labels are as for `best`.
    """
    watch = np.zeros(2, np.int64) if watch is None else watch
    n = len(space.values)
    end = _end(effort, n)
    start = within_time(end, n, lambda flag: mdav_mixed(space, k, flag), lambda: cells(space, k), watch, hurried)
    if watch[1] != 0:
        return np.full(n, -1)
    return _refine_mixed(space, k, start, NO_LIMITS, _left(effort, end), seed, watch)


def best_within_limits(
    space: EncodedMatrix,
    k: int,
    start: Integers,
    search: Callable[[Effort], Integers],
    limits: Limits,
    *,
    effort: Effort,
    seed: int = 0,
    watch: Integers,
    hurried: Callable[[], None] = ignore,
) -> Integers:
    """Partition records so that groups are l-diverse and t-close, and have enough units, as well as a budget allows.

    So are records that have weights, by which they count in the loss, with limits or without.

    The groups given, and those of a search without limits, are merged (`merge_until`). If t is asked, groups are also
    formed across the confidential attributes (`t_first`). The best of these partitions is refined within the limits. If
    the seconds do not last for merging the groups given, the search starts from cells of a k-d tree. Steps are those of
    the refinement: the search before it has as many as suit the table, so that a longer refinement begins as a shorter
    one does, and never ends worse.

    Parameters
    ----------
    space, k, effort, seed, watch, hurried
        As for `best_mixed`.
    start
        Groups of at least k records.
    search
        Returns the groups of a search with some effort; some labels are -1 if it was stopped.
    limits
        What groups must satisfy.
    """
    begun = monotonic()
    end = math.inf if effort.seconds is None else begun + effort.seconds
    merged = partial(_merged, space, limits)
    found = _unless_late(begun + MERGED * (end - begun), partial(merged, start))
    if not found:
        hurried()
        found = [_cells_within(space, k, limits)]
    late = begun + REPAIRED_BY * (end - begun)
    for formed in _across(space, k, limits):
        found += _unless_late(late, formed)
    if watch[1] == 0:
        groups = search(_before(effort, len(start), limits))
        if not (groups < 0).any():
            found += _unless_late(late, partial(merged, groups))
    within = space_within_range(space)
    best = min(found, key=lambda labels: float(group_losses(within, k, contiguous(labels)).sum()))
    return best if watch[1] != 0 else _refine_mixed(space, k, best, limits, _left(effort, end), seed, watch)


def _unless_late(end: float, find: Callable[[Integers], Integers]) -> list[Integers]:
    """Find a partition, unless it takes too long; a search that is asked to stop still has its groups repaired."""
    with until(end, np.zeros(3, np.int64)) as flag:
        found = find(flag)
    return [] if flag[1] != 0 else [found]


def _merged(space: EncodedMatrix, limits: Limits, labels: Integers, watch: Integers) -> Integers:
    return merge_until(space, labels, *limits, watch) if limits.any else labels


def _cells_within(space: EncodedMatrix, k: int, limits: Limits) -> Integers:
    """Return cells of a k-d tree that are large enough for the limits, where there is no time to merge groups."""
    n, size = len(space.values), 2 * k
    while size <= n // 2:
        labels = cells(space, size)
        if satisfied(contiguous(labels), *limits).all():
            return labels
        size *= 2
    return np.zeros(n, np.int64)


def _before(effort: Effort, records: int, limits: Limits) -> Effort:
    """Return the effort of the search without limits and weights: no steps that depend on the budget."""
    if effort.seconds is not None:
        return effort.of(REPAIRED)
    return effort if effort == Effort() and not limits.any else Effort(BEFORE * max(FEWEST, records), None)


def _across(space: EncodedMatrix, k: int, limits: Limits) -> Iterator[Callable[[Integers], Integers]]:
    """Return ways to form groups across the confidential attributes, those without an order in that of their codes.

    Of larger groups, more are t-close without a repair, which merges those that are not into very large ones.
    """
    if limits.t is None:
        return
    for a, each in enumerate(limits.secrets):
        whole = None if limits.whole is None else limits.whole[a]
        for size in (k,) if each.ordered else (k, 2 * k, 3 * k):
            if each.ordered or size <= len(each.codes) // 2:
                yield partial(_formed_across, space, size, each, limits, whole)


def _formed_across(
    space: EncodedMatrix, k: int, secret: Secret, limits: Limits, whole: Frequencies | None, watch: Integers
) -> Integers:
    formed = t_first(space, k, secret, limits.t or 0.0, limits.l, whole, limits.units, watch)
    return formed if watch[1] != 0 else _merged(space, limits, formed, watch)


def _refine_mixed(
    space: EncodedMatrix, k: int, labels: Integers, limits: Limits, effort: Effort, seed: int, watch: Integers
) -> Integers:
    """Refine in the order of the values, so that the order in which records come does not matter."""
    units = [] if limits.units is None else [limits.units.codes]
    weights = [space.weights] if len(space.weights) else []
    order = np.lexsort((*weights, *units, *(each.codes for each in limits.secrets), *space.values.T[::-1]))
    usual = MIXED_STEPS * max(FEWEST, min(len(labels), MIXED_RECORDS)) * min(1.0, USUAL_K / k) ** 2
    found = np.empty(len(labels), np.int64)
    found[order] = refine_mixed(
        space.rows(order),
        k,
        labels[order],
        limits=limits.rows(order),
        steps=(effort.steps or math.ceil(usual)) if effort.seconds is None else None,
        seconds=effort.seconds,
        seed=seed,
        watch=watch,
        searches=SEARCHES,
    )
    return by_first_record(found)


def _searched(X: Floats, k: int, start: Integers, effort: Effort, seed: int, watch: Integers) -> Integers:
    """Search from MDAV's partition."""
    varying = np.flatnonzero(X.min(axis=0) < X.max(axis=0))
    if len(X) < 2 * k or not len(varying):
        return start
    if len(varying) == 1:
        cut = univariate(X[:, varying], k, watch)
        return cut if watch[1] == 0 else start
    end = None if effort.seconds is None else monotonic() + effort.seconds
    labels = _start(X, k, start, effort, watch)
    if watch[1] != 0:
        return labels
    if end is None:
        return _refine(X, k, labels, effort, seed, watch).labels
    if not _solves_parts(len(X), k, effort):
        return _refine(X, k, labels, Effort(None, max(end - monotonic(), 1e-3)), seed, watch).labels
    return _recombined(X, k, labels, end, seed, watch)


def _start(X: Floats, k: int, start: Integers, effort: Effort, watch: Integers) -> Integers:
    """Return the better of MDAV's partition and of a tour that is cut; of the latter, if there is time for it."""
    starts = [start]
    if effort.steps is not None or (effort.seconds or 0.0) > 10 * TOUR_SECONDS * len(X):
        from shoal.partitioning.tours import tour_cut

        with until(math.inf if effort.seconds is None else monotonic() + TOUR_UP_TO * effort.seconds, watch) as flag:
            cut = tour_cut(X, k, flag)
        if flag[1] == 0:
            starts.append(cut)
        if watch[1] != 0:
            return start
    rows = within_range(X)
    return min(starts, key=lambda labels: float(group_errors(rows, labels).sum()))


def _refine(X: Floats, k: int, labels: Integers, effort: Effort, seed: int, watch: Integers) -> Refined:
    n, d = X.shape
    first = max(REGIONAL_STEPS / n, REGIONAL_LEAST) if effort == Effort() else REGIONAL_FIRST
    if n > WHOLE:
        usual = cooling_steps(n, k, first)
    else:
        usual = math.ceil(min(STEPS * n, MOST_STEPS) * min(1.0, USUAL_K / k) ** 2 * min(1.0, USUAL_ATTRIBUTES / d))
    steps = (effort.steps or usual) if effort.seconds is None else None
    return refine(
        X, k, labels, steps=steps, seconds=effort.seconds, seed=seed, watch=watch, searches=SEARCHES, first=first
    )


def _solves_parts(n: int, k: int, effort: Effort) -> bool:
    enough = (effort.seconds or 0.0) >= PARTS_FROM.get(k, np.inf) * n
    return enough and n <= PARTS_RECORDS and find_spec("highspy") is not None


def _recombined(X: Floats, k: int, labels: Integers, end: float, seed: int, watch: Integers) -> Integers:
    """Refine, and solve parts again over the groups that coolings ended in and others that look promising, in turn."""
    from shoal.partitioning.neighbourhoods import promising, solve_parts

    def left() -> float:
        return max(end - monotonic(), 1e-3)

    if len(X) <= PROVABLE.get(k, 0):
        labels, optimal = _proved(X, k, labels, left() / 4, seed, watch)
        if optimal:
            return labels
    met: list[Integers] = []
    groups = None
    for number in count():
        passes = max(PASSES - number, 1)
        if number > 0 and left() < LAST:
            break
        found = _refine(X, k, labels, Effort(None, ANNEALED * left() / passes), seed + number, watch)
        labels, met = found.labels, [*met, *found.optima]
        groups = groups or promising(X, k, [labels, *met], left() / 2, watch)
        if watch[1] != 0:
            break
        if groups is None:
            return _refine(X, k, labels, Effort(None, left()), seed + PASSES, watch).labels
        seconds = left() * (1 - ANNEALED) / (passes - ANNEALED)
        labels = solve_parts(k, [labels, *met], groups, seconds, seed + number, watch, SEARCHES)
    return labels


def _proved(X: Floats, k: int, labels: Integers, seconds: float, seed: int, watch: Integers) -> tuple[Integers, bool]:
    """Look for the optimum of a small table, and for the proof that there is no better partition."""
    from shoal.partitioning.column_generation import column_generation
    from shoal.partitioning.recombination import solve_over_columns

    found = _refine(X, k, labels, Effort(), seed, watch)
    columns = column_generation(X, k, found.labels, seconds / 2, watch)
    solved = solve_over_columns(X, k, columns, [found.labels, *found.optima], seconds / 2, watch)
    return solved.labels, solved.optimal

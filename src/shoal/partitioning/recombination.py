"""Recombination: the better of two partitions wherever they differ, or the best groups that several searches met."""

from dataclasses import dataclass

import numpy as np

from shoal.kernels.pricing import group_costs
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.column_generation import Columns, nearest_sums, search, unit
from shoal.partitioning.connected import connected
from shoal.partitioning.methods import contiguous, group_errors
from shoal.partitioning.set_partitioning import Cover, Groups, groups_of, pooled, stopping


def cross(X: Floats, labels: Integers, other: Integers) -> Integers:
    """Combine two partitions, numbered without a gap, into one that is at least as good as either.

    Groups of the two that share a record belong together. Each component of this graph is a set of records that both
    partitions cover with whole groups, so that the choice in one component leaves all others as they are: the crossing
    of tours by components [1]_, for partitions.

    References
    ----------
    .. [1] D. Whitley, D. Hains and A. Howe, "Tunneling between optima: partition crossover for the traveling salesman
       problem", GECCO 2009, 915-922.
    """
    return cross_by(group_errors(X, labels), labels, group_errors(X, other), other)


def cross_by(errors: Floats, labels: Integers, others: Floats, other: Integers) -> Integers:
    """Combine two partitions as `cross` does, given the error of each of their groups."""
    component = connected(len(errors) + len(others), labels, len(errors) + other)
    first = np.bincount(component[: len(errors)], errors)
    second = np.bincount(component[len(errors) :], others)
    better = (second < first)[component[: len(errors)]]
    return contiguous(np.where(better[labels], len(errors) + other, labels))


BATCH = 2000  # groups that are put into one model, where the components are smaller
HALVINGS = 12  # after which there may be too many groups of no reduced cost at all, as among equal records
ROOM = 20_000  # groups that HiGHS is asked to choose from at most
SOLVED = 1e-6  # relative: HiGHS takes what is as close for solved
LIMIT = 1_000_000  # steps of the search from one record for all groups of an optimal partition


@dataclass(frozen=True)
class Solution:
    """The best partition over some groups; `bound` and `optimal` are about all partitions there are."""

    labels: Integers
    bound: float
    optimal: bool


def recombine(
    X: Floats,
    k: int,
    partitions: list[Integers],
    columns: Groups | None = None,
    seconds: float = np.inf,
    watch: Integers | None = None,
) -> Integers:
    """Choose the best partition that can be made of the groups of several, by set partitioning.

    Records that no group joins, directly or through others, are independent: each such component is solved for itself,
    beginning with the partition that is best there. The result is never worse than the best of the partitions, and is
    the optimum over the pool if the time suffices.
    """
    n = len(X)
    if n < 2 * k:
        return np.zeros(n, np.int64)
    rows, _ = unit(X, k, partitions[0])
    parts = [groups_of(rows, k, labels) for labels in partitions]
    if columns is not None:
        parts.append(Groups(columns.members, group_costs(rows, columns.members)))
    pool, where = pooled(parts)
    with stopping(seconds, watch) as stop:
        component = components(n, pool)
        best = best_by_component(pool, where[: len(partitions)], component)
        return labelled(n, pool.take(solve_components(pool, best, component, stop)))


def components(n: int, pool: Groups) -> Integers:
    """Return for each group the number of its component: of records that groups join, directly or through others."""
    first, later = pool.members[:, :1], pool.members[:, 1:]
    listed = later >= 0
    return connected(n, np.broadcast_to(first, later.shape)[listed], later[listed])[first[:, 0]]


def best_by_component(pool: Groups, partitions: list[Integers], component: Integers) -> Integers:
    """Return, of each component, the groups of the partition that is best there; all its own lie in one component."""
    costs = [np.bincount(component[p], pool.costs[p], component.max() + 1) for p in partitions]
    best = np.argmin(costs, axis=0)
    return np.concatenate([p[best[component[p]] == which] for which, p in enumerate(partitions)])


def solve_components(pool: Groups, best: Integers, component: Integers, stop: Integers) -> Integers:
    """Choose the best groups of each component; keep those of `best` where there are no better ones, or no time."""
    choice = np.bincount(component) > np.bincount(component[best])
    batch = np.cumsum(np.bincount(component) * choice) // BATCH
    mine = np.argsort(batch[component], kind="stable")
    mine = mine[choice[component[mine]]]
    kept = [best[~choice[component[best]]]]
    starts = best[choice[component[best]]]
    for number in np.unique(batch[choice]):
        which = mine[batch[component[mine]] == number]
        start = starts[batch[component[starts]] == number]
        kept.append(start if stop[1] != 0 else choose(pool, which, start, stop)[0])
    return np.concatenate(kept)


def choose(
    pool: Groups, which: Integers, start: Integers, stop: Integers, seconds: float | None = None
) -> tuple[Integers, float]:
    """Solve the set-partitioning model over some groups of a pool; return groups no worse than `start`, and a bound.

    It is given up when ``stop[1]`` is set or, if that is a number, after so many seconds.
    """
    groups = pool.take(which)
    listed = groups.members >= 0
    records, renamed = np.unique(groups.members[listed], return_inverse=True)
    members = groups.members.copy()
    members[listed] = renamed
    cover = Cover(len(records), stop, seconds)
    cover.add(Groups(members, groups.costs))
    chosen, bound = cover.solve(np.flatnonzero(np.isin(which, start)))
    covered = np.bincount(members[chosen][listed[chosen]], minlength=len(records))
    found = which[chosen]
    if (covered == 1).all() and pool.costs[found].sum() < pool.costs[start].sum():
        return found, bound
    return start, bound


def labelled(n: int, groups: Groups) -> Integers:
    """Return labels of groups that cover every record once; groups are numbered by their first record."""
    members = groups.members[np.argsort(groups.members[:, 0])]
    listed = members >= 0
    labels = np.full(n, -1, np.int64)
    labels[members[listed]] = np.nonzero(listed)[0]
    return labels


def solve_over_columns(
    X: Floats,
    k: int,
    columns: Columns,
    partitions: list[Integers],
    seconds: float = np.inf,
    watch: Integers | None = None,
) -> Solution:
    """Look for the best partition over the groups of column generation, and for a proof that there is no better one.

    The SSE of any partition is the sum of the duals and of the reduced costs of its groups; so a group whose reduced
    cost is more than the SSE of a known partition less the lower bound has no part in any better one (reduced-cost
    fixing). If all other groups can be listed, by the search that priced them, the best partition over these is the
    best there is. If they are too many, those below a part of that gap are listed: a partition is either made of them
    alone or no better than the lower bound plus that part, which may raise the lower bound. All this needs the
    relaxation to be complete; if it is not, its groups are recombined with those of the partitions.
    """
    with stopping(seconds, watch) as stop:
        if not columns.complete:
            return Solution(recombine(X, k, partitions, columns.groups, np.inf, stop), columns.bound, optimal=False)
        labels = recombine(X, k, partitions, None, np.inf, stop)
        rows, power = unit(X, k, labels)
        known = groups_of(rows, k, labels)
        lower = np.ldexp(columns.bound, 2 * power)
        gap, found = within(rows, k, np.ldexp(columns.duals, 2 * power), known.costs.sum() - lower, stop)
        if stop[1] != 0:
            return Solution(labels, columns.bound, optimal=False)
        met = [groups_of(rows, k, partition) for partition in partitions]
        met.append(Groups(columns.groups.members, group_costs(rows, columns.groups.members)))
        pool, (start, *_) = pooled([known, found, *met])
        chosen, bound = choose(pool, np.arange(len(pool)), start, stop)
        error = pool.costs[chosen].sum()
        bound = min(bound, error, lower + gap) * (1 - SOLVED)
        value = max(columns.bound, float(np.ldexp(bound, -2 * power)))
        return Solution(labelled(len(X), pool.take(chosen)), value, bool(bound >= error * (1 - 2 * SOLVED)))


def within(X: Floats, k: int, duals: Floats, gap: float, stop: Integers) -> tuple[float, Groups]:
    """List all groups with a reduced cost below a gap, or below a part of it that leaves few enough; if any does."""
    near = nearest_sums(X, 2 * k - 2, stop)
    for _ in range(HALVINGS):
        found, lowest = search(X, k, duals, near, gap * (1 + 1e-9), LIMIT, stop, False, ROOM)
        if stop[1] != 0 or (lowest.min() >= gap and len(found) < ROOM):
            return gap, found
        gap /= 2
    return 0.0, found.take(slice(0, 0))

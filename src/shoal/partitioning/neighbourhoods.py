"""Large neighbourhood search: parts of a partition are solved again, over all groups that look promising.

Potentials give every record a dual value, and so every group a reduced cost: its SSE less the dual values of its
members. The SSE of a partition is the sum of all dual values and of the reduced costs of its groups, so that a better
partition consists of groups of low reduced cost. These are listed. Then some groups that lie together are dissolved,
more often those of a high reduced cost, and the best groups of the list that cover their records again are chosen by
set partitioning (HiGHS). Such a part is solved in hundredths of a second; parts grow while they gain nothing.

References
----------
.. [1] P. Shaw, "Using constraint programming and local search methods to solve vehicle routing problems", CP 98,
   Lecture Notes in Computer Science 1520 (1998) 417-431.
.. [2] E. Rothberg, "An evolutionary algorithm for polishing mixed integer programming solutions", INFORMS Journal on
   Computing 19 (2007) 534-541.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from time import monotonic, sleep

import numpy as np
import numpy.typing as npt

from shoal.kernels.potentials import raise_potentials
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.column_generation import SHARES, nearest_sums, reduced, search, unit
from shoal.partitioning.neighbours import neighbours
from shoal.partitioning.potentials import matched_shares
from shoal.partitioning.recombination import choose, labelled
from shoal.partitioning.set_partitioning import Groups, groups_of, joined, pooled, stopping

# Potentials: steps and their lengths, at first and after every pricing; neighbours listed, and groups looked at for
# each record in a step; parts of groups that a search of pricing looks at. That no group of a known partition costs
# less than its dual values makes short searches good enough.
FIRST, AGAIN = (60, 0.5, 0.02), (20, 0.1, 0.01)
LISTED, LOOKED_AT, PRICED, ROUNDS = 24, 40, 500, 2
# Of reduced costs and dual values, where the mean SSE of a record is about one.
NEGATIVE, NEGLIGIBLE = -1e-6, 1e-12
# Groups are listed whose reduced cost is below this share of their dual values, divided by the square of k, or below
# 0.7, 0.49, ... of it if there would be more than so many, or so many a record. A share, as records of one file may be
# dense and sparse.
RELATIVE, FALL, FALLS = 3.6, 0.7, 20
ROOM, ROOM_EACH = 20_000, 12
NODES = 20_000  # parts of groups that the search from a record looks at
# Parts: records at first, growth after so many without a gain, and the seconds after which one is given up.
RECORDS, GROWTH, FUTILE, SECONDS = 80, 1.4, 20, 1.0
IDLE = 0.01  # seconds between two looks for a part
SHRINK = 0.8  # of the groups, after a part that took too long
BY_COST = 0.7  # of the parts begin with a group of high reduced cost, the others anywhere
COLUMNS = 6  # groups a record that a part chooses from at most, those of the lowest relative cost


@dataclass(frozen=True)
class Promising:
    """Groups of low reduced cost, and the dual values by which it is measured, in data of unit scale (`unit`)."""

    X: Floats
    duals: Floats
    groups: Groups


def promising(X: Floats, k: int, partitions: list[Integers], seconds: float, watch: Integers) -> Promising | None:
    """List groups from which a better partition than those known could be made; None if there is no time; n >= 2k."""
    with stopping(seconds, watch) as stop:
        rows, _ = unit(X, k, partitions[0])
        known, _ = pooled([groups_of(rows, k, labels) for labels in partitions])
        duals, met = _dual_values(rows, k, known, stop)
        listed = _listed(rows, k, duals, stop)
        return None if stop[1] != 0 else Promising(rows, duals, joined([met, listed]))


def solve_parts(
    k: int, partitions: list[Integers], groups: Promising, seconds: float, seed: int, watch: Integers, threads: int
) -> Integers:
    """Improve the best of several partitions part by part, for so many seconds at most.

    Groups of all partitions are among those to choose from. The result is never worse than the best of the partitions.
    """
    X = groups.X
    with stopping(seconds, watch) as stop:
        pool, where = pooled([*(groups_of(X, k, labels) for labels in partitions), groups.groups])
        best = min(where[:-1], key=lambda which: float(pool.costs[which].sum()))
        parts = _Parts(k, groups, pool, best, monotonic() + seconds, seed, stop)
        with ThreadPoolExecutor(threads) as workers:
            list(workers.map(lambda _: parts.solve_all(), range(threads)))
        return labelled(len(X), parts.pool.take(parts.chosen))


def _dual_values(X: Floats, k: int, known: Groups, stop: Integers) -> tuple[Floats, Groups]:
    """Return dual values that no known group falls below, and the groups met on the way, the known ones first."""
    matched = matched_shares(X, k, stop)
    if matched is None:
        return np.zeros(len(X)), known
    shares = matched.values
    near = nearest_sums(X, 2 * k - 2, stop)
    lists = neighbours(X, max(LISTED, k - 1), stop)
    if stop[1] != 0:
        return shares, known
    scale = (shares + shares[lists].mean(axis=1)) / 2
    met, potentials, steps = known, shares.copy(), FIRST
    for last in (*[False] * (ROUNDS - 1), True):
        duals, _ = raise_potentials(
            X, k, near, lists, met.members, met.costs, scale, potentials, *steps, LOOKED_AT, stop
        )
        if last or stop[1] != 0:
            break
        found, _ = search(X, k, duals, near, NEGATIVE, PRICED, stop)
        met, potentials, steps = joined([met, found]), duals.copy(), AGAIN
    return duals, met


def _listed(X: Floats, k: int, duals: Floats, stop: Integers) -> Groups:
    """List groups of low reduced cost relative to their dual values, as many as there is room for."""
    near = nearest_sums(X, 2 * k - 2, stop)
    share, room = RELATIVE / k**2, max(ROOM, ROOM_EACH * len(X))
    for _ in range(FALLS):
        found, _ = search(X, k, duals + share * np.abs(duals), near, 0.0, NODES, stop, False, room // SHARES)
        if stop[1] != 0 or len(found) < room // SHARES * SHARES:
            return found
        share *= FALL
    return found


class _Parts:
    """A partition of groups of a pool, of which threads improve parts that have no record in common."""

    def __init__(
        self, k: int, promising: Promising, pool: Groups, chosen: Integers, end: float, seed: int, stop: Integers
    ) -> None:
        self.X, self.k, self.duals = promising.X, k, promising.duals
        self.near = nearest_sums(self.X, 2 * k - 2, stop)
        self.chosen, self.end, self.stop = chosen, end, stop
        self.busy = np.zeros(len(self.X), np.bool_)
        self.random = np.random.default_rng(seed)
        self.groups = self.least = RECORDS * len(chosen) / len(self.X)
        self.futile, self.exhausted, self.share = 0, False, RELATIVE / k**2
        self.lock = Lock()
        self._know(pool)

    def _know(self, pool: Groups) -> None:
        """Take a pool, and note the groups of the partition that each group of it has records of."""
        self.pool = pool
        self.costs = np.maximum(reduced(pool, self.duals), 0.0)
        listed = pool.members >= 0
        size = np.where(listed, np.abs(self.duals)[pool.members], 0.0).sum(axis=1)
        self.relative = self.costs / np.maximum(size, NEGLIGIBLE)
        self.usual = float(np.median(self.relative)) + NEGLIGIBLE
        # A row that is shorter than the longest is filled up with its first member.
        self.members = np.where(listed, pool.members, pool.members[:, :1])
        self.label = np.empty(len(self.X), np.int64)
        self.label[self.members[self.chosen]] = np.arange(len(self.chosen))[:, None]
        self.touched = self.label[self.members]

    def solve_all(self) -> None:
        """Solve one part after the other, until there is no time or all groups are one part that is solved."""
        while self.stop[1] == 0 and not self.exhausted:
            with self.lock:
                columns, start = self._part()
                records = self.members[start]
                self.busy[records] = True
            if not len(start):  # the part of another thread has left nothing
                sleep(IDLE)
                continue
            began = monotonic()
            pool, where = pooled([self.pool.take(start), self.pool.take(columns), self._more(records, len(columns))])
            seconds = max(min(SECONDS, self.end - began), 1e-3)
            found, _ = choose(pool, np.arange(len(pool)), where[0], self.stop, seconds)
            with self.lock:
                self.busy[records] = False
                self._put(start, pool.take(found), monotonic() - began)

    def _more(self, records: Integers, known: int) -> Groups:
        """List more groups of some records, where fewer are known than there is room for."""
        records = np.unique(records)
        room = COLUMNS * len(records) // SHARES
        if known > room * SHARES // 2:
            return self.pool.take(slice(0, 0))
        duals = self.duals[records]
        raised = duals + self.share * np.abs(duals)
        found, _ = search(self.X[records], self.k, raised, self.near[records], 0.0, NODES, self.stop, False, room)
        self.share *= FALL if len(found) > 0.9 * room * SHARES else 1 / FALL
        return Groups(np.where(found.members >= 0, records[found.members], -1), found.costs)

    def _put(self, start: Integers, found: Groups, seconds: float) -> None:
        """Replace the groups of a part, and adapt the size of the next ones."""
        gained = found.costs.sum() < self.pool.costs[start].sum()
        if gained:
            pool, (_, which) = pooled([self.pool, found])
            self.chosen = np.concatenate([self.chosen[~np.isin(self.chosen, start)], which])
            self._know(pool)
        self.futile = 0 if gained else self.futile + 1
        if seconds > 0.8 * SECONDS:
            self.groups = max(self.groups * SHRINK, self.least)
        elif len(start) == len(self.chosen):
            self.exhausted = not gained
        if self.futile > FUTILE:
            self.groups, self.futile = self.groups * GROWTH, 0

    def _part(self) -> tuple[Integers, Integers]:
        """Choose groups that lie together, and those of the pool whose records are all in them."""
        touched = self.touched
        free = ~self.busy[self.members[self.chosen, 0]]
        usable = True if free.all() else free[touched].all(axis=1)
        inside = np.zeros(len(free), np.bool_)
        while inside.sum() < min(self.groups, free.sum()):
            within = inside[touched]
            crossing = np.flatnonzero(within.any(axis=1) & ~within.all(axis=1) & usable)
            if not len(crossing):  # nothing is inside, or nothing is left that has to do with it
                inside[self._one_of(free & ~inside)] = True
                continue
            cost = self.relative[crossing] + self.random.exponential(self.usual, len(crossing))
            few = min(max(3, int(self.groups) // 10), len(crossing))
            inside[touched[crossing[np.argpartition(cost, few - 1)[:few]]]] = True
        columns = np.flatnonzero(inside[touched].all(axis=1))
        most = COLUMNS * int(inside[self.label].sum())
        start = self.chosen[inside]
        if len(columns) > most:
            columns = np.union1d(columns[np.argpartition(self.relative[columns], most)[:most]], start)
        return columns, start

    def _one_of(self, groups: npt.NDArray[np.bool_]) -> int:
        """Choose a group for a part to begin with."""
        cost = self.costs[self.chosen] * groups
        even = groups / groups.sum()
        chance = BY_COST * cost / cost.sum() + (1 - BY_COST) * even if cost.sum() > 0 else even
        return int(self.random.choice(len(groups), p=chance))

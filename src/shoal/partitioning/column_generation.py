"""Column generation: the linear relaxation of set partitioning over all groups there are, without listing them.

The relaxation over some groups gives every record a dual value. Pricing then searches among all groups of k to 2k - 1
records for those whose SSE is less than the duals of their members; these are added, and so on until there are none.

Larger groups need no column: a group of 2k or more can be split into two of at least k without raising the sum of
squared errors, as each part is no farther from its own mean than from the mean of all [1]_.

References
----------
.. [1] J. Domingo-Ferrer and J. M. Mateo-Sanz, "Practical data-oriented microaggregation for statistical disclosure
   control", IEEE Transactions on Knowledge and Data Engineering 14 (2002) 189-201.
.. [2] O. du Merle, P. Hansen, B. Jaumard and N. Mladenović, "An interior point algorithm for minimum sum-of-squares
   clustering", SIAM Journal on Scientific Computing 21 (1999) 1485-1505 (column generation for groups of any size).
.. [3] P. Wentges, "Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming", International
   Transactions in Operational Research 4 (1997) 151-162 (duals are kept near the best known).
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from shoal.kernels.pricing import group_costs, price
from shoal.kernels.standardize import matrix_near_one
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.neighbours import neighbours
from shoal.partitioning.set_partitioning import Cover, Groups, groups_of, joined, stopping

CONVERGED = 1e-5  # of the value of the relaxation: what is left of it is not worth the rounds it would take
NEGATIVE = -1e-6  # a reduced cost, where the mean SSE of a record is about one
SHARES = 8  # of a search, whatever the number of cores: the groups are found in the same order on any machine
LIMIT = 100  # steps of the search from one record at first
WEIGHT = 0.8  # of the best duals known beside those of the relaxation: 0.5 made twice the columns at k = 5
MARGIN = 1e-9  # relative: no bound is claimed to the last digits, which may be rounding


@dataclass(frozen=True)
class Columns:
    """What column generation found."""

    groups: Groups  # all groups that had a part in it: good ones to choose from
    duals: Floats  # A value a record
    bound: float  # no partition into groups of at least k has a lower SSE
    # Whether the bound is that of the relaxation over all groups there are; if not, more time could raise it
    complete: bool


def column_generation(
    X: Floats,
    k: int,
    start: Integers,
    seconds: float = np.inf,
    watch: Integers | None = None,
    steps: float = np.inf,
) -> Columns:
    """Solve the linear relaxation of set partitioning over all groups of k to 2k - 1 records; n >= 2k.

    The better the partition `start`, the sooner the end. What is returned after so many `seconds` is valid. No further
    round of pricing begins once so many `steps` of it have been allowed, but the first always runs: limited by steps
    alone, the result depends on nothing but the arguments.
    """
    with stopping(seconds, watch) as stop:
        return Generation(X, k, start, stop).run(steps)


def unit(X: Floats, k: int, labels: Integers) -> tuple[Floats, int]:
    """Return X times the power of two that makes the mean SSE of a record about one, and the power's exponent."""
    rows, peak = matrix_near_one(X)
    error = groups_of(rows, k, labels).costs.sum()
    power = int(np.frexp(len(X) / error)[1]) // 2 if error > 0 else 0
    return np.ldexp(rows, power), power - peak


def nearest_sums(X: Floats, m: int, watch: Integers | None = None) -> Floats:
    """Return for each record the sum of squared distances to its 0, 1, ..., m nearest others; zeros once stopped."""
    near = neighbours(X, m, watch)
    sums = np.zeros((len(X), m + 1))
    if watch is not None and watch[1] != 0:
        return sums
    for j in range(m):  # one neighbour at a time: an (n, m, d) array would not fit
        difference = X[near[:, j]] - X
        sums[:, j + 1] = sums[:, j] + np.einsum("ij,ij->i", difference, difference)
    return sums


def reduced(groups: Groups, duals: Floats) -> Floats:
    """Return the reduced cost of each group: its SSE less the duals of its members."""
    gains: Floats = np.where(groups.members >= 0, duals[groups.members], 0.0).sum(axis=1)
    return groups.costs - gains


def search(
    X: Floats, k: int, duals: Floats, near: Floats, threshold: float, limit: int, stop: Integers,
    only_better: bool = True, room: int = 1 << 62, lists: Integers | None = None,
) -> tuple[Groups, Floats]:  # fmt: skip
    """Price from every record, on all cores; return the groups found and the lowest reduced cost by anchor.

    A record of a high dual is the anchor of its groups before one of a low dual, so that groups can only be
    completed by records that add little: measured, this takes half as many steps as anchors in the order of density.
    `lists` of neighbours, nearest first, save looking at all records from each; what is found is the same.
    """
    lists = np.zeros((len(X), 0), np.int64) if lists is None else lists
    order = np.argsort(-duals, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    shares = [order[first::SHARES].copy() for first in range(SHARES)]

    def share(anchors: Integers) -> tuple[Integers, Floats]:
        return price(X, k, duals, near, lists, rank, anchors, threshold, only_better, limit, room, stop)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found = list(threads.map(share, shares))
    members = np.concatenate([part[0] for part in found])
    # In the order of the records: -1 is the largest number there is without a sign.
    members = np.sort(members.view(np.uint64), axis=1).view(np.int64)
    return Groups(members, group_costs(X, members)), np.concatenate([part[1] for part in found])


def dual_bound(k: int, duals: Floats, lowest: Floats) -> float:
    """Return a lower bound on the SSE of any partition, from any duals and the lowest reduced cost by anchor.

    The SSE of a partition is the sum of all duals and of the reduced costs of its groups. It has n / k groups at most,
    each with an anchor of its own, so these add up to no less than the n / k lowest (none being above zero).
    """
    most = len(duals) // k
    worst = np.minimum(lowest, 0.0)
    value = duals.sum() + np.partition(worst, most - 1)[:most].sum()
    return float(value - MARGIN * abs(value) - 1e-3 * MARGIN * np.abs(duals).sum())


def first_duals(groups: Groups, share: Floats) -> Floats:
    """Return a guess at good duals: the share by nearest neighbours, raised evenly to the SSE of each group."""
    listed = groups.members >= 0
    lacking = reduced(groups, share) / listed.sum(axis=1)
    duals = share.copy()
    duals[groups.members[listed]] += np.repeat(lacking, listed.sum(axis=1))
    return duals


class Generation:
    """One run of column generation, in data scaled so that the mean SSE of a record is about one."""

    def __init__(self, X: Floats, k: int, start: Integers, stop: Integers) -> None:
        self.X, self.power = unit(X, k, start)
        self.k, self.stop = k, stop
        self.near = nearest_sums(self.X, 2 * k - 2, stop)
        self.groups = groups_of(self.X, k, start)
        self.cost = self.groups.costs.sum()
        self.cover = Cover(len(X), stop)
        self.cover.add(self.groups)
        self.bound = 0.0
        self.duals = first_duals(self.groups, self.near[:, k - 1] / (2 * k))

    def run(self, steps: float) -> Columns:
        """Alternate between the relaxation and pricing."""
        limit, weight, complete = LIMIT, WEIGHT, self.cost == 0
        allowed = 0
        while not complete and self.stop[1] == 0 and (allowed == 0 or allowed < steps):
            relaxed = self.cover.relax()
            if relaxed is None:
                break
            value, duals = relaxed
            added = self.round(duals, weight, limit)
            allowed += limit * len(self.X)
            complete = self.bound >= value * (1 - CONVERGED)
            if added < len(self.X) / 8:
                limit = min(4 * limit, 1_000_000_000)
                weight = weight / 2 if added else 0.0
            else:
                weight = WEIGHT
        back = -2 * self.power
        groups = Groups(self.groups.members, np.ldexp(self.groups.costs, back))
        return Columns(groups, np.ldexp(self.duals, back), float(np.ldexp(self.bound, back)), complete)

    def round(self, duals: Floats, weight: float, limit: int) -> int:
        """Price at duals between those of the relaxation and the best known; add what improves the relaxation."""
        between = weight * self.duals + (1 - weight) * duals
        found, lowest = search(self.X, self.k, between, self.near, NEGATIVE, limit, self.stop)
        if self.stop[1] != 0:
            return 0
        bound = dual_bound(self.k, between, lowest)
        if bound > self.bound:
            self.bound, self.duals = bound, between
        new = found.take(reduced(found, duals) < NEGATIVE)
        if len(new):
            self.cover.add(new)
            self.groups = joined([self.groups, new])
        return len(new)

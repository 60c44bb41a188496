"""Refinement: a partition is changed group by group until its budget is used up, and never gets worse.

First the partition cools from a temperature at which groups exchange most of their records. Then it is warmed up a
little, from the best found, and cools again, round by round. A round need not end better as a whole: it is crossed with
the best, which keeps what became better wherever that can be told apart from what became worse.

A round takes a partition along one leg of a cooling, by searches of the whole file side by side, or of its regions.
Kernels release Python's lock, so that threads run at once; what they find depends on the numbers drawn for them, never
on how many of them run or in which order.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import count, pairwise
from time import monotonic
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.anneal import anneal, descend
from shoal.kernels.refine import grouped, recentre
from shoal.kernels.standardize import matrix_near_one
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.methods import contiguous, group_errors
from shoal.partitioning.neighbours import neighbours
from shoal.partitioning.recombination import cross

Lists = npt.NDArray[np.int32]

# Temperatures are in units of the mean squared distance to the k nearest neighbours.
HOT = 0.5
WARM = (0.15, 0.2, 0.1)  # of the rounds, in turn
FIRST = 0.3  # of the budget, for the first cooling
SOAK = 300  # proposals a record that the first cooling gets if it can
ROUND = 100  # proposals a record in a round, times k: large groups have more members to exchange
LEAST = 0.01  # of the budget: less is not worth another round
WHOLE = 20_000  # records that are refined as a whole; more are cut into regions
RECUTS = 6  # times that regions are cut during the first cooling
NEIGHBOURS = 20  # in the list of a record at least; 2k if the lists have room for them
LISTS = 20_000_000  # neighbours in all lists together: some 400 MB while they are made
PACE = 3e6  # proposals a second, before there is a round to measure
COLD = 0.03  # where a cooling ends, in units of `SearchSpace.local`
STRIP = 16_384  # proposals at one temperature, and between two looks at the clock: some milliseconds
STRIPS = 50  # in a leg at least, if it is counted in proposals
ANNEALING = 0.9  # of a leg's seconds; the rest is for the descent at its end
REGION = 8_192  # records in a region: what fits into a core's own cache
SHARES = (0.5, 0.38, 0.62, 0.44, 0.56, 0.33)  # where regions are cut, in turn
DESCENT_UP_TO = 15  # k: a descent looks at all pairs of neighbouring groups, and takes long where they are large


class SearchSpace(NamedTuple):
    """What a search runs on: records, their neighbours, and the squared distance that is usual around each."""

    X: Floats
    near: Lists
    local: Floats


class Leg(NamedTuple):
    """A stretch of cooling from one temperature to another, in proposals or in seconds."""

    hot: float
    cold: float
    steps: float | None
    seconds: float | None

    def of(self, steps: float, seconds: float) -> "Leg":
        """Return these shares of the leg."""
        return self._replace(
            steps=None if self.steps is None else self.steps * steps,
            seconds=None if self.seconds is None else self.seconds * seconds,
        )


class Refined(NamedTuple):
    """A refined partition, its sum of squared errors, the proposals made, and the partitions met at the end of rounds.

    The `optima` are local optima or close to it; their groups are what a set partition may choose from.
    """

    labels: Integers
    sse: float
    steps: int
    optima: list[Integers]


class _Budget:
    """Proposals or seconds: how much is left, and how much a number of proposals takes."""

    def __init__(self, steps: int | None, seconds: float | None, start: float) -> None:
        self.steps, self.seconds, self.start = steps, seconds, start
        self.search, self.done = monotonic(), 0

    def left(self) -> float:
        """Return which share of the budget is left."""
        if self.seconds is not None:
            return 1.0 - (monotonic() - self.start) / self.seconds
        return 1.0 - self.done / (self.steps or 1)

    def share(self, steps: int) -> float:
        """Return which share of the budget so many proposals take, at the pace so far or, at first, a usual one."""
        if self.seconds is not None:
            pace = self.done / (monotonic() - self.search) if self.done else PACE
            return steps / (pace * self.seconds)
        return steps / (self.steps or 1)

    def leg(self, hot: float, cold: float, share: float) -> Leg:
        """Return a leg that takes this share of the budget."""
        return Leg(hot, cold, self.steps, self.seconds).of(share, share)


def refine(
    X: Floats,
    k: int,
    labels: Integers,
    *,
    steps: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    watch: Integers | None = None,
    searches: int = 1,
) -> Refined:
    """Lower the sum of squared errors of a partition by annealed ruin and recreation [1]_, [2]_.

    A proposal moves a record to the group of a neighbour, lets it change places with a member of that group, dissolves
    a group, forms one of records that others can spare, or forms one of a record and its k - 1 nearest, after which
    groups that fell below k are dissolved. It is accepted if the error falls, or rises by h with probability
    exp(-h / temperature), the temperature in units of the squared distances usual around the record: data need not be
    of one density. Files of more than 20,000 records are cut into regions of whole groups, with other borders in each
    round.

    Parameters
    ----------
    X
        An (n, d) matrix in which squared Euclidean distance is the right distance.
    k
        The least number of records in a group.
    labels
        The partition to begin with: groups of k to 2k - 1 records, or one group of them all if n < 2k.
    steps, seconds
        The budget: proposals in all, or wall time, that for neighbour lists included. One of the two. With steps, the
        result depends on nothing else than the arguments; with seconds, it also depends on the machine.
    seed
        Other seeds, other searches.
    watch
        Integers shared with another thread: the first is kept at how many of the n records the used share of the
        budget stands for; once the second is not zero, the search stops and returns the best so far; the third, if
        there is one, is kept at the information loss in millionths.
    searches
        Searches that run side by side, each in a thread; their results are crossed after every round. Regions are
        searched by as many threads, and their result does not depend on it.

    Returns
    -------
    Refined
        Its error is never above that of the given labels, which it has if stopped before the search began.

    References
    ----------
    .. [1] S. Kirkpatrick, C. D. Gelatt and M. P. Vecchi, "Optimization by simulated annealing", Science 220 (1983)
       671-680.
    .. [2] G. Schrimpf, J. Schneider, H. Stamm-Wilbrandt and G. Dueck, "Record breaking optimization results using the
       ruin and recreate principle", Journal of Computational Physics 159 (2000) 139-171.
    """
    start = monotonic()
    watch = np.zeros(2, np.int64) if watch is None else watch
    labels = contiguous(labels)
    Z, exponent = _scaled(X)
    if len(X) < 2 * k or not Z.any():
        return Refined(labels, _error(Z, labels, exponent), 0, [])
    space = SearchSpace(Z, *neighbour_lists(Z, k, watch))
    if watch[1] != 0:
        return Refined(labels, _error(Z, labels, exponent), 0, [])
    budget = _Budget(steps, seconds, start)
    best, optima = _search(space, k, labels, budget, seed, watch, searches)
    return Refined(best, _error(Z, best, exponent), budget.done, optima)


def _scaled(X: Floats) -> tuple[Floats, int]:
    """Return X about its medians, divided by a power of two that makes it at most 1 in size, and this power."""
    Z, exponent = matrix_near_one(X)
    Z /= 2  # then no difference is above 1
    return Z - np.median(Z, axis=0), exponent + 1


def _error(Z: Floats, labels: Integers, exponent: int) -> float:
    """Return the sum of squared errors in the unit of the data; infinite if it is beyond the range of numbers."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.ldexp(group_errors(Z, labels).sum(), 2 * exponent))


def neighbour_lists(Z: Floats, k: int, watch: Integers) -> tuple[Lists, Floats]:
    """Return the neighbours of each record, and the squared distance that is usual around it.

    That is the mean over its k nearest that are not equal to it. Once stopped, the lists are not complete.
    """
    near = np.ascontiguousarray(neighbours(Z, max(NEIGHBOURS, min(2 * k, LISTS // len(Z))), watch), dtype=np.int32)
    local, taken = np.zeros(len(Z)), np.zeros(len(Z), np.int64)
    for column in near.T:
        if watch[1] != 0:
            break
        apart = ((Z - Z[column]) ** 2).sum(axis=1)
        counts = (apart > 0) & (taken < k)
        local[counts] += apart[counts]
        taken += counts
    return near, local / np.maximum(taken, 1)


def _search(
    space: SearchSpace, k: int, labels: Integers, budget: _Budget, seed: int, watch: Integers, searches: int
) -> tuple[Integers, list[Integers]]:
    """Cool once, then warm up the best and cool again until the budget is used; return it, and what rounds ended in."""
    n = len(labels)
    regional = n > WHOLE
    search = search_regions if regional else search_side_by_side
    first = min(1.0, max(FIRST, budget.share(SOAK * n)))
    # Between two cuts into regions the temperature goes on falling: it is one cooling of the whole file.
    borders = np.geomspace(HOT, COLD, 1 + (RECUTS if regional else 1))
    laps = count()
    spread = max(group_errors(space.X, np.zeros(n, np.int64)).sum(), np.finfo(float).tiny)
    current, found = labels, [labels]
    for hot, cold in pairwise(borders.tolist()):
        leg = budget.leg(hot, cold, first / (len(borders) - 1))
        found, made = search(space, k, current, leg, (seed, next(laps)), searches, watch)
        budget.done += made
        current = found[0]
        if watch[1] != 0:
            break
    best: Integers = labels
    optima: list[Integers] = []
    while True:
        optima += found
        for other in found:
            best = cross(space.X, best, other)
        left = budget.left()
        watch[0] = int(n * (1.0 - max(left, 0.0)))
        if len(watch) > 2:
            watch[2] = int(1e6 * group_errors(space.X, best).sum() / spread)
        if left < LEAST or watch[1] != 0:
            return best, optima
        lap = next(laps)
        share = min(left, budget.share(ROUND * k * n * (1 if regional else searches)))
        leg = budget.leg(WARM[lap % len(WARM)], COLD, share)
        found, made = search(space, k, best, leg, (seed, lap), searches, watch)
        budget.done += made


def search_side_by_side(
    space: SearchSpace, k: int, labels: Integers, leg: Leg, seed: tuple[int, int], searches: int, watch: Integers
) -> tuple[list[Integers], int]:
    """Take a partition along a leg by several searches; return what each finds, and their proposals in all."""
    part = leg.of(1 / searches, 1)

    def search(at: int) -> tuple[Integers, int]:
        return cooled(space, k, labels, part, (*seed, at), watch)

    with ThreadPoolExecutor(searches) as pool:
        results = list(pool.map(search, range(searches)))
    return [found for found, _ in results], sum(made for _, made in results)


def search_regions(
    space: SearchSpace, k: int, labels: Integers, leg: Leg, seed: tuple[int, int], threads: int, watch: Integers
) -> tuple[list[Integers], int]:
    """Take a partition along a leg region by region; return the one it becomes, and the proposals in all.

    The second number of the seed is that of the round, and decides where regions are cut.
    """
    n = len(labels)
    parts = regions(space.X, labels, REGION, SHARES[seed[1] % len(SHARES)])

    def search(at: int) -> tuple[Integers, int]:
        records = parts[at]
        piece = SearchSpace(space.X[records], within(records, space.near), space.local[records])
        share = len(records) / n
        return cooled(piece, k, contiguous(labels[records]), leg.of(share, threads * share), (*seed, at), watch)

    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(search, range(len(parts))))
    whole, groups = np.empty(n, np.int64), 0
    for records, (found, _) in zip(parts, results, strict=True):
        whole[records] = found + groups
        groups += int(found.max()) + 1
    return [whole], sum(made for _, made in results)


def cooled(
    space: SearchSpace, k: int, labels: Integers, leg: Leg, seed: tuple[int, ...], watch: Integers
) -> tuple[Integers, int]:
    """Cool a partition along a leg and, if it ends cold, let it descend to a local optimum; also return the proposals.

    Centroids are computed afresh before each strip, so that rounding does not add up.
    """
    s = grouped(space.X, labels, k, int(labels.max()) + 1)
    state = np.random.default_rng(seed).integers(1, 2**63, 1, dtype=np.uint64)
    start, made, gone = monotonic(), 0, 0.0
    while gone < 1 and watch[1] == 0:
        strip = STRIP if leg.steps is None else min(STRIP, math.ceil(leg.steps / STRIPS), math.ceil(leg.steps) - made)
        recentre(s)
        anneal(s, space.near, space.local, leg.hot * (leg.cold / leg.hot) ** gone, strip, state, watch)
        made += strip
        if leg.steps is not None:
            gone = made / leg.steps  # at the last strip, 1 or a little more
        elif leg.seconds is not None:
            gone = (monotonic() - start) / (leg.seconds * ANNEALING)
    if leg.cold <= COLD and k <= DESCENT_UP_TO:
        recentre(s)
        descend(s, space.near, space.local, np.ones(len(labels), np.bool_), watch)
    return contiguous(s.label), made


def regions(X: Floats, labels: Integers, most: int, share: float) -> list[Integers]:
    """Cut records into compact regions of at most `most` records; no group is divided.

    The centroids of the groups are cut across their widest attribute, the parts again, and so on, as for a k-d tree;
    each time, this share of the groups is on one side. Another share makes other borders.

    Returns
    -------
    list of arrays
        The records of each region by their index, in ascending order.
    """
    size = np.bincount(labels)
    centroids = np.stack([np.bincount(labels, x) / size for x in X.T], axis=1)
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(size)])
    found = []
    waiting = [np.arange(len(size))]
    while waiting:
        groups = waiting.pop()
        if len(groups) == 1 or size[groups].sum() <= most:
            found.append(np.sort(np.concatenate([order[starts[g] : starts[g + 1]] for g in groups])))
            continue
        inside = centroids[groups]
        widest = int(np.argmax(np.ptp(inside, axis=0)))
        at = min(max(int(share * len(groups)), 1), len(groups) - 1)
        cut = np.argpartition(inside[:, widest], at)
        waiting += [groups[cut[:at]], groups[cut[at:]]]
    return found


def within(records: Integers, near: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the neighbour lists of some records, by their place among these; the record itself for any other."""
    place = np.full(len(near), -1, np.int32)
    place[records] = np.arange(len(records), dtype=np.int32)
    lists = place[near[records]]
    return np.where(lists < 0, np.arange(len(records), dtype=np.int32)[:, None], lists)

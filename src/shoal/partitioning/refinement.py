"""Refinement: a partition is taken through coolings until its budget is used up, and never gets worse.

Each cooling begins with the best partition so far, at a temperature at which groups exchange records. The first are
short, each is longer than the one before. A cooling need not end better as a whole: it is crossed with the best, which
keeps what became better wherever that can be told apart from what became worse. How a cooling runs does not depend on
the number of steps, and none is begun that they do not last for: a search of more steps continues that of fewer, and
never ends worse. Where seconds do not last for a cooling, it falls sooner.

A cooling takes a partition along its legs, by searches of the whole file side by side, or of its regions, which are cut
in other ways for each leg. Kernels release Python's lock, so that threads run at once; what they find depends on the
numbers drawn for them, never on how many of them run or in which order.
"""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, cycle, pairwise
from time import monotonic
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.anneal import anneal, descend
from shoal.kernels.refine import grouped, recentre
from shoal.kernels.standardize import matrix_near_one
from shoal.kernels.stop import until
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.clock import Clock
from shoal.partitioning.methods import contiguous, group_errors
from shoal.partitioning.neighbours import neighbours
from shoal.partitioning.recombination import cross

Lists = npt.NDArray[np.int32]

# Temperatures are in units of the mean squared distance to the k nearest neighbours.
OPENING = (0.3, 0.5, 0.3, 0.5, 0.15, 0.3, 0.2, 0.5, 0.15, 0.3, 0.2)  # where the first coolings begin
WARM = (0.15, 0.2, 0.1)  # where those after them begin, in turn
FIRST, GROWTH = 10.0, 1.25  # proposals a record in the first cooling, and times as many in each after it
FEWEST = 100  # records that a cooling has proposals for, at least
USUAL_K = 30  # a proposal takes time as the square of larger k, so that fewer are made
WHOLE = 20_000  # records that are refined as a whole; more are cut into regions
# The same for regions: of 100,000 x 5 records (normal, k = 5), one cooling of 100 proposals a record from 0.5 leaves
# 0.846 of MDAV's error with 3 legs, 0.837 with 6 and 0.834 with 12, in regions of 8,192; 0.820 with 6 of 32,768.
REGIONAL_OPENING = (0.5, 0.5, 0.5, 0.3, 0.5, 0.3)
REGIONAL_FIRST, REGIONAL_GROWTH = 20.0, 2.0
REGION = 32_768  # records in a region
LOCAL = 8_192  # records in a region that finds its own neighbours, where there is no time for those of all
LEGS, SHORT, SHORT_LEGS = (
    6,
    50,
    3,
)  # of a cooling of regions, for each of which they are cut; of fewer proposals a record
SOAK = 300.0  # proposals a record in the first cooling of regions, if there is time for them
SHARES = (0.5, 0.38, 0.62, 0.44, 0.56, 0.33)  # where regions are cut, in turn
NEIGHBOURS = 20  # in the list of a record at least; 2k if the lists have room for them
LISTS = 20_000_000  # neighbours in all lists together: some 400 MB while they are made
COLD = 0.03  # where a cooling ends, in units of `SearchSpace.local`
STRIP = 16_384  # proposals at one temperature, and between two looks at the clock: some milliseconds
STRIPS = 50  # in a leg at least
LEAST = 0.01  # of the seconds: less is not worth another cooling
LISTED = 0.4  # of the seconds, for the neighbours of all records
ANNEALING = 0.7  # of a leg's seconds; the rest is for the descent at its end
DESCENT_UP_TO = 15  # k: a descent looks at all pairs of neighbouring groups, and takes long where they are large


class SearchSpace(NamedTuple):
    """What a search runs on: records, their neighbours, and the squared distance that is usual around each."""

    X: Floats
    near: Lists
    local: Floats


class Cooling(NamedTuple):
    """From how hot, and how many proposals a record."""

    hot: float
    length: float


def coolings() -> Iterator[Cooling]:
    """Return the coolings of a search of the whole file, of which there is no last."""
    length = FIRST
    for hot in chain(OPENING, cycle(WARM)):
        yield Cooling(hot, length)
        length *= GROWTH


def regional_coolings(length: float = REGIONAL_FIRST) -> Iterator[Cooling]:
    """Return the coolings of a search of regions, the first of so many proposals a record."""
    for hot in chain(REGIONAL_OPENING, cycle(WARM)):
        yield Cooling(hot, length)
        length *= REGIONAL_GROWTH


class Leg(NamedTuple):
    """A stretch of cooling from one temperature to another, in proposals, and at most so many seconds."""

    hot: float
    cold: float
    steps: float
    seconds: float = math.inf

    def of(self, steps: float) -> "Leg":
        """Return a leg of a share of the proposals."""
        return self._replace(steps=self.steps * steps)


class Refined(NamedTuple):
    """A refined partition, its sum of squared errors, the proposals made, and the partitions met at the end of rounds.

    The `optima` are local optima or close to it; their groups are what a set partition may choose from.
    """

    labels: Integers
    sse: float
    steps: int
    optima: list[Integers]


class _Budget:
    """Proposals that may be made, or seconds."""

    def __init__(self, steps: int | None, seconds: float | None, start: float) -> None:
        self.steps, self.seconds, self.start, self.done = steps, seconds, start, 0
        self.end = math.inf if seconds is None else start + seconds

    def used(self) -> float:
        """Return which share is used."""
        if self.seconds is not None:
            return min((monotonic() - self.start) / self.seconds, 1.0)
        return self.done / (self.steps or 1)

    def allows(self, steps: float) -> bool:
        """Whether so many more proposals can be made; in seconds, whether it is worth to begin with them."""
        if self.seconds is not None:
            return self.used() < 1 - LEAST
        return self.done + steps <= (self.steps or 0)


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
    first: float = REGIONAL_FIRST,
) -> Refined:
    """Lower the sum of squared errors of a partition by annealed ruin and recreation [1]_, [2]_.

    A proposal moves a record to the group of a neighbour, lets it change places with a member of that group, dissolves
    a group, forms one of records that others can spare, or forms one of a record and its k - 1 nearest, after which
    groups that fell below k are dissolved. It is accepted if the error falls, or rises by h with probability
    exp(-h / temperature), the temperature in units of the squared distances usual around the record: data need not be
    of one density. Files of more than 20,000 records are cut into regions of whole groups, with other borders in each
    leg of a cooling.

    Parameters
    ----------
    X
        An (n, d) matrix in which squared Euclidean distance is the right distance.
    k
        The least number of records in a group.
    labels
        The partition to begin with: groups of k to 2k - 1 records, or one group of them all if n < 2k.
    steps, seconds
        The budget: proposals in all, of which whole coolings are made, or wall time, that for neighbour lists included.
        One of the two. With steps, the result depends on nothing else than the arguments, and more of them never end
        worse; with seconds, it also depends on the machine.
    seed
        Other seeds, other searches.
    watch
        Integers shared with another thread: the first is kept at how many of the n records the used share of the
        budget stands for; once the second is not zero, the search stops and returns the best so far; the third, if
        there is one, is kept at the information loss in millionths.
    searches
        Searches that run side by side, each in a thread; their results are crossed after every cooling. Regions are
        searched by as many threads, and their result does not depend on it.
    first
        Proposals a record in the first cooling of regions, if the budget is in steps.

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
    budget = _Budget(steps, seconds, start)
    with until(budget.end, watch) as flag:
        with until(start + LISTED * (budget.end - start), flag, len(X)) as early:
            lists = neighbour_lists(Z, k, early)
        if early[1] == 0:
            first = first if seconds is None else SOAK
            best, optima = _search(SearchSpace(Z, *lists), k, labels, budget, seed, flag, searches, first)
        else:
            best, optima = _search_locally(Z, k, labels, budget, seed, flag, searches), []
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
    space: SearchSpace,
    k: int,
    labels: Integers,
    budget: _Budget,
    seed: int,
    watch: Integers,
    searches: int,
    first: float,
) -> tuple[Integers, list[Integers]]:
    """Take the best partition through one cooling after the other; return it, and what coolings ended in."""
    n = len(labels)
    regional = n > WHOLE
    cool = cool_regions if regional else cool_side_by_side
    spread = max(group_errors(space.X, np.zeros(n, np.int64)).sum(), np.finfo(float).tiny)
    best: Integers = labels
    optima: list[Integers] = []
    for lap, cooling in enumerate(regional_coolings(first) if regional else coolings()):
        steps = cooling_steps(n, k, cooling.length)
        if watch[1] != 0 or not budget.allows(steps if regional else steps * searches):
            break
        leg = Leg(cooling.hot, COLD, steps)
        found, made = cool(space, k, best, leg, budget.end, (seed, lap), searches, watch)
        budget.done += made
        optima += found
        for other in found:
            best = cross(space.X, best, other)
        watch[0] = int(n * budget.used())
        if len(watch) > 2:
            watch[2] = int(1e6 * group_errors(space.X, best).sum() / spread)
    watch[0] = n
    return best, optima


def _search_locally(
    Z: Floats, k: int, labels: Integers, budget: _Budget, seed: int, watch: Integers, threads: int
) -> Integers:
    """Search region after region, each with neighbours of its own, while there is time; what is not reached stays."""
    n = len(labels)
    for lap, cooling in enumerate(regional_coolings()):
        if watch[1] != 0 or not budget.allows(0):
            break
        parts = regions(Z, labels, LOCAL, SHARES[lap % len(SHARES)])
        search = partial(_searched_alone, Z, k, labels, cooling, budget.end, watch)
        with ThreadPoolExecutor(threads) as pool:
            results = list(pool.map(search, parts, [(seed, lap, at) for at in range(len(parts))]))
        labels = _joined(n, parts, [found for found, _ in results])
        budget.done += sum(made for _, made in results)
        watch[0] = int(n * budget.used())
    return labels


def _searched_alone(
    Z: Floats,
    k: int,
    labels: Integers,
    cooling: Cooling,
    end: float,
    watch: Integers,
    records: Integers,
    seed: tuple[int, ...],
) -> tuple[Integers, int]:
    """Improve the partition of a region, among neighbours in it; also return the proposals."""
    own, X = contiguous(labels[records]), Z[records]
    if watch[1] != 0:
        return own, 0
    space = SearchSpace(X, *neighbour_lists(X, k, watch))
    if watch[1] != 0:
        return own, 0
    leg = Leg(cooling.hot, COLD, cooling_steps(len(X), k, cooling.length), max(end - monotonic(), 1e-3))
    found, made = cooled(space, k, own, leg, seed, watch)
    return cross(X, own, found), made


def _joined(n: int, parts: list[Integers], found: list[Integers]) -> Integers:
    """Return one partition of all records, given that of each part, numbered without a gap."""
    whole, groups = np.empty(n, np.int64), 0
    for records, own in zip(parts, found, strict=True):
        whole[records] = own + groups
        groups += int(own.max()) + 1
    return whole


def cooling_steps(n: int, k: int, length: float) -> int:
    """Return how many proposals a cooling makes; fewer where groups are large, and each takes as long as its square."""
    return math.ceil(length * max(n, FEWEST) * min(1.0, USUAL_K / k) ** 2)


def cool_side_by_side(
    space: SearchSpace,
    k: int,
    labels: Integers,
    leg: Leg,
    end: float,
    seed: tuple[int, int],
    searches: int,
    watch: Integers,
) -> tuple[list[Integers], int]:
    """Take a partition along a leg by several searches; return what each finds, and their proposals in all."""
    timed = leg._replace(seconds=max(end - monotonic(), 1e-3))

    def search(at: int) -> tuple[Integers, int]:
        return cooled(space, k, labels, timed, (*seed, at), watch)

    with ThreadPoolExecutor(searches) as pool:
        results = list(pool.map(search, range(searches)))
    return [found for found, _ in results], sum(made for _, made in results)


def cool_regions(
    space: SearchSpace,
    k: int,
    labels: Integers,
    leg: Leg,
    end: float,
    seed: tuple[int, int],
    threads: int,
    watch: Integers,
) -> tuple[list[Integers], int]:
    """Take a partition along the legs of a cooling; return what it becomes, and the proposals in all.

    Between two cuts into regions the temperature goes on falling: it is one cooling of the whole file.
    """
    made = 0
    legs = LEGS if leg.steps >= SHORT * len(labels) else SHORT_LEGS
    borders = np.geomspace(leg.hot, leg.cold, 1 + legs).tolist()
    for number, (hot, cold) in enumerate(pairwise(borders)):
        now = monotonic()
        leg_end = now + (end - now) / (legs - number)
        part = Leg(hot, cold, leg.steps / legs)
        labels, more = search_regions(space, k, labels, part, leg_end, (*seed, number), threads, watch)
        made += more
    return [labels], made


def search_regions(
    space: SearchSpace,
    k: int,
    labels: Integers,
    leg: Leg,
    end: float,
    seed: tuple[int, int, int],
    threads: int,
    watch: Integers,
) -> tuple[Integers, int]:
    """Take a partition along a leg region by region; return the one it becomes, and the proposals in all.

    The last numbers of the seed are those of the cooling and of its leg, and decide where regions are cut.
    """
    n = len(labels)
    parts = regions(space.X, labels, REGION, SHARES[(seed[1] + seed[2]) % len(SHARES)])
    clock = Clock(end - monotonic(), n, threads)

    def search(at: int) -> tuple[Integers, int]:
        records = parts[at]
        piece = SearchSpace(space.X[records], within(records, space.near), space.local[records])
        own = leg.of(len(records) / n)._replace(seconds=clock.take(len(records)))
        return cooled(piece, k, contiguous(labels[records]), own, (*seed, at), watch)

    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(search, range(len(parts))))
    return _joined(n, parts, [found for found, _ in results]), sum(made for _, made in results)


def cooled(
    space: SearchSpace, k: int, labels: Integers, leg: Leg, seed: tuple[int, ...], watch: Integers
) -> tuple[Integers, int]:
    """Cool a partition along a leg and, if it ends cold, let it descend to a local optimum; also return the proposals.

    The temperature falls with the proposals made, or with the seconds gone, whichever are nearer to their end.
    Centroids are computed afresh before each strip, so that rounding does not add up.
    """
    s = grouped(space.X, labels, k, int(labels.max()) + 1)
    state = np.random.default_rng(seed).integers(1, 2**63, 1, dtype=np.uint64)
    start, made, gone = monotonic(), 0, 0.0
    descends = leg.cold <= COLD and k <= DESCENT_UP_TO
    while gone < 1 and watch[1] == 0:
        strip = min(STRIP, math.ceil(leg.steps / STRIPS), math.ceil(leg.steps) - made)
        recentre(s)
        anneal(s, space.near, space.local, leg.hot * (leg.cold / leg.hot) ** gone, strip, state, watch)
        made += strip
        elapsed = (monotonic() - start) / (leg.seconds * (ANNEALING if descends else 1.0))
        gone = max(made / leg.steps, elapsed)
    if descends:
        recentre(s)
        with until(start + leg.seconds, watch) as flag:
            descend(s, space.near, space.local, np.ones(len(labels), np.bool_), flag)
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
    region, count = np.empty(len(size), np.int64), 0
    waiting = [np.arange(len(size))]
    while waiting:
        groups = waiting.pop()
        if len(groups) == 1 or size[groups].sum() <= most:
            region[groups] = count
            count += 1
            continue
        inside = centroids[groups]
        widest = int(np.argmax(np.ptp(inside, axis=0)))
        at = min(max(int(share * len(groups)), 1), len(groups) - 1)
        cut = np.argpartition(inside[:, widest], at)
        waiting += [groups[cut[:at]], groups[cut[at:]]]
    home = region[labels]
    return np.split(np.argsort(home, kind="stable"), np.cumsum(np.bincount(home))[:-1])


def within(records: Integers, near: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the neighbour lists of some records, by their place among these; the record itself for any other."""
    place = np.full(len(near), -1, np.int32)
    place[records] = np.arange(len(records), dtype=np.int32)
    lists = place[near[records]]
    return np.where(lists < 0, np.arange(len(records), dtype=np.int32)[:, None], lists)

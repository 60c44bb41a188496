"""Refinement of a partition of attributes of every type, with missing values, within l-diversity and t-closeness.

What is lowered is the loss that is reported: the squared distance between the records and what they publish, times the
weight of the record if there are any. The search goes through coolings, each as long as the budget lasts: first from a
temperature at which groups exchange most of their records, then warm ones from the best found, longer and longer. How
a cooling runs does not depend on the budget, so that a search of more steps continues that of fewer, and never ends
worse.
"""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from time import monotonic
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.diversity import Attributes
from shoal.kernels.encoded import MEAN, MODE, EncodedMatrix
from shoal.kernels.l_diversity import LDiversity
from shoal.kernels.mixed_anneal import NO_ATTRIBUTES, anneal_mixed, group_losses
from shoal.kernels.stop import until
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.clock import Clock
from shoal.partitioning.diversity import Limits, attributes_of
from shoal.partitioning.mdav import space_within_range
from shoal.partitioning.methods import contiguous
from shoal.partitioning.recombination import cross_by
from shoal.partitioning.refinement import REGION, SHARES, WHOLE, neighbour_lists, regions, within

Lists = npt.NDArray[np.int32]
Demand = tuple[Attributes, LDiversity, float]  # confidential attributes, their l (0 for none), their t (or infinite)

NO_DEMAND: Demand = (NO_ATTRIBUTES, LDiversity(0.0), math.inf)
HOT = 0.5  # of the first cooling; temperatures are in units of the mean squared distance to the k nearest neighbours
WARM = (0.15, 0.2, 0.1)  # of those after it, in turn
COLD = 0.05
FIRST = 60  # strips in the first cooling; each later one has GROWTH times as many as the one before
GROWTH = 1.25
FROZEN = 0.1  # of a cooling, at its end: nothing is accepted that raises the loss
STRIP = 512  # proposals at one temperature, at least; as many as there are records if they are more
USUAL_K = 30  # a proposal takes time as the square of larger k, so that fewer are made
CATEGORIES = 32  # of a nominal attribute that neighbours are told apart by: the most frequent
LARGEST = 4  # times k: how many records a group may have within limits, if none had more to begin with


class Region(NamedTuple):
    """What a search runs on: records, what is asked of groups, neighbours, and the squared distances usual around."""

    space: EncodedMatrix
    demand: Demand
    near: Lists
    local: Floats
    strip: int  # proposals at one temperature

    def of(self, records: Integers) -> "Region":
        """Return some of the records."""
        attributes, wanted, t = self.demand
        if len(attributes.codes):
            attributes = attributes._replace(codes=np.ascontiguousarray(attributes.codes[:, records]))
        if len(attributes.unit):
            unit = np.unique(attributes.unit[records], return_inverse=True)[1].astype(np.int64)
            attributes = attributes._replace(unit=unit)
        demand = attributes, wanted, t
        strip = self.strip * len(records) // len(self.local)
        return Region(self.space.rows(records), demand, within(records, self.near), self.local[records], strip)


class Cooling(NamedTuple):
    """From how hot, and how long: about as many proposals a record."""

    hot: float
    length: float

    @property
    def strips(self) -> int:
        """How many strips it has, each of about as many proposals as there are records."""
        return math.ceil(self.length)

    def temperature(self, gone: float) -> float:
        """Return the temperature when a share of it is gone."""
        gone /= 1 - FROZEN
        return 0.0 if gone >= 1 else self.hot * (COLD / self.hot) ** gone


class Found(NamedTuple):
    """The best partition at the end of a strip, its loss, the partition at the end, and the strips made."""

    best: Integers
    loss: float
    last: Integers
    made: int


def coolings() -> Iterator[Cooling]:
    """Return the coolings of a search, of which there is no last."""
    length = float(FIRST)
    yield Cooling(HOT, length)
    for hot in cycle(WARM):
        length *= GROWTH
        yield Cooling(hot, length)


def refine_mixed(
    space: EncodedMatrix,
    k: int,
    labels: Integers,
    *,
    limits: Limits | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    watch: Integers | None = None,
    searches: int = 1,
) -> Integers:
    """Lower the loss of a partition of attributes of every type by annealed ruin and recreation.

    The changes are those of `shoal.partitioning.refinement.refine`; within limits a group is also split. A group that
    would break a limit is never made. Files of more than 20,000 records are cut into regions of whole groups, with
    other borders in each cooling.

    Parameters
    ----------
    space
        The records; see `shoal.kernels.encoded.EncodedMatrix`. A value that fewer than k records of a group have, or
        fewer than miss it, is published as missing.
    k
        The least number of records in a group.
    labels
        The partition to begin with. Without limits its groups have up to 2k - 1 records, and go on having them; with
        limits, which they satisfy, up to 4k or as many as the largest of them.
    limits
        What groups must hold of confidential attributes, and of units.
    steps, seconds
        The budget: proposals in all, of which whole strips are made, or wall time. One of the two.
    seed
        Other seeds, other searches.
    watch
        As for `shoal.partitioning.refinement.refine`.
    searches
        Searches that run side by side, each in a thread; regions are searched by as many threads.

    Returns
    -------
    labels
        Numbered without a gap. The loss is never above that of the given labels, nor above that of fewer steps. Stopped
        before the search began, it is that of the given labels.
    """
    start = monotonic()
    watch = np.zeros(2, np.int64) if watch is None else watch
    best = contiguous(labels)
    if len(best) < 2 * k or not (steps or seconds):
        return best
    space = space_within_range(space)
    demand = demand_of(limits)
    strip = math.ceil(max(STRIP, len(best)) * min(1.0, USUAL_K / k) ** 2)
    most = max(LARGEST * k, int(np.bincount(best).max())) if demand is not NO_DEMAND else 2 * k - 1
    budget = _Budget(steps, None if seconds is None else start + seconds, start)
    with until(math.inf if budget.end is None else budget.end, watch) as flag:
        near, local = neighbour_lists(embedded(space), k, flag)
        if len(space.weights):
            local = (
                local * space.weights
            )  # as changes of the loss are; the mean weight for all ended 0.3 to 1.3 % higher
        whole = Region(space, demand, near, local, strip)
        if flag[1] != 0:
            return best
        spread = max(float(group_losses(space, k, np.zeros_like(best)).sum()), np.finfo(float).tiny)
        for lap, cooling in enumerate(coolings()):
            best = _cooled(whole, (k, most), best, cooling, budget, (seed, lap), flag, searches)
            flag[0] = int(len(best) * budget.used(monotonic()))
            if len(flag) > 2:
                flag[2] = int(1e6 * group_losses(space, k, best).sum() / spread)
            if budget.spent(whole.strip) or flag[1] != 0:
                break
    return best


def demand_of(limits: Limits | None) -> Demand:
    """Return limits as kernels take them."""
    if limits is None or not limits.any:
        return NO_DEMAND
    wanted = NO_DEMAND[1] if limits.l is None else limits.l
    attributes = attributes_of(limits.secrets, limits.whole, limits.units)
    return attributes, wanted, math.inf if limits.t is None else limits.t


class _Budget:
    """Steps that are left, or a point in time."""

    def __init__(self, steps: int | None, end: float | None, start: float) -> None:
        self.steps, self.end, self.start, self.left = steps, end, start, steps or 0

    def spent(self, strip: int) -> bool:
        """Whether not even a strip of so many steps can be made."""
        return self.left < strip if self.end is None else monotonic() >= self.end

    def used(self, now: float) -> float:
        """Return which share is used."""
        if self.end is None:
            return 1.0 - self.left / (self.steps or 1)
        return min((now - self.start) / (self.end - self.start), 1.0)

    def share_out(self, strips: Sequence[int], sizes: Sequence[int]) -> list[int]:
        """Return how many of the strips that searches want there are steps for.

        The first are served first, and none after one that lacks steps: with more steps none may get fewer strips.
        """
        if self.end is not None:
            return list(strips)
        served = []
        for wanted, size in zip(strips, sizes, strict=True):
            served.append(min(wanted, self.left // size))
            self.left = self.left - served[-1] * size if served[-1] == wanted else 0
        return served


def _cooled(
    whole: Region,
    sizes: tuple[int, int],
    labels: Integers,
    cooling: Cooling,
    budget: _Budget,
    seed: tuple[int, int],
    watch: Integers,
    searches: int,
) -> Integers:
    """Take a partition through a cooling: by searches side by side, or region by region.

    If steps run out, the best that searches met is returned; it is crossed with what was there only where they came to
    their end. Otherwise more steps could end worse.
    """
    n = len(labels)
    regional = n > WHOLE
    parts = [np.arange(n)] * searches
    if regional:
        parts = regions(embedded(whole.space), labels, REGION, SHARES[seed[1] % len(SHARES)])
    pieces = [whole.of(records) for records in parts] if regional else [whole] * searches
    strips = [cooling.strips] * len(pieces)
    quota = budget.share_out(strips, [piece.strip for piece in pieces])
    left = math.inf if budget.end is None else budget.end - monotonic()
    clock = Clock(left, n, searches)

    def search(at: int) -> Found:
        own = contiguous(labels[parts[at]])
        seconds = clock.take(len(own)) if regional else max(left, 1e-3)
        return _searched(pieces[at], sizes, own, cooling, quota[at], (*seed, at), seconds, watch)

    with ThreadPoolExecutor(searches) as pool:
        found = list(pool.map(search, range(len(pieces))))
    if not regional:
        return _combined(whole.space, sizes[0], labels, found, complete=quota == strips)
    joined, groups = np.empty(n, np.int64), 0
    for at, records in enumerate(parts):
        own = contiguous(labels[records])
        piece = _combined(pieces[at].space, sizes[0], own, [found[at]], complete=quota[at] == strips[at])
        joined[records] = piece + groups
        groups += int(piece.max()) + 1
    return joined


def _combined(space: EncodedMatrix, k: int, labels: Integers, found: Sequence[Found], *, complete: bool) -> Integers:
    """Combine what searches found with the partition that they began with."""
    if not complete:
        best = min(found, key=lambda each: each.loss)
        return best.best if best.loss < group_losses(space, k, labels).sum() else labels
    for other in (partition for each in found for partition in (each.best, each.last)):
        labels = cross_by(group_losses(space, k, labels), labels, group_losses(space, k, other), other)
    return labels


def _searched(
    region: Region,
    sizes: tuple[int, int],
    labels: Integers,
    cooling: Cooling,
    strips: int,
    seed: tuple[int, ...],
    seconds: float,
    watch: Integers,
) -> Found:
    """Take a partition through the strips of a cooling, up to the number that there are steps for.

    The temperature falls with the strips, or with the seconds gone, whichever are nearer to their end.
    """
    best, least = labels, float(group_losses(region.space, sizes[0], labels).sum())
    current = labels
    state = np.random.default_rng(seed).integers(1, 2**63, 1, dtype=np.uint64)
    start, at, gone = monotonic(), 0, 0.0
    while at < strips and watch[1] == 0 and gone < 1:
        current = contiguous(current)
        temperature = cooling.temperature(gone)
        run = region.space, region.demand, sizes, region.near, region.local, temperature, region.strip
        _, loss = anneal_mixed(*run, state, current, watch)
        at += 1
        gone = max(at / cooling.strips, (monotonic() - start) / seconds)
        if loss < least:
            best, least = contiguous(current), loss
    return Found(best, least, contiguous(current), at)


def embedded(space: EncodedMatrix) -> Floats:
    """Return points whose squared distances are about those of the records: where neighbours are looked for.

    A category is a column of its own, and so is a missing value; the categories of an attribute beyond the most
    frequent ones share one. A missing number or level is in the middle of the others.
    """
    columns = []
    for j, kind in enumerate(space.kinds):
        values = space.values[:, j]
        missing = np.isnan(values)
        if kind == MODE:
            columns += _indicators(np.where(missing, -1, values).astype(np.int64), space.apart[j] / 2)
            continue
        known = values[~missing]
        middle = float(known.mean() if kind == MEAN else np.median(known)) if len(known) else 0.0
        columns.append(np.where(missing, middle, values))
        if missing.any():
            columns.append(missing * math.sqrt(space.apart[j]))
    return np.column_stack(columns)


def _indicators(codes: Integers, half: float) -> list[Floats]:
    """Return a column for each of the frequent categories; records of two of them are twice `half` apart."""
    categories, counts = np.unique(codes, return_counts=True)
    frequent = categories[np.argsort(-counts, kind="stable")[:CATEGORIES]]
    columns = [np.where(codes == category, math.sqrt(half), 0.0) for category in np.sort(frequent)]
    if len(categories) > len(frequent):
        columns.append(np.where(np.isin(codes, frequent), 0.0, math.sqrt(half)))
    return columns

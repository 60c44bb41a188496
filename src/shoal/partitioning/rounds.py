"""One round of refinement: searches of the whole file side by side, or of its regions.

A round takes a partition along one leg of a cooling. Kernels release Python's lock, so that threads run at once; what
they find depends on the numbers drawn for them, never on how many of them run or in which order.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels.anneal import anneal, descend
from shoal.kernels.refine import grouped, recentre
from shoal.partitioning.numbering import contiguous
from shoal.partitioning.regions import regions, within

Labels = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.float64]
Lists = npt.NDArray[np.int32]

COLD = 0.03  # where a cooling ends, in units of `Land.local`
STRIP = 16_384  # proposals at one temperature, and between two looks at the clock: some milliseconds
STRIPS = 50  # in a leg at least, if it is counted in proposals
ANNEALING = 0.9  # of a leg's seconds; the rest is for the descent at its end
REGION = 8_192  # records in a region: what fits into a core's own cache
SHARES = (0.5, 0.38, 0.62, 0.44, 0.56, 0.33)  # where regions are cut, in turn


class Land(NamedTuple):
    """What a search runs on: records, their neighbours, and the squared distance that is usual around each."""

    X: Matrix
    near: Lists
    local: Matrix


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


DESCENT_UP_TO = 15  # k: a descent looks at all pairs of neighbouring groups, and takes long where they are large


def search_side_by_side(
    land: Land, k: int, labels: Labels, leg: Leg, seed: tuple[int, int], searches: int, watch: Labels
) -> tuple[list[Labels], int]:
    """Take a partition along a leg by several searches; return what each finds, and their proposals in all."""
    part = leg.of(1 / searches, 1)

    def search(at: int) -> tuple[Labels, int]:
        return cooled(land, k, labels, part, (*seed, at), watch)

    with ThreadPoolExecutor(searches) as pool:
        results = list(pool.map(search, range(searches)))
    return [found for found, _ in results], sum(made for _, made in results)


def search_regions(
    land: Land, k: int, labels: Labels, leg: Leg, seed: tuple[int, int], threads: int, watch: Labels
) -> tuple[list[Labels], int]:
    """Take a partition along a leg region by region; return the one it becomes, and the proposals in all.

    The second number of the seed is that of the round, and decides where regions are cut.
    """
    n = len(labels)
    parts = regions(land.X, labels, REGION, SHARES[seed[1] % len(SHARES)])

    def search(at: int) -> tuple[Labels, int]:
        records = parts[at]
        piece = Land(land.X[records], within(records, land.near), land.local[records])
        share = len(records) / n
        return cooled(piece, k, contiguous(labels[records]), leg.of(share, threads * share), (*seed, at), watch)

    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(search, range(len(parts))))
    whole, groups = np.empty(n, np.int64), 0
    for records, (found, _) in zip(parts, results, strict=True):
        whole[records] = found + groups
        groups += int(found.max()) + 1
    return [whole], sum(made for _, made in results)


def cooled(land: Land, k: int, labels: Labels, leg: Leg, seed: tuple[int, ...], watch: Labels) -> tuple[Labels, int]:
    """Cool a partition along a leg and, if it ends cold, let it descend to a local optimum; also return the proposals.

    Centroids are computed afresh before each strip, so that rounding does not add up.
    """
    s = grouped(land.X, labels, k, int(labels.max()) + 1)
    state = np.random.default_rng(seed).integers(1, 2**63, 1, dtype=np.uint64)
    start, made, gone = monotonic(), 0, 0.0
    while gone < 1 and watch[1] == 0:
        strip = STRIP if leg.steps is None else min(STRIP, math.ceil(leg.steps / STRIPS), math.ceil(leg.steps) - made)
        recentre(s)
        anneal(s, land.near, land.local, leg.hot * (leg.cold / leg.hot) ** gone, strip, state, watch)
        made += strip
        if leg.steps is not None:
            gone = made / leg.steps  # at the last strip, 1 or a little more
        elif leg.seconds is not None:
            gone = (monotonic() - start) / (leg.seconds * ANNEALING)
    if leg.cold <= COLD and k <= DESCENT_UP_TO:
        recentre(s)
        descend(s, land.near, land.local, np.ones(len(labels), np.bool_), watch)
    return contiguous(s.label), made

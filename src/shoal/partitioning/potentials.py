"""Lower bounds from dual values of records, found without a linear program.

In the set-partitioning model of microaggregation every group of k to 2k - 1 records has a variable and every record a
dual value. Dual values of which no group has more than its SSE add up to a lower bound on the SSE of every partition.

- *Shares* share the squared distance of every pair out between its two records. A subgradient method finds a division
  at which the least that each record could take adds up to much (`matched_shares`).
- *Potentials* p_i give the dual values p_i + min over G with i of (SSE(G) - p(G)) / |G|, whatever p is; their sum is at
  most that of the linear relaxation, and reaches it. They are raised from the shares along a subgradient, looking at
  groups of near neighbours only. Pricing then searches among all groups, so that the bound holds for all of them; the
  groups that it finds to cost less than their dual values are kept, and so on (`raised`).

References
----------
.. [1] M. Held, P. Wolfe and H. P. Crowder, "Validation of subgradient optimization", Mathematical Programming 6 (1974)
   62-88.
.. [2] F. Barahona and R. Anbil, "The volume algorithm: producing primal solutions with a subgradient method",
   Mathematical Programming 87 (2000) 385-399 (subgradients in place of column generation for set partitioning).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shoal.kernels.matching_bound import matching_shares
from shoal.kernels.potentials import raise_potentials
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.column_generation import MARGIN, dual_bound, search
from shoal.partitioning.neighbours import neighbours
from shoal.partitioning.set_partitioning import Groups, joined

# Shares: neighbours listed for k = 1; steps and their lengths, fewer from so many pairs on. More neighbours or steps
# gain less than half a percent.
PAIRED, PAIRED_LARGE, SMALL = 6, 4, 5_000
MATCHING = 300, 16.0, 0.1
MANY_PAIRS = 600_000
PAIRS = 6_000_000  # listed at most, 40 bytes each
# The same of the bound that every release has: a tenth of the time, and one or two percent lower.
QUICK_MATCHING = 30, 16.0, 0.5
QUICK_PAIRS = 800_000  # a second

# Potentials: steps and their lengths at first; steps after every pricing, the length of the first of them, and what is
# left of that after a round and at the end of one. Groups looked at for each record in a step, and neighbours listed.
FIRST = 20, 1.0, 0.2
AGAIN, LONGEST, FALLING, LEAST = 10, 0.3, 0.8, 0.05
FEWEST, STEPPED = 5, 200_000  # steps at least, and steps of records above which there are no more
LOOKED_AT, LOOKED_AT_LARGE = 50, 20
LISTED, LISTED_TO_PRICE = 24, 100

COMPLETE_K = 6  # up to which pricing at the potentials is soon complete
BLEND, BLEND_LARGE = 0.5, 0.25  # how far from the shares to the potentials pricing begins; beyond COMPLETE_K
NODES = 2_000, 2_000_000  # of the search of pricing from one record, at first and at most
NEARLY, FAR = 0.99, 0.9  # of what is claimed, that pricing must prove to go farther; less than that is too far
ROUNDS, IDLE = 60, 4  # of pricing at most, and at the end without a gain
GAIN = 1e-4


@dataclass(frozen=True)
class DualValues:
    """Dual values of records and the bound that they prove."""

    values: Floats
    bound: float
    complete: bool  # whether more time could not raise the bound by much


@dataclass(frozen=True)
class Shares:
    """What every record adds at least to the SSE of any partition."""

    values: Floats
    # For each record, the sum of its 0, 1, ..., 2k - 2 smallest squared distances as they are shared out: the squared
    # distances within any m records are no less than the sums of m - 1 of each, halved.
    sums: Floats


def matched_shares(X: Floats, k: int, watch: Integers, *, quick: bool = False) -> Shares | None:
    """Return what every record adds at least to the SSE of any partition; None if stopped or too large."""
    n = len(X)
    wanted = min((PAIRED if n <= SMALL and not quick else PAIRED_LARGE) * k, n - 1)
    listed = wanted if quick else min(wanted, PAIRS // n)
    if listed < min(2 * k - 2, n - 1) or (quick and n * listed > QUICK_PAIRS):
        return None
    near = neighbours(X, listed, watch)
    if watch[1] != 0:
        return None
    start, other, twin, apart = paired(X, near)
    farthest = X[near[:, -1]] - X
    reach = np.einsum("ij,ij->i", farthest, farthest) if listed < n - 1 else np.full(n, np.inf)
    steps, first, last = QUICK_MATCHING if quick else MATCHING
    if not quick and n * listed > MANY_PAIRS:
        steps = max(steps * MANY_PAIRS // (n * listed), QUICK_MATCHING[0])
        last = max(last, QUICK_MATCHING[2] * QUICK_MATCHING[0] / steps)
    shares, sums = matching_shares(k, start, other, twin, apart, reach, steps, first, last, watch)
    return Shares(shares, sums) if np.isfinite(shares[0]) else None


def paired(X: Floats, near: Integers) -> tuple[Integers, Integers, Integers, Floats]:
    """List the pairs of each record with its neighbours, and with those whose neighbour it is.

    Returns
    -------
    start, other, twin, apart
        As for `shoal.kernels.matching_bound.matching_shares`.
    """
    n, m = near.shape
    record = np.repeat(np.arange(n), m)
    low, high = np.minimum(record, near.ravel()), np.maximum(record, near.ravel())
    low, high = np.divmod(np.unique(low * n + high), n)
    difference = X[low] - X[high]
    distance = np.einsum("ij,ij->i", difference, difference)
    pairs = len(low)
    order = np.argsort(np.concatenate([low, high]), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(2 * pairs)
    twin = place[(order + pairs) % (2 * pairs)]
    start = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(low, minlength=n) + np.bincount(high, minlength=n), out=start[1:])
    return start, np.concatenate([high, low])[order], twin, np.concatenate([distance, distance])[order]


def raised(
    X: Floats, k: int, shares: Shares, stop: Integers, steps: float = np.inf, tell: Callable[[float], object] = bool
) -> DualValues:
    """Raise dual values from shares, and certify them by pricing; n >= 2k.

    What is returned after ``stop[1]`` was set is valid. No further round begins once so many `steps` have been allowed:
    limited by steps alone, the result depends on nothing but the arguments. `tell` is called with every better bound.
    """
    n, own = len(X), shares.values
    best = DualValues(own, float(own.sum()) * (1 - MARGIN), complete=False)
    lists = neighbours(X, max(LISTED_TO_PRICE, k - 1), stop)
    near = np.ascontiguousarray(lists[:, : max(LISTED, k - 1)])
    scale = (own + own[near].mean(axis=1)) / 2  # a record that has equals may have no share, but a potential
    pool = Groups(np.zeros((0, 2 * k - 1), np.int64), np.zeros(0))
    most = max(STEPPED // n, FEWEST)
    potentials, ascent = own.copy(), (min(FIRST[0], most), *FIRST[1:])
    # With fewer neighbours, or fewer steps among them, no group of k could be found, and duals would be infinite.
    look = LOOKED_AT if k <= COMPLETE_K else max(LOOKED_AT_LARGE, 2 * k)
    blend = Blend(k)
    idle, allowed, last = 0, 0.0, 0.0
    threshold = -1e-6 * best.bound / n
    for finished in range(ROUNDS):
        if stop[1] != 0 or idle == IDLE or (allowed > 0 and allowed >= steps):
            break
        duals, _ = raise_potentials(
            X, k, shares.sums, near, pool.members, pool.costs, scale, potentials, *ascent, look, stop
        )
        potentials = duals.copy()
        between = own + blend.part * (duals - own)
        found, lowest = search(X, k, between, shares.sums, threshold, blend.nodes, stop, lists=lists)
        if stop[1] != 0:
            break
        allowed += n * (blend.nodes + ascent[0] * look)
        bound = dual_bound(k, between, lowest)
        idle = 0 if bound > min(best.bound, last) * (1 + GAIN) else idle + 1
        last = bound
        if bound > best.bound:
            best = DualValues(between, bound, complete=False)
            tell(bound)
        if blend.moved(bound / float(between.sum())):
            idle = 0
        pool = joined([pool, found])
        length = max(LONGEST * FALLING**finished, LEAST)
        ascent = min(AGAIN, most), length, length * FIRST[2]
    return DualValues(best.values, best.bound, complete=idle == IDLE)


class Blend:
    """How far from the shares, which are certain, to the potentials pricing is tried, and how hard.

    Far from the shares a search that is given up proves little; near to them there is little to prove.
    """

    def __init__(self, k: int) -> None:
        self.part, self.step = (BLEND, 1.0) if k <= COMPLETE_K else (BLEND_LARGE, BLEND_LARGE)
        self.nodes, self._good = NODES[0], 0.0

    def moved(self, proved: float) -> bool:
        """Go on after pricing has proved so much of what the dual values claim; return whether anything changes."""
        before = self.part, self.nodes
        if proved >= NEARLY:
            self._good = self.part
            self.part = min(self.part + self.step, 1.0)
        else:
            if proved < FAR or self.nodes >= NODES[1]:
                self.part, self.step = (self.part + self._good) / 2, self.step / 2
            self.nodes = min(4 * self.nodes, NODES[1])
        return (self.part, self.nodes) != before

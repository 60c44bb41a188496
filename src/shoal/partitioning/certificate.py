"""Lower bounds: no partition into groups of at least k has a lower sum of squared errors."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.kernels.standardize import matrix_near_one
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.column_generation import MARGIN, nearest_sums
from shoal.partitioning.methods import group_errors, order_of_rows
from shoal.partitioning.neighbours import neighbours
from shoal.partitioning.optimal_cut import univariate
from shoal.partitioning.potentials import COMPLETE_K, QUICK_PAIRS, matched_shares, raised
from shoal.partitioning.set_partitioning import stopping
from shoal.plan import Effort

# Records up to which a round of pricing takes seconds, at small and at large k
PRICED, PRICED_LARGE = 150_000, 30_000
# Up to so many columns a tree finds neighbours in seconds, whatever the number of records; with more, every record may
# be compared with all others, and so many numbers take seconds.
TREE_COLUMNS, COMPARED = 6, 2e11
LISTING = 8e-6  # seconds for each record and k that listing pairs takes, which cannot be cut short
RATIOS = 30  # steps towards the least weighted mean, of which a few are needed


@dataclass(frozen=True)
class Bound:
    """A lower bound on the SSE of any partition into groups of at least k."""

    value: float
    # Where it comes from
    how: Literal["one group", "univariate cut", "potentials", "matched pairs", "nearest neighbours"]
    # Whether more time could not raise it by much: the optimum itself for one group or one attribute, nearly the value
    # of the linear relaxation for potentials
    complete: bool


def lower_bound(X: Floats, k: int, effort: Effort | None = None, watch: Integers | None = None) -> Bound:
    """Bound the SSE of the partitions of X into groups of at least k from below.

    `effort` is the budget for raising potentials, None for no limit; in steps, the bound depends on nothing but the
    arguments. While it rises, ``watch[2]``, if there is one, has it in millionths of `spread`.

    Fewer than 2k records are one group; one attribute that varies has its optimal cut. Otherwise pairs are matched,
    where they are not too many to list, and up to `PRICED` records (`PRICED_LARGE` for k above 6) potentials are
    raised. Nearest neighbours give any number of records a bound.
    """
    steps, seconds = (np.inf if limit is None else limit for limit in effort or Effort())
    rows, peak = matrix_near_one(X)
    best = _optimum(rows, k)
    if best is None:
        best = _dual_bound(rows, k, steps, seconds, np.zeros(2, np.int64) if watch is None else watch)
    return Bound(float(np.ldexp(best.value, 2 * peak)), best.how, best.complete)


def quick_bound(X: Floats, k: int) -> Bound:
    """Bound the SSE from below at little cost, as every release does: by few steps of matching pairs, or by neighbours.

    It depends on nothing but the arguments, and not on the order of the records.
    """
    rows, peak = matrix_near_one(X[order_of_rows(X)] if len(X) * k <= QUICK_PAIRS else X)
    best = _optimum(rows, k)
    if best is None:
        best = Bound(nearest_neighbour_bound(rows, k), "nearest neighbours", complete=False)
        shares = matched_shares(rows, k, np.zeros(2, np.int64), quick=True) if k > 1 else None
        if shares is not None and math.fsum(shares.values) * (1 - MARGIN) > best.value:
            best = Bound(math.fsum(shares.values) * (1 - MARGIN), "matched pairs", complete=False)
    return Bound(float(np.ldexp(best.value, 2 * peak)), best.how, best.complete)


def is_affordable(X: Floats) -> bool:
    """Whether the neighbours of all records are found within seconds."""
    n, d = X.shape
    return bool(d <= TREE_COLUMNS or float(n) * n * d <= COMPARED)


def _optimum(X: Floats, k: int) -> Bound | None:
    """Return the least SSE where it is known: of one group, or of one attribute."""
    varying = X[:, X.min(axis=0) < X.max(axis=0)]
    if len(X) < 2 * k or varying.shape[1] == 0:
        return Bound(squared_error(X, np.zeros(len(X), np.int64)), "one group", complete=True)
    if varying.shape[1] == 1:
        return Bound(squared_error(varying, univariate(varying, k)), "univariate cut", complete=True)
    return None


def _dual_bound(X: Floats, k: int, steps: float, seconds: float, watch: Integers) -> Bound:
    """Return the best of the bounds that a sum over records proves, each better and slower than the one before."""
    with stopping(seconds, watch) as stop:
        best = Bound(nearest_neighbour_bound(X, k, watch), "nearest neighbours", complete=False)
        total = spread(X)

        def tell(bound: float) -> None:
            if len(watch) > 2 and total > 0:
                watch[2] = round(1e6 * bound / total)

        tell(best.value)
        affordable = k > 1 and stop[1] == 0 and seconds > LISTING * k * len(X)
        shares = matched_shares(X, k, stop) if affordable else None
        if shares is None:
            return best
        if shares.values.sum() * (1 - MARGIN) > best.value:
            best = Bound(float(shares.values.sum()) * (1 - MARGIN), "matched pairs", complete=False)
            tell(best.value)
        if len(X) <= (PRICED if k <= COMPLETE_K else PRICED_LARGE) and best.value > 0 and stop[1] == 0:
            potentials = raised(X, k, shares, stop, steps, tell)
            if potentials.bound > best.value:
                best = Bound(potentials.bound, "potentials", potentials.complete)
    return best


def spread(X: Floats) -> float:
    """Return the SSE of all records in one group."""
    return float(((X - X.mean(axis=0)) ** 2).sum())


def squared_error(X: Floats, labels: Integers) -> float:
    """Return the SSE of a partition, less what rounding may have added."""
    origin = np.empty((int(labels.max()) + 1, X.shape[1]))
    origin[labels] = X  # any member: no digits are lost to a large offset, and the error of equal records is exactly 0
    return float(group_errors(X - origin[labels], labels).sum()) * (1 - MARGIN)


def nearest_neighbour_bound(X: Floats, k: int, watch: Integers | None = None) -> float:
    """Bound the SSE by what every record adds at least: the distances to its k - 1 nearest records, divided by 2k.

    The SSE of a group of m is the sum over its members i of s_i = (1 / 2m) sum of the squared distances from i to the
    members. There are m - 1 others, no nearer than the m - 1 nearest records anywhere. So s_i is at least half the mean
    of the m smallest squared distances from i, its own of zero among them; that mean does not fall as m grows, and
    m >= k. O(n log n) with a k-d tree.
    """
    sums = nearest_sums(X, k - 1, watch)
    if watch is not None and watch[1] != 0:
        return 0.0  # the lists of neighbours are not complete
    return math.fsum(sums[:, k - 1]) / (2 * k) * (1 - MARGIN)


def weighted_bound(X: Floats, k: int, weights: Floats) -> Bound:
    """Bound the SSE of records that count by their weights, of groups of at least k records, by nearest neighbours.

    The SSE of a group of total weight W is the sum over its members i of (w_i / 2) times the mean of the squared
    distances from i to all members, weighted by w_j / W. That mean is at least r_i, the least over all sets S of at
    least k - 1 others. It is found by Dinkelbach's method [1]_: given r, the S that minimizes the sum over S of
    w_j (d_ij^2 - r) has a lower weighted mean unless r is the least. Records that are not among the neighbours listed
    are no nearer than the last of them, and may have the least weight there is.

    References
    ----------
    .. [1] W. Dinkelbach, "On nonlinear fractional programming", Management Science 13 (1967) 492-498.
    """
    n = len(X)
    rows, peak = matrix_near_one(X)
    near = neighbours(rows, min(2 * k, n - 1))
    apart = np.empty((n, near.shape[1] + k - 1))
    for j, other in enumerate(near.T):
        apart[:, j] = np.einsum("ij,ij->i", *2 * [rows[other] - rows])
    apart[:, near.shape[1] :] = apart[:, [near.shape[1] - 1]]
    theirs = np.hstack([weights[near], np.full((n, k - 1), weights.min())])
    ratio = np.full(n, np.inf)
    lower = apart[:, k - 1]  # no mean of the nearest is above it
    for _ in range(RATIOS):
        if not (lower < ratio).any():
            break
        ratio = np.minimum(lower, ratio)
        lower, _ = _weighted_mean(apart, theirs, weights, ratio, k)
    ratio = ratio * (1 - MARGIN)
    _, slack = _weighted_mean(apart, theirs, weights, ratio, k)
    value = math.fsum(np.where(slack >= 0, ratio * weights, 0.0)) / 2 * (1 - MARGIN)
    return Bound(float(np.ldexp(value, 2 * peak)), "nearest neighbours", complete=False)


def _weighted_mean(apart: Floats, theirs: Floats, own: Floats, ratio: Floats, k: int) -> tuple[Floats, Floats]:
    """Return the weighted mean over the best set of others at some ratio, and by how much the ratio is below the least.

    The latter is in units of weight times squared distance; it is negative where the ratio is above.
    """
    gain = theirs * (apart - ratio[:, None])
    rank = np.argsort(np.argsort(gain, axis=1, kind="stable"), axis=1, kind="stable")
    taken = (rank < k - 1) | (gain < 0)
    total = own + np.where(taken, theirs, 0.0).sum(axis=1)
    mean = np.where(taken, theirs * apart, 0.0).sum(axis=1) / np.maximum(total, np.finfo(float).tiny)
    return mean, np.where(taken, gain, 0.0).sum(axis=1) - ratio * own

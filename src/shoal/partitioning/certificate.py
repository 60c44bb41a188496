"""Lower bounds: no partition into groups of at least k has a lower sum of squared errors."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.kernels.standardize import matrix_near_one
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.column_generation import MARGIN, nearest_sums
from shoal.partitioning.methods import group_errors
from shoal.partitioning.optimal_cut import univariate
from shoal.partitioning.potentials import matched_shares, raised
from shoal.partitioning.set_partitioning import stopping
from shoal.plan import Effort

PRICED = 30_000  # records up to which a round of pricing, O(n^2 d), takes seconds


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
    arguments.

    Fewer than 2k records are one group; one attribute that varies has its optimal cut. Otherwise pairs are matched,
    where they are not too many to list, and up to `PRICED` records potentials are raised. Nearest neighbours give any
    number of records a bound.
    """
    n = len(X)
    steps, seconds = (np.inf if limit is None else limit for limit in effort or Effort())
    rows, peak = matrix_near_one(X)
    varying = rows[:, rows.min(axis=0) < rows.max(axis=0)]
    if n < 2 * k or varying.shape[1] == 0:
        best = Bound(squared_error(rows, np.zeros(n, np.int64)), "one group", complete=True)
    elif varying.shape[1] == 1:
        best = Bound(squared_error(varying, univariate(varying, k)), "univariate cut", complete=True)
    else:
        watch = np.zeros(2, np.int64) if watch is None else watch
        best = _dual_bound(rows, k, steps, seconds, watch)
    return Bound(float(np.ldexp(best.value, 2 * peak)), best.how, best.complete)


def _dual_bound(X: Floats, k: int, steps: float, seconds: float, watch: Integers) -> Bound:
    """Return the best of the bounds that a sum over records proves, each better and slower than the one before."""
    with stopping(seconds, watch) as stop:
        best = Bound(nearest_neighbour_bound(X, k, watch), "nearest neighbours", complete=False)
        shares = matched_shares(X, k, stop) if k > 1 and stop[1] == 0 else None
        if shares is None:
            return best
        if shares.sum() * (1 - MARGIN) > best.value:
            best = Bound(float(shares.sum()) * (1 - MARGIN), "matched pairs", complete=False)
        if len(X) <= PRICED and best.value > 0 and stop[1] == 0:
            potentials = raised(X, k, shares, stop, steps)
            if potentials.bound > best.value:
                best = Bound(potentials.bound, "potentials", potentials.complete)
    return best


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
    return float(sums[:, k - 1].sum() / (2 * k) * (1 - MARGIN))

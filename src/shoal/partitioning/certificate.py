"""Lower bounds: no partition into groups of at least k has a lower sum of squared errors."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.kernels.standardize import matrix_near_one
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.column_generation import MARGIN, column_generation, nearest_sums
from shoal.partitioning.mdav import mdav
from shoal.partitioning.methods import group_errors
from shoal.partitioning.optimal_cut import univariate
from shoal.plan import Effort

PRICED = 20_000  # records up to which every round of pricing, O(n^2 d), takes seconds at most


@dataclass(frozen=True)
class Bound:
    """A lower bound on the SSE of any partition into groups of at least k."""

    value: float
    how: Literal["one group", "univariate cut", "column generation", "nearest neighbours"]  # where it comes from
    # Whether it is the best of its kind: the optimum itself for one group or one attribute, the value of the linear
    # relaxation for column generation. More time cannot raise it
    complete: bool


def lower_bound(
    X: Floats, k: int, effort: Effort | None = None, start: Integers | None = None, watch: Integers | None = None
) -> Bound:
    """Bound the SSE of the partitions of X into groups of at least k from below.

    `effort` is the budget of column generation, None for no limit; in steps, the bound depends on nothing but the
    arguments. `start` is a good partition into groups of k to 2k - 1, which makes it faster; MDAV's if None.

    Fewer than 2k records are one group; one attribute that varies has its optimal cut. Otherwise, up to `PRICED`
    records, column generation is given its budget. What it has reached is compared with the bound by nearest
    neighbours, which any number of records has.
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
        best = Bound(nearest_neighbour_bound(rows, k, watch), "nearest neighbours", complete=False)
        if n <= PRICED and (watch is None or watch[1] == 0):
            first = mdav(rows, k) if start is None else start
            columns = column_generation(rows, k, first, seconds, watch, steps)
            if columns.bound > best.value or columns.complete:
                best = Bound(columns.bound, "column generation", columns.complete)
    return Bound(float(np.ldexp(best.value, 2 * peak)), best.how, best.complete)


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

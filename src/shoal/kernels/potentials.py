"""Potentials of records, raised until no group near a record costs less than the potentials of its members."""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.types import Floats, Integers


def raise_potentials(
    X: Floats, k: int, near: Floats, lists: Integers, pool: Integers, pool_costs: Floats, scale: Floats,
    potentials: Floats, steps: int, first_step: float, last_step: float, limit: int, watch: Integers,
) -> tuple[Floats, float]:  # fmt: skip
    """Move potentials p along a subgradient; return dual values that every group met can bear, and their sum.

    The dual value of record i is p_i plus the least (SSE(G) - p(G)) / |G| of the groups G with it that were met: those
    of `pool`, one a row that ends in -1, with their SSE, and those that a depth-first search among its neighbours
    (``lists[i]``, -1 where there are fewer) finds within `limit` groups and parts of groups. A group that is found
    counts for all its members. The subgradient of the sum for p_j is 1 less 1 / |G_i| for every record i whose least
    group G_i has j in it; a step is that times ``scale[j]`` and a length that falls geometrically.

    ``near[x, q]`` is the sum of the q smallest squared distances from x to others, q = 0..2k-2. `potentials` is
    changed.
    """
    duals = np.zeros(len(X))
    value = _native.raise_potentials(
        X, k, near, lists, pool, pool_costs, scale, steps, first_step, last_step, limit, watch, potentials, duals
    )
    return duals, value

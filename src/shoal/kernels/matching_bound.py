"""What every record adds at least to the squared error of any partition, when pairs are shared out at best."""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.types import Floats, Integers


def matching_shares(
    k: int, start: Integers, other: Integers, twin: Integers, apart: Floats, reach: Floats, steps: int,
    first_step: float, last_step: float, watch: Integers,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return a share for every record, and sums over its pairs; no partition has an SSE below the sum of all shares.

    Groups have at least k records. With d_ij the distance of two records and numbers mu_ij = -mu_ji, which cancel in
    pairs, the SSE of a group G of m is

        sum over i in G of (1 / 2m) sum over j in G of (d_ij^2 + mu_ij),

    so that record i adds at least the least, over m = k..2k-1, of (1 / 2m) times the m - 1 smallest d_ij^2 + mu_ij. The
    mu_ij are raised along the subgradient of the sum of these shares, with steps that fall geometrically.

    The pairs of record i are ``start[i]..start[i + 1]``: the `other` record, the place of the same pair among those of
    the other (`twin`) and the squared distance `apart`. Pairs that are not listed have mu_ij = 0 and are no nearer than
    ``reach[i]``. ``sums[i, q]`` is the sum of the q smallest d_ij^2 + mu_ij of i, q = 0..2k-2. All shares are -inf if
    `watch` stops it before the first step.
    """
    shares, sums = np.full(len(reach), -np.inf), np.zeros((len(reach), 2 * k - 1))
    _native.matching_shares(k, start, other, twin, apart, reach, steps, first_step, last_step, watch, shares, sums)
    return shares, sums

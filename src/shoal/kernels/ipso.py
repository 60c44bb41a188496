"""Kernels of hybrid data: synthetic values for the records of one group after the other.

Nothing is inverted and nothing is factored by Cholesky: whatever is constant or collinear inside a group only makes a
basis shorter.
"""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.stop import stoppable
from shoal.kernels.types import Floats, Integers

# At a record with less room than this, a residual is less than a thousandth of what it is in all.
LEAST_ROOM = 1e-6


def synthesise(
    X: Floats, Y: Floats, noise: Floats, order: Integers, starts: Integers, orthogonal: bool = False
) -> tuple[Floats, Floats, Floats]:
    """IPSO group by group: return X', the room of each record, and what Y leaves of the variance of its group.

    ``order[starts[g]:starts[g + 1]]`` are the members of group g; all records are in a group. Each record brings its
    own row of `noise`, so that the result for a group depends on nothing but its members. Noise is regressed on Y and,
    if it must be `orthogonal` to the original residuals, on X as well. The room of a record is 1 less its leverage in
    that regression: the share of a residual's variance that a synthetic one can have there. What Y leaves is 1 less R
    squared, for each attribute; NaN if it is constant in the group.
    """
    values, room, left = np.empty(X.shape), np.empty(len(X)), np.empty(X.shape)
    X, Y, noise = (np.ascontiguousarray(each) for each in (X, Y, noise))
    with stoppable() as watch:
        _native.synthesise(X, Y, noise, order, starts, orthogonal, watch, values, room, left)
    return values, room, left

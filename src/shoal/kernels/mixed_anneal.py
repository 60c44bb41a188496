"""Annealing a partition of records with attributes of every type, within limits on confidential attributes.

The changes are those of `shoal.kernels.anneal`, and a group may be split. What falls or rises is the loss that is
reported: the sum of the squared distances, as in `EncodedMatrix`, of the records to what they publish.
"""

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.diversity import Attributes
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.l_diversity import SLACK, LDiversity
from shoal.kernels.types import Floats, Integers

# Nothing is confidential.
NO_ATTRIBUTES = Attributes(
    np.empty((0, 0), np.int64),
    np.empty(0, np.int64),
    np.zeros(1, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.bool_),
)


def anneal_mixed(
    space: EncodedMatrix,
    limits: tuple[Attributes, LDiversity, float],
    sizes: tuple[int, int],
    near: NDArray[np.int32],
    local: Floats,
    temperature: float,
    steps: int,
    state: NDArray[np.uint64],
    labels: Integers,
    watch: Integers,
) -> tuple[float, float]:
    """Propose as many changes as there are steps; return the change of the loss, and the loss computed afresh.

    `labels` number groups without a gap, and are changed. Groups have at least the first of the `sizes`, k, and grow to
    the second at most. The `limits` are confidential attributes, their l (0 for none) and their t (infinite for none):
    groups satisfy them, and go on doing so. Temperature and `local` are as for `shoal.kernels.anneal.anneal`.
    """
    attributes, wanted, t = limits
    return _native.anneal_mixed(
        space, attributes, wanted, SLACK, t, *sizes, near, local, temperature, steps, state, labels, watch
    )


def group_losses(space: EncodedMatrix, k: int, labels: Integers) -> Floats:
    """Return the loss of each group: the sum of the squared distances of its records to what they publish.

    That is the mean, the lower or convex median or the mode of the values known, as the attribute has it, and nothing
    where fewer than k are known, or more are missing than known. Labels number groups without a gap.
    """
    losses = np.zeros(int(labels.max()) + 1)
    _native.group_losses(space, k, labels, losses)
    return losses

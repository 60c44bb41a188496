"""Two ways down from a partition: straight to the next local optimum, and by annealing.

Both weigh the same changes: a record moves to the group of a neighbour, or changes places with a member of it; a group
is dissolved; a group is formed of what others can spare, or of a record and its nearest with all that follows; two
groups are merged and split again.
``near[i]`` are the neighbours of record i; the record itself fills up a list that is too short.
"""

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.refine import Grouping
from shoal.kernels.types import Floats, Integers


def anneal(
    s: Grouping,
    near: NDArray[np.int32],
    local: Floats,
    temperature: float,
    steps: int,
    state: NDArray[np.uint64],
    watch: Integers,
) -> float:
    """Propose as many changes as there are steps and accept each by the rule of Metropolis; return the error's change.

    A rise of the error by h is accepted with probability exp(-h / temperature), the temperature in units of
    ``local[i]``, a squared distance that is usual around record i.
    """
    return _native.anneal(s, near, local, temperature, steps, state, watch)


def descend(s: Grouping, near: NDArray[np.int32], local: Floats, awake: NDArray[np.bool_], watch: Integers) -> float:
    """Improve around every record that is awake, and so on; return what the error changes by.

    A record falls asleep where nothing around it lowers the error, and wakes when its group is changed (the don't-look
    bits of Bentley 1992).
    """
    return _native.descend(s, near, local, awake, watch)

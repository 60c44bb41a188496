"""V-MDAV: MDAV with groups of variable size."""

import numpy as np

from shoal.kernels.types import Floats, Integers
from shoal.kernels.vmdav import vmdav_tree
from shoal.partitioning.mdav import within_range


def vmdav(X: Floats, k: int, gain: float = 0.2, watch: Integers | None = None) -> Integers:
    """Partition records by V-MDAV [1]_: groups of k to 2k - 1, larger where the data are clustered.

    `gain` is how readily groups grow: 0 never, 0.2 for scattered data, 1.1 for clustered data.

    The centroid of all records is computed once. While k or more records are left, the one farthest from the centroid
    and its k - 1 nearest form a group. It then takes in the record nearest to any of its members, up to 2k - 1 in all,
    as long as ``d_in < gain * d_out``: its distance to the group against its distance to the nearest other left.
    The fewer than k records that remain join the group with the nearest mean. Ties go to the lowest record index.

    References
    ----------
    .. [1] A. Solanas and A. Martínez-Ballesté, "V-MDAV: a multivariate microaggregation with variable group size",
       COMPSTAT 2006.
    """
    if watch is None:
        watch = np.zeros(2, np.int64)
    labels: Integers = vmdav_tree(within_range(X), k, gain, watch)
    return labels

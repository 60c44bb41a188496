"""The nearest neighbours of every record: where tours and refinement look for what may be joined."""

import numpy as np

from shoal.kernels.kd_nearest import nearest_points
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.mdav import within_range


def neighbours(X: Floats, m: int, watch: Integers | None = None) -> Integers:
    """Find the m records nearest to each, the nearest first, never the record itself; ties go to the lowest index.

    Once stopped, lists that are missing have -1 in them.
    """
    n = len(X)
    m = min(m, n - 1)
    rows = within_range(X)
    watch = np.zeros(2, np.int64) if watch is None else watch
    found = nearest_points(rows, rows, np.arange(n), m + 1, watch)
    if watch[1] != 0:
        return np.ascontiguousarray(found[:, :m])
    # Among equal records a record need not come first, or be there at all: it is dropped by its index, else the last.
    own = found == np.arange(n)[:, None]
    own[~own.any(axis=1), m] = True
    return np.ascontiguousarray(found[~own].reshape(n, m))

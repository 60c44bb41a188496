"""The nearest neighbours of every record: where tours and refinement look for what may be joined."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from shoal.kernels.kd_nearest import nearest_points
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.mdav import within_range

THREADS, SIDE_BY_SIDE = 2, 50_000  # threads, each with a tree of its own, from so many records on


def neighbours(X: Floats, m: int, watch: Integers | None = None) -> Integers:
    """Find the m records nearest to each, the nearest first, never the record itself; ties go to the lowest index.

    Once stopped, lists that are missing have -1 in them.
    """
    n = len(X)
    m = min(m, n - 1)
    rows = within_range(X)
    watch = np.zeros(2, np.int64) if watch is None else watch
    everyone = np.arange(n)
    found = np.empty((n, m + 1), np.int64)

    def search(asked: Integers) -> None:
        found[asked] = nearest_points(rows, rows[asked], asked, m + 1, watch)

    parts = np.array_split(everyone, THREADS if n >= SIDE_BY_SIDE else 1)
    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(search, parts))
    if watch[1] != 0:
        return np.ascontiguousarray(found[:, :m])
    # Among equal records a record need not come first, or be there at all: it is dropped by its index, else the last.
    own = found == np.arange(n)[:, None]
    own[~own.any(axis=1), m] = True
    return np.ascontiguousarray(found[~own].reshape(n, m))

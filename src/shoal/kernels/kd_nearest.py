"""The points nearest to some others, found in a k-d tree; ties go to the lowest index."""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.stop import stoppable
from shoal.kernels.types import Floats, Integers


def nearest_points(points: Floats, asked: Floats, begin: Integers, m: int, watch: Integers) -> Integers:
    """Return the m points nearest to each row of `asked`, in order; -1 where there are fewer.

    ``begin[i]`` is a point from which the search for row i starts: the nearer it is, the sooner the search ends.
    """
    found = np.empty((len(asked), m), np.int64)
    _native.nearest_points(points, asked, begin, watch, found)
    return found


def fuse_small(centroids: Floats, counts: Integers, k: int) -> Integers:
    """Fuse leaves of fewer than k records, in their order, with the one of the nearest centroid that is still there.

    Return for each leaf the one that it ends up in. One pass will do: a leaf that came before and is still there has k.
    """
    block = np.empty(len(centroids), np.int64)
    with stoppable() as watch:
        _native.fuse_small(centroids, counts, k, watch, block)
    return block

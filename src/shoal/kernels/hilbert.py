"""Places of points along a Hilbert curve of any number of dimensions."""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.stop import stoppable
from shoal.kernels.types import Integers


def hilbert_places(cells: Integers, bits: int) -> Integers:
    """Return the place of each cell (a row of coordinates of so many bits) along the curve, 62 bits to a column [1]_.

    The first column holds the highest bits.

    References
    ----------
    .. [1] J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004) 381-387.
    """
    n, d = cells.shape
    places = np.empty((n, -(-bits * d // 62)), np.int64)
    with stoppable() as watch:
        _native.hilbert_places(cells, bits, watch, places)
    return places

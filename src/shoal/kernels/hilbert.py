"""Places of points along a Hilbert curve of any number of dimensions."""

import numpy as np
from numba import njit

from shoal.kernels.types import Integers


@njit(cache=True, nogil=True)
def transpose(axes: Integers, bits: int) -> None:
    """Turn the coordinates of a point, of so many bits each, into its place on the Hilbert curve, in place.

    Skilling's AxestoTranspose: the bits of the place, from the highest, are bit b - 1 of all coordinates in turn, then
    bit b - 2 of all, and so on (J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707, 2004).
    """
    d = axes.shape[0]
    q = 1 << (bits - 1)
    while q > 1:  # undo the turns of the cubes within cubes, from the largest
        for j in range(d):
            if axes[j] & q:
                axes[0] ^= q - 1
            else:
                swap = (axes[0] ^ axes[j]) & (q - 1)
                axes[0] ^= swap
                axes[j] ^= swap
        q >>= 1
    for j in range(1, d):  # Gray encoding
        axes[j] ^= axes[j - 1]
    flip = 0
    q = 1 << (bits - 1)
    while q > 1:
        if axes[d - 1] & q:
            flip ^= q - 1
        q >>= 1
    for j in range(d):
        axes[j] ^= flip


@njit(cache=True, nogil=True)
def hilbert_places(cells: Integers, bits: int) -> Integers:
    """Return the place of each cell (a row of coordinates of so many bits) along the curve, 62 bits to a column.

    The first column holds the highest bits.
    """
    n, d = cells.shape
    places = np.zeros((n, -(-bits * d // 62)), np.int64)
    axes = np.empty(d, np.int64)
    for i in range(n):
        for j in range(d):
            axes[j] = cells[i, j]
        transpose(axes, bits)
        for at in range(bits * d):
            bit = (axes[at % d] >> (bits - 1 - at // d)) & 1
            places[i, at // 62] = places[i, at // 62] * 2 + bit
    return places

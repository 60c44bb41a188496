"""Sums of float64 that are exact, also after any number of subtractions.

A double is a 53-bit integer times a power of two, so a sum of doubles is one long integer. It is kept here as digits of
32 bits in int64 chunks, one row an attribute; the upper half of a chunk takes 2^30 additions before it overflows. A
record leaves the sum without leaving a trace of rounding behind, so that a running mean equals a fresh one for ever.
"""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.stop import stoppable
from shoal.kernels.types import Floats, Integers

# Of numbers near one, so that 36 digits of 32 bits hold any sum of them.
DIGITS = 36
UNIT = 1 << 1074  # a sum of doubles is a whole number of such parts


def sum_of(bits: Integers, first: int, digits: int) -> Integers:
    """Return the sum of all records, given as the bits of their values."""
    total = np.zeros((bits.shape[1], digits), np.int64)
    _native.sum_of(bits, first, total)
    return total


def sum_of_products(Z: Floats, digits: int) -> Integers:
    """Return the sums of products of columns, a row each in the order (0, 0), (1, 0), (1, 1), (2, 0), ...

    A product is a double and its rounding error, which is a double too (T. J. Dekker, Numerische Mathematik 18 (1971)
    224-242).
    """
    m = Z.shape[1]
    total = np.zeros((m * (m + 1) // 2, digits), np.int64)
    with stoppable() as watch:
        _native.sum_of_products(Z, watch, total)
    return total


def whole(digits: Integers) -> int:
    """Return a sum as a whole number of the least part of a double."""
    return sum(int(digit) << (32 * place) for place, digit in enumerate(digits))

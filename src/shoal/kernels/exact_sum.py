"""Sums of float64 that are exact, also after any number of subtractions.

A double is a 53-bit integer times a power of two, so a sum of doubles is one long integer. It is kept here as digits of
32 bits in int64 chunks, one row an attribute; the upper half of a chunk takes 2^30 additions before it overflows. A
record leaves the sum without leaving a trace of rounding behind, so that a running mean equals a fresh one for ever.
"""

import math

import numpy as np
from numba import njit

from shoal.kernels.types import Floats, Integers

DIGIT = (1 << 32) - 1
FRACTION = (1 << 52) - 1
# Of numbers near one, so that 36 digits of 32 bits hold any sum of them.
DIGITS = 36
UNIT = 1 << 1074  # a sum of doubles is a whole number of such parts
SPLITTER = float((1 << 27) + 1)


@njit(cache=True, nogil=True)
def digit_range(bits: Integers) -> tuple[int, int]:
    """Return the lowest 32-bit digit that the doubles with these bits reach, and how many digits their sum needs."""
    low, high = 2047, 0
    for value in bits.flat:
        if value << 1 != 0:
            exponent = int((value >> 52) & 2047)
            low = min(low, exponent)
            high = max(high, exponent)
    first = max(min(low, high) - 1, 0) >> 5
    return first, (max(high - 1, 0) >> 5) - first + 4  # three digits of the largest value, and one for carries and sign


@njit(cache=True, nogil=True)
def add_record(total: Integers, first: int, record: Integers, sign: int) -> None:
    """Add (sign = 1) or take away (sign = -1) a record, given as the bits of its values."""
    for j in range(record.shape[0]):
        value = record[j]
        exponent = (value >> 52) & 2047
        significand = value & FRACTION
        if exponent == 0:
            if significand == 0:
                continue
            exponent = 1
        else:
            significand |= 1 << 52
        s = -sign if value < 0 else sign
        place = exponent - 1
        digit = (place >> 5) - first
        shift = place & 31
        low = (significand & DIGIT) << shift
        high = (significand >> 32) << shift
        total[j, digit] += s * (low & DIGIT)
        total[j, digit + 1] += s * ((low >> 32) + (high & DIGIT))
        total[j, digit + 2] += s * (high >> 32)


@njit(cache=True, nogil=True)
def _carry(digits: Integers) -> None:
    """Bring every digit but the last, which has the sign, into 0 .. 2^32 - 1; the value stays the same."""
    for i in range(digits.shape[0] - 1):
        digits[i + 1] += digits[i] >> 32
        digits[i] &= DIGIT


@njit(cache=True, nogil=True)
def _rounded(digits: Integers, first: int) -> float:
    """Return the double nearest to the value of carried, non-negative digits; ties go to the even one."""
    top = digits.shape[0] - 1
    while top >= 0 and digits[top] == 0:
        top -= 1
    if top < 0:
        return 0.0
    # 62 bits from the leading one on; what lies below them only matters as 'more than nothing' (the sticky last bit).
    window = digits[top]
    width = 0
    while window >> width != 0:
        width += 1
    exponent = 32 * (first + top) - 1074
    sticky = False
    for i in range(top - 1, -1, -1):
        room = min(62 - width, 32)
        rest = 32 - room
        window = (window << room) | (digits[i] >> rest)
        sticky |= digits[i] & ((1 << rest) - 1) != 0
        width += room
        exponent -= room
    if sticky:
        window |= 1
    return math.ldexp(float(window), exponent)


@njit(cache=True, nogil=True)
def mean_of(total: Integers, first: int, count: int, mean: Floats) -> None:
    """Write the mean of `count` records: the correctly rounded sum, divided by the count."""
    for j in range(total.shape[0]):
        digits = total[j]
        _carry(digits)
        sign = 1
        if digits[-1] < 0:
            sign = -1
            digits *= -1
            _carry(digits)
        mean[j] = sign * _rounded(digits, first) / count
        digits *= sign


@njit(cache=True, nogil=True)
def sum_of(bits: Integers, first: int, digits: int) -> Integers:
    """Return the sum of all records, given as the bits of their values."""
    total = np.zeros((bits.shape[1], digits), np.int64)
    for i in range(bits.shape[0]):
        add_record(total, first, bits[i], 1)
    return total


def whole(digits: Integers) -> int:
    """Return a sum as a whole number of the least part of a double."""
    return sum(int(digit) << (32 * place) for place, digit in enumerate(digits))


@njit(cache=True, nogil=True)
def _high_half(x: float) -> float:
    """Return the upper half of the digits of a double."""
    scaled = SPLITTER * x
    return scaled - (scaled - x)


@njit(cache=True, nogil=True)
def sum_of_products(Z: Floats, digits: int) -> Integers:
    """Return the sums of products of columns, a row each in the order (0, 0), (1, 0), (1, 1), (2, 0), ...

    A product is a double and its rounding error, which is a double too (T. J. Dekker, Numerische Mathematik 18 (1971)
    224-242).
    """
    m = Z.shape[1]
    total = np.zeros((m * (m + 1) // 2, digits), np.int64)
    products = np.empty((2, len(total)))
    bits = products.view(np.int64)
    high = np.empty(m)
    for r in range(Z.shape[0]):
        for i in range(m):
            high[i] = _high_half(Z[r, i])
        at = 0
        for i in range(m):
            low_i = Z[r, i] - high[i]
            for j in range(i + 1):
                low_j = Z[r, j] - high[j]
                product = Z[r, i] * Z[r, j]
                error = high[i] * high[j] - product
                products[0, at] = product
                products[1, at] = ((error + high[i] * low_j) + low_i * high[j]) + low_i * low_j
                at += 1
        add_record(total, 0, bits[0], 1)
        add_record(total, 0, bits[1], 1)
    return total

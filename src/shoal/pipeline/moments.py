"""Means and variances as mergeable sums: exact, so that they depend neither on the order of records nor on pieces."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.kernels.exact_sum import DIGITS, UNIT, sum_of, whole
from shoal.kernels.standardize import Matrix, Scale
from shoal.tables.attributes import Codes


@dataclass(frozen=True)
class Extent:
    """The range of an attribute, in its codes."""

    low: float
    high: float

    @property
    def exponent(self) -> int:
        """The power of two that brings the attribute near one."""
        return math.frexp(max(abs(self.low), abs(self.high)))[1]

    def unit(self, values: Codes) -> Codes:
        """Map the range to 0 .. 1, by one subtraction and a power of two."""
        return np.ldexp(values, -self.exponent) - math.ldexp(self.low, -self.exponent)


@dataclass(frozen=True)
class Moments:
    """Weight, weighted sum and weighted sum of squares of each attribute within its range, as whole numbers.

    The least and the largest value that was seen tell what is constant: of squares that are rounded, a variance of zero
    may come out a little above or below.
    """

    extents: tuple[Extent, ...]
    sums: tuple[tuple[int, ...], ...]
    ends: tuple[tuple[float, float], ...]

    def __add__(self, other: "Moments") -> "Moments":
        pairs = zip(self.sums, other.sums, strict=True)
        sums = tuple((a[0] + b[0], a[1] + b[1], a[2] + b[2]) for a, b in pairs)
        ends = zip(self.ends, other.ends, strict=True)
        return Moments(self.extents, sums, tuple((min(a[0], b[0]), max(a[1], b[1])) for a, b in ends))

    def scales(self) -> list[Scale]:
        """Return the mean and the standard deviation (ddof 0) of each attribute as the scale of its z-scores."""
        found = []
        for extent, (weight, total, squares), (least, most) in zip(self.extents, self.sums, self.ends, strict=True):
            low, exponent = math.ldexp(extent.low, -extent.exponent), extent.exponent
            if not weight or least == most:
                found.append(Scale(low + (least if weight else 0.0), 0.0, exponent))
                continue
            mean = Fraction(total, weight)
            square = Fraction(squares, weight)
            variance = square - mean * mean
            if variance <= 0:  # squares are rounded: there is some, and no more than their last digit
                variance = square / 2**53
            found.append(Scale(float(Fraction(low) + mean), math.sqrt(variance), exponent))
        return found


def moments(columns: Matrix, extents: Sequence[Extent], weights: Codes | None = None) -> Moments:
    """Add up the attributes of some records; missing values, NaN, are left out.

    Parameters
    ----------
    columns
        One column an attribute.
    extents
        Ranges that hold all records, not only these.
    weights
        Survey weights from 0 to 1.
    """
    found: list[tuple[int, ...]] = []
    ends: list[tuple[float, float]] = []
    for column, extent in zip(columns.T, extents, strict=True):
        present = ~np.isnan(column)
        z = extent.unit(column[present])
        ends.append((float(z.min(initial=np.inf)), float(z.max(initial=-np.inf))))
        if weights is None:
            total, squares = _whole_sums(z, z * z)
            found.append((len(z) * UNIT, total, squares))
        else:
            w = weights[present]
            found.append(_whole_sums(w, z * w, z * z * w))
    return Moments(tuple(extents), tuple(found), tuple(ends))


def _whole_sums(*columns: Codes) -> tuple[int, ...]:
    """Add up columns exactly, as whole numbers of the least part of a double."""
    return tuple(map(whole, sum_of(np.stack(columns, axis=1).view(np.int64), 0, DIGITS)))

"""Restoring variances: one linear map an attribute, found from sums over all records before and after masking."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.aggregation import Rescaling
from shoal.errors import DataError
from shoal.kernels.standardize import Matrix, Scale
from shoal.pipeline.masker import BlockMasker
from shoal.pipeline.moments import Extent, Moments, moments
from shoal.tables.arrow import pc
from shoal.tables.attributes import NUMBERS, Attribute


@dataclass(frozen=True)
class Spreads:
    """Moments of numbers and dates before and after masking, and the range of what is published."""

    before: Moments
    after: Moments
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __add__(self, other: "Spreads") -> "Spreads":
        low, high = np.fmin(self.low, other.low), np.fmax(self.high, other.high)
        return Spreads(self.before + other.before, self.after + other.after, low, high)


@dataclass(frozen=True)
class Restoring:
    """Looks at records before and after masking.

    Attributes
    ----------
    masker
        Of the records.
    extents
        The range of each number and date, in codes; masked values lie within.
    heaviest
        The largest survey weight.
    """

    masker: BlockMasker
    extents: Sequence[Extent]
    heaviest: float = 1.0

    @property
    def _at(self) -> list[int]:
        return [j for j, attribute in enumerate(self.masker.attributes) if attribute.type in NUMBERS]

    def look(self, rows: Matrix, published: Matrix) -> Spreads:
        """Look at some records."""
        weights = self.masker.weights(rows)
        shares = None if weights is None else weights / self.heaviest
        X, Y = rows[:, self._at], published[:, self._at]
        low, high = np.fmin.reduce(Y, axis=0, initial=np.inf), np.fmax.reduce(Y, axis=0, initial=-np.inf)
        return Spreads(moments(X, self.extents, shares), moments(Y, self.extents, shares), low, high)

    def rescalings(self, seen: Spreads) -> dict[str, Rescaling]:
        """Return for each number and date the map x'' = (x' - m1) * sqrt(mu2 / m2) + mu1 that restores both moments.

        m1 and m2 are the mean and the variance of what is published, mu1 and mu2 of the original, of the values that
        are there, by survey weight where there is one. Records that were published alike still are; representatives
        may leave the range of their group. What is constant stays as it is.

        References
        ----------
        Domingo-Ferrer & Torra (2005), Ordinal, continuous and heterogeneous k-anonymity through microaggregation, Data
        Mining and Knowledge Discovery 11.

        Raises
        ------
        DataError
            If all records publish the same value, or the restored ones could not be held.
        """
        found = {}
        scales = zip(seen.before.scales(), seen.after.scales(), strict=True)
        for i, (j, (before, after)) in enumerate(zip(self._at, scales, strict=True)):
            attribute = self.masker.attributes[j]
            ends = np.array([seen.low[i], seen.high[i]])
            found[attribute.name] = _rescaling(attribute, before, after, ends)
        return found


def _rescaling(attribute: Attribute, before: Scale, after: Scale, ends: NDArray[np.float64]) -> Rescaling:
    if not before.spread > 0:
        return Rescaling(0.0, 1.0, 0.0)
    if not ends[0] < ends[1]:
        raise DataError("variance-of-one-value", column=attribute.name)
    slope = before.spread / after.spread
    m1, mu1 = math.ldexp(after.shift, after.exponent), math.ldexp(before.shift, before.exponent)
    rescaling = Rescaling(m1, slope, mu1)
    _refuse_ends(attribute, rescaling, ends)
    return rescaling


def _refuse_ends(attribute: Attribute, rescaling: Rescaling, ends: NDArray[np.float64]) -> None:
    """Refuse numbers and dates that the column could not hold."""
    with np.errstate(over="ignore"):
        changed = rescaling.apply(ends)
    if not np.isfinite(changed).all():
        raise DataError("variance-too-large", column=attribute.name)
    column = attribute.decode(changed)
    if pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
        raise DataError("variance-too-large", column=attribute.name)
    if attribute.type != "continuous":
        years = pc.year(column)
        if not pc.all(pc.and_(pc.greater(years, 0), pc.less(years, 10_000))).as_py():
            raise DataError("variance-beyond-calendar", column=attribute.name)

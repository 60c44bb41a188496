"""Interval disclosure: how near a published value is to the true one, for an intruder who knows nothing else."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix, matrix_near_one

Column = NDArray[np.float64]
PERCENTAGES = tuple(range(1, 11))  # the widths p of the intervals


def interval_disclosure_rank(original: Matrix, masked: Matrix) -> dict[str, Any]:
    """Percentage of original values within an interval of ranks around their masked value (ID).

    The masked values of an attribute are sorted. The interval around x' reaches, on either side of the values equal to
    x', over p percent of the n ranks (rounded down): from the masked value that many places below to the one as many
    above. The percentage of original values x inside (borders included) is averaged over p and attributes.

    Returns ``percent``, and ``attributes``, the same for each attribute.

    References
    ----------
    Domingo-Ferrer & Torra (2001), A quantitative comparison of disclosure control methods for microdata, in
    Confidentiality, Disclosure and Data Access, 111-134.
    """
    n = len(original)

    def inside(x: Column, y: Column) -> Iterator[NDArray[np.bool_]]:
        line = np.sort(y)
        first, last = np.searchsorted(line, y), np.searchsorted(line, y, side="right") - 1
        for p in PERCENTAGES:
            reach = p * n // 100
            yield (line[np.maximum(first - reach, 0)] <= x) & (x <= line[np.minimum(last + reach, n - 1)])

    return _averaged(original, masked, inside)


def interval_disclosure_sd(original: Matrix, masked: Matrix) -> dict[str, Any]:
    """Percentage of original values within a part of a standard deviation from their masked value (SDID).

    ``|x - x'| <= p/100 * sd(x')``, with the standard deviation (ddof 0) of the masked attribute, which is what the
    intruder has; averaged over p and attributes. sdcMicro's ``dRisk`` has one p (5) and counts records.

    Returns ``percent``, and ``attributes``, the same for each attribute.

    References
    ----------
    Mateo-Sanz, Sebé & Domingo-Ferrer (2004), Outlier protection in continuous microdata masking, Privacy in
    Statistical Databases, LNCS 3050.
    """

    def inside(x: Column, y: Column) -> Iterator[NDArray[np.bool_]]:
        distance, sd = np.abs(x - y), _spread(y)
        return (distance <= p * sd / 100 for p in PERCENTAGES)

    return _averaged(original, masked, inside)


def _spread(y: Column) -> float:
    """Return the standard deviation (ddof 0), exactly 0 for a constant, at any magnitude."""
    if y.min() == y.max():
        return 0.0
    near, exponent = matrix_near_one(y)
    return float(np.ldexp(near.std(), exponent))


def _averaged(
    original: Matrix, masked: Matrix, inside: Callable[[Column, Column], Iterator[NDArray[np.bool_]]]
) -> dict[str, Any]:
    """Average, over widths and attributes, the percentage of values for which something holds."""
    pairs = zip(original.T, masked.T, strict=True)
    found = [100 * sum(int(each.sum()) for each in inside(x, y)) / (len(x) * len(PERCENTAGES)) for x, y in pairs]
    return {"percent": float(np.mean(found)), "attributes": found}

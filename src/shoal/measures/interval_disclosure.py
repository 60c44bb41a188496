"""Interval disclosure: how near a published value is to the true one, for an intruder who knows nothing else."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix, matrix_near_one

PERCENTAGES = tuple(range(1, 11))


def interval_disclosure_rank(
    original: Matrix, masked: Matrix, percentages: tuple[int, ...] = PERCENTAGES
) -> dict[str, Any]:
    """Percentage of original values within an interval of ranks around their masked value (ID).

    The masked values of an attribute are sorted. The interval around x' reaches, on either side of the values equal to
    x', over p percent of the n ranks (rounded down): from the masked value that many places below to the one as many
    above. The percentage of original values x inside (borders included) is averaged over p and attributes.

    Parameters
    ----------
    original, masked : (n, d) matrices
        The same records in the same order, in the units of the data.
    percentages : tuple of int
        The widths p.

    Returns
    -------
    dict
        ``percent``, and ``attributes``, the same for each attribute.

    References
    ----------
    Domingo-Ferrer & Torra (2001), A quantitative comparison of disclosure control methods for microdata, in
    Confidentiality, Disclosure and Data Access, 111-134.
    """
    n = len(original)
    found = []
    for x, y in zip(original.T, masked.T, strict=True):
        line = np.sort(y)
        first, last = np.searchsorted(line, y), np.searchsorted(line, y, side="right") - 1
        inside = 0
        for p in percentages:
            reach = p * n // 100
            low, high = line[np.maximum(first - reach, 0)], line[np.minimum(last + reach, n - 1)]
            inside += int(((low <= x) & (x <= high)).sum())
        found.append(100 * inside / (n * len(percentages)))
    return _averaged(found)


def interval_disclosure_sd(
    original: Matrix, masked: Matrix, percentages: tuple[int, ...] = PERCENTAGES
) -> dict[str, Any]:
    """Percentage of original values within a part of a standard deviation from their masked value (SDID).

    ``|x - x'| <= p/100 * sd(x')``, with the standard deviation (ddof 0) of the masked attribute, which is what the
    intruder has; averaged over p and attributes. sdcMicro's ``dRisk`` has one p (5) and counts records.

    Parameters
    ----------
    original, masked : (n, d) matrices
        The same records in the same order, in the units of the data.
    percentages : tuple of int
        The widths p.

    Returns
    -------
    dict
        ``percent``, and ``attributes``, the same for each attribute.

    References
    ----------
    Mateo-Sanz, Sebé & Domingo-Ferrer (2004), Outlier protection in continuous microdata masking, Privacy in
    Statistical Databases, LNCS 3050.
    """
    n = len(original)
    found = []
    for x, y in zip(original.T, masked.T, strict=True):
        distance = np.abs(x - y)
        sd = _spread(y)
        inside = sum(int((distance <= p * sd / 100).sum()) for p in percentages)
        found.append(100 * inside / (n * len(percentages)))
    return _averaged(found)


def _spread(y: NDArray[np.float64]) -> float:
    """Return the standard deviation (ddof 0), exactly 0 for a constant, at any magnitude."""
    if y.min() == y.max():
        return 0.0
    near, exponent = matrix_near_one(y)
    return float(np.ldexp(near.std(), exponent))


def _averaged(found: list[float]) -> dict[str, Any]:
    return {"percent": float(np.mean(found)), "attributes": found}

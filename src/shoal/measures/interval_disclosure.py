"""Interval disclosure: how near a published value is to the true one, for an intruder who knows nothing else."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix, matrix_near_one

Column = NDArray[np.float64]
PERCENTAGES = tuple(range(1, 11))  # the widths p of the intervals


Inside = Callable[[Column, Column], Iterator[NDArray[np.bool_]]]


def interval_disclosure_rank(
    original: Matrix, masked: Matrix, nominal: NDArray[np.bool_] | None = None
) -> dict[str, Any]:
    """Percentage of original values within an interval of ranks around their masked value (ID).

    The masked values of an attribute are sorted. The interval around x' reaches, on either side of the values equal to
    x', over p percent of the n ranks (rounded down): from the masked value that many places below to the one as many
    above. The percentage of original values x inside (borders included) is averaged over p and attributes.

    Levels are places in their order. Of a category there is no interval: it is disclosed where it is published as it is
    (columns in `nominal`). Original values that are missing (NaN) are left out, and those published as missing are not
    inside any interval.

    Returns ``percent``, and ``attributes``, the same for each attribute; None for one that no record has.

    References
    ----------
    Domingo-Ferrer & Torra (2001), A quantitative comparison of disclosure control methods for microdata, in
    Confidentiality, Disclosure and Data Access, 111-134.
    """

    def inside(x: Column, y: Column) -> Iterator[NDArray[np.bool_]]:
        line = np.sort(y[~np.isnan(y)])
        n = len(line)
        first, last = np.searchsorted(line, y), np.searchsorted(line, y, side="right") - 1
        for p in PERCENTAGES:
            reach = p * n // 100
            low, high = np.minimum(np.maximum(first - reach, 0), n - 1), np.minimum(last + reach, n - 1)
            yield ~np.isnan(y) & (line[low] <= x) & (x <= line[high]) if n else np.zeros(len(x), dtype=bool)

    return _averaged(original, masked, nominal, inside)


def interval_disclosure_sd(
    original: Matrix, masked: Matrix, nominal: NDArray[np.bool_] | None = None
) -> dict[str, Any]:
    """Percentage of original values within a part of a standard deviation from their masked value (SDID).

    ``|x - x'| <= p/100 * sd(x')``, with the standard deviation (ddof 0) of the masked attribute, which is what the
    intruder has; averaged over p and attributes. sdcMicro's ``dRisk`` has one p (5) and counts records. For categories
    and missing values see `interval_disclosure_rank`.

    Returns ``percent``, and ``attributes``, the same for each attribute; None for one that no record has.

    References
    ----------
    Mateo-Sanz, Sebé & Domingo-Ferrer (2004), Outlier protection in continuous microdata masking, Privacy in
    Statistical Databases, LNCS 3050.
    """

    def inside(x: Column, y: Column) -> Iterator[NDArray[np.bool_]]:
        distance, sd = np.abs(x - y), _spread(y[~np.isnan(y)])
        return (distance <= p * sd / 100 for p in PERCENTAGES)

    return _averaged(original, masked, nominal, inside)


def _spread(y: Column) -> float:
    """Return the standard deviation (ddof 0), exactly 0 for a constant, at any magnitude."""
    if len(y) == 0 or y.min() == y.max():
        return 0.0
    near, exponent = matrix_near_one(y)
    return float(np.ldexp(near.std(), exponent))


def _averaged(original: Matrix, masked: Matrix, nominal: NDArray[np.bool_] | None, inside: Inside) -> dict[str, Any]:
    """Average, over widths and attributes, the percentage of values for which something holds."""
    categories = np.zeros(original.shape[1], dtype=bool) if nominal is None else nominal
    columns = zip(original.T, masked.T, categories.tolist(), strict=True)
    found = [_percent(x, y, _equal if category else inside) for x, y, category in columns]
    known = [each for each in found if each is not None]
    return {"percent": float(np.mean(known)) if known else 0.0, "attributes": found}


def _percent(x: Column, y: Column, inside: Inside) -> float | None:
    """Return the percentage of the values of an attribute that are inside, averaged over the widths."""
    known = ~np.isnan(x)
    if not known.any():
        return None
    hits = [int((each & known).sum()) for each in inside(x, y)]
    return 100 * sum(hits) / (int(known.sum()) * len(hits))


def _equal(x: Column, y: Column) -> Iterator[NDArray[np.bool_]]:
    yield x == y

"""Probabilistic information loss: how surprising the masked file's statistics would be as those of a sample."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix
from shoal.measures.loss import correlations, near_one, on_one_scale

# In units of the attributes' standard deviations, less than this is the rounding error of a moment.
ROUNDING = 1e-12

QUANTILES = np.arange(5, 100, 5) / 100

# Categories of an attribute whose shares are compared, the most frequent of the original; all others are one.
MOST_CATEGORIES = 50

Vector = NDArray[np.float64]


def pil(original: Matrix, masked: Matrix, nominal: NDArray[np.bool_] | None = None) -> dict[str, float | None]:
    """Probabilistic information loss, between 0 and 100.

    The masked file is taken for a sample of the population of which the original is one. For a statistic t with value
    t' in the masked file, PIL(t) = 100 * 2 P(0 <= Z <= abs(t' - t) / sd(t)), Z standard normal: the probability that a
    sample's statistic would differ less. With central moments m of the original, its variances are

    - ``means``: m2 / n
    - ``variances``: (m4 - m2^2) / n
    - ``covariances``, i < j: (m22 - m11^2) / n
    - ``correlations`` r, i < j, by the delta method, in standardised attributes:
      (m22 + r^2 (m40 + 2 m22 + m04) / 4 - r (m31 + m13)) / n
    - ``quantiles``, q = 5 %, 10 %, ..., 95 %: q (1 - q) / (n f^2), f the density at the quantile

    and ``PIL`` is the average of the five components, each the average over its statistics.

    The five components and ``PIL``. With one attribute ``covariances`` and ``correlations`` are None and take no part
    in the average; correlations with an attribute that is constant in the original are left out. A statistic that has
    no sampling error (any of a constant attribute; a quantile amid equal values) loses 0 if it is as it was and 100 if
    not.

    Columns in `nominal` are numbers of categories. The share of each category is a mean, that of 0 and 1, and so is the
    share of missing values (NaN); they have covariances and correlations with other attributes, but no variances and
    quantiles of their own, which follow from the shares. Levels are places in their order. All statistics of numbers
    and levels are of the records that have the value, or both values.

    Notes
    -----
    The paper leaves the density open. Here 1 / f = (Q(q + h) - Q(q - h)) / (2 h), Q the quantile function (Siddiqui
    1960), with the width of Bofinger (1975), h = (4.5 phi(z)^4 / (n (2 z^2 + 1)^2))^(1/5), phi the normal density at
    its q-quantile z, and at most min(q, 1 - q): a sort, where a kernel estimate would compare all with all.

    Sampling errors shrink with n: a change that is small beside the data is large beside the error of a million
    records, and PIL is near 100 for most masked files of that size.

    References
    ----------
    Mateo-Sanz, Domingo-Ferrer & Sebé (2005), Probabilistic information loss measures in confidentiality protection of
    continuous microdata, Data Mining and Knowledge Discovery 11, 181-193.
    """
    wide = _widened(original, masked, np.zeros(original.shape[1], dtype=bool) if nominal is None else nominal)
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = _parts(wide)
    present = [part for part in parts.values() if part is not None]
    return {**parts, "PIL": sum(present) / len(present) if present else None}


class _Columns(NamedTuple):
    """Numbers, places of levels, and for categories and missing values 0 and 1."""

    original: Matrix
    masked: Matrix
    attribute: NDArray[np.int64]  # to which each column belongs
    quantity: NDArray[np.bool_]  # whether it is a number or a level


def _widened(original: Matrix, masked: Matrix, nominal: NDArray[np.bool_]) -> _Columns:
    if not (nominal.any() or np.isnan(original).any() or np.isnan(masked).any()):
        return _Columns(original, masked, np.arange(original.shape[1]), ~nominal)
    found: list[tuple[Vector, Vector, int, bool]] = []
    for j, (x, y, category) in enumerate(zip(original.T, masked.T, nominal.tolist(), strict=True)):
        if not category:
            found.append((x, y, j, True))
        for one, two in _indicators(x, y, category):
            found.append((one.astype(np.float64), two.astype(np.float64), j, False))
    before, after, attribute, quantity = zip(*found, strict=True) if found else ((), (), (), ())
    empty = np.empty((len(original), 0))
    return _Columns(
        np.column_stack([empty, *before]),
        np.column_stack([empty, *after]),
        np.array(attribute, dtype=np.int64),
        np.array(quantity, dtype=bool),
    )


def _indicators(x: Vector, y: Vector, category: bool) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return which records have a category, but for the most frequent, whose share follows; and which have no value."""
    missing = np.isnan(x), np.isnan(y)
    found = [missing] if missing[0].any() or missing[1].any() else []
    if category:
        values, counts = np.unique(x[~missing[0]], return_counts=True)
        frequent = values[np.argsort(-counts, kind="stable")][:MOST_CATEGORIES]
        found += [(x == value, y == value) for value in frequent[1:]]
        others = ~np.isin(x, frequent) & ~missing[0], ~np.isin(y, frequent) & ~missing[1]
        found += [others] if others[0].any() or others[1].any() else []
    return found


class _Moments(NamedTuple):
    """Sums over the records that have both of two values, divided by how many these are."""

    mean: Vector
    records: Matrix  # (d, d)
    m11: Matrix
    m22: Matrix
    m31: Matrix
    m40: Matrix


def _moments(Z: Matrix) -> _Moments:
    present = ~np.isnan(Z)
    complete = bool(present.all())
    mean = Z.mean(axis=0) if complete else np.nansum(Z, axis=0) / present.sum(axis=0)
    U = Z - mean if complete else np.where(present, Z - mean, 0.0)
    one = None if complete else present.astype(np.float64)
    records = np.full((Z.shape[1], Z.shape[1]), float(len(Z))) if one is None else one.T @ one
    squares = U * U
    m22 = squares.T @ squares / records
    m40 = np.tile(np.diag(m22)[:, None], len(m22)) if one is None else (squares * squares).T @ one / records
    return _Moments(mean, records, U.T @ U / records, m22, (squares * U).T @ U / records, m40)


def _parts(wide: _Columns) -> dict[str, float | None]:
    Z, Y = on_one_scale(wide.original, wide.masked)
    before, after = _moments(Z), _moments(Y)
    del Z, Y
    m2, n = np.diag(before.m11), before.records
    i, j = np.triu_indices(len(m2), 1)
    other = (wide.attribute[i] != wide.attribute[j]) & (n[i, j] > 0)
    i, j = i[other], j[other]
    varies = m2 > 0.5  # 1, or 0 for a constant
    a, b = i[varies[i] & varies[j]], j[varies[i] & varies[j]]
    r = correlations(wide.original)[a, b]
    m22, m31, m40 = before.m22, before.m31, before.m40
    delta = m22[a, b] + r * r * (m40[a, b] + 2 * m22[a, b] + m40[b, a]) / 4 - r * (m31[a, b] + m31[b, a])
    q = np.flatnonzero(wide.quantity)
    m4 = np.diag(m22)
    return {
        "means": _average(after.mean - before.mean, m2, np.diag(n)),
        "variances": _average((np.diag(after.m11) - m2)[q], (m4 - m2**2)[q], np.diag(n)[q]),
        "covariances": _average((after.m11 - before.m11)[i, j], (m22 - before.m11**2)[i, j], n[i, j]),
        "correlations": _average(correlations(wide.masked)[a, b] - r, delta, n[a, b]),
        "quantiles": _quantiles(*near_one(wide.original[:, q], wide.masked[:, q])),
    }


def _quantiles(X: Matrix, Y: Matrix) -> float | None:
    found = [_quantile_changes(x[~np.isnan(x)], y[~np.isnan(y)]) for x, y in zip(X.T, Y.T, strict=True)]
    if not found:
        return None
    change, variance, records = (np.concatenate(each) for each in zip(*found, strict=True))
    # Values as they are, not moments of them: nothing to round away.
    return _average(change, variance, records, rounding=0.0)


def _quantile_changes(x: Vector, y: Vector) -> tuple[Vector, Vector, Vector]:
    """Return how far each quantile of an attribute moved, its variance times n, and n; NaN if none is left."""
    from scipy.special import ndtri  # slow to load, and not part of every run

    n, q = len(x), QUANTILES
    z = ndtri(q)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    h = np.minimum((4.5 * density**4 / (n * (2 * z * z + 1) ** 2)) ** 0.2, np.minimum(q, 1 - q))
    ordered = np.sort(x)
    change = _at(np.sort(y), q) - _at(ordered, q) if len(y) else np.full(len(q), np.nan)
    sparsity = (_at(ordered, q + h) - _at(ordered, q - h)) / (2 * h)
    return change, q * (1 - q) * sparsity**2, np.full(len(q), float(n))


def _at(ordered: Vector, q: Vector) -> Vector:
    """Quantiles of sorted values, linear between neighbours."""
    place = q * (len(ordered) - 1)
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, len(ordered) - 1)
    values: Vector = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    return values


def _average(change: Vector, variance: Vector, n: Vector, rounding: float = ROUNDING) -> float | None:
    """Average of 100 * 2 P(0 <= Z <= abs(change) / sqrt(variance / n)) over the statistics; None without any.

    A change that is NaN is a statistic that the masked file does not have: all of it is lost.
    """
    from scipy.special import erf

    if len(change) == 0:
        return None
    change = np.where(np.isnan(change), np.inf, np.abs(change))
    known = ~(variance > rounding)  # without sampling error
    loss = np.full(len(change), 100.0)
    loss[~known] *= erf(change[~known] / np.sqrt(2 * variance[~known] / n[~known]))
    loss[change <= rounding] = 0.0
    return float(loss.mean())

"""Probabilistic information loss: how surprising the masked file's statistics would be as those of a sample."""

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix
from shoal.measures.loss import correlations, near_one, on_one_scale

# In units of the attributes' standard deviations, less than this is the rounding error of a moment.
ROUNDING = 1e-12

QUANTILES = np.arange(5, 100, 5) / 100

Vector = NDArray[np.float64]


def pil(original: Matrix, masked: Matrix) -> dict[str, float | None]:
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
    n, d = original.shape
    Z, Y = on_one_scale(original, masked)
    shift = Y.mean(axis=0) - Z.mean(axis=0)
    for scaled in (Z, Y):
        scaled -= scaled.mean(axis=0)
    m11, after = Z.T @ Z / n, Y.T @ Y / n
    squares = Z * Z
    m22 = squares.T @ squares / n
    squares *= Z
    m31 = squares.T @ Z / n
    m2, m4 = np.diag(m11), np.diag(m22)
    i, j = np.triu_indices(d, 1)
    varies = m2 > 0.5  # 1, or 0 for a constant
    a, b = i[varies[i] & varies[j]], j[varies[i] & varies[j]]
    r = correlations(original)[a, b]
    delta = m22[a, b] + r * r * (m4[a] + 2 * m22[a, b] + m4[b]) / 4 - r * (m31[a, b] + m31[b, a])
    parts = {
        "means": _average(shift, m2, n),
        "variances": _average(np.diag(after) - m2, m4 - m2**2, n),
        "covariances": _average((after - m11)[i, j], (m22 - m11**2)[i, j], n),
        "correlations": _average(correlations(masked)[a, b] - r, delta, n),
        "quantiles": _quantiles(*near_one(original, masked)),
    }
    present = [part for part in parts.values() if part is not None]
    return {**parts, "PIL": sum(present) / len(present)}


def _quantiles(X: Matrix, Y: Matrix) -> float | None:
    from scipy.special import ndtri  # slow to load, and not part of every run

    n, q = len(X), QUANTILES
    z = ndtri(q)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    h = np.minimum((4.5 * density**4 / (n * (2 * z * z + 1) ** 2)) ** 0.2, np.minimum(q, 1 - q))
    ordered = np.sort(X, axis=0)
    change = _at(np.sort(Y, axis=0), q) - _at(ordered, q)
    sparsity = (_at(ordered, q + h) - _at(ordered, q - h)) / (2 * h)[:, None]
    # Values as they are, not moments of them: nothing to round away.
    return _average(change.ravel(), ((q * (1 - q))[:, None] * sparsity**2).ravel(), n, rounding=0.0)


def _at(ordered: Matrix, q: Vector) -> Matrix:
    """Quantiles of sorted columns, linear between neighbours."""
    place = q * (len(ordered) - 1)
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, len(ordered) - 1)
    share = (place - below)[:, None]
    values: Matrix = ordered[below] + share * (ordered[above] - ordered[below])
    return values


def _average(change: Vector, variance: Vector, n: int, rounding: float = ROUNDING) -> float | None:
    """Average of 100 * 2 P(0 <= Z <= abs(change) / sqrt(variance / n)) over the statistics; None without any."""
    from scipy.special import erf

    if len(change) == 0:
        return None
    change = np.abs(change)
    known = variance <= rounding  # without sampling error
    loss = np.full(len(change), 100.0)
    loss[~known] *= erf(change[~known] / np.sqrt(2 * variance[~known] / n))
    loss[change <= rounding] = 0.0
    return float(loss.mean())

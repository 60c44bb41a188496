"""What a release costs its users: pure functions of the original and the masked matrix."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix, column_exponents, standardize

Column = NDArray[np.float64]


def near_one(original: Matrix, masked: Matrix) -> tuple[Matrix, Matrix]:
    """Divide both matrices by the power of two that brings the original's columns near one.

    No digit is touched, and no square overflows or vanishes.
    """
    exponents = column_exponents(original)
    return np.ldexp(original, -exponents), np.ldexp(masked, -exponents)


def _bounds(X: Matrix) -> tuple[Column, Column]:
    """Return the least and the largest value of each column; NaN if there is none."""
    return np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)


def _value_weights(X: Matrix, weights: Column | None) -> Matrix | None:
    """Return the weight of each value, 0 where it is missing; None if X is complete and all records count alike."""
    missing = np.isnan(X)
    if weights is None and not missing.any():
        return None
    records = np.ones(len(X)) if weights is None else weights
    return np.where(missing, 0.0, records.reshape(-1, *[1] * (X.ndim - 1)))


def _sum(X: Matrix, weights: Column | None) -> Column:
    W = _value_weights(X, weights)
    return np.asarray(X.sum(axis=0) if W is None else np.where(W > 0, X * W, 0.0).sum(axis=0))


def _mean(X: Matrix, weights: Column | None) -> Column:
    """Mean of each column, of the values that are there; 0 if there is none."""
    W = _value_weights(X, weights)
    if W is None:
        return np.asarray(X.mean(axis=0))
    weight = W.sum(axis=0)
    return _sum(X, weights) / np.where(weight > 0, weight, 1.0)


def _variance(X: Matrix, weights: Column | None) -> Column:
    return _mean((X - _mean(X, weights)) ** 2, weights)


def on_one_scale(original: Matrix, masked: Matrix, weights: Column | None = None) -> tuple[Matrix, Matrix]:
    """Scale both matrices by the mean and standard deviation (ddof 0) of the original's columns, NaN left out.

    A column that is constant in the original has no such scale: it is zero there, and in its own units in the masked.
    """
    Z, Y = near_one(original, masked)
    mean, spread = _mean(Z, weights), np.sqrt(_variance(Z, weights))
    low, high = _bounds(Z)
    constant = ~(low < high)
    mean[constant] = low[constant]
    # 2^1023 at most: the unit of denormal numbers is beyond the largest float
    spread[constant] = np.ldexp(1.0, np.minimum(-column_exponents(original[:, constant]), 1023))
    for scaled in (Z, Y):
        scaled -= mean
        scaled /= spread
    return Z, Y


def sse(original: Matrix, masked: Matrix, weights: Column | None = None) -> Column:
    """Sum of squared errors of each attribute, in the units of the matrices given."""
    return _sum((original - masked) ** 2, weights)


def own_range_sse(original: Matrix, masked: Matrix) -> float:
    """Sum of squared differences after each file is scaled to [0, 1] by its *own* ranges, attribute by attribute.

    With x and x' the values of an attribute in the two files: sum of
    ((x - min x) / (max x - min x) - (x' - min x') / (max x' - min x'))^2. This is what the tables of Mic1D call SSE,
    though not the formula printed there. It forgives a masked file whose values were shifted or stretched as a whole,
    and counts a shrunken range (which aggregation always leaves) only as far as it is uneven.

    An attribute that is constant in one of the files is 0 there: it adds nothing if it is constant in both.

    References
    ----------
    Nin, Beyond multivariate microaggregation for large record anonymization: the SSE of its Tables 4 and 5.
    """
    return float(sse(standardize(original, "minmax"), standardize(masked, "minmax")).sum())


def correlations(X: Matrix, weights: Column | None = None) -> Matrix:
    """Pearson's correlation of every pair of attributes; 0 where one of the two is constant, 1 with itself.

    Where values are missing, that of the records which have both.
    """
    if np.isnan(X).any():
        return _pairwise_correlations(X, weights)
    R: Matrix
    if weights is None:
        Z = standardize(X)
        R = Z.T @ Z / len(Z)
    else:
        Z, _ = on_one_scale(X, X, weights)
        R = Z.T @ (Z * weights[:, None]) / weights.sum()
    np.fill_diagonal(R, 1.0)
    return R


def _pairwise_correlations(X: Matrix, weights: Column | None) -> Matrix:
    R = np.eye(X.shape[1])
    for i, j in combinations(range(X.shape[1]), 2):
        pair = X[:, [i, j]]
        both = ~np.isnan(pair).any(axis=1)
        if both.any():
            R[i, j] = R[j, i] = correlations(pair[both], None if weights is None else weights[both])[0, 1]
    return R


def loss(original: Matrix, masked: Matrix, names: list[str], weights: Column | None = None) -> dict[str, Any]:
    """Information loss of a masked matrix.

    ``SSE`` = sum of squared differences, ``SST`` = the same against the mean, both on z-scores of the original
    (ddof 0); ``IL`` = 100 SSE / SST, in percent: 0 for an unchanged file, 100 when every record publishes the mean.

    Values may be missing (NaN). Means and variances are then those of the values that are there in either file,
    correlations those of the records that have both values, and both SSE and SST sum over the records that have the
    value in both files: a value that was lost or filled in has no difference. With survey weights, a record counts by
    its weight in every sum.

    Returns ``SSE``, ``SST``, ``IL``; ``correlation_change``, the largest change of a correlation; and for each of the
    ``attributes`` its own ``IL``, ``mean_change`` (in standard deviations of the original), ``variance_ratio`` (masked
    / original) and ``correlation_change`` (its largest). An attribute that is constant in the original, or that no
    record has in both files, takes no part in SSE; its figures are None, and ``changed`` says whether masking touched
    it.

    References
    ----------
    Domingo-Ferrer & Mateo-Sanz (2002), Practical data-oriented microaggregation for statistical disclosure control,
    IEEE Transactions on Knowledge and Data Engineering 14.
    """
    if weights is not None:
        counts = weights > 0
        original, masked, weights = original[counts], masked[counts], weights[counts]
    Z, Y = on_one_scale(original, masked, weights)
    in_both = Z.copy(order="K")
    in_both[np.isnan(Y)] = np.nan
    squared, total = sse(in_both, Y, weights), sse(in_both, _mean(Z, weights), weights)
    squared[total == 0] = 0.0  # what is constant has no scale on which to count
    change = np.abs(correlations(masked, weights) - correlations(original, weights))
    attributes: dict[str, dict[str, Any]] = {}
    for j, name in enumerate(names):
        varies = total[j] > 0
        attributes[name] = {
            "IL": float(100 * squared[j] / total[j]) if varies else None,
            "mean_change": float(_mean(Y[:, j], weights) - _mean(Z[:, j], weights)) if varies else None,
            "variance_ratio": float(_variance(Y[:, j], weights) / _variance(Z[:, j], weights)) if varies else None,
            "correlation_change": float(change[j].max()) if len(names) > 1 else None,
        }
        if not varies:
            attributes[name]["changed"] = not np.array_equal(original[:, j], masked[:, j], equal_nan=True)
    return {
        "SSE": float(squared.sum()),
        "SST": float(total.sum()),
        "IL": 100 * float(squared.sum() / total.sum()) if total.sum() > 0 else None,
        "correlation_change": float(change.max()) if len(names) > 1 else None,
        "attributes": attributes,
    }

"""What a release costs its users: pure functions of the original and the masked matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.scaling import Matrix, standardize


def near_one(original: Matrix, masked: Matrix) -> tuple[Matrix, Matrix]:
    """Divide both matrices by the power of two that brings the original's columns near one.

    No digit is touched, and no square overflows or vanishes.
    """
    exponents = _exponents(original)
    return np.ldexp(original, -exponents), np.ldexp(masked, -exponents)


def _exponents(X: Matrix) -> NDArray[np.int32]:
    exponents: NDArray[np.int32] = np.frexp(np.maximum(np.abs(X.min(axis=0)), np.abs(X.max(axis=0))))[1]
    return exponents


def on_one_scale(original: Matrix, masked: Matrix) -> tuple[Matrix, Matrix]:
    """Scale both matrices by the mean and standard deviation (ddof 0) of the original's columns.

    A column that is constant in the original has no such scale: it is zero there, and in its own units in the masked.
    """
    Z, Y = near_one(original, masked)
    mean, spread = Z.mean(axis=0), Z.std(axis=0)
    constant = Z.min(axis=0) == Z.max(axis=0)
    mean[constant] = Z[0, constant]
    spread[constant] = np.ldexp(1.0, -_exponents(original[:, constant]))
    for scaled in (Z, Y):
        scaled -= mean
        scaled /= spread
    return Z, Y


def sse(original: Matrix, masked: Matrix) -> NDArray[np.float64]:
    """Sum of squared errors of each attribute, in the units of the matrices given."""
    errors: NDArray[np.float64] = ((original - masked) ** 2).sum(axis=0)
    return errors


def sst(original: Matrix) -> NDArray[np.float64]:
    """Sum of squared deviations from the mean, for each attribute: what publishing one single mean would cost."""
    deviations: NDArray[np.float64] = ((original - original.mean(axis=0)) ** 2).sum(axis=0)
    return deviations


def own_range_sse(original: Matrix, masked: Matrix) -> float:
    """Sum of squared differences after each file is scaled to [0, 1] by its *own* ranges, attribute by attribute.

    With x and x' the values of an attribute in the two files: sum of
    ((x - min x) / (max x - min x) - (x' - min x') / (max x' - min x'))^2. This is what the tables of Mic1D call SSE,
    though not the formula printed there. It forgives a masked file whose values were shifted or stretched as a whole,
    and counts a shrunken range (which aggregation always leaves) only as far as it is uneven.

    Parameters
    ----------
    original, masked : (n, d) matrices
        The same records in the same order.

    Returns
    -------
    float
        An attribute that is constant in one of the files is 0 there: it adds nothing if it is constant in both.

    References
    ----------
    Nin, Beyond multivariate microaggregation for large record anonymization: the SSE of its Tables 4 and 5.
    """
    return float(sse(standardize(original, "minmax"), standardize(masked, "minmax")).sum())


def correlations(X: Matrix) -> Matrix:
    """Pearson's correlation of every pair of attributes; 0 where one of the two is constant, 1 with itself."""
    Z = standardize(X)
    R: Matrix = Z.T @ Z / len(Z)
    np.fill_diagonal(R, 1.0)
    return R


def loss(original: Matrix, masked: Matrix, names: list[str]) -> dict[str, Any]:
    """Information loss of a masked matrix.

    ``SSE`` = sum of squared differences, ``SST`` = the same against the mean, both on z-scores of the original
    (ddof 0); ``IL`` = 100 SSE / SST, in percent: 0 for an unchanged file, 100 when every record publishes the mean.

    Parameters
    ----------
    original, masked : (n, d) matrices
        The same records in the same order, in the units of the data.
    names : list of str
        The attributes' names.

    Returns
    -------
    dict
        ``SSE``, ``SST``, ``IL``; ``correlation_change``, the largest change of a correlation; and for each of the
        ``attributes`` its own ``IL``, ``mean_change`` (in standard deviations of the original), ``variance_ratio``
        (masked / original) and ``correlation_change`` (its largest). An attribute that is constant in the original
        takes no part in SSE; its figures are None, and ``changed`` says whether masking touched it.

    References
    ----------
    Domingo-Ferrer & Mateo-Sanz (2002), Practical data-oriented microaggregation for statistical disclosure control,
    IEEE Transactions on Knowledge and Data Engineering 14.
    """
    Z, Y = on_one_scale(original, masked)
    squared, total = sse(Z, Y), sst(Z)
    squared[total == 0] = 0.0  # what is constant has no scale on which to count
    change = np.abs(correlations(masked) - correlations(original))
    attributes: dict[str, dict[str, Any]] = {}
    for j, name in enumerate(names):
        varies = total[j] > 0
        attributes[name] = {
            "IL": float(100 * squared[j] / total[j]) if varies else None,
            "mean_change": float(Y[:, j].mean() - Z[:, j].mean()) if varies else None,
            "variance_ratio": float(Y[:, j].var() / Z[:, j].var()) if varies else None,
            "correlation_change": float(change[j].max()) if len(names) > 1 else None,
        }
        if not varies:
            attributes[name]["changed"] = not np.array_equal(original[:, j], masked[:, j])
    return {
        "SSE": float(squared.sum()),
        "SST": float(total.sum()),
        "IL": 100 * float(squared.sum() / total.sum()) if total.sum() > 0 else None,
        "correlation_change": float(change.max()) if len(names) > 1 else None,
        "attributes": attributes,
    }

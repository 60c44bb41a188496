"""How far statistics and values have moved, in proportion to what they were.

A proportion of nothing has no value: a term whose denominator is zero is left out of its mean, and a mean without any
term is None.
"""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix, standardize
from shoal.measures.loss import correlations, near_one, on_one_scale

# What is smaller than this, beside what it is made of, is the rounding error of a sum that is zero.
ROUNDING = 1e-12


def finite(value: float) -> float:
    """Report what is beyond the largest double as that double: no table shows an infinity."""
    return min(float(value), sys.float_info.max)


def variations(original: Matrix, masked: Matrix) -> dict[str, Any]:
    """Information loss as the mean variation of values, covariances, variances and correlations, in percent.

    With X the values, x̄ the means, V the covariance matrix, S its diagonal and R the correlation matrix, each primed
    for the masked file, and d attributes:

    - ``values``: mean over all records and attributes of abs(x - x') / abs(x)
    - ``means``: mean over the attributes of abs(x̄ - x̄') / abs(x̄)
    - ``covariances``: mean over the d (d + 1) / 2 elements i <= j of abs(v - v') / abs(v)
    - ``variances``: mean over the attributes of abs(s - s') / s
    - ``correlations``: mean over the d (d - 1) / 2 pairs i < j of abs(r - r'), an absolute error
    - ``IL`` = (values + covariances + variances + correlations) / 4

    The mean is of these four, as Nin prints it; Domingo-Ferrer & Torra's has the means as a fifth. (On
    Census with Mic1D, k = 3000 and 4000, the four give 21.86 and 56.18 where 22.17 and 57.31 are printed; the five give
    17.80 and 46.20.)

    The five components and ``IL``, in percent, and ``zeros_left_out``, the number of original values that are zero.
    What cannot be divided by is left out: zero values and means, attributes that are constant in the original,
    covariances of uncorrelated attributes. A component without a term is None and takes no part in ``IL``
    (``correlations`` of a single attribute). An attribute that only the masked file makes constant correlates 0.

    Notes
    -----
    Units do not matter, origins do: a temperature has another loss in Celsius than in Fahrenheit.

    References
    ----------
    Domingo-Ferrer & Torra (2001), Disclosure control methods and information loss for microdata, in: Confidentiality,
    Disclosure and Data Access, 91-110.
    Nin, Beyond multivariate microaggregation for large record anonymization, section 2.3.
    """
    X, Y = near_one(original, masked)
    varies = X.min(axis=0) < X.max(axis=0)
    parts = {
        "values": _relative(X, Y, X != 0),
        "means": _relative(X.mean(axis=0), Y.mean(axis=0), np.abs(X.mean(axis=0)) > ROUNDING * np.abs(X).mean(axis=0)),
        "covariances": None,
        "variances": None,
        "correlations": None,
    }
    if varies.any():
        X, Y = X[:, varies], Y[:, varies]
        R, Q = correlations(X), correlations(Y)
        V, W = (_covariances(S) for S in on_one_scale(X, Y))  # in units of the original's standard deviations
        i, j = np.triu_indices(len(V))
        parts["covariances"] = _relative(V[i, j], W[i, j], np.abs(V[i, j]) > ROUNDING)
        parts["variances"] = _relative(np.diag(V), np.diag(W), np.diag(V) > 0)
        i, j = np.triu_indices(len(V), 1)
        parts["correlations"] = 100 * float(np.abs(R - Q)[i, j].mean()) if len(i) else None
    averaged = [parts[name] for name in ("values", "covariances", "variances", "correlations")]
    present = [part for part in averaged if part is not None]
    il = finite(sum(part / len(present) for part in present)) if present else None
    return {**parts, "IL": il, "zeros_left_out": int((original == 0).sum())}


def _relative(before: NDArray[np.float64], after: NDArray[np.float64], usable: NDArray[np.bool_]) -> float | None:
    """Mean of abs(before - after) / abs(before) in percent, over the usable elements."""
    terms = np.abs(before - after)
    with np.errstate(over="ignore"):
        np.divide(terms, np.abs(before), out=terms, where=usable)
        count = int(np.count_nonzero(usable))
        return finite(100 * terms.sum(where=usable) / count) if count else None


def _covariances(X: Matrix) -> Matrix:
    centred = X - X.mean(axis=0)
    V: Matrix = centred.T @ centred / len(X)
    return V


def il1s(original: Matrix, masked: Matrix) -> float | None:
    """IL1s: mean of abs(x - x') / (sqrt(2) sd), with the standard deviation (ddof 1) of the original attribute.

    Scaling by the standard deviation instead of the value, as `variations` does, is safe for values near zero.

    Attributes that are constant in the original are left out; None if none varies.

    Notes
    -----
    Today's sdcMicro, ``dUtility(method="IL1s")``, prints the sum over all values: n d times this mean. Old versions
    gave the mean, but multiplied by sqrt(2) where the paper divides.

    References
    ----------
    Mateo-Sanz, Sebé & Domingo-Ferrer (2004), Outlier protection in continuous microdata masking, Privacy in Statistical
    Databases, LNCS 3050, 201-215.
    """
    varies = original.min(axis=0) < original.max(axis=0)
    if not varies.any():
        return None
    X, Y = near_one(original[:, varies], masked[:, varies])
    moved = np.abs(X - Y).mean(axis=0)
    return finite((moved / (np.sqrt(2) * X.std(axis=0, ddof=1))).mean())


def eigenvalue_loss(original: Matrix, masked: Matrix) -> float | None:
    """Relative change of the eigenvalues of the standardised data's covariance matrix.

    Sum over the d eigenvalues, largest first, of abs(l - l') / l. Both files are standardised by their own means and
    standard deviations, so that only a change of the correlations counts.

    Attributes that are constant in the original are left out, as are its eigenvalues that are zero (less than 1e-10 of
    the largest: an attribute that is the sum of others brings one). An attribute that only the masked file makes
    constant is zero there. None if no attribute varies; 0 for a single one.

    Notes
    -----
    sdcMicro's ``dUtility(method="eigen")``, which divides by zero eigenvalues as rounding left them.

    References
    ----------
    Templ & Meindl (2008), Robust statistics meets SDC: new disclosure risk measures for continuous microdata masking,
    Privacy in Statistical Databases, LNCS 5262, 113-126.
    """
    varies = original.min(axis=0) < original.max(axis=0)
    if not varies.any():
        return None
    before, after = _eigenvalues(original[:, varies]), _eigenvalues(masked[:, varies])
    usable = before > 1e-10 * before.max()
    return finite((np.abs(before - after)[usable] / before[usable]).sum())


def _eigenvalues(X: Matrix) -> NDArray[np.float64]:
    Z = standardize(X)
    values: NDArray[np.float64] = np.linalg.eigvalsh(Z.T @ Z / len(Z)).astype(np.float64)
    return values

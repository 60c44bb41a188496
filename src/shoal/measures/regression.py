"""Linear and logistic regression, with the confidence intervals of their coefficients: what analysts run on a file."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ShoalError
from shoal.kernels.standardize import Matrix

Vector = NDArray[np.float64]

COLLINEAR = 1e-8  # what terms leave of another term, as a share of it, if they determine it
STEPS = 25
CONVERGED = 1e-8  # change of a coefficient times the root mean square of its term


@dataclass(frozen=True)
class Fit:
    """Coefficients of a regression.

    Attributes
    ----------
    estimates, errors
        The coefficients and their standard errors.
    freedom
        Degrees of freedom of the intervals; None if they are those of the normal distribution.
    """

    estimates: Vector
    errors: Vector
    freedom: int | None

    def intervals(self, confidence: float = 0.95) -> tuple[Vector, Vector]:
        """Return the ends of the confidence intervals."""
        reach = quantile(confidence, self.freedom) * self.errors
        return self.estimates - reach, self.estimates + reach


class NotEstimable(ShoalError):
    """There are no such coefficients; the message is a phrase, `column` the column of X that is at fault, if any."""

    column: int | None = None


def quantile(confidence: float, freedom: int | None = None) -> float:
    """Return how many standard errors a two-sided confidence interval reaches to each side."""
    from scipy.special import ndtri, stdtrit  # slow to load

    above = 0.5 + confidence / 2
    return float(ndtri(above) if freedom is None else stdtrit(freedom, above))


def independent(X: Matrix) -> NDArray[np.bool_]:
    """Return which columns are no linear combination of those before them.

    X = QR, so that columns of X depend on others as those of the small matrix R do. There by Gram-Schmidt, twice: a
    column of which next to nothing is left after those before it depends on them, and is left out before the next one
    is looked at, as R's `lm` does.
    """
    lengths = np.sqrt((X * X).sum(axis=0))
    R = _triangle(X / np.where(lengths > 0, lengths, 1.0))
    basis = np.zeros(R.shape)
    found = np.zeros(X.shape[1], dtype=bool)
    for j in np.flatnonzero(lengths):
        before = basis[:, : np.count_nonzero(found)]
        rest = R[:, j]
        for _ in range(2):  # the second time for what rounding left
            rest = rest - before @ (before.T @ rest)
        size = float(np.sqrt(rest @ rest))
        if size > COLLINEAR:
            basis[:, before.shape[1]] = rest / size
            found[j] = True
    return found


def _triangle(X: Matrix) -> Matrix:
    """Return R of X = QR."""
    return np.asarray(np.linalg.qr(X, mode="r"), dtype=np.float64)


def least_squares(X: Matrix, y: Vector, weights: Vector | None = None) -> Fit:
    """Estimate a linear regression of y on the independent columns of X.

    Without weights, standard errors are the classic ones, ``s^2 (X'X)^-1`` with n - p degrees of freedom. With survey
    weights they are by linearization (Binder 1983), for records drawn independently: ``(X'WX)^-1 (sum of w_i^2 r_i^2
    x_i x_i') (X'WX)^-1 n / (n - 1)``.

    References
    ----------
    Binder (1983), On the variances of asymptotically normal estimators from complex surveys, International Statistical
    Review 51, 279-292.
    """
    _refuse(X, y)
    n, p = X.shape
    w = np.ones(n) if weights is None else weights / weights.mean()
    scale = np.sqrt((X * X).mean(axis=0))
    Z = X / scale
    root = np.sqrt(w)
    R = _triangle(np.column_stack([Z * root[:, None], y * root]))  # with Q'y as its last column
    estimates = np.linalg.solve(R[:p, :p], R[:p, p])
    residuals = y - Z @ estimates
    inverse = np.linalg.inv(R[:p, :p])
    bread = inverse @ inverse.T
    if weights is None:
        variance = bread * float(residuals @ residuals) / (n - p)
    else:
        variance = _linearized(bread, Z, w * residuals)
    return Fit(estimates / scale, np.sqrt(np.diag(variance)) / scale, n - p)


def records_behind(X: Matrix, weights: Vector | None = None) -> Vector:
    """Return on how many records each coefficient of a linear regression on the independent columns of X rests.

    A coefficient is a sum of a_i y_i over the records, and rests on ``(sum of a_i^2)^2 / sum of a_i^4`` of them: on m,
    if it is the mean of m; on hardly more than one, if it compares one record with the mean of many others.
    """
    w = np.ones(len(X)) if weights is None else weights / weights.mean()
    root = np.sqrt(w)[:, None]
    Z = X / np.sqrt((X * X).mean(axis=0))
    inverse = np.linalg.inv(_triangle(Z * root))
    squares = ((Z * w[:, None]) @ (inverse @ inverse.T)) ** 2
    behind: Vector = squares.sum(axis=0) ** 2 / (squares**2).sum(axis=0)
    return behind


def logistic(X: Matrix, y: Vector, weights: Vector | None = None) -> Fit:
    """Estimate a logistic regression of y, between 0 and 1, on the independent columns of X by maximum likelihood.

    Iteratively reweighted least squares, until no coefficient changes; where a term separates the records in which y
    is 0 from those in which it is 1, coefficients grow without end. Standard errors are by the information matrix, or
    with survey weights by linearization as in `least_squares`.
    """
    _refuse(X, y)
    n, p = X.shape
    if y.min() < 0 or y.max() > 1:
        raise NotEstimable("response-outside-range")
    w = np.ones(n) if weights is None else weights / weights.mean()
    scale = np.sqrt((X * X).mean(axis=0))
    Z = X / scale
    estimates = np.zeros(p)
    for _ in range(STEPS):
        probabilities = _logistic(Z @ estimates)
        information = _information(Z, w * probabilities * (1 - probabilities))
        try:
            step = np.linalg.solve(information, Z.T @ (w * (y - probabilities)))
        except np.linalg.LinAlgError:
            break
        estimates = estimates + step
        if not np.isfinite(estimates).all():
            break
        if np.abs(step).max() < CONVERGED:
            probabilities = _logistic(Z @ estimates)
            bread = np.asarray(
                np.linalg.inv(_information(Z, w * probabilities * (1 - probabilities))), dtype=np.float64
            )
            variance = bread if weights is None else _linearized(bread, Z, w * (y - probabilities))
            return Fit(estimates / scale, np.sqrt(np.diag(variance)) / scale, None)
    largest = int(np.nan_to_num(np.abs(estimates[1:]), nan=np.inf).argmax()) + 1 if p > 1 else None
    error = NotEstimable("separated-response")
    error.column = largest
    raise error


def _refuse(X: Matrix, y: Vector) -> None:
    n, p = X.shape
    if n <= p:
        raise NotEstimable("too-few-for-coefficients", records=n, coefficients=p)
    if y.min() == y.max():
        raise NotEstimable("response-constant")


def _logistic(linear: Vector) -> Vector:
    return np.asarray(1 / (1 + np.exp(-np.clip(linear, -500, 500))))


def _information(Z: Matrix, weights: Vector) -> Matrix:
    return np.asarray((Z * weights[:, None]).T @ Z)


def _linearized(bread: Matrix, Z: Matrix, scores: Vector) -> Matrix:
    S = Z * scores[:, None]
    return np.asarray(bread @ (S.T @ S) @ bread * (len(Z) / (len(Z) - 1)))


def interval_overlap(low: float, high: float, other_low: float, other_high: float) -> float:
    """Overlap of two confidence intervals: the mean of the shares of both that the other covers, 0 to 1.

    Intervals that do not meet have 0. One without length is covered or not.

    References
    ----------
    Karr, Kohnen, Oganian, Reiter & Sanil (2006), A framework for evaluating the utility of data altered to protect
    confidentiality, The American Statistician 60, 224-232.
    """
    common = min(high, other_high) - max(low, other_low)
    if common < 0:
        return 0.0
    lengths = high - low, other_high - other_low
    return float(sum(common / length if length > 0 else 1.0 for length in lengths) / 2)

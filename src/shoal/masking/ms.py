"""Muralidhar-Sarathy: hybrid data that mix every record with noise, in a proportion that is asked for."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr

from shoal.scaling import Matrix, standardize

# An alpha of 1 would publish the original; the nearest that is offered instead.
MOST = 0.99
# What is smaller than this, in units of standard deviations, is the rounding error of a zero.
ROUNDING = 1e-10
STEPS = 1000


def muralidhar_sarathy(X: Matrix, Y: Matrix, alpha: ArrayLike, rng: int | np.random.Generator | None = None) -> Matrix:
    """Mask confidential attributes by x' = gamma + x alpha' + y beta' + e, which keeps means and covariances exactly.

    With S the covariance matrix of X given Y (that of the residuals of X regressed on Y),

    - beta' = S_YY^-1 S_YX (I - alpha'), gamma = (I - alpha) mean(X) - beta mean(Y),
    - e has mean 0, the covariance matrix S - alpha S alpha', and is uncorrelated with X and Y,

    so that x' = fitted + residual alpha' + e. Means of X, covariances of X and of X with Y stay what they were [1]_.
    An alpha of 0 is a synthetic file, the nearer to 1 the more of each record is its own. The noise is given its
    covariance matrix exactly, and attributes may be constant or collinear.

    Parameters
    ----------
    X : (n, p) matrix
        The confidential attributes; finite.
    Y : (n, q) matrix
        The attributes that are published as they are; it may have no columns.
    alpha : number, (p,) or (p, p) array
        How much of a residual is the record's own: the same for all attributes (always possible), one for each, or a
        matrix. Between 0 and 1, on the diagonal of a matrix too; 1 would publish the original.
    rng : int, Generator or None
        Start of the random numbers. None takes fresh ones from the operating system; whoever knows the number can
        take the noise off again, so it must not be published.

    Returns
    -------
    (n, p) matrix

    Raises
    ------
    ValueError
        If S - alpha S alpha' is not positive semidefinite, so that no noise can have it; `nearest_admissible` gives
        an alpha for which it is. If there are too few records for noise that is uncorrelated with X and Y.

    References
    ----------
    .. [1] K. Muralidhar and R. Sarathy, "Generating sufficiency-based non-synthetic perturbed data", Transactions on
       Data Privacy 1 (2008) 17-33; J. Domingo-Ferrer, "Microaggregation-based numerical hybrid data", Joint
       UNECE/Eurostat work session on statistical data confidentiality, Bilbao 2009, section 4.1.
    """
    _refuse_what_is_no_number(X, Y)
    n = len(X)
    deviation = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    fit = _basis(np.column_stack([np.ones(n), standardize(Y)]))
    R = _beside(fit, standardize(X))  # residuals, in standard deviations of X
    R[:, np.linalg.norm(R, axis=0) <= ROUNDING * np.sqrt(n)] = 0.0
    S = R.T @ R / n
    _refuse_inadmissible(alpha, S * np.outer(deviation, deviation))
    own = _matrix(alpha, len(S)) * deviation / deviation[:, None]
    root = _root(S - own @ S @ own.T)
    taken = np.column_stack([fit, _basis(R)])
    if n - taken.shape[1] < len(root):
        raise ValueError(
            f"{n} records are too few for noise that is uncorrelated with all attributes:"
            f" {taken.shape[1] + len(root)} are needed"
        )
    e = np.sqrt(n) * _orthonormal_noise(taken, len(root), rng) @ root
    values: Matrix = X - (R - R @ own.T - e) * deviation
    return values


def nearest_admissible(alpha: ArrayLike, S: Matrix) -> Matrix:
    """Return an alpha for which S - alpha S alpha' is positive semidefinite, as near as possible to the one asked for.

    It lies on the straight way from there (its diagonal brought between 0 and 1) to the same level for all attributes,
    the mean of the diagonal. That end is always admissible, and as admissible alphas are a convex set, what is past the
    first one is admissible too. The way is gone in thousandths, so that what is offered has few digits.

    Parameters
    ----------
    alpha : number, (p,) or (p, p) array
        As in `muralidhar_sarathy`.
    S : (p, p) matrix
        The covariance matrix of X given Y, in the units of the data.

    Returns
    -------
    array of the shape of alpha
        Alpha itself if it is admissible.
    """
    asked = np.array(alpha, dtype=np.float64)
    _matrix(asked, len(S))  # the shape is right
    diagonal = np.diagonal(asked) if asked.ndim == 2 else asked
    within = np.where(diagonal >= 1, MOST, np.maximum(diagonal, 0.0))
    end = np.broadcast_to(within.mean(), within.shape)
    if asked.ndim == 2:
        asked, end = asked - np.diag(diagonal - within), np.diag(end)
    else:
        asked = within
    low, high = 0, STEPS  # the first admissible step is beyond low - 1, and not beyond high
    while low < high:
        middle = (low + high) // 2
        if _admissible(asked + (end - asked) * (middle / STEPS), S):
            high = middle
        else:
            low = middle + 1
    found: Matrix = asked + (end - asked) * (high / STEPS)
    return found


def _refuse_what_is_no_number(X: Matrix, Y: Matrix) -> None:
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y):
        raise ValueError("X and Y must be matrices with the same number of records")
    for name, given in (("X", X), ("Y", Y)):
        if not np.isfinite(given).all():
            record, column = np.argwhere(~np.isfinite(given))[0] + 1
            raise ValueError(f"record {record} has a missing or infinite value in column {column} of {name}")


def _refuse_inadmissible(alpha: ArrayLike, S: Matrix) -> None:
    matrix = _matrix(alpha, len(S))
    diagonal = np.diag(matrix)
    offer = f"; the nearest that can be used is {np.array2string(nearest_admissible(alpha, S), precision=6)}"
    if not ((diagonal >= 0) & (diagonal < 1)).all():
        raise ValueError(f"alpha must be at least 0 and less than 1, which would publish the original{offer}")
    if not _admissible(matrix, S):
        raise ValueError(
            "this alpha would take more variance from the records than they have: S - alpha S alpha', the covariance"
            " matrix of the noise, must be positive semidefinite, where S is that of X given Y, as it always is for"
            f" an alpha that is the same for all attributes{offer}"
        )


def _orthonormal_noise(taken: Matrix, count: int, rng: int | np.random.Generator | None) -> Matrix:
    """Draw so many orthonormal columns at random, orthogonal to a basis."""
    # A stream of our own: data simulated from the same seed must not meet the same numbers as noise.
    drawn = np.random.default_rng(rng).spawn(1)[0].standard_normal((len(taken), count))
    V, triangle = np.linalg.qr(_beside(taken, drawn))
    if (np.abs(np.diag(triangle)) < ROUNDING).any():
        raise ValueError("the random numbers are a combination of the data: take another seed")
    turned: Matrix = V * np.sign(np.diag(triangle))  # else the first record's sign would always be the same
    return turned


def _matrix(alpha: ArrayLike, p: int) -> Matrix:
    given = np.asarray(alpha, dtype=np.float64)
    if not np.isfinite(given).all():
        raise ValueError("alpha must not have missing or infinite values")
    if given.shape == ():
        return np.eye(p) * given
    if given.shape == (p,):
        return np.diag(given)
    if given.shape == (p, p):
        return given
    raise ValueError(f"alpha must be a number, {p} numbers or a matrix of {p} by {p}, as there are {p} attributes")


def _admissible(alpha: Matrix, S: Matrix) -> bool:
    """Say whether S - alpha S alpha' is positive semidefinite, whatever the units."""
    deviation = np.sqrt(np.where(np.diag(S) > 0, np.diag(S), 1.0))
    R = S / np.outer(deviation, deviation)
    own = _matrix(alpha, len(S)) * deviation / deviation[:, None]
    return bool(np.linalg.eigvalsh(R - own @ R @ own.T).min(initial=0.0) >= -ROUNDING)


def _root(S: Matrix) -> Matrix:
    """Return C with C'C = S and as many rows as S has rank."""
    values, vectors = np.linalg.eigh(S)
    positive = values > ROUNDING
    C: Matrix = np.sqrt(values[positive])[:, None] * vectors[:, positive].T
    return C


def _basis(A: Matrix) -> Matrix:
    """Return an orthonormal basis of the columns, which may be collinear."""
    Q, R, _ = qr(A, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    basis: Matrix = Q[:, size > ROUNDING * np.sqrt(len(A))]
    return basis


def _beside(basis: Matrix, A: Matrix) -> Matrix:
    """Take from the columns their projection on an orthonormal basis; the second time removes what rounding left."""
    A = A - basis @ (basis.T @ A)
    left: Matrix = A - basis @ (basis.T @ A)
    return left

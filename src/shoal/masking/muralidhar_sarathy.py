"""Muralidhar-Sarathy: hybrid data that mix every record with noise, in a proportion that is asked for."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr

from shoal.kernels.standardize import Matrix, columns_near_one, finite_pair, standardize

Column = NDArray[np.float64]

# The least number of records, in all and for each attribute: see `muralidhar_sarathy`.
LEAST_RECORDS, PER_ATTRIBUTE = 100, 10
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
    Alpha is one number for all attributes (always possible), one for each, or a matrix. 0 is a synthetic file; the
    nearer to 1, the more of each record is its own. S - alpha S alpha' must be positive semidefinite: `admissible_near`
    finds such an alpha. The noise gets its covariance matrix exactly, and attributes may be constant or collinear.
    Anyone who knows the seed can remove the noise, so it must not be published.

    Notes
    -----
    As the noise is uncorrelated with X, the products of published and original residuals are alpha S, which is known:
    equations for the values of each attribute, one for each of the others. They are part of the method. If values are
    whole numbers of few digits and records are few, they can be solved, which is why small files are refused.

    References
    ----------
    .. [1] K. Muralidhar and R. Sarathy, "Generating sufficiency-based non-synthetic perturbed data", Transactions on
       Data Privacy 1 (2008) 17-33; J. Domingo-Ferrer, "Microaggregation-based numerical hybrid data", Joint
       UNECE/Eurostat work session on statistical data confidentiality, Bilbao 2009, section 4.1.
    """
    X, Y = finite_pair(X, Y)
    X, exponents = columns_near_one(X, "X")
    n = len(X)
    _refuse_few(n, X.shape[1], Y.shape[1])
    deviation = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
    fit, R = _regression(X, Y)
    S = R.T @ R / n
    own = _in_deviations(alpha, deviation, exponents)
    _refuse_inadmissible(own, S, np.asarray(alpha, dtype=np.float64))
    own = _matrix(own, len(S))
    root = _root(S - own @ S @ own.T)
    taken = np.column_stack([fit, _basis(R)])
    e = np.sqrt(n) * _orthonormal_noise(taken, len(root), rng) @ root
    values: Matrix = np.ldexp(X - (R - R @ own.T - e) * deviation, exponents)
    return values


class Freedom(NamedTuple):
    """How much the noise can change."""

    room: Column  # of each record: 1 less its leverage in a regression on X and Y; near 0, there is hardly any noise
    left: Column  # of each attribute: 1 less R squared of its regression on Y; near 0, Y nearly gives it away


def freedom(X: Matrix, Y: Matrix) -> Freedom:
    """Explain where the data leave little for the noise of `muralidhar_sarathy`, which takes the same X and Y."""
    X, Y = finite_pair(X, Y)
    X, _ = columns_near_one(X, "X")
    fit, R = _regression(X, Y)
    taken = np.column_stack([fit, _basis(R)])
    varies = np.ptp(X, axis=0) > 0
    return Freedom(1 - np.square(taken).sum(axis=1), np.where(varies, np.square(R).mean(axis=0), 1.0))


def admissible_near(alpha: ArrayLike, S: Matrix) -> Matrix:
    """Return an alpha near the one requested, or itself, for which S - alpha S alpha' is positive semidefinite.

    It lies on the straight way from there (its diagonal brought between 0 and 1) to the same level for all attributes,
    the mean of the diagonal. That end is always admissible, and as admissible alphas are a convex set, what is past the
    first one is admissible too. The way is gone in thousandths, so that what is offered has few digits.
    """
    asked = np.array(alpha, dtype=np.float64)
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


def _refuse_few(n: int, p: int, q: int) -> None:
    least = max(LEAST_RECORDS, PER_ATTRIBUTE * (p + q))
    if n < least:
        raise ValueError(
            f"{n} records are too few for method 'ms': what it preserves are equations that fewer than {least} records"
            f" ({LEAST_RECORDS}, and {PER_ATTRIBUTE} for each attribute) may not hide. Use --method hybrid."
        )


def _regression(X: Matrix, Y: Matrix) -> tuple[Matrix, Matrix]:
    """Return a basis of (1, Y), and the residuals of X in standard deviations of X."""
    fit = _basis(np.column_stack([np.ones(len(X)), standardize(Y)]))
    R = _beside(fit, standardize(X))
    R[:, np.linalg.norm(R, axis=0) <= ROUNDING * np.sqrt(len(X))] = 0.0
    return fit, R


def _in_deviations(alpha: ArrayLike, deviation: Column, exponents: NDArray[np.int32]) -> Matrix:
    """Return alpha for attributes in units of their standard deviations; only what is off a diagonal changes."""
    given = np.asarray(alpha, dtype=np.float64)
    if given.ndim < 2:
        return given
    scale = np.ldexp(deviation / deviation[:, None], exponents - exponents[:, None])
    return np.where(given == 0, 0.0, given * np.where(given == 0, 1.0, scale))


def _refuse_inadmissible(own: Matrix, S: Matrix, alpha: Matrix) -> None:
    """Refuse an alpha (`own`, in standard deviations), and offer another, in the units of the alpha given."""
    matrix = _matrix(own, len(S))
    diagonal = np.diag(matrix)
    near = admissible_near(own, S)
    offered = near if alpha.ndim < 2 else near * np.divide(alpha, own, out=np.ones_like(alpha), where=own != 0)
    offer = f"; one that can be used is {np.array2string(offered, precision=6)}"
    if not ((diagonal >= 0) & (diagonal < 1)).all():
        raise ValueError(f"alpha must be at least 0 and less than 1, which would publish the original{offer}")
    if not _admissible(matrix, S):
        raise ValueError(
            "alpha takes more variance from the records than they have: S - alpha S alpha' must be positive"
            f" semidefinite, as it always is for one alpha for all attributes{offer}"
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
    """Return alpha, given as a number, as p numbers or as a matrix, as a matrix of p by p."""
    given = np.asarray(alpha, dtype=np.float64)
    return given if given.ndim == 2 else np.eye(p) * given


def _admissible(alpha: Matrix, S: Matrix) -> bool:
    """Return whether S - alpha S alpha' is positive semidefinite, whatever the units."""
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

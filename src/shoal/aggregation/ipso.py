"""IPSO: synthetic values of confidential attributes that keep their regression on the other attributes."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.hybrid import A, B, C, synthesise
from shoal.scaling import Matrix

Seed = int | np.random.Generator | None
Variant = Literal["A", "B", "C"]
_CODES = {"A": A, "B": B, "C": C}

# The original residuals of a group lie, for all that is published, anywhere in a space of so many dimensions at least.
LEAST_FREEDOM = 3


def ipso(X: Matrix, Y: Matrix, rng: Seed = None, variant: Variant = "C") -> Matrix:
    """Replace confidential attributes by synthetic ones (Information Preserving Statistical Obfuscation).

    X is regressed on Y, X = fitted + E, and the residuals E are replaced by synthetic ones E'. With n records, the
    model's covariance matrix S = E'E / n, and noise drawn from a normal distribution, the variants of [1]_ are

    - ``A``: noise with covariance matrix S is added to the fitted values. Everything is kept in expectation, nothing
      exactly.
    - ``B``: the noise is made orthogonal to 1 and Y first. The coefficients of the regression, hence the means of X and
      its covariances with Y, are kept exactly.
    - ``C``: it is also given the covariance matrix S exactly. Means, covariances of X and covariances of X with Y are
      all kept: the sufficient statistics of the normal model. This is the IPSO of hybrid data [2]_.

    In ``C``, the noise is regressed on Y and X, as in [2]_, so that synthetic residuals are uncorrelated with the
    original ones; only on Y if X singles a record out, whose synthetic residuals would be zero. Nothing is inverted:
    with U an orthonormal basis of E, and V one of what the regression leaves of the noise, E' = V U'E. Constant and
    collinear attributes shorten a basis, and no more.

    Parameters
    ----------
    X : (n, p) matrix
        The confidential attributes; finite. There are at least ``least_k(p, q)`` records.
    Y : (n, q) matrix
        The attributes that are published as they are; it may have no columns.
    rng : int, Generator or None
        Start of the random numbers. None takes fresh ones from the operating system; whoever knows the number can
        take the noise off again, so it must not be published.
    variant : {"A", "B", "C"}

    Returns
    -------
    (n, p) matrix
        What Y determines (a constant, a linear combination of Y) is its own only possible value and stays as it is:
        `shoal.aggregation.microhybrid` reports it.

    References
    ----------
    .. [1] J. Burridge, "Information preserving statistical obfuscation", Statistics and Computing 13 (2003) 321-327.
    .. [2] J. Domingo-Ferrer, "Microaggregation-based numerical hybrid data", Joint UNECE/Eurostat work session on
       statistical data confidentiality, Bilbao 2009, section 2.1.

    Examples
    --------
    >>> X, Y = np.array([[1.0], [4], [2], [8], [5], [7]]), np.arange(6.0)[:, None]
    >>> synthetic = ipso(X, Y, rng=0)
    >>> bool(np.isclose(synthetic.var(), X.var())), bool(np.isclose((synthetic * Y).sum(), (X * Y).sum()))
    (True, True)
    """
    X, Y = checked(X, Y)
    refuse_fewer(len(X), X.shape[1], Y.shape[1])
    order, starts = np.arange(len(X)), np.array([0, len(X)])
    values: Matrix = synthesise(X, Y, noise(X, rng), order, starts, _CODES[variant])[0]
    return values


def least_k(n_x: int, n_y: int) -> int:
    """Return the least number of records for synthetic values of `n_x` attributes, beside `n_y` others.

    It is n_x + n_y + 1 + max(n_x, 3). Means and regression take n_y + 1 dimensions and the original residuals n_x. In
    the rest, synthetic residuals need n_x dimensions: 2 n_x + n_y + 1 records. ([1]_ prints this with X and Y
    interchanged, in section 3.1; with fewer records Cholesky's method fails there, or rounding errors are published.)

    For one or two attributes this is too little, for the original residuals are in turn to be found beside what is
    published, in a space of n - 1 - n_y - n_x dimensions. If that has one dimension, they are known up to a sign. If it
    has two, all records hide behind one angle, and a member who knows the own record can solve for it. In s >= 3
    dimensions r <= s independent residuals leave s r - r (r + 1) / 2 numbers open, of which a known record fixes r (or
    s - 1, if r = s): less than there are.

    References
    ----------
    .. [1] J. Domingo-Ferrer, "Microaggregation-based numerical hybrid data", Joint UNECE/Eurostat work session on
       statistical data confidentiality, Bilbao 2009.

    Examples
    --------
    >>> least_k(4, 3), least_k(1, 0)
    (12, 5)
    """
    if n_x < 1 or n_y < 0:
        raise ValueError("synthetic values need at least one confidential attribute")
    return n_x + n_y + 1 + max(n_x, LEAST_FREEDOM)


def refuse_fewer(records: int, n_x: int, n_y: int) -> None:
    """Say how many records are needed and why, if there are fewer."""
    least = least_k(n_x, n_y)
    if records < least:
        raise ValueError(
            f"{records} records are too few to make {n_x} confidential attributes synthetic beside {n_y} others:"
            f" it takes {least}, of which {n_y + 1} are spent on means and regression, {n_x} on keeping clear of the"
            f" original values and {least - n_x - n_y - 1} on the synthetic ones; ask for a larger k or for fewer"
            " attributes"
        )


def noise(X: Matrix, rng: Seed) -> Matrix:
    """Draw a standard normal number for every value; a record's own come with it into whatever group it is in."""
    return stream(rng).standard_normal(X.shape)


def stream(rng: Seed) -> np.random.Generator:
    """Return random numbers of our own: data simulated from the same seed must not meet the same numbers as noise."""
    return np.random.default_rng(rng).spawn(1)[0]


def checked(X: Matrix, Y: Matrix) -> tuple[Matrix, Matrix]:
    """Return both matrices as the kernels take them, or say what is wrong with them."""
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y):
        raise ValueError("X and Y must be matrices with the same number of records")
    for name, matrix in (("X", X), ("Y", Y)):
        place: NDArray[np.int64] = np.argwhere(~np.isfinite(matrix))
        if place.size:
            record, column = place[0] + 1
            raise ValueError(f"record {record} has a missing or infinite value in column {column} of {name}")
    return np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(Y, dtype=np.float64)

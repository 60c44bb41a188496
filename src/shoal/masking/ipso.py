"""IPSO: synthetic values of confidential attributes that keep their regression on the other attributes."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.ipso import A, B, C, synthesise
from shoal.kernels.standardize import Matrix, columns_near_one, finite_pair

Seed = int | np.random.Generator | None
Variant = Literal["A", "B", "C"]
_CODES = {"A": A, "B": B, "C": C}

# The original residuals of a group lie, for all that is published, anywhere in a space of so many dimensions at least.
LEAST_FREEDOM = 4


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

    Nothing is inverted: with U an orthonormal basis of E, and V one of what a regression on Y leaves of the noise,
    E' = V U'E. Constant and collinear attributes shorten a basis, and no more. V is drawn once, and not regressed on X
    as in [2]_: synthetic residuals that are uncorrelated with the original ones are an equation for every pair of
    attributes, which can be solved for values that are whole numbers; and repeated releases of the same records, with
    fresh noise, would all avoid one direction, that of the original. So would the best of several draws.

    Parameters
    ----------
    X : (n, p) matrix
        The confidential attributes; finite. There are at least ``least_k(p, q)`` records.
    Y : (n, q) matrix
        The attributes that are published as they are; it may have no columns.
    rng : int, Generator or None
        Start of the random numbers. None takes fresh ones from the operating system; anyone who knows the number can
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
    if variant not in _CODES:
        raise ValueError("variant must be 'A', 'B' or 'C'")
    X, Y, unit = checked(X, Y)
    refuse_fewer(len(X), X.shape[1], Y.shape[1])
    order, starts = np.arange(len(X)), np.array([0, len(X)])
    values, _, _ = synthesise(X, Y, noise(X, rng), order, starts, _CODES[variant])
    return np.ldexp(values, unit)


def least_k(n_x: int, n_y: int) -> int:
    """Return the least number of records for synthetic values of `n_x` attributes, beside `n_y` others.

    It is n_y + 1 + max(2 n_x, 4). Means and regression take n_y + 1 dimensions; residuals, original and synthetic, lie
    in the d = n - n_y - 1 that are left, for two reasons:

    - d >= 2 n_x, or two spaces of n_x dimensions would meet: some combination of the published attributes would be, for
      every record, a combination of the original ones. These are the 2 n_x + n_y + 1 records of [1]_ (who prints
      this with X and Y interchanged, in section 3.1).
    - d >= 4, for anyone who has the release knows the lengths and angles of the original residuals, and not where they
      point. Of r residuals, d r - r (r + 1) / 2 numbers stay open, and a member who knows the own record fixes r of
      them. A single one that is left can be found by trying, if values are whole numbers; so at least two are.

    The sums, sums of squares and cross products of each group are known all the same: that is what is preserved. If
    values are small whole numbers, few sets of values have the same ones in the smallest groups; take a larger k.

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
    return n_y + 1 + max(2 * n_x, LEAST_FREEDOM)


def refuse_fewer(records: int, n_x: int, n_y: int) -> None:
    """Explain how many records are needed, if there are fewer."""
    least = least_k(n_x, n_y)
    if records < least:
        raise ValueError(
            f"{records} records are too few to make {n_x} confidential attributes synthetic beside {n_y} others:"
            f" it takes {least}, of which {n_y + 1} are spent on means and regression, and {least - n_y - 1} leave the"
            " original values open; ask for a larger k or for fewer attributes"
        )


def noise(X: Matrix, rng: Seed) -> Matrix:
    """Draw standard normal numbers for every value; a record's own come with it into whatever group it is in."""
    return stream(rng).standard_normal(X.shape)


def stream(rng: Seed) -> np.random.Generator:
    """Return random numbers of our own: data simulated from the same seed must not meet the same numbers as noise."""
    return np.random.default_rng(rng).spawn(1)[0]


def checked(X: Matrix, Y: Matrix) -> tuple[Matrix, Matrix, NDArray[np.int32]]:
    """Return both matrices as the kernels take them, brought near one, and the power of two that X was divided by."""
    X, Y = finite_pair(X, Y)
    (X, unit), (Y, _) = columns_near_one(X, "X"), columns_near_one(Y, "Y")
    return X, Y, unit

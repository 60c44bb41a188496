"""IPSO: how many records synthetic values need, and the random numbers that they are made of."""

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.standardize import Matrix, columns_near_one, finite_pair

Seed = int | np.random.Generator | None

# The original residuals of a group lie, for all that is published, anywhere in a space of so many dimensions at least.
LEAST_FREEDOM = 4


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
    """
    return n_y + 1 + max(2 * n_x, LEAST_FREEDOM)


def least_k_orthogonal(n_x: int, n_y: int) -> int:
    """Return the least number of records for synthetic residuals that are orthogonal to the original ones.

    Noise is regressed on 1, Y and X, and `n_x` of the n - n_x - n_y - 1 dimensions that are left are taken: 2 n_x + n_y
    + 1 records, as in [1]_ (who prints this with X and Y interchanged, in section 3.1).

    References
    ----------
    .. [1] J. Domingo-Ferrer, "Microaggregation-based numerical hybrid data", Joint UNECE/Eurostat work session on
       statistical data confidentiality, Bilbao 2009.
    """
    return 2 * n_x + n_y + 1


def safe_k_orthogonal(n_x: int, n_y: int) -> int:
    """Return from how many records on orthogonal residuals leave as much open as `least_k` asks of independent ones.

    Original residuals lie in the d - r dimensions that the r published ones leave, so that (d - r) r - r (r + 1) / 2
    numbers stay open, and a member who knows the own record fixes r of them. At least two are left from d >= r + 4 on,
    or d >= 2 r if that is more. With a single attribute and d = 2, none is: the originals are known up to a sign.
    """
    return n_y + 1 + max(2 * n_x, n_x + LEAST_FREEDOM)


def refuse_fewer(records: int, n_x: int, n_y: int, *, orthogonal: bool = False) -> None:
    """Raise a DataError with the number of records needed, if there are fewer."""
    least = least_k_orthogonal(n_x, n_y) if orthogonal else least_k(n_x, n_y)
    if records < least:
        sizes = {"records": records, "sensitive": n_x, "quasi": n_y, "least": least}
        raise DataError("k-too-small-for-synthesis", field="k", **sizes)


def noise(X: Matrix, rng: Seed | Matrix) -> Matrix:
    """Draw standard normal numbers for every value; a record's own come with it into whatever group it is in."""
    return rng if isinstance(rng, np.ndarray) else stream(rng).standard_normal(X.shape)


def stream(rng: Seed) -> np.random.Generator:
    """Return random numbers of our own: data simulated from the same seed must not meet the same numbers as noise."""
    return np.random.default_rng(rng).spawn(1)[0]


def checked(X: Matrix, Y: Matrix) -> tuple[Matrix, Matrix, NDArray[np.int32]]:
    """Return both matrices as the kernels take them, brought near one, and the power of two that X was divided by."""
    X, Y = finite_pair(X, Y)
    (X, unit), (Y, _) = columns_near_one(X, "X"), columns_near_one(Y, "Y")
    return X, Y, unit

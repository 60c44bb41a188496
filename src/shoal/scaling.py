"""Bringing attributes to one scale, so that squared Euclidean distance treats them alike."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


class Scale(NamedTuple):
    """The map x -> (x - shift) / spread that brings an attribute to the common scale; a constant one becomes zero."""

    shift: float
    spread: float

    def apply(self, values: Matrix) -> Matrix:
        """Scale values of the attribute."""
        return (values - self.shift) / self.spread if self.spread > 0 else values * 0.0


def standardize(X: Matrix, how: Literal["zscore", "minmax", "none"] = "zscore") -> Matrix:
    """Scale each column of X; a constant column becomes zero and takes no part in any distance.

    Parameters
    ----------
    X : (n, d) matrix
    how : {"zscore", "minmax", "none"}
        ``zscore`` subtracts the mean and divides by the standard deviation (ddof 0: the convention behind the
        published results of MDAV), ``minmax`` maps the range to [0, 1], ``none`` leaves the values as they are.

    Returns
    -------
    (n, d) matrix, C-contiguous
    """
    if how == "none":
        return np.ascontiguousarray(X, dtype=np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    # A power of two brings every column near one without touching a digit: no square overflows or vanishes.
    _, exponent = np.frexp(np.maximum(np.abs(low), np.abs(high)))
    Z = np.ldexp(np.ascontiguousarray(X, dtype=np.float64), -exponent)  # in one layout, or sums differ in a bit
    shift, spread = (
        _moments(Z)
        if how == "zscore"
        else (np.ldexp(low, -exponent), np.ldexp(high, -exponent) - np.ldexp(low, -exponent))
    )
    Z -= shift
    # Asked of the values themselves: the computed spread of a constant column may be a rounding error above zero.
    constant = low == high
    spread[constant] = 1.0
    Z /= spread
    Z[:, constant] = 0.0
    return np.ascontiguousarray(Z)


def within_squares(X: Matrix) -> Matrix:
    """Divide all of X by one power of two where squares of it would overflow or vanish: no order of distances changes.

    Missing values, NaN, stay.
    """
    peak = np.fmax.reduce(np.abs(X), axis=None, initial=0.0)
    return X if peak == 0 or 1e-100 < peak < 1e100 else np.ldexp(X, -np.frexp(peak)[1])


def _moments(Z: Matrix) -> tuple[Matrix, Matrix]:
    """Give the mean and the standard deviation of each column, added up in the order of the values.

    Then they do not depend on the order of the records, not even in their last bit, which a search that draws random
    numbers would carry on into another partition.
    """
    ordered = np.sort(Z, axis=0)
    mean = ordered.mean(axis=0)
    ordered -= mean
    return mean, np.sqrt((ordered * ordered).mean(axis=0))

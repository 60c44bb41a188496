"""Bringing attributes to one scale, so that squared Euclidean distance treats them alike."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError

Matrix = NDArray[np.float64]

# Powers of two between which the largest value of an attribute lies: beyond, results could not be held in full.
LARGEST_EXPONENT = 1000


class Scale(NamedTuple):
    """The map x -> (x / 2^exponent - shift) / spread onto the common scale; a constant attribute becomes zero.

    The power of two brings the attribute near one without touching a digit: no square overflows or vanishes. `apart` is
    the squared distance of two categories, and of a missing value from any other.
    """

    shift: float
    spread: float
    exponent: int = 0
    apart: float = 1.0

    def apply(self, values: Matrix) -> Matrix:
        """Scale values of the attribute."""
        if not self.spread > 0:
            return values * 0.0
        return (np.ldexp(values, -self.exponent) - self.shift) / self.spread


def standardize(
    X: Matrix, how: Literal["zscore", "minmax", "none"] = "zscore", watch: NDArray[np.int64] | None = None
) -> Matrix:
    """Scale each column of X; a constant column becomes zero and takes no part in any distance.

    ``zscore`` subtracts the mean and divides by the standard deviation (ddof 0: the convention behind the published
    results of MDAV), ``minmax`` maps the range to [0, 1]. Once ``watch[1]`` is set, the result is of no use.
    """
    if how == "none":
        return np.ascontiguousarray(X, dtype=np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    # A power of two brings every column near one without touching a digit: no square overflows or vanishes.
    _, exponent = np.frexp(np.maximum(np.abs(low), np.abs(high)))
    Z = np.ldexp(np.ascontiguousarray(X, dtype=np.float64), -exponent)  # in one layout, or sums differ in a bit
    shift, spread = (
        _moments(Z, watch)
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


def exponent_of(X: Matrix) -> int:
    """Return the exponent of the power of two that X is divided by to be near one; see `matrix_near_one`."""
    return int(np.frexp(max(X.max(initial=0.0), -X.min(initial=0.0)))[1])


def matrix_near_one(X: Matrix) -> tuple[Matrix, int]:
    """Divide all of X by one power of two, and return its exponent too: ``(X / 2**e, e)``.

    That touches no digit and changes no order of distances, and no square overflows or vanishes.
    """
    exponent = exponent_of(X)
    return np.ldexp(np.ascontiguousarray(X, dtype=np.float64), -exponent), exponent


def column_exponents(X: Matrix) -> NDArray[np.int32]:
    """Return for each column the exponent of the power of two that it is divided by to be near one; NaN is left out."""
    exponents: NDArray[np.int32] = np.frexp(np.fmax.reduce(np.abs(X), axis=0, initial=0.0))[1]
    return exponents


def columns_near_one(X: Matrix, name: str) -> tuple[Matrix, NDArray[np.int32]]:
    """Divide each column by a power of two, and return the exponents too; `name` is for the error message."""
    exponents = column_exponents(X)
    refuse_exponents(exponents, name)
    return np.ascontiguousarray(np.ldexp(X, -exponents)), exponents


def refuse_exponents(exponents: NDArray[np.int32], name: str) -> None:
    """Refuse columns that are so large or so small that results could not be held in full."""
    if (beyond := np.abs(exponents) > LARGEST_EXPONENT).any():
        raise DataError("column-too-extreme", number=int(np.argmax(beyond)) + 1, matrix=name)


def finite_pair(X: Matrix, Y: Matrix) -> tuple[Matrix, Matrix]:
    """Return two matrices of the same records as float64; refuse what is not a finite number."""
    try:
        X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("matrix-not-numbers", matrix="X and Y") from None
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y):
        raise DataError("matrices-of-other-length")
    refuse_not_finite(X, "X")
    refuse_not_finite(Y, "Y")
    return X, Y


def refuse_not_finite(matrix: Matrix, name: str) -> None:
    """Refuse a matrix with a missing or infinite value, whose row and column the message has, counted from 0."""
    if not (finite := np.isfinite(matrix)).all():
        row, column = map(int, np.argwhere(~finite)[0])
        raise DataError("matrix-not-finite", matrix=name, row=row, column=column)


def within_squares(X: Matrix) -> Matrix:
    """Return X in C order, divided by one power of two where squares would overflow or vanish.

    No order of distances changes. Missing values, NaN, stay.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    peak = max(np.fmax.reduce(X, axis=None, initial=0.0), -np.fmin.reduce(X, axis=None, initial=0.0))
    return X if peak == 0 or 1e-100 < peak < 1e100 else np.ldexp(X, -np.frexp(peak)[1])


def _moments(Z: Matrix, watch: NDArray[np.int64] | None) -> tuple[Matrix, Matrix]:
    """Return the mean and the standard deviation of each column, added up in the order of the values.

    Then they do not depend on the order of the records, not even in their last bit, which a search that draws random
    numbers would carry on into another partition.
    """
    ordered = Z.copy()
    for column in ordered.T:
        if watch is None or watch[1] == 0:
            column.sort()
    mean = ordered.mean(axis=0)
    ordered -= mean
    return mean, np.sqrt((ordered * ordered).mean(axis=0))

"""The original and the masked file on the scales by which intruders compare them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.encoded import MEAN, MODE, EncodedMatrix
from shoal.kernels.standardize import Matrix, standardize
from shoal.measures.loss import on_one_scale

# In standard deviations: what is published so far off is taken for this, so that squares are numbers.
BEYOND = 1e70

Pair = tuple[EncodedMatrix, EncodedMatrix]


class LinkageSpaces(NamedTuple):
    """The same records before and after masking, in the same order, attributes of every type."""

    original: Matrix  # numbers, places of levels, numbers of categories; NaN where a value is missing
    masked: Matrix
    nominal: NDArray[np.bool_]  # which columns are categories
    own: Pair  # numbers as z-scores of each file by itself: the DLD of the literature
    masking: Pair  # balanced distances on the scale of the original: those that masked
    neutral: Pair  # `neutral`


def of_numbers(original: Matrix, masked: Matrix) -> LinkageSpaces:
    """Return the spaces of attributes that are all numbers, without missing values."""
    nominal = np.zeros(original.shape[1], dtype=bool)
    own = numeric(standardize(original)), numeric(standardize(masked))
    with np.errstate(over="ignore"):
        before, after = (numeric(np.clip(X, -BEYOND, BEYOND)) for X in on_one_scale(original, masked))
    return LinkageSpaces(original, masked, nominal, own, (before, after), neutral(original, masked, nominal))


def numeric(Z: Matrix) -> EncodedMatrix:
    """Return the space of numbers on one scale."""
    d = Z.shape[1]
    ones, zeros = np.ones(d), np.zeros(d, dtype=np.int64)
    return EncodedMatrix(np.ascontiguousarray(Z), np.full(d, MEAN, dtype=np.int64), ones, ones, zeros)


def neutral(original: Matrix, masked: Matrix, nominal: NDArray[np.bool_]) -> Pair:
    """Return both files by ranks and indicators, which no outlier, scale or choice of the masking method moves.

    Numbers and levels are mid-ranks within their own file, from 0 to 1; two categories are 1 apart, and so is a missing
    value from any other: the distance of Gower with ranks, squared.

    References
    ----------
    Gower (1971), A general coefficient of similarity and some of its properties, Biometrics 27, 857-871. Podani (1999),
    Extending Gower's general coefficient of similarity to ordinal characters, Taxon 48, 331-340.
    """
    d = len(nominal)
    kinds = np.where(nominal, MODE, MEAN).astype(np.int64)
    ones, zeros = np.ones(d), np.zeros(d, dtype=np.int64)

    def ranked(X: Matrix) -> EncodedMatrix:
        columns = [X[:, j] if nominal[j] else _mid_ranks(X[:, j]) for j in range(d)]
        return EncodedMatrix(np.ascontiguousarray(np.column_stack(columns)), kinds, ones, ones, zeros)

    return ranked(original), ranked(masked)


def _mid_ranks(x: NDArray[np.float64]) -> NDArray[np.float64]:
    line = np.sort(x[~np.isnan(x)])
    middle = (np.searchsorted(line, x) + np.searchsorted(line, x, side="right")) / 2
    return np.where(np.isnan(x), np.nan, middle / max(len(line), 1))

"""Which columns that are released unchanged give a masked one away: linear relations, sums, and categories."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix

Codes = NDArray[np.float64]
Labels = NDArray[np.int64]

EXACT = 1e-9  # of the size of the terms: rounding
NEARLY = 0.999  # R^2 from which a column is nearly determined
CLOSE = 0.01  # of a value, and of the standard deviation: how near a computed value must be to count as given away
_FEW = 30  # records that say anything
_COMPARED = 1_000  # records on which sums are compared
_MOST_SUMS = 20_000  # that are tried for one column


@dataclass(frozen=True)
class Linear:
    """A column that is an intercept plus coefficients times other columns, in all records or in most."""

    by: tuple[int, ...]
    intercept: float
    coefficients: tuple[float, ...]

    @property
    def plain(self) -> bool:
        """Whether it is a sum or a difference of the columns as they are."""
        return self.intercept == 0 and all(abs(each) == 1 for each in self.coefficients)


def linear_relation(x: Codes, U: Matrix) -> Linear | None:
    """Find the linear relation by which numbers follow from columns of others; the one with the fewest columns.

    Parameters
    ----------
    x : (n,) array
        The original values of a masked attribute; NaN is missing.
    U : (n, m) matrix
        Columns that are released unchanged.

    Returns
    -------
    Linear or None
        A relation with R^2 >= 0.999, found by least squares on the Gram matrix and backward elimination; else a sum or
        difference of at most three columns that is exact in most records, chance matches deducted.
    """
    often = 2 * np.isnan(U).sum(axis=0) <= len(U)
    columns = [i for i in range(U.shape[1]) if often[i] and np.nanstd(U[:, i]) > 0]
    rows = ~(np.isnan(x) | np.isnan(U[:, columns]).any(axis=1))
    if not columns or rows.sum() < _FEW or np.ptp(x[rows]) == 0:
        return None
    y, V = x[rows], U[rows][:, columns]
    found = _least_squares(y, V) or _sum(y, V)
    return None if found is None else Linear(tuple(columns[i] for i in found.by), found.intercept, found.coefficients)


def _least_squares(y: Codes, V: Matrix) -> Linear | None:
    """Eliminate columns from the regression for as long as it explains as much."""
    scale = V.std(axis=0)
    kept = [int(i) for i in np.flatnonzero(scale > 0)]
    Z = (V - V.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    z = (y - y.mean()) / y.std()
    gram, moments = Z.T @ Z / len(y), Z.T @ z / len(y)

    def left(columns: Sequence[int]) -> float:
        """Return 1 - R^2, adjusted for the number of columns."""
        free = len(y) - len(columns) - 1
        if free < 2 * len(columns) + 10:
            return 1.0
        b = np.linalg.lstsq(gram[np.ix_(columns, columns)], moments[columns], rcond=1e-10)[0]
        return max(0.0, 1 - float(b @ moments[columns])) * (len(y) - 1) / free

    rest = left(kept)
    if not kept or rest > 1 - NEARLY:
        return None
    limit = EXACT if rest <= EXACT else 1 - NEARLY
    while len(kept) > 1:
        without = [[i for i in kept if i != drop] for drop in kept]
        errors = [left(each) for each in without]
        if min(errors) > limit:
            break
        kept = without[int(np.argmin(errors))]
    A = np.column_stack([np.ones(len(y)), V[:, kept]])
    coefficients = _rounded(np.asarray(np.linalg.lstsq(A, y, rcond=None)[0], dtype=np.float64), y)
    return Linear(tuple(kept), float(coefficients[0]), tuple(coefficients[1:].tolist()))


def _rounded(coefficients: Codes, y: Codes) -> Codes:
    """Remove the rounding errors of coefficients that are integers, and of an intercept that is none."""
    whole = np.round(coefficients)
    near = np.abs(coefficients - whole) <= 1e-6 * np.maximum(1.0, np.abs(whole))
    near[0] = abs(coefficients[0]) <= 1e-6 * float(np.abs(y).max())
    return np.where(near, np.append(0.0, whole[1:]), coefficients)


def _sum(y: Codes, V: Matrix) -> Linear | None:
    """Find the sum or difference of at most three columns that is exact in most records."""
    step = max(1, len(y) // _COMPARED)
    y, V = y[::step], V[::step]
    values, counts = np.unique(y, return_counts=True)
    common = values[np.argmax(counts)] if counts.max() > len(y) / 20 else np.nan
    telling = y != common  # where zeros are common, a zero tells nothing of a sum
    if telling.sum() < _FEW:
        return None
    y, V = y[telling], V[telling]
    best: tuple[float, Linear] | None = None
    for by, signs in _sums(V.shape[1]):
        total = V[:, by] @ np.array(signs)
        size = EXACT * (np.abs(y) + np.abs(V[:, by]).sum(axis=1))
        share, chance = (float(np.mean(np.abs(y - each) <= size)) for each in (total, np.roll(total, len(y) // 3)))
        beyond = (share - chance) / (1 - chance) if chance < 1 else 0.0
        if beyond > 0.5 and (best is None or beyond > best[0] + 0.01):
            best = beyond, Linear(by, 0.0, signs)
    return None if best is None else best[1]


def _sums(m: int) -> Iterator[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Yield sums and differences of few columns, as many as can be tried."""
    tried = 0
    for size in (1, 2, 3):
        signs = [each for each in product((1.0, -1.0), repeat=size) if max(each) > 0]
        for by in combinations(range(m), size):
            tried += len(signs)
            if tried > _MOST_SUMS:
                return
            yield from ((by, each) for each in signs)


def determining_category(x: Codes, classes: Sequence[Labels]) -> int | None:
    """Find the column each value of which goes with one value of a masked attribute.

    Parameters
    ----------
    x : (n,) array
        The original values of a masked attribute; NaN is missing.
    classes : sequence of (n,) arrays
        Columns that are released unchanged, as numbers of their values.

    Returns
    -------
    int or None
        The column with the fewest values among those in which at least 95 % of the records that share a value share
        that of the attribute as well, and as many beyond what chance gives to an attribute with its frequencies.
    """
    values = np.unique(x, return_inverse=True)[1].ravel()
    shares = np.bincount(values) / len(x)
    found: tuple[int, int] | None = None
    for i, labels in enumerate(classes):
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order], prepend=labels[order[0]] - 1))
        sizes = np.diff(np.append(starts, len(x)))
        shared = sizes > 1
        records = int(sizes[shared].sum())
        if len(sizes) < 2 or records < max(_FEW, len(x) / 2):
            continue
        ordered = values[order]
        pure = np.minimum.reduceat(ordered, starts) == np.maximum.reduceat(ordered, starts)
        share = int(sizes[shared & pure].sum()) / records
        each, counts = np.unique(sizes[shared], return_counts=True)
        powers = np.array([float((shares**size).sum()) for size in each])
        chance = float((each * counts) @ powers) / records
        beyond = (share - chance) / (1 - chance) if chance < 1 else 0.0
        if share >= 0.95 and beyond >= 0.95 and (found is None or len(sizes) < found[0]):
            found = len(sizes), i
    return None if found is None else found[1]

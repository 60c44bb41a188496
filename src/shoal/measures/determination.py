"""Which columns that are released unchanged give a masked one away: sums, products, orders, categories and bands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice, product

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix

Codes = NDArray[np.float64]
Labels = NDArray[np.int64]

EXACT = 1e-9  # of the size of the terms: rounding
NEARLY = 0.999  # R^2 from which a column is nearly determined
CLOSE = 0.01  # of a value, and of the standard deviation: how near a computed value must be to count as given away
NARROW = 0.03  # standard deviations around its middle within which a band of values is known
_FEW = 10  # records that say anything
_NEARLY_ALL = 0.95  # of the records that share a value
_COMPARED = 1_000  # records on which sums are compared
_SCREENED = 500  # records by which columns in another order are told first
_MOST_SUMS = 20_000  # that are tried for one column
_FIRST = 100  # records by which sums that hold nowhere are told
_AT_ONCE = 200_000  # products of numbers in one matrix product: more are divided among threads, which wait busily


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
        A relation with R^2 >= 0.999, found by least squares on the Gram matrix and backward elimination in the records
        that have all columns; else a line in one column, or a sum or difference of at most four, that is exact in most
        records that have these columns, chance matches deducted.
    """
    there, columns = ~np.isnan(x), _varying(x, U)
    if (found := _regression(x, U)) is not None or not columns:
        return found
    found = _sum(x[there], U[there][:, columns])
    return None if found is None else Linear(tuple(columns[i] for i in found.by), found.intercept, found.coefficients)


def _varying(x: Codes, U: Matrix) -> list[int]:
    """List the columns that vary among the records with a value; none where that is the same in all."""
    there = ~np.isnan(x)
    known = ~np.isnan(U) & there[:, None]
    if not there.any() or np.ptp(x[there]) == 0:
        return []
    return [i for i in range(U.shape[1]) if known[:, i].sum() >= _FEW and np.ptp(U[known[:, i], i]) > 0]


def _regression(x: Codes, U: Matrix) -> Linear | None:
    """Find a relation by least squares, in the records that have all columns that most of them have."""
    there = ~np.isnan(x)
    known = ~np.isnan(U) & there[:, None]
    often = [i for i in _varying(x, U) if 2 * known[:, i].sum() >= there.sum()]
    rows = known[:, often].all(axis=1) & there
    if not often or rows.sum() < _FEW or np.ptp(x[rows]) == 0:
        return None
    found = _least_squares(x[rows], U[rows][:, often])
    return None if found is None else Linear(tuple(often[i] for i in found.by), found.intercept, found.coefficients)


def _least_squares(y: Codes, V: Matrix) -> Linear | None:
    """Eliminate columns from the regression for as long as it explains as much."""
    centre, scale = V.mean(axis=0), _spread(V)
    kept = [int(i) for i in np.flatnonzero(scale > 0)]
    Z = (V - centre) / np.where(scale > 0, scale, 1.0)
    height = float(_spread(y[:, None])[0])
    z = (y - y.mean()) / height
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
    # Dates in microseconds stand beside ages in years: what is solved has columns of one scale.
    slopes = np.linalg.lstsq(Z[:, kept], z, rcond=None)[0] * height / scale[kept]
    slopes = _rounded(np.asarray(slopes, dtype=np.float64))
    intercept = float(np.median(y - V[:, kept] @ slopes))
    if not np.isfinite([intercept, *slopes]).all():
        return None
    intercept = 0.0 if abs(intercept) <= EXACT * float(np.abs(y).max()) else intercept
    return Linear(tuple(kept), intercept, tuple(slopes.tolist()))


def _spread(V: Matrix) -> Codes:
    """Return the standard deviations of columns, whose squares may be too small for a number."""
    largest = np.abs(V - V.mean(axis=0)).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    return np.asarray(unit * (V / unit).std(axis=0), dtype=np.float64)


def _rounded(coefficients: Codes) -> Codes:
    """Remove the rounding errors of coefficients that are integers, or one divided by an integer."""
    with np.errstate(all="ignore"):
        for exact in (np.round(coefficients), 1 / np.round(1 / coefficients)):
            near = np.abs(coefficients - exact) <= 1e-6 * np.abs(exact)
            coefficients = np.where(near & np.isfinite(exact) & (exact != 0), exact, coefficients)
    return coefficients


def _sum(y: Codes, V: Matrix) -> Linear | None:
    """Find the line in one column, or the sum or difference of at most four, that is exact in most records."""
    step = max(1, len(y) // _COMPARED)
    y, V = y[::step], V[::step]
    values, counts = np.unique(y, return_counts=True)
    common = values[np.argmax(counts)] if counts.max() > len(y) / 20 else np.nan
    telling = y != common  # where zeros are common, a zero tells nothing of a sum
    if telling.sum() < _FEW:
        return None
    y, V = y[telling], V[telling]
    best: tuple[float, Linear] | None = None
    lines = (((i,), *_line(y, V[:, i])) for i in range(V.shape[1]))
    sums = ((by, 0.0, signs) for by, signs in _sums(y, V))
    for by, intercept, slopes in chain(sums, lines):
        total = intercept + V[:, by] @ np.array(slopes)
        known = ~np.isnan(total)
        if known.sum() < _FEW:
            continue
        size = EXACT * (np.abs(y) + np.abs(V[:, by] * slopes).sum(axis=1))
        shifted = np.roll(total, len(y) // 3)
        share, chance = (float(np.mean((np.abs(y - each) <= size)[~np.isnan(each)])) for each in (total, shifted))
        beyond = (share - chance) / (1 - chance) if chance < 1 else 0.0
        if beyond > 0.5 and (best is None or beyond > best[0] + 0.01):
            best = beyond, Linear(by, intercept, slopes)
    return None if best is None else best[1]


def _line(y: Codes, v: Codes) -> tuple[float, tuple[float, ...]]:
    """Return the intercept and the slope of most records: medians over pairs of them (Theil 1950)."""
    there = np.flatnonzero(~np.isnan(v))
    other = np.roll(there, len(there) // 2)
    differ = v[there] != v[other]
    if not differ.any():
        return 0.0, (0.0,)
    slopes = (y[there] - y[other])[differ] / (v[there] - v[other])[differ]
    slope = float(_rounded(np.array([np.median(slopes)]))[0])
    intercept = float(np.median(y[there] - slope * v[there]))
    return (0.0 if abs(intercept) <= EXACT * float(np.abs(y).max()) else intercept), (slope,)


def _sums(y: Codes, V: Matrix) -> Iterator[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Yield sums and differences of few columns, of as many as can be tried, that hold in some of a few records."""
    step = max(1, len(y) // _FIRST)
    y, gaps, V = y[::step, None], np.isnan(V[::step]), np.nan_to_num(V[::step])
    tried = islice(_signed(V.shape[1]), _MOST_SUMS)
    at_once = max(1, _AT_ONCE // V.size)
    while batch := [*islice(tried, at_once)]:
        W = np.zeros((V.shape[1], len(batch)))
        for j, (by, signs) in enumerate(batch):
            W[list(by), j] = signs
        known = gaps @ np.abs(W) == 0
        near = np.abs(y - V @ W) <= EXACT * (np.abs(y) + np.abs(V) @ np.abs(W))
        hold = (near & known).sum(axis=0) >= 0.3 * known.sum(axis=0)
        yield from (batch[j] for j in np.flatnonzero(hold))


def _signed(m: int) -> Iterator[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Yield up to four columns with their signs, few columns first."""
    for size in (1, 2, 3, 4):
        signs = [each for each in product((1.0, -1.0), repeat=size) if max(each) > 0]
        yield from ((by, each) for by in combinations(range(m), size) for each in signs)


def product_relation(x: Codes, U: Matrix) -> Linear | None:
    """Find the product of powers of columns that numbers are: a linear relation of logarithms.

    Parameters
    ----------
    x : (n,) array
        The original values of a masked attribute; NaN is missing. Only positive ones have a logarithm.
    U : (n, m) matrix
        Columns that are released unchanged; those that are positive in most records count.

    Returns
    -------
    Linear or None
        The relation of the logarithms, found by least squares as in `linear_relation`.
    """
    if 2 * np.count_nonzero(x > 0) <= len(x):
        return None
    with np.errstate(all="ignore"):
        return _regression(np.log(np.where(x > 0, x, np.nan)), np.log(np.where(U > 0, U, np.nan)))


def same_order(x: Codes, U: Matrix) -> tuple[int, float] | None:
    """Find the column that has the records in the same order as numbers, or in reverse.

    Parameters
    ----------
    x : (n,) array
        The original values of a masked attribute; NaN is missing.
    U : (n, m) matrix
        Columns that are released unchanged.

    Returns
    -------
    tuple or None
        The column and its rank correlation (Spearman 1904), which is at least 0.999 in absolute value. Records with a
        value that is common, such as 0, are left out: a common value in both columns is no order.
    """
    telling = ~np.isnan(x) & ~np.isin(x, _common(x))
    best: tuple[int, float] | None = None
    for i in range(U.shape[1]):
        there = np.flatnonzero(telling & ~np.isnan(U[:, i]))
        some = there[:: max(1, len(there) // _SCREENED)]
        if len(there) < max(_FEW, len(x) / 2) or abs(rank_correlation(x[some], U[some, i])) < NEARLY - 0.01:
            continue
        found = rank_correlation(x[there], U[there, i])
        if abs(found) >= NEARLY and (best is None or abs(found) > abs(best[1])):
            best = i, found
    return best


def rank_correlation(x: Codes, y: Codes) -> float:
    """Return Spearman's rank correlation, ties sharing their mean rank; 0 if all values are equal."""
    a, b = (ranks - ranks.mean() for ranks in (_ranks(x), _ranks(y)))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else 0.0


def _ranks(x: Codes) -> Codes:
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place.ravel()], dtype=np.float64)


def _common(x: Codes) -> Codes:
    """Return the values that more than a twentieth of the records have."""
    values, counts = np.unique(x[~np.isnan(x)], return_counts=True)
    return np.asarray(values[counts > len(x) / 20], dtype=np.float64)


def narrow_bands(x: Codes, classes: Sequence[Labels]) -> int | None:
    """Find the column each value of which goes with a narrow range of numbers.

    Parameters
    ----------
    x : (n,) array
        The original values of a masked attribute; NaN is missing.
    classes : sequence of (n,) arrays
        Columns that are released unchanged, as numbers of their values.

    Returns
    -------
    int or None
        The column with the fewest values among those in which at least 95 % of the records that share a value are
        within 3 % of the standard deviation of the middle of its range, and as many beyond what chance gives.
    """
    width = 2 * NARROW * float(np.nanstd(x)) if (~np.isnan(x)).any() else 0.0
    found: tuple[int, int] | None = None
    for i, labels in enumerate(classes if width else []):
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order], prepend=labels[order[0]] - 1))
        sizes = np.diff(np.append(starts, len(x)))
        shared = sizes > 1
        records = int(sizes[shared].sum())
        if len(sizes) < 2 or records < max(_FEW, len(x) / 2):
            continue
        shares = []
        for values in (x[order], np.roll(x, len(x) // 3)[order]):
            narrow = np.maximum.reduceat(values, starts) - np.minimum.reduceat(values, starts) <= width
            shares.append(int(sizes[shared & narrow].sum()) / records)
        share, chance = shares
        beyond = (share - chance) / (1 - chance) if chance < 1 else 0.0
        if share >= 0.95 and beyond >= 0.95 and (found is None or len(sizes) < found[0]):
            found = len(sizes), i
    return None if found is None else found[1]


def determining_categories(x: Codes, classes: Sequence[Labels]) -> list[int] | None:
    """Find columns whose combinations go with one value of a masked attribute, such as its dummies.

    Parameters
    ----------
    x : (n,) array
        The original values of a masked attribute; NaN is missing.
    classes : sequence of (n,) arrays
        Columns that are released unchanged, as numbers of their values.

    Returns
    -------
    list of int or None
        Columns that are each a function of the attribute, for as long as another one divides the records further; if
        more than half of the records that share a combination share the value of the attribute as well, beyond chance.
    """
    values = np.unique(x, return_inverse=True)[1].ravel()
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(x)))
    if sizes[sizes > 1].sum() < max(_FEW, len(x) / 2):
        return None
    by: list[int] = []
    together = np.zeros(len(x), dtype=np.int64)
    for i, labels in enumerate(classes):
        if not _is_function(labels[order], starts, sizes):
            continue
        divided = np.unique(np.stack([together, labels]), axis=1, return_inverse=True)[1].ravel()
        if divided.max() > together.max():
            together, by = divided.astype(np.int64), [*by, i]
    return by if by and determining_category(x, [together], 0.5) is not None else None


def _is_function(ordered: Labels, starts: Labels, sizes: Labels) -> bool:
    """Whether nearly all records that share a value of an attribute share that of a column, beyond chance."""
    pure = np.minimum.reduceat(ordered, starts) == np.maximum.reduceat(ordered, starts)
    return _beyond_chance(pure, sizes, np.bincount(ordered) / len(ordered))[1] >= _NEARLY_ALL


def _beyond_chance(pure: NDArray[np.bool_], sizes: Labels, shares: Codes) -> tuple[float, float]:
    """Return the share of records in shared classes with one value, as it is and with chance deducted.

    `shares` are the frequencies of the values.
    """
    shared = sizes > 1
    records = int(sizes[shared].sum())
    if not records:
        return 0.0, 0.0
    share = int(sizes[shared & pure].sum()) / records
    each, counts = np.unique(sizes[shared], return_counts=True)
    powers = np.array([float((shares**size).sum()) for size in each])
    chance = float((each * counts) @ powers) / records
    return share, (share - chance) / (1 - chance) if chance < 1 else 0.0


def determining_category(x: Codes, classes: Sequence[Labels], least: float = _NEARLY_ALL) -> int | None:
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
        The column with the fewest values among those in which at least 95 % (`least`) of the records that share a value
        share that of the attribute as well, and as many beyond what chance gives to an attribute with its frequencies.
    """
    values = np.unique(x, return_inverse=True)[1].ravel()
    shares = np.bincount(values) / len(x)
    found: tuple[int, int] | None = None
    for i, labels in enumerate(classes):
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order], prepend=labels[order[0]] - 1))
        sizes = np.diff(np.append(starts, len(x)))
        if len(sizes) < 2 or sizes[sizes > 1].sum() < max(_FEW, len(x) / 2):
            continue
        ordered = values[order]
        pure = np.minimum.reduceat(ordered, starts) == np.maximum.reduceat(ordered, starts)
        if min(_beyond_chance(pure, sizes, shares)) >= least and (found is None or len(sizes) < found[0]):
            found = len(sizes), i
    return None if found is None else found[1]

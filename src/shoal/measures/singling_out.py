"""Singling out: conditions, read off the published records, that hold for one original record and no other."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix
from shoal.measures.equivalence_classes import published_classes

TRIES = 20  # draws for each condition that is asked for


class Predicate(NamedTuple):
    """A condition on some attributes: from low to high in each, or missing (both NaN)."""

    columns: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def read_off(masked: Matrix, nominal: NDArray[np.bool_], count: int, rng: np.random.Generator) -> list[Predicate]:
    """Draw conditions that single out one published record: the multivariate attack of Giomi et al. (2022).

    A published record and some of its attributes, any number, are drawn. Categories must be those of the record;
    numbers and levels at least as high as its own if that is above the median of the file, else at most. Only
    conditions that no other published record meets are kept, each once. Records published alike count as one, as in
    Anonymeter, the authors' program. Fewer than `count` conditions are returned if `TRIES` times as many draws yield
    no more.
    """
    published = np.asfortranarray(masked[published_classes(masked).first])
    n, d = published.shape
    middle = _medians(published)
    found: dict[tuple[bytes, ...], Predicate] = {}
    for record in rng.integers(0, n, TRIES * count):
        columns = _some_columns(d, rng)
        values = published[record, columns]
        each = _condition(columns, values, values > middle[columns], nominal)
        key = tuple(part.tobytes() for part in each)
        if key not in found and len(_matches(published, each)) == 1:
            found[key] = each
            if len(found) == count:
                break
    return list(found.values())


def at_random(masked: Matrix, nominal: NDArray[np.bool_], count: int, rng: np.random.Generator) -> list[Predicate]:
    """Draw conditions without looking at records: any published category, any number in the range, either side."""
    d = masked.shape[1]
    known = [np.unique(column[~np.isnan(column)]) for column in masked.T]
    found = []
    for _ in range(count):
        columns = _some_columns(d, rng)
        values = np.array([_any_value(known[j], bool(nominal[j]), rng) for j in columns])
        found.append(_condition(columns, values, rng.random(len(columns)) < 0.5, nominal))
    return found


class Singled(NamedTuple):
    """How many conditions single out a record, and the variance of that number over draws of other people."""

    conditions: int
    variance: float


def singled_out(X: Matrix, predicates: list[Predicate]) -> Singled:
    """Count the conditions that exactly one record meets.

    Many conditions may hold for the same person, so that another draw of people would change many at once. The variance
    over such draws is the jackknife's: without a record, the conditions that it alone meets single out nobody, and
    those that it meets with one other do.

    References
    ----------
    Efron & Stein (1981), The jackknife estimate of variance, Annals of Statistics 9, 586-596: on average it is at least
    the variance.
    """
    columns = np.asfortranarray(X)
    change = np.zeros(len(X))
    alone = 0
    for each in predicates:
        met = _matches(columns, each)
        if len(met) == 1:
            alone += 1
            change[met] += 1
        elif len(met) == 2:
            change[met] -= 1
    n = max(1, len(X))
    return Singled(alone, (n - 1) / n * float(((change - change.sum() / n) ** 2).sum()))


def _matches(X: Matrix, predicate: Predicate) -> NDArray[np.int64]:
    """Return the records that meet a condition."""
    met = np.arange(len(X))
    for j, low, high in zip(*predicate, strict=True):
        values = X[met, j]
        met = met[np.isnan(values) if np.isnan(low) else (values >= low) & (values <= high)]
    return met


def _condition(
    columns: NDArray[np.int64], values: NDArray[np.float64], upper: NDArray[np.bool_], nominal: NDArray[np.bool_]
) -> Predicate:
    exact = nominal[columns] | np.isnan(values)
    low = np.where(exact | upper, values, -np.inf)
    return Predicate(columns, low, np.where(exact | ~upper, values, np.inf))


def _some_columns(d: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.sort(rng.permutation(d)[: rng.integers(1, d + 1)])


def _medians(X: Matrix) -> NDArray[np.float64]:
    known = (column[~np.isnan(column)] for column in X.T)
    return np.array([np.median(each) if len(each) else np.nan for each in known])


def _any_value(known: NDArray[np.float64], category: bool, rng: np.random.Generator) -> float:
    if len(known) == 0:
        return np.nan
    return float(known[rng.integers(len(known))] if category else rng.uniform(known[0], known[-1]))

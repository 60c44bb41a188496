"""Singling out: conditions, read off the published records, that hold for one original record and no other."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix


class Predicate(NamedTuple):
    """A condition on some attributes: from low to high in each, or missing (both NaN)."""

    columns: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def read_off(masked: Matrix, nominal: NDArray[np.bool_], count: int, rng: np.random.Generator) -> list[Predicate]:
    """Draw conditions that published records meet.

    A published record and some of its attributes, any number, are drawn. Categories must be those of the record;
    numbers and levels at least as high as its own if that is at or above the median of the file, else at most: the
    multivariate attack of Giomi et al. (2022).
    """
    n, d = masked.shape
    middle = _medians(masked)
    found = []
    for record in rng.integers(0, n, count):
        columns = _some_columns(d, rng)
        values = masked[record, columns]
        found.append(_condition(columns, values, values >= middle[columns], nominal))
    return found


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


def singled_out(X: Matrix, predicates: list[Predicate]) -> int:
    """Count the conditions that exactly one record meets."""
    columns = np.asfortranarray(X)
    return sum(_matches(columns, each) == 1 for each in predicates)


def _matches(X: Matrix, predicate: Predicate) -> int:
    met = np.ones(len(X), dtype=bool)
    for j, low, high in zip(*predicate, strict=True):
        met &= np.isnan(X[:, j]) if np.isnan(low) else (X[:, j] >= low) & (X[:, j] <= high)
    return int(np.count_nonzero(met))


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

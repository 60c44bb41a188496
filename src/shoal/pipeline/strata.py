"""Strata: parts of a table that never share a group."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.encoded import MODE, EncodedMatrix
from shoal.kernels.standardize import Matrix
from shoal.plan import Plan
from shoal.tables import Table
from shoal.text import counted

_NAMED = 5  # so many strata are named in a message; all of them might be the whole table


@dataclass(frozen=True)
class Strata:
    """Which records are published, and the rows among them of each stratum."""

    keep: NDArray[np.bool_]
    rows: list[NDArray[np.int64]]
    notes: list[str]
    mixed: bool = False  # strata were merged, so that a group may hold records of several


def stratify(table: Table, space: EncodedMatrix, plan: Plan, numbers: NDArray[np.int64]) -> Strata:
    """Divide the records by their strata, and deal with strata of fewer than k records as the plan says.

    Messages name records by their `numbers` in the file.
    """
    everything = np.ones(len(table), dtype=bool)
    if plan.strata is None:
        return Strata(everything, [np.arange(len(table))], [])
    codes = _codes(table, plan.strata)
    sizes = np.bincount(codes)
    small = np.flatnonzero(sizes < plan.k)
    if not len(small):
        return Strata(everything, _rows(codes), [])
    if plan.small_strata == "merge":
        merged = _merge(codes, space, plan.k)
        note = (
            f"{counted(len(small), 'stratum', 'strata')} of fewer than k = {plan.k} records joined the nearest; groups "
            "there mix strata, so k does not hold within a stratum"
        )
        return Strata(everything, _rows(merged), [note], mixed=True)
    if plan.small_strata == "suppress":
        keep = ~np.isin(codes, small)
        if not keep.any():
            raise DataError(f"every stratum has fewer than k = {plan.k} records: nothing would be left to publish")
        note = (
            f"{counted(int((~keep).sum()), 'record')} left out, being in "
            f"{counted(len(small), 'stratum', 'strata')} of fewer than k = {plan.k} records"
        )
        return Strata(keep, _rows(codes[keep]), [note])
    first = [int(numbers[np.argmax(codes == stratum)]) for stratum in small[:_NAMED]]
    more = f", and in {counted(len(small) - _NAMED, 'stratum', 'strata')} more" if len(small) > _NAMED else ""
    which = "the stratum of record" if len(first) == 1 else "the strata of records"
    raise DataError(
        f"strata: fewer than k = {plan.k} records in {which} {', '.join(map(str, sorted(first)))}{more}: "
        "merge such strata (small_strata = 'merge') or leave them out ('suppress')"
    )


def _codes(table: Table, names: list[str]) -> NDArray[np.int64]:
    """Give each stratum a number, 0, 1, ...; a missing value is a value of its own."""
    codes = np.zeros(len(table), dtype=np.int64)
    for name in names:
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_nested(column.type):
            raise DataError(f"column '{name}' is nested; strata must be texts, numbers or dates")
        level = column.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
        _, codes = np.unique(codes * (int(level.max()) + 1) + level, return_inverse=True)
    return codes


def _rows(codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))
    return [rows for rows in np.split(order, ends[:-1]) if len(rows)]


def _merge(codes: NDArray[np.int64], space: EncodedMatrix, k: int) -> NDArray[np.int64]:
    """Join strata below k, the smallest first, with the one whose profile is nearest, until none is left."""
    sizes = np.bincount(codes).astype(np.float64)
    sums = _sums(codes, space)
    home = np.arange(len(sizes))
    while len(left := np.flatnonzero(sizes)) > 1 and sizes[left].min() < k:
        small = left[np.argmin(sizes[left])]
        others = left[left != small]
        profiles = sums[others] / sizes[others, None]
        nearest = others[np.argmin(((profiles - sums[small] / sizes[small]) ** 2).sum(axis=1))]
        sizes[nearest] += sizes[small]
        sums[nearest] += sums[small]
        sizes[small] = 0
        home[home == small] = nearest
    return home[codes]


def _sums(codes: NDArray[np.int64], space: EncodedMatrix) -> Matrix:
    """Sum up each stratum: numbers by their values, a missing one counting as the mean, and categories one by one."""
    strata = int(codes.max()) + 1
    sums: list[Matrix] = []
    for j, values in enumerate(space.values.T):
        if space.kinds[j] != MODE:
            filled = np.where(np.isnan(values), np.nanmean(values), values)
            sums.append(np.bincount(codes, weights=filled, minlength=strata).astype(np.float64)[:, None])
        else:
            counts = np.zeros((strata, int(space.levels[j]) + 1))  # the last is for the missing
            np.add.at(counts, (codes, np.where(np.isnan(values), space.levels[j], values).astype(np.int64)), 1.0)
            sums.append(counts * np.sqrt(space.weights[j] / 2))  # so that two categories are as far as their weight
    return np.hstack(sums)

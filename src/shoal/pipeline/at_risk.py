"""Only those at risk: records whose combination of quasi-identifiers k records share already stay as they are.

Combinations are counted over the whole file, wherever its records are. The records of those that fewer than k share are
microaggregated among themselves; where fewer than k of them are left in a stratum, each takes on the nearest
combination that k records have. So a record that is not at risk never changes. With units, k counts these throughout.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.encoded import MODE, EncodedMatrix
from shoal.kernels.standardize import Matrix
from shoal.pipeline.masker import BlockMasker
from shoal.pipeline.parts import Key, Parts
from shoal.pipeline.records import Records
from shoal.pipeline.safe_records import Hashes, Safe, combinations_of

Integers = NDArray[np.int64]


def with_safe_records(masker: BlockMasker, records: Records) -> BlockMasker:
    """Find the records that are not at risk, where the plan masks no others: they are parts of their own."""
    if masker.plan.only is None:
        return masker
    homes, d, k = masker.parts.homes[0], len(masker.attributes), masker.plan.k
    fills = masker.plan.missing == "impute"

    def look(rows: Matrix) -> _Shared:
        whole = rows[~np.isnan(rows[:, :d]).any(axis=1)] if fills else rows
        combinations = combinations_of(whole[:, :d], homes[whole[:, -1].astype(np.int64)])
        return _shared(combinations, masker.units(whole), k)

    safe = Safe(records.fold_rows(masker, look, "measure").by(k), masker.parts)
    found = records.fold_rows(masker, lambda rows: _Sizes.of(rows, safe, masker), "measure")
    sizes, few = found.sizes, found.small(homes, k)
    if few.any():
        safe = _joined(masker, records, safe, few)
        sizes[few] = np.stack([np.zeros(int(few.sum()), np.int64), sizes[few].sum(axis=1)], axis=1)
    parts, safe = _apart(masker.parts, sizes, safe)
    return replace(masker, parts=parts, safe=safe)


@dataclass(frozen=True)
class _Shared(ABC):
    """Who shares each of some keys, in several tables that are joined once they have grown enough."""

    tables: tuple[tuple[Hashes, Integers], ...]
    joined: int

    def __add__(self, other: Self) -> Self:
        both = replace(self, tables=(*self.tables, *other.tables), joined=max(self.joined, other.joined))
        return both if sum(len(each) for each, _ in both.tables) <= 2 * both.joined else both.together()

    def together(self) -> Self:
        """Return the same in one table."""
        keys, values = (np.concatenate(each) for each in zip(*self.tables, strict=True))
        one = self._table(keys, values)
        return replace(self, tables=(one,), joined=len(one[0]))

    @property
    def keys(self) -> Hashes:
        """All keys, in order."""
        return np.unique(self.together().tables[0][0])

    @abstractmethod
    def _table(self, keys: Hashes, values: Integers) -> tuple[Hashes, Integers]:
        """Return one table, in the order of its keys."""

    @abstractmethod
    def by(self, k: int) -> Hashes:
        """Return the keys that at least k share, in order."""


@dataclass(frozen=True)
class _Records(_Shared):
    """How many records have each key."""

    def _table(self, keys: Hashes, values: Integers) -> tuple[Hashes, Integers]:
        found, places = np.unique(keys, return_inverse=True)
        counts = np.zeros(len(found), dtype=np.int64)
        np.add.at(counts, places, values)
        return found, counts

    def by(self, k: int) -> Hashes:
        keys, counts = self.together().tables[0]
        return keys[counts >= k]


@dataclass(frozen=True)
class _Units(_Shared):
    """The units that have each key: the lowest `most` numbers, as many as decide whether there are k."""

    most: int

    def _table(self, keys: Hashes, values: Integers) -> tuple[Hashes, Integers]:
        order = np.lexsort((values, keys))
        keys, values = keys[order], values[order]
        other = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
        once = other | np.append(True, values[1:] != values[:-1])[: len(keys)]
        keys, values, first = keys[once], values[once], np.flatnonzero(other[once])
        rank = np.arange(len(keys)) - np.repeat(first, np.diff(np.append(first, len(keys))))
        return keys[rank < self.most], values[rank < self.most]

    def by(self, k: int) -> Hashes:
        keys, counts = np.unique(self.together().tables[0][0], return_counts=True)
        return keys[counts >= k]


def _shared(keys: Hashes, units: Integers | None, k: int) -> _Shared:
    """Count who shares each key: records, or up to k units where they are named."""
    if units is None:
        return _Records(((keys, np.ones(len(keys), np.int64)),), 0).together()
    return _Units(((keys, units),), 0, k).together()


@dataclass(frozen=True)
class _Sizes:
    """How many records of each part are at risk and how many are not, and who is at risk in each home."""

    sizes: Integers
    at_risk: _Shared

    @classmethod
    def of(cls, rows: Matrix, safe: Safe, masker: BlockMasker) -> "_Sizes":
        part = rows[:, -1].astype(np.int64)
        flags = safe.flags(rows[:, : len(masker.attributes)], part)
        counts = np.bincount(2 * part + flags, minlength=2 * len(masker.parts.keys))
        homes = safe.homes[part[~flags]].astype(np.uint64)
        return cls(counts.reshape(-1, 2), _shared(homes, masker.units(rows[~flags]), masker.plan.k))

    def __add__(self, other: "_Sizes") -> "_Sizes":
        return _Sizes(self.sizes + other.sizes, self.at_risk + other.at_risk)

    def small(self, homes: Integers, k: int) -> NDArray[np.bool_]:
        """Return the parts in whose homes some records are at risk, but of fewer than k records or units."""
        return np.isin(homes, self.at_risk.keys) & ~np.isin(homes, self.at_risk.by(k))


@dataclass(frozen=True)
class _Rows:
    """One row of each combination of some records, with its number in order, and how many records there are."""

    hashes: Hashes
    rows: Matrix
    records: int

    @classmethod
    def of(cls, rows: Matrix, combinations: Hashes) -> "_Rows":
        hashes, first = np.unique(combinations, return_index=True)
        return cls(hashes, rows[first], len(rows))

    def __add__(self, other: "_Rows") -> "_Rows":
        both = self.of(np.concatenate([self.rows, other.rows]), np.concatenate([self.hashes, other.hashes]))
        return replace(both, records=self.records + other.records)


@dataclass(frozen=True)
class _Nearest:
    """For each of some records, the nearest of the rows that were seen and how far it is; of several, the least."""

    far: NDArray[np.float64]
    codes: Matrix

    def __add__(self, other: "_Nearest") -> "_Nearest":
        ours, theirs = (list(zip(each.far, map(_order, each.codes), strict=True)) for each in (self, other))
        nearer = np.array([one <= two for one, two in zip(ours, theirs, strict=True)], dtype=bool)
        far = np.where(nearer, self.far, other.far)
        return _Nearest(far, np.where(nearer[:, None], self.codes, other.codes))


def _order(codes: NDArray[np.float64]) -> tuple[float, ...]:
    """Return what rows are in order by; a missing value comes last."""
    return tuple(np.where(np.isnan(codes), np.inf, codes).tolist())


def _joined(masker: BlockMasker, records: Records, safe: Safe, few: NDArray[np.bool_]) -> Safe:
    """Replace each record at risk, where there are fewer than k, by the nearest combination that k have."""
    homes, d = masker.parts.homes[0], len(masker.attributes)

    def different(rows: Matrix, *, at_risk: bool) -> _Rows:
        part = rows[:, -1].astype(np.int64)
        some = few[part] & (safe.flags(rows[:, :d], part) != at_risk)
        return _Rows.of(rows[some], combinations_of(rows[some, :d], homes[part[some]]))

    joining = records.fold_rows(masker, lambda rows: different(rows, at_risk=True), "measure")
    own = homes[joining.rows[:, -1].astype(np.int64)]

    def nearest(rows: Matrix) -> _Nearest:
        some = different(rows, at_risk=False).rows
        return _nearest(masker, joining.rows, own, some, homes[some[:, -1].astype(np.int64)])

    found = records.fold_rows(masker, nearest, "measure")
    return replace(safe, joined=joining.hashes, taken=found.codes, moved=joining.records)


def _nearest(masker: BlockMasker, joining: Matrix, own: Integers, rows: Matrix, homes: Integers) -> _Nearest:
    """Find the nearest row of the same home for each of some records."""
    d = len(masker.attributes)
    far, codes = np.full(len(joining), np.inf), np.full((len(joining), d), np.nan)
    both = masker.space(np.concatenate([joining, rows]))  # on one scale
    for place, home in enumerate(own):
        there = np.flatnonzero(homes == home)
        if not len(there):
            continue
        apart = squared_distances(both, place, len(joining) + there)
        least = there[apart == apart.min()]
        codes[place] = rows[min(least, key=lambda at: _order(rows[at, :d])), :d]
        far[place] = apart.min()
    return _Nearest(far, codes)


def squared_distances(space: EncodedMatrix, one: int, others: Sequence[int] | Integers) -> NDArray[np.float64]:
    """Return the squared distances of a record from others; a missing value is as far from any other as categories."""
    found = np.zeros(len(others))
    for j, kind in enumerate(space.kinds):
        x, y = space.values[one, j], space.values[others, j]
        gaps = np.isnan(x) != np.isnan(y)
        differ = np.where(x != y, space.apart[j], 0.0) if kind == MODE else (x - y) ** 2
        found += np.where(gaps, space.apart[j], np.where(np.isnan(x) & np.isnan(y), 0.0, differ))
    return found


def _apart(parts: Parts, sizes: Integers, safe: Safe) -> tuple[Parts, Safe]:
    """Divide every part into the records that are at risk and those that are not."""
    homes = parts.homes[0]
    keys: list[Key] = []
    counts, own, numbers = [], [], np.full(sizes.shape, -1, dtype=np.int64)
    for flag in (0, 1):
        for at in np.flatnonzero(sizes[:, flag]).tolist():
            numbers[at, flag] = len(keys)
            keys.append(replace(parts.keys[at], safe=bool(flag)))
            counts.append(int(sizes[at, flag]))
            own.append(int(homes[at]) + flag * (int(homes.max()) + 1))
    numbered = np.unique(own, return_inverse=True)[1].astype(np.int64)
    divided = replace(parts, keys=keys, sizes=counts, homes=[numbered])
    return divided, replace(safe, numbers=numbers)

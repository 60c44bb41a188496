"""Only those at risk: records whose combination of quasi-identifiers k records share already stay as they are.

Combinations are counted over the whole file, wherever its records are. The records of those that fewer than k share are
microaggregated among themselves; where fewer than k of them are left in a stratum, each takes on the nearest
combination that k records have. So a record that is not at risk never changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    homes, d = masker.parts.homes[0], len(masker.attributes)
    fills = masker.plan.missing == "impute"

    def look(rows: Matrix) -> _Counts:
        whole = rows[~np.isnan(rows[:, :d]).any(axis=1)] if fills else rows
        return _Counts.of(combinations_of(whole[:, :d], homes[whole[:, -1].astype(np.int64)]))

    found = records.fold_rows(masker, look, "measure").together()
    safe = Safe(found.hashes[found.counts >= masker.plan.k], masker.parts)
    sizes = records.fold_rows(masker, lambda rows: _Sizes.of(rows, safe, masker), "measure").sizes
    few = _small(sizes[:, 0], homes, masker.plan.k)
    if few.any():
        safe = _joined(masker, records, safe, few)
        sizes[few] = np.stack([np.zeros(int(few.sum()), np.int64), sizes[few].sum(axis=1)], axis=1)
    parts, safe = _apart(masker.parts, sizes, safe)
    return replace(masker, parts=parts, safe=safe)


@dataclass(frozen=True)
class _Counts:
    """How many records have each combination, in several tables that are joined once they have grown enough."""

    tables: tuple[tuple[Hashes, Integers], ...]
    joined: int

    @classmethod
    def of(cls, hashes: Hashes) -> "_Counts":
        found, counts = np.unique(hashes, return_counts=True)
        return cls(((found, counts.astype(np.int64)),), len(found))

    def __add__(self, other: "_Counts") -> "_Counts":
        both = _Counts((*self.tables, *other.tables), max(self.joined, other.joined))
        return both if sum(len(each) for each, _ in both.tables) <= 2 * both.joined else both.together()

    def together(self) -> "_Counts":
        """Return the same in one table."""
        hashes, places = np.unique(np.concatenate([each for each, _ in self.tables]), return_inverse=True)
        counts = np.zeros(len(hashes), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([each for _, each in self.tables]))
        return _Counts(((hashes, counts),), len(hashes))

    @property
    def hashes(self) -> Hashes:
        """The combinations, in order."""
        return self.tables[0][0]

    @property
    def counts(self) -> Integers:
        """How many records each has."""
        return self.tables[0][1]


@dataclass(frozen=True)
class _Sizes:
    """How many records of each part are at risk, and how many are not."""

    sizes: Integers

    @classmethod
    def of(cls, rows: Matrix, safe: Safe, masker: BlockMasker) -> "_Sizes":
        part = rows[:, -1].astype(np.int64)
        flags = safe.flags(rows[:, : len(masker.attributes)], part)
        counts = np.bincount(2 * part + flags, minlength=2 * len(masker.parts.keys))
        return cls(counts.reshape(-1, 2))

    def __add__(self, other: "_Sizes") -> "_Sizes":
        return _Sizes(self.sizes + other.sizes)


def _small(at_risk: Integers, homes: Integers, k: int) -> NDArray[np.bool_]:
    """Return the parts in whose homes some records are at risk, but fewer than k."""
    there = np.bincount(homes, at_risk)[homes]
    return (there > 0) & (there < k)


@dataclass(frozen=True)
class _Rows:
    """Some rows of all records."""

    rows: Matrix

    def __add__(self, other: "_Rows") -> "_Rows":
        return _Rows(np.concatenate([self.rows, other.rows]))


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
    """Let each record at risk, where there are fewer than k, take on the nearest combination that k records have."""
    homes, d = masker.parts.homes[0], len(masker.attributes)

    def at_risk(rows: Matrix) -> _Rows:
        part = rows[:, -1].astype(np.int64)
        return _Rows(rows[few[part] & ~safe.flags(rows[:, :d], part)])

    joining = records.fold_rows(masker, at_risk, "measure").rows
    own, moved = homes[joining[:, -1].astype(np.int64)], len(joining)
    hashes, first = np.unique(combinations_of(joining[:, :d], own), return_index=True)
    joining, own = joining[first], own[first]

    def nearest(rows: Matrix) -> _Nearest:
        part = rows[:, -1].astype(np.int64)
        some = rows[safe.flags(rows[:, :d], part) & few[part]]
        hidden = combinations_of(some[:, :d], homes[some[:, -1].astype(np.int64)])
        some = some[np.unique(hidden, return_index=True)[1]]
        return _nearest(masker, joining, own, some, homes[some[:, -1].astype(np.int64)])

    found = records.fold_rows(masker, nearest, "measure")
    return replace(safe, joined=hashes, taken=found.codes, moved=moved)


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

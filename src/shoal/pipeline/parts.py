"""Parts: records that never share a group, because their strata or what governs rules differ.

One pass counts the records of every combination (`Tally`). What becomes of combinations with fewer than k records is
then decided on the counts alone, so it does not depend on where the records are.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.edits.apply import kept_by_medoids
from shoal.edits.expressions import Condition
from shoal.edits.strategy import Strategy
from shoal.errors import DataError
from shoal.kernels.standardize import Matrix
from shoal.messages import Message
from shoal.pipeline.counting import distinct
from shoal.plan import Plan
from shoal.tables.text_values import one_chunk

Integers = NDArray[np.int64]
_NAMED = 5  # so many strata, or rules, are named in a message; all of them might be the whole table


@dataclass(frozen=True)
class Key:
    """The stratum of some records, and how all splits of rules come out in them, a byte for each.

    Those that are not at risk, where only others are masked, are `safe`.
    """

    stratum: tuple[Any, ...] = ()
    outcomes: bytes = b""
    safe: bool = False

    @property
    def order(self) -> tuple[tuple[str, ...], bytes]:
        """Any order that is the same everywhere."""
        return tuple(f"{type(value).__name__} {value!r}" for value in self.stratum), self.outcomes


@dataclass(frozen=True)
class Tally:
    """How many records each combination has, and the first of them, from 1, where records have numbers.

    Where k counts units or households, which `counts` says, `units` has the lowest `most` numbers of those of each
    combination: as many as decide whether there are that many, in it or together with others.
    """

    keys: Mapping[Key, tuple[int, int | None]]
    units: Mapping[Key, frozenset[int]] | None = None
    most: int = 0
    counts: str = "record"

    def __add__(self, other: "Tally") -> "Tally":
        found = dict(self.keys)
        units = None
        if self.units is not None and other.units is not None:
            nobody = frozenset[int]()
            both = {*self.units, *other.units}
            units = {key: self._some(self.units.get(key, nobody) | other.units.get(key, nobody)) for key in both}
        for key, (count, first) in other.keys.items():
            before, earlier = found.get(key, (0, None))
            found[key] = (before + count, first if earlier is None else min(earlier, first or earlier))
        return Tally(found, units, self.most, self.counts)

    def _some(self, units: frozenset[int]) -> frozenset[int]:
        return frozenset(sorted(units)[: self.most])

    def protected(self, keys: Iterable[Key]) -> int:
        """Count what k counts in some combinations together: records, or units up to `most`."""
        if self.units is None:
            return sum(self.keys[key][0] for key in keys)
        return len(frozenset[int]().union(*(self.units[key] for key in keys)))

    def units_of(self, strata: Sequence[tuple[Any, ...]]) -> list[frozenset[int]] | None:
        """Return the units of each stratum, `most` of them at least if there are as many; None if records count."""
        if self.units is None:
            return None
        found: dict[tuple[Any, ...], frozenset[int]] = dict.fromkeys(strata, frozenset())
        for key, units in self.units.items():
            if key.stratum in found:
                found[key.stratum] |= units
        return [found[stratum] for stratum in strata]


def keys_of(piece: pa.Table, strata: Sequence[str], outcomes: NDArray[np.uint8]) -> tuple[Integers, list[Key]]:
    """Return the place of each record's combination among those that occur in the piece, and these.

    Parameters
    ----------
    piece
        Some records.
    strata
        The attributes whose combinations are strata; a missing value is a value of its own.
    outcomes
        How splits come out, a column for each.
    """
    codes = np.zeros(len(piece), dtype=np.int64)
    columns = []
    for name in strata:
        column = one_chunk(piece.column(name))
        if pa.types.is_dictionary(column.type):
            column = distinct(column)
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            column = column.cast(pa.timestamp(column.type.unit, "UTC"))  # else an hour that comes twice is one
        if pa.types.is_nested(column.type):
            raise DataError("type-not-counted", column=name, type=str(column.type))
        columns.append(column)
        level = distinct(column).dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
        _, codes = np.unique(codes * (int(level.max(initial=0)) + 1) + level, return_inverse=True)
    for outcome in outcomes.T:
        _, codes = np.unique(codes * 256 + outcome, return_inverse=True)
    _, first, places = np.unique(codes, return_index=True, return_inverse=True)
    values = [list(map(_distinct_value, each.take(first).to_pylist())) for each in columns]
    return places, [Key(tuple(each[i] for each in values), outcomes[at].tobytes()) for i, at in enumerate(first)]


def _distinct_value(value: Any) -> Any:
    """Return a value that equals only itself: the bits of NaN and of a negative zero."""
    is_odd = isinstance(value, float) and (math.isnan(value) or (value == 0 and math.copysign(1.0, value) < 0))
    return f"\0{np.float64(value).tobytes().hex()}" if is_odd else value


def tally(
    places: Integers,
    keys: Sequence[Key],
    keep: NDArray[np.bool_],
    start: int | None,
    units: Integers | None = None,
    most: int = 0,
    what: str = "unit",
) -> Tally:
    """Count the records of each combination; `start` is how many records there are before these, where known.

    With the numbers of their `units`, so many of these at most are kept of each; `what` they are is for messages.
    """
    counts = np.bincount(places[keep], minlength=len(keys))
    first = np.full(len(keys), len(places))
    np.minimum.at(first, places[keep], np.flatnonzero(keep))
    of = None if units is None else _lowest(places[keep], units[keep], most)
    there = np.flatnonzero(counts).tolist()
    found = {keys[i]: (int(counts[i]), None if start is None else int(first[i]) + 1 + start) for i in there}
    if of is None:
        return Tally(found)
    return Tally(found, {keys[i]: of[i] for i in there}, most, what)


def _lowest(places: Integers, units: Integers, most: int) -> dict[int, frozenset[int]]:
    """Return the lowest numbers of units in each combination, so many at most."""
    pairs = np.unique(np.stack([places, units], axis=1), axis=0)
    which, first = np.unique(pairs[:, 0], return_index=True)
    ends = np.append(first, len(pairs))[1:]
    return {
        int(at): frozenset(pairs[low : min(low + most, high), 1].tolist())
        for at, low, high in zip(which, first, ends, strict=True)
    }


@dataclass(frozen=True)
class Parts:
    """Which combinations are published, and which of them may share a group.

    Attributes
    ----------
    keys
        The combinations whose records are published, in a fixed order.
    sizes
        How many records each has.
    homes
        For each attribute block, the home of each combination: records share a group only within a home.
    suppressed
        How many records are left out because their stratum or part has fewer than k.
    mixed
        Whether strata were merged, so that a group may hold records of several.
    given_up
        What should have parted records of one home nevertheless: rules that rely on it are verified, not kept.
    notes
        What to know of all this.
    """

    keys: list[Key]
    sizes: list[int]
    homes: list[Integers]
    suppressed: int = 0
    mixed: bool = False
    given_up: frozenset[Condition] = frozenset()
    notes: list[Message] = field(default_factory=list)

    @property
    def finest(self) -> Integers:
        """The record part of each combination: records of two of them share no group of any attribute block."""
        together = np.unique(np.stack(self.homes, axis=1), axis=0, return_inverse=True)[1]
        return np.asarray(together, dtype=np.int64).ravel()

    def part_of(self, places: Integers, keys: Sequence[Key]) -> Integers:
        """Return the number of each record's combination, -1 for those that are left out."""
        known = {key: number for number, key in enumerate(self.keys)}
        return np.array([known.get(key, -1) for key in keys], dtype=np.int64)[places]


Merge = Callable[[list[tuple[Any, ...]], list[int]], list[int]]


def parts_of(tally: Tally, plan: Plan, strategy: Strategy | None, merge: Merge) -> Parts:
    """Decide what becomes of strata, and of parts that rules make, with fewer than k records.

    Parameters
    ----------
    tally
        The combinations of all records that may be published.
    plan
        What is asked for; `small_strata` says what becomes of small ones.
    strategy
        How rules are kept, with the splits that part records.
    merge
        Joins strata below k with the nearest: given strata and their sizes, the new stratum of each.

    Raises
    ------
    DataError
        If there are small ones and the plan does not say what becomes of them, or nothing would be left.
    """
    keys = sorted(tally.keys, key=lambda key: key.order)
    notes: list[Message] = []
    before = sum(tally.keys[key][0] for key in keys)
    while True:
        stratum, mixed = _strata(keys, tally, plan, merge, notes)
        keys = [key for key in keys if key.stratum in stratum]
        found = _by_rules(keys, tally, plan, strategy, stratum, notes)
        if found is not None:
            sizes = [tally.keys[key][0] for key in keys]
            homes, given_up = found
            return Parts(keys, sizes, homes, before - sum(sizes), mixed, given_up, notes)
        keys = [key for key in keys if key not in _small_keys(keys, tally, plan, strategy, stratum)]


def _strata(
    keys: Sequence[Key], tally: Tally, plan: Plan, merge: Merge, notes: list[Message]
) -> tuple[dict[tuple[Any, ...], int], bool]:
    """Return the number of each stratum that is published, and whether some were merged."""
    members: dict[tuple[Any, ...], list[Key]] = {}
    for key in keys:
        members.setdefault(key.stratum, []).append(key)
    sizes = {stratum: sum(tally.keys[key][0] for key in own) for stratum, own in members.items()}
    counts = {stratum: tally.protected(own) for stratum, own in members.items()}
    numbers = {stratum: number for number, stratum in enumerate(sizes)}
    small = [stratum for stratum, count in counts.items() if count < (plan.k or 0)]
    if not small or plan.strata is None:
        return numbers, False
    if plan.small_strata == "merge":
        merged = merge(list(sizes), list(sizes.values()))
        notes.append(Message("small-strata-joined", strata=len(small), k=plan.k, counts=tally.counts))
        return dict(zip(sizes, merged, strict=True)), True
    if plan.small_strata == "suppress":
        if len(small) == len(sizes):
            raise DataError("all-strata-small", k=plan.k, counts=tally.counts)
        left = sum(sizes[each] for each in small)
        notes.append(Message("small-strata-left-out", records=left, strata=len(small), k=plan.k, counts=tally.counts))
        return {stratum: number for stratum, number in numbers.items() if counts[stratum] >= plan.k}, False
    raise DataError("small-strata", k=plan.k, counts=tally.counts, **_where(small, keys, tally))


def _where(small: Sequence[tuple[Any, ...]], keys: Sequence[Key], tally: Tally) -> dict[str, Any]:
    """Name the strata that are too small by their first records, never by their values."""
    firsts = [min((tally.keys[key][1] or 0) for key in keys if key.stratum == stratum) for stratum in small]
    named = sorted(firsts)[:_NAMED]
    if not all(named):
        return {"strata": len(small)}
    return {"records": named, "number": len(named), "more": len(small) - len(named)}


def _homes(
    keys: Sequence[Key], strategy: Strategy | None, block: int, stratum: Mapping[tuple[Any, ...], int]
) -> tuple[list[tuple[int, bytes]], list[str]]:
    """Return the stratum and the outcomes that matter to an attribute block, and the rules that do part records."""
    splits = [] if strategy is None else strategy.splits
    own = [j for j, split in enumerate(splits) if split.block == block]
    homes = [(stratum[key.stratum], bytes(key.outcomes[j] for j in own)) for key in keys]
    rules = [splits[j].rule for j in own if len({key.outcomes[j] for key in keys}) > 1]
    return homes, rules


def _members(homes: Sequence[tuple[int, bytes]], keys: Sequence[Key]) -> dict[tuple[int, bytes], list[Key]]:
    """Return the combinations in each home."""
    found: dict[tuple[int, bytes], list[Key]] = {}
    for home, key in zip(homes, keys, strict=True):
        found.setdefault(home, []).append(key)
    return found


def _sizes(homes: Sequence[tuple[int, bytes]], keys: Sequence[Key], tally: Tally) -> dict[tuple[int, bytes], int]:
    """Count what k counts in each home."""
    return {home: tally.protected(own) for home, own in _members(homes, keys).items()}


def _by_rules(
    keys: Sequence[Key],
    tally: Tally,
    plan: Plan,
    strategy: Strategy | None,
    stratum: Mapping[tuple[Any, ...], int],
    notes: list[Message],
) -> tuple[list[Integers], frozenset[Condition]] | None:
    """Part records by what governs rules; None if some are to be left out first."""
    blocks = [_homes(keys, strategy, block, stratum) for block in range(len(plan.in_blocks))]
    small = [size for homes, _ in blocks for size in _sizes(homes, keys, tally).values() if size < (plan.k or 0)]
    parting = [rule for _, rules in blocks for rule in rules]
    # Strata that are merged or complete have at least k records: what is small was parted by rules.
    if not small or not parting or strategy is None:
        return [_numbered(homes) for homes, _ in blocks], frozenset()
    names = list(dict.fromkeys(parting))
    rules = names[:_NAMED]
    by_medoids = {*parting} <= kept_by_medoids(strategy.rules, plan)
    if plan.small_strata == "suppress":
        gone = _small_keys(keys, tally, plan, strategy, stratum)
        if len(gone) == len(keys):
            raise DataError("all-parts-small", rules=rules, k=plan.k, counts=tally.counts, medoid=by_medoids)
        left = sum(tally.keys[key][0] for key in gone)
        notes.append(Message("small-strata-left-out", records=left, k=plan.k, counts=tally.counts))
        return None
    if plan.small_strata == "merge":
        merged = [_merged(homes, keys, tally, plan.k) for homes, _ in blocks]
        given_up = [
            split.condition
            for j, split in enumerate(strategy.splits)
            if _is_mixed([key.outcomes[j] for key in keys], merged[split.block])
        ]
        notes.append(Message("small-parts-joined", number=sum(small), counts=tally.counts, k=plan.k))
        return merged, frozenset(given_up)
    raise DataError(
        "small-parts",
        several=len(names),
        rules=rules,
        number=sum(small),
        counts=tally.counts,
        parts=len(small),
        k=plan.k,
        medoid=by_medoids,
    )


def _small_keys(
    keys: Sequence[Key],
    tally: Tally,
    plan: Plan,
    strategy: Strategy | None,
    stratum: Mapping[tuple[Any, ...], int],
) -> set[Key]:
    gone: set[Key] = set()
    for block in range(len(plan.in_blocks)):
        homes, _ = _homes(keys, strategy, block, stratum)
        sizes = _sizes(homes, keys, tally)
        gone |= {key for key, home in zip(keys, homes, strict=True) if sizes[home] < (plan.k or 0)}
    return gone


def _numbered(homes: Sequence[tuple[int, bytes]]) -> Integers:
    numbers = {home: number for number, home in enumerate(sorted(set(homes)))}
    return np.array([numbers[home] for home in homes], dtype=np.int64)


def _merged(homes: Sequence[tuple[int, bytes]], keys: Sequence[Key], tally: Tally, k: int) -> Integers:
    """Join parts of fewer than k with the one before in their stratum, or the next: the last split tells them apart."""
    members = _members(homes, keys)
    number: dict[tuple[int, bytes], int] = {}
    last: tuple[int, bytes] | None = None
    together: list[Key] = []
    for home in sorted(members):
        few = min(tally.protected(together), tally.protected(members[home])) < k
        if last is not None and last[0] == home[0] and few:
            number[home] = number[last]
            together = [*together, *members[home]]
        else:
            number[home] = len(number)
            together = members[home]
        last = home
    return np.array([number[home] for home in homes], dtype=np.int64)


def _is_mixed(outcomes: Sequence[int], homes: Integers) -> bool:
    found: dict[int, int] = {}
    return any(found.setdefault(int(home), outcome) != outcome for home, outcome in zip(homes, outcomes, strict=True))


def nearest_strata(
    sizes: Sequence[int], profiles: Matrix, k: int, units: Sequence[frozenset[int]] | None = None
) -> list[int]:
    """Join strata below k, the smallest first, with the one whose profile is nearest, until none is left.

    Parameters
    ----------
    sizes
        How many records each stratum has.
    profiles
        For each stratum, sums over its records of what describes them.
    k
        The minimum group size.
    units
        The units of each stratum, or k of them, if k counts these.
    """
    left, sums = np.array(sizes, dtype=np.float64), profiles.copy()
    counts = left if units is None else np.array([len(each) for each in units], dtype=np.float64)
    who = [*(units or [])]
    home = np.arange(len(left))
    while len(there := np.flatnonzero(left)) > 1 and counts[there].min() < k:
        small = there[np.argmin(counts[there])]
        others = there[there != small]
        means = sums[others] / left[others, None]
        nearest = others[np.argmin(((means - sums[small] / left[small]) ** 2).sum(axis=1))]
        left[nearest] += left[small]
        sums[nearest] += sums[small]
        left[small] = 0
        if who:
            who[nearest] |= who[small]
            counts[nearest] = len(who[nearest])
        home[home == small] = nearest
    return home.tolist()

"""Rules on records in pieces: what blocks and checks must know of all records is gathered in passes over these.

The first pass over the original finds the values that rules ask for, and what the ticks of sums are chosen from, so
that sums are exact on the same lattice in all blocks. The second finds the records that break a rule, and the parts:
records in which what governs rules comes out differently are divided into record blocks of their own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.edits.apply import disobeyed, kept_by_medoids, on_broken, outcome, small_parts, ways_out
from shoal.edits.controlled_rounding import Tick
from shoal.edits.evaluate import Records, each_broken, near, value
from shoal.edits.expressions import InOriginal, Rule, attributes_of, within
from shoal.edits.repair import Grounds, Righted, grounds_of, righted, ticks_of
from shoal.edits.strategy import Keeping
from shoal.errors import DataError
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.arrow import compute as pc
from shoal.tables.attributes import Attribute, without_declared
from shoal.tables.dtypes import is_number
from shoal.tables.text_values import decoded

MOST_VALUES = 10_000_000  # of an attribute that rules ask for: 80 MB of numbers
Labels = NDArray[np.int64]


def columns_of(rules: Sequence[Rule]) -> list[str]:
    """Name the columns that rules speak of, also those in whose values others must occur."""
    spoken = [name for rule in rules for name in attributes_of(rule.condition)]
    return list(dict.fromkeys([*spoken, *(each.attribute for each in _in_original(rules))]))


def _in_original(rules: Sequence[Rule]) -> list[InOriginal]:
    return [each for rule in rules for each in within(rule.condition) if isinstance(each, InOriginal)]


def records_of(piece: pa.Table, rules: Sequence[Rule], domains: Mapping[str, "Domain"] | None = None) -> Records:
    """Give rules the columns of some records, and of the original values those that these records may have."""
    table = Table(piece)
    columns = {name: without_declared(table, name) for name in columns_of(rules) if name in piece.schema.names}
    records = Records(columns)
    known: dict[str, Array] = {}
    for name, domain in (domains or {}).items():
        asked = [each.of for each in _in_original(rules) if each.attribute == name] if domain.is_sorted else []
        known[name] = domain.among([value(of, records) for of in asked]) if asked else domain.values
    return Records(columns, known) if known else records


@dataclass(frozen=True)
class Domain:
    """The values that an attribute has in the original, each once; numbers are sorted."""

    values: Array

    @classmethod
    def of(cls, column: Array) -> "Domain":
        """Look at some records."""
        values = decoded(column).drop_null()
        return cls(pa.array(np.unique(_floats(values))) if is_number(values.type) else values.unique())

    def __add__(self, other: "Domain") -> "Domain":
        if len(self) > MOST_VALUES:
            return self  # too many are noticed, and do not fill the memory
        if not self.is_sorted:
            return Domain(pa.concat_arrays([self.values, other.values]).unique())
        known, seen = _floats(self.values), _floats(other.values)
        new = seen[~_is_in(seen, known)]
        return Domain(pa.array(np.insert(known, np.searchsorted(known, new), new))) if len(new) else self

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_sorted(self) -> bool:
        """Whether these are numbers."""
        return bool(pa.types.is_float64(self.values.type))

    def among(self, wanted: Sequence[NDArray[np.float64]]) -> Array:
        """Give those numbers that some records may have; a piece needs no others, and would sort all of them anew."""
        asked = np.unique(np.concatenate(wanted))
        found: Array = pa.array(asked[_is_in(asked, _floats(self.values))])
        return found


def _floats(values: Array) -> NDArray[np.float64]:
    floats: NDArray[np.float64] = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return floats


def _is_in(numbers: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which numbers are among some that are sorted, without sorting these again."""
    if not len(known):
        return np.zeros(len(numbers), dtype=bool)
    return np.equal(known[np.minimum(np.searchsorted(known, numbers), len(known) - 1)], numbers)


@dataclass(frozen=True)
class Basis:
    """What the first pass shows: what ticks are chosen from, and the values that rules ask for."""

    grounds: Grounds
    domains: Mapping[str, Domain]

    def __add__(self, other: "Basis") -> "Basis":
        domains = {name: domain + other.domains[name] for name, domain in self.domains.items()}
        return Basis(self.grounds + other.grounds, domains)


def basis_of(kept: Keeping, piece: pa.Table) -> Basis:
    """Look at some records of the original for the first time."""
    records = records_of(piece, kept.rules)
    tied = {name for each in kept.sums for name in each.form.coefficients}
    asked = {each.attribute for each in _in_original(kept.rules)} & {*piece.schema.names}
    domains = {name: Domain.of(without_declared(Table(piece), name)) for name in sorted(asked)}
    return Basis(grounds_of(kept, {name: records.number(name) for name in tied}), domains)


@dataclass(frozen=True)
class Broken:
    """Which rules some records break: by its number how many do, and the first where they have an order."""

    rules: Mapping[int, tuple[int, int | None]] = field(default_factory=dict)
    records: int = 0  # that break any

    def __add__(self, other: "Broken") -> "Broken":
        found = dict(self.rules)
        for number, (count, first) in other.rules.items():
            before, earlier = found.get(number, (0, None))
            found[number] = (before + count, first if earlier is None else min(earlier, first or earlier))
        return Broken(found, self.records + other.records)

    def named(self, rules: Sequence[Rule]) -> list[tuple[str, int, int | None]]:
        """Give the rules that are broken by their names."""
        return [(rules[number].name, *self.rules[number]) for number in sorted(self.rules)]


@dataclass(frozen=True)
class Originals:
    """What the second pass shows: who breaks rules, and how many records come out alike in all that governs some."""

    broken: Broken
    alike: Mapping[bytes, int]

    def __add__(self, other: "Originals") -> "Originals":
        alike = dict(self.alike)
        for key, count in other.alike.items():
            alike[key] = alike.get(key, 0) + count
        return Originals(self.broken + other.broken, alike)


@dataclass(frozen=True)
class Edits:
    """What blocks and checks must know of rules.

    Attributes
    ----------
    kept
        How the rules are kept.
    domains
        The values of the original that they ask for.
    ticks
        Of sums that are tied together.
    parts
        What the splits give in the records of each part, a byte for each split; one part if there is no split.
    sizes
        How many records each part has.
    broken
        How many original records break a rule, and are kept.
    notes
        What to know of them.
    by_medoids
        The names of rules that whole records would keep.
    """

    kept: Keeping
    domains: Mapping[str, Domain]
    ticks: list[Tick] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=lambda: [b""])
    sizes: list[int] = field(default_factory=list)
    broken: int = 0
    notes: list[str] = field(default_factory=list)
    by_medoids: frozenset[str] = frozenset()

    def part_of(self, piece: pa.Table) -> Labels:
        """Give the number of each record's part."""
        if len(self.parts) == 1:
            return np.zeros(len(piece), dtype=np.int64)
        found = _outcomes(self.kept, records_of(piece, self.kept.rules, self.domains))
        places = pc.index_in(found, value_set=pa.array(self.parts, found.type))
        numbers: Labels = places.to_numpy(zero_copy_only=False).astype(np.int64)
        return numbers

    def righted(
        self, attributes: Sequence[Attribute], published: Sequence[NDArray[np.float64]], labels: Labels, plan: Plan
    ) -> Righted:
        """Put right what the groups of one block publish; attributes are those of its records."""
        original = {attribute.name: attribute.codes for attribute in attributes}
        found = dict(zip(original, published, strict=True))
        whole = whole_of(attributes, plan)
        return righted(self.kept, original, found, dict.fromkeys(original, labels), whole, self.ticks)

    def look(self, piece: pa.Table, start: int | None = None) -> Originals:
        """Look at records of the original, before which there are `start` others, where that is known."""
        records = records_of(piece, self.kept.rules, self.domains)
        found = _broken(_each_broken(self.kept.rules, records), len(piece), start)
        alike = pc.value_counts(_outcomes(self.kept, records)).to_pylist() if self.kept.splits else []
        return Originals(found, {each["values"]: each["counts"] for each in alike})

    def breaks(self, piece: pa.Table) -> NDArray[np.bool_]:
        """Tell which records of the original break a rule, by more than rounding."""
        records = records_of(piece, self.kept.rules, self.domains)
        flags = (broken for _, broken in _each_broken(self.kept.rules, records))
        return reduce(np.logical_or, flags, np.zeros(len(piece), dtype=bool))

    def disobeyed(self, piece: pa.Table, start: int | None = None) -> Broken:
        """Look which rules are broken by records that are published, be it by rounding."""
        records = records_of(piece, self.kept.rules, self.domains)
        return _broken(enumerate(flags for _, flags in each_broken(self.kept.rules, records)), len(piece), start)

    def first_disobeyed(self, piece: pa.Table) -> Array:
        """Give the number of the first rule that each record which is published breaks; null if it breaks none."""
        records = records_of(piece, self.kept.rules, self.domains)
        found = np.full(len(piece), -1)
        for number, (_, flags) in enumerate(each_broken(self.kept.rules, records)):
            found[flags & (found < 0)] = number
        numbers: Array = pa.array(found, mask=found < 0)
        return numbers

    def failures(self, broken: Broken) -> list[str]:
        """Say which rules the release breaks."""
        named = broken.named(self.kept.rules)
        return [disobeyed(*each, by_medoids=each[0] in self.by_medoids) for each in named]


def whole_of(attributes: Sequence[Attribute], plan: Plan) -> set[str]:
    """Name the attributes that are published as whole numbers, rules or not."""
    return {each.name for each in attributes if plan.round and pa.types.is_integer(each.stored)}


def edits_of(
    kept: Keeping,
    basis: Basis,
    look_at_all: Callable[[Callable[..., Originals]], Originals],
    attributes: Sequence[Attribute],
    plan: Plan,
) -> Edits:
    """Find what must be known of rules by the second pass over the original.

    Raises
    ------
    DataError
        If the original breaks rules, or too few records are in a part.
    """
    for name, domain in basis.domains.items():
        if len(domain) > MOST_VALUES:
            raise DataError(
                f"column '{name}' has more than {MOST_VALUES:,} different values, and a rule asks for all of them; "
                "leave it out"
            )
    ticks = ticks_of(kept, basis.grounds, whole_of(attributes, plan))
    seen = look_at_all(Edits(kept, basis.domains).look)
    notes = on_broken(seen.broken.named(kept.rules), seen.broken.records, plan, exclude=False)
    parts = sorted(seen.alike) or [b""]
    sizes = [seen.alike[key] for key in parts if key]
    if small := [size for size in sizes if size < plan.k]:
        parting = [each.rule for j, each in enumerate(kept.splits) if len({key[j] for key in parts}) > 1]
        raise DataError(f"{small_parts(parting, small, plan.k)}: {ways_out(parting, kept, plan)}")
    by_medoids = kept_by_medoids(kept.rules, plan)
    return Edits(kept, basis.domains, ticks, parts, sizes, seen.broken.records, notes, by_medoids)


def _each_broken(rules: Sequence[Rule], records: Records) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Tell by the number of each rule which records break it by more than rounding."""
    for number, (rule, broken) in enumerate(each_broken(rules, records)):
        yield number, broken & ~near(rule, records) if broken.any() else broken


def _broken(found: Iterator[tuple[int, NDArray[np.bool_]]], count: int, start: int | None) -> Broken:
    breaks, rules = np.zeros(count, dtype=bool), {}
    for number, flags in found:
        if flags.any():
            rules[number] = (int(flags.sum()), None if start is None else int(np.argmax(flags)) + 1 + start)
            breaks |= flags
    return Broken(rules, int(breaks.sum()))


def _outcomes(kept: Keeping, records: Records) -> Array:
    """Give how all splits come out in each record, a byte for each."""
    found = np.column_stack([outcome(split.condition, records) for split in kept.splits]).astype(np.uint8)
    fixed: Any = pa.FixedSizeBinaryArray
    data: Any = pa.py_buffer(found.tobytes())
    return cast("Array", fixed.from_buffers(pa.binary(found.shape[1]), len(found), [None, data]))

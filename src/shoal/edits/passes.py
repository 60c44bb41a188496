"""Rules and records that come in pieces: what each piece shows is added up.

The first pass over the original finds the values that rules ask for, and what rounding bases are chosen from, so
that sums are exact on the same lattice in all blocks. The second finds the records that break a rule, and the parts:
records in which what governs rules comes out differently.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.edits.apply import disobeyed, kept_by_medoids, on_broken, outcome
from shoal.edits.columns import floats
from shoal.edits.controlled_rounding import RoundingBase
from shoal.edits.evaluate import Records, each_broken, near, value
from shoal.edits.expressions import InOriginal, Rule, attributes_of, within
from shoal.edits.levels import Levels
from shoal.edits.repair import Repaired, RoundingInputs, repaired, rounding_bases_of, rounding_inputs_of
from shoal.edits.strategy import Strategy
from shoal.edits.verification_sql import broken_in_sql
from shoal.errors import DataError
from shoal.messages import Message
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.attributes import Attribute, Codes, without_declared
from shoal.tables.dtypes import is_number
from shoal.tables.text_values import decoded

MOST_VALUES = 10_000_000  # of an attribute that rules ask for: 80 MB of numbers
Labels = NDArray[np.int64]
Truths = NDArray[np.bool_]


def columns_of(rules: Sequence[Rule]) -> list[str]:
    """List the columns that rules name, also those in whose values others must occur."""
    spoken = [name for rule in rules for name in attributes_of(rule.condition)]
    return list(dict.fromkeys([*spoken, *(each.attribute for each in _in_original(rules))]))


def _in_original(rules: Sequence[Rule]) -> list[InOriginal]:
    return [each for rule in rules for each in within(rule.condition) if isinstance(each, InOriginal)]


def records_of(
    table: Table,
    rules: Sequence[Rule],
    domains: Mapping[str, "Domain"] | None = None,
    levels: Mapping[str, Levels] | None = None,
) -> Records:
    """Return the columns that rules name, and of the original values those that these records may have."""
    columns = {name: without_declared(table, name) for name in columns_of(rules) if name in table.names}
    records = Records(columns, levels=levels)
    known: dict[str, Array] = {}
    for name, domain in (domains or {}).items():
        asked = [each.of for each in _in_original(rules) if each.attribute == name] if domain.is_sorted else []
        known[name] = domain.among([value(of, records) for of in asked]) if asked else domain.values
    return Records(columns, known, levels=levels) if known else records


def domains_of(original: Table, rules: Sequence[Rule]) -> dict[str, "Domain"]:
    """Return the values of the original that rules ask for."""
    asked = {each.attribute for each in _in_original(rules)} & {*original.names}
    return {name: Domain.of(without_declared(original, name)) for name in sorted(asked)}


@dataclass(frozen=True)
class Domain:
    """The values that an attribute has in the original, each once; numbers are sorted."""

    values: Array

    @classmethod
    def of(cls, column: Array) -> "Domain":
        """Collect the values of some records."""
        values = decoded(column).drop_null()
        return cls(pa.array(np.unique(floats(values))) if is_number(values.type) else values.unique())

    def __add__(self, other: "Domain") -> "Domain":
        if len(self) > MOST_VALUES:
            return self  # too many are noticed, and do not fill the memory
        if not self.is_sorted:
            return Domain(pa.concat_arrays([self.values, other.values]).unique())
        known, seen = floats(self.values), floats(other.values)
        new = seen[~_is_in(seen, known)]
        return Domain(pa.array(np.insert(known, np.searchsorted(known, new), new))) if len(new) else self

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_sorted(self) -> bool:
        """Whether these are numbers."""
        return bool(pa.types.is_float64(self.values.type))

    def among(self, wanted: Sequence[NDArray[np.float64]]) -> Array:
        """Return those numbers that some records may have; a piece needs no others, and would sort all again."""
        asked = np.unique(np.concatenate(wanted))
        found: Array = pa.array(asked[_is_in(asked, floats(self.values))])
        return found


def _is_in(numbers: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Find which numbers are among some that are sorted, without sorting these again."""
    if not len(known):
        return np.zeros(len(numbers), dtype=bool)
    return np.equal(known[np.minimum(np.searchsorted(known, numbers), len(known) - 1)], numbers)


@dataclass(frozen=True)
class Basis:
    """What the first pass shows: what rounding bases are chosen from, and the values that rules ask for."""

    rounding_inputs: RoundingInputs
    domains: Mapping[str, Domain]

    def __add__(self, other: "Basis") -> "Basis":
        domains = {name: domain + other.domains[name] for name, domain in self.domains.items()}
        return Basis(self.rounding_inputs + other.rounding_inputs, domains)


def basis_of(kept: Strategy, piece: pa.Table) -> Basis:
    """Collect from some records of the original what the first pass shows."""
    table = Table(piece)
    records = records_of(table, kept.rules)
    tied = {name for each in kept.sums for name in each.form.coefficients}
    return Basis(rounding_inputs_of(kept, {name: records.number(name) for name in tied}), domains_of(table, kept.rules))


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
        """Return the rules that are broken by their names."""
        return [(rules[number].name, *self.rules[number]) for number in sorted(self.rules)]


@dataclass(frozen=True)
class Edits:
    """What blocks and verification must know of rules."""

    kept: Strategy  # how the rules are kept
    domains: Mapping[str, Domain]  # the values of the original that they ask for
    levels: Mapping[str, Levels] = field(default_factory=dict)  # of attributes that they compare by order
    rounding_bases: list[RoundingBase] = field(default_factory=list)  # of sums that are tied together
    fixed: frozenset[int] = frozenset()  # numbers of rules of unmasked attributes only: records may break these
    excused: frozenset[int] = frozenset()  # numbers of rules that groups with a record that broke them may break
    exclude: bool = False  # whether records that break a rule are left out
    by_medoids: frozenset[str] = frozenset()  # the names of rules that whole records would keep

    @property
    def rules(self) -> list[Rule]:
        """All rules."""
        return self.kept.rules

    def repaired(
        self,
        attributes: Sequence[Attribute],
        published: Sequence[Codes],
        labels: Mapping[str, Labels],
        whole: set[str],
    ) -> Repaired:
        """Repair what the groups of some records publish, so that rules hold exactly; see `repaired`."""
        original = {attribute.name: attribute.codes for attribute in attributes}
        found = dict(zip(original, published, strict=True))
        return repaired(self.kept, original, found, labels, whole, self.rounding_bases)

    def outcomes(self, table: Table) -> NDArray[np.uint8]:
        """Return how all splits come out in each record, a column for each."""
        records = records_of(table, self.rules, self.domains, self.levels)
        columns = [outcome(split.condition, records) for split in self.kept.splits]
        return np.column_stack(columns).astype(np.uint8) if columns else np.empty((len(table), 0), np.uint8)

    def broken(self, table: Table, keep: Truths, start: int | None) -> tuple[Broken, Truths]:
        """Find the rules that original records break by more than rounding, among those that are kept."""
        records = records_of(table, self.rules, self.domains, self.levels)
        breaks, rules = np.zeros(len(table), dtype=bool), {}
        for number, flags in self._wrong(records):
            flags = flags & keep
            if flags.any():
                rules[number] = (int(flags.sum()), None if start is None else int(np.argmax(flags)) + 1 + start)
                breaks |= flags
        return Broken(rules, int(breaks.sum())), breaks

    def excuses(self, table: Table) -> dict[int, Truths]:
        """Return by the number of a rule which original records break it and are published all the same."""
        records = records_of(table, self.rules, self.domains, self.levels)
        found = {}
        for number, (rule, flags) in enumerate(each_broken(self.rules, records)):
            if number in self.fixed:
                found[number] = flags
            elif number in self.excused:
                found[number] = flags & ~near(rule, records)
        return found

    def disobeyed(self, table: Table, start: int | None) -> tuple[Broken, dict[int, Truths]]:
        """Find the rules that published records break, be it by rounding; apart from these, where some are excused.

        They are evaluated in SQL, not by what the groups were split and repaired with.
        """
        records = records_of(table, self.rules, self.domains, self.levels)
        rules, excusable = {}, {}
        for number, (_, flags) in enumerate(broken_in_sql(self.rules, records)):
            if number in self.fixed | self.excused:
                excusable[number] = flags
            elif flags.any():
                rules[number] = (int(flags.sum()), None if start is None else int(np.argmax(flags)) + 1 + start)
        return Broken(rules), excusable

    def failures(self, broken: Broken) -> list[Message]:
        """List the rules that the release breaks."""
        named = broken.named(self.rules)
        return [disobeyed(*each, by_medoids=each[0] in self.by_medoids) for each in named]

    def _wrong(self, records: Records) -> Iterator[tuple[int, Truths]]:
        for number, (rule, broken) in enumerate(each_broken(self.rules, records)):
            if broken.any():
                yield number, broken & ~near(rule, records)


def edits_of(kept: Strategy, basis: Basis, levels: Mapping[str, Levels], whole: set[str], plan: Plan) -> Edits:
    """Start what must be known of rules from the first pass over the original; see `with_broken` for the second."""
    for name, domain in basis.domains.items():
        if len(domain) > MOST_VALUES:
            raise DataError("too-many-values-for-rule", column=name, most=MOST_VALUES)
    changed = {*plan.changed}
    fixed = {number for number, rule in enumerate(kept.rules) if not {*attributes_of(rule.condition)} & changed}
    return Edits(
        kept,
        basis.domains,
        levels,
        [] if plan.draws else rounding_bases_of(kept, basis.rounding_inputs, whole),
        frozenset(fixed),
        exclude=plan.edits_original == "exclude",
        by_medoids=kept_by_medoids(kept.rules, plan),
    )


def excused_by(edits: Edits, broken: Broken, plan: Plan) -> frozenset[int]:
    """Return the rules that may go on being broken; records that break one are refused unless the plan keeps them."""
    on_broken(broken.named(edits.rules), broken.records, plan)
    return frozenset(broken.rules) - edits.fixed if plan.edits_original == "keep" else frozenset()

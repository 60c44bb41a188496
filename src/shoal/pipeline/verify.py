"""Is a release what it claims to be? Counted on what is published, by SQL that knows nothing of the masking.

Original and published records stand side by side in a relation, `pairs`; DuckDB or Spark answers the queries. One list
of promises serves every backend.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.aggregation import Rescaling
from shoal.edits.expressions import attributes_of
from shoal.edits.passes import Broken, Edits
from shoal.errors import CheckFailed
from shoal.kernels.l_diversity import FORMS, SLACK, C
from shoal.measures import closeness_to, l_diversity
from shoal.messages import Message
from shoal.pipeline.counting import Database, Sizes, countable, distinct, distinct_column, known_values, sizes_of
from shoal.pipeline.dominance import dominance_failures, dominance_in
from shoal.pipeline.households import numbers_in
from shoal.pipeline.sensitive import Sensitive
from shoal.pipeline.totals import wrong_totals
from shoal.pipeline.units import (
    Groups,
    Unit,
    not_one_to_one,
    too_few_units,
    trails_of,
    units_in_groups,
)
from shoal.pipeline.verify_at_risk import masked_records, wrongly_changed
from shoal.pipeline.verify_households import inconstant, one_each
from shoal.pipeline.whole_file import Columns, Unchanged, as_number, file_risk, refuse_given_away
from shoal.plan.aggregates import aggregate_of
from shoal.plan.conflicts import refuses_l
from shoal.plan.resolved import ResolvedPlan
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.attributes import CATEGORIES, Attribute, Codes, without_declared

_ROUNDING = 1e-9  # of the sum of absolute values, by which a sum that is kept may be off
# How exactly a sum can be kept in columns of less than 64 bits.
_PRECISION = {"float": 1e-6, "halffloat": 1e-2}
_LEAST = 2.0**-1074  # the least number above zero


@dataclass(frozen=True)
class Promise:
    """What a release claims about itself.

    Attributes
    ----------
    plan
        Resolved for the table.
    attributes
        The changed attributes, without codes.
    mixed
        Whether groups may hold records of several strata.
    rescaled
        Those whose variance was restored.
    slack
        How far outside the range of its group rules push a number.
    sensitive
        The attributes that l and t protect.
    edits
        The rules that are obeyed.
    largest
        The largest absolute value of each number.
    ranges
        Whether what a group publishes lies within the range of its records: not where noise is added.
    types
        Of the columns that are published in place of changed ones.
    heaviest
        The largest survey weight.
    spelled
        Whether groups are told apart by the text of a file, such as CSV.
    unchanged
        The columns that are released unchanged.
    units
        The unit of the plan, of which every group has k, and dropped identifiers that may tell units apart.
    joined
        How many records take on the values of others, which are released unchanged.
    """

    plan: ResolvedPlan
    attributes: Sequence[Attribute]
    mixed: bool = False
    rescaled: Mapping[str, Rescaling] = field(default_factory=dict)
    slack: Mapping[str, float] = field(default_factory=dict)
    sensitive: Sequence[Sensitive] = ()
    edits: Edits | None = None
    largest: Mapping[str, float] = field(default_factory=dict)
    ranges: bool = True
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    heaviest: float = 1.0
    spelled: bool = False
    unchanged: Sequence[Unchanged] = ()
    units: Sequence[Unit] = ()
    joined: int = 0

    @property
    def blocks(self) -> list[list[str]]:
        """Attributes of which every combination occurs at least k times."""
        plan = self.plan
        return [] if plan.method == "mic1d" or (plan.draws and not plan.mask_quasi) else plan.in_blocks

    @property
    def strata(self) -> list[str]:
        """Attributes together with which this holds too."""
        return [] if self.mixed else self.plan.strata or []

    def is_key(self, attribute: Attribute) -> bool:
        """Whether the numbers that an attribute publishes are the very values of its column, in any file."""
        doubles = attribute.type == "continuous" and attribute.name not in self.rescaled
        return doubles and self.types.get(attribute.name) == pa.float64() and not self.spelled

    def place(self, name: str) -> int:
        """Return the place of a changed attribute among all."""
        return next(j for j, attribute in enumerate(self.attributes) if attribute.name == name)

    def parts(self, name: str) -> list[str]:
        """Return the columns of `pairs` that have a changed attribute as it was and as it is published."""
        j = self.place(name)
        return [f"k{j}", f"x{j}", *([] if self.is_key(self.attributes[j]) else [f"y{j}"])]

    def key(self, name: str) -> str:
        """Return the column of `pairs` that has what is published of an attribute."""
        at = {each.name: f"u{i}" for i, each in enumerate(self.unchanged)}
        return at[name] if name in at else f"k{self.place(name)}"

    @property
    def columns(self) -> Columns:
        """All published columns, as the risk of the whole file counts them."""
        masked = {each.name: f"k{j}" for j, each in enumerate(self.attributes)}
        return Columns(
            self.plan.k or 2,
            {name: key for name, key in masked.items() if name in self.plan.masked},
            {name: key for name, key in masked.items() if name not in self.plan.masked},
            {each.name: f"x{j}" for j, each in enumerate(self.attributes)},
            self.unchanged,
            frozenset(each.name for each in self.attributes if each.type in CATEGORIES),
            unit=self.unit,
            households=self.plan.household is not None,
            refuses_l=refuses_l(self.plan),
        )

    @property
    def unit(self) -> str | None:
        """The column of `pairs` that has the unit of which every group has k; None if k counts records."""
        return None if self.plan.unit is None else "i0"

    @property
    def counts(self) -> str:
        """What k counts, as an aggregate."""
        return "count(*)" if self.unit is None else f"count(DISTINCT {self.unit})"


@dataclass(frozen=True)
class Verified:
    """What was counted in what is published.

    Attributes
    ----------
    blocks
        For each attribute block, with strata, how many combinations occur how often.
    together
        The same for all quasi-identifiers together, without strata; None where there are none.
    strata
        The same for all quasi-identifiers and strata together; None where there are no strata.
    apart
        The same for each attribute block without strata.
    before
        The same for the original quasi-identifiers of published records, where units are counted. Then `together`,
        `strata` and `apart` count units too, and `blocks` records.
    file
        The risk of the whole file: see `shoal.pipeline.whole_file.file_risk`.
    diversity, closeness
        For each sensitive attribute, the worst group's diversity in each form of `shoal.measures.l_diversity`, and how
        far the distribution of the worst group is off.
    dominance
        For each magnitude, how many ``cells`` there are, and how many a contributor dominates, ``failing``.
    households
        How many combinations of household attributes occur in how many households; None where there are none.
    only
        Where only records at risk are masked, how many there are, and how many have changed.
    """

    blocks: list[Sizes]
    together: Sizes | None = None
    strata: Sizes | None = None
    apart: list[Sizes] = field(default_factory=list)
    before: Sizes | None = None
    file: dict[str, Any] = field(default_factory=dict)
    diversity: dict[str, dict[str, Any]] = field(default_factory=dict)
    closeness: dict[str, float] = field(default_factory=dict)
    dominance: dict[str, dict[str, int]] = field(default_factory=dict)
    households: Sizes | None = None
    only: dict[str, int] | None = None


@dataclass
class Pairs:
    """Puts original and published records side by side, piece by piece, and evaluates rules on the way."""

    promise: Promise
    broken: Broken = field(default_factory=Broken)

    def of(
        self, original: Table, published: Table, start: int | None, cells: Mapping[str, Array] | None = None
    ) -> pa.RecordBatch:
        """Pair original and published records.

        Parameters
        ----------
        original, published
            The same records in the same order.
        start
            How many records there are before these, where that is known.
        cells
            Columns as they are written in a text file, which tells 1.5 from 1.50, or what stands for each text.
        """
        promise, plan = self.promise, self.promise.plan
        columns: dict[str, Array] = {}
        spelled = cells or {}
        for j, attribute in enumerate(promise.attributes):
            x = attribute.read(without_declared(original, attribute.name))
            column = published.column(attribute.name)
            y = np.empty(0) if promise.is_key(attribute) else attribute.read(column)
            if attribute.name in promise.rescaled:
                y = promise.rescaled[attribute.name].undo(y)
            told_by = countable if promise.is_key(attribute) else distinct
            columns |= {f"k{j}": told_by(spelled.get(attribute.name, column))}
            columns |= {f"x{j}": _nullable(x)} | ({} if promise.is_key(attribute) else {f"y{j}": _nullable(y)})
        for i, each in enumerate(promise.unchanged):
            text = spelled.get(each.name)
            columns[f"u{i}"] = distinct_column(published, each.name) if text is None else distinct(text)
            if not each.key:
                columns[f"v{i}"] = known_values(published, each.name)
            if each.number:
                columns[f"n{i}"] = as_number(published.column(each.name))
        columns |= {f"i{i}": known_values(original, each.name) for i, each in enumerate(promise.units)}
        if plan.household is not None:
            columns["h"] = numbers_in(original, plan.household)
        if plan.pseudonym is not None:
            columns["p"] = known_values(published, plan.pseudonym)
        if plan.weights is not None:
            columns["w"] = published.column(plan.weights).cast(pa.float64(), safe=False)
        columns |= {f"q{i}": pa.array(each.codes(published)) for i, each in enumerate(promise.sensitive)}
        if promise.edits is not None:
            columns |= self._rules(promise.edits, original, published, start)
        if not columns:
            columns["nothing"] = pa.nulls(len(published))
        return pa.RecordBatch.from_pydict(columns)

    def _rules(self, edits: Edits, original: Table, published: Table, start: int | None) -> dict[str, Array]:
        broken, excusable = edits.disobeyed(published, start)
        self.broken = self.broken + broken
        found: dict[str, Array] = {}
        for number, flags in edits.excuses(original).items():
            found |= {f"e{number}": pa.array(flags), f"b{number}": pa.array(excusable[number])}
        return found


def verify(
    database: Database,
    promise: Promise,
    broken: Callable[[], Broken],
    changed: Callable[[], list[Message]] = list,
    determined: Sequence[dict[str, Any]] | None = None,
) -> Verified:
    """Verify a release whose records stand beside their originals.

    Parameters
    ----------
    database
        Answers queries on `pairs`.
    promise
        What the release claims.
    broken, changed
        Tell which rules were found broken, and what has changed that should not, once all pairs were read.
    determined
        The masked attributes that follow from unchanged columns, where these are known; see `file_risk`.

    Raises
    ------
    CheckFailed
        Naming everything that does not hold.
    """
    failures: list[str] = []
    blocks: list[Sizes] = []
    households = None
    for block in promise.blocks:
        if promise.plan.household is not None and block == promise.plan.household_attributes:
            households, wrong = _households(database, promise, block)
            failures += wrong
            blocks.append(sizes_of(database, _keys(promise, block).split(", ")))
            continue
        sizes, wrong = _block(database, promise, block)
        blocks.append(sizes)
        failures += [*too_small(sizes, [*block, *promise.strata], promise.plan.k), *wrong]
    found = replace(_counts(database, promise, blocks), households=households)
    if promise.plan.only is not None:
        found = replace(found, only=_only(database, promise))
        failures += wrongly_changed(found.only or {})
    units = _units(database, promise)
    failures += too_few_units(units, promise.plan)
    if promise.plan.pseudonym is not None:
        failures += not_one_to_one(database, "i0" if promise.plan.household is None else "h", promise.plan.pseudonym)
    diversity, closeness = _diversity(database, promise, failures)
    dominance = dominance_in(database, promise, partial(_scaled, promise))
    failures += [*dominance_failures(dominance), *wrong_totals(database, promise, partial(_scaled, promise))]
    failures += _unexcused(database, promise)
    if promise.edits is not None:
        failures += promise.edits.failures(broken())
    failures += changed()
    if failures:
        raise CheckFailed(failures)
    columns = promise.columns
    known = found.together if [*columns.masked] == promise.plan.masked else None
    file = file_risk(database, columns, known, units, determined, _trails(database, promise))
    refuse_given_away(file, promise.plan)
    return replace(found, diversity=diversity, closeness=closeness, dominance=dominance, file=file)


def _trails(database: Database, promise: Promise) -> dict[str, Any] | None:
    """Count what pseudonyms give away, of units or households; None if there are none."""
    if promise.plan.pseudonym is None:
        return None
    columns = promise.columns
    keys = [*columns.masked.values(), *(promise.key(each.name) for each in promise.unchanged if each.key)]
    of, column = ("unit", "i0") if promise.plan.household is None else ("household", "h")
    return trails_of(database, column, keys, promise.plan.k, of)


def _only(database: Database, promise: Promise) -> dict[str, int]:
    """Count the records that are at risk, and those that have changed."""
    values = [
        (f"x{j}", f"k{j}" if promise.is_key(attribute) else f"y{j}") for j, attribute in enumerate(promise.attributes)
    ]
    strata = [promise.key(name) for name in promise.strata]
    fills = promise.plan.missing == "impute"
    found = masked_records(database, values, strata, promise.plan.k, fills=fills, unit=promise.unit)
    return {**found, "joined": promise.joined}


def _households(database: Database, promise: Promise, block: Sequence[str]) -> tuple[Sizes, list[Message]]:
    """Count the households of every combination of their attributes, in a table with one record for each."""
    keys = _keys(promise, block).split(", ")
    parts = [part for name in block for part in promise.parts(name)]
    columns = dict.fromkeys([*keys, *parts, *(["w"] if promise.plan.weights is not None else [])])
    sizes, wrong = _block(database, promise, block, one_each([*columns]))
    small = too_small(sizes, [*block, *promise.strata], promise.plan.k, "household")
    return sizes, [*inconstant(database, keys, [*block, *promise.strata]), *small, *wrong]


def _units(database: Database, promise: Promise) -> list[dict[str, Any]]:
    """Count the units in every group."""
    groups = [Groups([*block, *promise.strata], _keys(promise, block)) for block in promise.blocks]
    originals = [f"x{j}" for j in range(len(promise.attributes))]
    return units_in_groups(database, promise.units, groups, originals, promise.plan.k or 2)


def _keys(promise: Promise, block: Sequence[str]) -> str:
    return ", ".join(promise.key(name) for name in [*block, *promise.strata])


def _block(
    database: Database, promise: Promise, block: Sequence[str], relation: str = "pairs"
) -> tuple[Sizes, list[Message]]:
    """Count how many combinations occur how often, and those that publish what none of their records could give.

    A number or a level must lie in the range of theirs, a category be one of theirs, and a value be missing only where
    theirs are: rows out of order do not pass. Where sums are kept, they are added up in every group. The `relation` may
    have records of households.
    """
    checks = [each for name in block for each in _checks(promise, name)] if promise.ranges else []
    if not checks:
        return sizes_of(database, _keys(promise, block).split(", ")), []
    parts = ", ".join(dict.fromkeys(part for check in checks for part in check.parts))
    odd = ", ".join(f"coalesce(sum(CASE WHEN {check.wrong} THEN 1 ELSE 0 END), 0)" for check in checks)
    inside = f"SELECT count(*) AS n, {parts} FROM {relation} GROUP BY {_keys(promise, block)}"  # noqa: S608 - no outside text
    rows = database.rows(f"SELECT n, count(*), {odd} FROM ({inside}) AS g GROUP BY n")  # noqa: S608
    counts = [int(sum(row[2 + i] for row in rows)) for i in range(len(checks))]
    wrong = [check.message(count) for check, count in zip(checks, counts, strict=True) if count]
    return {int(row[0]): int(row[1]) for row in rows}, wrong


@dataclass(frozen=True)
class _Check:
    """What is computed in every group, when it is wrong, and the message for it."""

    parts: list[str]
    wrong: str
    message: Callable[[int], Message]


def _checks(promise: Promise, name: str) -> Iterator[_Check]:
    j = promise.place(name)
    attribute, plan = promise.attributes[j], promise.plan

    def wrong(count: int) -> Message:
        if attribute.type in CATEGORIES:
            return Message("category-of-none", column=name, values=count)
        return Message("outside-the-range", column=name, values=count)

    slack = _slack(promise, attribute)
    y = f"y{j} < low{j} - {slack:.17e} OR y{j} > high{j} + {slack:.17e}"  # with an exponent: else it is a decimal
    # What is published may be the key of the group itself.
    own, one = (f"k{j}", f"k{j}") if promise.is_key(attribute) else (f"y{j}", f"any_value(y{j})")
    parts = [f"min(x{j}) AS low{j}, max(x{j}) AS high{j}, {one} AS y{j}"]
    if slack == np.inf:
        y = "1 = 0"  # it was computed from others, and may be anywhere
    if attribute.type in CATEGORIES:
        parts.append(f"sum(CASE WHEN x{j} = {own} THEN 1 ELSE 0 END) AS same{j}")
        y = f"same{j} = 0"
    gone = "1 = 1"
    if plan.missing in ("group", "suppress"):
        parts.append(f"count(x{j}) AS there{j}")
        gone = f"there{j} = n"
    yield _Check(
        parts,
        f"CASE WHEN y{j} IS NULL THEN {gone} ELSE low{j} IS NULL OR {y} END",
        wrong,
    )
    if plan.missing == "group" and slack != np.inf:
        known, of = f"there{j}", []
        if promise.unit is not None:
            known, of = f"units{j}", [f"count(DISTINCT CASE WHEN x{j} IS NOT NULL THEN {promise.unit} END) AS units{j}"]
        yield _Check(
            of,
            f"y{j} IS NOT NULL AND {known} < {plan.k}",
            lambda count: Message("few-known-values", column=name, values=count, k=plan.k, counts=plan.counts),
        )
    tolerance = _PRECISION.get(str(attribute.stored), _ROUNDING)
    unit, least = _near_one(promise, name)
    keeps = _keeps_mean(promise, attribute)
    half = f"({unit} * {0.5 if _is_whole(promise, attribute) else 0.0})"  # a mean that is rounded
    if plan.weights is not None and (keeps or (plan.preserve is not None and attribute.type == "continuous")):
        w = f"(w * {math.ldexp(1.0, -math.frexp(promise.heaviest)[1]):.17e})"  # no sum of weights overflows
        both = f"x{j} IS NOT NULL AND {own} IS NOT NULL"
        parts = [
            f"sum(CASE WHEN {both} THEN {w} * (x{j} * {unit}) ELSE 0 END) AS had{j}",
            f"sum(CASE WHEN {both} THEN {w} * ({own} * {unit}) ELSE 0 END) AS kept{j}",
            f"sum(CASE WHEN {both} THEN {w} * (abs(x{j} * {unit}) + {least}) ELSE 0 END) AS size{j}",
            f"sum(CASE WHEN {both} THEN {w} ELSE 0 END) AS weight{j}",
        ]
        yield _Check(
            parts,
            f"abs(kept{j} - had{j}) > {tolerance:.17e} * size{j} + {half} * weight{j}",
            lambda count: Message("sum-not-kept", column=name, groups=count, weighted=True),
        )
    elif keeps:
        size = f"n * (greatest(abs(low{j}), abs(high{j})) * {unit} + {least})"
        yield _Check(
            [f"sum(x{j} * {unit}) AS total{j}"],
            f"abs(n * (y{j} * {unit}) - total{j}) > {tolerance:.17e} * {size} + {half} * n",
            lambda count: Message("sum-not-kept", column=name, groups=count),
        )


def _near_one(promise: Promise, name: str) -> tuple[str, str]:
    """Return the power of two that lets no sum of a number overflow, and what counts as zero then.

    Means of the least numbers there are, which have few digits, are rounded to one of them.
    """
    exponent = int(np.clip(-math.frexp(promise.largest.get(name, 1.0))[1], -1000, 1000))
    return f"{math.ldexp(1.0, exponent):.17e}", f"{math.ldexp(_LEAST, exponent) / _ROUNDING:.17e}"


def _keeps_mean(promise: Promise, attribute: Attribute) -> bool:
    """Whether groups publish the mean of a number, to the nearest whole one perhaps, neither repaired nor filled in."""
    plan = promise.plan
    rules = [] if promise.edits is None else promise.edits.rules
    moved = any(attribute.name in attributes_of(rule.condition) for rule in rules)  # be it within its range
    plain = plan.missing in ("error", "suppress") and not plan.restore_variance and plan.keep_totals is None
    mean = attribute.type == "continuous" and aggregate_of(attribute.name, plan) == "mean"
    return mean and plain and not moved and plan.epsilon is None and not promise.joined


def _is_whole(promise: Promise, attribute: Attribute) -> bool:
    return promise.plan.publishes_whole(attribute.name) and pa.types.is_integer(attribute.stored)


def _slack(promise: Promise, attribute: Attribute) -> float:
    """How far a value may lie outside the range of its group: rules, rounding, and a variance that was restored."""
    slack = float(promise.slack.get(attribute.name, 0.0))
    rescaling = promise.rescaled.get(attribute.name)
    stored = str(attribute.stored)
    if rescaling is not None or promise.plan.keep_totals is not None:  # what was computed is rounded when it is stored
        slack += _PRECISION.get(stored, 1e-9) * promise.largest.get(attribute.name, 0.0)
    if rescaling is not None:
        slack += float(_is_whole(promise, attribute) or attribute.type != "continuous") / rescaling.slope
    return slack


def too_small(sizes: Sizes, names: Sequence[str], k: int, counts: str = "record") -> Iterator[Message]:
    """Yield a message if some combination of the attributes occurs fewer than k times."""
    below = {size: groups for size, groups in sizes.items() if size < k}
    if below:
        yield Message(
            "group-below-k",
            below=sum(below.values()),
            combinations=sum(sizes.values()),
            columns=names,
            k=k,
            counts=counts,
            smallest=min(below),
        )


def _counts(database: Database, promise: Promise, blocks: list[Sizes]) -> Verified:
    """Count the combinations of all quasi-identifiers, with strata and without, and of each attribute block."""
    plan = promise.plan
    if not plan.masked:
        return Verified(blocks)
    keys = [promise.key(name) for name in plan.masked]
    strata = [promise.key(name) for name in plan.strata or []]
    one, by_units = len(blocks) == 1, promise.unit is not None

    def sizes(keys: Sequence[str]) -> Sizes:
        return sizes_of(database, keys, promise.counts)

    together = blocks[0] if one and not promise.strata and not by_units else sizes(keys)
    with_strata = None
    if strata:
        with_strata = blocks[0] if one and promise.strata and not by_units else sizes([*keys, *strata])
    apart = []
    if plan.given_blocks and promise.blocks:
        apart = blocks
        if promise.strata or by_units:
            apart = [sizes([promise.key(name) for name in block]) for block in promise.blocks]
    before = None
    if by_units:
        before = sizes([f"x{promise.place(name)}" for name in plan.masked])
    return Verified(blocks, together, with_strata, apart, before=before)


def _diversity(
    database: Database, promise: Promise, failures: list[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, float]]:
    """Measure what the groups give away of sensitive attributes, and report what is more than promised."""
    plan = promise.plan
    diversity: dict[str, dict[str, Any]] = {}
    closeness: dict[str, float] = {}
    names = [name for block in promise.blocks for name in block]
    for i, each in enumerate(promise.sensitive):
        keys, source = _keys(promise, names), "pairs"
        if promise.unit is not None:  # which counts once for each value that it has in a group
            source = f"(SELECT DISTINCT {keys}, {promise.unit}, q{i} FROM pairs) AS d"  # noqa: S608
        query = f"SELECT {database.collect}(q{i}) AS q FROM {source} GROUP BY {keys}"  # noqa: S608
        least, worst = dict.fromkeys(FORMS, math.inf), 0.0
        for batch in database.each(query):
            column: Any = batch.column(0)
            starts = column.offsets.to_numpy().astype(np.int64)
            codes = column.values.to_numpy(zero_copy_only=False).astype(np.int64)
            group = np.repeat(np.arange(len(column)), np.diff(starts))
            codes = codes[starts[0] : starts[-1]]
            found = l_diversity(group, codes, codes >= len(each.values), plan.c or C)
            least = {form: min(least[form], found[form]) for form in FORMS}
            worst = max(worst, closeness_to(group, codes, each.counts, ordered=each.ordered))
        diversity[each.name], closeness[each.name] = least, worst
        failures += undiverse(each.name, least, plan.l, plan.l_form)
        if plan.t is not None and worst > plan.t:
            failures.append(Message("t-not-kept", column=each.name, distance=worst, t=plan.t))
    return diversity, closeness


def _scaled(promise: Promise, name: str) -> tuple[str, float]:
    """Return the factor that lets no sum of a number overflow, and how exactly one can be kept."""
    stored = promise.attributes[promise.place(name)].stored
    return _near_one(promise, name)[0], _PRECISION.get(str(stored), _ROUNDING)


def undiverse(name: str, least: Mapping[str, float], l: float | None, form: str) -> Iterator[Message]:  # noqa: E741
    """Yield a message if an attribute is less diverse in the worst group than promised."""
    if l is not None and least[form] < l - SLACK:
        named = None if form == "distinct" else form
        yield Message("l-not-kept", column=name, form=named, least=least[form], l=l)


def _unexcused(database: Database, promise: Promise) -> Iterator[str]:
    """Yield the rules that are broken outside of groups with an original record that broke this very rule."""
    edits = promise.edits
    if edits is None:
        return
    for number in sorted(edits.fixed | edits.excused):
        rule = edits.rules[number]
        spoken = {*attributes_of(rule.condition)}
        inside, excuse = "pairs", f"e{number}"
        for at, block in enumerate(promise.blocks):
            if {*block} & spoken and number not in edits.fixed:
                partition = f"max({excuse}) OVER (PARTITION BY {_keys(promise, block)}) AS f{number}_{at}"
                inside = f"(SELECT *, {partition} FROM {inside}) AS p{at}"  # noqa: S608 - no outside text
                excuse = f"f{number}_{at}"
        rows = database.rows(f"SELECT count(*) FROM {inside} WHERE b{number} AND NOT {excuse}")  # noqa: S608
        if rows[0][0]:
            yield from edits.failures(Broken({number: (int(rows[0][0]), None)}))


def _nullable(codes: Codes) -> Array:
    return pa.array(codes, mask=np.isnan(codes))

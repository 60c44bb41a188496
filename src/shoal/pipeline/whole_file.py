"""The risk of the whole file: what columns that are released unchanged give a stranger, counted on what is published.

A release is only as safe as its weakest column. k-anonymity is a promise on the masked attributes; here every column
that goes out counts. Columns that a stranger may know (publish, weights, strata, unmasked quasi-identifiers) are *key*
columns; sensitive ones, which k-anonymity presumes unknown, are counted apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from shoal.errors import DataError
from shoal.kernels.l_diversity import DOMINANT
from shoal.messages import Message
from shoal.pipeline.counting import Database, Sizes, Spread, exposure_of, spreads_of_each
from shoal.pipeline.determined import COMPUTED, SAMPLED, determined_columns, on_determined
from shoal.pipeline.role_rules import identifying
from shoal.pipeline.units import finding, on_trails, on_units
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.dtypes import inner, is_number
from shoal.tables.profile import ColumnProfile
from shoal.tables.text_values import decoded

_NAMED = 3  # columns that a headline names
_FEW = 10  # records singled out by sensitive values; more of them are a warning

Finding = dict[str, Any]


@dataclass(frozen=True)
class Unchanged:
    """A column that is released unchanged: its role, whether its values are numbers, and why they identify people."""

    name: str
    role: str
    number: bool = False
    identifying: str = ""

    @property
    def key(self) -> bool:
        """Whether a stranger may know it."""
        return self.role != "confidential"


@dataclass(frozen=True)
class Columns:
    """The columns of a release, under the names that queries have for them.

    Attributes
    ----------
    k
        The minimum group size.
    masked
        Expressions of the masked quasi-identifiers as they are published, by name.
    synthetic
        The same of sensitive attributes that were changed: hybrid data.
    originals
        Expressions of the original values of changed attributes, where these are known.
    unchanged
        The columns that are released unchanged: column i is u{i} as a reader distinguishes its values, and n{i} as a
        number. For a sensitive column, v{i} has its values, with null for every kind of missing.
    nominal
        Changed attributes whose original values are numbers of categories.
    described
        What to call them in a sentence.
    """

    k: int
    masked: dict[str, str]
    synthetic: dict[str, str]
    originals: dict[str, str]
    unchanged: Sequence[Unchanged]
    nominal: frozenset[str] = frozenset()
    described: str = Message("columns-released")  # where the original is not known, they may not be
    unit: str | None = None  # the expression of the unit that k counts; None if it counts records
    households: bool = False  # whether what members of a household share was masked once
    refuses_l: str = ""  # the option that l-diversity does not go with

    @property
    def counts(self) -> str:
        """What k counts."""
        return "record" if self.unit is None else "unit"

    @property
    def alone(self) -> str:
        """The measure that counts the records which nobody else's equal."""
        return "uniques" if self.unit is None else "alone"

    @property
    def without_l(self) -> Message | None:
        """What to do where l-diversity may not be added."""
        return Message("use-larger-k-or-leave-out", option=self.refuses_l) if self.refuses_l else None

    def others(self, number: int) -> dict[str, Any]:
        """Return a number of other records or units, as data of a message."""
        return {"others": number, "noun": "other" if self.unit is None else "other unit"}


def unchanged_columns(
    plan: Plan, table: Table, profiles: Mapping[str, ColumnProfile | None] | None = None
) -> list[Unchanged]:
    """List the columns that are released unchanged under a resolved plan; some sensitive ones have `profiles`."""
    role = {name: role for role, names in plan.roles.items() for name in names}
    gone = {*plan.dropped, *plan.changed, *plan.roles["unit"], *plan.roles["household"]}
    names = [name for name in table.names if name not in gone]
    return [as_unchanged(table, name, role.get(name, "publish"), (profiles or {}).get(name)) for name in names]


def as_unchanged(table: Table, name: str, role: str, profile: ColumnProfile | None = None) -> Unchanged:
    """Describe a column that is released unchanged."""
    why = "" if profile is None else identifying(profile)
    try:
        return Unchanged(name, role, _is_measured(table.column(name).type), why)
    except DataError:  # objects of Python that Arrow has no type for
        return Unchanged(name, role)


def _is_measured(kind: pa.DataType) -> bool:
    kind = inner(kind)
    moment = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    return is_number(kind) or pa.types.is_boolean(kind) or moment


def as_number(column: Array) -> Array:
    """Return a column of numbers or moments as a type that is a number to SQL."""
    column = decoded(column)
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        return column.cast(pa.float64(), safe=False)
    if pa.types.is_boolean(kind):
        return column.cast(pa.int8())
    return column if is_number(kind) else column.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())


def file_risk(
    database: Database,
    columns: Columns,
    counted_already: Sizes | None = None,
    units: Sequence[Finding] = (),
    determined: Sequence[Finding] | None = None,
    trails: Finding | None = None,
) -> Finding:
    """Measure what the whole file gives a stranger.

    Parameters
    ----------
    database
        Answers queries on `pairs`.
    columns
        What is in the file.
    counted_already
        The equivalence classes of the masked quasi-identifiers, where these were counted.
    units
        What is known of the units in groups: see `shoal.pipeline.units.units_in_groups`.
    determined
        What is known of masked attributes that follow from unchanged columns; looked for if left out.
    trails
        Links by pseudonyms: see `shoal.pipeline.units.trails_of`.

    Returns
    -------
    dict
        For each column that is released ``unchanged``, and for the sets of columns ``together`` (all unchanged ones
        that a stranger may know), ``with_masked`` (these and the masked ones) and ``everything`` (all published
        columns), `shoal.measures.exposure` with ``below_k``, the records in equivalence classes of fewer than k, and
        ``distinct``, the share of distinct combinations. If there is a unit (``counts``), classes are measured in
        units, and ``alone`` are the records in classes of one unit; ``determined``, masked attributes that follow from
        unchanged columns; ``recovered``, those of them whose original values stand for the masked ones in
        ``with_masked`` and ``everything``, being known of most records; ``units``, as given; ``trails``, what
        pseudonyms give away; ``groups``, the number of groups by what a stranger may know as it is published;
        ``shared``, for each sensitive column those of them in which ``all`` known values, or ``most`` (more than 80 %,
        all included), are the same, with the ``records`` in the former, or in the latter if there are none of the
        former, and the unchanged columns that they are ``divided_by`` where groups of the masked ones alone have no
        such value; ``findings``, what gives records away, the worst first; ``headline``, the worst in a sentence; and
        ``k``.
    """
    at = {each.name: f"u{i}" for i, each in enumerate(columns.unchanged)}
    key = {each.name: at[each.name] for each in columns.unchanged if each.key}
    records = (
        _records(counted_already)
        if counted_already and columns.unit is None
        else int(database.rows("SELECT count(*) FROM pairs")[0][0])
    )
    if determined is None:
        determined = [*determined_columns(database, columns, records)] if at and columns.originals else []
    recovered = {each["column"] for each in determined if each["how"] in COMPUTED and 2 * each["records"] > records}
    changed = {**columns.masked, **columns.synthetic}
    changed |= {name: columns.originals[name] for name in changed if name in recovered & {*columns.originals}}
    sets = {
        "together": key,
        "with_masked": {**key, **{name: changed[name] for name in columns.masked}},
        "everything": {**at, **changed},
    }
    sets = {what: names for what, names in sets.items() if names}
    keys = [*key.values(), *columns.masked.values()]
    asked = [*([expression] for expression in at.values()), *(list(names.values()) for names in sets.values())]
    asked += [keys] if keys else []
    known = {} if counted_already is None else {frozenset(columns.masked.values()): counted_already}
    sizes = spreads_of_each(database, asked, known, columns.unit)
    each = zip(columns.unchanged, sizes, strict=False)
    found: Finding = {
        "k": columns.k,
        **({} if columns.unit is None else {"counts": "units"}),
        "unchanged": {column.name: {**_about(column), **_exposed(counts, columns)} for column, counts in each},
    }
    for (what, names), counts in zip(sets.items(), sizes[len(at) :], strict=False):
        found[what] = {"columns": list(names), **_exposed(counts, columns)}
    found["determined"], found["recovered"] = [*determined], [name for name in changed if name in recovered]
    found["sampled"] = bool(found["determined"] or columns.originals) and records > SAMPLED
    found["units"] = [*units]
    found |= {} if trails is None else {"trails": trails}
    found["groups"] = sum(sizes[-1].sizes.values()) if keys else 0
    sensitive = {each.name: f"v{i}" for i, each in enumerate(columns.unchanged) if not each.key and keys}
    found["shared"] = {name: _shared(database, keys, value, columns.unit) for name, value in sensitive.items()}
    if key and columns.masked:
        for name in [name for name in sensitive if found["shared"][name]["all"]]:
            whole = _shared(database, [*columns.masked.values()], sensitive[name], columns.unit)
            found["shared"][name] |= {} if whole["all"] else {"divided_by": [*key]}
    small, others = [*_on_small_classes(found, columns, records)], [*_findings(found, columns, records)]
    first = len(small) if columns.households else 0  # nothing is promised of household and person attributes together
    findings = small[:first] + sorted([*others, *small[first:]], key=lambda each: -each["records"])
    found["findings"] = [*findings, *_on_shared(found, columns, "most")]  # a guess comes after what is certain
    found["headline"] = _headline(found, columns)
    return found


def refuse_given_away(found: Finding, plan: Plan) -> None:
    """Refuse hybrid data of which the original can be computed, in a quarter of the records, from unchanged columns."""
    given_away = [each for each in found["determined"] if each["column"] in plan.confidential and plan.draws]
    records = found["everything"]["real_k"] * found["everything"]["groups"] if given_away else 0
    problems = [
        Message(
            "original-computable",
            column=each["column"],
            formula=each["formula"],
            by=each["by"],
            records=each["exact"],
        )
        for each in given_away
        if 4 * each["exact"] > records
    ]
    if problems:
        raise DataError(*problems)


def _about(column: Unchanged) -> dict[str, Any]:
    return {"role": column.role, **({"identifying": column.identifying} if column.identifying else {})}


def _exposed(spread: Spread, columns: Columns) -> dict[str, Any]:
    """Describe how well records hide in some columns."""
    below = sum(records for size, records in spread.records.items() if size < columns.k)
    distinct = sum(spread.sizes.values()) / sum(spread.records.values())
    alone = {} if columns.unit is None else {"alone": spread.records.get(1, 0)}
    return {**exposure_of(spread.sizes), **alone, "below_k": below, "distinct": distinct}


def _records(sizes: Sizes) -> int:
    return sum(size * count for size, count in sizes.items())


def _shared(database: Database, keys: Sequence[str], value: str, unit: str | None) -> Finding:
    """Count the groups, of two records or more, in which all or most known values of a sensitive column are alike.

    With a unit: in which one value is held by all or most of the units that have a known one, whatever else they hold.
    """
    by = ", ".join(keys)
    values = f"SELECT {by}, count({value}) AS held, count({value}) AS known, count(*) AS n FROM pairs"  # noqa: S608
    if unit is not None:  # each counts once for a value, and is known once
        first = f"row_number() OVER (PARTITION BY {by}, {unit} ORDER BY {value} NULLS LAST)"
        once = f"SELECT {by}, {value}, count(*) AS n, {first} AS place FROM pairs GROUP BY {by}, {unit}, {value}"  # noqa: S608
        known = f"count(CASE WHEN place = 1 THEN {value} END)"
        values = f"SELECT {by}, count({value}) AS held, {known} AS known, sum(n) AS n FROM ({once}) AS o"  # noqa: S608
    values += f" GROUP BY {value}, {by}"
    groups = f"SELECT max(held) AS most, sum(known) AS known, sum(n) AS n FROM ({values}) AS v GROUP BY {by}"  # noqa: S608
    counts = "count(*), sum(n), sum(CASE WHEN most = known THEN 1 ELSE 0 END), sum(CASE WHEN most = known THEN n END)"
    where = f"n > 1 AND most > {DOMINANT} * known"
    [row] = database.rows(f"SELECT {counts} FROM ({groups}) AS g WHERE {where}")  # noqa: S608 - no outside text
    most, in_most, pure, in_pure = (int(each or 0) for each in row)
    return {"all": pure, "most": most, "records": in_pure or in_most}


def _on_shared(found: Finding, columns: Columns, which: str) -> Iterator[Finding]:
    """Yield the sensitive columns that can be read off a group because all, or at best most, of its records agree."""
    on = _on_all if which == "all" else _on_most
    for name, row in found["shared"].items():
        if row["most"] and (row["all"] > 0) == (which == "all"):
            yield finding(row["records"], [name], on(name, row, found["groups"], columns))


def _on_all(name: str, row: Finding, groups: int, columns: Columns) -> Message:
    """Return the message on groups that have one known value of a sensitive column."""
    cuts: list[str] = row.get("divided_by", [])
    return Message(
        "same-sensitive-value",
        column=name,
        unit=columns.unit is not None,
        same=row["all"],
        groups=groups,
        more=row["most"] - row["all"],
        columns=cuts,
        number=len(cuts),
        remedy=columns.without_l or Message("use-l" if columns.unit is None else "use-larger-k-or-l"),
    )


def _on_most(name: str, row: Finding, groups: int, columns: Columns) -> Message:
    """Return the message on a value of a sensitive column that most of a group has."""
    remedy = columns.without_l or Message("use-l-form")
    of_units = columns.unit is not None
    return Message("common-sensitive-value", column=name, unit=of_units, most=row["most"], groups=groups, remedy=remedy)


def _headline(found: Finding, columns: Columns) -> Finding:
    """Return the worst finding, as a sentence with its severity."""
    if found["findings"]:
        return {"severity": "warning", "safe": False, **found["findings"][0]}
    whole = found.get("everything")
    if whole is None or whole["uniques"]:
        return {"safe": False, **_on_sensitive(found, columns)}
    if "trails" in found:
        said = Message("links-shared", links=found["trails"]["of"], others=columns.k - 1)
        return {"severity": said.severity, "safe": False, **finding(0, [], said)}
    said = Message("no-unique-record", **columns.others(whole["smallest"] - 1))
    return {"severity": said.severity, "safe": True, **finding(0, [], said)}


def _findings(found: Finding, columns: Columns, records: int) -> Iterator[Finding]:
    """Yield what gives records away to a stranger."""
    if named := [each for each in columns.unchanged if each.identifying]:
        names = [each.name for each in named]
        said = Message(
            "identifying-sensitive",
            described=[Message("column-and-reason", column=each.name, reason=each.identifying) for each in named],
            number=len(names),
            columns=",".join(names),
        )
        yield finding(max(found["unchanged"][name]["below_k"] for name in names), names, said)
    yield from on_units(found["units"], columns.k, households=columns.households)
    yield from on_trails(found.get("trails"), columns.k)
    for each in found["determined"]:
        if each["records"]:
            yield finding(each["records"], each["by"], on_determined(each, records))
    yield from _on_shared(found, columns, "all")


def _on_small_classes(found: Finding, columns: Columns, records: int) -> Iterator[Finding]:
    """Yield the records in equivalence classes below k by all that a stranger may know."""
    worst = found.get("with_masked")
    if worst is None or not worst["below_k"]:
        return
    alone = columns.alone
    number = worst[alone] or worst["below_k"]
    names, where = _blamed(found, columns, alone if worst[alone] else "below_k", number)
    known: dict[str, Any] = {"number": number, "records": records, "where": where, "household": columns.households}
    if worst[alone]:
        said = Message("singled-out", unit=columns.unit is not None, **known)
    else:
        said = Message("classes-below-k", k=columns.k, counts=columns.counts, **known)
    yield finding(number, names, said)


def worst_first(rows: Mapping[str, Finding]) -> list[str]:
    """List the columns in which records are in classes below k, those that single out most records first."""
    return sorted((name for name in rows if rows[name]["below_k"]), key=lambda name: _worst(rows[name]))


def _worst(row: Finding) -> tuple[int, int]:
    return -(row["alone"] if "alone" in row else row["uniques"]), -row["below_k"]


def _blamed(found: Finding, columns: Columns, measure: str, number: int) -> tuple[list[str], Message]:
    """Return the columns that single records out, the worst first."""
    rows = {name: row for name, row in found["unchanged"].items() if row["role"] != "confidential"}
    if not rows:
        names = list(columns.masked)
        return names, Message("columns-masked", columns=names, recovered=found["recovered"])
    which = columns.described
    if found["together"][measure] < number:
        which = Message("all-columns-known", columns=which)
    alone = worst_first(rows)[:_NAMED]
    if not alone:
        return list(rows), Message("columns-combined", which=which, columns=list(rows))
    k = columns.k if measure == "below_k" else None
    named = [Message("column-by-itself", column=name, number=rows[name][measure], k=k) for name in alone]
    return alone, Message("columns-by-themselves", which=which, columns=named, others=len(rows) - len(named))


def _on_sensitive(found: Finding, columns: Columns) -> Finding:
    """Explain that only sensitive columns, which a stranger is presumed not to know, single records out."""
    rows = {name: row for name, row in found["unchanged"].items() if row["role"] == "confidential"}
    names = worst_first(rows)
    promised = Message("others-alike", **columns.others(columns.k - 1))
    if "with_masked" not in found:
        promised = Message("no-known-column")
    if not rows:
        said = Message("others-synthetic", promised=promised)
        return {"severity": said.severity, **finding(0, [], said)}
    who = Message("knows-columns", columns=names[:_NAMED]) if names else _also_knows(list(rows))
    alone = columns.alone
    number = max((rows[name][alone] or rows[name]["below_k"] for name in names), default=0)
    number = number or found["everything"][alone]
    said = Message("singled-out-by-sensitive", who=who, records=number, promised=promised)
    if number <= _FEW:
        said = Message("few-singled-out-by-sensitive", who=who, records=number, promised=promised)
    return {"severity": said.severity, **finding(number, names[:_NAMED], said)}


def _also_knows(names: list[str]) -> Message:
    """Return a phrase for a column or two, or for several."""
    return Message("also-knows", **(dict(zip(("column", "other"), names, strict=False)) if len(names) < 3 else {}))

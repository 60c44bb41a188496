"""Units in groups: k counts records, and several records may be of one patient, firm or household.

The identifiers that a plan drops tell units apart. Those that several records share are counted in every group, in the
original that stands beside what is published; a record without a value counts as a unit of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from shoal.errors import DataError
from shoal.messages import Message
from shoal.pipeline.counting import Database
from shoal.pipeline.role_words import meanings
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.dtypes import inner, is_number, is_text

_HANDFUL = 5  # different values: no more, and the column is a category
_MANY = 200  # records of one value on average: more, and the column is a category
# The same where the name says nothing, and only columns that are constant within its values tell of a unit.
_UNITS, _LEAST, _MOST, _CONSTANT = 20, 1.2, 50, 0.95
_CODES = ("code", "codigo", "codice", "codi", "cod")

Finding = dict[str, Any]


@dataclass(frozen=True)
class Unit:
    """A column that may tell units apart, whether its name says so, and whether it is the unit of the plan."""

    name: str
    named: bool
    protected: bool = False


@dataclass(frozen=True)
class Groups:
    """Records that are published alike in some attributes: their names, and their expressions in queries."""

    attributes: Sequence[str]
    keys: str


def possible_units(plan: Plan, table: Table) -> list[Unit]:
    """List the columns that may tell units apart: the plan's unit first, then identifiers by their types and names.

    With epsilon there is none: nothing may be said of the records.
    """
    found = [Unit(name, named=True, protected=True) for name in plan.roles["unit"]]
    numbers = [*plan.identifiers, *plan.roles["household"]]
    for name in [] if plan.epsilon is not None else numbers:
        said = meanings(name)
        if name != plan.household and {*said} - {"household", "unit", "number", "direct identifier"}:
            continue  # an age, a place, a date
        is_unit = bool({"household", "unit"} & {*said}) or name == plan.household
        unit = Unit(name, is_unit or not said.get("number", "code").endswith(_CODES))
        if _has_values_of(unit, table):
            found.append(unit)
    return found


def _has_values_of(unit: Unit, table: Table) -> bool:
    """Whether a column holds text or integers; other numbers only if its name says what they are."""
    try:
        kind = inner(table.column(unit.name).type)
    except DataError:  # objects of Python that Arrow has no type for
        return False
    return is_text(kind) or (is_number(kind) if unit.named else pa.types.is_integer(kind))


def units_in_groups(
    database: Database, units: Sequence[Unit], groups: Sequence[Groups], originals: Sequence[str], k: int
) -> list[Finding]:
    """Count the groups that hold records of fewer than k units.

    Parameters
    ----------
    database
        Answers queries on `pairs`, in which unit number i is i{i}.
    units
        The identifiers that may tell units apart; those that do not repeat, or are categories, are passed over.
    groups
        The attributes by which records are published alike, once for each attribute block.
    originals
        Expressions of original values, some of which are constant within a unit.
    k
        The number of units that a group should have.

    Returns
    -------
    list of dict
        For each unit and block: the ``column``, how many different values it has (``units``), the ``attributes``, how
        many ``groups`` there are, the ``least`` units in one, how many groups have fewer than k (``below_k``), and the
        ``records`` in these.
    """
    found = []
    for i, unit in enumerate(units if groups else []):
        column = f"i{i}"
        [(different, present)] = database.rows(f"SELECT count(DISTINCT {column}), count({column}) FROM pairs")  # noqa: S608 - no outside text
        if unit.protected or (
            _repeats(unit, different, present) and (unit.named or _tells_units(database, column, originals))
        ):
            found += [
                {"column": unit.name, "units": int(different), **_counted(database, column, each, k)} for each in groups
            ]
    return found


def _repeats(unit: Unit, different: int, present: int) -> bool:
    """Whether several records share a value, and it is that of no category."""
    if unit.named:
        return different > _HANDFUL and different < present <= _MANY * different
    return different >= _UNITS and _LEAST * different <= present <= _MOST * different


def _tells_units(database: Database, column: str, originals: Sequence[str]) -> bool:
    """Whether at least two attributes are constant within the values of a column."""
    if len(originals) < 2:
        return False
    ends = ", ".join(f"min({x}) AS low_{x}, max({x}) AS high_{x}" for x in originals)
    inside = f"SELECT {ends} FROM pairs WHERE {column} IS NOT NULL GROUP BY {column} HAVING count(*) > 1"  # noqa: S608
    same = ", ".join(f"coalesce(avg(CASE WHEN low_{x} = high_{x} THEN 1 ELSE 0 END), 0)" for x in originals)
    [shares] = database.rows(f"SELECT {same} FROM ({inside}) AS v")  # noqa: S608
    return sum(bool(share >= _CONSTANT) for share in shares) >= 2


def _counted(database: Database, column: str, groups: Groups, k: int) -> Finding:
    """Count the groups with records of fewer than k units."""
    different = f"count(DISTINCT {column}) + count(*) - count({column})"
    inside = f"SELECT count(*) AS n, {different} AS units FROM pairs GROUP BY {groups.keys}"  # noqa: S608
    few = ", ".join(f"coalesce(sum(CASE WHEN units < {k} THEN {each} ELSE 0 END), 0)" for each in ("1", "n"))
    [row] = database.rows(f"SELECT count(*), min(units), {few} FROM ({inside}) AS g")  # noqa: S608
    number, least, below, records = (int(each) for each in row)
    return {
        "attributes": [*groups.attributes],
        "groups": number,
        "least": least,
        "below_k": below,
        "records": records,
    }


def too_few_units(found: Sequence[Finding], plan: Plan) -> Iterator[Message]:
    """Yield a message for each attribute block in which some combination has records of fewer than k units."""
    for each in found:
        if each["column"] == plan.unit and each["below_k"]:
            yield Message(
                "group-below-k",
                below=each["below_k"],
                combinations=each["groups"],
                columns=each["attributes"],
                k=plan.k,
                counts="unit",
                smallest=each["least"],
            )


def not_one_to_one(database: Database, original: str, name: str) -> Iterator[Message]:
    """Yield a message if pseudonyms, the column p of `pairs`, are not one for each unit or household."""
    by = (original, "p", f"{original}, p")
    counts = {database.rows(f"SELECT count(*) FROM (SELECT 1 FROM pairs GROUP BY {each}) AS g")[0][0] for each in by}  # noqa: S608
    if len(counts) > 1:
        yield Message("pseudonyms-not-one-to-one", column=name)


def trails_of(database: Database, unit: str, keys: Sequence[str], k: int, of: str = "unit") -> Finding:
    """Count the units whose trail, the groups of their records with the number in each, is that of fewer than k units.

    Each record hides among k units, but who knows several records of one unit, or how many it has, can look for the
    pseudonym that has all of them. The units may be households, with all that is published of their members.
    """
    one = f"SELECT {unit} AS unit, {database.hash}({', '.join(keys)}) AS h FROM pairs"  # noqa: S608
    trail = f"SELECT count(*) AS n, sum(CAST(h AS DECIMAL(38, 0))) AS h FROM ({one}) AS o GROUP BY unit"  # noqa: S608
    shared = f"SELECT n, count(*) AS units FROM ({trail}) AS t GROUP BY n, h"  # noqa: S608
    few = f"sum(CASE WHEN units < {k} THEN units ELSE 0 END)"
    [row] = database.rows(f"SELECT sum(units), {few}, max(n) FROM ({shared}) AS s")  # noqa: S608 - no outside text
    units, below, longest = (int(each or 0) for each in row)
    return {"of": of, "units": units, "below_k": below, "longest": longest}


def finding(records: int, columns: Sequence[str], message: Message) -> Finding:
    """Return a message of the whole file's risk with the number of records and the columns that it is about."""
    return {"records": records, "columns": [*columns], "code": message.code, "text": message}


def on_trails(trails: Finding | None, k: int) -> Iterator[Finding]:
    """Yield what the whole file's risk says of pseudonyms."""
    if trails is not None and trails["below_k"]:
        below, number = trails["below_k"], trails["units"]
        of = trails["of"]
        said = Message("links-single-out", below=below, number=number, k=k, links=of, option=f"--{of}-as=drop")
        yield finding(below, [], said)


def on_units(units: Sequence[Finding], k: int, *, households: bool) -> Iterator[Finding]:
    """Yield what the whole file's risk says of groups with fewer than k units; no --unit goes with `households`."""
    several = len({tuple(each["attributes"]) for each in units}) > 1
    for each in units:
        if each["below_k"]:
            said = Message(
                "few-units-in-groups",
                below=each["below_k"],
                groups=each["groups"],
                columns=each["attributes"] if several else None,
                k=k,
                column=each["column"],
                household=households,
            )
            yield finding(each["records"], [each["column"]], said)

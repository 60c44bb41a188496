"""Units in groups: k counts records, and several records may be of one patient, firm or household.

The identifiers that a plan drops tell units apart. Those that several records share are counted in every group, in the
original that stands beside what is published; a record without a value counts as a unit of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from shoal.errors import DataError
from shoal.pipeline.counting import Database
from shoal.pipeline.role_words import meanings
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.dtypes import inner, is_number, is_text
from shoal.text import listed

_HANDFUL = 5  # different values: no more, and the column is a category
_MANY = 200  # records of one value on average: more, and the column is a category
# The same where the name says nothing, and only columns that are constant within its values tell of a unit.
_UNITS, _LEAST, _MOST, _CONSTANT = 20, 1.2, 50, 0.95
_CODES = ("code", "codigo", "codice", "codi", "cod")

Finding = dict[str, Any]


@dataclass(frozen=True)
class Unit:
    """A dropped identifier that may tell units apart, and whether its name says so."""

    name: str
    named: bool


@dataclass(frozen=True)
class Groups:
    """Records that are published alike in some attributes: their names, and their expressions in queries."""

    attributes: Sequence[str]
    keys: str


def possible_units(plan: Plan, table: Table) -> list[Unit]:
    """List the dropped identifiers that may tell units apart, by their types and names.

    With epsilon there is none: nothing may be said of the records.
    """
    found = []
    for name in [] if plan.epsilon is not None else plan.dropped:
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
        if _repeats(unit, different, present) and (unit.named or _tells_units(database, column, originals)):
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


def on_units(units: Sequence[Finding], k: int) -> Iterator[Finding]:
    """Yield what the whole file's risk says of groups with fewer than k units."""
    several = len({tuple(each["attributes"]) for each in units}) > 1
    for each in units:
        if each["below_k"]:
            where = f" by {listed(each['attributes'])}" if several else ""
            text = (
                f"{each['below_k']:,} of {each['groups']:,} groups{where} hold fewer than {k} different values of "
                f"'{each['column']}', which was dropped. k counts records, and one person or firm may have several."
            )
            yield {"records": each["records"], "columns": [each["column"]], "text": text}

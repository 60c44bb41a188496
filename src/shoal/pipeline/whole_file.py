"""The risk of the whole file: what columns that are released unchanged give a stranger, counted on what is published.

A release is only as safe as its weakest column. k-anonymity is a promise on the masked attributes; here every column
that goes out counts. Columns that a stranger may know (publish, weights, strata, unmasked quasi-identifiers) are *key*
columns; sensitive ones, which k-anonymity presumes unknown, are counted apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.l_diversity import DOMINANT
from shoal.measures.determination import CLOSE, EXACT, Linear, determining_category, linear_relation
from shoal.pipeline.counting import Database, Sizes, exposure_of, sizes_of_each
from shoal.pipeline.role_rules import identifying
from shoal.pipeline.units import on_units
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.dtypes import inner, is_number
from shoal.tables.profile import ColumnProfile
from shoal.tables.text_values import decoded
from shoal.text import counted, listed

SAMPLED = 20_000  # records in which relations between columns are looked for
_NAMED = 3  # columns that a headline names
_FEW = 10  # records singled out by sensitive values; more of them are a warning
_LARGEST = 1e150  # whose square is a number

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
        The columns that are released unchanged: column i is u{i} and, as a number, n{i}.
    described
        What to call them in a sentence.
    """

    k: int
    masked: dict[str, str]
    synthetic: dict[str, str]
    originals: dict[str, str]
    unchanged: Sequence[Unchanged]
    described: str = "columns released unchanged"  # where the original is not known, they may not be


def unchanged_columns(
    plan: Plan, table: Table, profiles: Mapping[str, ColumnProfile | None] | None = None
) -> list[Unchanged]:
    """List the columns that are released unchanged under a resolved plan; some sensitive ones have `profiles`."""
    role = {name: role for role, names in plan.roles.items() for name in names}
    gone = {*plan.identifiers, *plan.changed}
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
    database: Database, columns: Columns, counted_already: Sizes | None = None, units: Sequence[Finding] = ()
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

    Returns
    -------
    dict
        For each column that is released ``unchanged``, and for the sets of columns ``together`` (all unchanged ones
        that a stranger may know), ``with_masked`` (these and the masked ones) and ``everything`` (all published
        columns), `shoal.measures.exposure` with ``below_k``, the records in equivalence classes of fewer than k, and
        ``distinct``, the share of distinct combinations; ``determined``, masked attributes that follow from unchanged
        columns; ``units``, as given; ``shared``, for each sensitive column the groups (records alike in
        ``with_masked``) in which ``all`` known values, or ``most`` (more than 80 %, all included), are the same, with
        the ``records`` in the former, or in the latter if there are none of the former; ``findings``, what gives
        records away, the worst first; ``headline``, the worst in a sentence; ``k``.
    """
    at = {each.name: f"u{i}" for i, each in enumerate(columns.unchanged)}
    key = {each.name: at[each.name] for each in columns.unchanged if each.key}
    sets = {
        "together": key,
        "with_masked": {**key, **columns.masked},
        "everything": {**at, **columns.masked, **columns.synthetic},
    }
    sets = {what: names for what, names in sets.items() if names}
    asked = [*([expression] for expression in at.values()), *(list(names.values()) for names in sets.values())]
    known = {} if counted_already is None else {frozenset(columns.masked.values()): counted_already}
    sizes = sizes_of_each(database, asked, known)
    each = zip(columns.unchanged, sizes, strict=False)
    found: Finding = {
        "k": columns.k,
        "unchanged": {column.name: {"role": column.role, **_exposed(counts, columns.k)} for column, counts in each},
    }
    for (what, names), counts in zip(sets.items(), sizes[len(at) :], strict=True):
        found[what] = {"columns": list(names), **_exposed(counts, columns.k)}
    records = _records(sizes[-1]) if sizes else 0
    found["determined"] = [*_determined(database, columns, records)] if at and columns.originals else []
    found["sampled"] = bool(found["determined"] or columns.originals) and records > SAMPLED
    found["units"] = [*units]
    keys = [*sets.get("with_masked", {}).values()]
    sensitive = [name for name in at if name not in key and keys]
    found["shared"] = {name: _shared(database, keys, at[name]) for name in sensitive}
    findings = sorted(_findings(found, columns, records), key=lambda each: -each["records"])
    found["findings"] = [*findings, *_on_shared(found, "most")]  # a guess comes after what is certain
    found["headline"] = _headline(found, columns)
    return found


def refuse_given_away(found: Finding, plan: Plan) -> None:
    """Refuse hybrid data of which the original can be computed, in most records, from columns released unchanged."""
    given_away = [each for each in found["determined"] if each["column"] in plan.confidential and plan.draws]
    records = found["everything"]["real_k"] * found["everything"]["groups"] if given_away else 0
    problems = [
        f"the original '{each['column']}' follows from {each['formula'] or listed(each['by'])}, released unchanged, in "
        f"{counted(each['exact'], 'record')}. Drop one with --identifiers, or add it to --confidential."
        for each in given_away
        if 2 * each["exact"] > records
    ]
    if problems:
        raise DataError(*problems)


def _exposed(sizes: Sizes, k: int) -> dict[str, Any]:
    """Describe how well records hide in some columns."""
    below = sum(size * count for size, count in sizes.items() if size < k)
    return {**exposure_of(sizes), "below_k": below, "distinct": sum(sizes.values()) / _records(sizes)}


def _records(sizes: Sizes) -> int:
    return sum(size * count for size, count in sizes.items())


def _as_double(expression: str) -> str:
    """Return a number in SQL; missing where no sum of it could be computed."""
    number = f"CAST({expression} AS DOUBLE)"
    return f"CASE WHEN abs({number}) < {_LARGEST:.1e} THEN {number} END"


def _determined(database: Database, columns: Columns, records: int) -> Iterator[Finding]:
    """Look for relations in a sample, and count the records for which they hold."""
    numbers = [i for i, each in enumerate(columns.unchanged) if each.number]
    asked = [_as_double(expression) for expression in columns.originals.values()]
    asked += [_as_double(f"n{i}") for i in numbers]
    asked += [f"{database.hash}(u{i})" for i in range(len(columns.unchanged))]
    sample = database.sample(asked, SAMPLED, records)
    d, m = len(columns.originals), len(numbers)
    values = np.column_stack([_doubles(sample.column(i)) for i in range(d + m)])
    classes = [_numbered(sample.column(d + m + i)) for i in range(len(columns.unchanged))]
    for j, (name, expression) in enumerate(columns.originals.items()):
        with np.errstate(all="ignore"):
            linear = linear_relation(values[:, j], values[:, d:])
        category = None if linear is not None else determining_category(values[:, j], classes)
        if linear is not None:
            yield _by_formula(database, columns, name, expression, linear, numbers, values[:, j])
        elif category is not None:
            yield _by_category(database, columns.unchanged[category].name, name, f"u{category}", expression)


def _by_formula(
    database: Database,
    columns: Columns,
    name: str,
    expression: str,
    found: Linear,
    numbers: list[int],
    x: NDArray[np.float64],
) -> Finding:
    """Count the records in which a masked attribute can be computed from unchanged columns."""
    terms = [(c, _as_double(f"n{numbers[i]}")) for c, i in zip(found.coefficients, found.by, strict=True)]
    value = _as_double(expression)
    computed = " + ".join([f"({found.intercept:.17e})", *(f"({c:.17e}) * ({term})" for c, term in terms)])
    size = " + ".join([f"abs({value})", *(f"abs(({c:.17e}) * ({term}))" for c, term in terms)])
    off = f"abs(({value}) - ({computed}))"
    exact = f"{off} <= {EXACT:.1e} * ({size})"
    close = f"{exact} OR {off} <= {CLOSE} * least(abs({value}), {float(np.nanstd(x)):.17e})"
    counts = ", ".join(f"coalesce(sum(CASE WHEN {each} THEN 1 ELSE 0 END), 0)" for each in (exact, close))
    [(same, near)] = database.rows(f"SELECT {counts} FROM pairs")  # noqa: S608 - no outside text
    by = [columns.unchanged[numbers[i]].name for i in found.by]
    signs = [("" if i == 0 else " + ") if c > 0 else " - " for i, c in enumerate(found.coefficients)]
    formula = "".join(sign + each for sign, each in zip(signs, by, strict=True)).strip() if found.plain else None
    how = "sum" if found.plain else "linear"
    return {"column": name, "by": by, "how": how, "formula": formula, "exact": int(same), "records": int(near)}


def _by_category(database: Database, by: str, name: str, classes: str, expression: str) -> Finding:
    """Count the records whose value of an unchanged column others have, all with the same value of a masked one."""
    inside = (
        f"SELECT count(*) AS n, count({expression}) AS c, min({expression}) AS low, max({expression}) AS high "  # noqa: S608 - no outside text
        f"FROM pairs GROUP BY {classes}"
    )
    same = "n > 1 AND c = n AND low = high"
    [(records,)] = database.rows(f"SELECT coalesce(sum(CASE WHEN {same} THEN n ELSE 0 END), 0) FROM ({inside}) AS g")  # noqa: S608
    count = int(records)
    return {"column": name, "by": [by], "how": "category", "formula": None, "exact": count, "records": count}


def _doubles(column: pa.ChunkedArray) -> NDArray[np.float64]:  # type: ignore[type-arg]
    found: NDArray[np.float64] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found


def _numbered(column: pa.ChunkedArray) -> NDArray[np.int64]:  # type: ignore[type-arg]
    found = np.unique(column.to_numpy(), return_inverse=True)[1]
    return np.asarray(found, dtype=np.int64).ravel()


def _shared(database: Database, keys: Sequence[str], value: str) -> Finding:
    """Count the groups, of two records or more, in which all or most known values of a sensitive column are alike."""
    by = ", ".join(keys)
    values = f"SELECT {by}, count({value}) AS known, count(*) AS n FROM pairs GROUP BY {value}, {by}"  # noqa: S608
    groups = f"SELECT max(known) AS most, sum(known) AS known, sum(n) AS n FROM ({values}) AS v GROUP BY {by}"  # noqa: S608
    counts = "count(*), sum(n), sum(CASE WHEN most = known THEN 1 ELSE 0 END), sum(CASE WHEN most = known THEN n END)"
    where = f"n > 1 AND most > {DOMINANT} * known"
    [row] = database.rows(f"SELECT {counts} FROM ({groups}) AS g WHERE {where}")  # noqa: S608 - no outside text
    most, in_most, pure, in_pure = (int(each or 0) for each in row)
    return {"all": pure, "most": most, "records": in_pure or in_most}


def _on_shared(found: Finding, which: str) -> Iterator[Finding]:
    """Yield the sensitive columns that can be read off a group because all, or at best most, of its records agree."""
    for name, row in found["shared"].items():
        if row["most"] and (row["all"] > 0) == (which == "all"):
            of = f"{found['with_masked']['groups']:,} groups"
            nearly = f", and more than 80 % in {row['most'] - row['all']:,} more" if row["most"] > row["all"] else ""
            text = f"All known values of '{name}' are the same in {row['all']:,} of {of}{nearly}. Use -l 2 or more."
            if which == "most":
                text = f"One value of '{name}' has more than 80 % in {row['most']:,} of {of}. "
                text += "Use -l with --l-form entropy or recursive."
            yield {"records": row["records"], "columns": [name], "text": text}


def _headline(found: Finding, columns: Columns) -> Finding:
    """Return the worst finding, as a sentence with its severity."""
    if found["findings"]:
        return {"severity": "warning", "safe": False, **found["findings"][0]}
    whole = found.get("everything")
    if whole is None or whole["uniques"]:
        return {"safe": False, **_on_sensitive(found, columns)}
    text = (
        "Safe over all published columns: every record shares its values with at least "
        f"{counted(whole['smallest'] - 1, 'other')}."
    )
    return {"severity": "note", "safe": True, "records": 0, "columns": [], "text": text}


def _findings(found: Finding, columns: Columns, records: int) -> Iterator[Finding]:
    """Yield what gives records away to a stranger."""
    if named := [each for each in columns.unchanged if each.identifying]:
        names = [each.name for each in named]
        some = ", ".join(f"'{each.name}' ({each.identifying})" for each in named)
        what = f"Sensitive, but of a kind that identifies people, and released unchanged: {some}."
        number = max(found["unchanged"][name]["below_k"] for name in names)
        text = f"{what} Drop {'it' if len(names) == 1 else 'them'} with --identifiers {','.join(names)}."
        yield {"records": number, "columns": names, "text": text}
    yield from on_units(found["units"], columns.k)
    for each in found["determined"]:
        if each["records"]:
            yield {"records": each["records"], "columns": each["by"], "text": _on_determined(each, records)}
    yield from _on_shared(found, "all")
    worst = found.get("with_masked")
    if worst is None or not worst["below_k"]:
        return
    number = worst["uniques"] or worst["below_k"]
    what = "unique in" if worst["uniques"] else f"in equivalence classes of fewer than k = {columns.k} records by"
    names, where = _blamed(found, columns, "uniques" if worst["uniques"] else "below_k", number)
    text = f"{number:,} of {records:,} records are {what} {where}."
    yield {"records": number, "columns": names, "text": text}


def worst_first(rows: Mapping[str, Finding]) -> list[str]:
    """List the columns in which records are in classes below k, those that single out most records first."""
    return sorted((name for name in rows if rows[name]["below_k"]), key=lambda name: _worst(rows[name]))


def _worst(row: Finding) -> tuple[int, int]:
    return -row["uniques"], -row["below_k"]


def _blamed(found: Finding, columns: Columns, measure: str, number: int) -> tuple[list[str], str]:
    """Name the columns that single records out, the worst first."""
    rows = {name: row for name, row in found["unchanged"].items() if row["role"] != "confidential"}
    if not rows:
        return list(columns.masked), f"the masked columns {listed(list(columns.masked))}"
    masked = ", together with the masked ones" if found["together"][measure] < number else ""
    alone = worst_first(rows)
    if alone:
        word = "unique" if measure == "uniques" else f"below k = {columns.k}"
        named = [
            f"'{name}' ({rows[name][measure]:,} {word} by itself)" if rows[name][measure] else f"'{name}'"
            for name in alone[:_NAMED]
        ]
        more = f" and {counted(len(rows) - len(named), 'other')}" if len(rows) > len(named) else ""
        return alone[:_NAMED], f"{columns.described}{masked}: {', '.join(named)}{more}"
    return list(rows), f"the combination of {columns.described}{masked}: {listed(list(rows))}"


def _on_sensitive(found: Finding, columns: Columns) -> Finding:
    """Explain that only sensitive columns, which a stranger is presumed not to know, single records out."""
    rows = {name: row for name, row in found["unchanged"].items() if row["role"] == "confidential"}
    names = worst_first(rows)
    others = counted(columns.k - 1, "other")
    promised = f"Every record has at least {others} like it in the columns that a stranger may know."
    if "with_masked" not in found:
        promised = "No column that a stranger may know is released."
    if not rows:
        text = f"{promised} All other published values are synthetic."
        return {"severity": "note", "records": 0, "columns": [], "text": text}
    who = f"knows {listed(names[:_NAMED])}" if names else f"also knows {_some(list(rows))}"
    number = max((rows[name]["uniques"] or rows[name]["below_k"] for name in names), default=0)
    number = number or found["everything"]["uniques"]
    many = counted(number, "record")
    named = {"records": number, "columns": names[:_NAMED]}
    if number <= _FEW:
        text = f"{promised} An intruder who {who} of a person may still single out {many}."
        return {"severity": "note", **named, "text": text}
    return {
        "severity": "warning",
        **named,
        "text": f"An intruder who {who} of a person may single out {many}. {promised}",
    }


def _some(names: list[str]) -> str:
    """Name a column or two, or count them."""
    return " and ".join(f"'{name}'" for name in names) if len(names) <= 2 else "several sensitive columns"


def _on_determined(each: Finding, records: int) -> str:
    """Return the sentence on a masked attribute that follows from unchanged columns."""
    if each["how"] == "category":
        return (
            f"The original '{each['column']}' follows from '{each['by'][0]}', which is released unchanged, in "
            f"{each['records']:,} of {records:,} records."
        )
    what = each["formula"] or f"a linear function of {listed(each['by'])}"
    near = "" if each["exact"] == each["records"] else ", to within 1 %"
    return (
        f"The original '{each['column']}' can be computed from columns released unchanged in {each['records']:,} of "
        f"{records:,} records{near}: {what}."
    )

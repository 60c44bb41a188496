"""What a release claims, counted again from the original and the published table alone, one record at a time."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from fuzz.amounts import Cells, check_dominance, check_numbers, check_rules, classes_in, strata_of
from fuzz.as_read import as_read
from fuzz.oracle import Finding
from fuzz.releases import _check_values
from shoal import Release

_CLOSE = 1e-9


def check_claims(
    original: pa.Table, asked: dict[str, Any], found: Release, published: pa.Table, order: bool, exact: bool = True
) -> None:
    """Check a release of a table with unique numbers in `row`.

    `order` says whether records keep theirs, and `exact` whether columns that are not masked keep their types.
    """
    original = as_read(original, asked)
    _check_columns(original, asked, found, published, exact=exact)
    if len(published) != len(original) - found.suppressed:
        raise Finding("records are missing or too many")
    if asked.get("epsilon") is not None:
        _check_bounds(asked, published)
        return
    after: Cells = {name: published[name].to_pylist() for name in published.column_names}
    before = _same_records(original, after["row"], order)
    _check_untouched(original, found, published, before, after)
    groups = [[*block, *strata_of(found)] for block in found.plan.in_blocks]
    if asked["method"] not in ("mic1d", "ms") and (not found.plan.draws or found.plan.mask_quasi):
        for names in groups:
            _check_sizes(asked, found, before, after, names)
    _check_secrets(asked, found, before, after)
    check_dominance(asked, found, before, after)
    check_rules(asked, found, before, after)
    check_numbers(original, asked, found, before, after)
    _check_homes(asked, found, before, after)
    _check_only(asked, found, before, after)
    _check_gaps(asked, found, before, after)
    _check_constraints(asked, after)


def _check_columns(original: pa.Table, asked: dict[str, Any], found: Any, published: pa.Table, *, exact: bool) -> None:
    dropped = {*asked.get("identifiers", [])}
    if asked.get("unit_as") != "pseudonym":
        dropped.add(asked.get("unit"))
    if asked.get("household_as") != "pseudonym":
        dropped.add(asked.get("household"))
    if published.column_names != [name for name in original.column_names if name not in dropped]:
        raise Finding("the columns are not those of the original without the identifiers")
    changed = {*found.plan.changed, found.plan.pseudonym}
    for name in published.column_names:
        one, two = original.schema.field(name).type, published.schema.field(name).type
        if exact and one != two and name not in changed | {*asked.get("recode", {})}:
            raise Finding(f"column {name} is of type {two}, not {one}")
        if _family(one) != _family(two) and name != found.plan.pseudonym:
            raise Finding(f"column {name} was {one}, and is {two}")


def _family(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return _family(kind.value_type)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "number"
    return "moment" if pa.types.is_temporal(kind) else str(kind)


def _check_bounds(asked: dict[str, Any], published: pa.Table) -> None:
    for name, (low, high) in asked["bounds"].items():
        if not all(low <= value <= high for value in published[name].to_pylist()):
            raise Finding(f"column {name} leaves its bounds")


def _same_records(original: pa.Table, rows: list[int], order: bool) -> Cells:
    """Return the originals of the published records, in their order."""
    numbers = original["row"].to_pylist()
    place = {row: at for at, row in enumerate(numbers)}
    if len({*rows}) != len(rows) or not {*rows} <= {*numbers}:
        raise Finding("records were made up, or published twice")
    places = [place[row] for row in rows]
    if order and places != sorted(places):
        raise Finding("records are in another order")
    columns = {name: original[name].to_pylist() for name in original.column_names}
    return {name: [values[at] for at in places] for name, values in columns.items()}


def _check_untouched(original: pa.Table, found: Any, published: pa.Table, before: Cells, after: Cells) -> None:
    for name in published.column_names:
        if name == found.plan.pseudonym:
            _check_pseudonyms(before[name], after[name], name)
        elif name not in found.plan.changed:
            if [*map(repr, before[name])] != [*map(repr, after[name])]:
                raise Finding(f"column {name} was to stay as it is")
        else:
            _check_values(original[name].to_pylist(), after[name], name)


def _check_pseudonyms(before: list[Any], after: list[Any], name: str) -> None:
    pairs = {*zip(before, after, strict=True)}
    if not len(pairs) == len({*before}) == len({*after}):
        raise Finding(f"pseudonyms of {name} are not one for each")
    if {*map(str, before)} & {*map(str, after)}:
        raise Finding(f"a pseudonym of {name} is an original value")


def _check_only(asked: dict[str, Any], found: Any, before: Cells, after: Cells) -> None:
    """Check that records whose combination k records, or units, share stay as they are."""
    if asked.get("only") is None:
        return
    masked, unit = found.plan.masked, asked.get("unit")
    for members in classes_in(before, [*masked, *strata_of(found)]).values():
        fills = asked.get("missing") == "impute" and any(before[name][members[0]] is None for name in masked)
        size = len({before[unit][at] for at in members}) if unit else len(members)
        if size < found.plan.k or fills:
            continue
        if any(before[name][at] != after[name][at] for name in masked for at in members):
            raise Finding("a record that is not at risk has changed")


def _check_sizes(asked: dict[str, Any], found: Any, before: Cells, after: Cells, names: list[str]) -> None:
    homes = {*found.plan.household_attributes} & {*names}
    counted = asked.get("unit") or (asked.get("household") if homes else None)
    for members in classes_in(after, names).values():
        size = len({before[counted][at] for at in members}) if counted else len(members)
        if size < asked["k"]:
            raise Finding(f"a group of {size} by {names} where k = {asked['k']}")


def _check_secrets(asked: dict[str, Any], found: Any, before: Cells, after: Cells) -> None:
    for name in asked.get("confidential", []) if {"l", "t"} & {*asked} else []:
        values = before[name]
        ordered = name == "wage"
        unit = asked.get("unit")
        for members in classes_in(after, [*found.plan.masked, *strata_of(found)]).values():
            own = _once(values, members, unit, before)
            if (
                "l" in asked
                and _diversity(own, asked.get("l_form", "distinct"), asked.get("c", 2.0)) < asked["l"] - 1e-9
            ):
                raise Finding(f"a group with l below {asked['l']} ({asked.get('l_form')}) in {name}")
            everyone = _once(values, range(len(values)), unit, before)
            if "t" in asked and _distance(own, everyone, ordered) > asked["t"] + _CLOSE:
                raise Finding(f"a group with t above {asked['t']} in {name}")


def _once(values: list[Any], members: Iterable[int], unit: str | None, before: Cells) -> list[Any]:
    """Return the values of some records; a unit counts once for each of its values."""
    if unit is None:
        return [values[at] for at in members]
    return [value for _, value in {(before[unit][at], values[at]) for at in members}]


def _diversity(values: list[Any], form: str, c: float) -> float:
    r = sorted(Counter(values).values(), reverse=True)
    if form == "entropy":
        return math.exp(-sum(x / len(values) * math.log(x / len(values)) for x in r))
    if form == "recursive":
        return max((size for size in range(1, len(r) + 1) if r[0] < c * sum(r[size - 1 :])), default=0)
    return len(r)


def _distance(own: list[Any], everyone: list[Any], ordered: bool) -> float:
    p, q = Counter(own), Counter(everyone)
    gaps = [p[value] / len(own) - q[value] / len(everyone) for value in sorted(q)]
    if not ordered:
        return sum(map(abs, gaps)) / 2
    return 0.0 if len(gaps) == 1 else sum(abs(sum(gaps[: i + 1])) for i in range(len(gaps))) / (len(gaps) - 1)


def _check_homes(asked: dict[str, Any], found: Any, before: Cells, after: Cells) -> None:
    for name in found.plan.household_attributes if asked.get("household") else []:
        shown = defaultdict(set)
        for home, value in zip(before[asked["household"]], after[name], strict=True):
            shown[home].add(repr(value))
        if any(len(values) > 1 for values in shown.values()):
            raise Finding(f"members of a household differ in {name}")


def _check_gaps(asked: dict[str, Any], found: Any, before: Cells, after: Cells) -> None:
    """Check that records with a missing value were left out, or the values filled, where that was asked for."""
    cells = {"suppress": before, "impute": after}.get(asked.get("missing", "error"), {})
    for name in found.plan.masked:
        if None in cells.get(name, []):
            raise Finding(f"{name} has missing values with --missing {asked['missing']}")


def _check_constraints(asked: dict[str, Any], after: Cells) -> None:
    for name, constraints in asked.get("constraints", {}).items():
        if "non-negative" in constraints and min(after[name]) < 0:
            raise Finding(f"{name} is negative against its constraint")
        if "integer" in constraints and any(value != int(value) for value in after[name]):
            raise Finding(f"{name} is not whole against its constraint")

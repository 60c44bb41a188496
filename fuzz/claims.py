"""What a release claims, counted again from the original and the published table alone, one record at a time."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pyarrow as pa

from fuzz.oracle import Finding
from fuzz.releases import _check_mean, _check_values, _is_kept, _oddness
from shoal import Release

_CLOSE = 1e-9
Cells = dict[str, list[Any]]


def check_claims(original: pa.Table, asked: dict[str, Any], found: Release, published: pa.Table, order: bool) -> None:
    """Check a release of a table with unique numbers in `row`; `order` says whether records keep theirs.

    Spark, which keeps no order, has no unsigned numbers either.
    """
    _check_columns(original, asked, found, published, exact=order)
    if len(published) != len(original) - found.suppressed:
        raise Finding("records are missing or too many")
    if asked.get("epsilon") is not None:
        _check_bounds(asked, published)
        return
    after: Cells = {name: published[name].to_pylist() for name in published.column_names}
    before = _same_records(original, after["row"], order)
    _check_untouched(original, found, published, before, after)
    groups = [[*block, *_strata(found)] for block in found.plan.in_blocks]
    if asked["method"] not in ("mic1d", "ms") and (not found.plan.draws or found.plan.mask_quasi):
        for names in groups:
            _check_sizes(asked, found, before, after, names)
    _check_secrets(asked, found, before, after)
    _check_dominance(asked, found, before, after)
    _check_rules(asked, found, before, after)
    _check_numbers(original, asked, found, before, after)
    _check_homes(asked, found, before, after)


def _strata(found: Any) -> list[str]:
    """Name the strata within which groups have k records: not those that were merged."""
    return [] if found.plan.small_strata == "merge" else found.plan.strata or []


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
        if exact and one != two and name not in changed:
            raise Finding(f"column {name} is of type {two}, not {one}")
        if _family(one) != _family(two) and name != found.plan.pseudonym:
            raise Finding(f"column {name} was {one}, and is {two}")


def _family(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return _family(kind.value_type)
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
            if len({*zip(before[name], after[name], strict=True)}) != len({*before[name]}):
                raise Finding(f"pseudonyms of {name} are not one for each")
        elif name not in found.plan.changed:
            if [*map(repr, before[name])] != [*map(repr, after[name])]:
                raise Finding(f"column {name} was to stay as it is")
        else:
            coded = [None] if name in found.plan.missing_codes else []  # which are published as missing
            _check_values([*original[name].to_pylist(), *coded], after[name], name)


def _classes(cells: Cells, names: list[str]) -> dict[Hashable, list[int]]:
    members: dict[Hashable, list[int]] = defaultdict(list)
    for at, key in enumerate(zip(*(map(repr, cells[name]) for name in names), strict=True)):
        members[key].append(at)
    return members


def _check_sizes(asked: dict[str, Any], found: Any, before: Cells, after: Cells, names: list[str]) -> None:
    homes = {*found.plan.household_attributes} & {*names}
    counted = asked.get("unit") or (asked.get("household") if homes else None)
    for members in _classes(after, names).values():
        size = len({before[counted][at] for at in members}) if counted else len(members)
        if size < asked["k"]:
            raise Finding(f"a group of {size} by {names} where k = {asked['k']}")


def _check_secrets(asked: dict[str, Any], found: Any, before: Cells, after: Cells) -> None:
    for name in asked.get("confidential", []) if {"l", "t"} & {*asked} else []:
        values = before[name]
        ordered = name == "wage"
        unit = asked.get("unit")
        for members in _classes(after, [*found.plan.masked, *_strata(found)]).values():
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


def _check_dominance(asked: dict[str, Any], found: Any, before: Cells, after: Cells) -> None:
    if not {"p_percent", "dominance"} & {*asked} or asked.get("weights"):
        return
    unit = asked.get("unit")
    cells = [(name, block) for name in asked["magnitudes"] for block in found.plan.in_blocks]
    for name, block in cells:
        if name in found.plan.masked and name not in block:
            continue
        for members in _classes(after, [*block, *_strata(found)]).values():
            sums: Counter[Any] = Counter()
            for at in members:
                sums[at if unit is None else before[unit][at]] += before[name][at] or 0.0
            largest = sorted(sums.values(), reverse=True)
            total = sum(largest)
            n, share = asked.get("dominance", (1, 100))
            rest = total - sum(largest[:2])
            by_p = "p_percent" in asked and total and rest < asked["p_percent"] / 100 * largest[0] - _CLOSE * total
            if by_p or sum(largest[:n]) > share / 100 * total + _CLOSE * total:
                raise Finding(f"a group in which a contributor dominates {name}")


_HOLDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "x <= s": lambda record: record["x"] <= record["s"] * (1 + _CLOSE) + 1e-12,
    "x >= 0": lambda record: bool(record["x"] >= 0),
    "n >= 0": lambda record: bool(record["n"] >= 0),
    "x + y == s": lambda record: math.isclose(record["x"] + record["y"], record["s"], rel_tol=1e-6, abs_tol=1e-6),
}


def _check_rules(asked: dict[str, Any], found: Any, before: Cells, after: Cells) -> None:
    """Check rules, except where groups with original records that broke one are excused."""
    for rule in asked.get("edits", []) if asked.get("edits_original") != "keep" else []:
        for at in range(len(after["row"])):
            record = {name: values[at] for name, values in after.items()}
            if any(_oddness(record.get(name)) != "fine" for name in ("x", "y", "s", "n")):
                continue
            if not _HOLDS[rule](record):
                raise Finding(f"rule {rule} is broken")


def _check_numbers(original: pa.Table, asked: dict[str, Any], found: Any, before: Cells, after: Cells) -> None:
    """Check means, ranges, weighted totals and totals of domains."""
    plan = found.plan
    moved = plan.restore_variance or plan.edits or plan.draws or plan.method == "mic1d" or plan.keep_totals
    moved = moved or plan.missing_codes or plan.missing == "impute" or plan.small_strata == "merge"
    for block in plan.in_blocks:
        for name in block:
            if plan.types.get(name) != "continuous" or original.schema.field(name).type != pa.float64():
                continue
            whole = plan.aggregate in (None, "mean") and _is_kept(original, found, name) and plan.method != "mic1d"
            if whole and name not in plan.household_attributes and not plan.restore_variance:
                _check_mean(original[name].to_pylist(), after[name], name)
            if plan.keep_totals:
                weights = before[plan.weights] if plan.weights else [1.0] * len(before["row"])
                _check_domains(plan.keep_totals, before, after, name, weights)
            if moved or name in plan.household_attributes:
                continue
            for members in _classes(after, [*block, *_strata(found)]).values():
                _check_group(asked, name, members, before, after)


def _check_domains(domains: list[str], before: Cells, after: Cells, name: str, weights: list[float]) -> None:
    for members in _classes(before, domains).values():
        had, kept = (sum(weights[at] * (cells[name][at] or 0.0) for at in members) for cells in (before, after))
        size = sum(abs(weights[at] * (before[name][at] or 0.0)) for at in members)
        if abs(had - kept) > 1e-6 * (size + 1):
            raise Finding(f"a domain does not keep its total of {name}")


def _check_group(asked: dict[str, Any], name: str, members: list[int], before: Cells, after: Cells) -> None:
    own, value = [before[name][at] for at in members if before[name][at] is not None], after[name][members[0]]
    if value is None:
        return
    slack = _CLOSE * (1 + max(map(abs, own), default=0.0))
    if not own or not min(own) - slack <= value <= max(own) + slack:
        raise Finding(f"a group publishes a value of {name} outside of the range of its records")
    if asked.get("preserve") and len(own) == len(members):
        had = sum(before["w"][at] * before[name][at] for at in members)
        if abs(had - value * sum(before["w"][at] for at in members)) > 1e-6 * (1 + abs(had)):
            raise Finding(f"a group does not keep its weighted total of {name}")


def _check_homes(asked: dict[str, Any], found: Any, before: Cells, after: Cells) -> None:
    for name in found.plan.household_attributes if asked.get("household") else []:
        shown = defaultdict(set)
        for home, value in zip(before[asked["household"]], after[name], strict=True):
            shown[home].add(repr(value))
        if any(len(values) > 1 for values in shown.values()):
            raise Finding(f"members of a household differ in {name}")

"""What a release claims of its amounts: rules, dominance, means, variances and totals, counted again in Python."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from typing import Any

import pyarrow as pa

from fuzz.columns import RULES
from fuzz.oracle import Finding
from fuzz.releases import _check_mean, _is_kept, _oddness

_CLOSE = 1e-9
Cells = dict[str, list[Any]]


def strata_of(found: Any) -> list[str]:
    """Name the strata within which groups have k records: not those that were merged."""
    return [] if found.plan.small_strata == "merge" else found.plan.strata or []


def classes_in(cells: Cells, names: list[str]) -> dict[Hashable, list[int]]:
    """Return the records of each combination of values."""
    members: dict[Hashable, list[int]] = defaultdict(list)
    for at, key in enumerate(zip(*(map(repr, cells[name]) for name in names), strict=True)):
        members[key].append(at)
    return members


def check_dominance(asked: dict[str, Any], found: Any, before: Cells, after: Cells) -> None:
    """Check the p % rule and (n, k)-dominance in every group; a contribution counts as often as its weight tells."""
    if not {"p_percent", "dominance"} & {*asked}:
        return
    named = asked.get("magnitudes") or [name for name in found.plan.masked if found.plan.types[name] == "continuous"]
    for name, block in [(name, block) for name in named for block in found.plan.in_blocks]:
        if name in found.plan.masked and name not in block:
            continue
        for members in classes_in(after, [*block, *strata_of(found)]).values():
            if _is_dominated(_contributions(asked, name, members, before), asked):
                raise Finding(f"a group in which a contributor dominates {name}")


def _contributions(asked: dict[str, Any], name: str, members: list[int], before: Cells) -> list[tuple[float, float]]:
    """Return what each contributor has, and how often it counts, the largest first."""
    unit, weights = asked.get("unit"), asked.get("weights")
    sums: Counter[Any] = Counter()
    weighted: Counter[Any] = Counter()
    for at in members:
        who, amount = (at if unit is None else before[unit][at]), before[name][at] or 0.0
        sums[who] += amount
        weighted[who] += amount * (before[weights][at] if weights else 1.0)
    often = {who: max(1.0, weighted[who] / amount) if amount > 0 else 1.0 for who, amount in sums.items()}
    return sorted(((amount, often[who]) for who, amount in sums.items()), reverse=True)


def _is_dominated(contributions: list[tuple[float, float]], asked: dict[str, Any]) -> bool:
    total = sum(amount * times for amount, times in contributions)
    slack, largest = _CLOSE * total, contributions[0][0]
    if "p_percent" in asked:
        rest = total - _largest(contributions, 2)
        if total and rest < asked["p_percent"] / 100 * largest - slack:
            return True
    n, share = asked.get("dominance", (1, 100))
    return "dominance" in asked and _largest(contributions, n) > share / 100 * total + slack


def _largest(contributions: list[tuple[float, float]], n: float) -> float:
    found = 0.0
    for amount, times in contributions:
        taken = min(times, n)
        found, n = found + amount * taken, n - taken
    return found


_HOLDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "x <= s": lambda record: record["x"] <= record["s"] * (1 + _CLOSE) + 1e-12,
    "x >= 0": lambda record: bool(record["x"] >= 0),
    "n >= 0": lambda record: bool(record["n"] >= 0),
    "x + y == s": lambda record: math.isclose(record["x"] + record["y"], record["s"], rel_tol=1e-6, abs_tol=1e-6),
    "if n > 3 then x >= 0": lambda record: record["n"] <= 3 or bool(record["x"] >= 0),
}


def check_rules(asked: dict[str, Any], found: Any, before: Cells, after: Cells) -> None:
    """Check rules in every record, except in groups with an original record that broke the same rule and is kept."""
    for rule in asked.get("edits", []):
        if asked.get("edits_original") == "exclude" and any(
            _breaks(rule, before, at) for at in range(len(after["row"]))
        ):
            raise Finding(f"a record that broke rule {rule} is not excluded")
        broken = {at for at in range(len(after["row"])) if _breaks(rule, after, at)}
        if broken and asked.get("edits_original") == "keep":
            for block in found.plan.in_blocks:
                for members in classes_in(after, [*block, *strata_of(found)]).values():
                    broken -= {*members} if any(_breaks(rule, before, at) for at in members) else set()
        if broken:
            raise Finding(f"rule {rule} is broken")


def _breaks(rule: str, cells: Cells, at: int) -> bool:
    record = {name: cells[name][at] for name in RULES[rule]}
    return all(_oddness(value) == "fine" for value in record.values()) and not _HOLDS[rule](record)


def check_numbers(original: pa.Table, asked: dict[str, Any], found: Any, before: Cells, after: Cells) -> None:
    """Check means, variances, ranges, weighted totals, totals of domains, and that whole numbers are whole."""
    plan = found.plan
    moved = plan.restore_variance or plan.edits or plan.draws or plan.method == "mic1d" or plan.keep_totals
    moved = moved or plan.missing == "impute" or plan.small_strata == "merge" or plan.only
    for block in plan.in_blocks:
        for name in block:
            if plan.types.get(name) != "continuous":
                continue
            if asked.get("round") is True and pa.types.is_integer(original.schema.field(name).type):
                _check_whole(after[name], name)
            if original.schema.field(name).type != pa.float64():
                continue
            whole = plan.aggregate in (None, "mean") and _is_kept(original, found, name) and not plan.only
            whole = whole and plan.method != "mic1d" and plan.missing != "impute"
            if whole and name not in plan.household_attributes and not plan.restore_variance:
                _check_mean(original[name].to_pylist(), after[name], name)
            if plan.restore_variance and not plan.weights and name not in plan.household_attributes:
                _check_variance(before[name], after[name], name)
            if plan.keep_totals:
                weights = before[plan.weights] if plan.weights else [1.0] * len(before["row"])
                _check_domains(plan.keep_totals, before, after, name, weights)
            if moved or name in plan.household_attributes:
                continue
            for members in classes_in(after, [*block, *strata_of(found)]).values():
                _check_group(asked, name, members, before, after)


def _check_whole(values: list[Any], name: str) -> None:
    if any(value is not None and value != int(value) for value in values):
        raise Finding(f"{name} has decimals although whole numbers stay whole")


def _check_variance(before: list[Any], after: list[Any], name: str) -> None:
    if any(_oddness(value) != "fine" for value in [*before, *after]):
        return
    n = len(before)
    means = [math.fsum(values) / n for values in (before, after)]
    size = 1 + max(map(abs, before))
    if abs(means[0] - means[1]) > 1e-7 * size:
        raise Finding(f"{name} does not keep its mean with its variance")
    had, kept = (math.fsum((v - m) ** 2 for v in values) for values, m in zip((before, after), means, strict=True))
    if abs(had - kept) > 1e-6 * (had + 1e-12 * size**2):
        raise Finding(f"{name} does not keep its variance")


def _check_domains(domains: list[str], before: Cells, after: Cells, name: str, weights: list[float]) -> None:
    for members in classes_in(before, domains).values():
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

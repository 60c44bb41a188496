"""Edits in a plan: reading its rules, finding what the original breaks, and parting records that must not be mixed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.edits.evaluation import Records, each_broken, holds, near
from shoal.edits.expressions import Comparison, Condition, InOriginal, Rule, within
from shoal.edits.keeping import Keeping, Split, keeping, tied_blocks
from shoal.edits.keeping import Table as Met
from shoal.edits.reading import read_rules
from shoal.encoding import DEFAULTS
from shoal.errors import DataError
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.attributes import without_declared
from shoal.words import counted, listed

_NAMED = 5  # so many rules are named in a message
WAYS_OUT = "take a smaller k, publish whole records (aggregate = 'medoid'), or leave the rule out"  # of small parts


def rules_of(plan: Plan) -> list[Rule]:
    """Read the rules that a plan asks to be kept."""
    return [] if plan.edits is None else read_rules(plan.edits)


def with_rules(plan: Plan, names: Sequence[str], rules: Sequence[Rule]) -> tuple[Plan, Keeping]:
    """Plan how the rules are kept, and give attributes the aggregates that this takes.

    Parameters
    ----------
    plan
        With its attributes and their types settled.
    names
        All attributes of the table.
    rules
        The rules to keep.
    """
    types = {name: plan.types[name] for name in plan.masked}
    asked = plan.aggregate if isinstance(plan.aggregate, dict) else {}
    if isinstance(plan.aggregate, str):
        asked = dict.fromkeys(plan.masked, plan.aggregate)
    met = Met(
        names=names,
        identifiers=plan.identifiers,
        masked=types,
        defaults={name: DEFAULTS[kind] for name, kind in types.items()},
        asked=asked,
        blocks=plan.in_blocks,
        recompute=plan.recompute,
        adjust=plan.adjust,
    )
    kept = keeping(rules, met)
    named = {**asked, **kept.aggregates}
    decided = {name: named[name] for name in plan.masked if name in named}
    return (plan if decided == asked else plan.updated(aggregate=decided)), kept


def with_tied_blocks(plan: Plan, rules: Sequence[Rule]) -> Plan:
    """Join attribute blocks that were chosen, not given, where a rule ties their attributes."""
    blocks = list(tied_blocks(rules, plan.given_blocks))
    return plan.updated(blocks=blocks if len(blocks) > 1 else None) if plan.given_blocks else plan


def records_of(table: Table, rules: Sequence[Rule], original: "Table | None" = None) -> Records:
    """Give rules the columns that they speak of."""
    domains = {each.attribute for rule in rules for each in within(rule.condition) if isinstance(each, InOriginal)}
    columns = {name: without_declared(table, name) for name in table.names}
    source = None if original is None else {n: without_declared(original, n) for n in domains if n in original.names}
    return Records(columns, source)


def domains_of(original: Table, rules: Sequence[Rule]) -> dict[str, Array]:
    """Give the values of the original that rules ask for, each once."""
    domains = {each.attribute for rule in rules for each in within(rule.condition) if isinstance(each, InOriginal)}
    return {name: without_declared(original, name).unique() for name in sorted(domains) if name in original.names}


@dataclass(frozen=True)
class Obeyed:
    """The rules that a release obeys.

    Attributes
    ----------
    rules
        All of them.
    domains
        The values of the original that rules ask for.
    broken
        The original records that broke a rule and were kept: the groups they are in may go on breaking it.
    notes
        What to know of such records, and of those that were left out.
    """

    rules: list[Rule] = field(default_factory=list)
    domains: dict[str, Array] = field(default_factory=dict)
    broken: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    notes: list[str] = field(default_factory=list)

    def of(self, keep: NDArray[np.bool_]) -> "Obeyed":
        """Give the same for the records that are published."""
        return replace(self, broken=self.broken[keep])


def obedience(source: Table, rules: Sequence[Rule], keep: NDArray[np.bool_], plan: Plan) -> Obeyed:
    """See which rules the original obeys; records that are to be left out for breaking one are struck from `keep`."""
    notes: list[str] = []
    broken = np.zeros(len(source), dtype=bool)
    if rules:
        broken, notes = breaking(source, rules, plan, keep)
        if plan.edits_original == "exclude":
            keep &= ~broken
            if int(keep.sum()) < plan.k:
                raise DataError(
                    f"only {counted(int(keep.sum()), 'record')} would be left of those that break no rule, and k = "
                    f"{plan.k}"
                )
    return Obeyed(list(rules), domains_of(source, rules), broken, notes)


def breaking(
    table: Table, rules: Sequence[Rule], plan: Plan, keep: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], list[str]]:
    """Find the original records that break a rule, by more than rounding, and say what becomes of them.

    Raises
    ------
    DataError
        If there are any and the plan does not say that they are kept or left out.
    """
    records = records_of(table, rules, table)
    breaks = np.zeros(len(table), dtype=bool)
    found = []
    for rule, broken in each_broken(rules, records):
        broken = broken & keep & ~near(rule, records)
        if broken.any():
            found.append((rule.name, int(broken.sum()), int(np.argmax(broken)) + 1))
            breaks |= broken
    return breaks, on_broken(found, int(breaks.sum()), plan)


def on_broken(found: Sequence[tuple[str, int, int | None]], records: int, plan: Plan) -> list[str]:
    """Say what becomes of original records that break rules.

    Parameters
    ----------
    found
        The rules that are broken, each with the number of records that do, and the first where they have an order.
    records
        How many break some rule.
    plan
        What is asked for.

    Raises
    ------
    DataError
        If there are any and the plan does not say that they are kept or left out.
    """
    if not found:
        return []
    named = [
        f"rule '{name}' is broken by {counted(count, 'record')}" + (f", first by {first}" if first else "")
        for name, count, first in found
    ]
    more = f" and {len(named) - _NAMED} rules more" if len(named) > _NAMED else ""
    what = "; ".join(named[:_NAMED]) + more
    if plan.edits_original == "fail":
        raise DataError(
            f"the original data break rules: {what}; put them right, leave such records out (edits_original = "
            "'exclude') or keep them ('keep')"
        )
    many = counted(records, "record")
    if plan.edits_original == "exclude":
        return [f"{many} left out, breaking a rule in the original ({what})"]
    return [f"{many} broke a rule in the original ({what}); the groups they are in may go on breaking it"]


def disobeyed(rule: str, records: int, first: int | None) -> str:
    """Say that a release breaks a rule; `first` is the first record that does, where they have an order."""
    where = f", first by {first}" if first else ""
    return (
        f"rule '{rule}' is broken by {counted(records, 'record')}{where}; publish whole records (aggregate = "
        "'medoid'), or leave the rule out"
    )


@dataclass(frozen=True)
class Parts:
    """The records of every attribute block in parts that never share a group; which are kept, and what to know."""

    keep: NDArray[np.bool_]
    rows: list[list[NDArray[np.int64]]]
    notes: list[str] = field(default_factory=list)


def parted(table: Table, kept: Keeping | None, strata: Sequence[NDArray[np.int64]], plan: Plan) -> Parts:
    """Part the records of each stratum by what governs rules, and deal with parts of fewer than k as the plan says."""
    everything = np.ones(len(table), dtype=bool)
    blocks = len(plan.in_blocks)
    if kept is None or not kept.splits:
        return Parts(everything, [list(strata)] * blocks)
    records = records_of(table, kept.rules, table)
    found, splitting = [], []
    for block in range(blocks):
        parts, rules = _parts(strata, [split for split in kept.splits if split.block == block], records)
        found.append(parts)
        splitting += rules
    small = [part for parts in found for part in parts if len(part) < plan.k]
    if not small:
        return Parts(everything, found)
    count = counted(sum(len(part) for part in small), "record")
    named = listed(list(dict.fromkeys(splitting))[:_NAMED])
    if plan.small_strata == "suppress":
        keep = everything.copy()
        for part in small:
            keep[part] = False
        if not keep.any():
            raise DataError(f"every part that the rules {named} make has fewer than k = {plan.k} records")
        return Parts(keep, [], [f"{count} left out, being in parts of fewer than k = {plan.k} that rules make"])
    if plan.small_strata == "merge":
        merged = [_merged(parts, strata, plan.k) for parts in found]
        note = (
            f"{count} in parts of fewer than k = {plan.k} that rules make joined another part; the rules are verified "
            "there, not kept by construction"
        )
        return Parts(everything, merged, [note])
    raise DataError(
        f"{small_parts(splitting, [len(part) for part in small], plan.k)}: leave such records out (small_strata = "
        f"'suppress'), join them with others and see whether the rules hold ('merge'), {WAYS_OUT}"
    )


def small_parts(rules: Sequence[str], sizes: Sequence[int], k: int) -> str:
    """Say that rules part off too few records."""
    named = listed(list(dict.fromkeys(rules))[:_NAMED])
    return (
        f"rule {named} parts off {counted(sum(sizes), 'record')} in {counted(len(sizes), 'part')} of fewer than k = {k}"
    )


def _parts(
    strata: Sequence[NDArray[np.int64]], splits: Sequence[Split], records: Records
) -> tuple[list[NDArray[np.int64]], list[str]]:
    """Part the records of every stratum by the outcome of all splits together; and name the rules that do part them."""
    rules = []
    codes = np.zeros(sum(len(rows) for rows in strata), dtype=np.int64)
    for number, rows in enumerate(strata):
        codes[rows] = number
    for split in splits:
        found = outcome(split.condition, records)
        if (found != found[0]).any():
            _, codes = np.unique(codes * 3 + found, return_inverse=True)
            rules.append(split.rule)
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes))[:-1]), rules


def outcome(condition: Condition, records: Records) -> NDArray[np.int64]:
    """Say how a condition comes out: true or false, and where two values differ, in which direction.

    Those below and those above are told apart because their mean may be equal.
    """
    found = holds(condition, records).astype(np.int64)
    if isinstance(condition, Comparison) and condition.sign in ("==", "!="):
        found[holds(replace(condition, sign="<"), records) & (found == (condition.sign == "!="))] = 2
    return found


def _merged(parts: list[NDArray[np.int64]], strata: Sequence[NDArray[np.int64]], k: int) -> list[NDArray[np.int64]]:
    """Join parts of fewer than k with the one before in their stratum, or the next: the last split tells them apart."""
    stratum = np.empty(sum(len(rows) for rows in strata), dtype=np.int64)
    for number, rows in enumerate(strata):
        stratum[rows] = number
    joined: list[NDArray[np.int64]] = []
    for part in parts:
        together = joined and stratum[joined[-1][0]] == stratum[part[0]]
        if together and (len(joined[-1]) < k or len(part) < k):
            joined[-1] = np.sort(np.concatenate([joined[-1], part]))
        else:
            joined.append(part)
    return joined


def explained(kept: Keeping) -> Iterator[dict[str, Any]]:
    """Say of every rule what it is and how it is kept, ready for JSON."""
    for demand in kept.demands:
        yield {
            "rule": demand.name,
            "text": demand.of.rule.text,
            "class": demand.of.label,
            "attributes": demand.of.attributes,
            "kept": "; ".join(demand.how),
            "promised": demand.promised,
        }

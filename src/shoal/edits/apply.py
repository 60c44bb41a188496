"""Edits in a plan: reading its rules, finding what the original breaks, and parting records that must not be mixed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.edits.evaluate import Records, each_broken, holds, near
from shoal.edits.expressions import Comparison, Condition, InOriginal, Missing, Rule, attributes_of, within
from shoal.edits.load import read_rules
from shoal.edits.strategy import Keeping, Split, keeping, tied_blocks
from shoal.edits.strategy import Table as Met
from shoal.errors import DataError, PlanError
from shoal.plan import Plan
from shoal.plan.aggregates import DEFAULTS, aggregate_of
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.attributes import without_declared
from shoal.text import counted, listed

_NAMED = 5  # so many rules are named in a message
_MEDOID = "publish whole records (aggregate = 'medoid')"


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
    if plan.draws:
        return plan, _in_moments(plan, names, rules)
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
        imputed=plan.missing == "impute",
    )
    kept = _without_secret_gaps(keeping(rules, met), plan)
    _refuse_totals(kept, plan)
    named = {**asked, **kept.aggregates}
    decided = {name: named[name] for name in plan.masked if name in named}
    return (plan if decided == asked else plan.updated(aggregate=decided)), kept


def _in_moments(plan: Plan, names: Sequence[str], rules: Sequence[Rule]) -> Keeping:
    """See that the attributes are there of which rules speak that hybrid data keep, in no group's representatives."""
    nothing: dict[str, Any] = {"masked": {}, "defaults": {}, "asked": {}, "blocks": []}
    kept = keeping(rules, Met(names=names, identifiers=plan.identifiers, **nothing))
    for demand in kept.demands:
        if {*demand.of.attributes} & {*plan.changed}:
            where = "all records" if plan.method == "ms" else "every group"
            demand.how = [f"means and covariances of {where}, put right so that the sum is exact as written"]
    return kept


def _without_secret_gaps(kept: Keeping, plan: Plan) -> Keeping:
    """Let no confidential attribute part records: a group of one part would give its value away.

    Rules that it governs are refused. Whether it is missing parts no records either, where a rule is only verified.
    """
    secret = {*plan.confidential}
    problems = []
    for demand in kept.demands:
        parting = [split for split in demand.splits if secret & {*attributes_of(split)}]
        if parting and (demand.promised or not all(isinstance(split, Missing) for split in parting)):
            names = [name for split in parting for name in attributes_of(split) if name in secret]
            problems.append(
                f"rule '{demand.name}' would part records by {listed(list(dict.fromkeys(names)))}, confidential, so "
                "that all members of a group share what governs; make it a quasi-identifier, or leave the rule out"
            )
    if problems:
        raise PlanError([("edits", problem) for problem in problems])
    return replace(kept, splits=[split for split in kept.splits if not secret & {*attributes_of(split.condition)}])


def _refuse_totals(kept: Keeping, plan: Plan) -> None:
    """Refuse to keep weighted totals where rules move what groups publish."""
    moving = [demand for demand in kept.demands if demand.sums or demand.recomputed or demand.whole]
    if plan.preserve is not None and moving:
        named = listed([demand.name for demand in moving[:_NAMED]])
        what = "rule" if len(moving) == 1 else "rules"
        problem = f"cannot be kept with {what} {named}, which move what groups publish; leave one of them out"
        raise PlanError([("preserve", problem)])


def with_tied_blocks(plan: Plan, rules: Sequence[Rule]) -> Plan:
    """Join attribute blocks that were chosen, not given, where a rule ties their attributes."""
    blocks = list(tied_blocks(rules, plan.given_blocks))
    return plan.updated(blocks=blocks if len(blocks) > 1 else None) if plan.given_blocks else plan


def records_of(table: Table, rules: Sequence[Rule], original: "Table | None" = None) -> Records:
    """Give rules the columns that they speak of, and the values of the original that they ask for."""
    return records_with(table, None if original is None else domains_of(original, rules))


def records_with(table: Table, domains: Mapping[str, Array] | None) -> Records:
    """Give rules the columns of a table, with values of the original that are known already."""
    return Records({name: without_declared(table, name) for name in table.names}, domains)


def domains_of(original: Table, rules: Sequence[Rule]) -> dict[str, Array]:
    """Give the values of the original that rules ask for, each once."""
    domains = {each.attribute for rule in rules for each in within(rule.condition) if isinstance(each, InOriginal)}
    return {name: without_declared(original, name).unique() for name in sorted(domains) if name in original.names}


def kept_by_medoids(rules: Sequence[Rule], plan: Plan) -> frozenset[str]:
    """Name the rules that would hold, and do not yet, if every group published one of its own records."""
    if plan.draws or plan.recompute or plan.adjust or plan.preserve is not None:
        return frozenset()
    open_ = {name for name in plan.masked if aggregate_of(name, plan) != "medoid"}
    spoken = {rule.name: {*attributes_of(rule.condition)} for rule in rules}
    return frozenset(name for name, names in spoken.items() if names <= {*plan.masked} and names & open_)


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
        By the number of a rule, the original records that broke it and were kept: the groups they are in may go on
        breaking this rule. Where its attributes are published as they are, the records themselves, also those that
        broke it by rounding only. Rules that no record broke are not here.
    by_medoids
        The names of rules that whole records would keep.
    notes
        What to know of such records, and of those that were left out.
    """

    rules: list[Rule] = field(default_factory=list)
    domains: dict[str, Array] = field(default_factory=dict)
    broken: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)
    by_medoids: Collection[str] = frozenset()
    notes: list[str] = field(default_factory=list)

    def of(self, keep: NDArray[np.bool_]) -> "Obeyed":
        """Give the same for the records that are published."""
        return replace(self, broken={number: broken[keep] for number, broken in self.broken.items()})


def obedience(source: Table, rules: Sequence[Rule], keep: NDArray[np.bool_], plan: Plan) -> Obeyed:
    """See which rules the original obeys; records that are to be left out for breaking one are struck from `keep`.

    Raises
    ------
    DataError
        If some break one, by more than rounding, and the plan does not say that they are kept or left out.
    """
    if not rules:
        return Obeyed()
    domains = domains_of(source, rules)
    records = records_with(source, domains)
    breaks = np.zeros(len(source), dtype=bool)
    found, excused = [], {}
    for number, (rule, broken) in enumerate(each_broken(rules, records)):
        if not broken.any():
            continue
        wrong = broken & keep & ~near(rule, records)
        if wrong.any():
            found.append((rule.name, int(wrong.sum()), int(np.argmax(wrong)) + 1))
            breaks |= wrong
        if not {*attributes_of(rule.condition)} & {*plan.changed}:
            excused[number] = broken
        elif wrong.any() and plan.edits_original == "keep":
            excused[number] = wrong
    notes = on_broken(found, int(breaks.sum()), plan)
    if plan.edits_original == "exclude":
        keep &= ~breaks
        if (left := int(keep.sum())) < plan.k:
            other = "" if plan.draws else " or keep them (edits_original = 'keep')"
            raise DataError(
                f"only {counted(left, 'record')} would be left of those that break no rule, and k = {plan.k}; put "
                f"records right{other}"
            )
    return Obeyed(list(rules), domains, excused, kept_by_medoids(rules, plan), notes)


def on_broken(
    found: Sequence[tuple[str, int, int | None]], records: int, plan: Plan, *, exclude: bool = True
) -> list[str]:
    """Say what becomes of original records that break rules.

    Parameters
    ----------
    found
        The rules that are broken, each with the number of records that do, and the first where they have an order.
    records
        How many break some rule.
    plan
        What is asked for.
    exclude
        Whether records could be left out.

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
        ways = ["leave such records out (edits_original = 'exclude')"] if exclude else []
        ways += [] if plan.draws else ["keep them (edits_original = 'keep')"]
        raise DataError(f"the original data break rules: {what}; put them right, or {', or '.join(ways)}")
    many = counted(records, "record")
    if plan.edits_original == "exclude":
        return [f"{many} left out, breaking a rule in the original ({what})"]
    return [f"{many} broke a rule in the original ({what}); the groups they are in may go on breaking that rule"]


def no_product(name: str, kept: Keeping) -> str | None:
    """Say what to do where a rule needs the geometric mean of an attribute that has none; None if no rule does."""
    for demand in kept.demands:
        if name in demand.geometric:
            anew = demand.recomputed[0].name if demand.recomputed else name
            return (
                f"and rule '{demand.name}' is kept by geometric means, which only positive numbers have; compute one "
                f"attribute of the rule from the others (recompute = '{anew}'), or leave the rule out"
            )
    return None


def disobeyed(rule: str, records: int, first: int | None, *, by_medoids: bool) -> str:
    """Say that a release breaks a rule: `first` by which record, if they have an order; whole records may keep it."""
    where = f", first by {first}" if first else ""
    way = f"{_MEDOID}, or leave the rule out" if by_medoids else "leave the rule out"
    return f"rule '{rule}' is broken by {counted(records, 'record')}{where}; {way}"


@dataclass(frozen=True)
class Parts:
    """The records of every attribute block in parts that never share a group; which are kept, and what to know."""

    keep: NDArray[np.bool_]
    rows: list[list[NDArray[np.int64]]]
    notes: list[str] = field(default_factory=list)
    mixed: frozenset[Condition] = frozenset()  # what should have parted records that are in one part nevertheless


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
            raise DataError(
                f"every part that the rules {named} make has fewer than k = {plan.k} records; "
                f"{ways_out(splitting, kept, plan)}"
            )
        return Parts(keep, [], [f"{count} left out, being in parts of fewer than k = {plan.k} that rules make"])
    if plan.small_strata == "merge":
        merged = [_merged(parts, strata, plan.k) for parts in found]
        note = (
            f"{count} in parts of fewer than k = {plan.k} that rules make joined another part; the rules are verified "
            "there, not kept by construction"
        )
        mixed = (split.condition for split in kept.splits if _is_mixed(split, merged[split.block], records))
        return Parts(everything, merged, [note], frozenset(mixed))
    raise DataError(
        f"{small_parts(splitting, [len(part) for part in small], plan.k)}: leave such records out (small_strata = "
        f"'suppress'), join them with others and see whether the rules hold ('merge'), "
        f"{ways_out(splitting, kept, plan)}"
    )


def small_parts(rules: Sequence[str], sizes: Sequence[int], k: int) -> str:
    """Say that rules part off too few records."""
    names = list(dict.fromkeys(rules))
    part = f"rule {listed(names)} parts" if len(names) == 1 else f"rules {listed(names[:_NAMED])} part"
    return f"{part} off {counted(sum(sizes), 'record')} in {counted(len(sizes), 'part')} of fewer than k = {k}"


def ways_out(rules: Collection[str], kept: Keeping, plan: Plan) -> str:
    """Say what to do where rules part off too few records."""
    by_medoids = {*rules} <= kept_by_medoids(kept.rules, plan)
    return f"take a smaller k, {_MEDOID + ', ' if by_medoids else ''}or leave the rule out"


def _is_mixed(split: Split, parts: Sequence[NDArray[np.int64]], records: Records) -> bool:
    found = outcome(split.condition, records)
    return any((found[part] != found[part[0]]).any() for part in parts)


def without_promise(kept: Keeping, mixed: frozenset[Condition]) -> Keeping:
    """Take back the promise of rules that rely on parts which were joined."""
    demands = [replace(demand) for demand in kept.demands]
    for demand in demands:
        if not mixed.isdisjoint(demand.splits):
            demand.give_up()
    return replace(kept, demands=demands)


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
            "kept": "; ".join(demand.how) or "records that miss a value and records that have it share no group",
            "promised": demand.promised,
        }

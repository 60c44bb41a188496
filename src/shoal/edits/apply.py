"""Edits in a plan: reading its rules, planning how they are kept, and the sentences on rules that are broken."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.edits.evaluate import Records, holds
from shoal.edits.expressions import Comparison, Condition, Missing, Rule, attributes_of
from shoal.edits.load import read_rules
from shoal.edits.strategy import Strategy, blocks_of_rules, strategy_for, tied_blocks
from shoal.edits.strategy import Table as Met
from shoal.errors import DataError, PlanError
from shoal.messages import Message
from shoal.plan import Plan
from shoal.plan.aggregates import DEFAULTS, aggregate_of
from shoal.plan.resolved import ResolvedPlan

_NAMED = 5  # so many rules are named in a message


def rules_of(plan: Plan) -> list[Rule]:
    """Read the rules that a plan asks to be kept."""
    return [] if plan.edits is None else read_rules(plan.edits)


def with_rules(plan: ResolvedPlan, names: Sequence[str], rules: Sequence[Rule]) -> tuple[ResolvedPlan, Strategy]:
    """Plan how the rules are kept, and assign the aggregates that this takes."""
    if plan.draws:
        return plan, _in_moments(plan, names, rules)
    types = {name: plan.types[name] for name in plan.masked}
    asked = plan.aggregate if isinstance(plan.aggregate, dict) else {}
    if isinstance(plan.aggregate, str):
        asked = dict.fromkeys(plan.masked, plan.aggregate)
    met = Met(
        names=names,
        identifiers=plan.dropped,
        masked=types,
        defaults={name: DEFAULTS[kind] for name, kind in types.items()},
        asked=asked,
        blocks=plan.in_blocks,
        recompute=plan.recompute,
        adjust=plan.adjust,
        imputed=plan.missing == "impute",
    )
    kept = _without_secret_gaps(strategy_for(rules, met), plan)
    _refuse_totals(kept, plan)
    named = {**asked, **kept.aggregates}
    decided = {name: named[name] for name in plan.masked if name in named}
    return (plan if decided == asked else plan.decided(aggregate=decided)), kept


def _in_moments(plan: Plan, names: Sequence[str], rules: Sequence[Rule]) -> Strategy:
    """Check that the attributes exist that rules name; hybrid data keep rules by moments, not by representatives."""
    nothing: dict[str, Any] = {"masked": {}, "defaults": {}, "asked": {}, "blocks": []}
    kept = strategy_for(rules, Met(names=names, identifiers=plan.dropped, **nothing))
    for requirement in kept.requirements:
        if {*requirement.of.attributes} & {*plan.changed}:
            requirement.how = [Message("kept-by-moments", all=plan.method == "ms")]
    return kept


def _without_secret_gaps(kept: Strategy, plan: Plan) -> Strategy:
    """Refuse rules that separate records by a sensitive attribute: a group of one part would disclose its value.

    Rules that it governs are refused. Whether it is missing parts no records either, where a rule is only verified.
    """
    secret = {*plan.confidential}
    problems = []
    for requirement in kept.requirements:
        parting = [split for split in requirement.splits if secret & {*attributes_of(split)}]
        if parting and (requirement.promised or not all(isinstance(split, Missing) for split in parting)):
            names = [name for split in parting for name in attributes_of(split) if name in secret]
            columns = list(dict.fromkeys(names))
            problems.append(
                Message("rule-separates-by-sensitive", field="edits", rule=requirement.name, columns=columns)
            )
    if problems:
        raise PlanError(*problems)
    return replace(kept, splits=[split for split in kept.splits if not secret & {*attributes_of(split.condition)}])


def _refuse_totals(kept: Strategy, plan: Plan) -> None:
    """Refuse to keep weighted totals where rules move what groups publish."""
    moving = [
        requirement
        for requirement in kept.requirements
        if requirement.sums or requirement.recomputed or requirement.whole
    ]
    if plan.preserve is not None and moving:
        named = [each.name for each in moving[:_NAMED]]
        raise PlanError("totals-not-with-rules", field="preserve", number=len(moving), rules=named)


def with_blocks_of_rules(plan: ResolvedPlan, rules: Sequence[Rule], size: int) -> ResolvedPlan:
    """Return the plan with an attribute block for each rule, and blocks of `size` for the other attributes."""
    blocks = blocks_of_rules(rules, plan.masked, size)
    return plan.decided(blocks=blocks if len(blocks) > 1 else None, block_size=None)


def with_tied_blocks(plan: ResolvedPlan, rules: Sequence[Rule]) -> ResolvedPlan:
    """Join attribute blocks that were chosen, not given, where a rule ties their attributes."""
    blocks = list(tied_blocks(rules, plan.given_blocks))
    return plan.decided(blocks=blocks if len(blocks) > 1 else None) if plan.given_blocks else plan


def kept_by_medoids(rules: Sequence[Rule], plan: Plan) -> frozenset[str]:
    """Name the rules that would hold, and do not yet, if every group published one of its own records."""
    if plan.draws or plan.recompute or plan.adjust or plan.preserve is not None:
        return frozenset()
    open_ = {name for name in plan.masked if aggregate_of(name, plan) != "medoid"}
    spoken = {rule.name: {*attributes_of(rule.condition)} for rule in rules}
    return frozenset(name for name, names in spoken.items() if names <= {*plan.masked} and names & open_)


def on_broken(found: Sequence[tuple[str, int, int | None]], records: int, plan: Plan) -> list[Message]:
    """Note what happens to original records that break rules; refuse them unless the plan keeps or excludes them.

    `found` has each broken rule with its number of records, and the first one where they have an order.
    """
    if not found:
        return []
    broken = [Message("rule-broken", rule=name, records=count, first=first) for name, count, first in found[:_NAMED]]
    what: dict[str, Any] = {"broken": broken, "more": max(len(found) - _NAMED, 0)}
    if plan.edits_original == "fail":
        raise DataError("original-breaks-rules", keep=not plan.draws, **what)
    if plan.edits_original == "exclude":
        return [Message("records-left-out-for-rules", records=records, **what)]
    return [Message("records-kept-that-break-rules", records=records, **what)]


def no_product(name: str, kept: Strategy) -> Message | None:
    """Explain what to do where a rule needs a geometric mean of an attribute that has none; None if no rule does."""
    for requirement in kept.requirements:
        if name in requirement.geometric:
            computed = requirement.recomputed[0].name if requirement.recomputed else name
            return Message("rule-needs-geometric-mean", rule=requirement.name, column=computed)
    return None


def disobeyed(rule: str, records: int, first: int | None, *, by_medoids: bool) -> Message:
    """Report that a release breaks a rule, `first` in which record if they have an order; whole records may keep it."""
    return Message(
        "release-breaks-rule", rule=rule, records=records, first=first, medoid=by_medoids, alone=not by_medoids
    )


def without_promise(kept: Strategy, mixed: frozenset[Condition]) -> Strategy:
    """Take back the promise of rules that rely on parts which were joined."""
    requirements = [replace(requirement) for requirement in kept.requirements]
    for requirement in requirements:
        if not mixed.isdisjoint(requirement.splits):
            requirement.give_up()
    return replace(kept, requirements=requirements)


def outcome(condition: Condition, records: Records) -> NDArray[np.int64]:
    """Return how a condition comes out: true or false, and where two values differ, in which direction.

    Those below and those above are told apart because their mean may be equal. Of levels, groups publish one of theirs.
    """
    found = holds(condition, records).astype(np.int64)
    in_levels = not records.levels.keys().isdisjoint(attributes_of(condition))
    if isinstance(condition, Comparison) and condition.sign in ("==", "!=") and not in_levels:
        found[holds(replace(condition, sign="<"), records) & (found == (condition.sign == "!="))] = 2
    return found


def explained(kept: Strategy) -> Iterator[dict[str, Any]]:
    """Describe every rule and how it is kept, ready for JSON."""
    for requirement in kept.requirements:
        yield {
            "rule": requirement.name,
            "text": requirement.of.rule.text,
            "class": requirement.of.label,
            "attributes": requirement.of.attributes,
            "kept": "; ".join(requirement.how),
            "promised": requirement.promised,
        }

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
from shoal.messages import warning
from shoal.plan import Plan
from shoal.plan.aggregates import DEFAULTS, aggregate_of
from shoal.plan.resolved import ResolvedPlan
from shoal.text import counted, listed

_NAMED = 5  # so many rules are named in a message
_MEDOID = "publish whole records with --aggregate medoid"


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
            where = "all records" if plan.method == "ms" else "every group"
            requirement.how = [f"means and covariances of {where}, repaired so that the sum is exact as written"]
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
            problems.append(
                f"rule '{requirement.name}' would separate records by {listed(list(dict.fromkeys(names)))}, "
                "sensitive, so all members of a group would share its value. Add it to --quasi, or leave the "
                "rule out"
            )
    if problems:
        raise PlanError([("edits", problem) for problem in problems])
    return replace(kept, splits=[split for split in kept.splits if not secret & {*attributes_of(split.condition)}])


def _refuse_totals(kept: Strategy, plan: Plan) -> None:
    """Refuse to keep weighted totals where rules move what groups publish."""
    moving = [
        requirement
        for requirement in kept.requirements
        if requirement.sums or requirement.recomputed or requirement.whole
    ]
    if plan.preserve is not None and moving:
        named = listed([each.name for each in moving[:_NAMED]])
        what = "rule" if len(moving) == 1 else "rules"
        problem = f"cannot be kept with {what} {named}, which change what groups publish. Leave one of them out"
        raise PlanError([("preserve", problem)])


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


def on_broken(found: Sequence[tuple[str, int, int | None]], records: int, plan: Plan) -> list[str]:
    """Note what happens to original records that break rules; refuse them unless the plan keeps or excludes them.

    `found` has each broken rule with its number of records, and the first one where they have an order.
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
        ways = ["Correct them", "leave them out with --edits-original exclude"]
        ways += [] if plan.draws else ["keep them with --edits-original keep"]
        raise DataError(f"The original data break rules: {what}. {', or '.join(ways)}.")
    many = counted(records, "record")
    if plan.edits_original == "exclude":
        return [f"{many} left out for breaking a rule in the original ({what})"]
    return [warning(f"{many} broke a rule in the original ({what}). Their groups may still break it.")]


def no_product(name: str, kept: Strategy) -> str | None:
    """Explain what to do where a rule needs a geometric mean of an attribute that has none; None if no rule does."""
    for requirement in kept.requirements:
        if name in requirement.geometric:
            computed = requirement.recomputed[0].name if requirement.recomputed else name
            return (
                f"and rule '{requirement.name}' is kept by geometric means, which need positive numbers. Use "
                f"--recompute {computed} to compute one attribute from the others, or leave the rule out"
            )
    return None


def disobeyed(rule: str, records: int, first: int | None, *, by_medoids: bool) -> str:
    """Report that a release breaks a rule, `first` in which record if they have an order; whole records may keep it."""
    where = f", first by {first}" if first else ""
    way = f"{_MEDOID}, or leave the rule out" if by_medoids else "leave the rule out"
    return f"rule '{rule}' is broken by {counted(records, 'record')}{where}; {way}"


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
            "kept": "; ".join(requirement.how) or "records that miss a value and records that have it share no group",
            "promised": requirement.promised,
        }

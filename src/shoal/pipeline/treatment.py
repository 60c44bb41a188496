"""A role for every column: which ones the plan names, which are masked by default, and which have none.

A column that would leave unchanged without anyone having said so stops the run, with a proposal for each such column.
"""

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from shoal.errors import DataError, PlanError, UntreatedColumns
from shoal.messages import Message
from shoal.pipeline.records import Records
from shoal.pipeline.roles import Proposal, codes_of, profiles_of, propose_for
from shoal.plan import Plan
from shoal.plan.recoding import is_dated
from shoal.tables import Table
from shoal.tables.csv.formulas import formula_names
from shoal.tables.numbers import not_a_number, stored_as_text

_NAMED = 5  # columns that a message lists


def refuse_untreated(plan: Plan, records: Records) -> None:
    """Refuse a plan that leaves columns without a role.

    Raises
    ------
    UntreatedColumns
        With a proposal for every column that the plan does not name.
    """
    table = records.outline
    default = [] if plan.masked or plan.draws else numbers_to_mask(table, plan.named, recoded_numbers(plan))
    named = {*plan.named, *default}
    untreated = [] if plan.publish == "rest" else [name for name in table.names if name not in named]
    if not untreated:
        return
    proposals = [each for each in _proposals(records) if each.column in {*untreated, *default}]
    masked = {*plan.masked, *(each.column for each in proposals if each.role == "quasi")}
    proposals = [
        each._replace(role="identifier")
        if each.role == "household" and not (_takes_households(plan) and masked & {*each.shared})
        else each
        for each in proposals
    ]
    options = _options(plan, proposals)
    number: dict[str, Any] = {"untreated": len(untreated), "columns": len(table.names), "default": len(default)}
    what = Message("untreated-columns", **number)
    raise UntreatedColumns(what, [_row(each) for each in proposals], options)


def _proposals(records: Records) -> list[Proposal]:
    """Propose roles for all columns; those that hold objects of Python can only be dropped or published."""
    odd = [name for name in records.outline.names if _is_odd(records.outline, name)]
    why = "objects of several kinds, which cannot be masked"
    profiles = profiles_of(records, [name for name in records.outline.names if name not in odd])
    return [*propose_for(records, profiles), *(Proposal(name, "identifier", "nominal", reason=why) for name in odd)]


def _is_odd(table: Table, name: str) -> bool:
    try:
        table.column(name)
    except DataError:
        return True
    return False


def _row(proposal: Proposal) -> dict[str, str]:
    """Return a proposal, ready for JSON."""
    return {
        "column": proposal.column,
        "treatment": proposal.role,
        "type": proposal.type,
        "reason": proposal.reason,
        "warning": proposal.warning,
    }


def _options(plan: Plan, proposals: Sequence[Proposal]) -> dict[str, Any]:
    """Return the fields of the plan that carry proposals out, complete with what the plan has in them already."""
    found: dict[str, list[str]] = {}
    for each in proposals:
        found.setdefault(_field(plan, each), []).append(each.column)
    options: dict[str, Any] = {
        field: names[0] if field in ("weights", "unit", "household") else [*plan.roles[field], *names]
        for field, names in found.items()
    }
    masked = [each for each in proposals if each.role == "quasi"]
    if plan.given_blocks and masked:
        options["blocks"] = [*plan.given_blocks, found["quasi"]]
    if types := {each.column: _type(each) for each in masked if each.guessed}:
        options["types"] = {**plan.types, **types}
    if codes := codes_of(proposals):
        options["missing_codes"] = {**plan.missing_codes, **codes}
    if plan.missing == "error" and any(each.missing or each.column in codes for each in masked):
        options["missing"] = "suppress" if plan.draws or plan.method == "mic1d" else "group"
    return options


def _field(plan: Plan, proposal: Proposal) -> str:
    """Return the field of the plan for a proposed role; what the method cannot use is dropped."""
    unused = plan.draws or plan.method == "mic1d"
    if proposal.role == "identifier" or (proposal.role in ("weights", "strata", "unit") and unused):
        return "identifiers"
    taken = (proposal.role == "weights" and plan.weights is not None) or (
        proposal.role == "unit" and (plan.unit is not None or (plan.scale is not None and plan.scale.seams))
    )
    return "identifiers" if taken else proposal.role


def _takes_households(plan: Plan) -> bool:
    """Whether households can be masked as proposed: what they go with is left open."""
    other = plan.household is not None or plan.unit is not None or plan.p_percent or plan.dominance or plan.keep_totals
    other = other or plan.draws or plan.method == "mic1d" or plan.epsilon is not None
    used = (plan.blocks, plan.edits, plan.l, plan.t, plan.only, plan.strata, plan.weights, plan.scale)
    return not other and not plan.restore_variance and not plan.bound and all(each is None for each in used)


def _type(proposal: Proposal) -> str:
    """Return the type of a column; levels of texts are values, which no message shows."""
    return "nominal" if proposal.levels else proposal.type


def refuse_unknown(table: Table, roles: Mapping[str, list[str]], what: str = "the table") -> None:
    """Report every name, with the field that holds it, that is not a column of the table."""
    problems = []
    for field, names in roles.items():
        for name in names:
            if name not in table.names:
                near = next(iter(difflib.get_close_matches(name, table.names, n=1)), None)
                problems.append(Message("unknown-column", field=field, column=name, table=what, near=near))
    if problems:
        raise PlanError(*problems)


def refuse_other_columns(plan: Plan, table: Table) -> None:
    """Report what the plan names and the table lacks, with the columns that the plan does not know."""
    named = {field: list(getattr(plan, field)) for field in ("types", "levels", "missing_codes", "recode")}
    named |= {field: list(getattr(plan, field)) for field in ("attribute_weights", "constraints")}
    named |= {field: getattr(plan, field) or [] for field in ("magnitudes", "keep_totals")}
    named |= {"recompute": plan.recompute, "adjust": plan.adjust, "bounds": list(plan.bounds)}
    named["aggregate"] = list(plan.aggregate) if isinstance(plan.aggregate, dict) else []
    try:
        refuse_unknown(table, {**plan.roles, **named})
    except PlanError as error:
        new = [name for name in table.names if name not in plan.named]
        misspelled = all(each.data["near"] for each in error.messages)  # no plan for other columns
        if misspelled or not new or not plan.masked or plan.publish == "rest":
            raise
        field = next(each.field for each in error.messages if not each.data["near"])
        untreated = Message("columns-without-role", field=field, columns=new[:_NAMED], others=len(new[_NAMED:]))
        raise PlanError(*error.messages, untreated) from None
    if {*table.names} <= {*plan.dropped}:
        raise DataError("all-identifiers")


def refuse_quoted_names(plan: Plan, table: Table) -> None:
    """Refuse apostrophes before formulas where the name of a column is one, which would become another name."""
    published = [name for name in table.names if name not in plan.dropped]
    if plan.quote_formulas and (found := formula_names(published)):
        raise PlanError("quoted-column-names", field="quote_formulas", columns=found)


def numeric_attributes(table: Table, taken: Collection[str] = (), also: Collection[str] = ()) -> list[str]:
    """Return every numeric column that has no other role, and others that were numbers; there must be one."""
    names = numbers_to_mask(table, taken, also)
    if not names:
        raise DataError("nothing-to-mask", numbers=True)
    return names


def recoded_numbers(plan: Plan) -> list[str]:
    """Return the columns that were numbers before they were recoded into classes."""
    return [name for name, each in plan.recode.items() if isinstance(each, list) and not is_dated(each)]


def numbers_to_mask(table: Table, taken: Collection[str], also: Collection[str] = ()) -> list[str]:
    """Return every numeric column without a role; one that only looks numeric must not slip through unmasked.

    `also` are columns that were numbers before they were recoded.
    """
    for name, record in table.spoiled.items():
        if name not in taken:
            raise DataError(not_a_number(name, record))
    for name in table.disguised:
        if name not in taken:
            raise DataError(stored_as_text(name))
    numbers = {*table.numeric, *also}
    return [name for name in table.names if name in numbers and name not in taken]

"""Roles, types and missing-value codes of columns, proposed from their profiles; no value of the data is ever named.

The rules stand in `shoal.pipeline.role_rules`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, get_args

from shoal.errors import DataError, PlanError
from shoal.pipeline.missing_codes import labelled_codes, missing_codes, missing_words
from shoal.pipeline.records import Records
from shoal.pipeline.role_rules import (
    RULES,
    Column,
    Role,
    is_repeated_unit,
    is_weight,
    may_be_household,
    meanings_of,
    type_of,
)
from shoal.plan import AttributeType, Plan
from shoal.plan.commands import file_name, protect_command
from shoal.tables import Table
from shoal.tables.attributes import infer_type
from shoal.tables.dtypes import inner, is_number
from shoal.tables.profile import ColumnProfile, Pairs, Profiles, pair_piece, profile_piece
from shoal.text import counted, quoted

_LOOKED_INTO = 4  # columns that may be numbers of units and are compared with all others


class Proposal(NamedTuple):
    """What a column probably is.

    Attributes
    ----------
    column, role, type
        Its name, and what is proposed for it.
    levels
        Of an ordinal column of text, in order, where its words tell it. These are values: show their number only.
    missing_codes
        Numbers, or words in a column of numbers, that probably stand for a missing value.
    reason, warning
        Why, and what to look at, in words without a value of the data; the warning may be empty.
    guessed, numeric
        Whether the type is not the one that the file says, and whether values are stored as numbers.
    missing
        Records without a value.
    shape
        The most common form of a value: 9 for a digit, A and a for letters, * for characters beyond ASCII.
    shared
        Of household numbers, the columns to mask once per household.
    """

    column: str
    role: Role
    type: AttributeType
    levels: tuple[str, ...] = ()
    missing_codes: tuple[int | float | str, ...] = ()
    reason: str = ""
    warning: str = ""
    guessed: bool = False
    numeric: bool = False
    missing: int = 0
    shape: str = ""
    shared: tuple[str, ...] = ()


def profiles_of(records: Records, names: Iterable[str] | None = None) -> list[ColumnProfile]:
    """Profile columns by a pass over all records, wherever they are; all columns if none is named."""
    wanted = list(records.outline.names if names is None else names)
    found: Profiles = records.fold(profile_piece, wanted, "scan")
    return [_with_type(found.columns[name], records.outline) for name in wanted]


def _with_type(profile: ColumnProfile, table: Table) -> ColumnProfile:
    if not profile.is_simple:
        return profile
    try:
        return replace(profile, inferred=infer_type(table, profile.name))
    except DataError as error:
        return replace(profile, doubt=" ".join(error.sentences))


def propose_for(records: Records, profiles: Sequence[ColumnProfile]) -> list[Proposal]:
    """Propose a role for every column of a table, also by what is constant within households and other units."""
    units = _possible_units(profiles)[:_LOOKED_INTO]
    if not units:
        return propose(profiles)
    others = [each.name for each in profiles if each.is_simple and 1 < each.distinct.count < 0.9 * each.present]
    found: Pairs = records.fold(partial(pair_piece, units=units), list(dict.fromkeys([*units, *others])), "scan")
    proposals = propose(profiles, {unit: found.constant_within(unit) for unit in units})
    return _with_household(proposals, profiles, {unit: found.shared_in(unit) for unit in units})


def _with_household(
    proposals: list[Proposal], profiles: Sequence[ColumnProfile], shared: Mapping[str, list[str]]
) -> list[Proposal]:
    """Propose household numbers as such, where members share a column to mask, the weight and the strata.

    Not beside a unit, such as a person in a panel: k counts one of them, and the household is dropped.
    """
    having = {role: {each.column for each in proposals if each.role == role} for role in get_args(Role)}
    if having["unit"]:
        return proposals
    for profile in profiles:
        same = {*shared.get(profile.name, [])}
        once = same & having["quasi"]
        if once and having["weights"] | having["strata"] <= same and _numbers_households(profile):
            return [_as_household(each, once) if each.column == profile.name else each for each in proposals]
    return proposals


def _numbers_households(profile: ColumnProfile) -> bool:
    return may_be_household(Column(profile, meanings_of(profile)))


def _as_household(proposal: Proposal, once: Collection[str]) -> Proposal:
    if proposal.role != "identifier":
        return proposal
    reason = f"{proposal.reason}; {counted(len(once), 'column')} to mask once per household"
    return proposal._replace(role="household", reason=reason, shared=tuple(sorted(once)))


def _possible_units(profiles: Sequence[ColumnProfile]) -> list[str]:
    """Name columns whose values a few records share and that have no other meaning, those of a hinted unit first."""
    columns = [Column(each, meanings_of(each)) for each in profiles]
    units = [each for each in columns if each.may_be_unit]
    return [each.profile.name for each in sorted(units, key=lambda each: (not each.meanings, each.different))]


def propose(profiles: Sequence[ColumnProfile], constant: Mapping[str, int] | None = None) -> list[Proposal]:
    """Propose a role, a type and missing-value codes for every column.

    Parameters
    ----------
    profiles
        Of the columns of one table: what one is depends on the others.
    constant
        How many other columns are constant within each value of some columns, where that was looked at.
    """
    said = {each.name: meanings_of(each) for each in profiles}
    spoken = {meaning for each in said.values() for meaning in each}
    people = bool(spoken & {"age", "sex", "education", "family status", "household", "birth"})
    designed = bool(spoken & {"household", "stratum", "design", "survey weight"})
    columns = [
        Column(each, said[each.name], people, "body" in spoken, designed, constant=constant or {}) for each in profiles
    ]
    weights = [each.profile.name for each in columns if is_weight(each)]
    units = [each for each in columns if is_repeated_unit(each)]
    # Of a patient's number and that of a hospital, the patient's: k people are in k hospitals at most.
    unit = max(units, key=lambda each: each.different).profile.name if units else None
    return [_proposal(replace(each, weights=weights, unit=unit)) for each in columns]


def _proposal(column: Column) -> Proposal:
    profile = column.profile
    verdict = next(verdict for rule in RULES if (verdict := rule(column)) is not None)
    type_, levels = type_of(column)
    codes = (*missing_words(profile), *(missing_codes(profile) if verdict.role not in ("identifier", "unit") else ()))
    warnings = [verdict.warning, profile.doubt and f"{profile.doubt.rstrip('.')}.", labelled_codes(profile)]
    return Proposal(
        profile.name,
        verdict.role,
        type_,
        levels,
        codes,
        verdict.reason,
        " ".join(filter(None, warnings)),
        guessed=type_ != profile.inferred,
        numeric=is_number(inner(profile.stored)),
        missing=profile.missing,
        shape=profile.shape,
    )


def proposed_plan(proposals: Sequence[Proposal], **options: Any) -> Plan:
    """Return the plan that gives every column its proposed role; `options` are fields of the plan, such as k.

    Raises
    ------
    PlanError
        No column is left to mask.
    """
    having = {role: [each.column for each in proposals if each.role == role] for role in get_args(Role)}
    masked = [each for each in proposals if each.role == "quasi"]
    if not masked:
        raise PlanError("nothing-to-mask", field="quasi")
    codes = codes_of(proposals)
    fields: dict[str, Any] = {
        "quasi": having["quasi"],
        "confidential": having["confidential"],
        "identifiers": having["identifier"],
        "publish": having["publish"],
        "weights": next(iter(having["weights"]), None),
        "unit": next(iter(having["unit"]), None),
        "household": next(iter(having["household"]), None),
        "strata": having["strata"] or None,
        "types": {each.column: each.type for each in masked if each.guessed and not each.levels},
        "levels": {each.column: list(each.levels) for each in masked if each.levels},
        "missing_codes": codes,
        "missing": "group" if any(each.missing or each.column in codes for each in masked) else "error",
    }
    return Plan(**{"k": 5, **fields, **options})


def codes_of(proposals: Iterable[Proposal]) -> dict[str, list[int | float]]:
    """Return the missing-value codes of columns to mask and of sensitive ones; words are an option of CSV files."""
    found = {
        each.column: [code for code in each.missing_codes if not isinstance(code, str)]
        for each in proposals
        if each.role in ("quasi", "confidential")
    }
    return {name: codes for name, codes in found.items() if codes}


def proposed_command(plan: Plan) -> str:
    """Return the command that carries a proposed plan out; two, with a plan file, where only that can express it."""
    source = quoted([file_name(plan.input or "")])
    by_file = f"shoal roles {source} -k {plan.k} -o plan.toml\nshoal protect --plan plan.toml -o masked.csv"
    return protect_command(plan) or by_file

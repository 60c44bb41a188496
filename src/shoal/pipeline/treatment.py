"""A treatment for every column: which ones the plan names, and which are masked by default."""

import difflib
from collections.abc import Collection, Mapping

from shoal.errors import DataError, PlanError
from shoal.plan import Plan
from shoal.tables import Table
from shoal.text import listed


def refuse_unknown(table: Table, roles: Mapping[str, list[str]], what: str = "the table") -> None:
    """Report every name, with the field that holds it, that is not a column of the table."""
    problems = []
    for field, names in roles.items():
        for name in names:
            if name not in table.names:
                close = difflib.get_close_matches(name, table.names, n=1)
                hint = f"; did you mean '{close[0]}'?" if close else ""
                problems.append((field, f"'{name}' is not a column of {what}{hint}"))
    if problems:
        raise PlanError(problems)


def refuse_other_columns(plan: Plan, table: Table) -> None:
    """Report what the plan names and the table lacks, with the columns that the plan does not know."""
    named = {field: list(getattr(plan, field)) for field in ("types", "levels", "attribute_weights", "constraints")}
    named |= {"recompute": plan.recompute, "adjust": plan.adjust, "bounds": list(plan.bounds)}
    named["aggregate"] = list(plan.aggregate) if isinstance(plan.aggregate, dict) else []
    try:
        refuse_unknown(table, {**plan.roles, **named})
    except PlanError as error:
        new = [name for name in table.names if name not in plan.named]
        misspelled = all("did you mean" in what for _, what in error.problems)
        if misspelled or not new or not plan.masked or plan.publish == "rest":
            raise
        raise PlanError([*error.problems, ("publish", f"the plan has no treatment for {listed(new)}")]) from None
    if {*table.names} <= {*plan.identifiers}:
        raise DataError(
            "Every column is an identifier, so nothing would be left. Name the columns to mask with --quasi."
        )


def numeric_attributes(table: Table, taken: Collection[str] = ()) -> list[str]:
    """Return every numeric column that has no other role; there must be one."""
    names = numbers_to_mask(table, taken)
    if not names:
        raise DataError("the table has no numeric column to mask; name the quasi-identifiers with quasi")
    return names


def numbers_to_mask(table: Table, taken: Collection[str]) -> list[str]:
    """Return every numeric column without a role; one that only looks numeric must not slip through unmasked."""
    for name, record in table.spoiled.items():
        if name not in taken:
            raise DataError(
                f"column '{name}' looks numeric, but record {record} holds text; put that right, say which words mean "
                "a missing value with missing in the csv options (--missing-word), or name the quasi-identifiers"
            )
    for name in table.disguised:
        if name not in taken:
            raise DataError(
                f"column '{name}' holds numbers that are stored as text or categories; make them numbers, give the "
                "column another role, or name the quasi-identifiers with quasi"
            )
    return [name for name in table.numeric if name not in taken]

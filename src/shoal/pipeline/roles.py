"""Which columns of a table play which role."""

import difflib
from collections.abc import Collection, Mapping

from shoal.errors import DataError, PlanError
from shoal.tables import Table


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


def numeric_attributes(table: Table, taken: Collection[str] = ()) -> list[str]:
    """Every numeric column that has no other role; one that only looks numeric must not slip through unmasked."""
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
    names = [name for name in table.numeric if name not in taken]
    if not names:
        raise DataError("the table has no numeric column to mask; name the quasi-identifiers with quasi")
    return names

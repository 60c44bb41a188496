"""Names of columns: texts, none empty, none twice."""

from collections.abc import Sequence
from typing import Any

from shoal.errors import DataError


def check_names(names: Sequence[Any], table: str) -> None:
    """Refuse names by which columns cannot be told apart.

    Parameters
    ----------
    names
        The names in order, as the table has them.
    table
        What to call the table in a message.

    Raises
    ------
    DataError
        If there is no column, or a name is not a text, empty, or there twice.
    """
    if not names:
        raise DataError(f"{table} has no columns")
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            kind = type(name).__name__
            raise DataError(f"{table}: the name of column {position} is of type {kind}; name columns with text")
        if not name.strip():
            raise DataError(f"{table}: column {position} has no name; give every column one")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        quoted = ", ".join(f"'{name}'" for name in twice)
        raise DataError(f"{table} has more than one column named {quoted}; give each its own name")

"""Which columns of a table play which role."""

import difflib
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, PlanError
from shoal.plan import AttributeType
from shoal.tables import Table
from shoal.tables.arrow import compute as pc
from shoal.tables.attributes import CATEGORIES, Level, encode, has_categories, plain_values, without_declared
from shoal.tables.dtypes import inner, is_number
from shoal.tables.numbers import to_floats


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


def confidential_codes(
    table: Table, name: str, type_: AttributeType | None = None, levels: Sequence[Level] | None = None
) -> tuple[NDArray[np.int64], bool]:
    """Give the values of a confidential attribute numbers, and say whether they have an order.

    Numbers, dates and ordinal attributes have, unless values are missing: missing is a value of its own, beside the
    order. Equal numbers are equal values.
    """
    column = without_declared(table, name)
    if not has_categories(inner(column.type)):
        raise DataError(
            f"column '{name}' is of type {column.type}; a confidential attribute must be text, numbers or dates"
        )
    if type_ is None and isinstance(column.type, pa.DictionaryType) and column.type.ordered:
        type_ = "ordinal"
    if type_ is None or type_ in CATEGORIES:
        values = plain_values(column)
        ordered = type_ is None and (is_number(values.type) or pa.types.is_temporal(values.type))
    else:
        values = pa.array(encode(table, name, type_, levels).codes, from_pandas=True)
        ordered = True
    present = values.drop_null().unique()
    codes = pc.index_in(values, value_set=present.take(pc.sort_indices(present)))
    numbered = np.asarray(codes.fill_null(len(present)).to_numpy(zero_copy_only=False), dtype=np.int64)
    return numbered, ordered and not values.null_count


def survey_weights(table: Table, name: str | None) -> NDArray[np.float64] | None:
    """Give the survey weights, every one a positive number; None if none are named."""
    if name is None:
        return None
    column = without_declared(table, name)
    if not is_number(column.type):
        raise DataError(f"column '{name}' is of type {column.type}; survey weights must be numbers")
    weights = to_floats(column, name, table.decimal)
    for bad, what in ((np.isnan(weights), "missing"), (weights <= 0, "zero or negative")):
        if bad.any():
            more = f" ({int(bad.sum())} records in all)" if bad.sum() > 1 else ""
            raise DataError(
                f"the weight in column '{name}' is {what} in record {int(np.argmax(bad)) + 1}{more}; every record must "
                "stand for some: correct it, or leave the record out"
            )
    return weights

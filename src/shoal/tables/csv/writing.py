"""CSV files out: in the dialect that came in, untouched columns as they were spelt, quotes only where needed."""

import re
from pathlib import Path

import pyarrow as pa

from shoal.errors import DataError
from shoal.messages import Message
from shoal.tables.arrow import Array, empty_text, pc
from shoal.tables.csv.dialect import Dialect
from shoal.tables.csv.formulas import with_apostrophes
from shoal.tables.dataframes import column_of
from shoal.tables.dtypes import has_text, inner, is_text
from shoal.tables.table import Table
from shoal.tables.text_values import (
    all_text,
    coarsest,
    decoded,
    first_where,
    is_like_name,
    joined,
    render,
    without_words,
)

_BATCH = 100_000


def write_csv(table: Table, path: Path) -> None:
    """Write a table as UTF-8; a missing value is an empty cell, an empty text is a pair of quotes.

    Where the dialect has words for missing values, the first of them stands for those of columns that are not spelt
    as they came in.
    """
    arrow = table.to_arrow()
    dialect = table.dialect or Dialect()
    columns = []
    for name, kind in zip(arrow.column_names, arrow.schema.types, strict=True):
        if not has_text(kind):
            type_ = str(inner(kind))
            raise DataError("type-not-for-format", column=name, type=type_, format="CSV", instead="Parquet")
        column = coarsest(column_of(arrow, name))
        refuse_misread(column, name, dialect.decimal)
        if dialect.quotes_formulas:
            column = with_apostrophes(column, dialect.missing)
        columns.append(_spelled(table, name, dialect) if name in table.spelling else with_word(column, name, dialect))
    with path.open("wb") as file:
        file.write(csv_lines([pa.array([name], pa.string()) for name in arrow.column_names], dialect))
        for start in range(0, arrow.num_rows, _BATCH):
            file.write(csv_lines([column.slice(start, _BATCH) for column in columns], dialect))


def _spelled(table: Table, name: str, dialect: Dialect) -> Array:
    """Return the cells of a column as they were spelt."""
    cells = table.spelling[name]
    return with_apostrophes(cells, dialect.missing) if dialect.quotes_formulas else cells


def refuse_misread(column: Array, name: str, decimal: str, start: int = 0) -> None:
    """Refuse what would not read back as it is; `start` records come before the column."""
    values = decoded(column)
    if "\0" in name:
        raise DataError("name-not-for-format", column=name, format="CSV", rule=Message("limit-no-nul"))
    if is_text(values.type):
        record = first_where(pc.match_substring(values.cast(pa.large_string()), "\0"))
        if record:
            limit = Message("limit-no-nul")
            raise DataError(
                "value-not-for-format", column=name, value="text", record=record + start, format="CSV", limit=limit
            )
    if is_like_name(values, name, decimal):
        raise DataError("name-like-values", column=name)


def with_word(column: Array, name: str, dialect: Dialect) -> Array:
    """Write missing values as their word; refuse values that would be read as that word."""
    if not dialect.missing:
        return column
    text = render(column, dialect.decimal)
    record = first_where(pc.and_(text.is_valid(), without_words(text, dialect.missing).is_null()))
    if record:
        raise DataError("read-as-missing", column=name, record=record)
    filled: Array = pc.fill_null(text, dialect.missing[0])
    return filled


def csv_lines(columns: list[Array], dialect: Dialect) -> memoryview:
    """Write some records."""
    cells = [_quoted(render(column, dialect.decimal), dialect) for column in columns]
    cells[-1] = joined(cells[-1], dialect.newline)
    return all_text(joined(*cells, by=dialect.delimiter))


def _quoted(text: Array, dialect: Dialect) -> Array:
    quote = dialect.quote
    special = "".join(re.escape(mark) for mark in (dialect.delimiter, quote, "\r", "\n"))
    needed = pc.or_(pc.match_substring_regex(text, f"[{special}]"), pc.equal(text, empty_text()))
    if pc.any(needed).as_py():
        inside = pc.replace_substring(text, quote, quote * 2)
        text = pc.if_else(needed, joined(quote, inside, quote), text)
    cells: Array = pc.fill_null(text, "")
    return cells

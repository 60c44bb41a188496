"""Rows of a CSV file: how they are cut into cells, and which are refused."""

import csv as pycsv
import io
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Literal

import pyarrow.csv as pacsv

from shoal.errors import DataError
from shoal.tables.arrow import Array
from shoal.tables.csv.dialect import Dialect
from shoal.tables.csv.quoting import in_records
from shoal.tables.text_values import infer, is_like_name, may_be_value


def rows_of(lines: Iterable[str], dialect: Dialect) -> Iterator[list[str]]:
    """Cut lines into cells one row at a time: slow, and enough for a header."""
    return pycsv.reader(
        lines,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        doublequote=dialect.escape is None,
        escapechar=dialect.escape,
    )


def cutting(dialect: Dialect, width: int) -> tuple[pacsv.ParseOptions, list[pacsv.InvalidRow]]:
    """Describe how Arrow cuts text into cells, with the list that it puts rows of another width into."""
    ragged: list[pacsv.InvalidRow] = []

    def note(row: pacsv.InvalidRow) -> Literal["skip"]:
        ragged.append(row)
        return "skip"

    parsing = pacsv.ParseOptions(
        delimiter=dialect.delimiter,
        quote_char=dialect.quote,
        double_quote=dialect.escape is None,
        escape_char=dialect.escape or False,
        newlines_in_values=True,
        # in a file of one column, an empty line is a record without a value
        ignore_empty_lines=width > 1,
        invalid_row_handler=note,
    )
    return parsing, ragged


def header_of(lines: Iterable[str], dialect: Dialect, path: Path) -> list[str]:
    """Return the first row that is not empty."""
    try:
        return next(row for row in rows_of(lines, dialect) if row)
    except (pycsv.Error, StopIteration):
        raise DataError("cells-not-found", path=str(path), header=True) from None


def refuse_stray_quotes(blocks: Callable[[], Iterable[bytes]], dialect: Dialect, path: Path) -> None:
    """Refuse a file with a quote that does not close, or closes within a cell: records would be swallowed."""
    how = dialect.delimiter, dialect.quote, dialect.escape
    found = ((at, stray) for at, (_, stray) in enumerate(in_records(blocks(), *how)) if stray)
    at, stray = next(found, (0, None))
    if stray is not None:
        record = stray.record + sum(_count(piece, dialect) for piece, _ in islice(in_records(blocks(), *how), at))
        raise DataError("stray-quote", path=str(path), record=record or None, closes=stray.closes)


def _count(piece: bytes, dialect: Dialect) -> int:
    """Count the rows of a piece of text."""
    lines = io.TextIOWrapper(io.BytesIO(piece), encoding="utf-8", newline="")
    return sum(1 for row in rows_of(lines, dialect) if row)


def refuse_ragged(ragged: list[pacsv.InvalidRow], path: Path, width: int) -> None:
    """Refuse rows of another width, if there are any, which the one that counted them can number."""
    if ragged:
        row = min(ragged, key=lambda row: row.number or 0)
        record, cells = (row.number or 1) - 1, row.actual_columns
        raise DataError("number-of-cells", path=str(path), record=record, cells=cells, columns=width)


def refuse_record_as_header(columns: Iterable[tuple[str, Array]], decimal: str, path: Path) -> None:
    """Refuse a first row that names columns by what looks like a value among the values of that column."""
    for position, (name, cells) in enumerate(columns, start=1):
        if may_be_value(name) and is_like_name(infer(cells, decimal), name, decimal):
            raise DataError("first-row-like-record", path=str(path), position=position)

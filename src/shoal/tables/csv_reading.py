"""CSV files in: every cell is read as text, types follow from all records, and the spelling is kept."""

import csv as pycsv
import io
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.csv as pacsv

from shoal.errors import DataError
from shoal.plan import Csv
from shoal.tables.arrow import Array
from shoal.tables.cells import find_decimal, infer, is_like_name, one_chunk, without_words
from shoal.tables.characters import to_utf8
from shoal.tables.dialect import Dialect, check_options, find_dialect
from shoal.tables.names import check_names
from shoal.tables.numbers import find_disguised, find_spoiled
from shoal.tables.quoting import first_stray_quote
from shoal.tables.table import Table

_BLOCK = 1 << 24
_HINT = "say how the file is written with the csv options (delimiter, quote)"


def read_csv(path: Path, csv: Csv) -> Table:
    """Read a CSV file whose first row is the header.

    Parameters
    ----------
    path
        The file.
    csv
        How it is written, as far as that is known. Cells that are one of the words of `missing`, letter by letter, are
        missing values like cells with nothing in them, in quotes or not; blanks around a cell do not count.

    Returns
    -------
    Table
        A PyArrow table with its dialect, the spelling of the columns whose text does not follow from their values, and
        the columns of numbers that are spoiled by text.
    """
    check_options(csv)
    data = to_utf8(path.read_bytes(), path, csv.encoding)
    if not data.strip():
        raise DataError(f"'{path}' is empty")
    dialect = find_dialect(data, csv)
    _check_quotes(data, dialect, path)
    columns = _columns(data, dialect, path)
    present = {name: without_words(cells, csv.missing) for name, cells in columns.items()}
    dialect = replace(dialect, decimal=csv.decimal or find_decimal(list(present.values()), dialect.delimiter))
    values = {name: infer(cells, dialect.decimal) for name, cells in present.items()}
    for position, (name, column) in enumerate(values.items(), start=1):
        if is_like_name(column, name, dialect.decimal):
            raise DataError(
                f"'{path}': the first row looks like a record, in column {position} at least; the first row must name "
                "the columns, and a year or another number needs a letter in such a name, as in y2019"
            )
    native = pa.table(values)
    return Table(
        native=native,
        dialect=dialect,
        # integers without a sign or zeros in front are spelt in one way only; keeping others costs less than comparing
        spelling={
            name: columns[name] for name, column in values.items() if not _is_plain(column, columns[name], dialect)
        },
        spoiled=find_spoiled(native, dialect.decimal),
        disguised=find_disguised(native, dialect.decimal),
    )


def _is_plain(values: Array, cells: Array, dialect: Dialect) -> bool:
    """Tell whether the text of the cells follows from their values."""
    if dialect.missing and values.null_count:
        return False  # a missing value may be a word or an empty cell
    return values is cells or (pa.types.is_integer(values.type) and values.cast(cells.type).equals(cells))


def _check_quotes(data: bytes, dialect: Dialect, path: Path) -> None:
    stray = first_stray_quote(data, dialect.delimiter, dialect.quote, dialect.escape)
    if stray is None:
        return
    where = f"record {stray.record}" if stray.record else "the header"
    what = "has text after a closing quote" if stray.closes else "opens a quote that is never closed"
    raise DataError(f"'{path}': {where} {what}; double the quotes inside a cell, or {_HINT}")


def _columns(data: bytes, dialect: Dialect, path: Path) -> dict[str, Array]:
    """Give the columns as text by name: a cell with nothing in it is null, one with two quotes is an empty text."""
    width = _width(data, dialect, path)
    rows, ragged = _parse(data, dialect, width, use_threads=True)
    if ragged:
        # with threads nobody counts the rows
        _, ragged = _parse(data, dialect, width, use_threads=False)
        row = min(ragged, key=lambda row: row.number or 0)
        raise DataError(
            f"'{path}': record {(row.number or 1) - 1} has {_cells(row.actual_columns)}, the header has {width}; "
            f"put quotes around cells that hold the delimiter, or {_HINT}"
        )
    names = [cell.as_py() or "" for cell in (column[0] for column in rows.columns)]
    check_names(names, f"'{path}'")
    if rows.num_rows == 1:
        raise DataError(f"'{path}' holds no records, only a header")
    return {name: one_chunk(column.slice(1)) for name, column in zip(names, rows.columns, strict=True)}


def _width(data: bytes, dialect: Dialect, path: Path) -> int:
    """Count the cells of the header."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    reader = pycsv.reader(
        lines,
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        doublequote=dialect.escape is None,
        escapechar=dialect.escape,
    )
    try:
        return len(next(row for row in reader if row))
    except (pycsv.Error, StopIteration):
        raise DataError(f"'{path}': the header cannot be read; {_HINT}") from None


def _parse(
    data: bytes, dialect: Dialect, width: int, *, use_threads: bool, block: int = _BLOCK
) -> tuple[pa.Table, list[pacsv.InvalidRow]]:
    """Cut the text into cells, header and all; rows of another width come back beside the table."""
    ragged: list[pacsv.InvalidRow] = []

    def note(row: pacsv.InvalidRow) -> Literal["skip"]:
        ragged.append(row)
        return "skip"

    names = [str(i) for i in range(width)]
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
    converting = pacsv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        check_utf8=False,
    )
    reading = pacsv.ReadOptions(column_names=names, use_threads=use_threads, block_size=block)
    try:
        return pacsv.read_csv(io.BytesIO(data), reading, parsing, converting), ragged
    except pa.ArrowInvalid:
        if block > len(data):
            raise
        # a record longer than a block
        return _parse(data, dialect, width, use_threads=use_threads, block=len(data) + 1)


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"

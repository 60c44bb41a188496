"""CSV files in: every cell is read as text, types follow from all records, and the spelling is kept."""

import io
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from shoal.errors import DataError
from shoal.plan import Csv
from shoal.tables.arrow import Array
from shoal.tables.csv.dialect import Dialect, check_options, find_dialect
from shoal.tables.csv.encoding import to_utf8
from shoal.tables.csv.quoting import first_stray_quote
from shoal.tables.csv.rows import cutting, header_of, refuse_ragged, refuse_record_as_header, refuse_stray_quote
from shoal.tables.names import check_names
from shoal.tables.numbers import find_disguised, find_spoiled
from shoal.tables.table import Table
from shoal.tables.text_values import find_decimal, infer, one_chunk, without_words

_BLOCK = 1 << 24


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
    if stray := first_stray_quote(data, dialect.delimiter, dialect.quote, dialect.escape):
        refuse_stray_quote(stray, 0, path)
    columns = _columns(data, dialect, path)
    present = {name: without_words(cells, csv.missing) for name, cells in columns.items()}
    dialect = replace(dialect, decimal=csv.decimal or find_decimal(list(present.values()), dialect.delimiter))
    values = {name: infer(cells, dialect.decimal) for name, cells in present.items()}
    refuse_record_as_header(values.items(), dialect.decimal, path)
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


def _columns(data: bytes, dialect: Dialect, path: Path) -> dict[str, Array]:
    """Give the columns as text by name: a cell with nothing in it is null, one with two quotes is an empty text."""
    width = _width(data, dialect, path)
    rows, ragged = _parse(data, dialect, width, use_threads=True)
    if ragged:
        # with threads nobody counts the rows
        refuse_ragged(_parse(data, dialect, width, use_threads=False)[1], path, width)
    names = [cell.as_py() or "" for cell in (column[0] for column in rows.columns)]
    check_names(names, f"'{path}'")
    if rows.num_rows == 1:
        raise DataError(f"'{path}' holds no records, only a header")
    return {name: one_chunk(column.slice(1)) for name, column in zip(names, rows.columns, strict=True)}


def _width(data: bytes, dialect: Dialect, path: Path) -> int:
    """Count the cells of the header."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    return len(header_of(lines, dialect, path))


def _parse(
    data: bytes, dialect: Dialect, width: int, *, use_threads: bool, block: int = _BLOCK
) -> tuple[pa.Table, list[pacsv.InvalidRow]]:
    """Cut the text into cells, header and all; rows of another width come back beside the table."""
    names = [str(i) for i in range(width)]
    parsing, ragged = cutting(dialect, width)
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

"""CSV files out: in the dialect that came in, untouched columns as they were spelt, quotes only where needed."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal.errors import DataError
from shoal.tables.arrow import Array
from shoal.tables.arrow import compute as pc
from shoal.tables.cells import one_chunk, render
from shoal.tables.dialect import Dialect
from shoal.tables.table import Table

_BATCH = 100_000
_NOT_TEXT = (
    pa.types.is_nested,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
    pa.types.is_duration,
    pa.types.is_interval,
)


def write_csv(table: Table, path: Path) -> None:
    """Write a table as UTF-8; a missing value is an empty cell, an empty text is a pair of quotes.

    Parameters
    ----------
    table
        What to write.
    path
        The file; what it held before is lost.

    Raises
    ------
    DataError
        If a column is nested or binary.
    """
    arrow = table.to_arrow()
    _check(arrow.schema)
    dialect = table.dialect or Dialect()
    columns = [table.spelling.get(name, arrow.column(name)) for name in arrow.column_names]
    with path.open("wb") as file:
        file.write(_lines([pa.array([name]) for name in arrow.column_names], dialect))
        for start in range(0, arrow.num_rows, _BATCH):
            file.write(_lines([one_chunk(column.slice(start, _BATCH)) for column in columns], dialect))


def _check(schema: pa.Schema) -> None:
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if any(is_such(kind) for is_such in _NOT_TEXT) or isinstance(kind, pa.BaseExtensionType):
            raise DataError(f"column '{field.name}' is of type {kind}; CSV cannot hold it, Parquet can")


def _lines(columns: list[Array], dialect: Dialect) -> memoryview:
    cells = [_quoted(render(column, dialect.decimal), dialect) for column in columns]
    cells[-1] = _join(cells[-1], dialect.newline)
    lines = _join(*cells, by=dialect.delimiter)
    # the texts of an array lie one behind the other, which is what the file looks like
    _, offsets, text = (memoryview(buffer or b"") for buffer in lines.buffers())
    return text[: int(np.frombuffer(offsets, np.int64)[len(lines)])]


def _quoted(text: Array, dialect: Dialect) -> Array:
    quote = dialect.quote
    special = "".join(re.escape(mark) for mark in (dialect.delimiter, quote, "\r", "\n"))
    needed = pc.or_(pc.match_substring_regex(text, f"[{special}]"), pc.equal(text, ""))
    if pc.any(needed).as_py():
        inside = pc.replace_substring(text, quote, quote * 2)
        text = pc.if_else(needed, _join(quote, inside, quote), text)
    cells: Array = pc.fill_null(text, "")
    return cells


def _join(*parts: Array | str, by: str = "") -> Array:
    texts = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in (*parts, by)]
    joined: Array = pc.binary_join_element_wise(*texts)
    return joined

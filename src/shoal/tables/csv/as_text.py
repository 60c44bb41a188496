"""A CSV file without inference: how it is written follows from the options and its header, never from a record."""

import codecs
import io
import re
from functools import partial
from pathlib import Path

import pyarrow as pa

from shoal.errors import DataError, PlanError
from shoal.plan import Csv
from shoal.tables.csv.dialect import DELIMITERS, Dialect, check_options
from shoal.tables.csv.encoding import stated_encoding, utf8_blocks
from shoal.tables.csv.pieces import CsvSource
from shoal.tables.csv.rows import header_of, refuse_stray_quotes
from shoal.tables.dataframes import check_names, with_row_names
from shoal.tables.table import Table

_ROWS = 1 << 18  # records that are read at a time
_NO_FAULT = "latin-1"  # every byte is a character, and digits are what they are in any encoding


def read_as_text(path: Path, csv: Csv) -> Table:
    """Read a CSV file whose first row is the header; every cell is text, and an empty one is missing.

    Without options, the delimiter is the one that the header has most of, quotes are ``"``, and the decimal sign is a
    point; between semicolons it may be either, and must be given.
    """
    check_options(csv)
    stated = stated_encoding(path, csv.encoding)
    encoding = stated or _NO_FAULT
    lines = next(utf8_blocks(path, encoding)).decode(errors="replace").lstrip("\r\n")
    if not lines:
        raise DataError("empty-file", path=str(path))
    dialect = _dialect(re.split(r"[\r\n]", lines, maxsplit=1)[0], path, csv)
    refuse_stray_quotes(partial(utf8_blocks, path, encoding), dialect, path)
    found = header_of(io.StringIO(lines, newline=""), dialect, path)
    names = with_row_names([name if stated else _decoded(name) for name in found])
    check_names(names, f"'{path}'")
    pieces = [*CsvSource(path, dialect, names, 0, encoding=encoding).texts(names, _ROWS)]
    return Table(pa.concat_tables(pieces), dialect)


def _dialect(header: str, path: Path, csv: Csv) -> Dialect:
    likely = "\t" if path.suffix.lower() == ".tsv" else max(DELIMITERS, key=header.count)
    delimiter = csv.delimiter or likely
    if delimiter == ";" and csv.decimal is None:
        raise PlanError("decimal-with-epsilon", field="csv.decimal")
    return Dialect(delimiter, csv.quote or '"', decimal=csv.decimal or ".", missing=tuple(csv.missing))


def _decoded(name: str) -> str:
    """Return a name that was read byte by byte: UTF-8, or else Windows-1252."""
    raw = name.encode(_NO_FAULT)
    try:
        return codecs.decode(raw, "utf-8")
    except UnicodeError:
        return codecs.decode(raw, "cp1252", "replace")

"""Files of SPSS, Stata and SAS in: every column with the type that it had there, and all that is said of it.

Which missing values there are, and what becomes of them: see `shoal.tables.stat.labels`. Numbers are float64; they
are integers where the package stores them so (Stata's byte, int and long, int32 here) or shows no decimals and all of
them are whole (int64). A text without a character is a missing value: Stata and SAS have no other.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import FileError, MissingExtra
from shoal.tables.arrow import Array, pc
from shoal.tables.atomic import not_complete
from shoal.tables.stat.dates import Moment, Package, moment_of, moments, to_arrow_numbers
from shoal.tables.stat.formats import is_whole
from shoal.tables.stat.labels import Code, Labels, tagged, with_labels
from shoal.tables.stat.limits import TITLES, StatisticsKind


class _Parser(NamedTuple):
    format: str
    package: Package


_PARSERS: dict[StatisticsKind, _Parser] = {
    "sav": _Parser("sav/zsav", "spss"),
    "zsav": _Parser("sav/zsav", "spss"),
    "por": _Parser("por", "spss"),
    "dta": _Parser("dta", "stata"),
    "xpt": _Parser("xport", "sas"),
    "sas7bdat": _Parser("sas7bdat", "sas"),
}
_DENSEST = 1032  # how many rows a byte may hold: zlib, in .zsav files, compresses no more
_EXACT = 2**53
_XPT_RECORD = 80
_XPT_TABLE = b"HEADER RECORD*******MEMB"
_XPT_ROWS = re.compile(rb"HEADER RECORD\*{7}OBS(?:V8)? +HEADER RECORD!{7} *(?:([1-9][0-9]*)|0*) ")


def read_statistics(path: Path, kind: StatisticsKind) -> pa.Table:
    """Read a file of a statistics package."""
    data = path.read_bytes()
    if kind == "xpt" and data.count(_XPT_TABLE) > 1:
        raise FileError("several-tables", path=str(path))
    try:
        table = _table(path, data, kind)
    except MissingExtra:
        raise
    except Exception:  # the library raises what it likes for a damaged file, with values in its words
        table = None
    if table is None:
        raise not_complete(path, TITLES[kind]) from None
    return table


def _table(path: Path, data: bytes, kind: StatisticsKind) -> pa.Table | None:
    """Return the table in the file, or nothing if it is not complete."""
    _, said = _parsed(path, kind, metadataonly=True)
    if (said.number_rows or 0) > len(data) * _DENSEST:  # the parser would take the memory for them first
        return None
    values, said = _parsed(path, kind)
    if not _is_complete(data, kind, said):
        return None
    columns = {name: _column(cells, name, said, _PARSERS[kind].package) for name, cells in values.items()}
    fields = [with_labels(pa.field(name, column.type), labels) for name, (column, labels) in columns.items()]
    return pa.table([column for column, _ in columns.values()], schema=pa.schema(fields))


def _parsed(path: Path, kind: StatisticsKind, *, metadataonly: bool = False) -> tuple[dict[str, list[Any]], Any]:
    """Return the values by column, numbers for moments, and the metadata."""
    try:
        # the public functions are this one; but of SAS transport files they lose the letters of missing values
        from pyreadstat._readstat_parser import parser_entry_point
    except ImportError:
        raise MissingExtra(f"reading {TITLES[kind]} files", "stat") from None
    values, said = parser_entry_point(
        str(path),
        parser_format=_PARSERS[kind].format,
        metadataonly=metadataonly,
        user_missing=True,
        disable_datetime_conversion=True,
        output_format="dict",
    )
    return dict(values), said


def _is_complete(data: bytes, kind: StatisticsKind, said: Any) -> bool:
    """Whether a file is complete where the parser would give fewer rows, or no labels, without a word."""
    if kind == "dta" and data.startswith(b"<stata_dta>"):
        return data.endswith(b"</stata_dta>")  # behind the data come the labels
    if kind == "xpt":
        return _is_whole_xpt(data, said.number_rows, sum(said.variable_storage_width.values()))
    return True


def _is_whole_xpt(data: bytes, rows: int, width: int) -> bool:
    """Whether a transport file ends as one does: with blanks behind its last row, up to a full record.

    Version 8 says how many rows there are. Version 5 does not: a file that is cut off between two rows is whole.
    """
    head = _XPT_ROWS.search(data)
    if head is None or len(data) % _XPT_RECORD or (head[1] and int(head[1]) != rows):
        return False
    rest = data[head.start() + _XPT_RECORD + rows * width :]
    return len(rest) < max(width, _XPT_RECORD) and not rest.strip(b" ")


def _column(cells: list[Any], name: str, said: Any, package: Package) -> tuple[Array, Labels]:
    display = said.original_variable_types[name]
    stored = said.readstat_variable_types[name]
    codes = said.variable_value_labels.get(name, {})
    ranges = [(pair["lo"], pair["hi"]) for pair in said.missing_ranges.get(name, [])]
    labels = Labels(
        label=said.column_names_to_labels[name] or None,
        measure=_measure(said.variable_measure[name]),
        width=said.variable_display_width[name] or None if package == "spss" else None,
    )
    if stored == "string":
        text = pa.array(cells, pa.string())
        text = pc.if_else(pc.equal(text, ""), pa.scalar(None, text.type), text)
        return text, _with_codes(labels, codes, ranges)
    labels = replace(labels, format=display, package=package if display else None)
    floats = tagged(cells)
    is_lettered = name in said.missing_user_values
    moment = None if is_lettered else moment_of(display, package)
    found = None if moment is None else moments(floats, moment, package)
    if found is not None:
        return found, _with_codes(labels, codes, ranges, moment, package)
    absent = np.array([cell is None for cell in cells], dtype=bool)
    column: Array = pa.array(floats, mask=absent)
    if not is_lettered:
        column = _as_integers(column, floats[~absent], stored, display, package)
    return column, _with_codes(labels, codes, ranges)


def _as_integers(
    column: Array, present: NDArray[np.float64], stored: str, display: str | None, package: Package
) -> Array:
    if stored.startswith("int"):
        return column.cast(pa.int32())
    is_exact = np.all((present == np.rint(present)) & (np.abs(present) <= _EXACT))
    return column.cast(pa.int64()) if is_whole(display, package) and is_exact else column


def _measure(measure: str) -> Any:
    return measure if measure in ("nominal", "ordinal", "scale") else None


def _with_codes(
    labels: Labels,
    codes: dict[Any, str],
    ranges: list[tuple[Any, Any]],
    moment: Moment | None = None,
    package: Package = "spss",
) -> Labels:
    """Add value labels and missing ranges, of moments as the numbers that Arrow stores."""

    def code(raw: Any) -> Code:
        if isinstance(raw, str):
            return raw
        if moment is None:
            return float(raw)
        return float(to_arrow_numbers(np.array([raw], np.float64), moment, package)[0])

    values = {code(raw): text for raw, text in codes.items()}
    return replace(labels, values=values, missing=tuple((code(low), code(high)) for low, high in ranges))

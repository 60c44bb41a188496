"""Excel workbooks (.xlsx) out: a workbook of one sheet, its parts, and the cells of each column as Excel spells them.

What Excel cannot hold is refused, never bent. The few parts of a workbook are made here: openpyxl rounds floats to 16
digits, drops empty texts, cuts long ones, takes a text that starts with '=' for a formula, writes the time of day into
the file, and leaves what it writes in a temporary file after a crash.
"""

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import DataError
from shoal.messages import Message
from shoal.tables.arrow import Array, pc
from shoal.tables.dataframes import column_of
from shoal.tables.dtypes import is_number, is_text
from shoal.tables.text_values import all_text, decoded, first_where, joined, render
from shoal.tables.xml import NO_CHARACTER, escaped

_DAY = 86_400_000  # milliseconds, which is what Excel tells apart
_EPOCH = 25_569  # 1970-01-01, counted as Excel does
_FIRST, _LAST = (int(np.datetime64(day, "ms").astype(np.int64)) for day in ("1900-01-01", "9999-12-31T23:59:59.999"))
MOST_CHARACTERS = 32_767
MOST_ROWS = 1_048_576
MOST_COLUMNS = 16_384
_MOST_IN_PART = (1 << 31) - 1  # beyond it zip files have another form, which Excel complains of
_LOOKS_ESCAPED = r"_x[0-9A-Fa-f]{4}_"
_SPELT = [*map(chr, range(32)), "\ufffe", "\uffff"]
_MOST_DAYS = 100_000  # of a duration; openpyxl reads longer ones wrong by a second
_BATCH = 1_000_000  # cells

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OOXML = "http://schemas.openxmlformats.org"
_MAIN = f"{_OOXML}/spreadsheetml/2006/main"
_RELATIONS = f"{_OOXML}/officeDocument/2006/relationships"
_PACKAGE = f"{_OOXML}/package/2006"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"

# The styles by their numbers: as it is, date, moment, time of day, duration.
_FORMATS = ("yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss", "hh:mm:ss", "[h]:mm:ss.000")
_DATE, _MOMENT, _TIME, _DURATION = (f' s="{style}"' for style in range(1, 5))

SHEET = "xl/worksheets/sheet1.xml"
PARTS = {
    "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/>'
    f'<Override PartName="/{SHEET}" ContentType="{_TYPES}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPES}.styles+xml"/></Types>',
    "_rels/.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'{_HEAD}<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}">'
    '<sheets><sheet name="Data" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_RELATIONS}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'{_HEAD}<styleSheet xmlns="{_MAIN}"><numFmts count="{len(_FORMATS)}">'
    + "".join(f'<numFmt numFmtId="{164 + i}" formatCode="{code}"/>' for i, code in enumerate(_FORMATS))
    + '</numFmts><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    f'<cellXfs count="{len(_FORMATS) + 1}"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    + "".join(
        f'<xf numFmtId="{164 + i}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
        for i in range(len(_FORMATS))
    )
    + '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
}


def write_excel(table: pa.Table, path: Path) -> None:
    """Write a table as a workbook of one sheet; the same table gives the same bytes.

    Floats come back to the bit, and text as text, whatever it starts with. A missing value, which NaN is too, is an
    empty cell.
    """
    for position, name in enumerate(table.column_names, start=1):
        if len(name) > MOST_CHARACTERS:
            rule = Message("limit-number", most=MOST_CHARACTERS, unit="character")
            raise DataError("name-not-for-format", position=position, format="Excel", rule=rule)
    if table.num_rows >= MOST_ROWS or table.num_columns > MOST_COLUMNS:
        raise _too_large(table)
    columns = {name: cells_of(decoded(column_of(table, name)), name) for name in table.column_names}
    if table.num_rows and not any(cells.inside[-1].is_valid for cells in columns.values()):
        raise DataError("last-record-empty")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in PARTS.items():
            archive.writestr(_entry(name), text)
        with archive.open(_entry(SHEET), "w") as file:
            size = 0
            for lines in sheet_text(columns, table.num_rows):
                size += len(lines)
                if size > _MOST_IN_PART:
                    raise _too_large(table)
                file.write(lines)


def _too_large(table: pa.Table) -> DataError:
    return DataError(
        "too-large-for-excel",
        records=table.num_rows,
        columns=table.num_columns,
        most_records=MOST_ROWS - 1,
        most_columns=MOST_COLUMNS,
    )


def _entry(name: str) -> zipfile.ZipInfo:
    """Describe a part of the archive by what does not depend on the time and the machine."""
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 0
    return entry


@dataclass(frozen=True)
class Cells:
    """A column as Excel spells it: the attributes of its cells and what is inside of each, null for an empty one."""

    attributes: str
    inside: Array


def cells_of(values: Array, name: str) -> Cells:
    """Spell a column."""
    kind: Any = values.type
    if pa.types.is_null(kind):
        return Cells("", values.cast(pa.large_string()))
    if is_text(kind):
        return _texts(values.cast(pa.large_string()), name)
    if is_number(kind):
        return _numbers(values, name)
    if pa.types.is_boolean(kind):
        return Cells(' t="b"', joined("<v>", values.cast(pa.int8()).cast(pa.large_string()), "</v>"))
    if pa.types.is_date(kind):
        days = _serials(values.cast(pa.timestamp("ms")), name)
        return Cells(_DATE, joined("<v>", days.cast(pa.int64()).cast(pa.large_string()), "</v>"))
    if pa.types.is_timestamp(kind):
        return _moments(values, name)
    if pa.types.is_time(kind):
        return Cells(_TIME, _spelt(_days(_in_milliseconds(values, pa.time32("ms"), name))))
    if pa.types.is_duration(kind):
        return _durations(values, name)
    raise _no_such_type(kind, name)


def _no_such_type(kind: pa.DataType, name: str) -> DataError:
    return DataError("type-not-for-format", column=name, type=str(kind), format="Excel", instead="Parquet")


def sheet_text(columns: Mapping[str, Cells], records: int) -> Iterator[memoryview | bytes]:
    """Yield the text of a sheet piece by piece: the names in its first row, a record in each row below."""
    yield f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetData>'.encode()
    yield _rows([_texts(pa.array([name], pa.large_string()), name) for name in columns], 1)
    step = max(1, _BATCH // len(columns))
    for start in range(0, records, step):
        some = [Cells(cells.attributes, cells.inside.slice(start, step)) for cells in columns.values()]
        yield _rows(some, start + 2)
    yield b"</sheetData></worksheet>"


def _rows(columns: list[Cells], first: int) -> memoryview:
    count = len(columns[0].inside)
    numbers = pa.array(np.arange(first, first + count)).cast(pa.large_string())
    cells = [
        pc.fill_null(joined(f'<c r="{_letters(at)}', numbers, f'"{column.attributes}>', column.inside, "</c>"), "")
        for at, column in enumerate(columns)
    ]
    return all_text(joined('<row r="', numbers, '">', *cells, "</row>"))


def _letters(at: int) -> str:
    """Name a column as Excel does: A, B, ..., Z, AA, AB, ..."""
    before, last = divmod(at, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)


def _texts(text: Array, name: str) -> Cells:
    # Excel counts the halves of characters beyond the first 65,536
    lengths = pc.add(pc.utf8_length(text), pc.count_substring_regex(text, r"[\x{10000}-\x{10FFFF}]"))
    _refuse(
        pc.greater(lengths, MOST_CHARACTERS),
        "text",
        name,
        Message("limit-number", most=MOST_CHARACTERS, unit="character"),
    )
    return Cells(
        ' t="inlineStr"', joined('<is><t xml:space="preserve">', escaped(_without_controls(text)), "</t></is>")
    )


def _without_controls(text: Array) -> Array:
    """Spell control characters as Excel does, by their numbers (ST_Xstring), and what looks like such a spelling."""
    text = pc.if_else(
        pc.match_substring_regex(text, _LOOKS_ESCAPED), pc.replace_substring(text, "_x", "_x005F_x"), text
    )
    if pc.any(pc.match_substring_regex(text, rf"{NO_CHARACTER}|\r")).as_py():
        for character in _SPELT:
            if character not in "\t\n":
                text = pc.replace_substring(text, character, f"_x{ord(character):04X}_")
    return text


def _numbers(values: Array, name: str) -> Cells:
    _refuse(_is_inexact(values), "number", name, Message("limit-exact"))
    return Cells("", joined("<v>", render(values, "."), "</v>"))


def _is_inexact(values: Array) -> Array:
    kind: Any = values.type
    inexact: Array
    if pa.types.is_integer(kind):
        integers = pc.fill_null(values, 0).to_numpy()
        inexact = pa.array((integers > 2**53) | (integers < -(2**53)))
    elif pa.types.is_decimal(kind):
        inexact = pa.array([value is not None and Decimal(repr(float(value))) != value for value in values.to_pylist()])
    else:
        inexact = pc.is_inf(values.cast(pa.float64()))
    return inexact


def _moments(values: Array, name: str) -> Cells:
    kind: Any = values.type
    if kind.tz is not None:
        raise _no_such_type(kind, name)
    return Cells(_MOMENT, _spelt(_serials(_in_milliseconds(values, pa.timestamp("ms"), name), name)))


def _durations(values: Array, name: str) -> Cells:
    days = _days(_in_milliseconds(values, pa.duration("ms"), name))
    _refuse(
        pc.greater(pc.abs(days), float(_MOST_DAYS)),
        "duration",
        name,
        Message("limit-number", most=_MOST_DAYS, unit="day"),
    )
    return Cells(_DURATION, _spelt(days))


def _in_milliseconds(values: Array, kind: pa.DataType, name: str) -> Array:
    coarse = values.cast(kind, safe=False)
    finer = pc.not_equal(coarse.cast(values.type, safe=False), values)
    _refuse(finer, "date or time", name, Message("limit-milliseconds"))
    return coarse


def _serials(moments: Array, name: str) -> Array:
    """Count days as Excel does, which thinks that 1900 was a leap year, from 1 = 1900-01-01."""
    milliseconds = moments.cast(pa.int64())
    outside = pc.or_(pc.less(milliseconds, _FIRST), pc.greater(milliseconds, _LAST))
    _refuse(outside, "date or time", name, Message("limit-years", first=1900, last=9999))
    days = pc.add(_days(moments), float(_EPOCH))
    counted: Array = pc.subtract(days, pc.less(days, 61.0).cast(pa.float64()))
    return counted


def _refuse(bad: Array, value: str, name: str, limit: Message) -> None:
    if (record := first_where(bad)) is not None:
        raise DataError("value-not-for-format", column=name, value=value, record=record, format="Excel", limit=limit)


def _days(times: Array) -> Array:
    width: Any = pa.int32() if pa.types.is_time(times.type) else pa.int64()
    days: Array = pc.divide(times.cast(width).cast(pa.float64()), float(_DAY))
    return days


def _spelt(days: Array) -> Array:
    return joined("<v>", render(days, "."), "</v>")

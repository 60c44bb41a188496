"""Excel workbooks (.xlsx): one sheet, the names of the columns in its first row, a record in each row below.

What Excel cannot hold is refused, never bent. The writer makes the few parts of a workbook itself: openpyxl rounds
floats to 16 digits, drops empty texts, cuts long ones, takes a text that starts with '=' for a formula, writes the time
of day into the file, and leaves what it writes in a temporary file after a crash.
"""

import contextlib
import datetime as dt
import re
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from lxml import etree

from shoal.errors import DataError, FileError, MissingExtra, ShoalError
from shoal.tables.arrow import Array
from shoal.tables.dataframes import check_names, column_of
from shoal.tables.excel.writing import MOST_CHARACTERS, PARTS, SHEET, cells_of, sheet_text
from shoal.tables.text_values import decoded, one_chunk

MOST_ROWS = 1_048_576
MOST_COLUMNS = 16_384

_MOST_BYTES = 1 << 32
_MOST_IN_PART = (1 << 31) - 1  # beyond it zip files have another form, which Excel complains of
_BLOCK = 1 << 20
_OVERLAP = 256  # more than any of the marks is long
_OLE = b"\xd0\xcf\x11\xe0"  # what files start with that hold an .xls workbook or an encrypted one
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_ESCAPE = re.compile(r"_x((?![Dd][89A-Fa-f])[0-9A-Fa-f]{4})_")  # ST_Xstring; no halves of a character
_TAG = rb"<(?:[\w.-]+:)?"
_MARKS = {
    "data": re.compile(_TAG + rb"(?:v|f|is)[\s/>]"),
    "formulas": re.compile(_TAG + rb"f[\s/>]"),
    "underscores": re.compile(rb"x005F_"),
    "merged": re.compile(_TAG + rb"mergeCell\s"),
    "declarations": re.compile(rb"<!(?:DOCTYPE|ENTITY)"),
}
# what is between these in the format of a cell is shown as it is
_NOT_IN_FORMATS = re.compile(r'\[[^\]]*\]|"[^"]*"')

Row = tuple[Any, ...]  # of openpyxl's cells


@dataclass(frozen=True)
class _Columns:
    """The cells below the header by column, and the columns whose format shows the time of day."""

    cells: list[list[Any]]
    timed: set[int]


def read_excel(path: Path) -> pa.Table:
    """Read the one sheet of a workbook that holds data.

    Types follow from the types of the cells: integers, floats (integers too where a column has both), booleans, text,
    dates, moments (of milliseconds, which is what Excel tells apart), times of day, durations. A column with cells of
    different types becomes text, as in a CSV file. Empty cells are missing values, and so are blank texts in a column
    of another type. Rows without a value below the last record are none.

    Parameters
    ----------
    path
        The file, whatever its ending says.

    Raises
    ------
    FileError
        If it is no workbook, not a whole one, or protected with a password.
    DataError
        If there is no table, or one that would come out different from what Excel shows: cells with errors, formulas
        whose values were not saved, merged cells, several sheets with data.
    MissingExtra
        If openpyxl is not installed.
    """
    _refuse_other_kinds(path)
    with _undamaged(path), warnings.catch_warnings():
        # openpyxl warns of what it leaves out of the styles, and of dates that it turns into errors
        warnings.simplefilter("ignore")
        marks = _marks(path)
        with _workbook(path, data_only=True) as book:
            sheet = _only_sheet(book, marks, path)
            if any("underscores" in found for found in marks.values()):
                sheet._shared_strings = _shared_texts(book)
            rows = _rows_with_formulas(sheet, path) if "formulas" in marks[_part(sheet)] else _rows(sheet)
            names = _names(next(rows)[0], path)
            columns = _columns(rows, names)
    names += [""] * (len(columns.cells) - len(names))
    check_names(names, f"'{path}'")
    if not columns.cells[0]:
        raise DataError(f"'{path}' holds no records, only a header")
    return pa.table({name: _typed(columns.cells[i], i in columns.timed) for i, name in enumerate(names)})


def _refuse_other_kinds(path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(len(_OLE))
        if start == _OLE and _ENCRYPTED in file.read():
            raise FileError(f"'{path}' is protected with a password; save it without one")
    if start == _OLE:
        raise FileError(f"'{path}' is an Excel file of the old kind (.xls); save it as .xlsx")
    if not start.startswith(b"PK"):
        raise FileError(f"'{path}' is not an Excel file; give it the ending of what it is")


@contextlib.contextmanager
def _undamaged(path: Path) -> Iterator[None]:
    """Make one sentence of whatever zipfile, expat, lxml and openpyxl raise for a file that is not whole."""
    try:
        yield
    except (ShoalError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk, not the file
        raise FileError(f"'{path}' is not a whole Excel file: it is damaged, cut off, or of another kind") from None


def _marks(path: Path) -> dict[str, set[str]]:
    """Look through every part of a workbook for what openpyxl does not tell, and check that the part is whole."""
    with zipfile.ZipFile(path) as archive:
        # zipfile unpacks no more of a part than its size here says
        if sum(part.file_size for part in archive.infolist()) > _MOST_BYTES:
            raise FileError(f"'{path}' unpacks to more than 4 GiB; save the table as CSV or Parquet")
        found = {part.filename: _marks_of(archive, part) for part in archive.infolist()}
    if any("declarations" in marks for marks in found.values()):
        raise FileError(f"'{path}' declares XML entities, which no Excel file needs and which may do harm")
    return found


def _marks_of(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> set[str]:
    found: set[str] = set()
    with archive.open(part) as file:
        tail = b""
        while block := file.read(_BLOCK):
            text = tail + block
            found |= {name for name, mark in _MARKS.items() if name not in found and mark.search(text)}
            tail = text[-_OVERLAP:]
    return found if part.filename.lower().endswith((".xml", ".rels")) else set()


@contextlib.contextmanager
def _workbook(path: Path, *, data_only: bool) -> Iterator[Any]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtra("reading Excel files", "stat") from None
    with path.open("rb") as file:  # not by its name, because openpyxl insists on certain endings
        book = load_workbook(file, read_only=True, data_only=data_only, keep_links=False)
        with contextlib.closing(book):
            yield book


def _only_sheet(book: Any, marks: dict[str, set[str]], path: Path) -> Any:
    filled = [sheet for sheet in book.worksheets if "data" in marks[_part(sheet)]]
    if not filled:
        raise DataError(f"'{path}' is empty: no sheet holds data")
    if len(filled) > 1:
        titles = ", ".join(f"'{sheet.title}'" for sheet in filled)
        raise DataError(f"'{path}' has more than one sheet with data ({titles}, hidden ones included); keep one")
    if "merged" in marks[_part(filled[0])]:
        raise DataError(
            f"'{path}' has merged cells in sheet '{filled[0].title}'; unmerge them and give every cell its value"
        )
    return filled[0]


def _shared_texts(book: Any) -> list[str]:
    """Read the texts that cells share once more, because openpyxl takes every 'x005F_' out of them."""
    types = etree.fromstring(book._archive.read("[Content_Types].xml"))
    parts = [node.get("PartName", "") for node in types if node.get("ContentType", "").endswith("sharedStrings+xml")]
    texts = []
    for part in parts:
        with book._archive.open(part.removeprefix("/")) as file:
            for _, item in etree.iterparse(file, tag="{*}si", resolve_entities=False):
                # a text, or runs of formatted text; how it is pronounced is left out
                texts.append("".join(t.text or "" for path in ("{*}t", "{*}r/{*}t") for t in item.iterfind(path)))
                item.clear()
    return texts


def _part(sheet: Any) -> str:
    return str(sheet._worksheet_path)


def _rows(sheet: Any) -> Iterator[tuple[Row, Row]]:
    """Give the rows of a sheet, each beside that of its formulas: here there are none."""
    sheet.reset_dimensions()  # what the file says of its size may be wrong, and openpyxl would stop there
    for number, row in enumerate(sheet.iter_rows(), start=1):
        if number > MOST_ROWS:
            raise ValueError("more rows than a sheet has")
        yield row, ()


def _rows_with_formulas(sheet: Any, path: Path) -> Iterator[tuple[Row, Row]]:
    with _workbook(path, data_only=False) as book:
        for (row, _), (formulas, _) in zip(_rows(sheet), _rows(book[sheet.title]), strict=True):
            yield row, formulas


def _names(header: Row, path: Path) -> list[Any]:
    """Give what the first row holds, up to its last cell that is not empty."""
    width = max((at for at, cell in enumerate(header, start=1) if cell.value is not None), default=0)
    if not width:
        raise DataError(f"'{path}': the first row is empty; it must name the columns")
    for position, cell in enumerate(header, start=1):
        if cell.data_type == "e":
            raise DataError(f"'{path}': the name of column {position} is an error; put that right")
    return ["" if cell.value is None else _value(cell) for cell in header[:width]]


def _columns(rows: Iterator[tuple[Row, Row]], names: list[Any]) -> _Columns:
    """Gather the cells below the header, up to the last row and the last column that have any."""
    columns: list[list[Any]] = [[] for _ in names]
    timed, records = set(), 0
    for record, (row, formulas) in enumerate(rows, start=1):
        values = [_value(cell) for cell in row]
        for at, (cell, value) in enumerate(zip(row, values, strict=True)):
            if cell.data_type == "e":
                raise DataError(f"{_column(names, at)} has an error in record {record}; put that right in Excel")
            if value is None:
                _refuse_unsaved(cell, formulas, names, at, record)
            elif cell.data_type == "d" and at not in timed and _shows_time(cell):
                timed.add(at)
            if value is not None:
                columns += [[] for _ in range(len(columns), at + 1)]
                columns[at] += [None] * (record - 1 - len(columns[at]))
                columns[at].append(value)
                records = record
    for cells in columns:
        cells += [None] * (records - len(cells))
    return _Columns(columns, timed)


def _refuse_unsaved(cell: Any, formulas: Row, names: list[Any], at: int, record: int) -> None:
    # a formula that gave an empty text has the type 'str' and no value
    if at < len(formulas) and formulas[at].data_type == "f" and cell.data_type != "str":
        raise DataError(
            f"{_column(names, at)} has a formula in record {record} whose value was not saved; open the file in Excel "
            "and save it again"
        )


def _column(names: list[Any], at: int) -> str:
    name = names[at] if at < len(names) else ""
    return f"column '{name}'" if isinstance(name, str) and name else f"column {at + 1}"


def _value(cell: Any) -> Any:
    """Give the value of a cell, with the characters that Excel spells as numbers put back."""
    if cell.value is None or cell.data_type != "s":
        return cell.value
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), str(cell.value))


def _shows_time(cell: Any) -> bool:
    if isinstance(cell.value, dt.datetime) and cell.value.time() != dt.time():
        return True
    return not {"h", "s"}.isdisjoint(_NOT_IN_FORMATS.sub("", cell.number_format or "").lower())


def _typed(cells: list[Any], timed: bool) -> Array:
    kinds = {type(cell) for cell in cells} - {type(None)}
    if str in kinds and len(kinds) > 1 and not any(isinstance(cell, str) and cell.strip() for cell in cells):
        return _typed([None if isinstance(cell, str) else cell for cell in cells], timed)
    if kinds == {int} and all(cell is None or abs(cell) < 2**63 for cell in cells):
        return pa.array(cells, pa.int64())
    if kinds and kinds <= {int, float}:
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if kinds and kinds <= {dt.date, dt.datetime}:
        moments = pa.array(cells, pa.timestamp("us"))
        return moments if timed else moments.cast(pa.date32())
    for kind, of_arrow in ((bool, pa.bool_()), (dt.time, pa.time64("us")), (dt.timedelta, pa.duration("us"))):
        if kinds == {kind}:
            return pa.array(cells, of_arrow)
    return one_chunk(pa.array([None if cell is None else _spelt(cell, timed) for cell in cells], pa.string()))


def _spelt(value: Any, timed: bool) -> str:
    """Spell the value of a cell in a column of several kinds, as a CSV file would have it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime) and not timed:
        return str(value.date())
    return str(value)


def write_excel(table: pa.Table, path: Path) -> None:
    """Write a table as a workbook of one sheet; the same table gives the same bytes.

    Floats come back to the bit, and text as text, whatever it starts with. A missing value, which NaN is too, is an
    empty cell.

    Parameters
    ----------
    table
        What to write.
    path
        The file, whatever its ending says; what it held before is lost.

    Raises
    ------
    DataError
        If a sheet is too small for the table or cannot hold a value exactly.
    """
    if any(len(name) > MOST_CHARACTERS for name in table.column_names):
        raise DataError(f"a column has a name of more than {MOST_CHARACTERS} characters; Excel needs a shorter one")
    if table.num_rows >= MOST_ROWS or table.num_columns > MOST_COLUMNS:
        raise DataError(
            f"the table has {table.num_rows} records and {table.num_columns} columns; Excel holds {MOST_ROWS - 1} and "
            f"{MOST_COLUMNS}, CSV and Parquet hold all"
        )
    columns = {name: cells_of(decoded(column_of(table, name)), name) for name in table.column_names}
    if table.num_rows and not any(cells.inside[-1].is_valid for cells in columns.values()):
        raise DataError("the last record has no value at all, which no sheet shows; leave it out or write Parquet")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in PARTS.items():
            archive.writestr(_entry(name), text)
        with archive.open(_entry(SHEET), "w") as file:
            size = 0
            for lines in sheet_text(columns, table.num_rows):
                size += len(lines)
                if size > _MOST_IN_PART:
                    raise DataError("the table needs more than 2 GiB in Excel's format; write CSV or Parquet")
                file.write(lines)


def _entry(name: str) -> zipfile.ZipInfo:
    """Describe a part of the archive by what does not depend on the time and the machine."""
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 0
    return entry

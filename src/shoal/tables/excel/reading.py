"""Excel workbooks (.xlsx) in: one sheet, the names of the columns in its first row, a record in each row below.

The parts of a workbook are XML and are read as such. openpyxl knows what the formats of cells mean and counts days as
Excel does; its cells are not used, because they lose parts of texts and do not tell which values are formulas' own.
"""

import contextlib
import datetime as dt
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, cast

import pyarrow as pa
from lxml import etree

from shoal.errors import DataError, FileError, MissingExtra, PlanError, ShoalError
from shoal.tables.arrow import Array
from shoal.tables.atomic import not_complete
from shoal.tables.dataframes import check_names, with_row_names
from shoal.tables.excel.writing import MOST_COLUMNS, MOST_ROWS
from shoal.tables.text_values import one_chunk
from shoal.tables.xml import SAFE

_MOST_BYTES = 1 << 32
_BLOCK = 1 << 20
_START = 1 << 14  # bytes of a part that are parsed at a time to find where its root begins
_CELLS = 10_000_000  # of a table, empty ones included, that are read however few of them the file has
_EMPTY = 100  # beyond that, of which one must be in the file
_OLE = b"\xd0\xcf\x11\xe0"  # what files start with that hold an .xls workbook or an encrypted one
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_ESCAPE = re.compile(r"_x((?![Dd][89A-Fa-f])[0-9A-Fa-f]{4})_")  # ST_Xstring; no halves of a character
_PLACE = re.compile(r"([A-Z]{1,3})[0-9]+")
# what is between these in the format of a cell is shown as it is
_NOT_IN_FORMATS = re.compile(r'\[[^\]]*\]|"[^"]*"')


class _Cell(NamedTuple):
    """A cell that is not empty: its value, and whether that is an error, a missing result or shows the time of day."""

    column: int
    value: Any
    is_error: bool = False
    is_unsaved: bool = False
    is_timed: bool = False


def read_workbook(path: Path, sheet: str | None = None) -> tuple[pa.Table, dict[str, Array]]:
    """Read a sheet of a workbook: the one of this name, or else the only one that has data.

    With it come the cells of columns with several kinds of cells, as texts that name the kind: 5 is not '5' there.

    Types follow from the types of the cells: integers, floats (integers too where a column has both), booleans, text,
    dates, moments (of milliseconds, which is what Excel tells apart), times of day, durations. A column with cells of
    different types becomes text, as in a CSV file. Empty cells are missing values, and so are blank texts in a column
    of another type. Rows without a value below the last record are none. Memory follows the cells that the file has: a
    table that is nearly empty is refused if it is large, and so are values beside the columns that have names.
    """
    with _opened(path) as book:
        rows = book.rows(_chosen(book, path, sheet))
        first = next(rows, (1, []))
        names = _names(first[1] if first[0] == 1 else [], path)
        columns, timed = _columns(rows, names, path)
    if not columns[0]:
        raise DataError("no-records", path=str(path))
    table = pa.table({name: _typed(columns[i], i in timed) for i, name in enumerate(names)})
    return table, {name: _with_kinds(columns[i]) for i, name in enumerate(names) if _is_mixed(columns[i])}


def filled_sheets(path: Path) -> list[str]:
    """Name the sheets of a workbook that have data, hidden ones included."""
    with _opened(path) as book:
        return book.filled


@contextlib.contextmanager
def _opened(path: Path) -> Iterator["_Book"]:
    _refuse_other_kinds(path)
    with _undamaged(path), zipfile.ZipFile(path) as archive:
        _refuse_large_or_damaged(archive, path)
        yield _Book(archive, path)


def _refuse_other_kinds(path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(len(_OLE))
        if start == _OLE and _ENCRYPTED in file.read():
            raise FileError("file-with-password", path=str(path))
    if start == _OLE:
        raise FileError("old-excel-format", path=str(path))
    if not start.startswith(b"PK"):
        raise not_complete(path, "Excel")


@contextlib.contextmanager
def _undamaged(path: Path) -> Iterator[None]:
    """Make one sentence of whatever zipfile and lxml raise for a file that is not whole."""
    try:
        yield
    except (ShoalError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk, not the file
        raise not_complete(path, "Excel") from None


def _refuse_large_or_damaged(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse what unpacks to too much; reading each part shows that it is whole."""
    # zipfile unpacks no more of a part than its size here says
    if sum(part.file_size for part in archive.infolist()) > _MOST_BYTES:
        raise _too_large(path)
    for part in archive.infolist():
        with archive.open(part) as file:
            while file.read(_BLOCK):
                pass


def _too_large(path: Path) -> FileError:
    return FileError("unpacks-to-too-much", path=str(path))


class _Prolog:
    """What stands before the root of a part, which alone can declare entities: such a part is refused."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.has_ended = False

    def doctype(self, *_: object) -> NoReturn:
        """Refuse declarations, in whatever encoding; those that follow are not read any more."""
        raise FileError("doctype", file=str(self._path), excel=True)

    def start(self, *_: object) -> None:
        """Note the root, or an element in it."""
        self.has_ended = True

    def close(self) -> None:
        """Do nothing: the rest is for another parser."""


class _Book:
    """The parts of a workbook that matter: its sheets, the texts that cells share, and the formats of dates."""

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        try:
            from openpyxl.styles import numbers
            from openpyxl.utils import datetime as serial
        except ImportError:
            raise MissingExtra("reading Excel files", "stat") from None
        self._archive, self._path = archive, path
        self._characters = 0  # of texts that cells share, each counted as often as it is read
        self._from_serial: Callable[..., Any] = serial.from_excel
        self._from_iso: Callable[[str], Any] = serial.from_ISO8601
        (book,) = (part for kind, part in self._related("").values() if kind == "officeDocument")
        related = self._related(book)
        tree = self._tree(book)
        if etree.QName(tree).localname != "workbook":
            raise ValueError("no workbook")
        refs = [next(value for key, value in sheet.items() if key.endswith("}id")) for sheet in tree.iter("{*}sheet")]
        titles = [sheet.get("name", "") for sheet in tree.iter("{*}sheet")]
        self.sheets: dict[str, str] = {
            title: related[ref][1] for title, ref in zip(titles, refs, strict=True) if related[ref][0] == "worksheet"
        }
        from_1904 = any(each.get("date1904") in ("1", "true") for each in tree.iter("{*}workbookPr"))
        self._epoch = serial.MAC_EPOCH if from_1904 else serial.WINDOWS_EPOCH
        overrides = self._tree("[Content_Types].xml").iter("{*}Override")
        parts = {
            each.get("ContentType", "").rpartition(".")[2].removesuffix("+xml"): each.get("PartName", "").lstrip("/")
            for each in overrides
        }
        self._texts = [*map(_text, self.elements(parts["sharedStrings"], "si"))] if "sharedStrings" in parts else []
        codes = {**numbers.BUILTIN_FORMATS}
        styles = self._tree(parts["styles"]) if "styles" in parts else etree.Element("none")
        codes |= {int(each.get("numFmtId", "")): each.get("formatCode", "") for each in styles.iter("{*}numFmt")}
        formats = [codes.get(int(each.get("numFmtId", "0")), "") for each in styles.iterfind("{*}cellXfs/{*}xf")]
        self._dates = {at: code for at, code in enumerate(formats) if numbers.is_date_format(code)}
        self._durations = {at for at, code in enumerate(formats) if numbers.is_timedelta_format(code)}

    def _related(self, part: str) -> dict[str, tuple[str, str]]:
        """Kinds and names of the parts that a part refers to, by their references."""
        folder, name = posixpath.split(part)
        links = self._tree(posixpath.join(folder, "_rels", f"{name}.rels")).iter("{*}Relationship")
        return {
            link.get("Id", ""): (
                posixpath.basename(link.get("Type", "")),
                posixpath.normpath(posixpath.join("/", folder, link.get("Target", ""))).lstrip("/"),
            )
            for link in links
        }

    def _tree(self, part: str) -> Any:
        self._refuse_declarations(part)
        parser = etree.XMLParser(**SAFE)
        parser.feed(self._archive.read(part))
        return parser.close()

    def _refuse_declarations(self, part: str) -> None:
        prolog = _Prolog(self._path)
        parser = etree.XMLParser(target=cast("Any", prolog), **SAFE)  # the stubs ask for more than lxml does
        with self._archive.open(part) as file:
            while not prolog.has_ended and (block := file.read(_START)):
                parser.feed(block)

    def elements(self, part: str, *tags: str) -> Iterator[Any]:
        """Elements of a part, each gone from memory once the next is asked for."""
        self._refuse_declarations(part)
        with self._archive.open(part) as file:
            # rows go too: a sheet may be larger than memory as a tree
            names = [f"{{*}}{tag}" for tag in {*tags, "row"}]
            for _, element in etree.iterparse(file, tag=names, resolve_entities=False):
                if etree.QName(element).localname in tags:
                    yield element
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]

    @property
    def filled(self) -> list[str]:
        """The names of the sheets that have data."""
        filled = {part for part in {*self.sheets.values()} if self.has(part, "v", "f", "is")}
        return [title for title, part in self.sheets.items() if part in filled]

    def has(self, part: str, *tags: str) -> bool:
        """Whether a part has one of some elements."""
        return next(self.elements(part, *tags), None) is not None

    def rows(self, sheet: str) -> Iterator[tuple[int, list[_Cell]]]:
        """Rows of a sheet that have cells, with their numbers from 1."""
        number = 0
        for row in self.elements(self.sheets[sheet], "row"):
            before, number = number, int(row.get("r", number + 1))
            if not before < number <= MOST_ROWS:
                raise ValueError("no such row")
            yield number, [*self._cells(row)]

    def _cells(self, row: Any) -> Iterator[_Cell]:
        column = -1
        for cell in row.iterfind("{*}c"):
            place = _PLACE.fullmatch(cell.get("r", ""))
            before, column = column, _index(place[1]) if place else column + 1
            if not before < column < MOST_COLUMNS:
                raise ValueError("no such column")
            kind, style = cell.get("t", "n"), int(cell.get("s", "0"))
            found = self._value(cell, kind, style)
            if found is ValueError:
                yield _Cell(column, None, is_error=True)
            elif found is not None:
                is_date = isinstance(found, dt.date | dt.time | dt.timedelta)
                yield _Cell(column, found, is_timed=is_date and _shows_time(found, self._dates.get(style, "")))
            elif kind != "str" and cell.find("{*}f") is not None:  # of that type, it gave an empty text
                yield _Cell(column, None, is_unsaved=True)

    def _value(self, cell: Any, kind: str, style: int) -> Any:
        """Value of a cell: None if there is none, and `ValueError` if it is an error."""
        if kind == "inlineStr":
            return next(map(_text, cell.iterfind("{*}is")), None)
        raw = cell.findtext("{*}v")
        if not raw:
            return ValueError if kind == "e" else None
        if kind == "n":
            number = float(raw) if {".", "e", "E"} & {*raw} else int(raw)
            return number if style not in self._dates else self._moment(number, style)
        if kind == "s":
            return self._shared(int(raw))
        if kind == "str":
            return _ESCAPE.sub(_character, raw)
        if kind == "b":
            return bool(int(raw))
        if kind == "d":
            return self._from_iso(raw)
        return ValueError

    def _shared(self, at: int) -> str:
        text = self._texts[at]
        self._characters += len(text)
        if self._characters > _MOST_BYTES:
            raise _too_large(self._path)
        return text

    def _moment(self, number: float, style: int) -> Any:
        try:
            return self._from_serial(number, self._epoch, timedelta=style in self._durations)
        except (OverflowError, ValueError):
            return ValueError  # no such date


def _text(element: Any) -> str:
    """Join a text, or runs of formatted text; how it is pronounced is left out."""
    runs = (run.text or "" for path in ("{*}t", "{*}r/{*}t") for run in element.iterfind(path))
    return _ESCAPE.sub(_character, "".join(runs))


def _character(found: re.Match[str]) -> str:
    """Return a character that Excel spells by its number."""
    return chr(int(found[1], 16))


def _index(letters: str) -> int:
    index = 0
    for letter in letters:
        index = 26 * index + ord(letter) - ord("A") + 1
    return index - 1


def _chosen(book: _Book, path: Path, sheet: str | None) -> str:
    """Return the name of the sheet to read, which has data and no merged cells."""
    filled = book.filled
    if not filled:
        raise DataError("empty-file", path=str(path), sheets=True)
    if sheet is not None and sheet not in filled:
        raise PlanError("no-such-sheet", field="sheet", sheet=sheet, path=str(path), sheets=filled)
    if sheet is None and len(filled) > 1:
        raise DataError("several-sheets", path=str(path), sheets=filled)
    chosen = filled[0] if sheet is None else sheet
    if book.has(book.sheets[chosen], "mergeCell"):
        raise DataError("merged-cells", path=str(path), sheet=chosen)
    return chosen


def _names(header: list[_Cell], path: Path) -> list[str]:
    """Names of the columns: the first row, up to its last cell that is not empty."""
    if not header:
        raise DataError("first-row-empty", path=str(path))
    names: list[Any] = [""] * (header[-1].column + 1)
    for cell in header:
        if cell.is_error:
            raise DataError("error-in-cell", path=str(path), position=cell.column + 1)
        names[cell.column] = "" if cell.value is None else cell.value
    names = with_row_names(names)
    check_names(names, f"'{path}'")
    return names


def _columns(rows: Iterator[tuple[int, list[_Cell]]], names: list[str], path: Path) -> tuple[list[list[Any]], set[int]]:
    """Cells below the header by column, up to the last row that has any, and the columns that show the time of day."""
    columns: list[list[Any]] = [[] for _ in names]
    timed, records, filled = set(), 0, 0
    for number, row in rows:
        filled += len(row)
        if row and (number - 1) * len(names) > max(_CELLS, _EMPTY * filled):
            raise DataError("mostly-empty-sheet", path=str(path), cells=filled, rows=number - 1, columns=len(names))
        for cell in row:
            if cell.column >= len(names):
                check_names([*names, ""], f"'{path}'")
            if cell.is_error:
                raise DataError("error-in-cell", column=names[cell.column], record=number - 1)
            if cell.is_unsaved:
                raise DataError("formula-without-value", column=names[cell.column], record=number - 1)
            columns[cell.column] += [None] * (number - 2 - len(columns[cell.column]))
            columns[cell.column].append(cell.value)
            if cell.is_timed:
                timed.add(cell.column)
            records = number - 1
    for cells in columns:
        cells += [None] * (records - len(cells))
    return columns, timed


def _shows_time(value: Any, code: str) -> bool:
    if isinstance(value, dt.datetime) and value.time() != dt.time():
        return True
    return not {"h", "s"}.isdisjoint(_NOT_IN_FORMATS.sub("", code).lower())


def _is_mixed(cells: list[Any]) -> bool:
    """Whether a column has texts and cells of another kind."""
    return len({str} | {type(cell) for cell in cells if cell is not None}) > 1 and any(
        isinstance(cell, str) for cell in cells
    )


def _with_kinds(cells: list[Any]) -> Array:
    """Return cells as texts with their kind; integers and other numbers are one kind."""
    kinds = {int: "number", float: "number"}
    texts = [None if cell is None else f"{kinds.get(type(cell), type(cell).__name__)} {cell}" for cell in cells]
    return one_chunk(pa.array(texts, pa.string()))


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

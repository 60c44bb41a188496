"""XML microdata: one element a record, in it one element a variable that is named after it.

The format in which Torra, Cano and Navarro-Arribas keep microdata that obey edits: "data are stored by rows, and each
value is an element labeled with the variable name", so that Schematron rules with the context `Record` apply to the
file as it is. Any other XML is refused: attributes, elements within a variable, text between elements, names in a
namespace, and documents that declare types or entities.

References
----------
V. Torra, I. Cano and G. Navarro-Arribas, "Dealing with edit constraints in microdata protection: microaggregation",
Joint UNECE/Eurostat work session on statistical data confidentiality, Bilbao 2009.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, cast

import pyarrow as pa
from lxml import etree

from shoal.errors import DataError, FileError
from shoal.messages import Message
from shoal.tables.arrow import Array, pc
from shoal.tables.atomic import not_complete
from shoal.tables.dataframes import check_names, column_of
from shoal.tables.dtypes import has_text, inner, is_text
from shoal.tables.text_values import all_text, coarsest, decoded, first_where, infer, joined, one_chunk, render

_KEY = b"shoal.xml"
_BLOCK = 1 << 20
_CHUNK = 1 << 16  # records
_BATCH = 1_000_000  # values
_START = (
    "A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff"
    "\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
# a name of XML without a colon, which would make a namespace of its first half
_NAME = re.compile(f"[{_START}][{_START}.0-9\xb7\u0300-\u036f\u203f-\u2040-]*")
# control characters but for the tab and the ends of lines, and the two that are no characters
NO_CHARACTER = r"[\x{0}-\x{8}\x{B}\x{C}\x{E}-\x{1F}\x{FFFE}\x{FFFF}]"
SAFE: dict[str, Any] = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}


class Tags(NamedTuple):
    """The names of the elements around the variables."""

    root: str = "Records"
    record: str = "Record"


def read_xml(path: Path) -> pa.Table:
    """Read XML microdata; the file is streamed and never in memory as a tree.

    A variable that a record does not have, or has without a character, is a missing value. Types follow from all
    texts, as in CSV files, with a point as the decimal sign. Variables may come in any order; columns come in the
    order in which the file first has them. Comments, processing instructions and declarations of namespaces that no
    name is in are passed over. The names of the root and of the records are kept in the metadata of the schema, as
    `shoal.xml`, for `write_xml`.
    """
    reader = _Reader(path)
    parser = etree.XMLParser(target=cast("Any", reader), **SAFE)  # the stubs ask for more than lxml does
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                parser.feed(block)
        parser.close()
    except etree.XMLSyntaxError as error:
        raise not_complete(path, "XML", error.lineno) from None
    return reader.table()


class _Reader:
    """What the parser tells of the file, tag by tag; the texts of the variables by name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: list[str] = []  # the elements around the place where the parser is
        self._tags: Tags | None = None
        self._records = 0
        self._record: dict[str, str] = {}
        self._text: list[str] = []
        self._cells: dict[str, list[str | None]] = {}
        self._chunks: dict[str, list[Array]] = {}

    def doctype(self, name: str, public: str | None, system: str | None) -> NoReturn:
        """Refuse declarations: entities may blow up, and external ones reach for other files."""
        raise FileError("doctype", file=str(self._path))

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Go into an element: the root, a record or a variable."""
        depth = len(self._open)
        if depth == 1:
            self._records += 1
        if tag.startswith("{"):
            self._refuse("xml-namespace")
        if attributes:
            self._refuse("xml-attributes", column=tag)
        if depth == 1 and self._tags and tag != self._tags.record:
            self._refuse("xml-record-name", name=tag, other=self._tags.record)
        if depth == 2 and tag in self._record:
            self._refuse("xml-variable-twice", column=tag)
        if depth == 3:
            self._refuse("xml-element-in-variable", column=self._open[-1])
        if depth == 1 and not self._tags:
            self._tags = Tags(self._open[0], tag)
        self._open.append(tag)

    def data(self, text: str) -> None:
        """Take text, a piece at a time."""
        if len(self._open) == 3:
            self._text.append(text)
        elif not text.isspace():
            self._refuse("xml-text-outside-variables")

    def end(self, tag: str) -> None:
        """Come out of an element."""
        self._open.pop()
        if len(self._open) == 2:
            self._record[tag] = "".join(self._text)
            self._text.clear()
        elif len(self._open) == 1:
            self._keep_record()

    def close(self) -> None:
        """Do nothing: the table is asked for only when the parser has found the file to be whole."""

    def _refuse(self, code: str, **data: str) -> NoReturn:
        raise DataError(code, path=str(self._path), record=self._records or None, **data)

    def _keep_record(self) -> None:
        at = (self._records - 1) % _CHUNK
        for name, text in self._record.items():
            cells = self._cells.setdefault(name, [])
            cells += [None] * (at - len(cells))
            cells.append(text or None)
        self._record.clear()
        if at == _CHUNK - 1:
            self._flush(_CHUNK)

    def _flush(self, count: int) -> None:
        """Make Arrow's arrays of the records so far; a variable that comes up late was missing until then."""
        before = (self._records - 1) // _CHUNK
        for name, cells in self._cells.items():
            chunks = self._chunks.setdefault(name, [pa.nulls(_CHUNK, pa.string())] * before)
            chunks.append(pa.array(cells + [None] * (count - len(cells)), pa.string()))
            cells.clear()

    def table(self) -> pa.Table:
        """Return the table, once the file has been read."""
        if not self._tags:
            raise DataError("no-records", path=str(self._path))
        rest = self._records % _CHUNK
        if rest:
            self._flush(rest)
        check_names(list(self._chunks), f"'{self._path}'")
        columns = {}
        while self._chunks:  # so that the text of a column is gone when the next is joined
            name = next(iter(self._chunks))
            columns[name] = infer(one_chunk(pa.chunked_array(self._chunks.pop(name))), ".")
        return pa.table(columns).replace_schema_metadata({_KEY: json.dumps(self._tags._asdict()).encode()})


def write_xml(table: pa.Table, path: Path) -> None:
    """Write a table as XML microdata in UTF-8, a variable a line; the same table gives the same bytes.

    A missing value, which NaN is too, is an element without text. Floats come back to the bit. Like CSV, XML has text
    alone: text that looks like a number is read as one.
    """
    tags = _tags(table)
    for name in table.column_names:
        if not _NAME.fullmatch(name):
            raise DataError("name-not-for-format", column=name, format="XML", rule=Message("names-in-xml"))
    columns = {name: _elements(coarsest(decoded(column_of(table, name))), name) for name in table.column_names}
    with path.open("wb") as file:
        for lines in _document(columns, tags, table.num_rows):
            file.write(lines)


def _document(columns: dict[str, Array], tags: Tags, records: int) -> Iterator[memoryview | bytes]:
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<{tags.root}>\n'.encode()
    step = max(1, _BATCH // len(columns))
    for start in range(0, records, step):
        variables = [_lines(name, cells.slice(start, step)) for name, cells in columns.items()]
        yield all_text(joined(f"  <{tags.record}>\n", *variables, f"  </{tags.record}>\n"))
    yield f"</{tags.root}>\n".encode()


def _lines(name: str, text: Array) -> Array:
    lines: Array = pc.fill_null(joined(f"    <{name}>", text, f"</{name}>\n"), f"    <{name}/>\n")
    return lines


def _tags(table: pa.Table) -> Tags:
    noted = (table.schema.metadata or {}).get(_KEY)
    if noted is None:
        return Tags()
    try:
        tags = Tags(**json.loads(noted))
        if all(map(_NAME.fullmatch, tags)):
            return tags
    except (TypeError, ValueError):
        pass
    raise DataError("bad-metadata", key=_KEY.decode(), column=None)


def _elements(values: Array, name: str) -> Array:
    """Write a column as text between tags; null where a value is missing."""
    kind = values.type
    if not has_text(kind):
        raise DataError("type-not-for-format", column=name, type=str(inner(kind)), format="XML", instead="Parquet")
    text = render(values, ".")
    if pa.types.is_timestamp(kind):
        text = pc.replace_substring(text, " ", "T")
    if is_text(kind):
        _refuse_texts(text, name)
        return escaped(text)
    if pa.types.is_floating(kind) and (record := first_where(pc.is_inf(values.cast(pa.float64())))):
        raise _not_held(name, "number", record, Message("limit-finite"))
    return text


def escaped(text: Array) -> Array:
    """Write text so that an XML parser gives it back; a carriage return would come back as a line feed otherwise."""
    text = text.cast(pa.large_string())
    for character, entity in _ENTITIES.items():
        text = pc.replace_substring(text, character, entity)
    return text


def _refuse_texts(text: Array, name: str) -> None:
    record = first_where(pc.equal(text, ""))
    if record:
        raise _not_held(name, "text", record, Message("limit-not-empty"))
    record = first_where(pc.match_substring_regex(text, NO_CHARACTER))
    if record:
        raise _not_held(name, "text", record, Message("limit-no-control"))


def _not_held(column: str, value: str, record: int, limit: Message) -> DataError:
    return DataError("value-not-for-format", column=column, value=value, record=record, format="XML", limit=limit)

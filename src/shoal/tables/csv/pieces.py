"""A CSV file read in pieces: every cell is text, and a column has the type that all its cells allow."""

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from shoal.errors import DataError, FileError
from shoal.plan import Csv
from shoal.tables.arrow import Array
from shoal.tables.csv.dialect import Dialect, check_options, find_dialect
from shoal.tables.csv.quoting import first_stray_quote
from shoal.tables.csv.rows import (
    HINT,
    cutting,
    header_of,
    refuse_ragged,
    refuse_record_as_header,
    refuse_stray_quote,
    rows_of,
)
from shoal.tables.names import check_names
from shoal.tables.storage import Kind
from shoal.tables.stream_reading import in_rows
from shoal.tables.text_values import find_decimal, infer, one_chunk, without_words

_HEAD = 1 << 22  # bytes that are looked at to find how the file is written
_PIECE = 1 << 24  # bytes that are parsed at a time; no record may be longer


@dataclass(frozen=True)
class CsvSource:
    """A CSV file whose first row names the columns.

    Attributes
    ----------
    path, dialect
        The file, and how it is written.
    names
        Of the columns.
    records
        About how many there are, from the length of the first ones.
    types
        Of the columns that are not taken for text: see `typed`.
    """

    path: Path
    dialect: Dialect
    names: list[str]
    records: int
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    kind: Kind = "csv"

    @property
    def files(self) -> list[Path]:
        """The file."""
        return [self.path]

    @property
    def schema(self) -> pa.Schema:
        """Of the pieces."""
        return pa.schema([(name, self.types.get(name, pa.string())) for name in self.names])

    def pieces(self, names: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns, so many records at a time, in the order of the file."""
        for piece in self.texts(names, rows):
            yield pa.table({name: self.typed(one_chunk(piece.column(name)), name) for name in names})

    def typed(self, cells: Array, name: str) -> Array:
        """Give some cells of a column the type of the column; a word for a missing value is one."""
        present = without_words(cells, self.dialect.missing)
        kind = self.types.get(name)
        if kind is None:
            return present
        values = infer(present, self.dialect.decimal)
        if values is present:  # nothing but blanks
            return pa.array([None] * len(cells), kind)
        return values.cast(kind)

    def texts(self, names: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns as they are spelt: a cell with nothing in it is null, one with two quotes an empty text."""
        yield from in_rows(_parsed(self.path, self.dialect, self.names, list(names)), rows)

    def check_quotes(self) -> None:
        """Refuse a file with a quote that does not close, or closes within a cell: records would be swallowed."""
        done, carried = 0, b""
        with self.path.open("rb") as file:
            while block := file.read(_PIECE):
                carried += block
                piece = carried[: carried.rfind(b"\n") + 1]
                stray = first_stray_quote(piece, self.dialect.delimiter, self.dialect.quote, self.dialect.escape)
                if stray is None:
                    done, carried = done + len(piece), carried[len(piece) :]
                elif stray.closes or len(carried) > 4 * _PIECE:  # else the quote may close in the next piece
                    break
        stray = first_stray_quote(carried, self.dialect.delimiter, self.dialect.quote, self.dialect.escape)
        if stray is not None:
            refuse_stray_quote(stray, _rows(self.path, done, self.dialect), self.path)


def open_csv(path: Path, csv: Csv) -> CsvSource:
    """Open a CSV file; how it is written shows in its first four megabytes, unless it is given."""
    check_options(csv)
    if csv.encoding is not None and csv.encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig"):
        raise FileError(f"'{path}': {_not_utf8('a file that is read in pieces')}")
    head = _head(path)
    dialect = find_dialect(head, csv)
    names = _header(head, dialect, path)
    check_names(names, f"'{path}'")
    lines = max(1, head.count(b"\n") - 1)
    source = CsvSource(path, dialect, names, max(1, path.stat().st_size * lines // max(1, len(head))))
    source.check_quotes()
    first = next(_parsed(path, dialect, names, names, piece=_HEAD), None)
    if first is None or not first.num_rows:
        raise DataError(f"'{path}' holds no records, only a header")
    cells = {name: without_words(one_chunk(first.column(name)), csv.missing) for name in names}
    decimal = csv.decimal or find_decimal(list(cells.values()), dialect.delimiter)
    refuse_record_as_header(((name, infer(cells[name], decimal)) for name in names), decimal, path)
    return replace(source, dialect=replace(dialect, decimal=decimal))


def _not_utf8(what: str) -> str:
    return f"{what} must be written in UTF-8; convert it first, for instance with iconv"


def _head(path: Path) -> bytes:
    """Read the start of a file, cut between records as far as that can be seen."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head.strip():
        raise DataError(f"'{path}' is empty")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head:
        raise FileError(f"'{path}': {_not_utf8('a file that is read in pieces')}")
    head = head.removeprefix(b"\xef\xbb\xbf")
    if len(head) < _HEAD - 3:
        return head
    end = head.rfind(b"\n") + 1
    while end and head.count(b'"', 0, end) % 2:
        end = head.rfind(b"\n", 0, end - 1) + 1
    return head[: end or len(head)]


def _header(head: bytes, dialect: Dialect, path: Path) -> list[str]:
    lines = io.TextIOWrapper(io.BytesIO(head), encoding="utf-8", errors="replace", newline="")
    return header_of(lines, dialect, path)


def _rows(path: Path, end: int, dialect: Dialect) -> int:
    """Count the rows in the first bytes of a file, for a message."""
    with path.open("rb") as file:
        lines = io.TextIOWrapper(io.BytesIO(file.read(end)), encoding="utf-8", errors="replace", newline="")
        return sum(1 for row in rows_of(lines, dialect) if row)


def _parsed(
    path: Path, dialect: Dialect, header: list[str], names: list[str], piece: int = _PIECE
) -> Iterator[pa.Table]:
    """Parse a file piece by piece; the header is no record."""
    parsing, ragged = cutting(dialect, len(header))
    converting = pacsv.ConvertOptions(
        column_types=dict.fromkeys(header, pa.string()),
        include_columns=names,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    # without threads, rows of another width come with their number
    reading = pacsv.ReadOptions(column_names=header, use_threads=False, block_size=piece)
    try:
        with path.open("rb") as file:
            is_first = True
            for batch in pacsv.open_csv(file, reading, parsing, converting):
                refuse_ragged(ragged, path, len(header))
                yield pa.Table.from_batches([batch.slice(1) if is_first else batch])
                is_first = False
    except pa.ArrowInvalid as error:
        refuse_ragged(ragged, path, len(header))
        if "UTF8" in str(error):
            raise FileError(f"'{path}': {_not_utf8('a file that is read in pieces')}") from None
        raise FileError(
            f"'{path}' cannot be read in pieces of {_PIECE >> 20} MB; is a record longer? If not, {HINT}"
        ) from None
    except OSError as error:
        raise FileError(f"'{path}' cannot be read: {error.strerror or os.strerror(5)}") from None
    refuse_ragged(ragged, path, len(header))

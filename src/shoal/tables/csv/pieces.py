"""CSV files in: read in pieces, every cell as text, and a column has the type that all its cells allow.

Reading a whole file is reading all of its pieces.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, chain
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from shoal.errors import DataError, FileError
from shoal.plan import Csv
from shoal.tables.arrow import Array, ChunkedArray
from shoal.tables.atomic import in_words
from shoal.tables.csv.dialect import Dialect, check_options, find_dialect
from shoal.tables.csv.encoding import find_encoding, utf8_blocks
from shoal.tables.csv.inference import Look, look, together
from shoal.tables.csv.quoting import end_of_records
from shoal.tables.csv.rows import (
    cutting,
    header_of,
    refuse_ragged,
    refuse_record_as_header,
    refuse_stray_quotes,
)
from shoal.tables.dataframes import check_names, with_row_names
from shoal.tables.declared_codes import Codes, blank, is_code, with_one_missing
from shoal.tables.recoding import Recode, as_recoded, recoded, recoded_schema
from shoal.tables.storage import Kind
from shoal.tables.stream_reading import in_rows
from shoal.tables.table import Table
from shoal.tables.text_values import as_type, decoded, find_decimal, one_chunk, without_words

_HEAD = 1 << 22  # bytes that are looked at to find how the file is written
_PIECE = 1 << 18  # bytes that are parsed at a time; Arrow reads up to 32 times as many ahead
_ROWS = 1 << 18  # records whose types are found at a time


@dataclass(frozen=True)
class CsvSource:
    """A CSV file whose first row names the columns."""

    path: Path
    dialect: Dialect
    names: list[str]  # of the columns
    records: int  # about how many there are, from the length of the first ones
    types: Mapping[str, pa.DataType] = field(default_factory=dict)  # of the columns that are not text
    kind: Kind = "csv"
    encoding: str = "utf-8"
    codes: Codes = field(default_factory=dict)  # that stand for missing values
    recode: Recode = field(default_factory=dict)  # see `shoal.tables.recoding`; `types` are those before
    strata: Sequence[str] = ()  # columns in which every missing value has the same cell: see `with_one_missing`

    @property
    def files(self) -> list[Path]:
        """The file."""
        return [self.path]

    @property
    def schema(self) -> pa.Schema:
        """Of the pieces."""
        plain = pa.schema([(name, self.types.get(name, pa.string())) for name in self.names])
        return recoded_schema(plain, self.recode)

    def pieces(self, names: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns, so many records at a time, in the order of the file."""
        for piece in self.texts(names, rows):
            yield pa.table({name: self.typed(one_chunk(piece.column(name)), name) for name in names})

    def typed(self, cells: Array, name: str) -> Array:
        """Convert some cells of a column to the type of the column; a word for a missing value is one."""
        if name in self.recode:
            return as_recoded(cells, self.recode[name])
        return self._as_read(cells, name)

    def _as_read(self, cells: Array, name: str) -> Array:
        present = without_words(cells, self.dialect.missing)
        kind = self.types.get(name)
        return present if kind is None else as_type(present, kind, self.dialect.decimal)

    def texts(self, names: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns as they are spelt: a cell with nothing in it is null, one with two quotes an empty text."""
        places = {name: i for i, name in enumerate(self.names)}
        block = _PIECE * min(4, 1 + len(self.names) // 100)  # cells of wide tables are parsed a few records at a time
        parsed = self.parsed([places[name] for name in names], block)
        below = chain([next(parsed).slice(1)], parsed)
        named = (self._without_codes(piece.rename_columns(list(names))) for piece in below)
        yield from in_rows(map(self._with_one_missing, map(self._recoded, named)), rows)

    def _with_one_missing(self, piece: pa.Table) -> pa.Table:
        """Spell missing values of strata alike."""
        for name in ({*self.strata} & {*piece.column_names}) - {*self.recode}:
            cells = one_chunk(piece.column(name))
            cells = with_one_missing(cells, self.typed(cells, name), self.dialect.missing)
            piece = piece.set_column(piece.column_names.index(name), name, cells)
        return piece

    def _recoded(self, piece: pa.Table) -> pa.Table:
        """Replace the cells of recoded columns by the names of their classes."""
        for name in {*self.recode} & {*piece.column_names}:
            values = pa.table({name: self._as_read(one_chunk(piece.column(name)), name)})
            cells = decoded(recoded(Table(values), name, self.recode[name]))
            piece = piece.set_column(piece.column_names.index(name), name, cells)
        return piece

    def _without_codes(self, piece: pa.Table) -> pa.Table:
        """Empty the cells whose values, or texts where a column has no type, are codes for a missing value."""
        for name in {*self.codes} & {*piece.column_names}:
            cells = one_chunk(piece.column(name))
            known = blank(cells, is_code(self._as_read(cells, name), name, self.codes[name]))
            piece = piece.set_column(piece.column_names.index(name), name, known)
        return piece

    def parsed(self, columns: Sequence[int], block: int) -> Iterator[pa.Table]:
        """Parse some columns block by block, header and all; the columns are named by their places."""
        width, done = len(self.names), 0
        places = [str(i) for i in range(width)]
        parsing, ragged = cutting(self.dialect, width)
        converting = pacsv.ConvertOptions(
            column_types=dict.fromkeys(places, pa.string()),
            include_columns=[places[i] for i in columns],
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        # without threads, rows of another width come with their number
        reading = pacsv.ReadOptions(column_names=places, use_threads=False, block_size=block, encoding=self.encoding)
        try:
            with self.path.open("rb") as file:
                for batch in pacsv.open_csv(file, reading, parsing, converting):
                    refuse_ragged(ragged, self.path, width)
                    yield pa.Table.from_batches([batch])
                    done += batch.num_rows
        except pa.ArrowInvalid:
            refuse_ragged(ragged, self.path, width)
            if block > 4 * self.path.stat().st_size:  # of UTF-8, at most so many bytes
                raise FileError("cells-not-found", path=str(self.path)) from None
        except OSError as error:
            raise FileError("file-not-readable", path=str(self.path), reason=in_words(error)) from None
        else:
            refuse_ragged(ragged, self.path, width)
            return
        for piece in self.parsed(columns, 8 * block):  # a record is longer than a block
            if piece.num_rows > done:
                yield piece.slice(done)
            done = max(0, done - piece.num_rows)


def open_csv(path: Path, csv: Csv) -> CsvSource:
    """Open a CSV file; how it is written shows in its first four megabytes, unless it is given."""
    check_options(csv)
    encoding = find_encoding(path, csv.encoding)
    blocks = partial(utf8_blocks, path, encoding)
    head = _head(path, encoding)
    dialect = find_dialect(head, csv, blocks)
    refuse_stray_quotes(blocks, dialect, path)
    width = len(header_of(io.TextIOWrapper(io.BytesIO(head), encoding="utf-8", newline=""), dialect, path))
    records = max(1, path.stat().st_size * max(1, head.count(b"\n") - 1) // len(head))
    source = CsvSource(path, dialect, [""] * width, records, encoding=encoding)
    parsed = source.parsed(range(width), _PIECE)
    first = next(parsed)
    names = with_row_names([column[0].as_py() or "" for column in first.columns])
    check_names(names, f"'{path}'")
    first = first.slice(1) if first.num_rows > 1 else next(parsed, first.slice(1))
    if not first.num_rows:
        raise DataError("no-records", path=str(path))
    source = replace(source, names=names)
    decimal = csv.decimal or "."
    if csv.decimal is None and dialect.delimiter != "," and any(b"," in block for block in blocks()):
        decimal = find_decimal(source.pieces(names, _ROWS))
    cells = (without_words(one_chunk(column), csv.missing) for column in first.columns)
    refuse_record_as_header(zip(names, cells, strict=True), decimal, path)
    return replace(source, dialect=replace(dialect, decimal=decimal))


def _head(path: Path, encoding: str) -> bytes:
    """Read the start of a file, cut between records as far as that can be seen."""
    head = next(utf8_blocks(path, encoding, _HEAD))
    if not head.strip():
        raise DataError("empty-file", path=str(path))
    if path.stat().st_size <= _HEAD:
        return head
    return head[: end_of_records(head) or len(head)]


def read_csv(path: Path, csv: Csv) -> Table:
    """Read a CSV file whose first row is the header."""
    source = open_csv(path, csv)
    dialect = source.dialect
    texts = pa.concat_tables(source.texts(source.names, _ROWS))
    looks = {name: _look(texts.column(name), dialect) for name in source.names}
    types = {name: found.type for name, found in looks.items() if found.type not in (None, pa.string())}
    source = replace(source, types=types)
    columns = {name: one_chunk(texts.column(name)) for name in source.names}
    values = {name: source.typed(cells, name) for name, cells in columns.items()}
    return Table(
        native=pa.table(values),
        dialect=dialect,
        # integers without a sign or zeros in front are spelt in one way only; keeping others costs less than comparing
        spelling={name: cells for name, cells in columns.items() if not _is_plain(values[name], cells, dialect)},
        spoiled={name: found.first_text or 1 for name, found in looks.items() if found.is_spoiled},
    )


def _look(column: ChunkedArray, dialect: Dialect) -> Look:
    starts = accumulate(map(len, column.chunks), initial=0)
    pieces = (
        (start, without_words(cells, dialect.missing)) for start, cells in zip(starts, column.chunks, strict=False)
    )
    return together(look(cells, dialect.decimal, start) for start, cells in pieces)


def _is_plain(values: Array, cells: Array, dialect: Dialect) -> bool:
    """Whether the text of the cells follows from their values."""
    if dialect.missing and values.null_count:
        return False  # a missing value may be a word or an empty cell
    return values is cells or (pa.types.is_integer(values.type) and values.cast(cells.type).equals(cells))

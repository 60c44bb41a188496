"""Where the records come from: a Parquet file, a folder of them, an Arrow file; read in pieces, again and again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from shoal.errors import DataError, FileError
from shoal.plan import Csv
from shoal.tables.atomic import no_such_file
from shoal.tables.dataframes import check_names
from shoal.tables.declared_codes import Codes, piece_without_codes
from shoal.tables.files import kind_of, readable, refuse_csv_options, refuse_endless, undamaged
from shoal.tables.recoding import Recode, recoded_piece, recoded_schema
from shoal.tables.storage import Kind

_BUFFER = 1 << 20  # bytes of a column that are read at a time
STREAMED: tuple[Kind, ...] = ("parquet", "arrow", "csv")


class Source(Protocol):
    """A table that is read in pieces; it may be larger than memory."""

    @property
    def kind(self) -> Kind:
        """Of the file."""

    @property
    def files(self) -> list[Path]:
        """The files that it lies in."""

    @property
    def schema(self) -> pa.Schema:
        """Of the pieces."""

    @property
    def records(self) -> int:
        """How many records there are; of a CSV file, about how many."""

    def pieces(self, names: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns, so many records at a time, in the order of the file."""


@dataclass(frozen=True)
class ArrowSource:
    """Parquet or Arrow files: a column has one type for all records."""

    kind: Kind
    files: list[Path]
    schema: pa.Schema
    records: int
    codes: Codes = field(default_factory=dict)  # that stand for missing values
    recode: Recode = field(default_factory=dict)  # see `shoal.tables.recoding`; the schema is that of recoded columns

    def pieces(self, names: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read some columns, so many records at a time, in the order of the file."""
        read = _parquet_batches if self.kind == "parquet" else _arrow_batches
        batches = (batch for path in self.files for batch in read(path, names, rows))
        seen = (recoded_piece(piece_without_codes(batch, self.codes), self.recode) for batch in batches)
        return in_rows(seen, rows)


def open_parquet(path: Path) -> ArrowSource:
    """Open a Parquet file, or all those in a folder, in the order of their names; hidden ones are left out."""
    import pyarrow.parquet as pq  # in functions: slow to load, and a CSV file does not need it

    files = _in_folder(path) if path.is_dir() else [path]
    schemas, records = [], 0
    for file in files:
        with undamaged(file, "Parquet"), file.open("rb") as handle:
            opened = pq.ParquetFile(handle)
            schemas.append(opened.schema_arrow)
            records += opened.metadata.num_rows
    for file, schema in zip(files, schemas, strict=True):
        if not schema.equals(schemas[0]):
            raise DataError("files-differ", path=str(file), other=str(files[0]))
    return _with_records(ArrowSource("parquet", files, schemas[0], records), path)


def open_arrow(path: Path) -> ArrowSource:
    """Open an Arrow file; the stream format tells nothing of the records to come, and is refused."""
    with undamaged(path, "Arrow"), pa.OSFile(str(path), "rb") as file:
        if file.read(6) != b"ARROW1":
            raise FileError("arrow-stream", path=str(path))
        file.seek(0)
        reader = pa.ipc.open_file(file)
        records = sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))
        return _with_records(ArrowSource("arrow", [path], reader.schema, records), path)


def _with_records(source: ArrowSource, path: Path) -> ArrowSource:
    check_names(source.schema.names, f"'{path}'")
    if not source.records:
        raise DataError("no-records", path=str(path))
    return source


def _in_folder(path: Path) -> list[Path]:
    files = sorted(file for file in path.iterdir() if file.name[0] not in "._")
    for file in files:
        if file.is_dir() or file.suffix.lower() != ".parquet":
            raise FileError("other-file-in-folder", path=str(path), name=file.name)
    if not files:
        raise FileError("no-parquet-file", path=str(path))
    return files


def readable_kind(path: Path) -> Kind:
    """Find the kind of an input that can be read in pieces."""
    if not path.exists():
        raise no_such_file(path)
    kind = "parquet" if path.is_dir() else kind_of(path)
    if not path.is_dir():
        refuse_endless(path)
    if kind not in STREAMED:
        raise FileError("not-in-pieces", path=str(path))
    return kind


def open_source(path: Path, csv: Csv | None, codes: Codes | None = None) -> Source:
    """Open a table that is read in pieces; files of a folder must have the same columns and types.

    `codes` are those that stand for missing values.
    """
    from shoal.tables.csv.pieces import open_csv

    kind = readable_kind(path)
    if kind == "csv":
        with readable(path):
            return replace(open_csv(path, csv or Csv()), codes=codes or {})
    refuse_csv_options(csv or Csv())
    return replace(open_parquet(path) if kind == "parquet" else open_arrow(path), codes=codes or {})


def recoded_source(source: Source, recode: Recode) -> Source:
    """Return a table whose pieces are recoded."""
    if isinstance(source, ArrowSource):
        return replace(source, recode=recode, schema=recoded_schema(source.schema, recode))
    return replace(source, recode=recode)  # type: ignore[type-var] # a CSV file


def _parquet_batches(path: Path, names: Sequence[str], rows: int) -> Iterator[pa.Table]:
    import pyarrow.parquet as pq

    with undamaged(path, "Parquet"), path.open("rb") as file:
        # it would read all row groups ahead, and keep them
        opened = pq.ParquetFile(file, page_checksum_verification=True, pre_buffer=False, buffer_size=_BUFFER)
        yield from _checked(opened.iter_batches(rows, columns=list(names)), names)


def _arrow_batches(path: Path, names: Sequence[str], rows: int) -> Iterator[pa.Table]:
    with undamaged(path, "Arrow"), pa.OSFile(str(path), "rb") as file:
        reader = pa.ipc.open_file(file)
        yield from _checked((reader.get_batch(i) for i in range(reader.num_record_batches)), names)


def _checked(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.Table]:
    for batch in batches:
        table = pa.Table.from_batches([batch]).select(list(names))
        table.validate(full=True)
        yield table


def in_rows(batches: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Cut a stream into pieces of so many records; the last may have fewer."""
    waiting: list[pa.Table] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        while count >= rows:
            joined = pa.concat_tables(waiting)
            yield joined.slice(0, rows)
            waiting, count = [joined.slice(rows)], count - rows
    if count:
        yield pa.concat_tables(waiting)


def counted_off(pieces: Iterable[pa.Table], seen: Callable[[int], None]) -> Iterator[tuple[int, pa.Table]]:
    """Yield pieces with the number of records before each, and report how many are done."""
    before = 0
    for piece in pieces:
        yield before, piece
        before += piece.num_rows
        seen(before)

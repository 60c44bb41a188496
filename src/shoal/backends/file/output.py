"""The release as a file, written piece by piece: Parquet, Arrow or CSV."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.aggregation import Rescaling
from shoal.errors import DataError
from shoal.kernels.standardize import Matrix
from shoal.pipeline.masker import BlockMasker
from shoal.tables import Table
from shoal.tables.arrow import Array, pc
from shoal.tables.csv.dialect import Dialect
from shoal.tables.csv.formulas import formulas_in, with_apostrophes
from shoal.tables.csv.pieces import CsvSource
from shoal.tables.csv.writing import csv_lines, refuse_misread, with_word
from shoal.tables.dataframes import masked_field, rebuild
from shoal.tables.dtypes import has_text, inner, is_text
from shoal.tables.levels import InUse, has_levels, keep_in_arrow, used_in_arrow
from shoal.tables.stat.labels import labels_of, with_labels
from shoal.tables.storage import Kind, plain_dictionaries
from shoal.tables.stream_reading import Source
from shoal.tables.text_values import decoded, one_chunk

Write = Callable[[pa.Table], None]


def published_schema(source: Source, masker: BlockMasker) -> pa.Schema:
    """Return the columns that are published: identifiers are gone, masked attributes have their types."""
    masked: dict[str, Array] = {name: pa.array([], type_) for name, type_ in masker.types.items()}
    if masker.plan.pseudonym is not None:
        masked[masker.plan.pseudonym] = pa.array([], pa.int64())
    return used_in_arrow(rebuild(source.schema.empty_table(), masked, masker.plan.dropped)).schema


def originals(source: Source, kind: Kind, names: list[str], rows: int) -> Iterator[pa.Table]:
    """Read the original once more; from CSV to CSV as it is spelt, so that what is not masked stays as it is."""
    if isinstance(source, CsvSource) and kind == "csv":
        return source.texts(names, rows)
    return source.pieces(names, rows)


def release_pieces(
    pieces: Iterator[pa.Table],
    published: Iterator[tuple[Matrix, NDArray[np.bool_]]],
    masker: BlockMasker,
    rescaled: Mapping[str, Rescaling],
    schema: pa.Schema,
    source: Source,
) -> Iterator[pa.Table]:
    """Replace original values by published ones, piece by piece.

    Parameters
    ----------
    pieces, published
        The columns of the schema, of which some are replaced; and the codes that are published, with which records are
        left in.
    masker, rescaled
        Of the release.
    schema
        Of the columns that are wanted.
    source
        Of the pieces.
    """
    for piece, (codes, there) in zip(pieces, published, strict=True):
        if not there.any():
            continue
        piece = piece if there.all() else keep_in_arrow(piece, there)
        columns = {**masker.decode(codes, rescaled), **_pseudonyms(piece, masker, source)}
        arrays = [columns.get(name, one_chunk(piece.column(name))) for name in schema.names]
        fields = [field.with_type(array.type) for field, array in zip(schema, arrays, strict=True)]
        yield pa.table(arrays, schema=pa.schema(fields))


def _pseudonyms(piece: pa.Table, masker: BlockMasker, source: Source) -> dict[str, Array]:
    """Return the pseudonyms of the units in a piece, if these get any; a unit of a CSV file comes as text."""
    name = masker.plan.pseudonym
    if name is None or name not in piece.column_names:
        return {}
    column = one_chunk(piece.column(name))
    if isinstance(source, CsvSource) and is_text(column.type):
        column = source.typed(column, name)
    return masker.pseudonyms(Table(pa.table({name: column})))


def write_release(
    path: Path,
    kind: Kind,
    dialect: Dialect,
    source: Source,
    masker: BlockMasker,
    pieces: Callable[[pa.Schema], Iterator[pa.Table]],
) -> dict[str, int]:
    """Write a release to a private file; returns how many cells of each column of a CSV file look like formulas.

    Parameters
    ----------
    path, kind, dialect
        The file.
    source, masker
        Where the records come from, and how they were masked.
    pieces
        Returns columns of the release. Those that list values beside those of their records, as categories and value
        labels do, are looked at twice, because a file has its lists before its records.
    """
    schema = published_schema(source, masker)
    masked = [*masker.plan.changed, *masker.plan.recode, *filter(None, [masker.plan.pseudonym])]
    if kind == "csv":
        formulas: Counter[str] = Counter()
        with _written(path, kind, schema, masked, dialect) as write:
            for piece in pieces(schema):
                formulas.update(formulas_in(piece, dialect))
                write(piece)
        return dict(formulas)
    noted = {name: source.schema.field(name) for name in schema.names}
    labels = {name: labels_of(masked_field(field) if name in masked else field) for name, field in noted.items()}
    schema = pa.schema([with_labels(field, labels[field.name]) for field in schema]).with_metadata(schema.metadata)
    in_use = InUse()
    if listed := [field for field in schema if has_levels(field)]:
        for piece in pieces(pa.schema(listed)):
            in_use.see(piece)
    fields = [with_labels(field, in_use.labels(field.name) or labels[field.name]) for field in schema]
    orders = {each.name: each.order for each in masker.changed}
    with _written(path, kind, pa.schema(fields).with_metadata(schema.metadata), masked, dialect) as write:
        for piece in pieces(schema):
            write(_in_use_alone(piece, in_use, orders))
    return {}


def _in_use_alone(piece: pa.Table, in_use: InUse, orders: Mapping[str, Array]) -> pa.Table:
    """Leave nothing in a piece that no record has; all pieces of a column have the same dictionary."""
    alone = used_in_arrow(piece)
    for at, name in enumerate(piece.column_names):
        column = one_chunk(piece.column(at))
        if isinstance(column, pa.DictionaryArray):
            levels = in_use.levels(name, orders.get(name))
            alone = alone.set_column(at, alone.schema.field(at), _in_one_dictionary(column, levels))
    return alone


def _in_one_dictionary(column: Array, levels: Array) -> Array:
    """Unify the dictionaries of all pieces of a column."""
    kind: Any = column.type
    places = pc.index_in(decoded(column), value_set=levels).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(places, levels, ordered=kind.ordered)


@contextmanager
def _written(path: Path, kind: Kind, schema: pa.Schema, masked: list[str], dialect: Dialect) -> Iterator[Write]:
    """Yield what writes pieces of a release to a private file, which is complete afterwards."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        if kind == "parquet":
            schema = plain_dictionaries(schema.empty_table()).schema
            _refuse_unheld(schema)
            with pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as parquet:
                yield lambda piece: parquet.write_table(plain_dictionaries(piece).cast(schema), max(1, len(piece)))
        elif kind == "arrow":
            options = pa.ipc.IpcWriteOptions(compression="zstd")
            with pa.ipc.new_file(file, schema, options=options) as arrow:
                yield lambda piece: _write_arrow(arrow, piece.cast(schema))
        else:
            yield _csv_writer(file, schema, masked, dialect)


def _refuse_unheld(schema: pa.Schema) -> None:
    for field in schema:
        try:
            pq.write_table(pa.schema([field]).empty_table(), pa.BufferOutputStream())
        except pa.ArrowException:
            kind = str(field.type)
            raise DataError("type-not-for-format", column=field.name, type=kind, format="Parquet") from None


def _write_arrow(writer: pa.ipc.RecordBatchFileWriter, piece: pa.Table) -> None:
    try:
        writer.write_table(piece.combine_chunks())
    except pa.ArrowInvalid:  # a file has one dictionary for all its batches
        raise DataError("categories-differ") from None


def _csv_writer(file: BinaryIO, schema: pa.Schema, masked: list[str], dialect: Dialect) -> Write:
    for field in schema:
        if not has_text(field.type):
            kind = str(inner(field.type))
            raise DataError("type-not-for-format", column=field.name, type=kind, format="CSV", instead="Parquet")
    file.write(csv_lines([pa.array([name]) for name in schema.names], dialect))
    records = 0

    def write(piece: pa.Table) -> None:
        nonlocal records
        columns = []
        for name in schema.names:
            column = one_chunk(piece.column(name))
            refuse_misread(column, name, dialect.decimal, records)
            if dialect.quotes_formulas:
                column = with_apostrophes(column, dialect.missing)
            columns.append(with_word(column, name, dialect) if name in masked else column)
        file.write(csv_lines(columns, dialect))
        records += len(piece)

    return write

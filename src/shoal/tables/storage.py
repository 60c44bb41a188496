"""What becomes of a table in a file: the types and values that are found when it is read again, and what is lost."""

from typing import Literal, get_args

import pyarrow as pa

from shoal.messages import Message
from shoal.tables.dtypes import inner, is_number, is_text
from shoal.tables.stat.labels import labels_of
from shoal.tables.stat.limits import StatisticsKind, held, held_type
from shoal.tables.stat.limits import unkept as unkept_labels
from shoal.tables.text_values import decoded, one_chunk

Kind = Literal["csv", "parquet", "arrow", "sav", "zsav", "por", "dta", "xpt", "sas7bdat", "excel", "xml"]

STATISTICS: frozenset[StatisticsKind] = frozenset(get_args(StatisticsKind))
_TITLES: dict[Kind, str] = {"csv": "CSV", "excel": "Excel", "xml": "XML"}


def stored_type(kind: Kind, type_: pa.DataType) -> pa.DataType:
    """Return the type that a column has after it was written to a file of this kind and read again.

    Of the kinds that hold text only, CSV and XML, this is the type that the text of such values is taken for.
    """
    if kind in STATISTICS:
        return held_type(kind, type_)
    if kind == "arrow":
        return type_
    if kind == "parquet":
        return _in_parquet(type_)
    return _in_cells(kind, inner(type_))


def _in_parquet(type_: pa.DataType) -> pa.DataType:
    """Ask Parquet itself, which changes some units of time."""
    import pyarrow.parquet as pq  # in functions: slow to load, and other kinds of files do not need it

    buffer = pa.BufferOutputStream()
    pq.write_table(plain_dictionaries(pa.schema([("x", type_)]).empty_table()), buffer)
    found: pa.DataType = pq.read_schema(pa.BufferReader(buffer.getvalue())).field(0).type
    return found


def plain_dictionaries(table: pa.Table) -> pa.Table:
    """Decode what Parquet has no type for: dictionaries of anything but text would lose theirs, as would runs."""
    for at, field in enumerate(table.schema):
        if inner(field.type) != field.type and not is_text(inner(field.type)):
            column = decoded(one_chunk(table.column(at)))
            table = table.set_column(at, field.with_type(column.type), column)
    return table


def _in_cells(kind: Kind, type_: pa.DataType) -> pa.DataType:
    """Return the type of the cells of a CSV file, a workbook or an XML file."""
    if pa.types.is_integer(type_):
        return pa.int64()
    if is_number(type_):
        return pa.float64()
    if pa.types.is_boolean(type_):
        return pa.bool_()
    if pa.types.is_date(type_):
        return pa.date32()
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", "UTC" if type_.tz is not None and kind != "excel" else None)
    if kind == "excel" and pa.types.is_time(type_):
        return pa.time64("us")
    if kind == "excel" and pa.types.is_duration(type_):
        return pa.duration("us")
    return pa.string()


def stored(table: pa.Table, kind: Kind) -> pa.Table:
    """Return a table with the values that a file of this kind has for them, to compare a file with.

    Statistics packages have numbers for booleans and categories and no empty texts, for example. Other kinds of files
    give the values themselves, or their text.
    """
    return held(table, kind) if kind in STATISTICS else table


def unkept(table: pa.Table, kind: Kind) -> list[Message]:
    """List what a file of this kind cannot keep of what statistics packages note on columns."""
    if kind in STATISTICS:
        return unkept_labels(table, kind)
    if kind in ("parquet", "arrow"):
        return []
    noted = {field.name: labels_of(field) for field in table.schema}
    labelled = [name for name, labels in noted.items() if labels.label or labels.values or labels.missing]
    return [Message("labels-lost", format=_TITLES[kind], columns=labelled)] if labelled else []

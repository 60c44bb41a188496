"""Global recoding of columns where a table is read: whatever comes after sees the classes, and nothing else.

Numbers and dates become an ordered categorical column, of which a class holds the values from its lower cut point on
and below the next. Levels of categories that are not named stay as they are, as text.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, PlanError
from shoal.messages import Message
from shoal.plan import Plan
from shoal.plan.recoding import Cuts, Levels, classes_of, is_dated
from shoal.tables.arrow import Array, pc
from shoal.tables.attributes import has_categories, moments_of, without_declared
from shoal.tables.dataframes import is_pandas_dataframe, rebuild
from shoal.tables.declared_codes import is_code
from shoal.tables.dtypes import inner, is_number
from shoal.tables.numbers import not_a_number, stored_as_text
from shoal.tables.stat.labels import Labels, with_labels
from shoal.tables.table import Table
from shoal.tables.text_values import decoded, without_views

Recode = Mapping[str, Any]  # for each column its cut points, or the old levels of each new one
_CLASSES = pa.dictionary(pa.int32(), pa.string(), ordered=True)
_EPOCH = datetime(1970, 1, 1)
_UNITS = {"s": 10**6, "ms": 10**3, "us": 1}  # microseconds in a unit


def recoded_type(recoding: Cuts | Levels) -> pa.DataType:
    """Return the type of a recoded column."""
    return pa.string() if isinstance(recoding, Mapping) else _CLASSES


def refuse_unsuited(table: Table, plan: Plan) -> None:
    """Refuse to recode columns that are not of a suitable type; `table` may be a stand-in without records.

    Raises
    ------
    PlanError, DataError
        All mistakes at once; a word among numbers comes with its record.
    """
    problems: list[Message] = []
    for name, recoding in plan.recode.items():
        if name not in table.names:
            continue  # reported with all other names
        if not isinstance(recoding, Mapping) and name in table.spoiled:
            raise DataError(not_a_number(name, table.spoiled[name]))
        if not isinstance(recoding, Mapping) and name in table.disguised:
            raise DataError(stored_as_text(name))
        kind = inner(table.column(name).type)
        problem = _not_levels(table, name, plan) if isinstance(recoding, Mapping) else _not_cut(name, kind, recoding)
        problems += [problem] if problem else []
    if problems:
        raise PlanError(*problems)


def _not_cut(name: str, kind: pa.DataType, cuts: Cuts) -> Message | None:
    """Explain why a column cannot be divided by cut points; None if it can."""
    if pa.types.is_null(kind) or (is_number(kind) and not is_dated(cuts)):
        return None
    if is_number(kind):
        return Message("cuts-of-other-type", field="recode", column=name, content="numbers")
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return Message("neither-numbers-nor-dates", field="recode", column=name)
    if getattr(kind, "tz", None) is not None:
        return Message("cuts-with-time-zone", field="recode", column=name)
    if is_dated(cuts):
        return None
    return Message("cuts-of-other-type", field="recode", column=name, content="dates", example="2000-01-31")


def _not_levels(table: Table, name: str, plan: Plan) -> Message | None:
    """Explain why the levels of a column cannot be joined as asked; None if they can."""
    kind = table.column(name).type
    if not has_categories(inner(kind)) and not pa.types.is_null(kind):
        return Message("type-without-levels", field="recode", column=name, type=str(kind))
    ordered = table.labels(name).measure == "ordinal" or (isinstance(kind, pa.DictionaryType) and kind.ordered)
    if ordered and name in plan.masked and name not in plan.levels and plan.types.get(name) != "nominal":
        return Message("recoded-order-not-known", field="recode", column=name)
    return None


def recoded(table: Table, name: str, recoding: Cuts | Levels) -> Array:
    """Return a column recoded; what is missing, or declared to be, stays missing."""
    values = decoded(without_declared(table, name))
    if pa.types.is_null(values.type):
        nothing: Any = pa.nulls
        return cast("Array", nothing(len(values), recoded_type(recoding)))
    return _joined(values, name, recoding) if isinstance(recoding, Mapping) else _cut(values, recoding)


def as_recoded(cells: Array, recoding: Cuts | Levels) -> Array:
    """Return the names of classes or levels as the column that they were taken from."""
    if isinstance(recoding, Mapping):
        return cells.cast(pa.string())
    names = pa.array(classes_of(recoding), pa.string())
    places = pc.index_in(cells.cast(pa.string()), value_set=names)
    return pa.DictionaryArray.from_arrays(places, names, ordered=True)


def _cut(values: Array, cuts: Cuts) -> Array:
    """Divide numbers or dates into classes."""
    missing = values.is_null().to_numpy(zero_copy_only=False)
    edges, numbers = _comparable(values, cuts)
    places = np.searchsorted(edges, numbers, side="right").astype(np.int32)
    indices: Any = pa.array(places, mask=missing)
    return pa.DictionaryArray.from_arrays(indices, pa.array(classes_of(cuts), pa.string()), ordered=True)


def _comparable(values: Array, cuts: Cuts) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return cut points and values as numbers of one type; cut points of single floats are single floats too."""
    kind: Any = values.type
    if is_number(kind):
        single = pa.types.is_float32(kind) or pa.types.is_float16(kind)
        floats = values.cast(pa.float64(), safe=False).fill_null(0.0)
        edges = np.array(cuts, np.float64)
        return edges.astype(np.float32).astype(np.float64) if single else edges, floats.to_numpy(zero_copy_only=False)
    units = moments_of(values).fill_null(0).to_numpy(zero_copy_only=False)
    return np.array([_units_until(str(cut), kind) for cut in cuts], np.int64), units


def _units_until(cut: str, kind: Any) -> int:
    """Return the first moment of a column, in its units, that is not before a cut point."""
    since = datetime.fromisoformat(cut) - _EPOCH
    micros = (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        bounds = np.iinfo(np.int64)
        return max(bounds.min, min(bounds.max, 1000 * micros))
    unit = 86_400 * 10**6 if pa.types.is_date32(kind) else _UNITS["ms" if pa.types.is_date64(kind) else kind.unit]
    return -(-micros // unit)


def _joined(values: Array, name: str, levels: Levels) -> Array:
    """Replace old levels by new ones; others stay, as text."""
    found: Any = values.dictionary_encode()
    old = without_views(found.dictionary)
    new = _as_text(old)
    for level, replaced in levels.items():
        new = pc.if_else(is_code(old, name, replaced, "recode"), pa.scalar(level, pa.string()), new)
    return new.take(found.indices)


def _as_text(levels: Array) -> Array:
    """Return levels as text; whole numbers have no decimals, however they are stored."""
    if pa.types.is_floating(levels.type):
        whole = pc.and_(pc.equal(pc.floor(levels), levels), pc.less(pc.abs(levels), pa.scalar(2.0**63, levels.type)))
        numbers = pc.if_else(whole, levels, pa.scalar(None, levels.type)).cast(pa.int64(), safe=False)
        return cast("Array", pc.coalesce(numbers.cast(pa.string()), levels.cast(pa.string())))
    return levels.cast(pa.string())


def recoded_piece(piece: pa.Table, recode: Recode) -> pa.Table:
    """Return some records with columns recoded."""
    here = [name for name in piece.column_names if name in recode]
    columns = {name: recoded(Table(piece), name, recode[name]) for name in here}
    return _replaced(piece, columns) if columns else piece


def recoded_schema(schema: pa.Schema, recode: Recode) -> pa.Schema:
    """Return the schema of a table whose columns are recoded."""
    nothing: Any = pa.nulls
    here = {name: nothing(0, recoded_type(each)) for name, each in recode.items() if name in schema.names}
    return _replaced(schema.empty_table(), here).schema if here else schema


def _replaced(table: pa.Table, columns: Mapping[str, Array]) -> pa.Table:
    """Put columns in the place of others, without what statistics packages and pandas noted on these."""
    bare = [with_labels(each, Labels()).with_nullable(True) if each.name in columns else each for each in table.schema]
    schema = pa.schema(bare).with_metadata(table.schema.metadata)
    plain = pa.Table.from_arrays(table.columns, schema=schema)
    return cast("pa.Table", rebuild(plain, columns, ()))


def recoded_table(table: Table, plan: Plan) -> Table:
    """Return a table with columns recoded as the plan says."""
    here = {name: each for name, each in plan.recode.items() if name in table.names}
    if not here:
        return table
    refuse_unsuited(table, plan)
    columns = {name: recoded(table, name, each) for name, each in here.items()}
    return replace(
        table,
        native=_in_frame(table.native, columns),
        spelling={name: text for name, text in table.spelling.items() if name not in here},
        spoiled={name: record for name, record in table.spoiled.items() if name not in here},
        disguised=[name for name in table.disguised if name not in here],
    )


def _in_frame(native: Any, columns: Mapping[str, Array]) -> Any:
    """Put columns into a dataframe of any kind in the place of others."""
    if isinstance(native, pa.Table):
        return _replaced(native, columns)
    if is_pandas_dataframe(native):
        return native.assign(**{name: column.to_pandas().array for name, column in columns.items()})
    import narwhals as nw

    frame = nw.from_native(native, eager_only=True)
    new = nw.from_arrow(pa.table(dict(columns)), backend=frame.implementation)
    return frame.with_columns(*(_in_order(new[name], column) for name, column in columns.items())).to_native()


def _in_order(series: Any, column: Array) -> Any:
    """Return classes with their order, where the kind of dataframe has a type for it."""
    import narwhals as nw

    if not isinstance(column, pa.DictionaryArray) or not series.implementation.is_polars():
        return series
    return series.cast(nw.String).cast(nw.Enum(map(str, column.dictionary.to_pylist())))

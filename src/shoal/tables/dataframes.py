"""Dataframes in memory: pandas, Polars, PyArrow, whatever narwhals knows, and anything that streams Arrow."""

import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.messages import Message
from shoal.tables.arrow import Array
from shoal.tables.dtypes import is_text
from shoal.tables.levels import keep_in_arrow, used_in_arrow, used_in_pandas, used_in_polars
from shoal.tables.stat.labels import labels_of, with_labels
from shoal.tables.text_values import decoded, one_chunk

# Functions load narwhals themselves: files are tables of Arrow, which do not need it.
if TYPE_CHECKING:
    import narwhals as nw

# Arrow's types and what pandas calls its own that can miss values
_NULLABLE = {
    f"{sign}int{bits}": f"{sign}int{bits}".replace("u", "U").replace("i", "I")
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
_NULLABLE |= {"float": "Float32", "double": "Float64", "bool": "boolean"}
ROW_NAMES = "row_names"  # of a first column without a name


def is_pandas_dataframe(native: Any) -> bool:
    """Whether a table is a dataframe of pandas, without loading pandas to find out."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(native, pandas.DataFrame)


def adopt(source: Any) -> Any:
    """Check a dataframe and return it, or a PyArrow table of what it streams."""
    import narwhals as nw

    if nw.dependencies.is_polars_lazyframe(source):
        raise DataError("lazy-frame")
    native = source if is_pandas_dataframe(source) or isinstance(source, pa.Table) else _eager(source)
    check_names(list(native.column_names if isinstance(native, pa.Table) else native.columns), "The table")
    if not len(native):
        raise DataError("no-records", table="the table")
    return native


def with_row_names(names: Sequence[Any]) -> list[Any]:
    """Name a first column without a name, as R and pandas write row names, if all others have names."""
    first, *others = names
    is_bare = isinstance(first, str) and not first.strip()
    return [ROW_NAMES, *others] if is_bare and others and all(others) and ROW_NAMES not in others else list(names)


def check_names(names: Sequence[Any], table: str) -> None:
    """Refuse names that are no text, empty, or there twice; messages call the data `table`."""
    if not names:
        raise DataError("no-columns", table=table)
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise DataError("column-name-type", position=position, table=table, type=type(name).__name__)
        if not name.strip():
            raise DataError("column-without-name", position=position, table=table)
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise DataError("column-names-repeat", columns=twice, table=table)


def _eager(source: Any) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(source, eager_only=True).to_native()
    except TypeError:
        pass
    if not hasattr(source, "__arrow_c_stream__"):
        raise DataError("not-tabular", type=type(source).__name__, stream=False)
    try:
        return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError):
        raise DataError("not-tabular", type=type(source).__name__, stream=True) from None


def column_of(native: Any, name: str) -> Array:
    """Return a column of a dataframe as an Arrow array."""
    if isinstance(native, pa.Table):
        column = one_chunk(native.column(name))
        return decoded(column) if pa.types.is_run_end_encoded(column.type) else column
    import narwhals as nw

    series = nw.from_native(native, eager_only=True)[name]
    if series.dtype == nw.Object and not is_pandas_dataframe(native):
        raise DataError("python-objects", column=name)
    try:
        if str(native[name].dtype).startswith("Sparse"):
            return cast("Array", pa.array(native[name].to_numpy(), from_pandas=True))
        return one_chunk(series.to_arrow())
    except (pa.ArrowException, TypeError, OverflowError):
        raise DataError(_what_is_odd(native, name)) from None


def _what_is_odd(native: Any, name: str) -> Message:
    if is_pandas_dataframe(native) and native[name].dtype == object:
        return Message("mixed-types", column=name, record=first_odd_object(native, name))
    return Message("type-not-in-arrow", column=name, type=str(native[name].dtype))


def first_odd_object(native: Any, name: str) -> int | None:
    """Find the first record (from 1) that is no number in a column of objects at least half of which are numbers."""
    if not is_pandas_dataframe(native) or native[name].dtype != object:
        return None
    column = native[name]
    if not sys.modules["pandas"].api.types.infer_dtype(column).startswith("mixed"):
        return None
    present = column.notna().to_numpy()
    numbers = np.array([isinstance(value, Number) and not isinstance(value, bool) for value in column])
    odd = present & ~numbers
    if not odd.any() or 2 * np.sum(numbers & present) < np.sum(present):
        return None
    return int(np.argmax(odd)) + 1


def to_arrow(native: Any) -> pa.Table:
    """Return a dataframe as a PyArrow table; an index of pandas stays behind."""
    if isinstance(native, pa.Table):
        return native
    if is_pandas_dataframe(native):
        try:
            table = pa.Table.from_pandas(native, preserve_index=False)
            return table.replace_schema_metadata(_forget(table.schema.metadata, set()))
        except (pa.ArrowException, TypeError):
            pass  # one of the columns will explain what is wrong
    return pa.table({name: column_of(native, name) for name in native.columns})


def rebuild(
    native: Any, replace: Mapping[str, Array], drop: Sequence[str], keep: NDArray[np.bool_] | None = None
) -> Any:
    """Return a new dataframe of the same kind with some records, columns replaced in their place, and columns gone."""
    if keep is not None and keep.all():
        keep = None
    if isinstance(native, pa.Table):
        return _rebuild_arrow(native, replace, drop, keep)
    if is_pandas_dataframe(native):
        return _rebuild_pandas(native, replace, drop, keep)
    import narwhals as nw

    frame = nw.from_native(native, eager_only=True)
    if keep is not None:
        frame = frame.filter(keep.tolist())
    if replace:
        new = nw.from_arrow(pa.table(dict(replace)), backend=frame.implementation)
        dtypes = frame.schema
        frame = frame.with_columns(*(_in_own_levels(new[name], dtypes[name]) for name in replace))
    # Not `drop`, in which Polars takes a name such as * for a pattern.
    return frame[[name for name in frame.columns if name not in drop]].to_native()


def only_used(native: Any) -> Any:
    """Return a dataframe of its own with the categories, value labels and notes of its records, and no others."""
    if isinstance(native, pa.Table):
        return used_in_arrow(native)
    if is_pandas_dataframe(native):
        return used_in_pandas(native.copy())
    import narwhals as nw

    return used_in_polars(native) if nw.dependencies.is_polars_dataframe(native) else native


def _in_own_levels(new: "nw.Series[Any]", old: "nw.dtypes.DType") -> "nw.Series[Any]":
    """Cast categories to the dtype that they had: an Enum keeps the order of its levels. Pseudonyms are numbers."""
    import narwhals as nw

    is_level = old in (nw.Enum, nw.Categorical) and not new.dtype.is_numeric()
    return new.cast(nw.String).cast(old) if is_level else new


def _rebuild_arrow(
    table: pa.Table, replace: Mapping[str, Array], drop: Sequence[str], keep: NDArray[np.bool_] | None
) -> pa.Table:
    if keep is not None:
        table = keep_in_arrow(table, keep)
    for name, values in replace.items():
        at = table.column_names.index(name)
        table = table.set_column(at, masked_field(table.schema.field(at)).with_type(values.type), values)
    metadata = _forget(table.schema.metadata, {*replace, *drop})
    return table.drop_columns(list(drop)).replace_schema_metadata(metadata)


def masked_field(field: "pa.Field[Any]") -> "pa.Field[Any]":
    """Forget which codes were declared to be missing: they are so now, and an average may be one of those numbers."""
    labels = labels_of(field)
    return with_labels(field, dataclasses.replace(labels, missing=())) if labels.missing else field


def _forget(metadata: dict[bytes, bytes] | None, names: set[str]) -> dict[bytes, bytes]:
    """Keep of what pandas noted what it needs to read the columns that are as they were.

    All else may hold anything, the original's records included.
    """
    try:
        notes = json.loads((metadata or {})[b"pandas"])
        known = {name: notes[name] for name in ("creator", "pandas_version") if name in notes}
        known["columns"] = [_named(column) for column in notes["columns"] if column["field_name"] not in names]
        known["column_indexes"] = [{**_named(column), "name": None} for column in notes["column_indexes"]]
        # by name: the description of a range counts the records of the original
        by_name = [index for index in notes["index_columns"] if isinstance(index, str)]
        known["index_columns"] = [index for index in by_name if index not in names]
    except (KeyError, TypeError, ValueError):
        return {}  # nothing of pandas, or nothing that pandas would understand
    return {b"pandas": json.dumps(known).encode()}


def _named(column: dict[str, Any]) -> dict[str, Any]:
    """Return the names and types that pandas noted of a column, without how many categories it had."""
    return {**{key: column[key] for key in ("name", "field_name", "pandas_type", "numpy_type")}, "metadata": None}


def _rebuild_pandas(
    frame: Any, replace: Mapping[str, Array], drop: Sequence[str], keep: NDArray[np.bool_] | None
) -> Any:
    rest = (frame if keep is None else frame.loc[keep]).drop(columns=list(drop)).reset_index(drop=True)
    rest.columns.name = None  # a note of the keeper, as the index is
    for name, values in replace.items():
        new = values.to_pandas(types_mapper=_family(frame, name))
        dtype = frame[name].dtype
        if is_text(values.type) and dtype != new.dtype:
            # A series, because pandas takes an array of objects that are texts for a column of texts.
            rest[name] = new.astype(dtype)
        else:
            rest[name] = new.array
    return rest


def _family(frame: Any, name: str) -> Callable[[pa.DataType], Any]:
    """Return what maps types of Arrow to dtypes of pandas in the family of a column: Arrow's, nullable or NumPy's."""
    pd = sys.modules["pandas"]
    dtype = frame[name].dtype
    if isinstance(dtype, pd.ArrowDtype):
        return cast("Callable[[pa.DataType], Any]", pd.ArrowDtype)
    if str(dtype) in _NULLABLE.values():
        return lambda kind: pd.api.types.pandas_dtype(_NULLABLE[str(kind)]) if str(kind) in _NULLABLE else None
    return lambda kind: None

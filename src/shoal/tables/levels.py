"""Records that are left out leave nothing behind: levels that are no longer used go, and so do their texts."""

from typing import Any, cast

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.tables.arrow import Array, ChunkedArray, pc
from shoal.tables.text_values import decoded, one_chunk


def keep_in_arrow(table: pa.Table, keep: NDArray[np.bool_]) -> pa.Table:
    """Leave records out of a PyArrow table; the levels that are left keep their order."""
    mask = pa.array(keep)
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        try:
            columns.append(_kept(column, mask))
        except pa.ArrowNotImplementedError:
            raise DataError(
                f"column '{field.name}' is of type {field.type}, from which Arrow cannot leave records out; "
                "convert it first"
            ) from None
    return pa.table(columns, schema=table.schema)


def keep_in_pandas(frame: Any, keep: NDArray[np.bool_]) -> Any:
    """Leave records out of a pandas frame; the levels that are left keep their order."""
    frame = frame.loc[keep].copy()
    if hasattr(frame.index, "remove_unused_levels"):
        frame.index = frame.index.remove_unused_levels()
    elif hasattr(frame.index, "remove_unused_categories"):
        frame.index = frame.index.remove_unused_categories()
    for name, dtype in frame.dtypes.items():
        if hasattr(dtype, "categories"):
            frame[name] = frame[name].cat.remove_unused_categories()
        elif isinstance(kind := getattr(dtype, "pyarrow_dtype", None), pa.DataType) and _has_levels(kind):
            array = one_chunk(pa.array(frame[name].array))
            frame[name] = type(frame[name].array)(pa.chunked_array([_used(array)]))
    return frame


def keep_in_polars(frame: Any, keep: NDArray[np.bool_]) -> Any:
    """Leave records out of a Polars frame; an Enum is one of the levels that are left, in their order."""
    pl = nw.get_native_namespace(frame)
    frame = frame.filter(pl.Series(keep, dtype=pl.Boolean))
    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.Enum):
            used = set(frame[name].cast(pl.String).unique())
            dtype = pl.Enum([level for level in dtype.categories if level in used])
        elif not isinstance(dtype, pl.Categorical):
            continue
        frame = frame.with_columns(pl.col(name).cast(pl.String).cast(dtype))
    return frame


def _kept(column: ChunkedArray, mask: Array) -> Array | ChunkedArray:
    kind: Any = column.type
    # Arrow cannot filter views; and those that it makes share what they look at with the records that are gone
    for is_view, whole in ((pa.types.is_string_view, pa.large_string()), (pa.types.is_binary_view, pa.large_binary())):
        if is_view(kind):
            return column.cast(whole).filter(mask).cast(kind)
    if pa.types.is_run_end_encoded(kind):
        return cast("Array", pc.run_end_encode(decoded(one_chunk(column)).filter(mask), kind.run_end_type))
    kept = column.filter(mask)
    return _used(one_chunk(kept)) if _has_levels(kind) else kept


def _has_levels(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        return True
    if isinstance(kind, pa.BaseExtensionType):
        return _has_levels(kind.storage_type)
    if pa.types.is_run_end_encoded(kind):
        return _has_levels(kind.value_type)
    return any(_has_levels(kind.field(i).type) for i in range(kind.num_fields))


def _used(values: Any) -> Array:
    """Encode dictionaries again with the levels in use, at any depth."""
    kind = values.type
    if isinstance(values, pa.DictionaryArray):
        used = np.unique(values.indices.drop_null().to_numpy(zero_copy_only=False))
        places = pc.index_in(values.indices, pa.array(used, kind.index_type)).cast(kind.index_type)
        levels = values.dictionary.take(pa.array(used, pa.int64()))
        return pa.DictionaryArray.from_arrays(places, levels, ordered=kind.ordered)
    if not _has_levels(kind):
        return cast("Array", values)
    if isinstance(values, pa.ExtensionArray):
        return cast("Array", pa.ExtensionArray.from_storage(kind, _used(values.storage)))
    if isinstance(values, pa.StructArray):
        fields = [_used(field) for field in values.flatten()]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=values.is_null())
    maker: Any = type(values)
    if isinstance(values, pa.MapArray):  # which PyArrow counts among the lists
        pairs: Any = values.view(pa.list_(pa.struct([kind.key_field, kind.item_field])))
        keys, items = (_used(field) for field in pairs.flatten().flatten())
        return cast("Array", maker.from_arrays(_offsets(pairs), keys, items, kind, mask=values.is_null()))
    if isinstance(values, pa.ListArray | pa.LargeListArray):
        return cast("Array", maker.from_arrays(_offsets(values), _used(values.flatten()), kind, mask=values.is_null()))
    # what is left is rare enough to go by way of Python
    return cast("Array", pa.array(values.to_pylist(), kind))


def _offsets(lists: Any) -> Array:
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    wide = pa.int64() if pa.types.is_large_list(lists.type) else pa.int32()
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), wide)

"""Nothing of those who are gone: categories, value labels and metadata are those of the records that are published."""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.messages import Message
from shoal.tables.arrow import Array, ChunkedArray, pc
from shoal.tables.stat.labels import Labels, joined_labels, labels_of, used_labels, with_labels
from shoal.tables.text_values import decoded, one_chunk


def keep_in_arrow(table: pa.Table, keep: NDArray[np.bool_]) -> pa.Table:
    """Leave records out of a PyArrow table."""
    mask = pa.array(keep)
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        try:
            columns.append(_kept(column, mask))
        except pa.ArrowNotImplementedError:
            raise DataError("type-not-filtered", column=field.name, type=str(field.type), what="records") from None
    return pa.table(columns, schema=table.schema)


def used_in_arrow(table: pa.Table) -> pa.Table:
    """Return a PyArrow table with the categories and value labels in use, in their order.

    Of the metadata of columns, at any depth, Shoal's own is kept.
    """
    fields, columns = [], []
    for field, chunks in zip(table.schema, table.columns, strict=True):
        try:
            column = _used(one_chunk(chunks)) if _has_levels(field.type) else _own_text(chunks)
        except pa.ArrowNotImplementedError:
            raise DataError("type-not-filtered", column=field.name, type=str(field.type), what="categories") from None
        labels = labels_of(field)
        if labels.values or labels.missing:
            labels = used_labels(labels, one_chunk(column))
        fields.append(with_labels(pa.field(field.name, _bare(field.type), field.nullable), labels))
        columns.append(column)
    return pa.table(columns, schema=pa.schema(fields).with_metadata(table.schema.metadata))


def used_in_pandas(frame: Any) -> Any:
    """Remove the categories that no record of a pandas frame has, and the frame's notes (`attrs`); changes it."""
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
    frame.attrs = {}
    return frame


def used_in_polars(frame: Any) -> Any:
    """Return a Polars frame in which an Enum is one of the levels in use, in their order."""
    import polars as pl

    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.Enum):
            used = set(frame[name].cast(pl.String).unique())
            dtype = pl.Enum([level for level in dtype.categories if level in used])
        elif not isinstance(dtype, pl.Categorical):
            continue
        frame = frame.with_columns(frame[name].cast(pl.String).cast(dtype))
    return frame


class InUse:
    """The categories and value labels that columns list, and those that a record has, added up over pieces."""

    def __init__(self) -> None:
        self._listed: dict[tuple[str, int], Array] = {}
        self._used: dict[tuple[str, int], Array] = {}
        self._labels: dict[str, tuple[Labels, Labels]] = {}

    def see(self, piece: pa.Table) -> None:
        """Look at some records."""
        for field, chunks in zip(piece.schema, piece.columns, strict=True):
            if _has_levels(field.type):
                for at, found in enumerate(_dictionaries(one_chunk(chunks))):
                    key, levels = (field.name, at), found.dictionary
                    places = found.indices.drop_null().unique().cast(pa.int64())
                    self._listed[key] = _joined(self._listed.get(key), levels)
                    self._used[key] = _joined(self._used.get(key), levels.take(places))
            labels = labels_of(field)
            if labels.values or labels.missing:
                used = used_labels(labels, one_chunk(chunks))
                before = self._labels.get(field.name, (labels, used))
                self._labels[field.name] = (labels, joined_labels(labels, before[1], used))

    def levels(self, name: str, order: Array | None = None) -> Array:
        """Return the categories of a column that are in use, in their order, or in another."""
        order = self._listed[name, 0] if order is None else order
        return order.filter(pc.is_in(order, value_set=self._used[name, 0].cast(order.type)))

    def labels(self, name: str) -> Labels | None:
        """Return the labels of a column that are in use; None if it has none."""
        return self._labels[name][1] if name in self._labels else None

    def failures(self) -> list[Message]:
        """Name the columns that list a category or a value label that no record has."""
        names = [name for (name, at), listed in self._listed.items() if len(self._used[name, at]) < len(listed)]
        names += [name for name, (listed, used) in self._labels.items() if listed != used]
        return [Message("unused-level", column=name) for name in dict.fromkeys(names)]


def has_levels(field: "pa.Field[Any]") -> bool:
    """Whether a column lists values beside those of its records: categories, value labels or missing codes."""
    labels = labels_of(field)
    return _has_levels(field.type) or bool(labels.values or labels.missing)


def _joined(one: Array | None, two: Array) -> Array:
    """Return different values in the order in which they come."""
    values = two if one is None else pa.concat_arrays([one, two.cast(one.type)])
    return values.drop_null().unique()


def _dictionaries(values: Any) -> "Iterator[pa.DictionaryArray[Any, Any]]":
    """Find the dictionaries in a column, at any depth."""
    kind = values.type
    if isinstance(values, pa.DictionaryArray):
        yield values
    elif isinstance(values, pa.ExtensionArray):
        yield from _dictionaries(values.storage)
    elif isinstance(values, pa.StructArray):
        for part in values.flatten():
            yield from _dictionaries(part)
    elif isinstance(values, pa.MapArray):
        yield from _dictionaries(_pairs(values).flatten())
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _dictionaries(values.flatten())


def _bare(kind: Any) -> Any:
    """Return a type without the metadata that its parts have."""
    parts = [pa.field(part.name, _bare(part.type), part.nullable) for part in _parts(kind)]
    if pa.types.is_struct(kind):
        return pa.struct(parts)
    if pa.types.is_map(kind):
        return pa.map_(parts[0], parts[1], kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(parts[0], kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(parts[0])
    return pa.large_list(parts[0]) if pa.types.is_large_list(kind) else kind


def _parts(kind: Any) -> "list[pa.Field[Any]]":
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return [kind.field(i) for i in range(kind.num_fields)]


def _own_text(column: ChunkedArray) -> ChunkedArray:
    """Copy the text of views, which else share what they look at with the records that are gone."""
    for is_view, whole in _VIEWS:
        if is_view(column.type):
            return column.cast(whole).cast(column.type)
    return column


_VIEWS = ((pa.types.is_string_view, pa.large_string()), (pa.types.is_binary_view, pa.large_binary()))


def _kept(column: ChunkedArray, mask: Array) -> Array | ChunkedArray:
    kind: Any = column.type
    for is_view, whole in _VIEWS:
        if is_view(kind):  # which Arrow cannot filter
            return column.cast(whole).filter(mask).cast(kind)
    if pa.types.is_run_end_encoded(kind):
        return cast("Array", pc.run_end_encode(decoded(one_chunk(column)).filter(mask), kind.run_end_type))
    return column.filter(mask)


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
        pairs = _pairs(values)
        keys, items = (_used(field) for field in pairs.flatten().flatten())
        return cast("Array", maker.from_arrays(_offsets(pairs), keys, items, kind, mask=values.is_null()))
    if isinstance(values, pa.ListArray | pa.LargeListArray):
        return cast("Array", maker.from_arrays(_offsets(values), _used(values.flatten()), kind, mask=values.is_null()))
    # what is left is rare enough to go by way of Python
    return cast("Array", pa.array(values.to_pylist(), kind))


def _pairs(maps: Any) -> Any:
    """Return maps as lists of pairs."""
    return maps.view(pa.list_(pa.struct([maps.type.key_field, maps.type.item_field])))


def _offsets(lists: Any) -> Array:
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    wide = pa.int64() if pa.types.is_large_list(lists.type) else pa.int32()
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), wide)

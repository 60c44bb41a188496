"""Do two columns hold the same? A file may give a type another name or unit, and must not change a value."""

from typing import Any

import pyarrow as pa

from shoal.tables.arrow import Array, pc
from shoal.tables.text_values import coarsest, decoded

_BITS = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def same_values(one: Array, two: Array) -> bool:
    """Whether two columns hold the same values, floats to the bit; not a number equals itself here.

    Dictionaries and run lengths are looked through, units of time and widths of offsets do not matter.
    """
    return len(one) == len(two) and _are_same(_plain(one), _plain(two))


def _are_same(one: Any, two: Any) -> bool:
    if not one.is_null().equals(two.is_null()):
        return False
    if _is_list(one) and _is_list(two):
        return bool(_lengths(one).equals(_lengths(two))) and same_values(one.flatten(), two.flatten())
    if pa.types.is_struct(one.type) and pa.types.is_struct(two.type):
        names = [[field.name for field in array.type] for array in (one, two)]
        return names[0] == names[1] and all(map(same_values, one.flatten(), two.flatten()))
    one, two = _as_number(one, two.type), _as_number(two, one.type)
    if one.type != two.type:
        return False
    if pa.types.is_floating(one.type):
        bits = _BITS[one.type.bit_width]
        return bool(one.view(bits).equals(two.view(bits)))
    # unions are too rare to be taken apart; their text tells as well, and that of NaN equals itself
    return bool(one.equals(two)) or (pa.types.is_union(one.type) and repr(one.to_pylist()) == repr(two.to_pylist()))


def _as_number(values: Any, other: pa.DataType) -> Any:
    """Return a decimal as the number that files without decimals have for it: the integer, or the nearest float."""
    if not pa.types.is_decimal(values.type) or not (pa.types.is_integer(other) or pa.types.is_float64(other)):
        return values
    try:
        # by way of its text, as Arrow's own cast to floats does not give the nearest
        return values.cast(pa.string()).cast(other) if pa.types.is_float64(other) else values.cast(other)
    except pa.ArrowInvalid:  # no whole number
        return values


def _plain(values: Array) -> Any:
    """Return the values without what depends on where they are kept."""
    kind: Any = values.type
    if isinstance(values, pa.ExtensionArray):
        return _plain(values.storage)
    if isinstance(values, pa.DictionaryArray) or pa.types.is_run_end_encoded(kind):
        return _plain(decoded(values))
    if pa.types.is_map(kind):
        return values.view(pa.list_(pa.struct([kind.key_field, kind.item_field])))
    if pa.types.is_timestamp(kind):
        moments = coarsest(values)
        # the same moment in another zone is the same moment
        return moments if kind.tz is None else moments.cast(pa.timestamp(moments.type.unit, "UTC"))
    wide = _widest(kind)
    return values if wide is None else values.cast(wide)


def _widest(kind: Any) -> pa.DataType | None:
    if pa.types.is_string(kind) or pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary(kind) or pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_time(kind):
        return pa.time64("ns")
    if pa.types.is_date(kind):
        return pa.date64()
    if pa.types.is_decimal(kind):
        return pa.decimal256(76, kind.scale)
    return None


def _is_list(values: Array) -> bool:
    is_such = (
        pa.types.is_list,
        pa.types.is_large_list,
        pa.types.is_fixed_size_list,
        pa.types.is_list_view,
        pa.types.is_large_list_view,
    )
    return any(is_it(values.type) for is_it in is_such)


def _lengths(lists: Array) -> Array:
    lengths: Array = pc.list_value_length(lists).cast(pa.int64())
    return lengths

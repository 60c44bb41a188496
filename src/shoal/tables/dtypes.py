"""What Arrow's types are to us: numbers, text, or something that has no text."""

import pyarrow as pa

_NO_TEXT = (
    pa.types.is_nested,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
    pa.types.is_duration,
    pa.types.is_interval,
)


def is_number(kind: pa.DataType) -> bool:
    """Whether a type is an integer, a float or a decimal."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text, however it lies in memory."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def is_read_by_value(kind: pa.DataType) -> bool:
    """Whether the values, and not their type alone, say as what their text is read: by how much room they need."""
    kind = inner(kind)
    fine = pa.types.is_timestamp(kind) and kind.unit == "ns"
    return fine or pa.types.is_decimal(kind) or pa.types.is_uint64(kind)


def inner(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values behind a dictionary or run lengths."""
    if isinstance(kind, pa.DictionaryType | pa.RunEndEncodedType):
        return inner(kind.value_type)
    return kind


def same_type(one: pa.DataType, two: pa.DataType) -> bool:
    """Whether two types are the same, however text lies in memory."""
    if isinstance(one, pa.DictionaryType) and isinstance(two, pa.DictionaryType):
        return one.ordered == two.ordered and same_type(one.value_type, two.value_type)
    return one == two or (is_text(one) and is_text(two))


def has_text(kind: pa.DataType) -> bool:
    """Whether values of a type can be written as text that a person would recognise."""
    kind = inner(kind)
    return not (isinstance(kind, pa.BaseExtensionType) or any(is_such(kind) for is_such in _NO_TEXT))

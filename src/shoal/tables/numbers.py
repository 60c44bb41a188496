"""Columns as a matrix of float64, or one sentence for each column that cannot be in one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.messages import Message
from shoal.tables.arrow import Array, pc
from shoal.tables.csv.inference import look
from shoal.tables.dataframes import column_of, first_odd_object
from shoal.tables.dtypes import inner, is_number, is_text
from shoal.tables.text_values import (
    count_numbers,
    decoded,
    first_not_number,
    first_where,
    looks_infinite,
    looks_missing,
)

if TYPE_CHECKING:
    import narwhals as nw


def numeric_names(native: Any) -> list[str]:
    """Name the columns of integers, floats and decimals, pandas' columns of such objects included."""
    if isinstance(native, pa.Table):
        kinds = dict(zip(native.column_names, native.schema.types, strict=True))
        return [
            name
            for name, kind in kinds.items()
            if is_number(inner(kind) if pa.types.is_run_end_encoded(kind) else kind)
        ]
    import narwhals as nw

    schema = nw.from_native(native, eager_only=True).schema
    return [name for name, dtype in schema.items() if dtype.is_numeric() or _holds_numbers(native, name, dtype)]


def _holds_numbers(native: Any, name: str, dtype: "nw.dtypes.DType") -> bool:
    import narwhals as nw

    if dtype not in (nw.Object, nw.Unknown):
        return False
    try:
        return is_number(column_of(native, name).type)
    except DataError:
        return False


def find_odd(native: Any) -> tuple[dict[str, int], list[str]]:
    """Find the columns of a dataframe that should not be taken for text without a message.

    Spoiled ones, at least half of whose cells are numbers, with the first record (from 1) that is text; and disguised
    ones of nothing but numbers, stored as text or as categories. Codes are no numbers.
    """
    import narwhals as nw

    # narwhals does not look into run lengths and objects
    texts = (nw.String, nw.Categorical, nw.Enum, nw.Binary, nw.Object, nw.Unknown)
    spoiled: dict[str, int] = {}
    disguised: list[str] = []
    for name, dtype in nw.from_native(native, eager_only=True).schema.items():
        if (record := first_odd_object(native, name)) is not None:
            spoiled[name] = record
        elif dtype in texts and (column := _column(native, name)) is not None:
            if isinstance(column, pa.DictionaryArray) and is_number(column.type.value_type):
                disguised += [name] if column.null_count < len(column) else []
            elif (text := _as_text(column)) is not None:
                seen = look(text, ".", 0)
                spoiled |= {name: seen.first_text or 1} if seen.is_spoiled else {}
                disguised += [name] if seen.is_disguised else []
    return spoiled, disguised


def _column(native: Any, name: str) -> Array | None:
    try:
        return column_of(native, name)
    except DataError:
        return None


def _as_text(column: Array) -> Array | None:
    """Return text, of categories and of bytes too, or nothing for all else."""
    column = decoded(column)
    kind = column.type
    if not (is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        return None
    try:
        return column.cast(pa.large_string())
    except pa.ArrowInvalid:  # bytes that are no text
        return None


def to_matrix(native: Any, names: Sequence[str], decimal: str) -> NDArray[np.float64]:
    """Return columns of a dataframe as an (n, d) matrix in C order."""
    columns: list[NDArray[np.float64]] = []
    problems: list[Message] = []
    for name in names:
        try:
            columns.append(_complete(column_of(native, name), name, decimal))
        except DataError as error:
            problems += error.messages
    if problems:
        raise DataError(*problems)
    return np.ascontiguousarray(np.column_stack(columns)) if columns else np.empty((len(native), 0))


def _complete(column: Array, name: str, decimal: str) -> NDArray[np.float64]:
    values = to_floats(column, name, decimal)
    if (count := int(np.isnan(values).sum())) > 0:
        raise DataError(misses(name, int(np.argmax(np.isnan(values))) + 1, count))
    return values


def misses(name: str, record: int | None, count: int) -> Message:
    """Explain that a column misses values, `count` in all and the first in `record`, if that is known."""
    return Message("missing-values", column=name, records=count, first=record)


def to_floats(column: Array, name: str, decimal: str) -> NDArray[np.float64]:
    """Return a column as floats, NaN where a value is missing."""
    if not is_number(column.type):
        raise DataError(what_it_is(column, name, decimal))
    floats = column.cast(pa.float64(), safe=False)  # safe casts refuse all integers beyond 2^53, exact or not
    infinite = pc.is_inf(floats)
    if (record := first_where(infinite)) is not None:
        count = pc.sum(infinite).as_py()
        raise DataError("infinite-values", column=name, first=record, records=count if count > 1 else None)
    values: NDArray[np.float64] = floats.to_numpy(zero_copy_only=False)
    record = first_inexact(column, values)
    if record is not None:
        raise DataError("inexact-integers", column=name, record=record)
    return values


def first_inexact(column: Array, floats: NDArray[np.float64]) -> int | None:
    """Find the first record (from 1) of integers that is not what its float is."""
    kind: Any = column.type
    if not np.nanmax(np.abs(floats), initial=0.0) >= 2.0**53:
        return None
    missing = np.isnan(floats)
    floats, column = np.where(missing, 0.0, floats), column.fill_null(0)
    if pa.types.is_integer(kind):
        integers = column.to_numpy(zero_copy_only=False)
        limit = 2.0**63 if pa.types.is_signed_integer(kind) else 2.0**64
        fits = floats < limit  # the limit itself is a float and no integer of the type
        inexact = ~fits | (np.where(fits, floats, 0).astype(integers.dtype) != integers)
    elif pa.types.is_decimal(kind) and kind.scale <= 0:
        inexact = np.array([value.as_py() != int(x) for value, x in zip(column, floats, strict=True)])
    else:
        return None
    return int(np.argmax(inexact)) + 1 if inexact.any() else None


def what_it_is(column: Array, name: str, decimal: str) -> Message:
    """Explain why a column is not one of numbers."""
    if column.null_count == len(column):
        return Message("empty-column", column=name)
    if is_text(column.type):
        return _what_text(column.cast(pa.large_string()), name, decimal)
    return no_number_type(column.type, name)


def no_number_type(kind: pa.DataType, name: str) -> Message:
    """Explain why columns of a type have no numbers."""
    if is_text(kind):
        return Message("no-numbers", column=name, content="text")
    if pa.types.is_dictionary(kind):
        return Message("no-numbers", column=name, content="categories")
    if pa.types.is_boolean(kind):
        return Message("no-numbers", column=name, content="booleans")
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return Message("no-numbers", column=name, content="dates or times")
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        return Message("time-type", column=name, type=str(kind))
    if pa.types.is_nested(kind):
        return Message("nested-column", column=name)
    return Message("type-not-masked", column=name, type=str(kind))


def _what_text(column: Array, name: str, decimal: str) -> Message:
    if count_numbers(column, decimal) == 0:
        return no_number_type(column.type, name)
    record = first_not_number(column, decimal)
    if record is None:
        return stored_as_text(name)
    cell = column[record - 1].as_py()
    if looks_missing(cell):
        return Message("word-for-missing", column=name, record=record)
    if looks_infinite(cell):
        return Message("infinite-values", column=name, first=record)
    return not_a_number(name, record)


def not_a_number(name: str, record: int) -> Message:
    """Explain that a column of numbers holds a word."""
    return Message("word-among-numbers", column=name, record=record)


def stored_as_text(name: str) -> Message:
    """Explain that a column holds numbers in another form."""
    return Message("numbers-as-text", column=name)

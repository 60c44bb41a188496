"""Columns as a matrix of float64, or one sentence for each column that cannot be in one."""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.tables.arrow import Array
from shoal.tables.arrow import compute as pc
from shoal.tables.cells import count_numbers, first_not_number, first_text
from shoal.tables.frames import column_of, first_odd_object

_ONLY = "only numbers can be averaged so far"


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a type is an integer, a float or a decimal."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def numeric_names(native: Any) -> list[str]:
    """Name the columns of integers, floats and decimals, pandas' columns of such objects included."""
    schema = nw.from_native(native, eager_only=True).schema
    return [name for name, dtype in schema.items() if dtype.is_numeric() or _holds_numbers(native, name, dtype)]


def _holds_numbers(native: Any, name: str, dtype: nw.dtypes.DType) -> bool:
    if dtype not in (nw.Object, nw.Unknown):
        return False
    try:
        return is_number(column_of(native, name).type)
    except DataError:
        return False


def find_spoiled(native: Any, decimal: str = ".") -> dict[str, int]:
    """Find the columns in which at least half of the cells are numbers, written as text or not, and others are text.

    Parameters
    ----------
    native
        The dataframe.
    decimal
        The decimal sign of numbers that are written as text.

    Returns
    -------
    dict
        The first record (from 1) that is text, by column.
    """
    records = {}
    for name, dtype in nw.from_native(native, eager_only=True).schema.items():
        record = first_odd_object(native, name)
        if record is None and dtype == nw.String:
            record = _first_text(native, name, decimal)
        if record is not None:
            records[name] = record
    return records


def _first_text(native: Any, name: str, decimal: str) -> int | None:
    try:
        column = column_of(native, name)
    except DataError:
        return None
    return first_text(column.cast(pa.large_string()), decimal) if _is_text(column.type) else None


def to_matrix(native: Any, names: Sequence[str], decimal: str) -> NDArray[np.float64]:
    """Give columns of a dataframe as an (n, d) matrix in C order.

    Parameters
    ----------
    native
        The dataframe.
    names
        The columns in the order of the matrix.
    decimal
        The decimal sign of numbers that are written as text, for messages.

    Raises
    ------
    DataError
        With the first problem of every column that holds anything but finite numbers.
    """
    columns: list[NDArray[np.float64]] = []
    problems: list[str] = []
    for name in names:
        try:
            columns.append(_to_floats(column_of(native, name), name, decimal))
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise DataError("\n".join(problems))
    return np.ascontiguousarray(np.column_stack(columns)) if columns else np.empty((len(native), 0))


def _to_floats(column: Array, name: str, decimal: str) -> NDArray[np.float64]:
    if not is_number(column.type):
        raise DataError(_what_it_is(column, name, decimal))
    floats = column.cast(pa.float64(), safe=False)  # integers beyond 2^53 become the nearest float
    missing = pc.is_null(floats, nan_is_null=True)
    if (count := pc.sum(missing).as_py()) > 0:
        raise DataError(
            f"column '{name}' misses a value in record {_first(missing)}{_in_all(count)}; "
            "fill it or leave the record out"
        )
    infinite = pc.is_inf(floats)
    if (count := pc.sum(infinite).as_py()) > 0:
        raise DataError(
            f"column '{name}' is infinite in record {_first(infinite)}{_in_all(count)}; "
            "replace it by a number or leave the record out"
        )
    values: NDArray[np.float64] = floats.to_numpy(zero_copy_only=False)
    return values


def _what_it_is(column: Array, name: str, decimal: str) -> str:
    kind = column.type
    if column.null_count == len(column):
        return f"column '{name}' is empty: no record has a value"
    if _is_text(kind):
        return _what_text(column.cast(pa.large_string()), name, decimal)
    if pa.types.is_dictionary(kind):
        return f"column '{name}' is categorical; {_ONLY}"
    if pa.types.is_boolean(kind):
        return f"column '{name}' is boolean; {_ONLY}"
    if pa.types.is_temporal(kind):
        return f"column '{name}' holds dates or times; {_ONLY}"
    if pa.types.is_nested(kind):
        return f"column '{name}' is nested; {_ONLY}"
    return f"column '{name}' is of type {kind}; {_ONLY}"


def _what_text(column: Array, name: str, decimal: str) -> str:
    if count_numbers(column, decimal) == 0:
        return f"column '{name}' holds text; {_ONLY}"
    record = first_not_number(column, decimal)
    if record is None:
        return f"column '{name}' holds numbers that are stored as text; turn them into numbers first"
    return f"column '{name}' is not a number in record {record}; {_ONLY}"


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _first(flags: Array) -> int:
    return int(pc.index(flags, pa.scalar(True)).as_py()) + 1


def _in_all(count: int) -> str:
    return f" ({count} records in all)" if count > 1 else ""

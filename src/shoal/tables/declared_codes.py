"""Codes that a plan declares to be missing values, such as 999999 or -9: they are read as missing, and published so."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pyarrow as pa

from shoal.errors import PlanError
from shoal.tables.arrow import Array, pc
from shoal.tables.dataframes import is_pandas_dataframe, rebuild
from shoal.tables.dtypes import is_number, is_text
from shoal.tables.table import Table
from shoal.tables.text_values import decoded, one_chunk, without_views

Codes = Mapping[str, Sequence[str | int | float]]  # the codes of each column


def numbers_of(name: str, codes: Sequence[str | int | float], field: str = "missing_codes") -> list[float]:
    """Return codes as numbers, for a column of numbers; `field` is the one of the plan that has them."""
    try:
        return [float(code) for code in codes]
    except ValueError:
        raise PlanError("values-of-other-type", field=field, column=name, type="number") from None


def is_code(values: Array, name: str, codes: Sequence[str | int | float], field: str = "missing_codes") -> Array:
    """Find which values of a column are one of its codes; blanks around a text do not count.

    `field` is the one of the plan that has the codes.
    """
    kind: Any = values.type
    if pa.types.is_integer(kind):
        possible = np.iinfo(np.dtype(str(kind)))
        numbers_of(name, codes, field)  # or it is refused
        exact = [Decimal(str(code).strip()) for code in codes]
        wanted = [int(code) for code in exact if code.is_finite() and code == code.to_integral_value()]
        codes = [code for code in wanted if possible.min <= code <= possible.max]
        return _among(values, pa.array(codes, kind))
    if is_number(kind):
        single = pa.types.is_float32(kind)
        wide = values if single else values.cast(pa.float64(), safe=False)
        return _among(wide, pa.array(numbers_of(name, codes, field)).cast(wide.type, safe=False))
    if is_text(kind):
        texts = pc.utf8_trim_whitespace(values.cast(pa.large_string()))
        return _among(texts, pa.array([str(code) for code in codes], pa.large_string()))
    try:
        return _among(values, pa.array([str(code) for code in codes]).cast(kind))
    except pa.ArrowException:
        raise PlanError("values-of-other-type", field=field, column=name, type=str(kind)) from None


def _among(values: Array, codes: Array) -> Array:
    return cast("Array", pc.is_in(values, codes))


def without_codes(column: Array, name: str, codes: Sequence[str | int | float]) -> Array:
    """Return a column in which codes are missing; a dictionary does not hold them either."""
    if isinstance(column, pa.DictionaryArray):
        own = column.dictionary
        rest = own.filter(pc.invert(is_code(without_views(own), name, codes)))
        places = pc.index_in(decoded(column), value_set=rest).cast(column.type.index_type)
        return pa.DictionaryArray.from_arrays(places, rest, ordered=column.type.ordered)
    values = without_views(decoded(column))
    return blank(values, is_code(values, name, codes))


def piece_without_codes(piece: pa.Table, codes: Codes) -> pa.Table:
    """Return some records in which codes are missing."""
    for at, name in enumerate(piece.column_names):
        if name in codes:
            values = without_codes(one_chunk(piece.column(name)), name, codes[name])
            piece = piece.set_column(at, piece.schema.field(at).with_type(values.type), values)
    return piece


def table_without_codes(table: Table, codes: Codes) -> Table:
    """Return a table in which codes are missing; integers of NumPy in pandas become integers that can be missing."""
    here = {name: each for name, each in codes.items() if name in table.names}
    native, spelling = table.native, dict(table.spelling)
    for name, each in here.items():
        if name in spelling:
            values = decoded(without_views(table.column(name)))
            spelling[name] = blank(spelling[name], is_code(values, name, each))
    if isinstance(native, pa.Table):
        return replace(table, native=piece_without_codes(native, here), spelling=spelling)
    columns = {name: without_codes(table.column(name), name, each) for name, each in here.items()}
    if is_pandas_dataframe(native):
        whole = [name for name in here if isinstance(native[name].dtype, np.dtype) and native[name].dtype.kind in "iu"]
        # NumPy's int64 is Int64 in pandas, its uint8 UInt8
        native = native.astype({name: f"{native[name].dtype}".replace("u", "U").replace("i", "I", 1) for name in whole})
    return replace(table, native=rebuild(native, columns, ()), spelling=spelling)


def table_with_one_missing(table: Table, strata: Sequence[str]) -> Table:
    """Return a table of a CSV file in which missing values of strata are spelled alike."""
    words = () if table.dialect is None else table.dialect.missing
    spelling = {
        name: with_one_missing(cells, table.column(name), words) if name in strata else cells
        for name, cells in table.spelling.items()
    }
    return replace(table, spelling=spelling)


def with_one_missing(cells: Array, values: Array, words: Sequence[str]) -> Array:
    """Return cells in which every missing value is the first of the words, or an empty cell without words.

    Missing values are one stratum, so that records of one group must not show how they were spelled.
    """
    return cast("Array", pc.if_else(values.is_null(), pa.scalar(words[0] if words else None, cells.type), cells))


def blank(column: Array, flags: Array) -> Array:
    """Return a column in which some values are missing."""
    return cast("Array", pc.if_else(flags, pa.scalar(None, column.type), column))

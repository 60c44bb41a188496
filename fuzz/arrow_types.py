"""Columns of every type that Arrow has, protected and written to files of every kind."""

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute

from fuzz.draws import Draws
from fuzz.oracle import SECRET, SECRET_NUMBER, refuse_leftovers, sentence_or
from shoal import protect
from shoal.tables import open_table

_NUMBERS = [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]
_NUMBERS += [pa.float32(), pa.float64()]
_NUMBERS += [pa.decimal128(38, 0), pa.decimal128(12, 3), pa.decimal256(60, 2)]
_MOMENTS = [pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
_MOMENTS += [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Asia/Kolkata")]
_MOMENTS += [pa.duration("s"), pa.duration("ns")]
_TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]
_VALUES = [0, 1, 2, 7, 100, -1, -100, 2**31 - 1, 2**40, -(2**53) - 1, 2**62, SECRET_NUMBER]
_WORDS = ["a", "b", SECRET, "", " ", "1", "0.5", "2020-01-01", "true", "NA", "-", "=1", "\x07", "a\nb", "\ufffe"]
_WORDS += ["']]>'"]
ENDINGS = ["csv", "parquet", "arrow", "xml", "xlsx", "tsv"]


def release(data: bytes) -> None:
    """Protect a table of columns of many types, and write it."""
    draws = Draws(data)
    records = draws.integer(2, 12)
    table = pa.table({name: _column(draws, records) for name in "abc"[: draws.integer(1, 3)]})
    options: dict[str, Any] = {
        "quasi": draws.pick([["a"], None, ["a", "b"]]),
        "missing": draws.pick(["group", "error"]),
    }
    if draws.chance(3):
        options["types"] = {"a": draws.pick(["nominal", "ordinal", "continuous", "date", "datetime", "boolean"])}
    found = sentence_or(lambda: protect(table, k=2, publish="rest", method="mdav", round=draws.chance(2), **options))
    if found is not None:
        sentence_or(lambda: _written(found, draws.pick(ENDINGS)))
    refuse_leftovers()


def _written(found: Any, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"out.{ending}")
        found.save(path)
        open_table(path)


def _column(draws: Draws, records: int) -> Any:
    kind = draws.integer(0, 3)
    if kind == 0:
        values = _cast([draws.pick(_VALUES) for _ in range(records)], pa.int64(), draws.pick(_NUMBERS))
    elif kind == 1:
        values = _cast([draws.pick(_VALUES) for _ in range(records)], pa.int64(), draws.pick(_MOMENTS))
    elif kind == 2:
        values = _cast([draws.pick(_WORDS) for _ in range(records)], pa.string(), draws.pick(_TEXTS))
    else:
        values = pa.array([draws.chance(2) for _ in range(records)])
    if draws.chance(3):
        values = pa.array([None if draws.chance(3) else value.as_py() for value in values], values.type)
    return _wrapped(draws.integer(0, 9), values)


def _cast(values: list[Any], carrier: pa.DataType, kind: pa.DataType) -> Any:
    """Cast values one by one; those that the type cannot hold are missing."""
    return pa.concat_arrays([_one(pa.array([value], carrier), kind) for value in values])


def _one(value: Any, kind: pa.DataType) -> Any:
    try:
        narrow = pa.int32() if pa.types.is_date(kind) or pa.types.is_time32(kind) else value.type
        cast = value.cast(narrow).cast(pa.date32() if pa.types.is_date(kind) else kind).cast(kind)
        cast.to_pylist()  # moments that Python has no year for
    except (pa.ArrowException, ValueError, OverflowError):
        return pa.nulls(1, kind)
    return cast


def _wrapped(how: int, values: Any) -> Any:
    """Put some columns into dictionaries, run lengths, lists and structs."""
    try:
        if how == 6:
            return values.dictionary_encode()
        if how == 7:
            encoded = values.dictionary_encode()
            return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary, ordered=True)
        if how == 8:
            return pa.compute.run_end_encode(values)
    except pa.ArrowException:
        return values
    if how == 9:
        return pa.array([[value] for value in values.to_pylist()], pa.list_(values.type))
    return values

"""What statistics packages note on an attribute beside its values: labels, codes that mean 'missing', how to show it.

All this lies as JSON in the metadata of the Arrow field, under one key, so that it goes wherever the schema goes: into
Parquet and Arrow files, and from there back to a package.

Missing values come in three kinds. The plain one (SPSS's system-missing value, `.` in Stata and SAS) is null. Codes
that SPSS users declare to be missing, such as 99, stay the values that they are, and the labels tell their ranges. The
extended ones of Stata (.a to .z) and SAS (.A to .Z and ._), which tell why a value is missing, are floats that are not
a number and carry the letter in their lowest byte, as in R's haven; a column of integers that holds some is float64.
So they are not taken for numbers, and filters, Parquet and Arrow files keep them; CSV and other dataframes do not.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.tables.arrow import Array, pc
from shoal.tables.dtypes import is_number, is_text
from shoal.tables.stat.dates import Package, arrow_numbers, type_moment
from shoal.tables.text_values import decoded

Code: TypeAlias = float | str
Measure = Literal["nominal", "ordinal", "scale"]

_LABELS = b"shoal.labels"
_NAN = np.uint64(0x7FF8_0000_0000_0000)  # a quiet NaN; its lowest byte is free
_LOWEST_BYTE = np.uint64(0xFF)


@dataclass(frozen=True)
class Labels:
    """What a statistics package notes on one attribute."""

    label: str | None = None  # what the attribute is, in words
    # What values stand for. The code is a float or, in a column of text, a text; in a column of numbers a letter is
    # an extended missing value. Codes of dates and times are the numbers that Arrow stores.
    values: Mapping[Code, str] = field(default_factory=dict)
    missing: tuple[tuple[Code, Code], ...] = ()  # ranges of codes that mean missing, both ends included
    measure: Measure | None = None  # the level of measurement
    format: str | None = None  # how the package shows the numbers, in its own words, such as F8.2 or %9.0g
    width: int | None = None  # how many characters wide SPSS shows the column
    package: Package | None = None  # whose words `format` is in


def labels_of(field: "pa.Field[Any]") -> Labels:
    """Return the labels of an Arrow field; a field that has none gives empty ones."""
    text = (field.metadata or {}).get(_LABELS)
    if text is None:
        return Labels()
    try:
        said = json.loads(text)
        values = {_code(code): str(label) for code, label in said.pop("values", [])}
        missing = tuple((_code(low, -np.inf), _code(high, np.inf)) for low, high in said.pop("missing", []))
        return Labels(values=values, missing=missing, **said)
    except (AttributeError, TypeError, ValueError):
        raise DataError("bad-metadata", key=_LABELS.decode(), column=field.name) from None


def with_labels(field: "pa.Field[Any]", labels: Labels) -> "pa.Field[Any]":
    """Replace the labels of an Arrow field; other metadata stays."""
    said: dict[str, Any] = {
        name: value
        for name in ("label", "measure", "format", "width", "package")
        if (value := getattr(labels, name)) is not None
    }
    if labels.values:
        said["values"] = list(labels.values.items())
    if labels.missing:
        said["missing"] = [[_finite(low), _finite(high)] for low, high in labels.missing]
    metadata: dict[bytes | str, bytes | str] = {
        key: value for key, value in (field.metadata or {}).items() if key != _LABELS
    }
    if said:
        metadata[_LABELS] = json.dumps(said, ensure_ascii=False).encode()
    return field.with_metadata(metadata)


def _code(code: Any, if_open: float | None = None) -> Code:
    """Read a code; the open end of a range is written as null, JSON having no infinity."""
    if code is None and if_open is not None:
        return if_open
    return code if isinstance(code, str) else float(code)


def _finite(code: Code) -> Code | None:
    return None if isinstance(code, float) and np.isinf(code) else code


def user_missing(column: Array, labels: Labels) -> NDArray[np.bool_]:
    """Find which records hold a value that is declared to be missing: a code in a missing range, or an extended one.

    Plain missing values, null in Arrow, are not among them.
    """
    found = np.zeros(len(column), dtype=bool)
    if is_text(column.type):
        codes = [low for low, high in labels.missing if isinstance(low, str) and low == high]
        if codes:
            is_code = pc.is_in(column.cast(pa.large_string()), pa.array(codes, pa.large_string()))
            found |= is_code.to_numpy(zero_copy_only=False)
    elif is_number(column.type) or type_moment(column.type):
        numbers = arrow_numbers(column)
        found |= letters_of(numbers) > 0
        for low, high in labels.missing:
            if not isinstance(low, str) and not isinstance(high, str):
                found |= (numbers >= low) & (numbers <= high)
    return found


def used_labels(labels: Labels, column: Array) -> Labels:
    """Return the labels of values that a column has, and the missing ranges in which it has one."""
    values = decoded(column)
    if is_text(values.type):
        codes: set[Any] = set(values.drop_null().unique().to_pylist())
        in_use = [low in codes for low, _ in labels.missing]
    else:
        numbers = arrow_numbers(values)
        codes = {*np.unique(numbers).tolist(), *(chr(byte) for byte in np.unique(letters_of(numbers)) if byte)}
        in_use = [_is_within(numbers, low, high) for low, high in labels.missing]
    return replace(
        labels,
        values={code: text for code, text in labels.values.items() if code in codes},
        missing=tuple(each for each, used in zip(labels.missing, in_use, strict=True) if used),
    )


def _is_within(numbers: NDArray[np.float64], low: Code, high: Code) -> bool:
    if isinstance(low, str) or isinstance(high, str):
        return False
    return bool(((numbers >= low) & (numbers <= high)).any())


def joined_labels(labels: Labels, one: Labels, two: Labels) -> Labels:
    """Return what is in use in one or the other piece of a column with these labels."""
    return replace(
        labels,
        values={code: text for code, text in labels.values.items() if code in {*one.values, *two.values}},
        missing=tuple(each for each in labels.missing if each in {*one.missing, *two.missing}),
    )


def tagged(values: Iterable[Any]) -> NDArray[np.float64]:
    """Make floats of numbers, None and letters: a letter becomes the float that carries it."""
    carriers = {chr(byte): float((_NAN | np.uint64(byte)).view(np.float64)) for byte in range(ord("A"), ord("z") + 1)}
    return np.array([carriers[value] if isinstance(value, str) else value for value in values], dtype=np.float64)


def letters_of(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return the letter, as a byte, of each extended missing value, and 0 for all else."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    return np.where((bits & ~_LOWEST_BYTE) == _NAN, bits & _LOWEST_BYTE, 0).astype(np.uint8)

"""What a file of a statistics package can hold, and a table as it will be found in one.

Packages know numbers, text, dates and times, and little else. Booleans become 0 and 1 and categories 1, 2, ... in their
order, both with labels for their values (text, in SAS transport files, which have no such labels). A text without a
character is a missing value, and so is a float that is not a number; blanks at the end of a text are no part of it,
but in Stata. What has no place is refused, but for labels and letters of missing values: `unkept` names those.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from shoal.errors import DataError
from shoal.messages import Message
from shoal.tables.arrow import Array, pc
from shoal.tables.dtypes import inner, is_number, is_text
from shoal.tables.stat.dates import LIMITS, TYPES, Moment, Package, arrow_numbers, type_moment
from shoal.tables.stat.labels import (
    Code,
    Labels,
    labels_of,
    letters_of,
    tagged,
    used_labels,
    with_labels,
)
from shoal.tables.text_values import decoded, first_where, one_chunk

StatisticsKind = Literal["sav", "zsav", "por", "dta", "xpt", "sas7bdat"]
TITLES: dict[StatisticsKind, str] = {
    "sav": "SPSS",
    "zsav": "SPSS",
    "por": "SPSS portable",
    "dta": "Stata",
    "xpt": "SAS transport",
    "sas7bdat": "SAS",
}

_EXACT = 2**53  # beyond it, not every integer is a float64
_LONG = (-2_147_483_647, 2_147_483_620)  # Stata's integers; it needs the others for missing values
_PORTABLE = r"^[0-9A-Za-z .<(+|&\[\]!$*);^\-/,%_>?`:#@'=\"~{}\\]*$"


@dataclass(frozen=True)
class Holder:
    """What files of a kind hold; lengths are in bytes."""

    package: Package
    name: str  # how a name may look
    rule: str  # code of the message that says the same
    name_length: int
    text: int
    label: int
    value_label: int
    largest: float
    smallest: float = 0.0  # of numbers other than zero
    characters: str = r"^[^\x00]*$"  # of texts
    has_missing_ranges: bool = False
    has_letters: bool = False
    case_matters: bool = False


_SPSS = Holder(
    package="spss",
    name=r"(?!(?:ALL|AND|BY|EQ|GE|GT|LE|LT|NE|NOT|OR|TO|WITH)$)[^\W\d_][\w.$#@]*",
    rule="names-in-spss",
    name_length=64,
    text=32_767,
    label=256,
    value_label=120,
    largest=float(np.nextafter(np.finfo(np.float64).max, 0)),
    has_missing_ranges=True,
)
HOLDERS: dict[StatisticsKind, Holder] = {
    "sav": _SPSS,
    "zsav": _SPSS,
    "por": replace(
        _SPSS,
        name=r"[A-Z][A-Z0-9_.$#@]*",
        rule="names-in-spss-portable",
        name_length=8,
        text=255,
        label=255,
        value_label=60,
        characters=_PORTABLE,
    ),
    "dta": Holder(
        package="stata",
        name=r"(?!(?:_all|_b|byte|_coef|_cons|double|float|if|in|int|long|_n|_N|_pi|_pred|_rc|_skip|str\d*|strL|using|with)$)[^\W\d]\w*",
        rule="names-in-stata",
        name_length=32,
        text=2_000_000_000,
        label=80,
        value_label=32_000,
        largest=8.988e307,
        has_letters=True,
        case_matters=True,
    ),
    "xpt": Holder(
        package="sas",
        name=r"[A-Za-z_][A-Za-z0-9_]*",
        rule="names-in-sas",
        name_length=32,
        text=32_767,
        label=256,
        value_label=0,
        largest=7.2e75,
        smallest=5.4e-79,
    ),
}


def held_type(kind: StatisticsKind, type_: pa.DataType, name: str = "") -> pa.DataType:
    """Return the type that a column has after it was written to a file of this kind and read again."""
    within = inner(type_)
    whole = pa.int32() if kind == "dta" else pa.int64()
    if is_text(within):
        return whole if _is_coded(type_, kind) else pa.string()
    if pa.types.is_boolean(within):
        return whole
    if pa.types.is_integer(within):
        return whole if within.bit_width < 32 or within == pa.int32() else pa.int64()
    if is_number(within) or pa.types.is_null(within):
        return pa.float64()
    moment = type_moment(within)
    if moment is None or (pa.types.is_timestamp(within) and within.tz is not None):
        raise DataError("type-not-for-format", column=name, type=str(type_), format=TITLES[kind], instead="Parquet")
    return TYPES[moment]


def _is_coded(type_: pa.DataType, kind: StatisticsKind) -> bool:
    """Whether categories are written as numbers with labels."""
    return kind != "xpt" and pa.types.is_dictionary(type_)


def held(table: pa.Table, kind: StatisticsKind) -> pa.Table:
    """Return a table as it is found again in a file of this kind: types, values and labels."""
    _refuse_names(table.column_names, kind)
    fields, columns = [], []
    for field, chunks in zip(table.schema, table.columns, strict=True):
        column, labels = _held(one_chunk(chunks), labels_of(field), kind, field.name)
        fields.append(with_labels(pa.field(field.name, column.type), _fitted(labels, column.type, kind)))
        columns.append(column)
    return pa.table(columns, schema=pa.schema(fields))


def unkept(table: pa.Table, kind: StatisticsKind) -> list[Message]:
    """List which labels and letters of missing values a file of this kind has no place for."""
    lost: dict[str, list[str]] = {"labels-lost": [], "codes-not-missing-in-format": [], "letters-of-missing-lost": []}
    shortened, undeclared, plain = lost.values()
    ready = held(table, kind)
    for field in table.schema:
        before, after = labels_of(field), labels_of(ready.schema.field(field.name))
        if before.label != after.label or not before.values.items() <= after.values.items():
            shortened.append(field.name)
        if before.missing != after.missing:
            undeclared.append(field.name)
        if pa.types.is_floating(field.type) and _letters(table, field.name) > _letters(ready, field.name):
            plain.append(field.name)
    return [Message(code, format=TITLES[kind], columns=names) for code, names in lost.items() if names]


def _letters(table: pa.Table, name: str) -> int:
    """Count the extended missing values of a column."""
    return int(np.count_nonzero(letters_of(arrow_numbers(one_chunk(table.column(name))))))


def _refuse_names(names: list[str], kind: StatisticsKind) -> None:
    holder, seen = HOLDERS[kind], dict[str, str]()
    for name in names:
        if len(name.encode()) > holder.name_length or not re.fullmatch(holder.name, name):
            rule, most = Message(holder.rule), holder.name_length
            raise DataError("name-not-for-format", column=name, format=TITLES[kind], rule=rule, most=most)
        key = name if holder.case_matters else name.lower()
        if key in seen:
            raise DataError("names-differ-in-case", columns=[seen[key], name], format=TITLES[kind])
        seen[key] = name


def _held(column: Array, labels: Labels, kind: StatisticsKind, name: str) -> tuple[Array, Labels]:
    """Convert a column to its type in the file, with the labels that tell what was in it."""
    type_: Any = column.type
    final = held_type(kind, type_, name)
    if is_text(inner(type_)) and _is_coded(type_, kind):
        return _coded(column, final, labels)
    values = decoded(column)
    if pa.types.is_boolean(values.type):
        numbers = values.cast(final)
        words = replace(labels, values=labels.values or {0.0: "false", 1.0: "true"})
        return numbers, used_labels(words, numbers)
    if is_text(values.type):
        return _text(values, kind, name), labels
    moment = type_moment(final)
    return (_numbers(values, final, kind, name) if moment is None else _moments(values, moment, kind, name)), labels


def _coded(column: Any, final: pa.DataType, labels: Labels) -> tuple[Array, Labels]:
    """Replace categories by numbers from 1 in their order."""
    codes = pc.add(column.indices.cast(final), pa.scalar(1, final))
    codes = pc.if_else(decoded(column).is_null(), pa.scalar(None, final), codes)
    values: dict[Code, str] = {
        float(code): text for code, text in enumerate(column.dictionary.to_pylist(), start=1) if text is not None
    }
    measure = labels.measure or ("ordinal" if column.type.ordered else "nominal")
    return codes, replace(labels, values=values, measure=measure, missing=())


def _text(values: Array, kind: StatisticsKind, name: str) -> Array:
    holder, text = HOLDERS[kind], values.cast(pa.string())
    if kind != "dta":
        text = pc.utf8_rtrim(text, " ")
    strange = pc.invert(pc.match_substring_regex(text, holder.characters))
    limit = Message("limit-bytes", most=holder.text, portable=kind == "por")
    _refuse(pc.or_(strange, pc.greater(pc.binary_length(text), holder.text)), "text", limit, kind, name)
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, text.type), text)  # type: ignore[no-any-return]


def _numbers(values: Array, final: pa.DataType, kind: StatisticsKind, name: str) -> Array:
    holder, is_whole = HOLDERS[kind], pa.types.is_integer(final)
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    low, high = _LONG if pa.types.is_int32(final) else (-_EXACT, _EXACT) if is_whole else (-np.inf, holder.largest)
    bad = (numbers > high) | (numbers < max(low, -holder.largest))
    bad |= (numbers != 0) & (np.abs(numbers) < holder.smallest)
    if is_whole or pa.types.is_decimal(values.type):
        back = pa.array(np.where(bad, 0, numbers), mask=np.isnan(numbers)).cast(values.type, safe=False)
        bad |= pc.fill_null(pc.not_equal(back, values), False).to_numpy(zero_copy_only=False)
    limit = Message("limit-integers", low=low, high=high) if is_whole else Message("limit-finite")
    _refuse(pa.array(bad), "number", limit, kind, name)
    if is_whole:
        return values.cast(final)
    letters = letters_of(numbers) if holder.has_letters else np.zeros(len(numbers), np.uint8)
    small = letters | 0x20  # SAS has capital letters, and an underscore, which Stata does not have
    letters = np.where((small >= ord("a")) & (small <= ord("z")), small, 0).astype(np.uint8)
    absent = np.isnan(numbers) & (letters == 0)
    numbers = np.where(letters > 0, tagged(chr(byte) if byte else None for byte in letters), numbers)
    return pa.array(numbers + 0.0 if holder.package == "sas" else numbers, mask=absent)  # SAS has no negative zero


def _moments(values: Array, moment: Moment, kind: StatisticsKind, name: str) -> Array:
    final = TYPES[moment]
    coarse = values.cast(final, safe=False)
    numbers, (low, high) = arrow_numbers(coarse), LIMITS[moment]
    bad = pa.array((numbers < low) | (numbers > high))
    if not pa.types.is_date(final):
        bad = pc.or_(bad, pc.fill_null(pc.not_equal(coarse.cast(values.type), values), False))
    _refuse(bad, "date or time", Message("limit-years", first=1, last=9999, type=str(final)), kind, name)
    return coarse


def _refuse(bad: Array, value: str, limit: Message, kind: StatisticsKind, name: str) -> None:
    if (record := first_where(bad)) is not None:
        raise DataError(
            "value-not-for-format", column=name, value=value, record=record, format=TITLES[kind], limit=limit
        )


def _fitted(labels: Labels, type_: pa.DataType, kind: StatisticsKind) -> Labels:
    """Return the labels that a file of this kind has a place for."""
    holder = HOLDERS[kind]
    fits: Callable[[Code], bool] = _label_test(type_, kind)
    values = {code: text for code, text in labels.values.items() if fits(code)}
    of_type = str if is_text(type_) else float
    missing = tuple(pair for pair in labels.missing if all(isinstance(code, of_type) for code in pair))
    return replace(
        labels,
        label=_spelt(labels.label, holder.label, kind),
        values={code: _spelt(text, holder.value_label, kind) or "" for code, text in values.items()},
        missing=missing if holder.has_missing_ranges else (),
    )


def _label_test(type_: pa.DataType, kind: StatisticsKind) -> Callable[[Code], bool]:
    """Return a test of whether a code of a column of this type can have a label."""
    if kind == "xpt":
        return lambda code: False
    if kind == "dta":
        if is_text(type_) or pa.types.is_timestamp(type_) or pa.types.is_time(type_):
            return lambda code: False
        low, high = _LONG
        return lambda code: isinstance(code, str) or (float(code).is_integer() and low <= code <= high)
    return lambda code: isinstance(code, str) == is_text(type_)


def _spelt(text: str | None, most: int, kind: StatisticsKind) -> str | None:
    """Shorten a label to so many bytes, between characters; portable files have a question mark for many of them."""
    if text is None:
        return None
    if kind == "por":
        text = "".join(character if re.match(_PORTABLE, character) else "?" for character in text)
    return text.replace("\0", "?").encode()[:most].decode(errors="ignore")

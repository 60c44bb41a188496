"""Attributes: the type of a column, and its values as numbers and back."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.plan import AttributeType
from shoal.tables.arrow import Array, pc
from shoal.tables.dtypes import inner, is_number, is_text
from shoal.tables.numbers import no_number_type, to_floats, what_it_is
from shoal.tables.stat.labels import Labels, user_missing
from shoal.tables.table import Table
from shoal.tables.text_values import decoded, first_not_date, first_where, without_views

Codes = NDArray[np.float64]
Level = str | bool | int | float

NUMBERS: frozenset[AttributeType] = frozenset({"continuous", "date", "datetime"})  # the types that are averaged
CATEGORIES: frozenset[AttributeType] = frozenset({"nominal", "boolean"})


@dataclass(frozen=True, eq=False)
class Attribute:
    """One column as numbers."""

    name: str
    type: AttributeType
    # One number a record, NaN where the value is missing: the value itself (continuous), how many ticks it is after
    # the first (date, datetime), the place of its level (ordinal) or the number of its category (nominal, boolean)
    codes: Codes
    stored: pa.DataType  # the type of the column, which `decode` returns to
    # The levels in order, or the categories sorted, so that they do not depend on the order of the records
    levels: Array | None = None
    dictionary: Array | None = None  # the categories in the order that a categorical column has them
    origin: int = 0  # the first moment, in units of the column
    tick: int = 1  # how much time a tick is, in units of the column

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which records miss the value."""
        return np.isnan(self.codes)

    @property
    def order(self) -> Any:
        """The levels or categories in the order that a categorical column lists them."""
        return self.levels if self.type == "ordinal" or self.dictionary is None else self.dictionary

    @property
    def in_days(self) -> bool:
        """Whether all moments are midnights, so that they are dates although the column could hold more."""
        day = _day(self.stored) if self.type == "datetime" else 0
        return day > 0 and self.origin % day == 0 and self.tick % day == 0

    @property
    def is_whole(self) -> bool:
        """Whether values are whole numbers or days: by the type of the column, or midnights in a column of moments."""
        return self.type == "date" or self.in_days or (self.type == "continuous" and pa.types.is_integer(self.stored))

    def decode(self, codes: Codes, *, whole: bool = False) -> Array:
        """Convert numbers to a column of the type that is published (see `published_type`); NaN is a missing value."""
        if self.levels is not None:
            return self._categories(codes, self.levels)
        if self.type == "continuous":
            return self._numbers(codes, published_type(self, whole=whole))
        # Of the moments that are no whole ticks, the nearest that the column can hold, or the nearest day: of two days
        # the later, so that moments keep their order, and a bit more, so that errors of rounding do not count.
        missing = np.isnan(codes)
        step = _day(self.stored) if self.type == "date" or (whole and self.in_days) else 1
        steps = np.where(missing, 0.0, codes) * (self.tick / step)
        rounded = np.floor(steps + (0.5 + 2.0**-20)) if self.type == "datetime" and step > 1 else np.rint(steps)
        after = rounded.astype(np.int64) * step
        return cast("Array", pa.array(after + self.origin, mask=missing).cast(_carrier(self.stored)).view(self.stored))

    def _numbers(self, codes: Codes, kind: pa.DataType) -> Array:
        if not pa.types.is_integer(kind):
            # no zero has a sign, which a reader could see
            return pa.array(codes + 0.0, mask=np.isnan(codes)).cast(kind, safe=False)
        try:
            return pa.array(np.rint(codes), mask=np.isnan(codes)).cast(kind)
        except pa.ArrowInvalid:
            raise DataError("type-range-left", column=self.name, type=str(kind)) from None

    def _categories(self, codes: Codes, levels: Array) -> Array:
        missing = np.isnan(codes)
        places: Any = pa.array(np.where(missing, 0, codes).astype(np.int64), mask=missing)
        if not isinstance(self.stored, pa.DictionaryType):
            return levels.take(places).cast(self.stored)
        # A category that no published record has goes, like every other trace of it; the others keep their order.
        published = levels.take(places)
        used = self.order.filter(pc.is_in(self.order, value_set=published.drop_null()))
        indices = pc.index_in(published, value_set=used).cast(self.stored.index_type)
        return pa.DictionaryArray.from_arrays(indices, used, ordered=self.stored.ordered)

    def read(self, column: Array) -> Codes:
        """Return the numbers of a column that was published for this attribute, with these levels and ticks.

        A value that is no level of the attribute, or cannot be read as its type, comes out as infinite.
        """
        missing = column.is_null().to_numpy(zero_copy_only=False)
        if self.levels is not None:
            places = pc.index_in(_as(decoded(column), self.levels.type), value_set=self.levels)
            codes = places.cast(pa.float64()).to_numpy(zero_copy_only=False)
        elif self.type == "continuous":
            codes = _as(column, pa.float64()).to_numpy(zero_copy_only=False)
            missing |= np.isnan(codes)
        else:
            units = moments_of(_as(column, self.stored))
            # subtracted as integers, like those of the original: a float has no microseconds of the year 1
            after = units.fill_null(self.origin).to_numpy(zero_copy_only=False) - self.origin
            codes = np.where(units.is_null().to_numpy(zero_copy_only=False), np.nan, after / self.tick)
        return np.where(missing, np.nan, np.where(np.isnan(codes), np.inf, codes))

    def rows(self, which: NDArray[Any]) -> "Attribute":
        """Return the attribute of some of the records."""
        return replace(self, codes=self.codes[which])


def published_type(attribute: Attribute, *, whole: bool) -> pa.DataType:
    """Return the type of the column that is published for an attribute; it never depends on the values.

    Integers that are rounded to `whole` numbers stay integers; others become float64, as do decimals.
    """
    stored = attribute.stored
    if attribute.type != "continuous" or pa.types.is_floating(stored):
        return stored
    return stored if whole and pa.types.is_integer(stored) else pa.float64()


def without_declared(table: Table, name: str) -> Array:
    """Return a column in which NaN, and values that the file declares to be missing, are missing."""
    column = without_views(table.column(name))
    declared = user_missing(column, table.labels(name))
    if declared.any():
        column = pc.if_else(pa.array(declared), pa.scalar(None, column.type), column)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    return column


def plain_values(column: Array) -> Array:
    """Return the values of a column such that equal ones are equal: zero has no sign, dictionaries are looked up."""
    values = decoded(column)
    if pa.types.is_floating(values.type):
        wide = values.cast(pa.float32()) if pa.types.is_float16(values.type) else values
        return cast("Array", pc.add(wide, pa.scalar(0.0, wide.type)))
    return values.cast(pa.string()) if pa.types.is_string_view(values.type) else values  # views cannot be sorted


def _as(column: Array, kind: pa.DataType) -> Array:
    """Cast a column; what cannot be cast is missing, and an integer beyond 2^53 is the nearest float."""
    try:
        return column.cast(kind, safe=not pa.types.is_floating(kind))
    except pa.ArrowException:  # a value, or the type itself
        nothing: Any = pa.nulls
        return cast("Array", nothing(len(column), kind))


def infer_type(table: Table, name: str) -> AttributeType:
    """Find the type of an attribute from its column: its own type, and the labels of a statistics package."""
    column = table.column(name)
    kind = inner(column.type)
    measure = table.labels(name).measure
    if measure == "ordinal" or (isinstance(column.type, pa.DictionaryType) and column.type.ordered):
        return "ordinal"
    if pa.types.is_boolean(kind):
        return "boolean"
    if measure == "nominal" or isinstance(column.type, pa.DictionaryType) or _is_labelled(table, name):
        return "nominal"
    if is_number(kind):
        return "continuous"
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_timestamp(kind):
        return "datetime"
    if not is_text(kind) or name in table.spoiled or name in table.disguised or column.null_count == len(column):
        raise DataError(what_it_is(column, name, table.decimal))
    if (record := first_not_date(column.cast(pa.large_string()))) is not None:
        raise DataError("not-a-date", column=name, record=record)
    return "nominal"


def _is_labelled(table: Table, name: str) -> bool:
    """Whether a statistics package has a label for every number of a column: codes, then, and no quantities."""
    labels = table.labels(name)
    column = without_declared(table, name)
    if labels.measure == "scale" or not labels.values or not is_number(column.type):
        return False
    codes = {code for code in labels.values if isinstance(code, float)}
    values = column.drop_null().cast(pa.float64(), safe=False).unique().to_pylist()
    return bool(values) and set(values) <= codes


def encode(table: Table, name: str, type_: AttributeType, levels: Sequence[Level] | None = None) -> Attribute:
    """Encode a column as numbers according to its type; values that the file declares to be missing are missing."""
    column = without_declared(table, name)
    if column.null_count == len(column):
        raise DataError("empty-column", column=name)
    if type_ == "continuous":
        return Attribute(name, type_, to_floats(column, name, table.decimal), column.type)
    if type_ in ("date", "datetime"):
        return _moments(column, name, type_)
    return in_levels(table, name, type_, levels)


def moments_of(column: Array) -> Array:
    """Return dates or moments as integers, in units of the column."""
    return column.view(_carrier(column.type)).cast(pa.int64())


def _day(kind: pa.DataType) -> int:
    """Return how many units of a column of moments a day has."""
    if pa.types.is_timestamp(kind):
        return 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    return 86_400_000 if pa.types.is_date64(kind) else 1


def _carrier(kind: pa.DataType) -> pa.DataType:
    """Return the integers behind moments."""
    return pa.int32() if pa.types.is_date32(kind) else pa.int64()


def _moments(column: Array, name: str, type_: AttributeType) -> Attribute:
    """Count ticks from the first moment; the tick is the largest that all are whole numbers of."""
    kind = column.type
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return _ticking(name, type_, kind, 0, 0, 1)  # which raises
    units = moments_of(column)
    missing = units.is_null().to_numpy(zero_copy_only=False)
    values = units.fill_null(units.drop_null()[0].as_py()).to_numpy(zero_copy_only=False)
    first, last = int(values.min()), int(values.max())
    fits = last - first <= np.iinfo(np.int64).max
    after = values - first if fits else values
    attribute = _ticking(name, type_, kind, first, last, int(np.gcd.reduce(after)))
    return replace(attribute, codes=np.where(missing, np.nan, after / attribute.tick))


def attribute_of(
    name: str,
    type_: AttributeType,
    stored: pa.DataType,
    found: Array | None = None,
    levels: Sequence[Level] | None = None,
    moments: tuple[int, int, int] = (0, 0, 1),
    dictionary: Array | None = None,
    labels: Labels | None = None,
) -> Attribute:
    """Describe an attribute whose records are elsewhere; it has no codes of its own.

    `found` are the categories or levels that occur, `levels` those given in order, `dictionary` the categories in the
    order of a categorical column; `moments` the first date, the last, and the largest tick that divides all of them.
    """
    no_codes = np.empty(0)
    if type_ == "continuous":
        if not is_number(stored):
            raise DataError(no_number_type(stored, name))
        return Attribute(name, type_, no_codes, stored)
    if found is None:
        return _ticking(name, type_, stored, *moments)
    _refuse_kind(found.type, stored, name, type_)
    order = _sorted(found)
    if type_ == "ordinal":
        ordered = dictionary if isinstance(stored, pa.DictionaryType) and stored.ordered else None
        order = _ordered(found, name, levels, ordered, labels or Labels())
    return Attribute(name, type_, no_codes, stored, levels=order, dictionary=dictionary)


def levels_missing(found: Array, levels: Array) -> Array | None:
    """Return the values that are no level of an attribute; None if there are none."""
    missing = found.filter(pc.invert(pc.is_in(found, value_set=levels)))
    return missing if len(missing) else None


def _ticking(name: str, type_: AttributeType, stored: pa.DataType, first: int, last: int, tick: int) -> Attribute:
    """Describe dates or moments; a date never gets a time of day, and no more time is counted than fits."""
    right = pa.types.is_date(stored) if type_ == "date" else pa.types.is_timestamp(stored)
    if not right:
        wanted = "dates" if type_ == "date" else "times"
        raise DataError("not-moments", column=name, type=str(stored), wanted=wanted)
    if last - first > np.iinfo(np.int64).max:
        raise DataError("time-span-too-long", column=name)
    tick = math.gcd(_day(stored), tick) if type_ == "date" else tick or 1
    return Attribute(name, type_, np.empty(0), stored, origin=first, tick=tick)


def in_levels(table: Table, name: str, type_: AttributeType, levels: Sequence[Level] | None) -> Attribute:
    """Encode a column by the places of its levels, or the numbers of its categories; an unknown level is refused."""
    column = without_declared(table, name)
    values = plain_values(column)
    own = column.dictionary.drop_null() if isinstance(column, pa.DictionaryArray) else None
    found = values.drop_null().unique() if has_categories(values.type) else values.slice(0, 0)
    attribute = attribute_of(name, type_, column.type, found, levels, dictionary=own, labels=table.labels(name))
    places = pc.index_in(values, value_set=attribute.levels)
    unknown = pc.and_(places.is_null(), values.is_valid())
    if (record := first_where(unknown)) is not None:
        count = pc.sum(unknown).as_py()
        raise DataError("unknown-level", column=name, first=record, records=count if count > 1 else None)
    return replace(attribute, codes=places.cast(pa.float64()).to_numpy(zero_copy_only=False))


def has_categories(kind: pa.DataType) -> bool:
    """Whether values of a type can be told apart as categories."""
    return is_text(kind) or is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind)


def _sorted(values: Array) -> Array:
    return values.take(pc.sort_indices(values))


def _refuse_kind(kind: pa.DataType, stored: pa.DataType, name: str, type_: AttributeType) -> None:
    if type_ == "boolean" and not pa.types.is_boolean(kind):
        raise DataError("not-boolean", column=name, type=str(stored))
    if not has_categories(kind):
        raise DataError(no_number_type(kind, name))


def _ordered(
    found: Array, name: str, levels: Sequence[Level] | None, dictionary: Array | None, labels: Labels
) -> Array:
    """Sort levels: as given, of an ordered categorical, of value labels, or of the numbers that were found."""
    if levels is not None:
        return _given(levels, found.type, name)
    if dictionary is not None:
        return dictionary
    if is_text(found.type):
        raise DataError("order-not-known", column=name)
    if labels.values and is_number(found.type):
        codes = [code for code in labels.values if isinstance(code, float)]  # others are letters, for kinds of missing
        declared = pa.array(codes, pa.float64()).cast(found.type, safe=False)
        special = user_missing(declared, labels)
        found = pa.concat_arrays([found, declared.filter(pa.array(~special))]).unique()
    return _sorted(found)


def _given(levels: Sequence[Level], kind: pa.DataType, name: str) -> Array:
    try:
        if is_number(kind):
            whole = pa.types.is_integer(kind)
            found = pa.array([int(level) if whole else float(level) for level in levels]).cast(kind)
        else:
            found = pa.array([str(level) for level in levels]).cast(kind)
    except (ValueError, pa.ArrowInvalid):
        raise DataError("values-of-other-type", field="levels", column=name, type=str(kind)) from None
    if is_number(kind) and len(found.unique()) < len(found):
        raise DataError("levels-repeat-number", column=name)
    return found

"""Columns as rules see them: as numbers, as texts, as moments."""

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, PlanError
from shoal.tables.arrow import Array, pc
from shoal.tables.dtypes import has_text, inner, is_number, is_text
from shoal.tables.text_values import decoded, render

if TYPE_CHECKING:
    from shoal.edits.levels import Levels

_SPACE = " \t\r\n"  # what XML calls white space
_NUMBER = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_DAY = 86_400.0  # seconds
_PRECISION = {"float": 1e-6, "halffloat": 1e-2}  # of types of less than 64 bits


class Records:
    """Columns as rules see them; each is converted when it is first needed, and kept.

    Rules that ask whether a value occurs in the original data look it up in `original`. Attributes with `levels` are
    compared by their order. `is_original` says that these are the original data themselves.
    """

    def __init__(
        self,
        columns: Mapping[str, Array],
        original: Mapping[str, Array] | None = None,
        levels: "Mapping[str, Levels] | None" = None,
        *,
        is_original: bool = False,
    ) -> None:
        self.levels = levels or {}
        self._columns = columns
        self._is_original = is_original
        self._original = None if original is None else Records(original, is_original=True)
        self._numbers: dict[str, NDArray[np.float64]] = {}
        self._places: dict[str, NDArray[np.float64]] = {}
        self._texts: dict[str, Array] = {}
        self._written = False

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    @property
    def original(self) -> "Records":
        """The original data; a PlanError if there is none."""
        if self._original is None:
            raise PlanError("rule-needs-original", field="edits")
        return self._original

    def column(self, name: str) -> Array:
        """Return a column as it is."""
        if name not in self._columns:
            raise PlanError("rule-on-unknown-column", field="edits", rule=None, column=name, original=self._is_original)
        return self._columns[name]

    def kind(self, name: str) -> pa.DataType:
        """Return the type of the values of a column."""
        return inner(self.column(name).type)

    @property
    def as_written(self) -> "Records":
        """The same by their texts, as XPath reads a file: 'true' and '2024-02-29' are not numbers, and '' equals ''."""
        other = copy(self)
        other._written = True
        return other

    def number(self, name: str) -> NDArray[np.float64]:
        """Return a column as numbers: of text what XPath's ``number()`` makes of it, NaN where there is none.

        Booleans are 1 and 0, dates days since 1970, timestamps seconds since then, times seconds of the day.
        """
        if self._written and (pa.types.is_boolean(self.kind(name)) or pa.types.is_temporal(self.kind(name))):
            return np.full(len(self), np.nan)
        if name not in self._numbers:
            numbers = _as_numbers(decoded(self.column(name)), name)
            numbers.flags.writeable = False  # what is kept is the same for all
            self._numbers[name] = numbers
        return self._numbers[name]

    def place(self, name: str) -> NDArray[np.float64]:
        """Return the places of an attribute's levels, NaN where there is none."""
        if name not in self._places:
            self._places[name] = self.levels[name].places(self.column(name))
        return self._places[name]

    def text(self, name: str) -> Array:
        """Return a column as text, as a file would have it; where a value is missing null, or '' as written."""
        if name not in self._texts:
            column = self.column(name)
            if not has_text(column.type):
                raise _no_values(name)
            self._texts[name] = render(column, ".")
        found: Array = pc.fill_null(self._texts[name], "") if self._written else self._texts[name]
        return found

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Return which records have no value in a column; not a number is none."""
        values = decoded(self.column(name))
        missing: NDArray[np.bool_] = values.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        return missing

    def seconds(self, name: str) -> NDArray[np.float64] | None:
        """Return a column of dates or timestamps as seconds since 1970; None for other columns."""
        kind = self.kind(name)
        if self._written:
            return None
        if pa.types.is_date(kind):
            return self.number(name) * _DAY
        return self.number(name) if pa.types.is_timestamp(kind) else None

    def precision(self, name: str) -> float:
        """Return the relative precision to which a column's type holds a number."""
        return _PRECISION.get(str(self.kind(name)), 0.0)


def _no_values(name: str) -> DataError:
    return DataError("column-not-for-rules", column=name)


def _as_numbers(values: Array, name: str) -> NDArray[np.float64]:
    kind: Any = values.type
    if is_text(kind):
        return parsed(values.cast(pa.large_string()))
    if pa.types.is_date(kind):
        return floats(values.cast(pa.date32()).cast(pa.int32()))
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return floats(values.cast(pa.int64())) / _PER_SECOND[kind.unit]
    if pa.types.is_time32(kind):
        return floats(values.cast(pa.int32())) / _PER_SECOND[kind.unit]
    if is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return floats(values)
    raise _no_values(name)


def floats(values: Array) -> NDArray[np.float64]:
    """Return numbers as doubles, the nearest where they are none; NaN where one is missing."""
    doubles: NDArray[np.float64] = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return doubles


def parsed(texts: Array) -> NDArray[np.float64]:
    """Read texts as XPath's ``number()`` does, with exponents as XPath 2.0 has them: NaN for what is no number."""
    plain = pc.utf8_trim(texts, _SPACE)
    is_good = pc.match_substring_regex(plain, _NUMBER)
    return floats(pc.if_else(is_good, plain, pa.scalar(None, plain.type)))


def read_moment(text: str) -> np.float64 | None:
    """Read an ISO date or time as seconds since 1970; without a zone it is in the zone of whatever it meets."""
    for zone in (None, "UTC"):
        try:
            moment = pa.array([text.strip(_SPACE)]).cast(pa.timestamp("us", zone)).cast(pa.int64())
        except pa.ArrowInvalid:
            continue
        return np.float64(floats(moment)[0] / _PER_SECOND["us"])
    return None

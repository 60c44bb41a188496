"""What one pass over the records shows of their attributes: facts that do not depend on pieces, order or backend."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.edits.passes import Basis
from shoal.errors import DataError
from shoal.plan import AttributeType
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.attributes import NUMBERS, moments_of, plain_values, without_declared
from shoal.tables.dtypes import is_number
from shoal.tables.numbers import first_inexact, what_it_is
from shoal.tables.profile import ColumnProfile

if TYPE_CHECKING:
    from shoal.pipeline.unit_codes import UnitSummary

MOST_CATEGORIES = 100_000


@dataclass(frozen=True)
class Flaw:
    """How many records have something wrong, and the first of them, from 1, where records have numbers."""

    count: int = 0
    first: int | None = None

    def __add__(self, other: "Flaw") -> "Flaw":
        return Flaw(self.count + other.count, _least(self.first, other.first))


@dataclass(frozen=True)
class Column:
    """What is known of an attribute.

    Attributes
    ----------
    records
        How many were seen.
    missing, infinite, inexact, not_positive
        Records that miss the value, and numbers that are infinite, beyond what a float holds exactly, or 0 and less.
    low, high, tick
        The range of numbers; of dates, in units of the column, with the largest tick that all are whole numbers of.
    categories
        Levels or categories that occur.
    dictionary
        The categories of a categorical column, in the order of its first piece, then of the next.
    orders
        Whether pieces have their categories in different orders.
    """

    records: int = 0
    missing: Flaw = Flaw()
    infinite: Flaw = Flaw()
    inexact: Flaw = Flaw()
    not_positive: Flaw = Flaw()
    low: float | int | None = None
    high: float | int | None = None
    tick: int = 0
    categories: frozenset[Any] = field(default_factory=frozenset)
    dictionary: tuple[Any, ...] | None = None
    orders: bool = False

    def __add__(self, other: "Column") -> "Column":
        if self.low is None or other.low is None:
            tick = self.tick or other.tick
        else:
            tick = math.gcd(self.tick, other.tick, int(abs(self.low - other.low))) if isinstance(self.low, int) else 0
        return Column(
            self.records + other.records,
            self.missing + other.missing,
            self.infinite + other.infinite,
            self.inexact + other.inexact,
            self.not_positive + other.not_positive,
            _least(self.low, other.low),
            _most(self.high, other.high),
            tick,
            _some(self.categories | other.categories),
            _joined(self.dictionary, other.dictionary),
            self.orders
            or other.orders
            or (None not in (self.dictionary, other.dictionary) and self.dictionary != other.dictionary),
        )

    @property
    def present(self) -> int:
        """How many records have a value."""
        return self.records - self.missing.count


def _least(one: Any, two: Any) -> Any:
    return two if one is None else one if two is None else min(one, two)


def _most(one: Any, two: Any) -> Any:
    return two if one is None else one if two is None else max(one, two)


def _some(categories: frozenset[Any]) -> frozenset[Any]:
    """Keep one category too many at the most, so that too many are noticed and do not fill the memory."""
    return categories if len(categories) <= MOST_CATEGORIES else frozenset(list(categories)[: MOST_CATEGORIES + 1])


def _joined(one: tuple[Any, ...] | None, two: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if one is None or two is None or one == two:
        return two if one is None else one
    known = {*one}
    return (*one, *(category for category in two if category not in known))


@dataclass(frozen=True)
class Summary:
    """What is known of the attributes of some records, and of what rules need to know of them, where there are any.

    Numbers whose type was not given have a profile; None if some are not whole.
    """

    columns: Mapping[str, Column]
    edits: Basis | None = None
    profiles: Mapping[str, ColumnProfile | None] = field(default_factory=dict)
    units: "UnitSummary | None" = None

    def __add__(self, other: "Summary") -> "Summary":
        columns = {name: column + other.columns[name] for name, column in self.columns.items()}
        edits = None if self.edits is None or other.edits is None else self.edits + other.edits
        profiles = {
            name: None if one is None or (two := other.profiles[name]) is None else one + two
            for name, one in self.profiles.items()
        }
        units = None if self.units is None or other.units is None else self.units + other.units
        return Summary(columns, edits, profiles, units)

    @property
    def records(self) -> int:
        """How many records there are."""
        return next(iter(self.columns.values())).records

    def with_gaps(self, names: Iterable[str]) -> list[str]:
        """Name those of some attributes that records miss."""
        return [name for name in names if self.columns[name].missing.count]


def summarize(piece: pa.Table, types: Mapping[str, AttributeType], start: int | None, decimal: str = ".") -> Summary:
    """Look at attributes of some records; `start` is the number of records before them, where that is known."""
    table = Table(piece)
    return Summary({name: _column(table, name, type_, start, decimal) for name, type_ in types.items()})


def _column(table: Table, name: str, type_: AttributeType, start: int | None, decimal: str) -> Column:
    values = without_declared(table, name)
    missing = flaw(values.is_null().to_numpy(zero_copy_only=False), start)
    found = Column(len(values), missing)
    present = values.drop_null()
    if type_ == "continuous":
        if not is_number(values.type):
            return found + _not_numbers(values, name, decimal)
        return found + _numbers(values, start) if len(present) else found
    if not len(present):
        return found
    if type_ in NUMBERS and pa.types.is_temporal(values.type) and not pa.types.is_time(values.type):
        units = moments_of(present).to_numpy(zero_copy_only=False)
        low, high = int(units.min()), int(units.max())
        fits = high - low <= np.iinfo(np.int64).max
        return found + Column(low=low, high=high, tick=int(np.gcd.reduce(units - low)) if fits else 1)
    if type_ in NUMBERS or pa.types.is_nested(values.type):
        return found  # the description of the attribute says that it is of another type
    dictionary = None
    if isinstance(values, pa.DictionaryArray):
        dictionary = tuple(values.dictionary.drop_null().to_pylist())
    return found + Column(
        categories=_some(frozenset(plain_values(present).unique().to_pylist())), dictionary=dictionary
    )


def _not_numbers(values: Array, name: str, decimal: str) -> Column:
    if values.null_count == len(values):
        return Column()
    raise DataError(what_it_is(values, name, decimal))


def _numbers(values: Array, start: int | None) -> Column:
    floats = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    infinite = np.isinf(floats)
    at = first_inexact(values, floats)
    inexact = Flaw() if at is None else Flaw(1, None if start is None else at + start)
    with np.errstate(invalid="ignore"):
        not_positive = floats <= 0
    finite = floats[np.isfinite(floats)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (None, None)
    flaws = [flaw(flags, start) for flags in (infinite, not_positive)]
    return Column(infinite=flaws[0], inexact=inexact, not_positive=flaws[1], low=low, high=high)


def flaw(flags: NDArray[np.bool_], start: int | None) -> Flaw:
    """Count what is wrong in some records, before which there are `start` others, where that is known."""
    count = int(flags.sum())
    return Flaw(count, None if start is None or not count else int(np.argmax(flags)) + 1 + start)

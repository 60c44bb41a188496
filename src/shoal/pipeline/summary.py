"""What one pass over pieces of a table tells of it: sums that do not depend on pieces, their order or the engine."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.edits.passes import Basis
from shoal.kernels.standardize import Scale
from shoal.plan import AttributeType
from shoal.tables.arrow import Array
from shoal.tables.arrow import compute as pc
from shoal.tables.attributes import NUMBERS, moments_of
from shoal.tables.dtypes import is_number
from shoal.tables.text_values import decoded, one_chunk

_PLACES = 1 << 30  # values are summed up as places in their range, which are integers and add up exactly
_HALF = 15
MOST_CATEGORIES = 100_000


@dataclass(frozen=True)
class Column:
    """What is known of an attribute: how many records, how many that miss it, its range, ticks and categories."""

    records: int = 0
    missing: int = 0
    infinite: int = 0
    first_missing: int | None = None
    first_infinite: int | None = None
    low: float | int | None = None
    high: float | int | None = None
    tick: int = 0
    categories: frozenset[Any] = field(default_factory=frozenset)

    def __add__(self, other: "Column") -> "Column":
        if self.low is None or other.low is None:
            tick = self.tick or other.tick
        else:
            tick = math.gcd(self.tick, other.tick, int(abs(self.low - other.low))) if self._has_ticks else 0
        return Column(
            self.records + other.records,
            self.missing + other.missing,
            self.infinite + other.infinite,
            _least(self.first_missing, other.first_missing),
            _least(self.first_infinite, other.first_infinite),
            _least(self.low, other.low),
            _most(self.high, other.high),
            tick,
            _some(self.categories | other.categories),
        )

    @property
    def _has_ticks(self) -> bool:
        return isinstance(self.low, int)


def _least(one: Any, two: Any) -> Any:
    return two if one is None else one if two is None else min(one, two)


def _most(one: Any, two: Any) -> Any:
    return two if one is None else one if two is None else max(one, two)


def _some(categories: frozenset[Any]) -> frozenset[Any]:
    """Keep one category too many at the most, so that too many are noticed and do not fill the memory."""
    return categories if len(categories) <= MOST_CATEGORIES else frozenset(list(categories)[: MOST_CATEGORIES + 1])


@dataclass(frozen=True)
class Summary:
    """What is known of the attributes of some records, and of what rules need to know of them, where there are any."""

    columns: Mapping[str, Column]
    edits: Basis | None = None

    def __add__(self, other: "Summary") -> "Summary":
        columns = {name: column + other.columns[name] for name, column in self.columns.items()}
        edits = None if self.edits is None or other.edits is None else self.edits + other.edits
        return Summary(columns, edits)


def summarize(piece: pa.Table, types: Mapping[str, AttributeType], start: int | None = None) -> Summary:
    """Look at the attributes of some records; `start` is the number of records before them, where that is known."""
    return Summary({name: _column(one_chunk(piece.column(name)), type_, start) for name, type_ in types.items()})


def _column(values: Array, type_: AttributeType, start: int | None) -> Column:
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    found = Column(len(values), values.null_count, first_missing=_first(values.is_null(), start))
    present = values.drop_null()
    if not len(present):
        return found
    if type_ == "continuous" and is_number(values.type):
        floats = present.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        infinite = pc.is_inf(values.cast(pa.float64(), safe=False)).fill_null(False)
        count = int(np.isinf(floats).sum())
        low, high = float(floats.min()), float(floats.max())
        return found + Column(0, 0, count, None, _first(infinite, start), low, high)
    if type_ in NUMBERS:
        units = moments_of(present).to_numpy(zero_copy_only=False)
        low, high = int(units.min()), int(units.max())
        return found + Column(low=low, high=high, tick=int(np.gcd.reduce(units - low)))
    return found + Column(categories=_some(frozenset(decoded(present).unique().to_pylist())))


def _first(flags: Array, start: int | None) -> int | None:
    if start is None or not len(flags) or not pc.any(flags).as_py():
        return None
    return int(pc.index(flags, pa.scalar(True)).as_py()) + 1 + start


@dataclass(frozen=True)
class Moments:
    """Count, sum and sum of squares of places in the range of each attribute; exact."""

    count: tuple[int, ...]
    total: tuple[int, ...]
    squares: tuple[int, ...]

    def __add__(self, other: "Moments") -> "Moments":
        pairs = zip(self, other, strict=True)
        return Moments(*(tuple(a + b for a, b in zip(one, two, strict=True)) for one, two in pairs))

    def __iter__(self) -> Any:
        return iter((self.count, self.total, self.squares))

    def scales(self, low: Sequence[float], high: Sequence[float]) -> list[Scale]:
        """Give mean and standard deviation (ddof 0) of each attribute, in its own units.

        Two values that are apart by the whole range alone make a standard deviation of sqrt(range^2 / 2n), so that
        places in 30 bits tell enough of it for any number of records that there will be.
        """
        found = []
        for n, total, squares, bottom, top in zip(*self, low, high, strict=True):
            width = (top - bottom) / _PLACES
            variance = (n * squares - total * total) / (n * n) if n else 0.0
            found.append(Scale(bottom + total / max(n, 1) * width, math.sqrt(variance) * width))
        return found


def moments(codes: np.ndarray, low: Sequence[float], high: Sequence[float]) -> Moments:
    """Look at the places of some records; NaN is left out."""
    parts = [_places(column, bottom, top) for column, bottom, top in zip(codes.T, low, high, strict=True)]
    return Moments(*(tuple(each[i] for each in parts) for i in range(3)))


def _places(column: np.ndarray, low: float, high: float) -> tuple[int, int, int]:
    present = column[~np.isnan(column)]
    if high == low:
        return len(present), 0, 0
    places = np.rint((present - low) / (high - low) * _PLACES).astype(np.int64)
    # A square has 60 bits, of which a sum would overflow: squares of the two halves have 30.
    upper, lower = places >> _HALF, places & ((1 << _HALF) - 1)
    squares = (int(upper @ upper) << 2 * _HALF) + (int(upper @ lower) << (_HALF + 1)) + int(lower @ lower)
    return len(present), int(places.sum()), squares

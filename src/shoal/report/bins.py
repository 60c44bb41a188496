"""Ranges with round borders, for numbers and for dates: of the data they show two quantiles, to one step of a grid."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.tables.attributes import Attribute, Codes

_TO = "\N{EN DASH}"  # between the ends of a range
_TAIL = 0.05  # of the records at each end are in an open range
_STEPS = 10  # between the tails, about
_MOST_SIZES = 12  # of groups that are told apart
# Borders of dates and moments, the finest first.
_CALENDAR = [
    *((1, "s"), (10, "s"), (1, "m"), (10, "m"), (1, "h"), (6, "h"), (1, "D"), (7, "D"), (1, "M"), (3, "M")),
    *((years, "Y") for years in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)),
]


@dataclass(frozen=True)
class Ranges:
    """Ranges of values: below the first edge, from each edge to before the next, and from the last edge on."""

    edges: Codes  # in codes of the attribute, rising
    texts: list[str]  # the edges as they are written
    below: str = "under {}"  # the name of the first range
    above: str = "{} or more"  # the name of the last range
    open: bool = True  # whether the values are in ranges at all; levels and categories are not

    @classmethod
    def none(cls) -> Self:
        """Return no ranges, for values that are counted one by one."""
        return cls(np.empty(0), [], open=False)

    def label(self, first: int, last: int) -> str:
        """Call the ranges from `first` to `last` by their common borders."""
        if first == 0 and last == len(self.edges):
            return "all values"
        if first == 0:
            return self.below.format(self.texts[last])
        if last == len(self.edges):
            return self.above.format(self.texts[first - 1])
        return f"{self.texts[first - 1]} {_TO} {self.texts[last]}"


def number_ranges(values: Codes, least: int, *, whole: bool = False) -> Ranges:
    """Divide numbers at multiples of 1, 2 or 5 times a power of ten; whole numbers at whole ones."""
    between = _between(values, least)
    if between is None:
        return Ranges(np.empty(0), [])
    low, high = between
    step = _round_step((high - low) / _STEPS)
    step = max(step, 1.0) if whole else step
    if not 0 < step < math.inf or max(abs(low), abs(high)) / step > 2.0**52:
        return Ranges(np.empty(0), [])
    edges = np.unique(step * np.arange(math.ceil(low / step), math.floor(high / step) + 1))
    edges = edges[(edges >= low) & (edges <= high)]  # a product may round to beyond a tail, and a quotient to zero
    return Ranges(edges, [_number_text(float(edge), step) for edge in edges])


def moment_ranges(attribute: Attribute, least: int) -> Ranges:
    """Divide dates and moments where a year, a month, a day, an hour, a minute or a second begins."""
    between = _between(attribute.codes, least)
    own = _unit(attribute.stored)
    if between is not None:
        units = np.array([round(attribute.origin + code * attribute.tick) for code in between])
        low, high = units.astype(f"M8[{own}]")
        for count, unit in _CALENDAR:
            first, last = (int(moment.astype(f"M8[{unit}]").astype(np.int64)) // count for moment in (low, high))
            if last - first <= _STEPS + 2:
                edges = (np.arange(first + 1, last + 1) * count).astype(f"M8[{unit}]")
                codes = (edges.astype(f"M8[{own}]").astype(np.int64) - attribute.origin) / attribute.tick
                texts = [str(text).replace("T", " ") for text in np.datetime_as_string(edges)]
                return Ranges(codes, texts, "before {}", "{} or later")
    return Ranges(np.empty(0), [], "before {}", "{} or later")


def _unit(stored: pa.DataType) -> str:
    """Return the unit of time that a column counts in."""
    if isinstance(stored, pa.TimestampType):
        return str(stored.unit)
    return "D" if pa.types.is_date32(stored) else "ms"


def _between(values: Codes, least: int) -> tuple[float, float] | None:
    """Return the values that end the tails: a twentieth of the records, or at least `least` where all are alike."""
    ordered = np.sort(values[~np.isnan(values)])
    for share in (_TAIL, 0.0):
        tail = max(least, math.floor(share * len(ordered)))
        if 2 * tail <= len(ordered):
            low, high = float(ordered[tail - 1]), float(ordered[-tail])
            if low < high and math.isfinite(high - low):
                return low, high
    return None


def _round_step(width: float) -> float:
    """Return 1, 2 or 5 times a power of ten, not less than `width`."""
    power = 10.0 ** math.floor(math.log10(width)) if width > 0 else 0.0
    return next((many * power for many in (1, 2, 5) if many * power >= width), 10 * power)


def _number_text(value: float, step: float) -> str:
    """Write a multiple of a step with as many digits as tell it from the next."""
    digits = max(0, -math.floor(math.log10(step)))
    if digits <= 6 and abs(value) < 1e12:
        return f"{value + 0.0:,.{digits}f}"  # adding zero takes the sign off -0.0
    return f"{value:.{max(1, 1 + math.ceil(math.log10(max(abs(value), step) / step)))}g}"


def size_edges(sizes: NDArray[np.int64]) -> list[int]:
    """Divide the sizes of groups: every size while these are few, else ranges that double in width after the first."""
    low, high = int(sizes.min()), int(sizes.max())
    width = 1 if high - low < _MOST_SIZES else max(1, low // 5)
    edges = [low]
    while edges[-1] <= high:
        edges.append(edges[-1] + width)
        if high - low >= _MOST_SIZES and len(edges) > 5:
            width *= 2
    return edges


def size_ranges(sizes: NDArray[np.int64]) -> tuple[list[str], list[int]]:
    """Count groups by their size, with labels."""
    edges = size_edges(sizes)
    counts = np.histogram(sizes, edges)[0]
    labels = [f"{a:,}" if b == a + 1 else f"{a:,} {_TO} {b - 1:,}" for a, b in pairwise(edges)]
    return labels, counts.tolist()

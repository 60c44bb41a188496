"""What text columns look like: the type that all their cells allow, and numbers that are none."""

from dataclasses import dataclass
from functools import reduce
from operator import add

import pyarrow as pa

from shoal.tables.arrow import Array
from shoal.tables.arrow import compute as pc
from shoal.tables.dtypes import is_number, is_text
from shoal.tables.text_values import count_numbers, first_not_number, infer


@dataclass(frozen=True)
class Look:
    """What some cells of a text column look like.

    Attributes
    ----------
    type
        Of all cells; None if all are blank, text if nothing else fits.
    present, numbers
        How many cells hold something, and how many of these a number.
    first_text
        The first record (from 1) that holds neither a number nor a code.
    """

    type: pa.DataType | None = None
    present: int = 0
    numbers: int = 0
    first_text: int | None = None

    def __add__(self, other: "Look") -> "Look":
        firsts = [first for first in (self.first_text, other.first_text) if first is not None]
        return Look(
            _common(self.type, other.type),
            self.present + other.present,
            self.numbers + other.numbers,
            min(firsts, default=None),
        )

    @property
    def is_spoiled(self) -> bool:
        """Whether at least half of the cells are numbers, and others are text."""
        is_mostly = self.numbers > 0 and 2 * self.numbers >= self.present
        return is_mostly and self.type is not None and is_text(self.type) and self.first_text is not None

    @property
    def is_disguised(self) -> bool:
        """Whether all cells are numbers."""
        return self.type is not None and is_number(self.type)


def look(cells: Array, decimal: str, start: int) -> Look:
    """Look at some cells, before which there are `start` records."""
    values = infer(cells, decimal)
    present = pc.sum(pc.not_equal(pc.utf8_trim_whitespace(cells), "")).as_py() or 0
    if not present:
        return Look()
    if is_number(values.type):
        return Look(values.type, present, present)
    first = first_not_number(cells, decimal, codes=True)
    return Look(
        pa.string() if is_text(values.type) else values.type,
        present,
        count_numbers(cells, decimal),
        None if first is None else first + start,
    )


def together(parts: list[Look]) -> Look:
    """Add up what was seen in pieces."""
    return reduce(add, parts, Look())


def _common(one: pa.DataType | None, two: pa.DataType | None) -> pa.DataType | None:
    """Give the type that holds the cells of both."""
    if one is None or two is None or one == two:
        return one if two is None else two
    if is_number(one) and is_number(two):
        return pa.float64()
    moments = [kind for kind in (one, two) if pa.types.is_timestamp(kind)]
    if len(moments) == 2 and moments[0].tz == moments[1].tz:
        return pa.timestamp("ns", moments[0].tz)
    if len(moments) == 1 and moments[0].tz is None and (pa.types.is_date(one) or pa.types.is_date(two)):
        return moments[0]
    return pa.string()

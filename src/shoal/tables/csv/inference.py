"""Types of text columns: found piece by piece, decided once for all cells."""

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from shoal.tables.arrow import Array
from shoal.tables.dtypes import is_number, is_text
from shoal.tables.text_values import count_figures, count_present, first_not_number, narrowest, types_of


@dataclass(frozen=True)
class Look:
    """What some cells of a text column look like; looks at the pieces of a column add up to that of the column."""

    types: frozenset[pa.DataType] | None = None  # other than text, that hold every cell; None if all are blank
    present: int = 0  # how many cells are not blank
    numbers: int = 0  # how many of these are numbers, with or without marks between thousands
    first_text: int | None = None  # the first record (from 1) that holds neither a number nor a code

    def __add__(self, other: "Look") -> "Look":
        both = [each.types for each in (self, other) if each.types is not None]
        firsts = [each.first_text for each in (self, other) if each.first_text is not None]
        return Look(
            frozenset.intersection(*both) if both else None,
            self.present + other.present,
            self.numbers + other.numbers,
            min(firsts, default=None),
        )

    @property
    def type(self) -> pa.DataType | None:
        """Of all cells; None if all are blank, text if nothing else fits."""
        return None if self.types is None else narrowest(self.types) or pa.string()

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
    """Return the look of some cells, before which there are `start` records."""
    types = types_of(cells, decimal)
    if types is None:
        return Look()
    present = count_present(cells)
    if pa.float64() in types:
        return Look(types, present, present)
    first = first_not_number(cells, decimal, codes=True)
    return Look(types, present, count_figures(cells), None if first is None else first + start)


def together(parts: Iterable[Look]) -> Look:
    """Return the look of a whole column, from those of its pieces."""
    return sum(parts, Look())

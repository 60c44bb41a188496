"""Random columns for the attributes that a plan names, and for some others."""

import datetime as dt
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from fuzz.draws import Draws

LEVELS = ["low", "middle", "high", "top"]
# What each column may be stored as; the first is what a CSV file gives back.
_FLOATS, _WHOLES = [pa.float64(), pa.float64(), pa.float32()], [pa.int64(), pa.int8(), pa.uint16()]
_TOWNS = ["Ulm", "Bad Ems, Lahn", 'the "Old" town', "São; José", "Ville\tneuve", "O'Hara"]
_UNITS_OF_TIME = {"": ["us", "ns", "s"], "parquet": ["us", "ns"], "pandas": ["us", "ns"], "polars": ["us", "ns"]}
_LARGEST_WHOLE = 2**53
_FIRST = dt.date(2020, 1, 1)


def table_of(draws: Draws, plan: dict[str, Any], n: int, source: str = "") -> pa.Table:
    """Draw a table with every column that a plan names, of types that a `source`, a kind of file or Spark, keeps.

    x + y = s in all records, or in most where the plan allows others; units and households have one to three records,
    and a household one number of rooms and one quarter.
    """
    named = {*names_in(plan)}
    names = [name for name in ALL if name in named or draws.chance(5)]
    made = _Columns(draws, plan, n, source)
    table = pa.table({name: made.column(name) for name in ALL if name in {"row", "id", *names}})
    return _as_in_excel(table) if source == "xlsx" else table


def _as_in_excel(table: pa.Table) -> pa.Table:
    """Store floats that are all whole as integers, which workbooks do not tell apart."""
    for at, field in enumerate(table.schema):
        if pa.types.is_floating(field.type) and all(map(_is_whole, table[at].to_pylist())):
            table = table.set_column(at, field.name, table[at].cast(pa.int64()))
    return table


def names_in(asked: Any) -> Iterator[str]:
    """Yield every column that is named somewhere in a plan."""
    if isinstance(asked, str):
        yield from RULES.get(asked, (asked,))
    elif isinstance(asked, dict):
        for name, value in asked.items():
            yield name
            yield from names_in(value)
    elif isinstance(asked, list):
        for each in asked:
            yield from names_in(each)


def _is_whole(value: float | None) -> bool:
    return value is None or (abs(value) < _LARGEST_WHOLE and value == int(value))


class _Columns:
    def __init__(self, draws: Draws, plan: dict[str, Any], n: int, source: str) -> None:
        self._draws, self._n, self._plain = draws, n, source in ("csv", "xlsx")
        self._units_of_time = _UNITS_OF_TIME.get(source, ["us"])
        self._odd = "edits" in plan and plan.get("edits_original") in ("keep", "exclude")
        self._gaps = plan.get("missing", "error") != "error" or draws.chance(30)
        self._few = plan.get("only") is not None
        self._positive = int("geometric_mean" in names_in(plan.get("aggregate", "")))
        spread = 2 if self._few else draws.pick([5, 30, 200, 30])
        part = draws.pick([1, 2, 4])
        self._x, self._y = (self._drawn(lambda: self._positive + draws.integer(0, spread) / part) for _ in range(2))
        self._homes = self._units()
        of_home = {home: draws.byte() for home in dict.fromkeys(self._homes)}
        self._size_of_z = draws.pick([1.0, 1.0, 1.0, 1e-12, 1e15])
        recoded = "town" in plan.get("recode", {})
        self._towns = ["a", "b", "c", "d", "e"] if recoded or draws.chance(2) else _TOWNS
        self._of_home = [of_home[home] for home in self._homes]

    def column(self, name: str) -> Any:
        draws, n = self._draws, self._n
        make: dict[str, Callable[[], Any]] = {
            "row": lambda: _shuffled(draws, n),
            "id": lambda: [f"person {i}" for i in range(n)],
            "x": lambda: self._number(self._with_gaps(self._x), [pa.float64()]),
            "y": lambda: self._number(self._y, _FLOATS),
            "s": lambda: self._number([*self._sums()], [pa.float64()]),
            "z": lambda: self._number(self._with_gaps(self._drawn(self._cube)), [pa.float64()]),
            "n": lambda: self._number(
                self._drawn(lambda: draws.integer(self._positive, 4 if self._few else 12)), _WHOLES
            ),
            "town": lambda: self._text(self._drawn(lambda: draws.pick(self._towns))),
            "size": lambda: self._text(self._drawn(lambda: draws.pick(LEVELS))),
            "day": lambda: self._drawn(lambda: _FIRST + dt.timedelta(draws.integer(0, 3 if self._few else 90))),
            "hour": lambda: self._drawn(lambda: dt.datetime(2020, 1, 1) + dt.timedelta(hours=draws.integer(0, 99))),
            "flag": lambda: self._drawn(lambda: draws.chance(2)),
            "rooms": lambda: [1 + value % 6 for value in self._of_home],
            "quarter": lambda: [f"q{value // 8 % 3}" for value in self._of_home],
            "ill": lambda: self._drawn(lambda: draws.pick(["flu", "none", "cold", "flu", "pox"])),
            "wage": lambda: self._drawn(lambda: float(draws.integer(0, 50))),
            "bonus": lambda: self._drawn(lambda: draws.integer(0, 400) / 8),
            "w": lambda: self._drawn(lambda: draws.integer(1, 40) / 4),
            "region": lambda: self._drawn(lambda: draws.pick(["N", "N", "S"])),
            "note": lambda: self._drawn(lambda: draws.pick(["fine", "=1+1", "-x", "@b", "+c", "'d"])),
            "firm": self._units,
            "home": lambda: self._homes,
        }
        made = make[name]()
        if name == "hour":
            return pa.array(made, pa.timestamp(draws.pick(self._units_of_time)))
        return pa.array(made) if isinstance(made, list) else made

    def _drawn(self, value: Callable[[], Any]) -> list[Any]:
        return [value() for _ in range(self._n)]

    def _cube(self) -> float:
        center = 0 if self._positive else 200
        return self._size_of_z * (self._positive + (self._draws.integer(0, 400) - center) ** 3 / 8)

    def _sums(self) -> Iterator[float]:
        for a, b in zip(self._x, self._y, strict=True):
            yield a + b - 3 * (self._odd and self._draws.chance(8))

    def _number(self, values: list[Any], types: list[pa.DataType]) -> Any:
        return pa.array(values, types[0] if self._plain else self._draws.pick(types))

    def _with_gaps(self, values: list[Any]) -> list[Any]:
        gaps = self._gaps and self._draws.chance(2)
        return [None if self._draws.chance(6) else value for value in values] if gaps else values

    def _text(self, values: list[Any]) -> Any:
        column = pa.array(self._with_gaps(values), pa.string())
        return column.dictionary_encode() if not self._plain and self._draws.chance(4) else column

    def _units(self) -> list[str]:
        return [*islice(self._unit_of_each(), self._n)]

    def _unit_of_each(self) -> Iterator[str]:
        for number in range(self._n):
            yield from [f"u{number}"] * (1 + self._draws.integer(0, 2))


def _shuffled(draws: Draws, n: int) -> list[int]:
    rows = [*range(n)]
    for i in range(n - 1, 0, -1):
        j = draws.integer(0, i)
        rows[i], rows[j] = rows[j], rows[i]
    return rows


ALL = ["row", "id", "x", "y", "s", "z", "n", "town", "size", "day", "hour", "flag", "rooms", "quarter", "ill", "wage"]
ALL += ["bonus", "w", "region", "note", "firm", "home"]
# Rules, and the attributes that they need.
RULES: dict[str, tuple[str, ...]] = {
    "x <= s": ("x", "s"),
    "x >= 0": ("x",),
    "x + y == s": ("x", "y", "s"),
    "n >= 0": ("n",),
    "if n > 3 then x >= 0": ("n", "x"),
}

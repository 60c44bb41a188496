"""Equivalence classes by SQL: how many combinations of values occur how often, on any backend."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.tables import Table
from shoal.tables.arrow import Array, pc
from shoal.tables.attributes import plain_values, without_declared
from shoal.tables.dtypes import inner
from shoal.tables.text_values import decoded, without_views

Sizes = dict[int, int]  # how many groups there are of each size

_AT_ONCE = 60  # columns of one query with grouping sets; Spark takes 64


class Database(Protocol):
    """What answers queries on `pairs`."""

    @property
    def collect(self) -> str:
        """The name of the aggregate that collects values."""

    @property
    def hash(self) -> str:
        """The name of the function that gives equal values equal numbers."""

    def rows(self, query: str) -> "list[tuple[Any, ...]]":
        """Return the rows of a small result."""

    def each(self, query: str) -> Iterator[pa.RecordBatch]:
        """Return a large result in pieces."""

    def sample(self, columns: Sequence[str], most: int, records: int) -> pa.Table:
        """Return expressions on at most so many of the records; all records where they are fewer."""


def sizes_of(database: Database, keys: Sequence[str], count: str = "count(*)") -> Sizes:
    """Count how many combinations of columns occur how often, or have so many units, by what `count` counts."""
    inside = f"SELECT {count} AS n FROM pairs GROUP BY {', '.join(keys)}"  # noqa: S608 - no outside text
    return {int(n): int(count) for n, count in database.rows(f"SELECT n, count(*) FROM ({inside}) AS g GROUP BY n")}  # noqa: S608


class Spread(NamedTuple):
    """How many combinations there are that so many records or units share, and how many records these have."""

    sizes: Sizes
    records: Sizes

    @classmethod
    def of(cls, sizes: Sizes) -> "Spread":
        """Return that of combinations whose sizes are numbers of records."""
        return cls(sizes, {size: size * count for size, count in sizes.items()})


def spreads_of_each(
    database: Database,
    sets: Sequence[Sequence[str]],
    known: Mapping[frozenset[str], Sizes] | None = None,
    unit: str | None = None,
) -> list[Spread]:
    """Count the combinations of several sets of columns, by the records or by the units that share them."""
    if unit is None:
        return [Spread.of(sizes) for sizes in sizes_of_each(database, sets, known)]
    found: dict[frozenset[str], Spread] = {}
    for keys in map(frozenset, sets):
        if keys not in found:
            by = ", ".join(sorted(keys))
            inside = f"SELECT count(DISTINCT {unit}) AS units, count(*) AS n FROM pairs GROUP BY {by}"  # noqa: S608
            rows = database.rows(f"SELECT units, count(*), sum(n) FROM ({inside}) AS g GROUP BY units")  # noqa: S608
            sizes = {int(units): int(count) for units, count, _ in rows}
            found[keys] = Spread(sizes, {int(units): int(records) for units, _, records in rows})
    return [found[frozenset(keys)] for keys in sets]


def sizes_of_each(
    database: Database, sets: Sequence[Sequence[str]], known: Mapping[frozenset[str], Sizes] | None = None
) -> list[Sizes]:
    """Count the combinations of several sets of columns, with as few passes over the records as possible."""
    found = {**(known or {})}
    batch: set[frozenset[str]] = set()
    asked = [frozenset(keys) for keys in sets if frozenset(keys) not in found]
    for keys in [*asked, frozenset[str]()]:
        if batch and (not keys or len(frozenset().union(*batch, keys)) > _AT_ONCE):
            found |= _grouping_sets(database, batch)
            batch = set()
        if len(keys) > _AT_ONCE:
            found[keys] = sizes_of(database, sorted(keys))
        elif keys:
            batch.add(keys)
    return [found[frozenset(keys)] for keys in sets]


def _grouping_sets(database: Database, sets: set[frozenset[str]]) -> dict[frozenset[str], Sizes]:
    """Count several sets of columns in one pass."""
    columns = sorted(frozenset().union(*sets))
    bits = ", ".join(f"GROUPING({column}) AS g{i}" for i, column in enumerate(columns))
    each = ", ".join(f"({', '.join(sorted(keys))})" for keys in sets)
    inside = f"SELECT {bits}, count(*) AS n FROM pairs GROUP BY GROUPING SETS ({each})"  # noqa: S608 - no outside text
    names = ", ".join(f"g{i}" for i in range(len(columns)))
    found: dict[frozenset[str], Sizes] = {}
    for row in database.rows(f"SELECT {names}, n, count(*) FROM ({inside}) AS g GROUP BY {names}, n"):  # noqa: S608
        keys = frozenset(column for column, absent in zip(columns, row, strict=False) if not absent)
        found.setdefault(keys, {})[int(row[-2])] = int(row[-1])
    return found


def countable(column: Array) -> Array:
    """Turn the few types that DuckDB does not know into one that tells the same values apart.

    Zeros of both signs are equal, and so are all kinds of NaN: see `distinct`.
    """
    if pa.types.is_float16(inner(column.type)):
        return decoded(column).cast(pa.float32())
    if pa.types.is_dictionary(column.type):
        return decoded(column)  # pieces have dictionaries of their own
    return decoded(column).cast(pa.string()) if pa.types.is_decimal256(inner(column.type)) else column


def distinct(column: Array) -> Array:
    """Turn a column into one in which DuckDB counts apart all values that a reader of a file can distinguish.

    Floats become their bits, which differ between 0.0 and -0.0 and between the kinds of missing values of Stata and
    SAS. Categories become texts; those that a dictionary lists again get their number.
    """
    if pa.types.is_run_end_encoded(column.type):
        return distinct(decoded(column))
    if isinstance(column, pa.DictionaryArray):
        return _distinct_levels(column)
    if pa.types.is_floating(column.type):
        return cast("Array", column.view(f"int{column.type.bit_width}"))
    return countable(column)


def _distinct_levels(column: Any) -> Array:
    levels = distinct(without_views(column.dictionary))
    if pa.types.is_nested(levels.type) or pa.types.is_binary(levels.type) or pa.types.is_large_binary(levels.type):
        return decoded(column)
    texts = levels.cast(pa.large_string())
    first = pc.index_in(texts, value_set=texts).to_numpy()
    if (again := first < np.arange(len(first))).any():
        numbered = [None if text is None else f"{text}\0{place}" for place, text in enumerate(texts.to_pylist())]
        texts = pc.if_else(pa.array(again), pa.array(numbered, texts.type), texts)
    return cast("Array", texts.take(column.indices))


def distinct_column(table: Table, name: str) -> Array:
    """Return a column as a reader distinguishes its values: by the cells of a file, or as `distinct` does.

    Objects of Python that Arrow has no type for count by their text.
    """
    try:
        return distinct_cells(table, name)
    except DataError:
        return pa.array([repr(value) for value in table.objects(name)])


def distinct_cells(table: Table, name: str) -> Array:
    """Return a column as `distinct_column` does; objects of Python are refused."""
    column = table.column(name)
    return distinct(table.spelling.get(name, table.kinds.get(name, column)))


def known_values(table: Table, name: str) -> Array:
    """Return a column in which every missing value is null and equal values are equal, however a file spells them."""
    try:
        return countable(plain_values(without_declared(table, name)))
    except DataError:
        return distinct_column(table, name)


def exposure_of(sizes: Sizes) -> dict[str, float]:
    """Describe how well records hide by how many groups there are of each size: see `shoal.measures.exposure`."""
    records, groups = sum(size * count for size, count in sizes.items()), sum(sizes.values())
    return {
        "groups": groups,
        "smallest": min(sizes),
        "largest": max(sizes),
        "uniques": sizes.get(1, 0),
        "real_k": records / groups,
        "reidentification": 100 * groups / records,
    }


def added_sizes(sizes: NDArray[np.int64]) -> Sizes:
    """Count how many groups there are of each size."""
    values, counts = np.unique(sizes, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))

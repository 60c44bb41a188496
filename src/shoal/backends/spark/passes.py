"""Passes over the records of a DataFrame: what is seen in a partition is added up there, and the sums on the driver."""

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, TypeVar, cast

import pyarrow as pa
from pyspark import RDD, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from shoal.backends.spark.session import reporting_errors, without_pandas_warning
from shoal.errors import DataError
from shoal.tables.arrow import Array

Seen = TypeVar("Seen")

_PIECE = 250_000  # records that a pass looks at together
_COLLECTED = 1 << 27  # bytes of records that the driver takes in, in place of further passes over them
_AT_ONCE = 64  # partitions whose sums the driver adds up itself; those of more are added up as a tree
_ROOM = "shoal.room"  # the property by which a task knows how many bytes of its partition the driver takes in


@dataclass(frozen=True)
class _Scanned(Generic[Seen]):
    """What was seen of some records, and the records themselves; None if there is no room for them."""

    seen: Seen
    pieces: list[pa.Table] | None

    def __add__(self, other: "_Scanned[Seen]") -> "_Scanned[Seen]":
        pieces = None if self.pieces is None or other.pieces is None else [*self.pieces, *other.pieces]
        return _Scanned(_both(self.seen, other.seen), _if_small(pieces))


def _if_small(pieces: list[pa.Table] | None) -> list[pa.Table] | None:
    task = TaskContext.get()
    room = _COLLECTED if task is None else int(task.getLocalProperty(_ROOM) or 0)
    return None if pieces is None or sum(piece.nbytes for piece in pieces) > room else pieces


def scanned(table: DataFrame, look: Callable[[pa.Table], Seen]) -> tuple[Seen, pa.Table | None]:
    """Look at all records as `added_up`; with what was seen come the records, if the driver has room for them."""
    found = added_up(table, lambda piece: _Scanned(look(piece), _if_small([piece])))
    return found.seen, None if found.pieces is None else pa.concat_tables(found.pieces)


def added_up(table: DataFrame, look: Callable[[pa.Table], Seen]) -> Seen:
    """Look at all records, and add up what was seen: within partitions first, then on the driver or as a tree."""
    names = table.columns

    def of_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = [pickle.dumps(reduce(_both, (look(piece.rename_columns(names)) for piece in _pieces(batches)), None))]
        yield pa.RecordBatch.from_pydict({"seen": seen})

    with without_pandas_warning():
        parts = table.toDF(*numbered_names(names)).mapInArrow(reporting_errors(of_partition), "seen binary").rdd
    found = _collected(parts)
    if found is None:
        raise DataError("no-records", table="the table")
    return cast("Seen", found)


def _collected(parts: "RDD[Any]") -> Any:
    """Add up what partitions have seen; a tree needs workers of its own, which is too slow for a few."""
    partitions = parts.getNumPartitions()
    if partitions > _AT_ONCE:
        return parts.map(lambda row: pickle.loads(row.seen)).treeAggregate(None, _both, _both)  # noqa: S301 - our own
    parts.context.setLocalProperty(_ROOM, str(_COLLECTED // max(1, partitions)))
    try:
        return reduce(_both, (pickle.loads(row.seen) for row in parts.collect()), None)  # noqa: S301 - our own
    finally:
        parts.context.setLocalProperty(_ROOM, cast("str", None))


def numbered_names(names: list[str]) -> list[str]:
    """Rename columns so that Spark accepts them: without dots and backticks."""
    return [f"c{j}" for j in range(len(names))]


def _both(one: Any, two: Any) -> Any:
    """Add what was seen in two places; None if there was no record."""
    return two if one is None else one if two is None else one + two


def _pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join Spark's batches, which are small, to pieces that are worth a look."""
    waiting: list[pa.RecordBatch] = []
    records = 0
    for batch in batches:
        waiting.append(batch)
        records += len(batch)
        if records >= _PIECE:
            yield pa.Table.from_batches(waiting)
            waiting, records = [], 0
    if records:
        yield pa.Table.from_batches(waiting)


def arrow_schema(table: DataFrame) -> pa.Schema:
    """Return the types of columns in Arrow, with times in UTC."""
    try:
        return to_arrow_schema(table.schema, timezone="UTC")
    except TypeError:  # Spark 4.1, where times are in UTC unless something else is asked for
        return to_arrow_schema(table.schema)


def in_utc(column: Array) -> Array:
    """Convert times to the zone that Spark expects; it returns them in that of the session."""
    kind: Any = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return column.cast(pa.timestamp(kind.unit, "UTC"))
    return column

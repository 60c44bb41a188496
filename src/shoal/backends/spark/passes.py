"""Passes over the records of a DataFrame: what is seen in a partition is added up there, and the sums as a tree."""

import pickle
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

from shoal.backends.spark.session import without_pandas_warning
from shoal.errors import DataError
from shoal.tables.arrow import Array

Seen = TypeVar("Seen")

_PIECE = 250_000  # records that a pass looks at together


def added_up(table: DataFrame, look: Callable[[pa.Table], Seen]) -> Seen:
    """Look at all records, and add up what was seen: within partitions first, then as a tree."""
    names = table.columns

    def of_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = [pickle.dumps(reduce(_both, (look(piece.rename_columns(names)) for piece in _pieces(batches)), None))]
        yield pa.RecordBatch.from_pydict({"seen": seen})

    with without_pandas_warning():
        parts = table.toDF(*numbered_names(names)).mapInArrow(of_partition, "seen binary").rdd
    found: Seen | None = parts.map(lambda row: pickle.loads(row.seen)).treeAggregate(None, _both, _both)  # noqa: S301 - our own
    if found is None:
        raise DataError("the table has no records")
    return found


def numbered_names(names: list[str]) -> list[str]:
    """Give columns names that Spark has no trouble with; it has with dots and backticks."""
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


def in_utc(column: Array) -> Array:
    """Give moments the zone that Spark expects back; it hands them out in that of the session."""
    kind: Any = column.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return column.cast(pa.timestamp(kind.unit, "UTC"))
    return column

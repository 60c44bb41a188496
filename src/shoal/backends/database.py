"""DuckDB as the judge of a release: the queries of `shoal.pipeline.verify` on pairs of records."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from shoal.errors import FileError
from shoal.tables.duck import cursor

_SMALL = 1 << 28  # bytes
_FEW = 1 << 22  # bytes of pairs that DuckDB may copy

Batches = Callable[[], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class DuckPairs:
    """Pairs of original and published records that DuckDB reads, again for every query.

    Attributes
    ----------
    batches
        Starts to read all pairs; one batch, if they are in memory.
    memory, temporary
        Where DuckDB may put what does not fit in so many bytes; None for what is in memory anyway.
    copied
        The connection that has a copy of all pairs: see `kept`.
    """

    batches: Batches
    memory: int | None = None
    temporary: Path | None = None
    copied: duckdb.DuckDBPyConnection | None = None
    collect: str = "list"  # DuckDB's name of the aggregate
    hash: str = "hash"

    @contextmanager
    def kept(self) -> "Iterator[DuckPairs]":
        """Read the pairs only once if they are few: a query on them then takes a third of the time."""
        batches = self.batches()
        first = next(batches)
        if first.get_total_buffer_size() > _FEW or next(batches, None) is not None:
            yield self
            return
        with cursor(small=True) as connection:
            copied = replace(self, copied=connection)
            with copied._connected():
                connection.register("read", pa.Table.from_batches([first]))
                connection.execute("CREATE TEMP TABLE pairs AS FROM read")
                connection.unregister("read")
            yield copied

    def rows(self, query: str) -> "list[tuple[Any, ...]]":
        """Return the rows of a small result."""
        with self._connected() as connection:
            found: list[tuple[Any, ...]] = connection.execute(query).fetchall()
        return found

    def each(self, query: str) -> Iterator[pa.RecordBatch]:
        """Return a large result in pieces."""
        with self._connected() as connection:
            answer = connection.sql(query)
            read = getattr(answer, "to_arrow_reader", None) or answer.fetch_arrow_reader  # its name before DuckDB 2
            yield from read(100_000)

    def sample(self, columns: Sequence[str], most: int, records: int) -> pa.Table:
        """Return expressions on at most so many of the records."""
        numbered = ", ".join(f"{each} AS c{i}" for i, each in enumerate(columns))
        some = f" USING SAMPLE reservoir({most} ROWS) REPEATABLE (0)" if records > most else ""
        return pa.Table.from_batches([*self.each(f"SELECT {numbered} FROM pairs{some}")])  # noqa: S608 - no outside text

    @contextmanager
    def _connected(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Connect to a database with all pairs, and give its errors in words."""
        stopped = _Stopped()
        try:
            if self.copied is not None:
                yield self.copied
                return
            batches = self.batches()
            first = next(batches)
            pairs: Any = pa.Table.from_batches([first])
            if self.memory is not None:
                pairs = pa.RecordBatchReader.from_batches(first.schema, stopped.watched(first, batches))
            with self._opened() as connection:
                connection.execute("SET enable_progress_bar = false")
                connection.register("pairs", pairs)
                yield connection
        except duckdb.Error as error:
            if stopped.by is None:
                raise FileError("cannot-verify", error=type(error).__name__) from None
        if stopped.by is not None:
            raise stopped.by

    def _opened(self) -> duckdb.DuckDBPyConnection:
        if self.memory is None or self.temporary is None:
            return cursor()
        self.temporary.mkdir(mode=0o700, exist_ok=True)
        return duckdb.connect(
            config={
                "memory_limit": f"{self.memory >> 20}MiB",
                # every thread has tables of its own
                "threads": 1 if self.memory < _SMALL else os.cpu_count() or 1,
                "temp_directory": str(self.temporary),
                "preserve_insertion_order": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )


class _Stopped:
    """What ended the reading of pairs, which DuckDB would tell in its own words."""

    by: BaseException | None = None

    def watched(self, first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield first
        try:
            yield from others
        except BaseException as error:
            self.by = error

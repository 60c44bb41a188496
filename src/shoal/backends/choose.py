"""Which backend holds the records: memory while they fit, this machine's disk beyond, a cluster where one is named."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from shoal.backends import Backend
from shoal.backends.capabilities import Engine, limits_of, refuse_limits
from shoal.backends.free_memory import free_memory
from shoal.backends.memory import MemoryRecords
from shoal.errors import PlanError
from shoal.parallel import Progress
from shoal.plan import Plan, Scale
from shoal.tables import Table, kind_of, open_table
from shoal.tables.unchanged import steady

# How many times the bytes of a file its records take while they are protected in memory: read, encoded, published.
_TIMES = {"parquet": 4, "csv": 8, "arrow": 4}
_FIRST = 1000


@contextmanager
def open_records(
    table: Any, plan: Plan, progress: Progress, *, keep: bool = False, resume: bool = False
) -> Iterator[Backend]:
    """Open the records of a table on the backend that the plan names, or that suits them.

    Parameters
    ----------
    table
        A dataframe; None if the plan names a file.
    plan
        What is asked for.
    progress
        Called with the step.
    keep
        Whether an interrupt ends a search and keeps the best groups so far.
    resume
        Whether to go on from where a run was killed.
    """
    engine, note = engine_for(plan, table)
    refuse_limits(engine, plan)
    if resume and engine != "file":
        raise PlanError([("resume", "applies to files that are too large for memory; this one is not")])
    if keep and engine != "memory":
        raise PlanError([("on_interrupt", f"'keep' does not apply to engine '{engine}'; it goes with 'memory'")])
    notes = [] if note is None else [note]
    if engine == "spark":
        from shoal.backends.spark.dataframe import open_spark

        with open_spark(table, plan, progress, notes) as records:
            yield records
    elif engine == "file":
        from shoal.backends.file.run import open_file

        with open_file(plan, progress, notes, resume=resume) as records:
            yield records
    else:
        with _in_memory(table, plan, progress, notes, keep) as records:
            yield records


@contextmanager
def _in_memory(table: Any, plan: Plan, progress: Progress, notes: list[str], keep: bool) -> Iterator[MemoryRecords]:
    if keep and plan.method not in ("auto", "best") and plan.refine is False:
        raise PlanError([("on_interrupt", f"'keep' does not apply to method '{plan.method}'; it goes with 'best'")])
    with steady([] if plan.input is None else [Path(plan.input)]) as refuse_changed:
        progress("read", 0, 1)
        opened = table if isinstance(table, Table) else _opened(table, plan)
        memory = None if plan.scale is None else plan.scale.memory_bytes
        yield MemoryRecords(opened, progress, keep, memory, notes)
        refuse_changed()


def _opened(table: Any, plan: Plan) -> Table:
    source = plan.input if plan.input is not None else table
    if source is None:
        raise PlanError([("input", "is missing; give a table or name a file")])
    return open_table(source, plan.csv)


def engine_for(plan: Plan, table: Any = None) -> tuple[Engine, str | None]:
    """Choose a backend by the plan, the table and the memory there is; with the reason, where it is not memory."""
    scale = plan.scale or Scale()
    if is_spark(table):
        if plan.engine not in (None, "spark"):
            raise PlanError([("engine", f"'{plan.engine}' does not apply to a Spark DataFrame; leave it out")])
        return "spark", None
    if plan.engine is not None:
        if table is not None and not isinstance(table, str | os.PathLike) and plan.engine != "memory":
            raise PlanError([("engine", f"'{plan.engine}' does not apply to a dataframe in memory; give a file")])
        return plan.engine, None
    if plan.input is None:
        return "memory", None
    path = Path(plan.input)
    if path.is_dir():
        return "file", "engine 'file' was chosen: the input is a folder"
    if not path.is_file():
        return "memory", None  # which says that it is not there
    kind = kind_of(path)
    if kind not in _TIMES or limits_of("file", plan):
        return "memory", None
    needed, limit = _TIMES[kind] * _bytes(path, kind), scale.memory_bytes or free_memory()
    if needed <= limit:
        return "memory", None
    return "file", f"engine 'file' was chosen: in memory it would take about {needed / 1e9:.1f} GB of {limit / 1e9:.1f}"


def is_spark(table: Any) -> bool:
    """Whether a table is a Spark DataFrame, without loading Spark to find out."""
    return any(base.__module__.startswith("pyspark.sql") for base in type(table).__mro__)


def _bytes(path: Path, kind: str) -> int:
    """Return the size of a table in memory, for Parquet by the width of its first records."""
    if kind != "parquet":
        return path.stat().st_size
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            first = next(file.iter_batches(batch_size=_FIRST), None)
            return 0 if first is None else first.nbytes * file.metadata.num_rows // max(1, first.num_rows)
    except (OSError, ValueError):
        return 0  # damaged: who reads it says so

"""Which backend holds the records: memory while they fit, this machine's disk beyond, a cluster where one is named."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.backends import Backend
from shoal.backends.capabilities import Engine, limits_of, refuse_limits
from shoal.backends.memory import MemoryRecords
from shoal.errors import PlanError
from shoal.messages import Message
from shoal.parallel import Progress
from shoal.pipeline.save import refuse_quoting
from shoal.plan import Plan, Scale
from shoal.tables import Table, kind_of, open_table
from shoal.tables.bounded import open_bounded
from shoal.tables.declared_codes import table_with_one_missing, table_without_codes
from shoal.tables.files import refuse_sheet
from shoal.tables.recoding import recoded_table
from shoal.tables.unchanged import steady

_SHARE = 0.75  # of the memory that is free, where nothing was said: others need some too
_FIRST = 1000  # records that are looked at for their width
# Measured (1,000,000 to 3,000,000 records of 5 numbers, Parquet and CSV): the table twice, as it was read and as it is
# published, and for each record 64 bytes an attribute and 64 more: rows, their copies in order, the search, labels. Of
# a CSV file the text of its cells is held too.
_TABLES, _EACH, _TEXT = 2, 64, 2.5


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
    refuse_sheet(table if plan.input is None else plan.input, plan.sheet)
    if plan.output is not None:
        refuse_quoting(plan, plan.output)
    engine, note = engine_for(plan, table)
    refuse_limits(engine, plan)
    if resume and engine != "file":
        reason = "continues a killed run of engine 'file'"
        raise PlanError("not-on-engine", field="resume", engine=engine, reason=reason, instead=None)
    if keep and engine != "memory":
        raise PlanError("not-on-engine", field="on_interrupt", option="'keep'", engine=engine, instead="memory")
    notes = [] if note is None else [note]
    if engine == "spark":
        from shoal.backends.spark.dataframe import open_spark

        with open_spark(table if is_spark(table) else None, plan, progress, notes) as records:
            yield records
    elif engine == "file":
        from shoal.backends.file.run import open_file

        with open_file(plan, progress, notes, resume=resume) as records:
            yield records
    else:
        with _in_memory(table, plan, progress, notes, keep) as records:
            yield records


@contextmanager
def _in_memory(table: Any, plan: Plan, progress: Progress, notes: list[Message], keep: bool) -> Iterator[MemoryRecords]:
    if keep and plan.grouping not in ("auto", "best") and plan.refine is False:
        remedy = Message("use-method", method="best")
        raise PlanError("not-for-method", field="on_interrupt", kind="method", method=plan.method, remedy=remedy)
    refuse_memory(plan)
    with steady([] if plan.input is None else [Path(plan.input)]) as refuse_changed:
        progress("read", 0, 1)
        opened = table if isinstance(table, Table) else _opened(table, plan)
        if opened.has_index:
            notes.append(Message("index-dropped"))
        memory = None if plan.scale is None else plan.scale.memory_bytes
        known = table_with_one_missing(table_without_codes(opened, plan.missing_codes), plan.strata or [])
        seen = recoded_table(known, plan)
        yield MemoryRecords(seen, progress, keep, memory, notes)
        refuse_changed()


def _opened(table: Any, plan: Plan) -> Table:
    source = plan.input if plan.input is not None else table
    if source is None:
        raise PlanError("no-input", field="input", table=True)
    return open_table(source, plan.csv, plan.sheet) if plan.epsilon is None else open_bounded(source, plan)


def engine_for(plan: Plan, table: Any = None) -> tuple[Engine, Message | None]:
    """Choose a backend by the plan, the table and the memory there is; with the reason, where it is not memory."""
    scale = plan.scale or Scale()
    if is_spark(table):
        if plan.engine not in (None, "spark"):
            raise PlanError("engine-not-for-table", field="engine", engine=plan.engine, spark=True)
        return "spark", None
    if plan.engine is not None:
        if table is not None and not isinstance(table, str | os.PathLike) and plan.engine != "memory":
            raise PlanError("engine-not-for-table", field="engine", engine=plan.engine, spark=False)
        return plan.engine, None
    if plan.input is None:
        return "memory", None
    path = Path(plan.input)
    if path.is_dir():
        return "file", Message("file-engine-chosen", needed=None)
    if not path.is_file():
        return "memory", None  # which says that it is not there
    if kind_of(path) not in _SIZES or limits_of("file", plan):
        return "memory", None
    needed, limit = _needed(path, plan), scale.memory_bytes or free_memory()
    if needed <= limit:
        return "memory", None
    return "file", Message("file-engine-chosen", needed=needed / 1e9, limit=limit / 1e9)


def refuse_memory(plan: Plan) -> None:
    """Refuse to hold a file in memory that takes more of it than the plan allows."""
    limit = None if plan.scale is None else plan.scale.memory_bytes
    if limit is None or plan.input is None or not Path(plan.input).is_file() or kind_of(plan.input) not in _SIZES:
        return
    if (needed := _needed(Path(plan.input), plan)) > limit:
        raise PlanError("table-exceeds-memory", field="engine", needed=needed / 1e9)


def is_spark(table: Any) -> bool:
    """Whether a table is a Spark DataFrame, without loading Spark to find out."""
    return any(base.__module__.startswith("pyspark.sql") for base in type(table).__mro__)


def _needed(path: Path, plan: Plan) -> int:
    """Return the bytes that protecting a file in memory takes beside the program."""
    try:
        records, size, columns = _SIZES[kind_of(path)](path)
    except (OSError, ValueError, pa.ArrowException):
        return 0  # damaged: an error when it is read
    return int(_TABLES * size + records * _EACH * ((len(plan.masked) or columns) + 1))


def _parquet_size(path: Path) -> tuple[int, float, int]:
    """Return the records, the bytes in memory and the columns of a file, by the width of its first records."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False) as file:
        first = next(file.iter_batches(batch_size=_FIRST), None)
        records = file.metadata.num_rows
        each = 0 if first is None else first.nbytes / max(1, first.num_rows)
        return records, records * each, len(file.schema_arrow)


def _arrow_size(path: Path) -> tuple[int, float, int]:
    with pa.OSFile(str(path), "rb") as file:
        reader = pa.ipc.open_file(file)
        first = reader.get_batch(0)
        records = reader.num_record_batches * first.num_rows
        return records, records * first.nbytes / max(1, first.num_rows), len(reader.schema)


def _csv_size(path: Path) -> tuple[int, float, int]:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(1 << 16)
    lines = max(1, head.count(b"\n"))
    header = head.partition(b"\n")[0]
    return size * lines // max(1, len(head)), _TEXT * size, 1 + max(header.count(each) for each in (b",", b";", b"\t"))


_SIZES = {"parquet": _parquet_size, "csv": _csv_size, "arrow": _arrow_size}


def free_memory() -> int:
    """Return three quarters of the bytes that are free on this machine, or that a container or `ulimit -v` leaves."""
    free = [_machine(), *_container(), *_address_space()]
    return int(_SHARE * min(free))


def _machine() -> int:
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return 1024 * int(found[1]) if found else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _container() -> list[int]:
    """Return what control groups (version 2, version 1) leave of their limits; nothing where there is none."""
    left = []
    for folder, limit, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        try:
            left.append(int(Path(folder, limit).read_text()) - int(Path(folder, used).read_text()))
        except (OSError, ValueError):  # no such group, or 'max': no limit
            continue
    return left


def _address_space() -> list[int]:
    """Return what is left of a limit on the addresses of this process; nothing where there is none."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):  # Windows, or no /proc
        return []
    return [] if limit == resource.RLIM_INFINITY else [max(0, limit - pages * os.sysconf("SC_PAGE_SIZE"))]

"""Random tables and valid plans over all options, on every backend: each release is counted again by `fuzz.claims`."""

import contextlib
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.claims import check_claims
from fuzz.draws import Draws
from fuzz.oracle import Finding, own_folder, refuse_leftovers, sentence_or
from fuzz.valid import Case, case_of, without_refused
from shoal import PlanError, Release, protect
from shoal.tables import open_table

_BYTES = 8000  # enough for every decision about the largest table
_TRIES = 10
_ENDINGS = ["parquet", "csv", "arrow"]


def release(data: bytes) -> bool:
    """Protect a random table, in memory or now and then from a file; whether there was a release."""
    draws = Draws(data)
    engine = "file" if draws.chance(12) else "memory"
    ending = draws.pick(_ENDINGS)
    found = on_engine(case_of(draws), engine, ending, summary=draws.chance(8))
    refuse_leftovers()
    return found


def on_engine(case: Case, engine: str, ending: str = "parquet", *, summary: bool = True) -> bool:
    """Carry out a case, leaving out of its plan what is refused, and check what comes of it."""
    found, plan = _carried_out(case.plan, lambda plan: protect(case.table, **plan))
    if found is None:
        return False
    check_claims(case.table, plan, found, found.table, order=True)
    if summary:
        sentence_or(found.summary)
    if engine != "memory":
        _elsewhere(case.table, plan, found, engine, ending)
    return True


def _carried_out(
    plan: dict[str, Any], call: Callable[[dict[str, Any]], Release]
) -> tuple[Release | None, dict[str, Any]]:
    for _ in range(_TRIES):
        refused: list[str] = []

        def tried(plan: dict[str, Any] = plan, refused: list[str] = refused) -> Release:
            try:
                return call(plan)
            except PlanError as error:
                refused += [field for field, _ in error.problems]
                raise

        found = sentence_or(tried, ruled="edits" in plan)
        less = without_refused(plan, refused) if refused else None
        if found is not None or less is None:
            return found, plan
        plan = less
    return None, plan


def _elsewhere(table: pa.Table, plan: dict[str, Any], known: Release, engine: str, ending: str) -> None:
    """Do the same from a file to a file, and compare: the same plan publishes the same records everywhere."""
    folder = Path(tempfile.mkdtemp())
    try:
        source, output = folder / "in.parquet", folder / f"out.{ending}"
        pq.write_table(table, source)
        asked = {**plan, "engine": engine, "output": output}
        found = sentence_or(lambda: _saved(source, asked), ruled="edits" in plan)
        if found is None:
            return
        written = pq.read_table(output) if engine == "spark" else open_table(output).to_arrow()
        if ending != "csv":
            check_claims(_plain(table), plan, found, _plain(written), order=engine == "file")
        _check_same(known, written, plan)
    finally:
        shutil.rmtree(folder)


def _saved(source: Path, asked: dict[str, Any]) -> Release:
    found = protect(source, **asked)
    with contextlib.closing(found.published):
        found.save()
    return found


def _plain(table: pa.Table) -> pa.Table:
    """Return a table without dictionaries, which not every kind of file keeps."""
    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema([(field.name, kind) for field, kind in zip(table.schema, kinds, strict=True)]))


def _check_same(known: Release, written: pa.Table, plan: dict[str, Any]) -> None:
    """Compare with the release in memory, unless either draws numbers that are not told."""
    if "pseudonym" in (plan.get("unit_as"), plan.get("household_as")) or "row" not in written.column_names:
        return
    one, two = (_by_row(table) for table in (known.table, written))
    if one.keys() != two.keys():
        raise Finding("another engine publishes other records")
    for row, values in one.items():
        for name, value in values.items():
            if not _same(value, two[row][name]):
                raise Finding(f"another engine publishes another {name}")


def _by_row(table: pa.Table) -> dict[int, dict[str, Any]]:
    return {record["row"]: record for record in table.to_pylist()}


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, int | float):
        return abs(one - two) <= 1e-9 * max(1.0, abs(one))
    return one == two or str(one) == str(two)


def count_releases(wanted: int, seed: int, finds: Path, spark: int = 0, seconds: float = float("inf")) -> bool:
    """Make so many releases, or as many as there is time for; the inputs of findings are kept. Whether there was none.

    Every input follows from the seed and its number, so that each can be made again.
    """
    start, inputs, found = time.monotonic(), 0, Counter[str]()
    while found["releases"] < wanted and time.monotonic() - start < seconds:
        data = random.Random(f"{seed} {inputs}").randbytes(_BYTES)
        inputs += 1
        _tried(lambda data=data: release(data), data, f"deep-{seed}-{inputs}", finds, found)  # type: ignore[misc]
    for number in range(spark):
        data = random.Random(f"spark {seed} {number}").randbytes(_BYTES)
        case = case_of(Draws(data))
        _tried(lambda case=case: on_engine(case, "spark"), data, f"spark-{seed}-{number}", finds, found)  # type: ignore[misc]
    took = time.monotonic() - start
    rate = f"{found['releases'] / took:.1f} a second"
    print(f"deep: {found['releases']:,} releases of {inputs + spark:,} inputs, {rate}; {found['findings']} findings")
    return not found["findings"]


def _tried(call: Callable[[], bool], data: bytes, name: str, finds: Path, found: Counter[str]) -> None:
    try:
        with own_folder():
            found["releases"] += call()
    except Exception as error:
        found["findings"] += 1
        finds.mkdir(parents=True, exist_ok=True)
        (finds / name).write_bytes(data)
        print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)

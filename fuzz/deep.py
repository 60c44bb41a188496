"""Random tables and valid plans over all options, on every backend: each release is counted again by `fuzz.claims`."""

import contextlib
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.cases import START, from_json
from fuzz.claims import check_claims
from fuzz.draws import Draws
from fuzz.oracle import Finding, refuse_leftovers, sentence_or
from fuzz.sources import DATAFRAMES, as_arrow, as_dataframe, expected_cell, write_csv, write_excel
from fuzz.valid import Case, case_of, without_refused
from shoal import PlanError, Release, protect
from shoal.plan import Csv
from shoal.tables import open_table

_BYTES = 8000  # enough for every decision about the largest table
_TRIES = 10
# Options that are about files, and do not apply to a table in memory.
_OF_FILES = ("csv", "quote_formulas", "sheet")


def input_of(seed: int, number: int) -> bytes:
    """Return the bytes of an input, which follow from the seed and its number."""
    return random.Random(f"{seed} {number}").randbytes(_BYTES)


def release(data: bytes) -> dict[str, Any] | None:
    """Protect a random table, or one that was kept, and check it; the plan that was carried out, or None."""
    return tried(from_json(data) if data.startswith(START) else case_of(Draws(data)))


def tried(case: Case, *, summary: bool = True) -> dict[str, Any] | None:
    """Carry out a case in memory or from files, and look for files that it leaves behind."""
    found = carried_out(case, summary=summary)
    refuse_leftovers()
    return found


def carried_out(case: Case, *, summary: bool = True) -> dict[str, Any] | None:
    """Carry out a case, leaving out of its plan what is refused, and check what comes of it."""
    in_memory = {name: value for name, value in case.plan.items() if name not in _OF_FILES}
    given = as_dataframe(case.table, case.source)
    found, plan = _without_refused(in_memory, lambda plan: protect(given, **plan))
    if found is None:
        return None
    check_claims(case.table, plan, found, as_arrow(found.table), order=True, exact=given is case.table)
    if summary:
        sentence_or(found.summary)
    if case.source in ("", *DATAFRAMES):
        return plan
    of_files = {name: case.plan[name] for name in _OF_FILES if name in case.plan}
    return {**plan, **_elsewhere(case, {**plan, **of_files}, found)}


def _without_refused(
    plan: dict[str, Any], call: Callable[[dict[str, Any]], Release]
) -> tuple[Release | None, dict[str, Any]]:
    for _ in range(_TRIES):
        refused: list[str] = []

        def tried(plan: dict[str, Any] = plan, refused: list[str] = refused) -> Release:
            try:
                return call(plan)
            except PlanError as error:
                refused += [each.field or "" for each in error.messages]
                raise

        found = sentence_or(tried, ruled="edits" in plan)
        less = without_refused(plan, refused) if refused else None
        if found is not None or less is None:
            return found, plan
        plan = less
    return None, plan


def _elsewhere(case: Case, plan: dict[str, Any], known: Release) -> dict[str, Any]:
    """Do the same from a file to a file, and compare: the same plan publishes the same records everywhere."""
    folder = Path(tempfile.mkdtemp())
    try:
        source, output = folder / f"in.{case.source}", folder / f"out.{case.ending}"
        if case.source == "csv":
            write_csv(case.table, source, plan.get("csv"))
        elif case.source == "xlsx":
            write_excel(case.table, source, plan["sheet"])
        else:
            pq.write_table(case.table, source)
        asked = {**plan, "engine": case.engine, "output": output}
        found = sentence_or(lambda: _saved(source, asked), ruled="edits" in plan)
        if found is None:
            return {}
        written = pq.read_table(output) if case.engine == "spark" else _read(output, plan)
        if case.source == "parquet" and case.ending != "csv":
            on_spark = case.engine == "spark"  # which keeps no order, and has no unsigned numbers
            original = _plain(pq.read_table(source))
            check_claims(original, plan, found, _plain(written), order=not on_spark, exact=not on_spark)
        _check_same(known.table, written, plan, order=case.engine != "spark")
        return {**asked, "input": source}
    finally:
        shutil.rmtree(folder)


def _saved(source: Path, asked: dict[str, Any]) -> Release:
    found = protect(source, **asked)
    with contextlib.closing(found.published):
        found.save()
    return found


def _read(output: Path, plan: dict[str, Any]) -> pa.Table:
    words = plan.get("csv", {}).get("missing", []) if output.suffix == ".csv" else []
    return open_table(output, Csv(missing=words)).to_arrow()


def _plain(table: pa.Table) -> pa.Table:
    """Return a table without dictionaries, which not every kind of file keeps."""
    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema([(field.name, kind) for field, kind in zip(table.schema, kinds, strict=True)]))


def _check_same(known: pa.Table, written: pa.Table, plan: dict[str, Any], *, order: bool = True) -> None:
    """Compare with the release in memory, without pseudonyms, which are random."""
    if known.column_names != written.column_names:
        raise Finding("another engine publishes other columns")
    random_ones = {plan.get(role) for role in ("unit", "household") if plan.get(f"{role}_as") == "pseudonym"}
    if plan.get("epsilon") is not None:
        return  # noise is drawn anew
    one, two = ({record["row"]: record for record in table.to_pylist()} for table in (known, written))
    if order and [*one] != [*two]:
        raise Finding("another engine publishes other records, or in another order")
    if one.keys() != two.keys():
        raise Finding("another engine publishes other records")
    for row, values in one.items():
        for name in values.keys() - random_ones:
            if not _same(expected_cell(values[name], plan), two[row][name]):
                raise Finding(f"another engine publishes another {name}")


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, int | float):
        return abs(one - two) <= 1e-9 * max(1.0, abs(one))
    return one == two or str(one) == str(two)

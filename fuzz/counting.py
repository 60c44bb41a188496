"""Releases by the thousand, on all cores: how many there were, what was asked for in them, and what was found."""

import contextlib
import math
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz.cases import as_json
from fuzz.oracle import own_folder
from shoal.plan import Plan

if TYPE_CHECKING:
    from fuzz.valid import Case

_AT_ONCE = 25  # inputs that a process is given
_SHOWN = 1000  # releases between lines of progress


@dataclass
class Count:
    """What came of some inputs; `fields` are those of the plans that were carried out."""

    inputs: int = 0
    releases: int = 0
    findings: int = 0
    fields: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Count") -> None:
        """Add what came of other inputs."""
        self.inputs += other.inputs
        self.releases += other.releases
        self.findings += other.findings
        self.fields += other.fields

    def try_one(self, call: Callable[[], dict[str, Any] | None], name: str, case: "Case", finds: Path) -> None:
        """Carry out a case, and keep it if it finds something."""
        self.inputs += 1
        try:
            with own_folder():
                plan = call()
        except Exception as error:
            self.findings += 1
            finds.mkdir(parents=True, exist_ok=True)
            (finds / name).write_bytes(as_json(case))
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            return
        if plan is not None:
            self.releases += 1
            self.fields.update(set(fields_in(plan)))


def fields_in(plan: dict[str, Any]) -> Iterator[str]:
    """Yield the fields that a plan sets, those of its tables too."""
    for name, value in plan.items():
        yield name
        if name in ("scale", "csv"):
            yield from (f"{name}.{part}" for part in value)
        if name == "method":
            yield f"method {value}"


def count_releases(
    wanted: int,
    seed: int,
    finds: Path,
    spark: int = 0,
    seconds: float = math.inf,
    jobs: int = 1,
    *,
    coverage: bool = False,
) -> bool:
    """Make so many releases, or as many as there is time for; the inputs of findings are kept. Whether there was none.

    Every input follows from the seed and its number, so that each can be made again.
    """
    start, shown, count = time.monotonic(), _SHOWN, Count()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):  # what was counted until then is shown
        for some in _counted(wanted, seed, finds, start + seconds, jobs, count) if wanted else ():
            count.add(some)
            if count.releases >= shown:
                shown += _SHOWN
                _show(count, start)
    _show(count, start)
    if spark:
        on_spark = _on_spark(spark, seed, finds, start)
        _show(on_spark, start, "on Spark")
        count.add(on_spark)
    if coverage:
        _show_fields(count)
    return not count.findings


def _counted(wanted: int, seed: int, finds: Path, end: float, jobs: int, count: Count) -> Iterator[Count]:
    """Give inputs to processes for as long as there are too few releases; yields what came of some of them."""
    before = os.environ.get("TMPDIR")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        os.environ["TMPDIR"] = folder  # of the processes, which leave theirs behind
        processes = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
        try:
            running: set[Future[Count]] = set()
            number = 0
            while count.releases < wanted and time.monotonic() < end:
                while len(running) < 2 * jobs:
                    running.add(processes.submit(some_inputs, seed, number, _AT_ONCE, finds))
                    number += _AT_ONCE
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from map(_result, done)
            yield from map(_result, running)
        finally:
            processes.shutdown(cancel_futures=True)
            os.environ.pop("TMPDIR") if before is None else os.environ.update(TMPDIR=before)


def _result(future: "Future[Count]") -> Count:
    try:
        return future.result()
    except BrokenProcessPool:
        print("a process ended without a word", flush=True)
        raise


def some_inputs(seed: int, first: int, inputs: int, finds: Path) -> Count:
    """Try a few inputs in this process."""
    from fuzz.deep import input_of, tried
    from fuzz.draws import Draws
    from fuzz.valid import case_of

    count = Count()
    for number in range(first, first + inputs):
        case = case_of(Draws(input_of(seed, number)))
        count.try_one(partial(tried, case, summary=number % 8 == 0), f"deep-{seed}-{number}", case, finds)
    return count


def _on_spark(wanted: int, seed: int, finds: Path, start: float) -> Count:
    """Make so many releases on one Spark session, each beside one in memory."""
    from fuzz.deep import carried_out, input_of
    from fuzz.draws import Draws
    from fuzz.valid import case_of
    from shoal.backends.spark.session import session

    def on_spark(case: "Case") -> dict[str, Any] | None:
        plan = carried_out(case)
        return plan if plan is not None and "engine" in plan else None

    count = Count()
    with _light_java(), session("local[1]") as started:
        started.conf.set("spark.sql.shuffle.partitions", "2")
        for number in range(3 * wanted):
            if count.releases + count.findings < wanted:
                case = case_of(Draws(input_of(seed, number)), "spark")
                count.try_one(partial(on_spark, case), f"deep-spark-{seed}-{number}", case, finds)
                if count.inputs % 10 == 0:
                    _show(count, start, "on Spark")
    return count


@contextlib.contextmanager
def _light_java() -> Iterator[None]:
    """Start Java without the compiler for hours of work to come."""
    before = os.environ.get("JDK_JAVA_OPTIONS", "")
    os.environ["JDK_JAVA_OPTIONS"] = f"{before} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC".strip()
    try:
        yield
    finally:
        os.environ["JDK_JAVA_OPTIONS"] = before


def _show(count: Count, start: float, what: str = "deep") -> None:
    took = time.monotonic() - start
    rate = f"{count.releases / took:.1f} a second in {took:.0f} s"
    print(
        f"{what}: {count.releases:,} releases of {count.inputs:,} inputs, {rate}; {count.findings} findings", flush=True
    )


def _show_fields(count: Count) -> None:
    """Print how often each field of a plan was in a release, the rarest first."""
    times = {name: count.fields[name] for name in Plan.model_fields} | count.fields
    for name, often in sorted(times.items(), key=lambda each: each[1]):
        print(f"{name:24}{often:9,}  1 in {count.releases / often:.1f}" if often else f"{name:24}        0")

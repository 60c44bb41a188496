"""What each engine takes: the same records and plan in memory, from a file and on Spark; time and memory, in one run.

    python -m bench.backends                            # 1,000,000 records of 5 attributes, k = 5, mdav
    python -m bench.backends --engine file --n 10000000
    python -m bench.backends --memory-table --csv       # what --memory asks for, and what is taken

Every run is the command `shoal protect` in a process of its own, from Parquet to Parquet, with reading, verifying and
writing. Processor seconds include children. Peak memory is what the kernel says of the process; for Spark the sum over
the process tree, sampled ten times a second. `start` is a run on 100 records: interpreter, libraries, session of
Spark. `partition` is `shoal.partition` on the same matrix in a process of its own, with its share of the processor
seconds of each run.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from bench.samples import distributed

ENGINES = ("memory", "file", "spark")
PARTITION = """
import os, sys
import numpy as np, pyarrow.parquet as pq, shoal
X = np.column_stack([column.to_numpy() for column in pq.read_table(sys.argv[1]).columns])
k = int(sys.argv[2])
shoal.partition(X[:20_000], k=k, method="mdav")
before = os.times()
shoal.partition(X, k=k, method="mdav")
after = os.times()
print(after.elapsed - before.elapsed, after.user + after.system - before.user - before.system)
"""
PROGRAM = 350  # MB that the program itself may take beyond --memory
PIECE = 1_000_000  # records that are made at a time
MEGA = 10**6


class Taken(NamedTuple):
    """What a process took: wall-clock and processor seconds, and its largest memory in MB."""

    seconds: float
    processor: float
    peak: float


class Tree(threading.Thread):
    """Samples a process and its descendants: their memory now, and the processor time of each so far."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.root, self.peak, self.ticks, self.ended = root, 0, dict[int, int](), threading.Event()

    def run(self) -> None:
        """Sample until the process has ended."""
        while not self.ended.wait(0.1):
            resident = 0
            for pid, (ticks, pages) in self._members().items():
                resident += pages * os.sysconf("SC_PAGE_SIZE")
                self.ticks[pid] = max(self.ticks.get(pid, 0), ticks)
            self.peak = max(self.peak, resident)

    def _members(self) -> dict[int, tuple[int, int]]:
        """Processor ticks and resident pages of each process of the tree."""
        found, parents = {}, {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            pid = int(path.parent.name)
            parents[pid], found[pid] = int(fields[1]), (int(fields[11]) + int(fields[12]), int(fields[21]))
        members = {self.root}
        while grown := {pid for pid, parent in parents.items() if parent in members} - members:
            members |= grown
        return {pid: each for pid, each in found.items() if pid in members}

    @property
    def processor(self) -> float:
        """Seconds of all processes that were seen."""
        return sum(self.ticks.values()) / os.sysconf("SC_CLK_TCK")


def run(command: list[str], *, tree: bool) -> Taken:
    """Run a command; with `tree`, its children count as well."""
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        sampled = Tree(process.pid)
        if tree:
            sampled.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        sampled.ended.set()
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(command)}\n{said.read().decode()}")
    # Children that nobody waits for are in the samples alone.
    processor = max(usage.ru_utime + usage.ru_stime, sampled.processor)
    return Taken(seconds, processor, max(usage.ru_maxrss * 1024, sampled.peak) / MEGA)


def protect(source: Path, engine: str, k: int, *options: str) -> Taken:
    """Protect a file on an engine."""
    command = [sys.executable, "-m", "shoal", "protect", str(source), "-k", str(k), "--method", "mdav"]
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        output = f"{folder}/masked{source.suffix}"
        return run([*command, "--engine", engine, "-o", output, *options], tree=engine == "spark")


def _write(path: Path, n: int, d: int) -> None:
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(d)])
    writer = pq.ParquetWriter if path.suffix == ".parquet" else pa.csv.CSVWriter
    with writer(path, schema) as file:
        for start in range(0, n, PIECE):
            rows = distributed("uniform", min(n - start, PIECE), d) + np.sin(start)
            file.write_table(pa.table(list(rows.T), schema=schema))


def written(path: Path, n: int, d: int) -> Path:
    """Write records in a process of its own: a large one would count as the memory of those that it starts."""
    writing = multiprocessing.get_context("spawn").Process(target=_write, args=(path, n, d))
    writing.start()
    writing.join()
    if writing.exitcode:
        raise SystemExit(f"{path} cannot be written")
    return path


def engines(folder: Path, options: argparse.Namespace) -> None:
    """Print a line for each engine."""
    few = written(folder / "few.parquet", 100, options.d)
    warm, source = (written(folder / f"{n}.parquet", n, options.d) for n in (20_000, options.n))
    given = {"memory": [], "file": ["--memory", options.memory], "spark": ["--master", options.master]}
    for engine in ("memory", "file"):  # so that libraries are in the cache of the system
        protect(warm, engine, options.k, "--block-records", "5000")
    command = [sys.executable, "-c", PARTITION, str(source), str(options.k)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    alone, processor = map(float, answer.split())
    print(f"{options.n:,} records of {options.d} attributes, k = {options.k}, mdav, Parquet to Parquet")
    print(f"{'':9} | {'seconds':>8} {'processor':>9} | {'peak MB':>8} | {'start':>6} {'processor':>9} | partition")
    print(f"partition | {alone:8.1f} {processor:9.1f} |", flush=True)
    for engine in options.engine:
        start = protect(few, engine, options.k, *given[engine])
        took = protect(source, engine, options.k, *given[engine])
        print(
            f"{engine:9} | {took.seconds:8.1f} {took.processor:9.1f} | {took.peak:8.0f} | {start.seconds:6.1f} "
            f"{start.processor:9.1f} | {100 * processor / took.processor:5.0f} %",
            flush=True,
        )


def memory_table(folder: Path, options: argparse.Namespace) -> None:
    """Print what `--memory` asks for, and what the engine for files takes."""
    print(f"{'records':>11} {'kind':7} {'--memory':>8} | {'seconds':>8} | {'peak MB':>8} {'at most':>8} |")
    for n in options.sizes:
        for kind in ("parquet", "csv") if options.csv else ("parquet",):
            source = written(folder / f"{n}.{kind}", n, options.d)
            for memory, limit in (("300MB", 300), ("1GB", 1000), ("2GB", 2000)):
                took = protect(source, "file", options.k, "--memory", memory)
                most = limit + PROGRAM
                line = f"{n:11,} {kind:7} {memory:>8} | {took.seconds:8.1f} | {took.peak:8.0f} {most:8} |"
                print(line, "kept" if took.peak <= most else "NOT KEPT", flush=True)
            source.unlink()


def main() -> None:
    """Measure the engines, or the memory of one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000, help="number of records")
    parser.add_argument("--d", type=int, default=5, help="number of attributes")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--engine", nargs="+", default=ENGINES, choices=ENGINES)
    parser.add_argument("--memory", default="2GB", help="for engine file")
    parser.add_argument("--master", default="local[2]", help="for engine spark")
    parser.add_argument("--memory-table", action="store_true", help="peak memory of engine file against its limit")
    parser.add_argument("--sizes", type=int, nargs="+", default=[PIECE, 3 * PIECE, 10 * PIECE], help="of that table")
    parser.add_argument("--csv", action="store_true", help="CSV files too, in that table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (memory_table if options.memory_table else engines)(Path(folder), options)


if __name__ == "__main__":
    main()

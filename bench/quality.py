"""How low the loss gets: IL % by method and budget, certificates, sweeps, and what is reached on many records.

    python -m bench.quality                                           # everything below: three quarters of an hour
    python -m bench.quality --only losses --budgets 1 --k 3 5 10      # under a minute
    python -m bench.quality --only losses --budgets --steps 10000000  # the same labels on any machine
    python -m bench.quality --only losses --sets census --budgets 60 --k 3 --labels folder
    python -m bench.quality --only auto --tables randhie.csv fair.csv # not part of everything: ten minutes

losses: mdav, vmdav (gain 0.2; 1.1 for EIA), tour, and best with each budget, on the reference sets. `known` is the
lowest SSE known, whose labels are in bench/records; `python -m bench.records --keep` takes lower ones.
certificates: `shoal.protect` with bound=True; its budget goes to the search, and as much again to the proof at most.
sweep: `shoal.sweep` over k = 3..10 with tour on EIA against k = 3 alone, and the same of the partitions without what is
measured of them; eight files written by a sweep against one by `shoal.protect`, in Python and as commands. Processor
time, the least of five runs in turns.
auto: the SSE of `auto` and of `tour` relative to that of mdav, at small and at large k, on the reference sets, on the
numbers of CSV files, and on skewed records. Ends with an error if `auto` is above mdav anywhere.
many, million: SSE relative to that of exact MDAV, k = 3, on 100,000 and 1,000,000 records; every run in a process of
its own, so that the peak of memory is its own (about 250 MiB of it are Python and its libraries).

Every SSE is counted from the labels, on z-scores, and every group for its size. Budgets are wall time, so that a
busy machine finds less, and no two runs find the same: processor seconds stand beside them, and with the seed the start
of the SHA-256 of the labels (64-bit little-endian integers; groups are numbered by their first record). `--labels`
keeps these as .npy files, for what is found in seconds cannot be found again from its seed. With `--steps`, it can.
"""

import argparse
import hashlib
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
from bench.records import key, listed
from bench.samples import DATA, distributed, reference_set

import shoal
from shoal.kernels.standardize import standardize
from shoal.partitioning.tours import sweep_cuts

WHAT = ["losses", "certificates", "sweep", "many", "million", "auto"]
AUTO_K = [3, 10, 31, 50, 100, 200]
AUTO_RECORDS = [5_000, 50_000, 200_000]  # skewed, of four attributes
SETS = ["census", "tarragona", "eia"]
GAIN = {"census": 0.2, "tarragona": 0.2, "eia": 1.1}
# Seconds of the search, and of the proof at most.
CERTIFIED = {("census", 3): 60, ("census", 4): 60, ("tarragona", 4): 60, ("tarragona", 5): 150, ("eia", 4): 60}
# kind, n, d, seconds
MANY = [("uniform", 100_000, 2, (15, 55)), ("clustered", 100_000, 10, (15, 55)), ("uniform", 100_000, 10, (15, 55))]
MILLION = [("uniform", 1_000_000, 5, (120,))]


def checksum(labels: np.ndarray) -> str:
    """Return the first 12 digits of the SHA-256 of labels."""
    return hashlib.sha256(labels.astype("<i8").tobytes()).hexdigest()[:12]


class Run(NamedTuple):
    """What a run found, re-counted from its labels, and what it took."""

    sse: float
    smallest: int
    largest: int
    wall: float
    processor: float
    labels: np.ndarray


def counted(Z: np.ndarray, labels: np.ndarray) -> float:
    """Sum of squared errors within groups, from nothing but the labels."""
    sizes = np.bincount(labels)
    errors = [np.sum((z - (np.bincount(labels, z) / sizes)[labels]) ** 2) for z in Z.T]
    return float(np.sum(errors))


def run(Z: np.ndarray, k: int, **options: Any) -> Run:
    """Partition z-scores by a method, and count what came out."""
    wall, processor = time.perf_counter(), time.process_time()
    labels = shoal.partition(Z, k, standardize=False, **options)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    sizes = np.bincount(labels)
    return Run(counted(Z, labels), int(sizes.min()), int(sizes.max()), wall, processor, labels)


def keep(labels: np.ndarray, name: str, folder: Path | None) -> None:
    """Write labels to a folder, if one is given."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{name}.npy", labels)


def losses(options: argparse.Namespace) -> None:
    """Print a line a run, and a table a set."""
    head = f"{'set':9} {'k':>2} {'method':9} | {'IL %':>8} {'SSE':>10} | {'sizes':>6} | {'wall':>6} {'cpu':>6}"
    print(f"{head} | {'to known':>9} | seed labels", flush=True)
    budgets: dict[str, str | int] = {f"best {seconds:g} s": f"{seconds:g}s" for seconds in options.budgets}
    budgets |= {f"best {steps / 1e6:g} M": steps for steps in options.steps}
    for name in options.sets:
        Z = standardize(numbers(reference_set(DATA, name)))
        methods: dict[str, dict[str, Any]] = {
            "mdav": {"method": "mdav"},
            "vmdav": {"method": "vmdav", "gain": GAIN[name]},
            "tour": {"method": "tour"},
            **{label: {"method": "best", "budget": budget, "seed": options.seed} for label, budget in budgets.items()},
        }
        table: dict[int, list[str]] = {}
        for k in options.k:
            known = listed().get(key(name, k), {}).get("SSE")
            for method, how in methods.items():
                got = run(Z, k, **how)
                loss = 100 * got.sse / Z.size
                table.setdefault(k, []).append(f"{loss:.4f}" if name == "eia" else f"{loss:.3f}")
                print(f"{name:9} {k:2} {method:9} | {loss:8.4f} {got.sse:10.4f} | ", end="")
                print(f"{got.smallest:2}..{got.largest:2} | {got.wall:6.2f} {got.processor:6.2f} | ", end="")
                print(f"{100 * (got.sse / known - 1):+7.3f} %" if known else f"{'':9}", end=" | ")
                print(f"{options.seed:4} {checksum(got.labels)}" if "seed" in how else "", flush=True)
                if "seed" in how:
                    keep(got.labels, f"{name}-{k}-{method.replace(' ', '')}-{options.seed}", options.labels)
            table[k].append(f"{100 * known / Z.size:.{4 if name == 'eia' else 3}f}" if known else "")
        print(f"\n| {name}, k | " + " | ".join([*methods, "record"]) + " |")
        print("|" + "---|" * (len(methods) + 2))
        for k, cells in table.items():
            print(f"| {k} | " + " | ".join(cells) + " |", flush=True)
        print()


def certificates(options: argparse.Namespace) -> None:
    """Print a line for each set and k that has a short proof."""
    print(f"{'set':9} {'k':>2} | {'SSE':>9} {'bound':>9} {'at most':>9} | {'wall':>6} {'cpu':>6} | how | seed labels")
    for (name, k), seconds in CERTIFIED.items():
        if name not in options.sets or k not in options.k:
            continue
        table = reference_set(DATA, name)
        wall, processor = time.perf_counter(), time.process_time()
        release = shoal.protect(
            table, k=k, method="best", budget=f"{seconds}s", bound=True, seed=options.seed, round=False
        )
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        labels = release.groups
        keep(labels, f"{name}-{k}-bound-{options.seed}", options.labels)
        proof = release.certificate
        error = counted(standardize(numbers(table)), labels)
        if proof is None or proof.bound is None:
            print(f"{name:9} {k:2} | {error:9.3f}, no bound | {wall:6.1f} {processor:6.1f}", flush=True)
            continue
        gap = 100 * (error / proof.bound - 1)
        print(f"{name:9} {k:2} | {error:9.3f} {proof.bound:9.3f} {gap:7.3f} % | ", end="")
        print(f"{wall:6.1f} {processor:6.1f} | {proof.how} | {options.seed:4} {checksum(labels)}", flush=True)


def sweep(_: argparse.Namespace) -> None:
    """Print what a sweep takes as a multiple of one k."""
    table = reference_set(DATA, "eia")
    Z = standardize(numbers(table))
    works: dict[str, Callable[[], object]] = {
        "shoal.sweep, k = 3": lambda: shoal.sweep(table, k=[3], method="tour"),
        "shoal.sweep, k = 3..10": lambda: shoal.sweep(table, k=range(3, 11), method="tour"),
        "eight files": lambda: _written(table, range(3, 11)),
        "one file by protect": lambda: _written(table, [3]),
        "eight files, command": lambda: _command(["sweep", "-k", "3-10", "--methods", "tour", "-o", "masked-{k}.csv"]),
        "one file, command": lambda: _command(["protect", "-k", "3", "--method", "tour", "-o", "masked.csv"]),
        "partitions, k = 3": lambda: sweep_cuts(Z, [3]),
        "partitions, k = 3..10": lambda: sweep_cuts(Z, range(3, 11)),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _round in range(6):
        for name, work in works.items():
            start = _processor()
            work()
            times[name].append(_processor() - start)
    least = {name: min(values[1:]) for name, values in times.items()}  # the first loads
    for one, all_ in ("shoal.sweep, k = 3", "shoal.sweep, k = 3..10"), ("partitions, k = 3", "partitions, k = 3..10"):
        print(f"{all_:22} {least[all_]:6.3f} s, k = 3 alone {least[one]:6.3f} s: {least[all_] / least[one]:.2f} times")
    for one, all_ in ("one file by protect", "eight files"), ("one file, command", "eight files, command"):
        print(f"{all_:22} {least[all_]:6.3f} s, {one} {least[one]:6.3f} s: {least[all_] / least[one]:.2f} times")


def _processor() -> float:
    """Processor time of this process and of those that it has waited for."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def _written(table: pa.Table, sizes: Sequence[int]) -> None:
    """Protect a table for every k, and write the files."""
    with tempfile.TemporaryDirectory() as folder:
        if len(sizes) == 1:
            shoal.protect(table, k=sizes[0], method="tour").save(f"{folder}/masked.csv")
        else:
            shoal.sweep(table, k=sizes, method="tour").save(f"{folder}/masked-{{k}}.csv")


def _command(words: list[str]) -> None:
    """Run a command on EIA in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        pyarrow.csv.write_csv(reference_set(DATA, "eia"), f"{folder}/eia.csv")
        command = [sys.executable, "-m", "shoal", words[0], "eia.csv", *words[1:]]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


def auto(options: argparse.Namespace) -> None:
    """Print what `auto` and a tour leave of MDAV's SSE; nowhere may `auto` be above."""
    tables = {name: numbers(reference_set(DATA, name)) for name in options.sets}
    tables |= {path.stem: numbers(only_numbers(pyarrow.csv.read_csv(path))) for path in options.tables}
    tables |= {f"skewed {n:,}": distributed("skewed", n, 4) for n in AUTO_RECORDS}
    print("| table | records | " + " | ".join(f"k = {k}" for k in AUTO_K) + " | processor s |")
    print("|" + "---|" * (len(AUTO_K) + 3))
    above = []
    for name, X in tables.items():
        Z, cells, processor = standardize(X), [], 0.0
        for k in AUTO_K:
            mdav, tour, found = (run(Z, k, method=method) for method in ("mdav", "tour", "auto"))
            cells.append(f"{found.sse / mdav.sse:.3f} ({tour.sse / mdav.sse:.2f})")
            processor = max(processor, found.processor)
            above += [(name, k)] if found.sse > mdav.sse * (1 + 1e-9) else []
        print(f"| {name} | {len(Z):,} x {Z.shape[1]} | " + " | ".join(cells) + f" | {processor:.1f} |", flush=True)
    if above:
        raise SystemExit(f"auto is above mdav: {above}")


def only_numbers(table: pa.Table) -> pa.Table:
    """Return the columns of numbers without missing values."""
    numeric = (pa.types.is_integer, pa.types.is_floating)
    return table.select(
        [
            name
            for name in table.column_names
            if table[name].null_count == 0 and any(of_type(table[name].type) for of_type in numeric)
        ]
    )


def large(cases: Sequence[tuple[str, int, int, tuple[int, ...]]], seed: int) -> None:
    """Print a line for MDAV and for each budget, with what remains of MDAV's SSE."""
    head = f"{'data':9} {'n':>9} {'d':>2} {'method':10} | {'SSE':>12} {'to mdav':>8}"
    print(f"{head} | {'sizes':>6} | {'wall':>6} {'cpu':>6} | {'MiB':>5} | seed labels", flush=True)
    for kind, n, d, budgets in cases:
        reference = 0.0
        for budget in (None, *budgets):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                [(got, peak)] = pool.map(alone, [(kind, n, d, budget, seed)])
            reference = reference or got.sse
            method = "mdav" if budget is None else f"best {budget} s"
            print(f"{kind:9} {n:9,} {d:2} {method:10} | {got.sse:12.3f} {got.sse / reference:8.4f} | ", end="")
            print(f"{got.smallest:2}..{got.largest:2} | {got.wall:6.1f} {got.processor:6.1f} | {peak:5.0f} | ", end="")
            print("" if budget is None else f"{seed:4} {checksum(got.labels)}", flush=True)


def alone(case: tuple[str, int, int, int | None, int]) -> tuple[Run, float]:
    """Run one case, with everything loaded before; and the most memory that this process has had, in MiB."""
    kind, n, d, budget, seed = case
    options: dict[str, Any] = {"method": "mdav"}
    if budget is not None:
        options = {"method": "best", "budget": f"{budget}s", "seed": seed}
    warm(options["method"], d)
    got = run(standardize(distributed(kind, n, d)), 3, **options)
    return got, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def warm(method: Literal["mdav", "best"], d: int) -> None:
    """Load the kernels and what else the method needs."""
    few = np.random.default_rng(0).random((300, d))
    for budget in (None,) if method == "mdav" else ("0.2s", "5s"):  # the longer one also generates columns
        shoal.partition(few, 3, method=method, budget=budget)


def numbers(table: pa.Table) -> np.ndarray:
    """Return the columns of a table as a matrix."""
    return np.column_stack([column.to_numpy().astype(np.float64) for column in table.columns])


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=WHAT[:-1], choices=WHAT)
    parser.add_argument("--tables", type=Path, nargs="*", default=[], help="CSV files for auto")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--k", type=int, nargs="+", default=list(range(3, 11)))
    parser.add_argument("--budgets", type=float, nargs="*", default=[1.0, 10.0, 60.0], help="seconds of best")
    parser.add_argument("--steps", type=int, nargs="+", default=[], help="budgets of best in steps")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--labels", type=Path, help="a folder for the labels that best finds")
    options = parser.parse_args()
    works: dict[str, Callable[[], None]] = {
        "losses": lambda: losses(options),
        "certificates": lambda: certificates(options),
        "sweep": lambda: sweep(options),
        "auto": lambda: auto(options),
        "many": lambda: large(MANY, options.seed),
        "million": lambda: large(MILLION, options.seed),
    }
    if {"losses", "certificates"} & {*options.only}:
        warm("best", 13)
    for name in options.only:
        print(f"\n{name}", flush=True)
        works[name]()


if __name__ == "__main__":
    main()

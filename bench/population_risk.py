"""Processor time and memory of risk in the population and of SUDA2, on files of eight key variables.

Run with ``python -m bench.population_risk``. Every row is a process of its own. *census*: keys of a census, in which a
few values are frequent. *even*: the same keys, all values equally frequent. *ten*: eight keys of ten values each.
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa

import shoal

LEVELS = [2, 100, 8, 6, 50, 12, 5, 20]
KINDS = {"census": (LEVELS, 1.2), "even": (LEVELS, 0.0), "ten": ([10] * 8, 0.0)}


def draw(kind: str, n: int) -> pa.Table:
    """Return n records with eight keys, a weight and a household."""
    rng = np.random.default_rng(0)
    levels, skew = KINDS[kind]
    columns = {}
    for at, level in enumerate(levels):
        share = 1 / np.arange(1, level + 1) ** skew
        columns[f"k{at}"] = pa.array(rng.choice(level, n, p=share / share.sum()))
    return pa.table({**columns, "w": rng.uniform(20, 180, n), "hh": np.arange(n) // 3})


def measure(kind: str, n: int, suda: bool) -> None:
    """Print one row."""
    table = draw(kind, n)
    keys = [name for name in table.column_names if name.startswith("k")]
    shoal.risk(table.slice(0, 100), keys, "w", "hh")  # load what is needed
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.process_time()
    found = shoal.risk(table, keys, "w", "hh", suda=suda)
    seconds = time.process_time() - begin
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    what = "risk and SUDA2" if suda else "risk"
    print(f"{kind:8}{n:11,}  {what:16}{found.sample_uniques:11,}{seconds:9.2f} s{grown:9,.0f} MiB", flush=True)


def main() -> None:
    """Print a row for each file, without SUDA2 and with it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[100_000, 1_000_000], help="numbers of records")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "WHAT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.one[0], options.n[0], options.one[1] == "suda")
        return
    print(f"{'file':8}{'records':>11}  {'measured':16}{'uniques':>11}{'seconds':>11}{'memory':>13}", flush=True)
    for n in options.n:
        for kind in KINDS:
            for what in ("risk", "suda"):
                command = [sys.executable, "-m", "bench.population_risk", "--n", str(n), "--one", kind, what]
                subprocess.run(command, check=True)


if __name__ == "__main__":
    main()

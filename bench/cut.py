"""Processor time of the univariate cut against that of the argsort it needs, and the memory it takes.

Run with ``python -m bench.cut``. Every figure is the best of a few runs in one process, taken in turns.
"""

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np

from shoal.partitioning.optimal_cut import cut


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def peak() -> int:
    """Most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def draw(kind: str, n: int) -> np.ndarray:
    """One attribute of n records."""
    rng = np.random.default_rng(0)
    x = {
        "uniform": rng.random,
        "lognormal": lambda n: rng.lognormal(0, 2, n),
        "tied": lambda n: rng.integers(0, 1000, n),
    }
    return np.asarray(x[kind](n), dtype=np.float64)[:, None]


def main() -> None:
    """Print a table for each kind of data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000_000, help="number of records")
    parser.add_argument("--k", type=int, nargs="+", default=[3, 10, 100, 100_000])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    n = options.n
    cut(np.arange(10.0)[:, None], np.arange(10), 3)  # load the kernel

    for kind in ("uniform", "lognormal", "tied"):
        X = draw(kind, n)
        order = np.argsort(X[:, 0], kind="stable")
        times: dict[str, list[float]] = {}
        for _ in range(options.runs):
            times.setdefault("argsort", []).append(seconds(lambda X=X: np.argsort(X[:, 0])))
            times.setdefault("argsort, stable", []).append(seconds(lambda X=X: np.argsort(X[:, 0], kind="stable")))
            for k in options.k:
                if k <= n:
                    work = seconds(lambda X=X, order=order, k=k: cut(X, order, k))
                    times.setdefault(f"cut, k = {k:,}", []).append(work)
        best = {name: min(values) for name, values in times.items()}
        print(f"\n{kind}, n = {n:,}: seconds of processor time, ratio to argsort, ratio to stable argsort")
        for name, value in best.items():
            print(f"  {name:20}{value:8.3f}{value / best['argsort']:8.2f}{value / best['argsort, stable']:8.2f}")
    print(f"\npeak memory of the whole process: {peak() / 2**20:,.0f} MiB, {peak() / n:.0f} bytes a record")


if __name__ == "__main__":
    main()

"""MDAV three ways on the same data: the textbook's scans, the vector scan and the tree.

    python -m bench.mdav                                    # 100,000 and 1,000,000 records; textbook at 20,000, scaled
    python -m bench.mdav --n 100000 --textbook 100000       # nothing scaled

Processor time of one core. The textbook, compiled by numba, is quadratic: above `--textbook` records its time is that
of so many records times the square of the ratio, marked ~. Every case runs in a process of its own, so that the peak of
memory is its own (about 150 MiB of it are Python and its libraries).
"""

import argparse
import itertools
import math
import multiprocessing
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from bench.samples import DISTRIBUTIONS, distributed
from numba import njit

from shoal.kernels.mdav import mdav_scan, mdav_tree


@njit(cache=True)
def measure(X: np.ndarray, alive: np.ndarray, point: np.ndarray, distance: np.ndarray) -> int:
    """Measure every remaining record from a point; return the farthest."""
    farthest = -1
    for i in range(X.shape[0]):
        if alive[i]:
            total = 0.0
            for j in range(X.shape[1]):
                total += (X[i, j] - point[j]) * (X[i, j] - point[j])
            distance[i] = total
            if farthest < 0 or total > distance[farthest]:
                farthest = i
    return farthest


@njit(cache=True)
def form(alive: np.ndarray, distance: np.ndarray, labels: np.ndarray, label: int, x: int, k: int) -> None:
    """Give x and its k - 1 nearest a label: one pass, the best so far kept in order."""
    best, near, size = np.empty(k), np.empty(k, np.int64), 0
    alive[x] = False
    labels[x] = label
    for i in range(alive.shape[0]):
        if alive[i] and (size < k - 1 or distance[i] < best[size - 1]):
            at = size if size < k - 1 else size - 1
            size = min(size + 1, k - 1)
            while at > 0 and best[at - 1] > distance[i]:
                best[at], near[at] = best[at - 1], near[at - 1]
                at -= 1
            best[at], near[at] = distance[i], i
    for at in range(size):
        alive[near[at]] = False
        labels[near[at]] = label


@njit(cache=True)
def textbook(X: np.ndarray, k: int, watch: np.ndarray) -> np.ndarray:
    """MDAV-generic as printed: the mean, every distance and every group by a pass over all records."""
    n, d = X.shape
    alive, labels = np.ones(n, np.bool_), np.full(n, -1)
    mean, distance = np.empty(d), np.empty(n)
    left, formed = n, 0
    while left >= 2 * k:
        mean[:] = 0.0
        for i in range(n):
            if alive[i]:
                for j in range(d):
                    mean[j] += X[i, j]
        for j in range(d):
            mean[j] /= left
        x = measure(X, alive, mean, distance)
        centres = 2 if left >= 3 * k else 1
        for centre in range(centres):
            if centre > 0:
                x = measure(X, alive, X[x], distance)
            measure(X, alive, X[x], distance)
            form(alive, distance, labels, formed, x, k)
            formed += 1
            left -= k
    for i in range(n):
        if alive[i]:
            labels[i] = formed
    return labels


Search = Callable[[np.ndarray, int, np.ndarray], np.ndarray]


def timed(search: Search, X: np.ndarray, k: int) -> tuple[float, np.ndarray]:
    """Processor time and labels of a search, after a short one that loads it."""
    watch = np.zeros(2, np.int64)
    search(X[: 3 * k], k, watch)
    start = time.thread_time()
    labels = search(X, k, watch)
    return time.thread_time() - start, labels


def run(case: tuple[str, int, int, int, int, int]) -> dict[str, Any]:
    """Measure one case; the slow searches only up to their own limits."""
    kind, d, k, n, most_textbook, most_scan = case
    X = distributed(kind, n, d)
    tree, labels = timed(mdav_tree, X, k)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result: dict[str, Any] = {"tree": tree, "peak": peak, "scan": math.nan, "same": []}
    if n <= most_scan:
        result["scan"], scanned = timed(mdav_scan, X, k)
        result["same"].append(("scan", np.array_equal(labels, scanned)))
    small = X[: min(n, most_textbook)]
    seconds, printed = timed(textbook, small, k)
    result["textbook"] = seconds * (n / len(small)) ** 2
    labels = labels if n == len(small) else timed(mdav_tree, np.ascontiguousarray(small), k)[1]
    result["same"].append((f"textbook at {len(small):,}", np.array_equal(labels, printed)))
    return result


def main() -> None:
    """Print a line a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[100_000, 1_000_000], help="numbers of records")
    parser.add_argument("--d", type=int, nargs="+", default=[2, 4, 10], help="numbers of attributes")
    parser.add_argument("--k", type=int, nargs="+", default=[3, 10], help="group sizes")
    parser.add_argument("--textbook", type=int, default=20_000, help="most records for the textbook's scans")
    parser.add_argument("--scan", type=int, default=100_000, help="most records for the vector scan")
    options = parser.parse_args()

    print("seconds of processor time; x = times as fast as the textbook; growth = exponent from the n before")
    print(
        f"{'data':9} {'d':>2} {'k':>2} {'n':>9} | {'textbook':>10} | {'scan':>7} {'x':>5} | {'tree':>7} {'x':>7} ",
        end="",
    )
    print(f"| {'growth':>6} | {'peak MiB':>8} | same labels as")
    for d, k, kind in itertools.product(options.d, options.k, DISTRIBUTIONS):
        before: tuple[int, float] | None = None
        for n in sorted(options.n):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                got = pool.map(run, [(kind, d, k, n, options.textbook, options.scan)])[0]
            growth = math.log(got["tree"] / before[1]) / math.log(n / before[0]) if before else math.nan
            before = n, got["tree"]
            about = "~" if n > options.textbook else " "
            print(f"{kind:9} {d:2} {k:2} {n:9,} | {about}{got['textbook']:9.2f} | ", end="")
            print(f"{got['scan']:7.2f} {got['textbook'] / got['scan']:5.1f} | ".replace("nan", "  -"), end="")
            print(f"{got['tree']:7.3f} {got['textbook'] / got['tree']:7.1f} | ", end="")
            print(f"{growth:6.2f} | {got['peak']:8.0f} | ".replace("nan", "  -"), end="")
            print(", ".join(name if same else f"NOT {name}" for name, same in got["same"]), flush=True)


if __name__ == "__main__":
    main()

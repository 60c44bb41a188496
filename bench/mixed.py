"""MDAV-generic on mixed records: four continuous, two ordinal and three nominal attributes, some values missing.

    python -m bench.mixed                                   # 100,000 records; the textbook at 5,000
    python -m bench.mixed --n 20000 --textbook 20000

Processor time of one core. The textbook, compiled by numba, scans all records for every average, every farthest record
and every group; its labels must be the same. Every case runs in a process of its own, so that the peak of memory is its
own (about 150 MiB of it are Python and its libraries).
"""

import argparse
import multiprocessing
import resource
import time

import numpy as np
from bench.mdav import form
from numba import njit

from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, EncodedMatrix
from shoal.partitioning.mdav import mdav_mixed


def mixed_records(n: int, categories: int = 20) -> EncodedMatrix:
    """Draw four continuous attributes, two ordinal of seven levels and three nominal; one value in fifty is missing."""
    rng = np.random.default_rng(0)
    kinds = np.array([MEAN] * 4 + [MEDIAN, CONVEX_MEDIAN] + [MODE] * 3)
    levels = np.array([0] * 4 + [7] * 2 + [categories] * 3)
    steps = np.array([1.0] * 4 + [1 / 7] * 2 + [1.0] * 3)
    numbers = rng.normal(size=(n, 4))
    places = rng.binomial(6, 0.4, size=(n, 2))
    codes = (categories * rng.beta(1, 2, size=(n, 3))).astype(np.int64)
    values = np.hstack([numbers, places, codes]) * steps
    values[rng.random(values.shape) < 0.02] = np.nan
    return EncodedMatrix(values, kinds, np.ones(len(kinds)), steps, levels)


@njit(cache=True)
def measure(space: EncodedMatrix, alive: np.ndarray, point: np.ndarray, distance: np.ndarray) -> int:
    """Measure every remaining record from a point; return the farthest."""
    farthest = -1
    for i in range(alive.shape[0]):
        if alive[i]:
            total = 0.0
            for j in range(point.shape[0]):
                x, y = space.values[i, j], point[j]
                if np.isnan(x) or np.isnan(y):
                    total += 0.0 if np.isnan(x) and np.isnan(y) else space.apart[j]
                elif space.kinds[j] == MODE:
                    total += 0.0 if x == y else space.apart[j]
                else:
                    total += (x - y) * (x - y)
            distance[i] = total
            if farthest < 0 or total > distance[farthest]:
                farthest = i
    return farthest


@njit(cache=True)
def average(space: EncodedMatrix, alive: np.ndarray, point: np.ndarray) -> None:
    """Compute the average of the remaining records from all of them."""
    for j in range(point.shape[0]):
        kind, frequency = space.kinds[j], np.zeros(max(space.levels[j], 1), np.int64)
        total, present, missing = 0.0, 0, 0
        for i in range(alive.shape[0]):
            if alive[i]:
                x = space.values[i, j]
                if np.isnan(x):
                    missing += 1
                    continue
                present += 1
                if kind == MEAN:
                    total += x
                else:
                    frequency[round(x / space.steps[j])] += 1
        if kind == CONVEX_MEDIAN:
            sides = [(frequency[: c + 1].max(), frequency[c:].max()) for c in range(frequency.shape[0])]
            frequency = np.array([min(up, down) for up, down in sides])
        if missing > present:
            point[j] = np.nan
        elif kind == MEAN:
            point[j] = total / present
        elif kind == MODE:
            point[j] = np.argmax(frequency)
        else:
            point[j] = np.argmax(2 * np.cumsum(frequency) >= frequency.sum()) * space.steps[j]


@njit(cache=True)
def textbook(space: EncodedMatrix, k: int) -> np.ndarray:
    """MDAV-generic as printed: the average, every distance and every group by a pass over all records."""
    n, d = space.values.shape
    alive, labels = np.ones(n, np.bool_), np.full(n, -1)
    point, distance = np.empty(d), np.empty(n)
    left, formed = n, 0
    while left >= 2 * k:
        average(space, alive, point)
        x = measure(space, alive, point, distance)
        centres = 2 if left >= 3 * k else 1
        for centre in range(centres):
            if centre > 0:
                x = measure(space, alive, space.values[x], distance)
            measure(space, alive, space.values[x], distance)
            form(alive, distance, labels, formed, x, k)
            formed += 1
            left -= k
    for i in range(n):
        if alive[i]:
            labels[i] = formed
    return labels


def run(case: tuple[int, int, int]) -> tuple[float, float]:
    """Processor time and peak memory, in MiB, of one case."""
    n, k, categories = case
    space = mixed_records(n, categories)
    mdav_mixed(space.rows(np.arange(10 * k)), k)
    start = time.thread_time()
    mdav_mixed(space, k)
    return time.thread_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def against_textbook(case: tuple[int, int]) -> tuple[float, float]:
    """Processor time of the textbook and ours on the same records; the labels must be the same."""
    n, k = case
    space = mixed_records(n)
    times, labels = [], []
    for search in (textbook, mdav_mixed):
        search(space.rows(np.arange(10 * k)), k)
        start = time.thread_time()
        labels.append(search(space, k))
        times.append(time.thread_time() - start)
    assert np.array_equal(*labels)
    return times[0], times[1]


def main() -> None:
    """Print a line a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[100_000], help="numbers of records")
    parser.add_argument("--k", type=int, nargs="+", default=[3, 5], help="group sizes")
    parser.add_argument("--categories", type=int, nargs="+", default=[20, 10_000], help="of each nominal attribute")
    parser.add_argument("--textbook", type=int, default=5_000, help="records for the comparison with the textbook")
    options = parser.parse_args()

    spawn = multiprocessing.get_context("spawn")
    print(f"against the textbook at {options.textbook:,} records, the same labels")
    for k in options.k:
        with spawn.Pool(1) as pool:
            slow, fast = pool.apply(against_textbook, ((options.textbook, k),))
        print(f"k = {k}: textbook {slow:.3f} s, ours {fast:.4f} s, {slow / fast:.1f} times as fast")
    print("\nseconds of processor time")
    for n in options.n:
        for k in options.k:
            for categories in options.categories:
                with spawn.Pool(1, maxtasksperchild=1) as pool:
                    seconds, peak = pool.apply(run, ((n, k, categories),))
                print(f"n = {n:,}, k = {k}, {categories:,} categories: {seconds:.2f} s, peak memory {peak:.0f} MiB")


if __name__ == "__main__":
    main()

"""Every family of kernels, here and in another checkout, on the same data in one run.

    python -m bench.kernels                                        # this checkout alone
    python -m bench.kernels --old ../before --python ../before/.venv/bin/python

Processor time, the least of `--rounds` runs of each checkout in turn; what is compiled at the first call is compiled
before. A case that a checkout does not have is left out. Proposals a second are those of annealing.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Case = Callable[[], Any]


def records(kind: str, n: int, d: int) -> np.ndarray:
    """Draw records: even, normal, or skewed as turnovers are (EIA's logarithms have a standard deviation near 2)."""
    rng = np.random.default_rng(0)
    if kind == "uniform":
        return rng.random((n, d))
    X = rng.normal(size=(n, d))
    if kind == "skewed":
        X = np.exp(2 * X)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def watch() -> np.ndarray:
    """Return a watch that nobody sets."""
    return np.zeros(2, np.int64)


def mdav(kind: str, n: int, d: int, k: int, how: str = "mdav_tree") -> Case:
    """Exact MDAV."""
    from shoal.kernels import mdav as kernels

    X = records(kind, n, d)
    return lambda: getattr(kernels, how)(X, k, watch())


def vmdav(kind: str, n: int, d: int) -> Case:
    """V-MDAV."""
    from shoal.kernels.vmdav import vmdav_tree

    X = records(kind, n, d)
    return lambda: vmdav_tree(X, 5, 0.2, watch())


def mixed(n: int) -> Case:
    """MDAV on numbers, levels and categories, some of them missing."""
    from shoal.kernels.encoded import EncodedMatrix
    from shoal.kernels.mdav import mdav_generic

    rng = np.random.default_rng(0)
    values = np.column_stack([records("skewed", n, 2), rng.integers(0, 5, n) / 4, rng.integers(0, 8, n)]).astype(float)
    values[rng.random((n, 4)) < 0.02] = np.nan
    steps = np.array([1, 1, 0.25, 1])
    space = EncodedMatrix(values, np.array([0, 0, 1, 3]), np.ones(4), steps, np.array([0, 0, 5, 8]))
    return lambda: mdav_generic(space, 5, watch())


def nearest(kind: str, n: int, d: int) -> Case:
    """Neighbour lists."""
    from shoal.kernels.kd_nearest import nearest_points

    X = records(kind, n, d)
    return lambda: nearest_points(X, X, np.arange(n), 20, watch())


def search(kind: str, n: int, d: int, k: int, steps: int) -> Case:
    """Annealing, or a descent if there are no steps."""
    from shoal.kernels.anneal import anneal, descend
    from shoal.kernels.kd_nearest import nearest_points
    from shoal.kernels.mdav import mdav_tree
    from shoal.kernels.refine import grouped

    X = records(kind, n, d)
    X /= 2 * np.abs(X).max()
    labels = mdav_tree(X, k, watch())
    near = np.ascontiguousarray(nearest_points(X, X, np.arange(n), 21, watch())[:, 1:], dtype=np.int32)
    local = ((X[near[:, : k - 1]] - X[:, None]) ** 2).sum(axis=2).mean(axis=1)

    def run() -> float:
        s = grouped(X, labels, k, int(labels.max()) + 1)
        if not steps:
            return descend(s, near, local, np.ones(n, np.bool_), watch())
        return anneal(s, near, local, 0.1, steps, np.array([7], np.uint64), watch())

    return run


def cut(how: str, n: int, d: int, k: int) -> Case:
    """Optimal cuts of a line."""
    from shoal.kernels import optimal_cut

    line = np.sort(records("skewed", n, d), axis=0)
    return lambda: getattr(optimal_cut, how)(line, k, watch())


def tour(kind: str, n: int, d: int) -> Case:
    """Join, unroll and shorten a tour."""
    from shoal.kernels.kd_nearest import nearest_points
    from shoal.kernels.paths import join_ends, nearest_next, savings, unrolled
    from shoal.kernels.tour import shortened

    X = records(kind, n, d)
    near = np.ascontiguousarray(nearest_points(X, X, np.arange(n), 11, watch())[:, 1:])

    def run() -> np.ndarray:
        pairs, saved = savings(X, X.mean(axis=0), near, watch())
        joined, other = join_ends(pairs, np.argsort(-saved, kind="stable"), n, watch())
        ends = np.flatnonzero(joined[:, 1] < 0)
        place = np.empty(n, np.int64)
        place[ends] = np.arange(len(ends))
        entered = nearest_next(X[ends], place[other[ends]], 0, watch())
        return shortened(X, near, unrolled(ends[entered], joined), 100_000, n // 10, watch())

    return run


def linkage(kind: str, n: int, d: int) -> Case:
    """Linkage by distance to groups of four."""
    from shoal.kernels.linkage import link_to_nearest

    Z = records(kind, n, d)
    labels = np.arange(n) // 4
    rows = np.add.reduceat(Z, np.arange(0, n, 4)) / 4
    first, size = np.arange(0, n, 4), np.full(n // 4, 4)
    return lambda: link_to_nearest(Z, rows, labels, first, size, np.arange(n))


def patterns(n: int, d: int) -> Case:
    """Patterns of agreement of 500 records with all."""
    from shoal.kernels.linkage import count_patterns

    Z = records("normal", n, d)
    return lambda: count_patterns(Z, np.ascontiguousarray(Z.T), np.ones(n, np.int64), np.arange(500), 0.1)


def hybrid(n: int, d: int) -> Case:
    """Synthetic values in groups of twenty."""
    from shoal.kernels.ipso import synthesise

    X, noise = records("skewed", n, d), np.random.default_rng(1).normal(size=(n, d))
    return lambda: synthesise(X, X[:, :1].copy(), noise, np.arange(n), np.arange(0, n + 1, 20))


def price(n: int) -> Case:
    """Search for groups of negative reduced cost."""
    from shoal.kernels.kd_nearest import nearest_points
    from shoal.kernels.pricing import price as priced

    X = records("normal", n, 3)
    near = nearest_points(X, X, np.arange(n), 5, watch())
    sums = np.cumsum(((X[near] - X[:, None]) ** 2).sum(axis=2), axis=1)
    rank = np.arange(n)
    return lambda: priced(X, 3, sums[:, 2] / 5, sums, rank, rank, -1e-6, True, 200, 1 << 40, watch())


def closeness(n: int) -> Case:
    """Distances of groups of five from the file."""
    from shoal.kernels.t_closeness import ordered_distances

    code = np.sort(np.random.default_rng(0).integers(0, n, n).reshape(-1, 5), axis=1).ravel()
    return lambda: ordered_distances(np.arange(0, n + 1, 5), code, np.arange(1, n + 1))


def diversity(n: int) -> Case:
    """Entropies of groups of five."""
    from shoal.kernels.l_diversity import diversities

    code = np.sort(np.random.default_rng(0).integers(0, 50, n).reshape(-1, 5), axis=1).ravel()
    return lambda: diversities(np.arange(0, n + 1, 5), code, 50, 1, 1.0)


def hilbert(n: int, d: int) -> Case:
    """Places on the Hilbert curve."""
    from shoal.kernels.hilbert import hilbert_places

    cells = np.random.default_rng(0).integers(0, 1 << 16, (n, d))
    return lambda: hilbert_places(cells, 16)


def classes(n: int) -> Case:
    """Classes of two columns."""
    from shoal.kernels.equivalence_classes import combine

    a, b = np.random.default_rng(0).integers(0, 1000, (2, n))
    return lambda: combine(a, b)


def products(n: int, d: int) -> Case:
    """Exact sums of products."""
    from shoal.kernels.exact_sum import DIGITS, sum_of_products

    Z = records("skewed", n, d)
    return lambda: sum_of_products(Z / np.abs(Z).max(), DIGITS)


def medians(n: int) -> Case:
    """Members of groups of five, sorted."""
    from shoal.kernels.groups import gathered

    X = records("skewed", n, 1)[:, 0].copy()
    group = np.random.default_rng(0).permutation(np.repeat(np.arange(n // 5), 5))
    return lambda: gathered(X, np.ones(n), group, np.arange(0, n + 1, 5))


STEPS = 3_000_000
CASES: dict[str, tuple[Callable[..., Case], tuple[Any, ...], tuple[Any, ...]]] = {
    # name: what prepares it, with these arguments, and with these before anything is measured
    **{
        f"MDAV on the tree, {kind} {n:,} x {d}, k = {k}": (mdav, (kind, n, d, k), (kind, 2000, d, k))
        for kind, n, d, k in [
            ("normal", 200_000, 2, 5), ("normal", 200_000, 4, 5), ("uniform", 200_000, 10, 10),
            ("normal", 200_000, 10, 10), ("skewed", 200_000, 10, 10),
        ]
    },
    "MDAV by scans, normal 20,000 x 10": (
        mdav, ("normal", 20_000, 10, 5, "mdav_scan"), ("normal", 500, 10, 5, "mdav_scan"),
    ),
    "MDAV on types, 20,000 x 4": (mixed, (20_000,), (500,)),
    "V-MDAV, skewed 100,000 x 4": (vmdav, ("skewed", 100_000, 4), ("skewed", 2000, 4)),
    "20 nearest, normal 100,000 x 4": (nearest, ("normal", 100_000, 4), ("normal", 2000, 4)),
    "20 nearest, skewed 20,000 x 10": (nearest, ("skewed", 20_000, 10), ("skewed", 2000, 10)),
    "annealing, normal 1,080 x 13, k = 5": (search, ("normal", 1080, 13, 5, STEPS), ("normal", 1080, 13, 5, 1000)),
    "annealing, skewed 4,000 x 11, k = 5": (search, ("skewed", 4000, 11, 5, STEPS), ("skewed", 4000, 11, 5, 1000)),
    "annealing, normal 8,192 x 5, k = 3": (search, ("normal", 8192, 5, 3, STEPS), ("normal", 8192, 5, 3, 1000)),
    "descent, normal 8,192 x 5, k = 3": (search, ("normal", 8192, 5, 3, 0), ("normal", 500, 5, 3, 0)),
    "tour, normal 30,000 x 4": (tour, ("normal", 30_000, 4), ("normal", 1000, 4)),
    "optimal cut, sorted 1,000,000, k = 10": (cut, ("cut_sorted", 1_000_000, 1, 10), ("cut_sorted", 1000, 1, 10)),
    "optimal cut, 200,000 x 4, k = 10": (cut, ("cut_by_scan", 200_000, 4, 10), ("cut_by_scan", 1000, 4, 10)),
    "linkage by distance, skewed 100,000 x 4": (linkage, ("skewed", 100_000, 4), ("skewed", 2000, 4)),
    "patterns of agreement, 20,000 x 6": (patterns, (20_000, 6), (1000, 6)),
    "synthetic groups, 100,000 x 5": (hybrid, (100_000, 5), (1000, 5)),
    "pricing, 2,000 x 3, k = 3": (price, (2000,), (200,)),
    "t-closeness, 1,000,000": (closeness, (1_000_000,), (1000,)),
    "l-diversity, 1,000,000": (diversity, (1_000_000,), (1000,)),
    "Hilbert curve, 200,000 x 5": (hilbert, (200_000, 5), (1000, 5)),
    "classes, 1,000,000": (classes, (1_000_000,), (1000,)),
    "exact products, 100,000 x 6": (products, (100_000, 6), (1000, 6)),
    "members of groups, 1,000,000": (medians, (1_000_000,), (1000,)),
}  # fmt: skip


def measured(names: list[str]) -> dict[str, float]:
    """Return the processor time of each case, when it runs for the second time."""
    seconds = {}
    for name in names:
        prepare, arguments, small = CASES[name]
        try:
            prepare(*small)()  # compiles, where kernels are compiled at the first call
            case = prepare(*arguments)
            case()
        except (ImportError, AttributeError, TypeError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        start = time.process_time()
        case()
        seconds[name] = time.process_time() - start
    return seconds


def run(checkout: Path, python: str, names: list[str]) -> dict[str, float]:
    """Measure in a checkout, with this script."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [python, str(Path(__file__).resolve()), "--measure", *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    return json.loads(done.stdout)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, help="another checkout")
    parser.add_argument("--python", default=sys.executable, help="the Python that runs the other checkout")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(arguments.measure)))
        return
    print("| processor seconds | old | new | old / new |\n|---|---|---|---|")
    for name in (name for name in CASES if arguments.only in name):
        old, new = [np.inf], [np.inf]
        for _ in range(arguments.rounds):
            if arguments.old:
                old.append(run(arguments.old, arguments.python, [name]).get(name, np.inf))
            new.append(run(Path(__file__).parents[1], sys.executable, [name]).get(name, np.inf))
        pace = f" ({STEPS / min(new) / 1e6:.1f} million proposals a second)" if name.startswith("annealing") else ""
        print(f"| {name}{pace} | {min(old):.3f} | {min(new):.3f} | {min(old) / min(new):.2f} |", flush=True)


if __name__ == "__main__":
    main()

"""How many records an optimal assignment finds, beside linkage to the nearest record: hits and DLD in percent.

    python -m bench.assignment                          # Census, Tarragona and EIA at k = 3, 5, 10
    python -m bench.assignment --sets eia --k 3

All attributes are known and masked, by mdav, best (a million steps) and mic1d. Hybrid data are the first (k - 3) / 2
attributes, in their groups of mdav: more need larger groups. Both attacks use the distance that masked; of DLD,
`expected`. Then 100,000 records of 5 attributes by mdav, and the processor seconds of the assignment. ~ is an estimate.
"""

import argparse
import time
from collections.abc import Iterator

import numpy as np
from bench.samples import DATA, DISTRIBUTIONS, distributed, reference_set

import shoal
from shoal.aggregation import aggregate
from shoal.masking.mic1d import mic1d
from shoal.masking.microhybrid import microhybrid
from shoal.measures import assignment, linkage
from shoal.measures.linkage_spaces import of_numbers

SETS = ["census", "tarragona", "eia"]


def masked(X: np.ndarray, k: int) -> Iterator[tuple[str, np.ndarray]]:
    """Mask all attributes by each method."""
    for method, how in (("mdav", {}), ("best", {"budget": 1_000_000, "seed": 0})):
        labels = shoal.partition(X, k, method=method, **how)
        yield method, np.column_stack([aggregate(x, labels, "mean") for x in X.T])
    yield "mic1d", mic1d(X, k)


def hybrid(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Make the first attributes hybrid data, as many as groups of k allow, and return them before and after."""
    some = np.ascontiguousarray(X[:, : (k - 3) // 2])
    return some, microhybrid(some, np.empty((len(X), 0)), shoal.partition(some, k, method="mdav"), 0).values


def attack(what: str, X: np.ndarray, Y: np.ndarray) -> None:
    """Print what both attacks find."""
    spaces = of_numbers(X, np.ascontiguousarray(Y)).masking
    begin = time.process_time()
    found = assignment(*spaces)
    seconds = time.process_time() - begin
    hits = "-" if found["hits"] is None else f"{'~' if found['sampled'] else ''}{found['hits']:.2f}"
    nearest = linkage(*spaces)["expected"]
    print(f"{what:26} {hits:>8} {nearest:8.2f} {found['blind']:8.3f} {found['most']:8.2f} {seconds:8.2f}", flush=True)


def main() -> None:
    """Print a line for each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--k", nargs="*", type=int, default=[3, 5, 10])
    options = parser.parse_args()
    print(f"{'':26} {'hits':>8} {'DLD':>8} {'blind':>8} {'most':>8} {'seconds':>8}")
    for name in options.sets:
        table = reference_set(DATA, name)
        X = np.column_stack([column.to_numpy().astype(float) for column in table.columns])
        for k in options.k:
            for method, Y in masked(X, k):
                attack(f"{name}, k = {k}, {method}", X, Y)
            if k >= 5:
                attack(f"{name}, k = {k}, hybrid", *hybrid(X, k))
    if options.sets == SETS:
        for kind in DISTRIBUTIONS:
            X = distributed(kind, 100_000, 5)
            labels = shoal.partition(X, 3, method="mdav")
            attack(f"{kind} 100,000 x 5, k = 3", X, np.column_stack([aggregate(x, labels, "mean") for x in X.T]))


if __name__ == "__main__":
    main()

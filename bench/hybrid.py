"""Hybrid data beside the partition that they need, and beside plain microaggregation with the same groups.

    python -m bench.hybrid                                  # 1,000,000 records of 4 confidential and 3 other attributes
    python -m bench.hybrid --n 100000

Processor time of the hybrid step and of MDAV on the z-scores of all attributes: Procedure 1 of R-microhybrid partitions
by them. All groups are MDAV's, as those of method `hybrid` are by default, unless a table says otherwise. On the Census
file: how many records an intruder links who knows the confidential attributes (DBRL: distance-based record linkage, in
percent, ties drawn), and by how many percent these lose their variances and correlations. The DBRL of hybrid data is a
mean of several draws. Then how far statistics move in random tenths of the file (`shoal.measures.subdomain_loss`).
"""

import argparse
import time

import numpy as np
from bench.samples import DATA

import shoal
from shoal.aggregation import aggregate
from shoal.masking.ipso import least_k
from shoal.masking.microhybrid import microhybrid
from shoal.measures import distance_linkage, subdomain_loss, variations
from shoal.measures.subdomains import STATISTICS

DRAWS = 20
METHOD = "mdav"  # the groups of method hybrid, unless a plan says otherwise


def correlated(n: int, d: int) -> np.ndarray:
    """Draw records of correlated attributes with long tails."""
    rng = np.random.default_rng(0)
    return np.exp(rng.normal(size=(n, d)) @ (np.eye(d) + 0.3))


def beside_the_partition(n: int, k: int) -> None:
    """Print the processor time of the hybrid step and of the partition."""
    V = correlated(n, 7)
    begin = time.process_time()
    labels = shoal.partition(V, k, method=METHOD)
    middle = time.process_time()
    result = microhybrid(V[:, :4], V[:, 4:], labels, 0)
    partition, hybrid = middle - begin, time.process_time() - middle
    print(f"n = {n:,}, 4 confidential and 3 other attributes, k = {k}: seconds of processor time")
    print(f"  {METHOD:9} {partition:8.2f}\n  hybrid    {hybrid:8.2f}, ratio {hybrid / partition:.2f}")
    print(f"  fused groups {result.fused}, values that could not be changed {result.unchanged.sum()}")


def beside_microaggregation(V: np.ndarray, confidential: list[int], others: list[int]) -> None:
    """Print risk and loss of both methods for the same groups."""
    X, Y = V[:, confidential], V[:, others]
    what = f"{len(confidential)} confidential and {len(others)} other attributes"
    print(f"\nCensus, {what}, groups by {METHOD}: averages, hybrid")
    print(f"{'k':>4}{'DBRL':>16}{'variances':>18}{'correlations':>18}{'fused':>8}")
    for k in range(10, 51, 5):
        if k < least_k(len(confidential), len(others)):
            continue
        labels = shoal.partition(np.hstack([X, Y]), k, method=METHOD)
        plain = np.column_stack([aggregate(x, labels, "mean") for x in X.T])
        results = [microhybrid(X, Y, labels, seed) for seed in range(DRAWS)]
        linked = np.mean([distance_linkage(X, result.values)["expected"] for result in results])
        lost, kept = variations(X, plain), variations(X, results[0].values)
        print(
            f"{k:4}{distance_linkage(X, plain)['expected']:8.2f}{linked:8.2f}{lost['variances']:9.2f}"
            f"{kept['variances']:9.2f}{lost['correlations']:9.2f}{kept['correlations']:9.2f}{results[0].fused:8}"
        )


def subdomains(X: np.ndarray) -> None:
    """Print how far statistics move in random subdomains: averages, hybrid data of two methods and of both IPSO."""
    print(f"\nCensus, {X.shape[1]} confidential attributes: statistics of random tenths of the file, mean change")
    print(f"{'k':>4}  {'':24}" + "".join(f"{name:>15}" for name in STATISTICS))
    for k in (15, 25, 50, len(X)):
        groups = {each: shoal.partition(X, k, method=each) for each in (METHOD, "best")}
        made = {f"averages, {METHOD}": [np.column_stack([aggregate(x, groups[METHOD], "mean") for x in X.T])]}
        for each, orthogonal in ((METHOD, False), ("best", False), (METHOD, True)):
            results = (microhybrid(X, X[:, :0], groups[each], seed, orthogonal=orthogonal) for seed in range(DRAWS))
            made[f"hybrid, {each}{', orthogonal' * orthogonal}"] = [result.values for result in results]
        for name, files in made.items():
            found = [subdomain_loss(X, each)["statistics"] for each in files]
            moved = (np.mean([each[statistic]["mean"] for each in found]) for statistic in STATISTICS)
            print(f"{k:4}  {name:24}" + "".join(f"{each:15.3f}" for each in moved))


def main() -> None:
    """Print all comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000, help="number of records")
    parser.add_argument("--k", type=int, default=20)
    options = parser.parse_args()
    beside_the_partition(options.n, options.k)
    census = DATA / "census.csv"
    if not census.exists():
        print(f"{census.name} not found; SHOAL_DATA names its folder")
        return
    V = np.loadtxt(census, delimiter=",", quotechar='"', skiprows=1)[:, :13]
    beside_microaggregation(V, [2, 4, 8, 11], [])
    beside_microaggregation(V, list(range(0, 13, 2)), [])
    beside_microaggregation(V, [2, 4, 8, 11], [0, 1, 7])
    subdomains(V[:, ::2])


if __name__ == "__main__":
    main()

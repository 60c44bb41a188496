"""Mic1D as printed beside Mic1D with parts of least squared error, on the two files of its paper.

    python -m bench.mic1d

Both partitions of the vector are either cut after every k values, the last part keeping what is left (`printed`), or
where the squared errors of the values that they cut are least, in parts of k to 2k - 1 (`optimal`: the paper's future
work). No optimal part has fewer than k values, so that there are fewer parts at the same k; the third row of each k has
a smaller k, which gives as many parts as the printed cut has.

SSE is the paper's own (`shoal.measures.loss.own_range_sse`). k' is the mean of n / number of different records over
the sets of three attributes of its Table 3 (correlated): of one block (1G), of two (2G) and of three (3G). Score is 0.5
IL + 0.25 (DLD + ID), with IL of variations, DLD averaged over all subsets of attributes, and ID by rank; ID by standard
deviations, and the score with it, follow. Lower is better for all but k'.
"""

import argparse
import sys

import numpy as np
from bench.papers import KNOWN, PUBLISHED, mean_real_k, nine_attributes
from bench.samples import DATA

from shoal import measures
from shoal.masking import mic1d
from shoal.measures.loss import own_range_sse
from shoal.partitioning.optimal_cut import univariate


def figures(X: np.ndarray, masked: np.ndarray) -> list[float]:
    """Return SSE, k' in three scenarios, IL, DLD, ID by rank with its score, and ID by sd with its score."""
    il = measures.variations(X, masked)["IL"]
    dld = measures.distance_linkage_average(X, masked)["linked"]
    rank = measures.interval_disclosure_rank(X, masked)["percent"]
    deviation = measures.interval_disclosure_sd(X, masked)["percent"]
    known = [mean_real_k(masked, sets) for sets in KNOWN["correlated"].values()]
    scores = [(each, measures.score(il, dld, each)) for each in (rank, deviation)]
    return [own_range_sse(X, masked), *known, il, dld, *scores[0], *scores[1]]


def sizes_of_parts(X: np.ndarray, k: int, *, optimal: bool) -> np.ndarray:
    """Return how many values each part of the first partition has."""
    values = np.sort(X.ravel())
    labels = univariate(values[:, None], k) if optimal else np.arange(values.size) // k
    return np.bincount(labels)


def main() -> None:
    """Print a table for each file."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if not DATA.is_dir():
        sys.exit(f"the reference data sets are not in {DATA}; SHOAL_DATA names their folder")
    for name in ("census", "water-treatment"):
        X = nine_attributes(name)
        print(f"\n{name}: {len(X)} records of 9 attributes, {X.size:,} values")
        titles = ("k", "cut", "parts", "least", "SSE", "1G", "2G", "3G", "IL", "DLD", "ID", "score", "ID sd", "score")
        print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
        for k in PUBLISHED[name, "correlated"]["Mic1D"]:
            parts = len(sizes_of_parts(X, k, optimal=False))
            for size, optimal in ((k, False), (k, True), (X.size // parts, True)):
                sizes = sizes_of_parts(X, size, optimal=optimal)
                row = figures(X, mic1d(X, size, optimal=optimal))
                cut = "optimal" if optimal else "printed"
                cells = [f"{size}", cut, f"{len(sizes)}", f"{sizes.min()}", *(f"{each:.2f}" for each in row)]
                print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

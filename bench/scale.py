"""What blocks cost and save: time, memory and loss of MDAV on the whole, in 2^d-tree and in k-d blocks, with repair.

    python -m bench.scale                                   # 100,000 and 1,000,000 records
    python -m bench.scale --n 2000000 --d 2 5 --kind clustered --small 2000

`univariate` (by the first attribute), `2^d-tree` and `k-d, small` have blocks of `--small` records, `k-d, default`
those for a memory of 1 GB (one, if all fits); in `k-d, repaired` records may then cross the borders.
Wall-clock seconds on all cores: dividing, partitioning, repairing.
Loss is the sum of squared errors as a multiple of that of the whole. Every case runs in a process of its own; memory is
its peak, with Python and its libraries (about 200 MiB) and the drawing and scaling of the data in it.
"""

import argparse
import itertools
import math
import multiprocessing
import resource
import time
from typing import Any

import numpy as np
from bench.samples import DISTRIBUTIONS, distributed

from shoal.blocking import (
    RecordBlocks,
    block_records,
    kd_blocks,
    partition_blocks,
    repair_seams,
    sorted_blocks,
    two_d_tree,
)
from shoal.blocking.cost import sse
from shoal.kernels.standardize import standardize
from shoal.partitioning.mdav import mdav

WAYS = ["whole", "univariate", "2^d-tree", "k-d, default", "k-d, small", "k-d, repaired"]
MEMORY = 10**9


def divided(way: str, Z: np.ndarray, k: int, small: int) -> RecordBlocks:
    """Divide records as asked."""
    if way == "2^d-tree":
        return two_d_tree(lambda look: look(Z), k, small)
    most = block_records(MEMORY, Z.shape[1], len(Z)) if way == "k-d, default" else small
    return kd_blocks(lambda look: look(Z), k, most)


def partitioned(way: str, Z: np.ndarray, k: int, small: int) -> tuple[np.ndarray, list[float], int]:
    """Return labels, the seconds that each of the three steps took, and the number of blocks."""
    times = [time.perf_counter()]
    whole = way == "whole" or (way == "k-d, default" and len(Z) <= block_records(MEMORY, Z.shape[1], len(Z)))
    if whole:
        blocks = np.zeros(len(Z), np.int64)
    elif way == "univariate":
        first = np.ascontiguousarray(Z[:, :1])
        blocks = sorted_blocks(lambda look: look(first), k, small).assign(first)
    else:
        blocks = divided(way, Z, k, small).assign(Z)
    times.append(time.perf_counter())
    labels = partition_blocks(Z, k, mdav, blocks)
    times.append(time.perf_counter())
    if way == "k-d, repaired":
        labels = repair_seams(Z, k, labels)
    times.append(time.perf_counter())
    return labels, np.diff(times).tolist(), int(blocks.max()) + 1


def run(case: tuple[str, str, int, int, int, int]) -> dict[str, Any]:
    """Measure one case."""
    way, kind, n, d, k, small = case
    partitioned(way, standardize(distributed(kind, 12_000, d)), k, small)
    if way == "whole":
        mdav(standardize(distributed(kind, 12_000, d)), k)
    Z = standardize(distributed(kind, n, d))
    labels, seconds, blocks = partitioned(way, Z, k, small)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "blocks": blocks, "peak": peak, "sse": sse(Z, labels)}


def main() -> None:
    """Print a line a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[100_000, 1_000_000], help="numbers of records")
    parser.add_argument("--d", type=int, nargs="+", default=[2, 5, 10], help="numbers of attributes")
    parser.add_argument("--kind", nargs="+", default=["uniform", "clustered"], choices=DISTRIBUTIONS)
    parser.add_argument("--way", nargs="+", default=WAYS, choices=WAYS)
    parser.add_argument("--k", type=int, default=3)
    parser.add_argument("--small", type=int, default=2_000, help="records in a small block")
    options = parser.parse_args()
    print(
        f"{'data':9} {'d':>2} {'n':>10} {'blocks of':14} {'blocks':>6} | {'divide':>6} {'search':>6} {'repair':>6} ",
        end="",
    )
    print(f"{'total':>7} | {'MiB':>6} | {'SSE':>12} {'loss':>6}")
    for kind, d, n in itertools.product(options.kind, options.d, options.n):
        whole = math.nan
        for way in options.way:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                got = pool.map(run, [(way, kind, n, d, options.k, options.small)])[0]
            whole = got["sse"] if way == "whole" else whole
            print(f"{kind:9} {d:2} {n:10,} {way:14} {got['blocks']:6} | ", end="")
            print(" ".join(f"{seconds:6.1f}" for seconds in got["seconds"]), end="")
            print(
                f" {sum(got['seconds']):7.1f} | {got['peak']:6.0f} | {got['sse']:12.6g} {got['sse'] / whole:6.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

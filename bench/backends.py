"""What engines take: the same file and plan on this machine in blocks, and on a Spark session; time, memory, loss.

    python -m bench.backends                                          # 1,000,000 records of 5 attributes
    python -m bench.backends --n 1000000 10000000 --memory 2GB --engines local
    python -m bench.backends --master "local-cluster[2,1,2048]"

Wall-clock seconds of a process of its own, with reading, verifying and writing; memory is the peak of that process, for
Spark the driver's Python alone. IL must be the same where the blocks are.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from bench.samples import distributed

RUN = """
import json, resource, sys
from shoal.plan import Plan
from shoal.backends.{module} import {function} as protect
found = protect(Plan(**json.loads(sys.argv[1]))).summary()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({{"IL": found["loss"]["IL"], "smallest": found["risk"]["after"]["smallest"], "peak": peak}}))
"""
ENGINES = {"local": ("local", "protect_file"), "spark": ("spark_files", "protect_files")}


def written(folder: Path, n: int, d: int) -> Path:
    """Write a file of records, a piece at a time."""
    path = folder / f"{n}.parquet"
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(d)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n, 1_000_000):
            rows = distributed("uniform", min(n - start, 1_000_000), d) + np.sin(start)
            writer.write_table(pa.table(list(rows.T), schema=schema))
    return path


def main() -> None:
    """Print a line for each engine and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[1_000_000], help="numbers of records")
    parser.add_argument("--d", type=int, default=5, help="attributes")
    parser.add_argument("--k", type=int, default=3)
    parser.add_argument("--block", type=int, default=250_000, help="records in a block")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--master", default="local[2]")
    options = parser.parse_args()
    print(f"{'n':>11} {'engine':6} | {'seconds':>8} {'a million':>9} | {'MiB':>6} | {'IL %':>8} {'smallest':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for n in options.n:
            path = written(Path(folder), n, options.d)
            for engine in options.engines:
                module, function = ENGINES[engine]
                scale = {"block_size": options.block}
                scale |= {"master": options.master} if engine == "spark" else {"memory": options.memory}
                plan = {"k": options.k, "input": str(path), "output": f"{folder}/{n}-{engine}.parquet", "scale": scale}
                plan["engine"] = "spark" if engine == "spark" else "file"
                began = time.perf_counter()
                command = [sys.executable, "-c", RUN.format(module=module, function=function), json.dumps(plan)]
                answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                seconds = time.perf_counter() - began
                got = json.loads(answer.stdout.splitlines()[-1])
                print(
                    f"{n:11,} {engine:6} | {seconds:8.1f} {seconds / n * 1e6:9.1f} | {got['peak']:6.0f} | "
                    f"{got['IL']:8.4f} {got['smallest']:8}",
                    flush=True,
                )


if __name__ == "__main__":
    main()

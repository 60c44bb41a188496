"""Whether memory grows from run to run: the same large file protected again and again in one process.

    python -m bench.twice                                   # 1,000,000 records of 5 attributes
    python -m bench.twice --records 10000000 --runs 4

Resident memory (MiB) before the first run and after each, and the peak of each run by itself. The first run loads
libraries and kernels; what it leaves behind must not grow with the second. Linux only, as it reads /proc.
"""

import argparse
import re
import tempfile
import time
from pathlib import Path

from bench.backends import written

import shoal

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def memory(name: str) -> float:
    """Return a line of the process's status in MiB: VmRSS, what is resident now, or VmHWM, the most there was."""
    found = re.search(rf"^{name}:\s+(\d+) kB", STATUS.read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else float("nan")


def forget_peak() -> None:
    """Reset the peak to what is resident now."""
    CLEAR.write_text("5")


def main() -> None:
    """Print a line a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--d", type=int, default=5, help="attributes")
    parser.add_argument("--k", type=int, default=3)
    parser.add_argument("--block", type=int, default=250_000, help="records in a block")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    print(f"{'run':>6} | {'seconds':>8} | {'resident':>8} {'peak':>8} | {'IL %':>8}")
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), options.records, options.d)
        scale = {"block_size": options.block, "memory": options.memory}
        plan = shoal.Plan(k=options.k, input=str(path), output=f"{folder}/release.parquet", scale=scale)
        print(f"{'before':>6} | {'':8} | {memory('VmRSS'):8.0f} {memory('VmHWM'):8.0f} |", flush=True)
        for run in range(1, options.runs + 1):
            forget_peak()
            began = time.perf_counter()
            loss = shoal.protect_file(plan, overwrite=True).loss()["IL"]
            seconds = time.perf_counter() - began
            print(f"{run:6} | {seconds:8.1f} | {memory('VmRSS'):8.0f} {memory('VmHWM'):8.0f} | {loss:8.4f}", flush=True)


if __name__ == "__main__":
    main()

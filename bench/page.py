"""How long the page takes from step to step, and the memory it needs: 300 columns, a CSV of 300 MB, 1,000,000 records.

    python -m bench.page [columns] [csv] [records]

Each case is walked through in chromium, from the upload to the release, as a person would. Memory is the most that the
server and its workers held at once, each.
"""

import argparse
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
from playwright.sync_api import Page, sync_playwright


def many_columns(folder: Path) -> Path:
    """Write 5,000 records of 300 columns."""
    rng = np.random.default_rng(0)
    pq.write_table(
        pa.table({f"income_{i}": rng.normal(size=5000).round(2) for i in range(300)}), folder / "columns.parquet"
    )
    return folder / "columns.parquet"


def large_csv(folder: Path) -> Path:
    """Write a CSV file of 300 MB, of 30 columns."""
    rng = np.random.default_rng(0)
    path, records = folder / "large.csv", 1_100_000
    with pc.CSVWriter(path, pa.schema([(f"income_{i}", pa.float64()) for i in range(30)])) as writer:
        for _ in range(11):
            columns = {f"income_{i}": rng.normal(1000, 200, records // 11).round(4) for i in range(30)}
            writer.write_table(pa.table(columns))
    return path


def many_records(folder: Path) -> Path:
    """Write 1,000,000 records of 5 columns."""
    rng = np.random.default_rng(0)
    table = pa.table({f"income_{i}": rng.normal(size=1_000_000).round(3) for i in range(5)})
    pq.write_table(table, folder / "records.parquet")
    return folder / "records.parquet"


CASES = {"columns": many_columns, "csv": large_csv, "records": many_records}


class Memory(threading.Thread):
    """The most memory, in MB, that the server and any of its workers held."""

    def __init__(self, server: int) -> None:
        super().__init__(daemon=True)
        self.server, self.most, self.over = server, {"server": 0.0, "worker": 0.0}, threading.Event()

    def run(self) -> None:
        """Look ten times a second."""
        while not self.over.wait(0.1):
            children = Path(f"/proc/{self.server}/task/{self.server}/children")
            workers = children.read_text().split() if children.exists() else []
            for kind, process in [("server", self.server), *(("worker", each) for each in workers)]:
                self.most[kind] = max(self.most[kind], _resident(process))


def _resident(process: int | str) -> float:
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


@contextmanager
def _timed(times: dict[str, float], step: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    times[step] = time.perf_counter() - began


def walk(page: Page, path: Path) -> dict[str, float]:
    """Go from the upload to the release; all columns are proposed to be masked."""
    times: dict[str, float] = {}
    with _timed(times, "attributes"):
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Choose a file").click()
        chooser.value.set_files(path)
        page.get_by_role("heading", name="What are the attributes?").wait_for()
    with _timed(times, "protection"):
        page.get_by_role("button", name="Next: protection").first.click()
        page.get_by_role("heading", name="How much protection?").wait_for()
    with _timed(times, "map"):
        page.get_by_role("button", name="Draw the risk-utility map").click()
        page.get_by_role("slider").wait_for()
    with _timed(times, "release"):
        page.get_by_label("Method", exact=True).click()
        page.get_by_role("option", name=re.compile("^zscores")).click()
        page.get_by_role("button", name="Protect", exact=True).click()
        page.get_by_role("heading", name="The release").wait_for()
    return times


def main() -> None:
    """Walk through the cases that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="case", help=f"one of {', '.join(CASES)}; all if left out")
    cases = parser.parse_args().cases or [*CASES]
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        print(
            f"{'case':10} {'MB':>6} {'attributes':>11} {'protection':>11} {'map':>8} {'release':>8}   server, worker MB"
        )
        for case in cases:
            path = CASES[case](Path(name))
            command = [sys.executable, "-m", "shoal", "app", "--port", "0"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
                link = next(found[0] for line in served.stdout if (found := re.search(r"http://\S+", line)))
                memory = Memory(served.pid)
                memory.start()
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.set_default_timeout(3_600_000)
                page.goto(link)
                times = walk(page, path)
                memory.over.set()
                page.close()
                served.terminate()
            steps = " ".join(f"{times[step]:{width}.1f}" for step, width in zip(times, (11, 11, 8, 8), strict=True))
            size = path.stat().st_size / 1e6
            most = memory.most
            print(f"{case:10} {size:6.0f} {steps}   {most['server']:.0f}, {most['worker']:.0f}", flush=True)
            path.unlink()
        browser.close()


if __name__ == "__main__":
    main()

"""The page under many sessions at once: nobody sees another's data, all are served, and memory stays bounded."""

import os
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.app.conftest import serving

SESSIONS = 50
MIB = 2**20


def family(root: int) -> list[int]:
    """Name the processes that a process started, and itself."""
    children = Path(f"/proc/{root}/task/{root}/children")
    if not children.exists():
        return []
    return [root, *(pid for child in children.read_text().split() for pid in family(int(child)))]


def memory(pid: int) -> int:
    """Give the memory that is a process's own, in bytes."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


def press(page, name: str) -> None:
    """Press a button without waiting until it stands still: fifty windows in one browser take long to draw."""
    page.get_by_role("button", name=name, exact=True).dispatch_event("click")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="memory is read from Linux's /proc")
def test_fifty_sessions_at_once(chromium, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    rng = np.random.default_rng(7)
    for who in range(SESSIONS):
        table = pa.table({f"mine_{who:02}": rng.normal(size=2000), "age": rng.integers(18, 90, 2000)})
        pq.write_table(table, tmp_path / f"{who}.parquet")
    most = {"server": 0, "all": 0, "workers": 0}
    over = threading.Event()

    def watch(root: int) -> None:
        while not over.wait(0.2):
            pids = family(root)
            most["server"] = max(most["server"], memory(root))
            most["all"] = max(most["all"], sum(map(memory, pids)))
            most["workers"] = max(most["workers"], len(pids) - 1)

    with serving(temporary) as served:
        watcher = threading.Thread(target=watch, args=(served.process.pid,))
        watcher.start()
        pages = []
        for _ in range(SESSIONS):
            # Fifty moving bars would be more work for one browser than the page is for its server.
            context = chromium.new_context(
                viewport={"width": 700, "height": 600}, accept_downloads=True, reduced_motion="reduce"
            )
            page = context.new_page()
            page.set_default_timeout(600_000)
            page.goto(served.link)
            page.get_by_role("button", name="Choose a file").wait_for()
            pages.append(page)
        before = memory(served.process.pid)
        for who, page in enumerate(pages):
            page.locator("input[type=file]").first.set_input_files(tmp_path / f"{who}.parquet")
        for page in pages:
            press(page, "Next: protection")
        for page in pages:
            press(page, "Protect")
        waiting = sum(page.get_by_text("before you").count() for page in pages)
        for who, page in enumerate(pages):
            page.get_by_role("heading", name="Before and after").wait_for()
            masked = pq.read_table(pa.BufferReader(page.context.request.get(f"{page.url}download/masked").body()))
            assert masked.column_names == [f"mine_{who:02}", "age"]
            others = [other for other in range(SESSIONS) if f"mine_{other:02}" in page.content() and other != who]
            assert others == []
            page.context.close()
        after = memory(served.process.pid)
        over.set()
        watcher.join()
    print({name: value if name == "workers" else value // MIB for name, value in most.items()}, waiting)
    assert waiting > 0, "nobody saw that there is a line"
    assert most["workers"] <= (os.cpu_count() or 1) * 2 + 2  # at work, the one kept ready, and those that are ending
    assert after - before < 300 * MIB
    assert list(temporary.iterdir()) == []

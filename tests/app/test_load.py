"""Many sessions at once: nobody gets another's data, all are served in their order, and memory stays bounded."""

import asyncio
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.app.sessions import Store

SESSIONS = 50
MIB = 2**20


def family(root: int) -> list[int]:
    """Name the processes that a process started, and itself."""
    children = Path(f"/proc/{root}/task/{root}/children")
    if not children.exists():
        return []
    return [root, *(pid for child in children.read_text().split() for pid in family(int(child)))]


def memory(pid: int) -> int:
    """Return the memory of a process in bytes."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_fifty_sessions_at_once(tmp_path):
    rng = np.random.default_rng(7)
    tables = [
        pa.table({f"mine_{who:02}": rng.normal(size=2000), "age": rng.integers(18, 90, 2000)})
        for who in range(SESSIONS)
    ]
    most = {"server": 0, "workers": 0, "memory of workers": 0, "before somebody": 0}

    async def served() -> None:
        store = Store(tmp_path)
        works = [store.work(f"session {who}") for who in range(SESSIONS)]
        for who, (work, table) in enumerate(zip(works, tables, strict=True)):
            path = work.place(f"{who}.parquet")
            pq.write_table(table, path)
            work.open(path)
        await finished(works)
        for work in works:
            work.choices.k = 10
            work.protect()
        await finished(works)
        for who, work in enumerate(works):
            assert work.problems == []
            found = work.downloads()
            assert set(found) == {"masked", "report", "users", "plan", "manifest"}
            assert pq.read_table(found["masked"]).column_names == [f"mine_{who:02}", "age"]
            for text in (*(found[each].read_text() for each in ("report", "users", "plan")), str(work.release)):
                assert [other for other in range(SESSIONS) if f"mine_{other:02}" in text] == [who]
        await store.close()

    async def finished(works) -> None:
        while any(work.job.active for work in works):
            own, *workers = family(os.getpid())
            most["server"] = max(most["server"], memory(own) // MIB)
            most["workers"] = max(most["workers"], len(workers))
            most["memory of workers"] = max(most["memory of workers"], sum(map(memory, workers)) // MIB)
            most["before somebody"] = max(most["before somebody"], *(work.waiting() for work in works))
            await asyncio.sleep(0.2)

    start = memory(os.getpid()) // MIB
    asyncio.run(served())
    print(most, "MiB; at the start", start)
    assert most["before somebody"] >= SESSIONS - 2 * (os.cpu_count() or 1) - 1  # the line was there to be shown
    assert most["workers"] <= 2 * (os.cpu_count() or 1) + 1  # at work, ending, and the one kept ready
    assert most["server"] - start < 200
    assert list(tmp_path.iterdir()) == []

"""Jobs: their order in line, and workers that are cancelled, killed or hang."""

import asyncio
import os
import signal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from pyarrow.csv import write_csv
from tests.expect import codes, refused, reports

from shoal.app import jobs, worker
from shoal.app.jobs import Job, Line
from shoal.errors import FileError

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="workers are stopped by signals")


@pytest.fixture
def table(tmp_path):
    (tmp_path / "small.csv").write_text(
        "age,pay,town\n" + "".join(f"{age},{age * age % 997},a\n" for age in range(3000))
    )
    return str(tmp_path / "small.csv")


async def until(happens, seconds=600):
    """Wait for something that happens in another process."""
    async with asyncio.timeout(seconds):
        while not happens():
            await asyncio.sleep(0.01)


async def at_work(job):
    """Wait until a worker has the job, and stop it there."""
    await until(lambda: job.state == "running")
    os.kill(job._process.pid, signal.SIGSTOP)
    return job._process


def test_first_come_first_served_and_whoever_waits_may_leave(table):
    async def talk():
        ended = []
        first, second, third = (Job("inspect", {"path": table}, ended.append) for _ in range(3))
        line = Line(at_once=1)
        for job in (first, second, third):
            line.submit(job)
        process = await at_work(first)
        assert [line.before(job) for job in (first, second, third)] == [0, 0, 1]
        second.cancel()
        assert (second.state, line.before(third)) == ("cancelled", 0)
        os.kill(process.pid, signal.SIGCONT)
        await until(lambda: len(ended) == 3)
        assert ended == [second, first, third]
        assert [job.state for job in ended] == ["cancelled", "done", "done"]
        assert third.found["records"] == 3000
        await line.close()

    asyncio.run(talk())


def test_a_killed_worker_is_said_in_a_sentence_and_the_next_job_runs(table):
    async def talk():
        ended = []
        killed, another = (Job("inspect", {"path": table}, ended.append) for _ in range(2))
        line = Line(at_once=1)
        line.submit(killed)
        process = await at_work(killed)
        spare = await line._spare
        spare.kill()  # the one that is kept ready, too
        await spare.wait()
        process.kill()
        await until(lambda: killed.state == "failed")
        assert codes(killed.problems) == ["work-stopped"]
        line.submit(another)
        await until(lambda: another.state == "done")
        await line.close()

    asyncio.run(talk())


def test_a_worker_that_hangs_is_killed_when_its_job_is_cancelled(table, monkeypatch):
    monkeypatch.setattr(jobs, "_GRACE", 0.3)

    async def talk():
        ended, gone = [], []
        options = {
            "k": 3,
            "quasi": ["age", "pay"],  # one attribute would be optimal at once
            "publish": "rest",
            "method": "best",
            "budget": "10min",
            "input": table,
            "output": f"{table}.masked.csv",  # beside it, not in the folder that the tests run in
        }
        job = Job("protect", {"options": options}, ended.append)
        line = Line(at_once=1)
        line.submit(job)
        await until(lambda: job.step == "partition")
        process = await at_work(job)
        job.cancel()
        job.afterwards(lambda: gone.append(process.returncode))
        assert ended == [job]
        await until(lambda: gone)
        assert gone == [-signal.SIGKILL]
        await line.close()
        assert (await line._spare).returncode is not None

    asyncio.run(talk())


def test_work_that_takes_too_long_is_ended_in_a_sentence(table):
    async def talk():
        ended = []
        line = Line(at_once=1, seconds=0.5)
        job = Job("inspect", {"path": table}, ended.append)
        line.submit(job)
        process = await at_work(job)  # which stands still
        await until(lambda: ended)
        os.kill(process.pid, signal.SIGCONT)
        assert job.state == "failed"
        assert reports(job.problems, "work-too-long", limit="1 s")
        await until(lambda: process.returncode is not None)
        await line.close()

    asyncio.run(talk())


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_table_that_is_too_wide_is_refused_before_it_is_read(tmp_path, ending, monkeypatch):
    monkeypatch.setattr("shoal.evidence.roles.roles", None)  # which would take minutes
    wide = pa.table({f"c{each}": [1, 2] for each in range(2001)})
    writers = {"csv": write_csv, "parquet": pq.write_table, "arrow": feather.write_feather}
    writers[ending](wide, tmp_path / f"wide.{ending}")
    with refused(FileError, "too-many-columns-for-page", columns=2001, most=2000):
        worker.inspect(str(tmp_path / f"wide.{ending}"), lambda *_: None)


def test_no_worker_no_job_but_a_sentence(table, monkeypatch):
    monkeypatch.setattr("sys.executable", "/nowhere/python")

    async def talk():
        ended = []
        line = Line(at_once=1)
        for _ in range(2):
            line.submit(Job("inspect", {"path": table}, ended.append))
        await until(lambda: len(ended) == 2)
        assert [codes(job.problems) for job in ended] == [["work-not-started"]] * 2
        await line.close()

    asyncio.run(talk())

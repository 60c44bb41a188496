"""Jobs: work on a file in a process of its own, some at a time, the others in line."""

import asyncio
import contextlib
import json
import os
import sys
import time
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from typing import Any, Literal, cast

State = Literal["waiting", "running", "done", "failed", "cancelled"]

_GRACE = 5.0  # seconds that a cancelled job has for cleaning up
_LINE = 2**26  # the most bytes of a line from a worker: pictures of many attributes


class Job:
    """One piece of work for one session.

    Attributes
    ----------
    name : str
        Which of the worker's tasks.
    state : str
        Where it stands.
    step, done, total
        What the worker is at, and how far.
    found : dict
        What it found, when it is done.
    problems : list of str
        Why it failed.
    """

    def __init__(self, name: str, task: dict[str, Any], finished: Callable[["Job"], None]) -> None:
        self.name = name
        self.state: State = "waiting"
        self.step, self.done, self.total = "", 0, 1
        self.found: dict[str, Any] = {}
        self.problems: list[str] = []
        self._task = task
        self._finished = finished
        self._began = time.monotonic()
        self._process: Process | None = None

    @property
    def active(self) -> bool:
        """Whether it is still to do or under way."""
        return self.state in ("waiting", "running")

    @property
    def left(self) -> float | None:
        """The seconds that this step will probably take from now on; None while nobody can tell."""
        passed = time.monotonic() - self._began
        if self.total <= 1 or self.done <= 0 or passed < 1:
            return None
        return passed * (self.total - self.done) / self.done

    def show(self, step: str, done: int, total: int) -> None:
        """Take down what the worker says of its progress."""
        if step in ("compile", "loss so far"):
            return
        if step != self.step:
            self.step, self._began = step, time.monotonic()
        self.done, self.total = done, total

    def cancel(self) -> None:
        """Stop it, wherever it stands; nothing of it stays."""
        if not self.active:
            return
        self.state = "cancelled"
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
        self._finished(self)

    async def run(self, process: Process) -> None:
        """Give the task to a worker and follow it to its end."""
        self._process = process
        if self.state == "waiting":
            self.state, self._began = "running", time.monotonic()
            await self._follow(process)
        await _ended(process)

    async def _follow(self, process: Process) -> None:
        task, answers = cast("StreamWriter", process.stdin), cast("StreamReader", process.stdout)  # both are pipes
        task.write(json.dumps({"task": self.name, **self._task}).encode() + b"\n")
        with contextlib.suppress(ConnectionError):
            await task.drain()
        while line := await answers.readline():
            said = json.loads(line)
            if "progress" in said:
                self.show(*said["progress"])
            elif self.state == "running":
                self._end(said)
        if self.state == "running":
            self._end({"problems": ["the work ended without a word, perhaps for want of memory; try a smaller file"]})

    def _end(self, said: dict[str, Any]) -> None:
        self.found, self.problems = said.get("found", {}), said.get("problems", [])
        self.state = "done" if "found" in said else "failed"
        self._finished(self)


async def _ended(process: Process) -> None:
    """See a worker off: it has said all that it had to say, or was asked to stop."""
    try:
        await asyncio.wait_for(process.wait(), _GRACE)
    except TimeoutError:
        process.kill()
        await process.wait()


class Line:
    """The line in which jobs wait: as many at a time as the machine has cores, first come, first served."""

    def __init__(self, at_once: int | None = None) -> None:
        self._free = at_once or os.cpu_count() or 1
        self._waiting: list[Job] = []
        self._running: set[asyncio.Task[None]] = set()
        self._spare: asyncio.Task[Process] | None = None

    def submit(self, job: Job) -> None:
        """Put a job in line."""
        self._waiting.append(job)
        self._go_on()

    def before(self, job: Job) -> int:
        """Say how many jobs are before this one in line."""
        waiting = [each for each in self._waiting if each.active]
        return waiting.index(job) if job in waiting else 0

    async def close(self) -> None:
        """End the worker that is kept ready."""
        if self._spare is not None:
            process = await self._spare
            process.kill()
            await process.wait()

    def _go_on(self) -> None:
        self._waiting = [job for job in self._waiting if job.active]
        while self._free and self._waiting:
            self._free -= 1
            task = asyncio.create_task(self._run(self._waiting.pop(0)))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _run(self, job: Job) -> None:
        try:
            ready = self._spare or asyncio.create_task(_worker())
            self._spare = asyncio.create_task(_worker())  # the next job finds one that has loaded everything
            await job.run(await ready)
        finally:
            self._free += 1
            self._go_on()


async def _worker() -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "shoal.app.worker",
        stdin=PIPE,
        stdout=PIPE,
        stderr=None if os.environ.get("SHOAL_DEBUG") else DEVNULL,
        limit=_LINE,
    )

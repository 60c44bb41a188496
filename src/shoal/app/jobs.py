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

from shoal.app.security.limits import JOB
from shoal.messages import Message
from shoal.text import duration

State = Literal["waiting", "running", "done", "failed", "cancelled"]

WORKER = "shoal.app.worker"  # the module that works
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
    problems : list of Message
        Why it failed.
    """

    def __init__(self, name: str, task: dict[str, Any], finished: Callable[["Job"], None]) -> None:
        self.name = name
        self.state: State = "waiting"
        self.step, self.done, self.total = "", 0, 1
        self.found: dict[str, Any] = {}
        self.problems: list[Message] = []
        self._task = task
        self._finished = finished
        self._began = time.monotonic()
        self._process: Process | None = None
        self._afterwards: list[Callable[[], None]] = []

    @property
    def active(self) -> bool:
        """Whether it is still to do or under way."""
        return self.state in ("waiting", "running")

    @property
    def passed(self) -> float:
        """The seconds since this step began."""
        return time.monotonic() - self._began

    @property
    def left(self) -> float | None:
        """The seconds that this step will probably take from now on; None while nobody can tell."""
        passed = self.passed
        if self.total <= 1 or self.done <= 0 or passed < 1:
            return None
        return passed * (self.total - self.done) / self.done

    def show(self, step: str, done: int, total: int) -> None:
        """Take down what the worker says of its progress."""
        if step in ("loss so far", "bound so far"):
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
            asyncio.get_running_loop().call_later(_GRACE, _kill, self._process)
        self._finished(self)

    def fail(self, problem: Message) -> None:
        """End it with a message that says why."""
        if self.active:
            self._end({"problems": [problem.as_json()]})

    def afterwards(self, do: Callable[[], None]) -> None:
        """Have something done when its worker is gone; at once if there is none."""
        if self._process is None:
            do()
        else:
            self._afterwards.append(do)

    async def run(self, process: Process, seconds: float) -> None:
        """Hand the task to a worker and follow it to its end, or for as long as it may take."""
        self._process = process
        try:
            if self.state == "waiting":
                self.state, self._began = "running", time.monotonic()
                await self._follow(process, seconds)
            await _ended(process)
        finally:
            _kill(process)
            self._process = None
            for do in self._afterwards:
                do()

    async def _follow(self, process: Process, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._listen(process)
        except TimeoutError:
            self.fail(Message("work-too-long", limit=duration(seconds)))
            process.terminate()

    async def _listen(self, process: Process) -> None:
        task, answers = cast("StreamWriter", process.stdin), cast("StreamReader", process.stdout)  # both are pipes
        task.write(json.dumps({"task": self.name, **self._task}).encode() + b"\n")
        with contextlib.suppress(ConnectionError):
            await task.drain()
        while (line := await answers.readline()).endswith(b"\n"):  # or the worker was killed in the middle of it
            said = json.loads(line)
            if "progress" in said:
                self.show(*said["progress"])
            elif self.state == "running":
                self._end(said)
        self.fail(Message("work-stopped"))

    def _end(self, said: dict[str, Any]) -> None:
        self.found, self.problems = (
            said.get("found", {}),
            [Message.from_json(each) for each in said.get("problems", [])],
        )
        self.state = "done" if "found" in said else "failed"
        self._finished(self)


async def _ended(process: Process) -> None:
    """See a worker off: it has said all that it had to say, or was asked to stop."""
    try:
        await asyncio.wait_for(process.wait(), _GRACE)
    except TimeoutError:
        _kill(process)
        await process.wait()


def _kill(process: Process) -> None:
    """End a worker at once, if it is there."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


class Line:
    """The line in which jobs wait: as many at a time as the machine has cores, first come, first served."""

    def __init__(self, at_once: int | None = None, worker: str = WORKER, seconds: float = JOB) -> None:
        self._seconds = seconds
        self._free = at_once or os.cpu_count() or 1
        self._module = worker
        self._waiting: list[Job] = []
        self._running: set[asyncio.Task[None]] = set()
        self._spare: asyncio.Task[Process] | None = None

    def submit(self, job: Job) -> None:
        """Put a job in line."""
        self._waiting.append(job)
        self._go_on()

    def before(self, job: Job) -> int:
        """Count the jobs ahead of this one in the queue."""
        waiting = [each for each in self._waiting if each.active]
        return waiting.index(job) if job in waiting else 0

    def prepare(self) -> None:
        """Have a worker ready before the first job comes."""
        self._spare = self._spare or asyncio.create_task(_worker(self._module))

    async def close(self) -> None:
        """End all workers, also the one that is kept ready; jobs are cancelled before."""
        if self._running:
            await asyncio.wait(self._running, timeout=2 * _GRACE)
        if self._spare is not None:
            with contextlib.suppress(OSError):
                process = await self._spare
                _kill(process)
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
            await job.run(await self._ready(), self._seconds)
        except (OSError, ValueError):  # no process, or an answer that is longer than any should be
            job.fail(Message("work-not-started"))
        finally:
            self._free += 1
            self._go_on()

    async def _ready(self) -> Process:
        """Return a worker, the one kept ready if it still is, and start another for the next job."""
        ready, self._spare = self._spare, asyncio.create_task(_worker(self._module))
        with contextlib.suppress(OSError):
            if ready is not None and (process := await ready).returncode is None:
                return process
        return await _worker(self._module)


async def _worker(module: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # nothing in the working folder is to be taken for a module
        "-m",
        module,
        stdin=PIPE,
        stdout=PIPE,
        stderr=None if os.environ.get("SHOAL_DEBUG") else DEVNULL,
        limit=_LINE,
    )

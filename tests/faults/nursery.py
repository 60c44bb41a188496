"""Runs of the real command with a fault in them, forked from a process that has loaded it: loading takes seconds.

`python -m tests.faults.nursery` reads a run a line from standard input, and answers with its exit code. Each run is a
process of its own.
"""

import ctypes
import errno
import importlib
import itertools
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

SECRET = "4711 Secret Street"  # what a library might put into the words of an error
_SECONDS = 600  # then a run hangs
_SPARE = 1 << 30  # bytes that a run has left when its memory is limited
_LOADED = ("pandas", "shoal.cli", "shoal.release", "shoal.backends.file.run", "shoal.report", "shoal.cli.display")


def serve() -> None:
    """Fork the runs that standard input names."""
    _load()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run(**json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _load() -> None:
    """Load the command and the kernels that runs need, without a thread, which no fork would take along."""
    for name in _LOADED:
        importlib.import_module(name)
    from shoal.partitioning import partition

    partition(np.random.default_rng(0).normal(size=(20, 2)), 3, method="mdav")


def _run(
    arguments: list[str],
    folder: str,
    at: str,
    fault: str,
    limits: dict[str, int],
    ordinary: bool,
    shown: list[str],
    killed_after: float,
    environment: dict[str, str],
) -> None:
    """Be the command: `at` is a function's place, or the name of a step that shows progress; empty for no fault.

    After so many seconds the run is killed, if that is more than none.
    """
    for stream, path in enumerate(shown, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), stream)
    signal.alarm(_SECONDS)
    os.chdir(folder)
    os.environ.update(environment)
    tempfile.tempdir = None  # where `environment` says
    if ordinary:
        _give_up_privileges()
    if ":" in at:
        _in_function(at, FAULTS[fault])
    elif at:
        _at_progress(at, FAULTS[fault])
    for name, limit in limits.items():
        held = _held() if name == "RLIMIT_AS" else 0
        resource.setrlimit(getattr(resource, name), (held + limit, held + limit))
    if killed_after:
        killer = threading.Timer(killed_after, os.kill, (os.getpid(), signal.SIGKILL))
        killer.daemon = True
        killer.start()
    sys.argv = ["shoal", *arguments]
    sys.stdin = open(os.devnull)  # noqa: SIM115, PTH123 - it lives as long as the process
    code: Any = 1
    try:
        importlib.import_module("shoal.cli").main()
    except SystemExit as end:
        code = end.code
    except BaseException:  # as Python itself does, when the command has let one through
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(code or 0)  # no thread is left to wait for; taking all libraries down takes as long as the run


def _give_up_privileges() -> None:
    """Be bound by permissions, which root is not: all capabilities are dropped, of this process alone."""
    if os.getuid() == 0:
        header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
        if ctypes.CDLL(None, use_errno=True).capset(header, none):
            raise OSError(ctypes.get_errno(), "capset")


def _held() -> int:
    """Return how many bytes of addresses the process has taken: the libraries alone take most of a gigabyte."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _in_function(place: str, fault: Callable[[], None]) -> None:
    """Put a fault into a call of a function: 'module:name' before its work, 'module:name:after' after it.

    It is the first call, or that of a number: 'module:name:before:2'.
    """
    module, name, *when = place.split(":")
    owner: Any = importlib.import_module(module)
    *parts, last = name.split(".")
    for part in parts:
        owner = getattr(owner, part)
    real = getattr(owner, last)
    calls, chosen, after = itertools.count(1), int(when[1]) if len(when) > 1 else 1, when[:1] == ["after"]

    def faulty(*args: Any, **options: Any) -> Any:
        if next(calls) != chosen:
            return real(*args, **options)
        setattr(owner, last, real)
        if not after:
            fault()
        result = real(*args, **options)
        if after:
            fault()
        return result

    setattr(owner, last, faulty)


def _at_progress(step: str, fault: Callable[[], None]) -> None:
    """Put a fault where a step first shows progress."""
    from shoal.cli.display import Bar

    real, seen = Bar.__call__, []

    def faulty(self: Bar, at: str, done: int, total: int) -> None:
        real(self, at, done, total)
        if at == step and not seen:
            seen.append(at)
            fault()

    Bar.__call__ = faulty  # type: ignore[method-assign]


def _raises(error: BaseException) -> Callable[[], None]:
    def fault() -> None:
        raise error

    return fault


def _signals(*numbers: int) -> Callable[[], None]:
    def fault() -> None:
        for number in numbers:
            os.kill(os.getpid(), number)
            time.sleep(0.05)  # for the main thread to answer

    return fault


def _sets_clock(seconds: float) -> Callable[[], None]:
    """Let the clock on the wall jump; the one that only counts goes on."""

    def fault() -> None:
        real = time.time
        time.time = lambda: real() + seconds

    return fault


def _on_input(change: Callable[[Path], None]) -> Callable[[], None]:
    def fault() -> None:
        for path in [*Path().glob("in.*"), *Path().glob("in/*")]:
            if path.is_file():
                change(path)

    return fault


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"9,9,9,9\n")


def _replace(path: Path) -> None:
    """Put another file in its place, of the same size and time."""
    other = path.with_name(".other")
    other.write_bytes(path.read_bytes())
    status = path.stat()
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)


def _remove_work_folder() -> None:
    import shutil

    for path in Path().glob(".*.shoal"):
        shutil.rmtree(path)


def _lock_folder() -> None:
    Path().chmod(0o555)


def _limited(allocate: Callable[[], object]) -> Callable[[], None]:
    """Limit the memory like `ulimit -v` while a library asks for more, all at once.

    Not for longer, and with something to spare: LLVM and OpenBLAS, which other threads load, would end the process, or
    try again for ever.
    """

    def fault() -> None:
        before, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_held() + _SPARE, most))
        try:
            allocate()
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (before, most))

    return fault


def _database() -> None:
    import duckdb

    duckdb.connect(config={"memory_limit": "2MB", "temp_directory": ""}).execute(
        "SELECT list(range) FROM range(3000000)"
    )


def processes(words: str, below: int) -> list[int]:
    """List the processes below one whose command lines contain some words; those that were started first, first."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            command = (path / "cmdline").read_bytes().decode(errors="replace")
        except OSError:  # gone
            continue
        found.append((int(path.name), parent, command))
    tree = {below}
    while more := {pid for pid, parent, _ in found if parent in tree} - tree:
        tree |= more
    return sorted(pid for pid, _, command in found if pid in tree - {below} and words in command)


def _kills(words: str, *, itself: bool = False) -> Callable[[], None]:
    """Kill one of the processes that this one has started, and perhaps this one too."""

    def fault() -> None:
        while not (pids := processes(words, os.getpid())):  # which may be about to start
            time.sleep(0.05)
        os.kill(pids[0], signal.SIGKILL)
        if itself:
            os.kill(os.getpid(), signal.SIGKILL)

    return fault


FAULTS: dict[str, Callable[[], None]] = {
    "none": lambda: None,
    "disk full": _raises(OSError(errno.ENOSPC, f"No space for {SECRET}")),
    "permission lost": _raises(PermissionError(errno.EACCES, f"No permission for {SECRET}")),
    "out of memory": _raises(MemoryError(SECRET)),
    "memory limit in NumPy": _limited(lambda: np.ones(_SPARE // 4)),
    "memory limit in Arrow": _limited(lambda: pa.allocate_buffer(2 * _SPARE)),
    "memory limit in DuckDB": _database,
    "unexpected error": _raises(RuntimeError(SECRET)),
    "Ctrl-C": _signals(signal.SIGINT),
    "Ctrl-C twice": _signals(signal.SIGINT, signal.SIGINT),
    "SIGTERM": _signals(signal.SIGTERM),
    "SIGHUP": _signals(signal.SIGHUP),
    "SIGKILL": _signals(signal.SIGKILL),
    "Java killed": _kills("org.apache.spark.deploy.SparkSubmit"),
    "Java and Python killed": _kills("org.apache.spark.deploy.SparkSubmit", itself=True),
    "executor killed": _kills("CoarseGrainedExecutorBackend"),
    "clock forward": _sets_clock(1e6),
    "clock back": _sets_clock(-1e6),
    "input truncated": _on_input(_truncate),
    "input appended to": _on_input(_append),
    "input replaced": _on_input(_replace),
    "input removed": _on_input(Path.unlink),
    "work folder removed": _remove_work_folder,
    "folder made read-only": _lock_folder,
}

if __name__ == "__main__":
    serve()

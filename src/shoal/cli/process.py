"""What may be done only where a command is all that a process runs."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from shoal.cli.output import complain, print_errors
from shoal.messages import Message

_own = False
_STUCK = -1000  # no exit code
_PATIENCE = 60.0  # seconds with hardly any work, after which a limited process is taken to wait for ever
_IDLE = 0.01  # the share of a processor that a process takes to look whether something has come


def declare_own() -> None:
    """Declare that this process runs one command, and no other code of Python.

    What libraries print goes to standard error: HiGHS does when the clock is set back, and nobody could read the JSON.
    """
    global _own
    _own = True
    if sys.stdout is not None:  # None if it was closed before
        sys.stdout = _apart(sys.stdout)
        with contextlib.suppress(OSError):
            os.dup2(2, 1)


def _apart(stream: Any) -> TextIO:
    """Return a stream of Python's own to where another leads."""
    stream.flush()
    lines = 1 if stream.line_buffering else -1
    return os.fdopen(os.dup(stream.fileno()), "w", lines, encoding=stream.encoding, errors=stream.errors)


def survive_lack_of_memory(command: Callable[[], None]) -> None:
    """Run a command that ends the process; in a child process where `ulimit -v` limits the memory.

    Libraries in C++ abort the process when a thread of theirs gets no memory, so that nobody could tell why; or they
    wait for that thread for ever.
    """
    if not _is_limited():
        return command()
    child = os.fork()
    if child == 0:
        _silence_libraries()
        return command()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: _pass_on(child, number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the child, too
    code = _exit_code(child)
    if code in (_STUCK, -signal.SIGABRT, -signal.SIGSEGV, 127):  # 127: no memory for a thread, says the C library
        message = Message("no-memory", page=False)
        complain("Error", message)
        print_errors([message], sys.argv)
        sys.stdout.flush()
        code = 2
    os._exit(code if code >= 0 else 128 - code)


def _exit_code(child: int) -> int:
    """Wait for a child; one that hardly does anything for a minute is ended."""
    used, since = _used(child), time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() - since > _PATIENCE:
            before, used, since = used, _used(child), time.monotonic()
            if used - before < _IDLE * _PATIENCE:
                _pass_on(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return _STUCK
        time.sleep(0.05)


def _used(child: int) -> float:
    """Return for how many seconds a process has used processors; where the system does not say, the time of day."""
    try:
        with Path(f"/proc/{child}/stat").open() as file:
            ticks = sum(map(int, file.read().rpartition(")")[2].split()[11:15]))  # its own, and its children's
        return ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return time.monotonic()


def _is_limited() -> bool:
    try:
        import resource
    except ImportError:  # Windows
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _silence_libraries() -> None:
    """Leave standard error to Python: what C++ libraries write there before they abort is no sentence for users."""
    sys.stderr = _apart(sys.stderr)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _pass_on(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


def leave_pandas_out() -> None:
    """Keep Arrow from loading pandas, in a process of our own: a command that reads a file has no frame of pandas."""
    if _own:
        from shoal.tables.arrow import leave_pandas_out

        leave_pandas_out()

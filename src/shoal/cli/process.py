"""What may be done only where a command is all that a process runs."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable

from shoal.cli.output import complain

_own = False
NO_MEMORY = "There is not enough memory. Free some, or set a limit with --memory, for example --memory 2GB."


def declare_own() -> None:
    """Declare that this process runs one command, and no other code of Python."""
    global _own
    _own = True


def survive_lack_of_memory(command: Callable[[], None]) -> None:
    """Run a command that ends the process; in a child process where `ulimit -v` limits the memory.

    Libraries in C++ abort the process when a thread of theirs gets no memory, so that nobody could tell why.
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
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code in (-signal.SIGABRT, -signal.SIGSEGV, 127):  # 127: no memory for a thread, says the C library
        complain("Error", NO_MEMORY)
        code = 2
    os._exit(code if code >= 0 else 128 - code)


def _is_limited() -> bool:
    try:
        import resource
    except ImportError:  # Windows
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _silence_libraries() -> None:
    """Leave standard error to Python: what C++ libraries write there before they abort is no sentence for users."""
    sys.stderr.flush()
    sys.stderr = os.fdopen(os.dup(2), "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _pass_on(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


def leave_pandas_out() -> None:
    """Keep Arrow from loading pandas, in a process of our own: a command that reads a file has no frame of pandas."""
    if _own:
        from shoal.tables.arrow import leave_pandas_out

        leave_pandas_out()

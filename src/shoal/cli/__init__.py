"""The commands. Each builds a plan, calls what Python users call, and shows the result."""

import contextlib
import os
import re
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from shoal import __version__
from shoal.cli.commands import Commands
from shoal.cli.misuse import misused
from shoal.cli.output import complain, print_errors, print_json, show, show_lines, stderr, stdout
from shoal.cli.process import declare_own, survive_lack_of_memory
from shoal.errors import CheckFailed, ShoalError, UntreatedColumns
from shoal.messages import Message

app = typer.Typer(
    name="shoal",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        stdout().print(f"shoal {__version__}")
        raise typer.Exit


@app.callback()
def every_command(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True, metavar=""
        ),
    ] = False,
) -> None:
    """Make microdata safe to publish.

    Records are put into groups of at least k similar ones, and each group publishes one representative.
    """


def main() -> None:
    """Run the command line: a clear message for anything that goes wrong, never a traceback."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # to clean up as after Ctrl-C
        number = getattr(signal, name, signal.SIGTERM)  # Windows has two of them
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup asks for
            signal.signal(number, signal.default_int_handler)
    try:
        # Not standalone: wrong options must read like every other mistake.
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        if error.format_message():  # nothing if all that was missing is a command
            _fail("Error", [misused(error, sys.argv[1:])], 2)
        raise SystemExit(2) from None
    except CheckFailed as failed:
        _fail("Failed", failed.messages, 1)
    except UntreatedColumns as error:
        _propose(error)
    except ShoalError as error:
        _fail("Error", error.messages, 2)
    except KeyboardInterrupt:  # once more, while the first was being answered
        code = _INTERRUPTED
    except Exception as error:
        if os.environ.get("SHOAL_DEBUG"):
            raise
        _fail("Error", [_unexpected(error)], 2)
    if code == _INTERRUPTED:
        _fail("Stopped", [Message("interrupted")], _INTERRUPTED)
    raise SystemExit(code)


def run() -> NoReturn:
    """Run the command line as a process of its own.

    After an error, threads of Arrow may still read ahead in a file and hold objects of Python. The process ends without
    waiting for them, or the C++ libraries would abort it; all files and folders of ours are closed by now.
    """
    declare_own()
    survive_lack_of_memory(_run)
    raise SystemExit(0)


def _run() -> None:
    try:
        main()
    except SystemExit as ended:
        if not ended.code:
            raise
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(ended.code if isinstance(ended.code, int) else 1)


def _propose(error: UntreatedColumns) -> NoReturn:
    """Show what is proposed for columns without a role, and the command that carries it out."""
    from shoal.cli.untreated import for_machines, instead, proposals

    if "--json" in sys.argv:
        print_json(for_machines(error, sys.argv[1:]))
    else:
        show(proposals, error.what, error.columns, console=stderr())
        show_lines(instead(error, sys.argv[1:]), stderr())
    raise SystemExit(2)


def _unexpected(error: Exception) -> Message:
    """Explain an error without its own text, which may contain values from the data."""
    if isinstance(error, MemoryError) or _NO_MEMORY.search(f"{type(error).__name__} {error}"):
        return Message("no-memory", page=False)
    if isinstance(error, OSError) and error.errno:
        return Message("system-refused", reason=os.strerror(error.errno))
    return Message("unexpected", what=type(error).__name__)


# DuckDB's, Arrow's, and Python's, also for a thread that gets no stack.
_NO_MEMORY = re.compile(
    r"out ?of ?memory|malloc|bad_alloc|failed to allocate|start new thread|launch worker thread", re.IGNORECASE
)
_INTERRUPTED = 130  # what Typer returns after Ctrl-C


def _fail(kind: str, messages: Sequence[Message], code: int) -> NoReturn:
    try:
        sys.stdout.flush()
    except OSError:  # Python would try again at the end, and say more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    with contextlib.suppress(OSError):  # only the exit code is left to tell
        for message in messages:
            complain(kind, message, _label(message))
    with contextlib.suppress(OSError):
        print_errors(messages, sys.argv)
        sys.stdout.flush()
    raise SystemExit(code)


def _label(message: Message) -> str:
    """Return the option of the field that a message is about."""
    if message.field is None or message.source:
        return ""
    from shoal.cli.options import spelled

    return spelled(message.field, sys.argv)

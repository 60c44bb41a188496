"""Reading a file of a statistics package in a process of its own.

The library that reads them can crash on a damaged file, and would take Python, and the work of a day, with it.
"""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from shoal import errors
from shoal.errors import ShoalError
from shoal.messages import Message
from shoal.tables.arrow import leave_pandas_out
from shoal.tables.atomic import not_complete
from shoal.tables.stat.limits import TITLES, StatisticsKind

_REFUSED, _SHORT = 3, 4  # the exit codes of a child that sends an error, or has too little memory


def read_apart(path: Path, kind: StatisticsKind) -> pa.Table:
    """Read a file of a statistics package; nothing but a table or an error comes out of it."""
    with path.open("rb"):  # who may not read it is told so by this process
        pass
    # -P: what lies in the working folder, where a stranger's data may be, is no code of ours
    command = [sys.executable, "-P", "-m", "shoal.tables.stat.subprocess", str(path), kind]
    child = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if child.returncode == 0:
        return pa.ipc.open_stream(pa.py_buffer(child.stdout)).read_all()
    if child.returncode == _REFUSED:
        raise _received(json.loads(child.stdout))
    if child.returncode in (_SHORT, -9):  # a system that runs out of memory kills
        raise MemoryError
    raise not_complete(path, TITLES[kind])


def _sent(error: ShoalError) -> dict[str, Any]:
    """Return an error as JSON holds it; the data of its messages are texts and numbers."""
    return {"error": type(error).__name__, "messages": [[each.code, each.data] for each in error.messages]}


def _received(sent: dict[str, Any]) -> ShoalError:
    kind: type[ShoalError] = getattr(errors, sent["error"])
    messages = [Message(code, **data) for code, data in sent["messages"]]
    error = kind.__new__(kind, *messages)
    ShoalError.__init__(error, *messages)
    return error


def main(path: str, kind: StatisticsKind) -> None:
    """Read a file and write it, or the error on it, to the standard output."""
    from shoal.tables.stat.reading import read_statistics

    leave_pandas_out()
    try:
        table = read_statistics(Path(path), kind)
    except ShoalError as error:
        sys.stdout.write(json.dumps(_sent(error)))
        raise SystemExit(_REFUSED) from None
    except MemoryError:
        raise SystemExit(_SHORT) from None
    with pa.ipc.new_stream(cast("io.IOBase", sys.stdout.buffer), table.schema) as writer:
        writer.write_table(table)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])  # type: ignore[arg-type] # one of the kinds, as its only caller knows

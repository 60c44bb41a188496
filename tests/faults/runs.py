"""How tests start a run with a fault, and what every one of them must end with."""

import atexit
import functools
import json
import os
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet
from tests.faults.nursery import SECRET

ROOT = Path(__file__).parents[2]
OPTIONS = ["-k", "3", "--quasi", "age,income", "--identifiers", "name", "--publish-rest", "--method", "mdav"]


@functools.cache
def _nursery() -> subprocess.Popen[str]:
    nursery = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.nursery"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    atexit.register(nursery.communicate)  # which closes its input, and waits
    return nursery


@functools.cache
def _elsewhere() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for what is shown, on a disk that is not full."""
    return tempfile.TemporaryDirectory()


@dataclass(frozen=True)
class Ended:
    """How a run ended: its exit code, and the lines that it wrote to standard error."""

    code: int
    lines: list[str]


@dataclass(frozen=True)
class Place:
    """A folder with an input, in which runs are made.

    Attributes
    ----------
    folder
        Where the input is, and the output will be.
    source, output
        Their names.
    options
        More of what is asked for.
    environment
        Variables of the process.
    """

    folder: Path
    source: str
    output: str
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *more: str, **how: Any) -> Ended:
        """Run `shoal protect` with a fault."""
        return self.command("protect", self.source, *OPTIONS, "-o", self.output, *self.options, *more, **how)

    def command(
        self,
        *words: str,
        at: str = "",
        fault: str = "none",
        limits: dict[str, int] | None = None,
        ordinary: bool = False,
        stdout: str = os.devnull,
        killed_after: float = 0.0,
    ) -> Ended:
        """Run a command with a fault."""
        stderr = Path(_elsewhere().name, "stderr")
        run = {
            "arguments": words,
            "folder": str(self.folder),
            "at": at,
            "fault": fault,
            "limits": limits or {},
            "ordinary": ordinary,
            "shown": [stdout, str(stderr)],
            "killed_after": killed_after,
            "environment": self.environment,
        }
        nursery = _nursery()
        nursery.stdin.write(json.dumps(run) + "\n")
        nursery.stdin.flush()
        code = int(nursery.stdout.readline())
        return Ended(code, stderr.read_text().splitlines())

    @property
    def hidden(self) -> list[Path]:
        """What lies in the folder under private names."""
        return [path for path in self.folder.iterdir() if path.name.startswith(".")]

    @property
    def published(self) -> list[Path]:
        """What lies in the folder under the name of the output, or begins with it."""
        return [path for path in self.folder.iterdir() if path.name.startswith("masked")]

    def read(self) -> bytes | None:
        """Return what the output holds, if there is one."""
        path = self.folder / self.output
        return path.read_bytes() if path.exists() else None


def records(n: int = 60) -> list[str]:
    """Some people, with names that may be in no message and in no file."""
    rng = random.Random(0)
    rows = [f"person {i},{rng.randrange(20, 80)},{rng.randrange(1000, 90000)},{'ns'[i % 2]}" for i in range(n)]
    return ["name,age,income,region", *rows]


def small(folder: Path, output: str = "masked.csv") -> Place:
    """Return an input that is protected in memory."""
    folder = folder / "files"
    folder.mkdir()
    (folder / "in.csv").write_text("\n".join(records()) + "\n")
    return Place(folder, "in.csv", output)


def large(folder: Path, output: str = "masked.parquet") -> Place:
    """Return an input that is protected by the engine for files larger than memory, which takes folders of any size."""
    folder = folder / "files"
    (folder / "in").mkdir(parents=True)
    text = "\n".join(records(600)).encode()
    table = pyarrow.csv.read_csv(pyarrow.BufferReader(text))
    pyarrow.parquet.write_table(table, folder / "in" / "part.parquet", row_group_size=100)
    return Place(folder, "in", output, ("--block-records", "100"))


def assert_one_clear_line(ended: Ended, begins: str = "Error: ") -> None:
    """Assert that a run said what happened in a line, without a traceback and without a value."""
    assert len(ended.lines) == 1, ended
    assert ended.lines[0].startswith(begins), ended
    assert "Traceback" not in ended.lines[0]
    assert SECRET not in ended.lines[0]
    assert "person" not in ended.lines[0]


def assert_nothing_left(place: Place) -> None:
    """Assert that neither an output nor anything on the way to one is there."""
    assert [*place.hidden, *place.published] == []


def assert_private(place: Place) -> None:
    """Assert that nobody else can read what a killed run left, but for what has its final name too."""
    final = {path.stat().st_ino for path in place.published}
    for path in place.hidden:
        mode = path.stat().st_mode & 0o777
        assert mode == (0o700 if path.is_dir() else 0o600) or path.stat().st_ino in final, path

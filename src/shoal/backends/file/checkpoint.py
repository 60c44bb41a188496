"""The private folder of a run, beside its output: gone at the end and after errors; kill -9 leaves it to be resumed."""

import contextlib
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal import __version__
from shoal.edits.expressions import Rule
from shoal.errors import FileError
from shoal.plan import Plan

_SPILLS = (
    *("codes", "block_of", "records", "published", "totals", "sums"),
    *("seams", "wide", "seam_records", "seam_block_of"),
)
_TEMPORARY = "sorting"
_STATE = "state.json"


@dataclass(frozen=True)
class WorkFolder:
    """A folder that only its owner can look into, and only one run can have.

    Attributes
    ----------
    path
        The folder.
    state
        What is known of the run that had it before, if that is to be resumed; else empty.
    """

    path: Path
    state: dict[str, Any]

    def spill(self, name: str) -> Path:
        """Name a file of numbers."""
        if name not in _SPILLS:
            raise KeyError(name)
        return self.path / name

    @property
    def temporary(self) -> Path:
        """Where DuckDB may put what does not fit in memory."""
        return self.path / _TEMPORARY

    def partial(self, output: Path) -> Path:
        """Name the output while it is being written."""
        return self.path / f"partial{output.suffix}"

    def note(self, **facts: Any) -> None:
        """Add facts to the state, for a run that resumes."""
        self.state.update(facts)
        self._replace(_STATE, json.dumps(self.state).encode())

    def _replace(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all."""
        new = self.path / f"{name}.new"
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path / name)


@contextlib.contextmanager
def work_folder(
    output: Path, plan: Plan, inputs: list[Path], rules: Sequence[Rule], resume: bool
) -> Iterator[WorkFolder]:
    """Yield the private folder of a run; it is gone afterwards, however that ends.

    Parameters
    ----------
    output
        What the run writes; the folder lies beside it.
    plan, inputs, rules
        What the run does: only the same can be resumed.
    resume
        Whether to go on from what a killed run left; otherwise that is removed first.

    Raises
    ------
    FileError
        If another run has the folder, or what is to be resumed is something else.
    """
    key = _key(plan, inputs, rules)
    path = _beside(output)
    handle = _locked(path, output)
    try:
        state = _state(path) if resume else {}
        if state and state["key"] != key:
            raise FileError("different-run", path=path)
        if not state:
            _clear(path)
        folder = WorkFolder(path, state)
        try:
            folder.note(key=key)
            yield folder
        finally:
            _remove(path)
    finally:
        if handle is not None:
            os.close(handle)


def was_placing(output: Path) -> bool:
    """Return whether a run was killed while its output, complete and verified, got its name."""
    return bool(_state(_beside(output)).get("placing"))


def _beside(output: Path) -> Path:
    return output.with_name(f".{output.name[:200]}.shoal")


def _locked(path: Path, output: Path) -> int | None:
    """Create the folder if need be, and lock it for as long as the handle is open."""
    if sys.platform == "win32":  # no locks on folders there
        path.mkdir(mode=0o700, exist_ok=True)
        return None
    import fcntl

    while True:
        try:
            path.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except (FileExistsError, NotADirectoryError):
            raise FileError("folder-taken", path=path) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_ino == path.lstat().st_ino:
                _refuse_others(handle, path)
                os.fchmod(handle, 0o700)
                return handle
        except BlockingIOError:
            os.close(handle)
            raise FileError("output-in-use", path=output) from None
        except FileNotFoundError:
            pass
        except FileError:
            os.close(handle)
            raise
        os.close(handle)  # the run before has just removed the folder that was locked


def _refuse_others(handle: int, path: Path) -> None:
    """Refuse a folder of someone else, who could read what is put there, and choose what is resumed."""
    if os.fstat(handle).st_uid != os.geteuid():
        raise FileError("folder-of-another-user", path=path)


def _key(plan: Plan, inputs: list[Path], rules: Sequence[Rule]) -> str:
    """Describe what a run does, so that only the same is resumed."""
    files = [(str(path), status.st_size, status.st_mtime_ns) for path in inputs for status in [path.stat()]]
    what = json.dumps([__version__, plan.model_dump(mode="json"), files, *map(repr, rules)])
    return hashlib.sha256(what.encode()).hexdigest()


def _state(path: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads((path / _STATE).read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError:
        raise FileError("damaged-run", path=path) from None
    return state


def forget(output: Path, *, keep: bool = False) -> None:
    """Remove what a run that was killed has left beside an output, unless it is to be resumed."""
    path = _beside(output)
    if keep or not path.is_dir():
        return
    handle = _locked(path, output)
    _remove(path)
    if handle is not None:
        os.close(handle)


def _clear(path: Path) -> None:
    """Delete what a run leaves; the state first, so that nothing half deleted is resumed."""
    names = [_STATE, *_SPILLS]
    for name in [*names, f"{_STATE}.new"]:
        (path / name).unlink(missing_ok=True)
    for partial in path.glob("partial*"):
        partial.unlink()
    shutil.rmtree(path / _TEMPORARY, ignore_errors=True)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        _clear(path)
        path.rmdir()

"""Folders of a run that no other user can look into: erased at its end; or, if it was killed, by the next such run."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import FileError


@contextmanager
def private_folder(prefix: str, within: Path | None = None, again: Path | None = None) -> Iterator[Path]:
    """Create a folder that no other user can look into, and erase it with all that is in it.

    Folders with the same prefix that killed runs of this user have left are erased first.

    Parameters
    ----------
    prefix
        What its name begins with; the rest is random.
    within
        Where it lies; in the system's folder for temporary files if not given.
    again
        A folder that this process had before, to be created once more.

    Raises
    ------
    FileError
        Something of it is still there.
    """
    for left in abandoned(prefix, within):
        shutil.rmtree(left, ignore_errors=True)
    folder, handle = _created(lambda: _made(prefix, within, again))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)
        if folder.exists():
            raise FileError("folder-not-erased", path=str(folder))


def abandoned(prefix: str, within: Path | None = None) -> Iterator[Path]:
    """Yield the folders of runs of this user that were killed: nobody holds their locks but, meanwhile, the caller."""
    if sys.platform == "win32":  # no locks on folders there
        return
    parent = Path(tempfile.gettempdir()) if within is None else within
    for folder in [each for each in parent.iterdir() if re.fullmatch(re.escape(prefix) + r"[a-z0-9_]{8}", each.name)]:
        handle = _locked(folder)
        if handle is not None:
            try:
                yield folder
            finally:
                os.close(handle)


def _made(prefix: str, within: Path | None, again: Path | None) -> Path:
    if again is None:
        return Path(tempfile.mkdtemp(prefix=prefix, dir=within))  # with mode 0700
    again.mkdir(mode=0o700)
    return again


def _created(make: Callable[[], Path]) -> tuple[Path, int | None]:
    while True:
        folder = make()
        if sys.platform == "win32":
            return folder, None
        handle = _locked(folder)
        if handle is not None and folder.exists():
            return folder, handle
        if handle is not None:
            os.close(handle)  # another run has taken it for one left over, before it was locked


def _locked(folder: Path) -> int | None:
    """Lock a folder of this user for as long as the handle is open; None if it cannot be, or is locked already."""
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if os.fstat(handle).st_uid == os.getuid():
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
    except BlockingIOError:
        pass
    os.close(handle)
    return None

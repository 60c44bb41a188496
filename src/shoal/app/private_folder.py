"""The private folder of a run, which is erased at its end; or, if it was killed, at the start of the next."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import FileError

_PREFIX = "shoal-app-"


@contextmanager
def private_folder() -> Iterator[Path]:
    """Create a folder that no other user can look into, and erase it with all that is in it.

    Raises
    ------
    FileError
        Something of it is still there.
    """
    _erase_left_over()
    folder, handle = _created()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)
        if folder.exists():
            raise FileError(f"'{folder}' could not be erased. Erase it by hand.")


def _erase_left_over() -> None:
    """Erase the folders of earlier runs of this user that were killed: nobody holds their locks."""
    if sys.platform == "win32":  # no locks on folders there
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        handle = _locked(folder)
        if handle is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)


def _created() -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))  # with mode 0700
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

"""Files that are written whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from shoal.errors import FileError


def refuse_unwritable(path: Path, overwrite: bool) -> None:
    """Say what stands in the way of writing `path`, before any work is done."""
    if path.is_dir():
        raise FileError(f"'{path}' is a folder; name a file")
    if not path.parent.is_dir():
        raise FileError(f"the folder '{path.parent}' does not exist; create it first")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FileError(f"the folder '{path.parent}' cannot be written to")
    if path.exists() and not overwrite:
        raise FileError(f"'{path}' exists already; choose another name or ask to overwrite it")


@contextlib.contextmanager
def written_whole(path: Path, overwrite: bool) -> Iterator[Path]:
    """Give a private name beside `path` to write to; on success it becomes `path`, otherwise it is gone.

    The private file is readable by its owner only, and what it holds is on the disk before it gets its final name:
    whoever finds a file under that name finds all of it, also after a crash.
    """
    refuse_unwritable(path, overwrite)
    partial = path.with_name(f".{path.stem}-{secrets.token_hex(4)}.partial{path.suffix}")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.chmod(0o666 & ~_umask())
        if overwrite:
            partial.replace(path)
        else:
            _rename_unless_taken(partial, path)
        _sync_folder(path.parent)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"'{path}' cannot be written: {error.strerror or type(error).__name__}") from None
    finally:
        partial.unlink(missing_ok=True)


def _rename_unless_taken(partial: Path, path: Path) -> None:
    """Rename, but never over a file that somebody else put there in the meantime."""
    try:
        path.hardlink_to(partial)
    except FileExistsError:
        raise FileError(f"'{path}' exists already; choose another name or ask to overwrite it") from None


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask

"""Files that are written whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from shoal.errors import FileError


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


_LONGEST = 255  # bytes in a file name, on all common disks

# Asked for once: the only way to read it is to set it, for all threads.
_MODE = 0o666 & ~_umask()


def refuse_unwritable(path: Path, overwrite: bool) -> None:
    """Say what stands in the way of writing `path`, before any work is done."""
    if "\0" in path.name or len(os.fsencode(path.name)) > _LONGEST:
        raise FileError("the name of the output is too long, or holds a NUL character; choose another")
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
    partial = path.with_name(f".{path.stem[:100]}-{secrets.token_hex(4)}.partial{path.suffix}")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield partial
        put_in_place(partial, path, overwrite)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"'{path}' cannot be written: {error.strerror or type(error).__name__}") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def put_in_place(partial: Path, path: Path, overwrite: bool) -> None:
    """Give a file that is complete its final name, on the same disk, once all of it is on that disk."""
    with partial.open("rb+") as file:
        os.fsync(file.fileno())
    partial.chmod(_MODE)
    if overwrite:
        partial.replace(path)
    else:
        _rename_unless_taken(partial, path)
    _sync_folder(path.parent)


def _rename_unless_taken(partial: Path, path: Path) -> None:
    """Rename, but never over a file that somebody else put there in the meantime."""
    try:
        path.hardlink_to(partial)
    except FileExistsError:
        raise FileError(f"'{path}' exists already; choose another name or ask to overwrite it") from None
    except OSError:  # no hard links on this kind of disk: nothing guards the moment between the two lines
        refuse_unwritable(path, overwrite=False)
        partial.replace(path)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Files that are written whole or not at all, and small ones that are read whole."""

import contextlib
import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from shoal.errors import FileError
from shoal.messages import Message


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


_LONGEST = 255  # bytes in a file name, on all common disks

# Read once: the only way to read it is to set it, for all threads.
_MODE = 0o666 & ~_umask()


def already_exists(path: object, beside: object = None) -> FileError:
    """Return the error on a file that would be replaced; it may be one that is written beside another."""
    return FileError("file-exists", path=str(path), beside=None if beside is None else str(beside))


def refuse_unwritable(path: Path, overwrite: bool, beside: Path | None = None) -> None:
    """Explain what stands in the way of writing `path`, perhaps beside another, before any work is done."""
    if "\0" in path.name or len(os.fsencode(path.name)) > _LONGEST:
        raise FileError("bad-file-name")
    if path.is_dir():
        raise FileError("folder-named", path=str(path))
    if not path.parent.is_dir():
        raise FileError("no-folder", path=str(path.parent))
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise FileError("folder-not-writable", path=str(path.parent))
    if os.path.lexists(path) and not overwrite:  # also a link that leads nowhere
        raise already_exists(path, beside)


@contextlib.contextmanager
def written_whole(path: Path, overwrite: bool) -> Iterator[Path]:
    """Yield a private name beside `path` to write to; on success it becomes `path`, otherwise it is gone.

    The private file is readable by its owner only, and what it holds is on the disk before it gets its final name:
    a file under that name is complete, also after a crash. What a run that was killed has left under such a private
    name is removed first.
    """
    with written_together([path], overwrite) as (partial,):
        yield partial


@contextlib.contextmanager
def written_together(paths: Sequence[Path], overwrite: bool) -> Iterator[list[Path]]:
    """Yield private names for several files of one folder, as `written_whole` does: all get their names, or none.

    The first gets its name last: where it exists, so do the others.
    """
    for path in paths:
        refuse_unwritable(path, overwrite)
    partials: list[Path] = []
    try:
        with contextlib.ExitStack() as private:
            partials += [private.enter_context(_private(path)) for path in paths]
            yield partials
            put_in_place(list(zip(partials, paths, strict=True)), overwrite)
    except FileError as error:
        names = {str(partial): str(path) for partial, path in zip(partials, paths, strict=False)}
        raise FileError(*(_with_public_names(each, names) for each in error.messages)) from None
    except OSError as error:
        raise FileError("file-not-writable", path=str(paths[0]), reason=in_words(error)) from None


def _with_public_names(message: Message, names: Mapping[str, str]) -> Message:
    """Replace the private names of files, which a user does not know."""
    data = dict(message.data)
    for private, public in names.items():
        data |= {name: value.replace(private, public) for name, value in data.items() if type(value) is str}
    return Message(message.code, field=message.field, **data)


def in_words(error: OSError) -> str:
    """Return the system's message for an error alone: libraries put paths and more into theirs."""
    return os.strerror(error.errno) if error.errno else Message("disk-error")


def no_such_file(path: str | os.PathLike[str]) -> FileError:
    """Return the error for a file that does not exist."""
    return FileError("no-file", path=str(path), what=None)


def not_complete(path: str | os.PathLike[str], format_: str, line: int | None = None) -> FileError:
    """Return the error for a file that is not what its name promises: damaged, truncated or in another format."""
    return FileError("damaged-file", path=str(path), format=format_, line=line)


def read_small(path: Path, what: str, most: int, hint: str = "") -> bytes:
    """Read a whole file of at most `most` bytes; messages call it `what`, and add the hint if it does not exist."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        raise FileError("no-file", path=str(path), what=what, hint=hint) from None
    except (OSError, ValueError) as error:  # a ValueError where the path holds a NUL character
        reason = getattr(error, "strerror", None) or Message("name-not-valid")
        raise FileError("file-not-readable", path=str(path), what=what, reason=reason) from None
    if len(content) > most:
        raise FileError("file-too-large", path=str(path), what=what, most=most, unit="byte")
    return content


def put_in_place(files: Sequence[tuple[Path, Path]], overwrite: bool) -> None:
    """Rename complete files of one folder to their final names, on the same disk, once all of them are on that disk.

    The first gets its name last. If one cannot have its name, those that have theirs are removed again, unless they
    have replaced others.
    """
    for partial, _ in files:
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        partial.chmod(_MODE)
    with contextlib.ExitStack() as undo:
        for partial, path in reversed(files):
            if overwrite:
                partial.replace(path)
            else:
                _rename_unless_taken(partial, path)
                undo.callback(_unlink, path)
        _sync_folder(files[0][1].parent)
        undo.pop_all()


def _rename_unless_taken(partial: Path, path: Path) -> None:
    """Rename, but never over a file that appeared in the meantime."""
    try:
        path.hardlink_to(partial)
    except FileExistsError:
        raise already_exists(path) from None
    except OSError:  # no hard links on this kind of disk: nothing guards the moment between the two lines
        refuse_unwritable(path, overwrite=False)
        partial.replace(path)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _private(path: Path) -> Iterator[Path]:
    """Yield an empty file beside `path` that only its owner can read; it is gone afterwards."""
    _remove_abandoned(path)
    partial, handle = _created(path)
    try:
        yield partial
    finally:
        _discard(partial, handle)
        if handle is not None:
            os.close(handle)


def _created(path: Path) -> tuple[Path, int | None]:
    """Create a private file, locked for as long as its handle is open, where there are such locks."""
    while True:
        partial = path.with_name(_private_name(path, secrets.token_hex(4)))
        handle = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        if sys.platform == "win32":  # what is open can be neither renamed nor removed there
            os.close(handle)
            return partial, None
        _lock(handle, wait=True)
        if os.fstat(handle).st_nlink:
            return partial, handle
        os.close(handle)  # another run took it for abandoned before it was locked


def _private_name(path: Path, mark: str) -> str:
    return f".{path.stem[:100]}-{mark}.partial{path.suffix}"


def _remove_abandoned(path: Path) -> None:
    """Remove what runs that were killed have left under private names; those of runs that go on are locked."""
    if sys.platform == "win32":
        return
    before, after = map(re.escape, _private_name(path, "\0").split("\0"))
    for left in [each for each in path.parent.iterdir() if re.fullmatch(f"{before}[0-9a-f]{{8}}{after}", each.name)]:
        with contextlib.suppress(OSError):  # of another user, or just gone
            handle = os.open(left, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if _lock(handle, wait=False):
                    left.unlink()
            finally:
                os.close(handle)


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock a file for as long as the handle is open; return whether that was possible."""
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # another run has it, or this disk knows no locks
        return False
    return True


def _discard(partial: Path, handle: int | None) -> None:
    """Remove a private file, or what is in it where the folder no longer lets go of its name."""
    try:
        partial.unlink()
    except FileNotFoundError:
        pass  # it has its final name
    except OSError:
        if handle is not None and os.fstat(handle).st_nlink == 1:  # else it has its final name too
            os.ftruncate(handle, 0)


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()

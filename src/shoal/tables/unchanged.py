"""Is an input still what it was? A file that changes while it is read gives records that never stood together."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from shoal.errors import FileError


@contextlib.contextmanager
def steady(paths: Sequence[Path]) -> Iterator[Callable[[], None]]:
    """Yield a check that raises once one of the files has another size, time or place on the disk than at first.

    An error on the way is put down to such a change, if there is one.
    """
    first = [_mark(path) for path in paths]

    def refuse_changed() -> None:
        for path, before in zip(paths, first, strict=True):
            if _mark(path) != before:
                raise FileError("input-changed", path=path) from None

    try:
        yield refuse_changed
    except Exception:
        refuse_changed()
        raise


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:  # its reader will report it
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns

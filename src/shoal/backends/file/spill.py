"""Spill files: rows of numbers on the disk, read and written by their place.

Plain reads and writes, no memory map: pages of a mapped file count as resident memory.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", np.float64, np.int32)


class Spill(Generic[Number]):
    """A file of rows of so many numbers each, readable by its owner only; threads may share it.

    Parameters
    ----------
    path
        The file; it is created if it does not exist.
    width
        How many numbers a row has.
    kind
        Of the numbers.
    rows
        How many there will be, if that is known: then a disk that is too small is noticed at once.
    """

    def __init__(self, path: Path, width: int, kind: type[Number], rows: int = 0) -> None:
        self.path, self.width = path, width
        self._kind: np.dtype[Any] = np.dtype(kind)
        self._row = int(width * self._kind.itemsize)
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self.reserve(rows)
        except OSError:
            self.close()
            raise

    def __len__(self) -> int:
        return os.fstat(self._handle).st_size // self._row

    def reserve(self, rows: int) -> None:
        """Make room for so many rows, or fail at once if the disk has none."""
        if rows and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(self._handle, 0, rows * self._row)

    def write(self, start: int, rows: NDArray[Any]) -> None:
        """Write rows from a place on."""
        data = np.ascontiguousarray(rows, dtype=self._kind).reshape(-1).view(np.uint8).data
        at = start * self._row
        while data:
            written = os.pwrite(self._handle, data, at)
            data, at = data[written:], at + written

    def read(self, start: int, count: int) -> NDArray[Number]:
        """Read rows from a place on."""
        rows: NDArray[Number] = np.empty((count, self.width), self._kind)
        self.read_into(start, rows)
        return rows

    def read_into(self, start: int, rows: NDArray[Number]) -> None:
        """Read as many rows as there is room for, from a place on."""
        data = rows.reshape(-1).view(np.uint8).data
        at = start * self._row
        while data:
            got = os.preadv(self._handle, [data], at)
            if not got:
                raise EOFError
            data, at = data[got:], at + got

    def chunks(self, rows: int) -> Iterator[tuple[int, NDArray[Number]]]:
        """Read all rows in turn, so many at a time, with the place of the first."""
        total = len(self)
        for start in range(0, total, rows):
            yield start, self.read(start, min(rows, total - start))

    def sync(self) -> None:
        """Wait until all that was written is on the disk."""
        os.fsync(self._handle)

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

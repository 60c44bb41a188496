"""The flag that asks a run to stop, for kernels to look at whose callers hand them none."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

import numpy as np

from shoal.kernels.types import Integers

_flag: ContextVar[Integers] = ContextVar("flag")


def listen(flag: Integers) -> None:
    """Stop the kernels of this thread, from now on, when ``flag[1]`` is set."""
    _flag.set(flag)


def raise_if_set(flag: Integers) -> None:
    """Raise KeyboardInterrupt if a flag is set, once: work that keeps what it has found goes on."""
    if flag[1] != 0:
        flag[1] = 0
        raise KeyboardInterrupt


@contextmanager
def stoppable() -> Iterator[Integers]:
    """Yield the flag of this thread, for a kernel; if it was set meanwhile, the result is not complete: raise."""
    flag = _flag.get(None)
    if flag is None:
        flag = np.zeros(2, np.int64)
    yield flag
    raise_if_set(flag)


@contextmanager
def until(end: float, watch: Integers, records: int = 0) -> Iterator[Integers]:
    """Yield a flag for kernels that is set at a point of time (`time.monotonic`), or when that of `watch` is.

    What kernels tell of their progress is passed on to `watch`. If so many records are to be done, the flag is set
    early where half of the time, and a quarter of a second, have shown that it will not do. No limit is infinite.
    """
    if end == math.inf:
        yield watch
        return
    flag = watch.copy()
    start, over = monotonic(), threading.Event()

    def look() -> None:
        while not over.wait(min(0.02, max(end - monotonic(), 0.0))):
            watch[0], watch[2:] = flag[0], flag[2:]
            late = flag[0] * 4 < records and monotonic() > start + max((end - start) / 2, 0.25)
            if monotonic() >= end or watch[1] != 0 or late:
                flag[1] = 1
                return

    if end <= start:
        flag[1] = 1
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield flag
    finally:
        over.set()
        thread.join()
        watch[0], watch[2:] = flag[0], flag[2:]

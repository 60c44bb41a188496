"""The flag that asks a run to stop, for kernels to look at whose callers hand them none."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from shoal.kernels.types import Integers

_flag: ContextVar[Integers] = ContextVar("flag")


def listen(flag: Integers) -> None:
    """Let all that this thread does from now on stop when ``flag[1]`` is set."""
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

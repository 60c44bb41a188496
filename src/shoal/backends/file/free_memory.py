"""Memory that is free but kept: allocators hold on to it for later, and it counts as resident."""

import ctypes
import sys

import pyarrow as pa


def return_free_memory() -> None:
    """Return to the system what Arrow and the C library keep; other libraries could not use it."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)

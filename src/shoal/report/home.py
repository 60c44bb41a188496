"""A home directory for libraries that ask for one when they are imported; a service account may have none."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def some_home() -> Iterator[None]:
    """Name a home directory for as long as this lasts, if the system knows none; nothing is written to it."""
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = os.sep
        try:
            yield
        finally:
            del os.environ["HOME"]
    else:
        yield

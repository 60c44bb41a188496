"""The private folder of the page, which is erased at its end; or, if it was killed, at the start of the next."""

from contextlib import AbstractContextManager
from pathlib import Path

from shoal.tables.private_folder import private_folder as _private_folder


def private_folder() -> AbstractContextManager[Path]:
    """Create a folder that no other user can look into, and erase it with all that is in it."""
    return _private_folder("shoal-app-")

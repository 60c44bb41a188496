"""What must hold for every input: nothing but Shoal's own errors, no value of a cell in them, nothing left behind."""

import atexit
import contextlib
import os
import re
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from shoal.errors import CheckFailed, ShoalError

# What seeds and dictionaries hold in cells, and nowhere else: it must not be in a message.
SECRET = "Zq7s3cret"
SECRET_NUMBER = 917236454
_LONGEST = 15_000  # characters of a message
_SECONDS = 5.0  # of processor time, for an input of a few thousand bytes

FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-"))  # where inputs lie, and whatever is left behind
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


class Finding(AssertionError):
    """Something that must not happen."""


@contextlib.contextmanager
def own_folder() -> Iterator[None]:
    """Have temporary files made where `refuse_leftovers` looks."""
    before, tempfile.tempdir = tempfile.tempdir, str(FOLDER)
    try:
        yield
    finally:
        tempfile.tempdir = before


def sentence_or(call: Callable[[], Any], *, named: bool = False, ruled: bool = False) -> Any:
    """Give what the call returns, or None if it refuses in words.

    Parameters
    ----------
    call
        What is tested.
    named
        Whether the secret may be in a message, because it is the name of something.
    ruled
        Whether a release may be refused because it breaks a rule, which some rules are verified for alone.
    """
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            found = call()
    except CheckFailed as error:
        if ruled and all(failure.startswith("rule '") for failure in error.failures):
            return None
        raise Finding(f"the release was refused by its own check: {error}") from error
    except ShoalError as error:
        _check_message(str(error), named)
        found = None
    if time.process_time() - start > _SECONDS:
        raise Finding(f"took {time.process_time() - start:.1f} s of processor time")
    return found


def _check_message(message: str, named: bool) -> None:
    if not message.strip() or len(message) > _LONGEST:
        raise Finding(f"a message of {len(message)} characters")
    if not named and (SECRET in message or str(SECRET_NUMBER) in re.sub(r"[,_]", "", message)):
        raise Finding(f"a message holds a value: {message}")
    if "Traceback" in message or " at 0x" in message:
        raise Finding(f"a message is not one sentence: {message}")


def file_of(data: bytes, name: str) -> Path:
    """Put an input into a file."""
    path = FOLDER / name
    path.write_bytes(data)
    return path


def refuse_leftovers(*expected: Path) -> None:
    """Look for files that should not be there any more, and clear the folder."""
    left = {entry.name for entry in os.scandir(FOLDER)} - {path.name for path in expected}
    for path in expected:
        path.unlink(missing_ok=True)
    if left:
        raise Finding(f"files are left behind: {', '.join(sorted(left))}")

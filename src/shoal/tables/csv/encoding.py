"""The text of a file in UTF-8, block by block, whatever encoding it was written in."""

import codecs
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from shoal.errors import DataError, PlanError

# UTF-32 first: its little-endian mark starts with that of UTF-16
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x19\x1b-\x1f]")
_BLOCK = 1 << 20


def find_encoding(path: Path, given: str | None = None) -> str:
    """Name of the encoding of a text file: the one given, that of a byte order mark, UTF-8, Windows-1252 or Latin-1."""
    if known := stated_encoding(path, given):
        return known
    if _is_valid(path, "utf-8"):
        return "utf-8"
    with path.open("rb") as file:
        if any(_CONTROL.search(block) for block in iter(lambda: file.read(_BLOCK), b"")):
            raise DataError("not-text-file", path=str(path), nul=False)
    return "cp1252" if _is_valid(path, "cp1252") else "latin-1"


def stated_encoding(path: Path, given: str | None = None) -> str | None:
    """Name of the encoding that was given, or that a byte order mark names; None if neither is there."""
    if given:
        return _known(given)
    with path.open("rb") as file:
        start = file.read(4)
    return next((encoding for mark, encoding in _MARKS if start.startswith(mark)), None)


def utf8_blocks(path: Path, encoding: str, size: int = _BLOCK) -> Iterator[bytes]:
    """Read the text of a file in UTF-8, without a byte order mark, about `size` bytes at a time."""
    for block in _recoded(path, encoding, size):
        if b"\0" in block:
            raise DataError("not-text-file", path=str(path), nul=True)
        yield block


def _recoded(path: Path, encoding: str, size: int) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    done, raw = 0, b"-"
    with path.open("rb") as file:
        while raw:
            raw = file.read(size)
            start = done - len(decoder.getstate()[0])  # of what is decoded now: a character may lie in two blocks
            try:
                text = decoder.decode(raw, final=not raw)
                yield (text if done else text.removeprefix("\ufeff")).encode()
            except UnicodeError as error:
                byte = start + error.start + 1 if isinstance(error, UnicodeDecodeError) else None
                raise DataError("wrong-encoding", path=str(path), encoding=encoding, byte=byte) from None
            done += len(raw)


def _known(encoding: str) -> str:
    try:
        codecs.getincrementaldecoder(encoding)
        "a".encode(encoding)
    except (LookupError, ValueError):
        raise PlanError("unknown-encoding", field="csv.encoding") from None
    return encoding


def _is_valid(path: Path, encoding: str) -> bool:
    try:
        deque(_recoded(path, encoding, _BLOCK), maxlen=0)
    except DataError:
        return False
    return True

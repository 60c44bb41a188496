"""The bytes of a text file as UTF-8, whatever encoding they were written in."""

import codecs
import re
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


def to_utf8(data: bytes, path: Path, encoding: str | None = None) -> bytes:
    """Turn the bytes of a text file into UTF-8 without a byte order mark.

    Parameters
    ----------
    data
        What the file holds.
    path
        Where it came from, for messages.
    encoding
        The name of the encoding; when left out a byte order mark decides, then whether the bytes are valid UTF-8, and
        what is left is taken to be Windows-1252 or Latin-1.

    Raises
    ------
    PlanError
        If there is no encoding of that name.
    DataError
        If the bytes are not text, or not in the given encoding.
    """
    encoding = _known(encoding) if encoding else _marked(data)
    text = _given(data, path, encoding) if encoding else _guessed(data, path)
    if b"\0" in text:
        raise DataError(
            f"'{path}' holds NUL bytes, so it is not a text file; if it is UTF-16, name that as the encoding in csv"
        )
    return text


def _known(encoding: str) -> str:
    try:
        codecs.lookup(encoding)
        "a".encode(encoding)
    except (LookupError, ValueError):
        raise PlanError([("csv.encoding", "there is no text encoding of that name; try utf-8 or cp1252")]) from None
    return encoding


def _marked(data: bytes) -> str | None:
    return next((encoding for mark, encoding in _MARKS if data.startswith(mark)), None)


def _given(data: bytes, path: Path, encoding: str) -> bytes:
    try:
        return data.decode(encoding).removeprefix("\ufeff").encode()
    except UnicodeError as error:
        where = f" (at byte {error.start + 1})" if isinstance(error, UnicodeDecodeError) else ""
        raise DataError(f"'{path}' is not written in {encoding}{where}; name its encoding in csv") from None


def _guessed(data: bytes, path: Path) -> bytes:
    if _is_valid(data, "utf-8"):
        return data
    if _CONTROL.search(data):
        raise DataError(f"'{path}' is not a text file; is it a compressed file or a spreadsheet under another name?")
    return data.decode("cp1252" if _is_valid(data, "cp1252") else "latin-1").encode()


def _is_valid(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True

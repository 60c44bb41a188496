"""Quotes that do not close, or close in the middle of a cell: parsers swallow records over them without a word."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_LONGEST = 1 << 28  # bytes that are searched for the end of a quoted cell


class StrayQuote(NamedTuple):
    """A quote that breaks the file: the record whose cell it opens (0 is the header), and whether it ever closes."""

    record: int
    closes: bool


def in_records(
    blocks: Iterable[bytes], delimiter: str, quote: str, escape: str | None
) -> Iterator[tuple[bytes, StrayQuote | None]]:
    """Cut the text of a file between records; each piece comes with its first stray quote."""
    waiting, enough = [b""], 0
    for block in blocks:
        waiting.append(block)
        if sum(map(len, waiting)) < enough:
            continue
        text = b"".join(waiting)
        piece = text[: text.rfind(b"\n") + 1]
        stray = first_stray_quote(piece, delimiter, quote, escape)
        # a line may end, or a quote close, further on; looking again at twice as much keeps the work linear
        if not piece:
            waiting, enough = [text], 2 * len(text)
        elif stray is None or stray.closes or len(text) > _LONGEST:
            yield piece, stray
            waiting, enough = [text[len(piece) :]], 0
        else:
            waiting, enough = [text], min(2 * len(text), _LONGEST + 1)
    text = b"".join(waiting)
    yield text, first_stray_quote(text, delimiter, quote, escape)


def end_of_records(data: bytes) -> int:
    """Where the last line of some text ends that ends outside of double quotes; 0 if there is none."""
    raw = np.frombuffer(data, np.uint8)
    quoted = np.logical_xor.accumulate(raw == ord('"'))
    ends = np.flatnonzero((raw == ord("\n")) & ~quoted)
    return int(ends[-1]) + 1 if len(ends) else 0


def first_stray_quote(data: bytes, delimiter: str, quote: str, escape: str | None) -> StrayQuote | None:
    """Find the first quoted cell that does not end where a cell ends.

    Quotes in the middle of a cell that does not start with one are ordinary characters and no fault.
    """
    raw = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(raw == ord(quote))
    if escape is not None:
        quotes = np.array([at for at in quotes if not _is_escaped(data, int(at), ord(escape))], dtype=np.intp)
    ends = np.frombuffer(f"{delimiter}\r\n".encode(), np.uint8)
    if _alternate(raw, quotes, ends):
        return None
    return _walk(data, quotes.tolist(), ends.tobytes(), doubled=escape is None)


def _is_escaped(data: bytes, at: int, escape: int) -> bool:
    start = at
    while start > 0 and data[start - 1] == escape:
        start -= 1
    return (at - start) % 2 == 1


def _alternate(raw: NDArray[np.uint8], quotes: NDArray[np.intp], ends: NDArray[np.uint8]) -> bool:
    """Whether opening and closing quotes take turns, each at a cell's edge or in a doubled pair: all is well."""
    if len(quotes) % 2:
        return False
    if not len(quotes):
        return True
    opening, closing = quotes[::2], quotes[1::2]
    pairs = opening[1:] == closing[:-1] + 1
    before = np.isin(raw[opening - 1], ends) | (opening == 0)
    after = np.isin(raw[np.minimum(closing + 1, len(raw) - 1)], ends) | (closing == len(raw) - 1)
    return bool(before[0] and after[-1] and np.all(before[1:] | pairs) and np.all(after[:-1] | pairs))


def _walk(data: bytes, quotes: list[int], ends: bytes, *, doubled: bool) -> StrayQuote | None:
    """Go from quote to quote, as a parser would."""
    spans: list[tuple[int, int]] = []
    opened: int | None = None
    i = 0
    while i < len(quotes):
        at = quotes[i]
        if opened is None:
            opened = at if at == 0 or data[at - 1] in ends else None
        elif doubled and i + 1 < len(quotes) and quotes[i + 1] == at + 1:
            i += 1
        elif at + 1 == len(data) or data[at + 1] in ends:
            spans.append((opened, at))
            opened = None
        else:
            return StrayQuote(_record(data, spans, opened), closes=True)
        i += 1
    return None if opened is None else StrayQuote(_record(data, spans, opened), closes=False)


def _record(data: bytes, spans: Iterable[tuple[int, int]], at: int) -> int:
    """Count the records before a place in the file; line ends inside quotes and empty lines do not count."""
    pieces, start = [], 0
    for first, last in spans:
        pieces.append(data[start:first])
        start = last + 1
    bare = b"x".join([*pieces, data[start:at] + b"x"])
    return sum(1 for line in bare.splitlines() if line) - 1

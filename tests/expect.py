"""Expectations of messages, by code and data. No test repeats a sentence."""

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from shoal.errors import ShoalError
from shoal.messages import Message, _rendered, _segments
from shoal.messages.table import SENTENCES


@contextlib.contextmanager
def refused(kind: type[ShoalError], code: str, /, field: str | None = None, **data: Any) -> Iterator[Any]:
    """Expect an error that has a message of this code, about this field, with at least these data."""
    with pytest.raises(kind) as caught:
        yield caught
    found = caught.value.messages
    assert reports(found, code, field, **data), [(m.code, m.field, m.data) for m in found]


def reports(messages: Iterable[str], code: str, /, field: str | None = None, **data: Any) -> bool:
    """Whether one of the messages has this code, this field if one is named, and at least these data."""
    assert code in SENTENCES, f"no message has the code {code}"
    return any(
        isinstance(each, Message)
        and each.code == code
        and field in (None, each.field)
        and data.items() <= each.data.items()
        for each in messages
    )


def codes(messages: Iterable[str]) -> list[str]:
    """Codes of messages, in their order."""
    return [each.code for each in messages if isinstance(each, Message)]


def prints(output: str, code: str, /, **data: Any) -> bool:
    """Whether an output holds the sentence of a code; data that are not given may be anything, and so may blanks."""
    return re.search(pattern(code, **data), " ".join(output.split())) is not None


def pattern(code: str, /, **data: Any) -> str:
    """Return a regular expression for the sentence of a code; data that are not given may be anything."""
    found = ""
    for at, segment in enumerate(_segments(SENTENCES[code][1])):
        pieces = re.split(r"(--?[a-z][a-z-]*=\S*\{[^{}]*\}|\{(?:[^{}]|\{[^{}]*\})*\})", segment.text)
        text = "".join(
            _any_or(piece, data) if number % 2 else _words(piece, data) for number, piece in enumerate(pieces)
        )
        if at % 2 and not segment.applies(data):
            text = "" if segment.needs & {name for name, value in data.items() if not value} else f"(?:{text})?"
        found += text
    return re.sub(r"(\\ )+", r"\\s+", found)


def _any_or(piece: str, data: dict[str, Any]) -> str:
    names = re.findall(r"\{(\w+)", piece)
    return _words(piece, data) if all(name in data for name in names) else ".*?"


def _words(piece: str, data: dict[str, Any]) -> str:
    return re.escape(_rendered(piece.replace("[", "[[").replace("]", "]]"), data, "terminal"))

"""Small pieces of the sentences that users read."""

import shlex
from collections.abc import Iterable, Sequence
from typing import Any

# The figures of `shoal.measures.exposure`, in the order in which they are shown.
RISKS = {
    "uniques": "unique records",
    "smallest": "records in the smallest group",
    "real_k": "records in a group on average, k'",
    "reidentification": "chance to pick the right record in a group, on average",
}
# The same where k counts units: people or firms, of which one may have several records.
UNIT_RISKS = {
    "uniques": "groups of a single unit",
    "smallest": "units in the smallest group",
    "real_k": "units in a group on average, k'",
    "reidentification": "chance to pick the right unit in a group, on average",
}


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Format a count: 1 record, 2,000 records."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def duration(seconds: float) -> str:
    """Format a time: 12 s, 5 min, 1.5 h."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.3g} h"


def listed(names: Sequence[str]) -> str:
    """Name columns: 'age', 'income'."""
    return ", ".join(f"'{name}'" for name in names)


def visible(value: Any) -> Any:
    """Replace characters that a terminal obeys or hides, such as escape sequences and newlines, by their codes.

    Dicts, lists and tuples are gone through. Names of columns and files come from strangers: as they are, they could
    erase a warning from the screen or write one.
    """
    match value:
        case str():
            return str(value) if value.isprintable() else "".join(map(_visible, value))
        case dict():
            return {visible(key): visible(item) for key, item in value.items()}
        case list():
            return [visible(item) for item in value]
        case _ if hasattr(value, "_replace"):  # a named tuple
            return type(value)(*map(visible, value))
        case tuple():
            return tuple(map(visible, value))
    return value


def _visible(character: str) -> str:
    code = ord(character)
    if character.isprintable():
        return character
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quoted(words: Iterable[str]) -> str:
    """Return words as a shell takes them; those with invisible characters as bash and zsh do, by codes."""
    return " ".join(shlex.quote(word) if word.isprintable() else _by_codes(word) for word in words)


def _by_codes(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{visible(escaped)}'"

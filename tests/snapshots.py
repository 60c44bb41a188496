"""Every sentence that users read, as reviewed: `tests/messages/*.toml`, a file per room of `shoal.messages`.

An entry has the code, the test that shows it (`request`), its severity, its data and the sentence. After a change of
wording ``python -m tests.snapshots`` renews the sentences. A new code gets its data from the test that shows it:
``pytest --record-messages tests/...``.
"""

import fcntl
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomli_w

import shoal.plan  # noqa: F401 - which spells options for Python
from shoal.messages import Message, table
from shoal.messages.table import SENTENCES

FOLDER = Path(__file__).parent / "messages"


def rooms() -> dict[str, list[str]]:
    """Codes of each room, in the order of their tables."""
    return {
        room.__name__.rpartition(".")[2]: [code for name in table.TABLES for code in getattr(room, name, {})]
        for room in table.ROOMS
    }


def phrases() -> set[str]:
    """Codes of phrases, which are parts of sentences."""
    return {code for room in table.ROOMS for code in getattr(room, "PHRASES", {})}


def stored() -> dict[str, dict[str, Any]]:
    """Entries of all files, by code."""
    return {
        code: entry
        for path in sorted(FOLDER.glob("*.toml"))
        for code, entry in tomllib.loads(path.read_text(encoding="utf-8")).items()
    }


def rendered(code: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry with the severity and the sentences of today."""
    message = Message(code, field=entry.get("field"), **_read(entry.get("data", {})))
    python = message.text("python")
    known = {key: entry[key] for key in ("request", "field", "data") if key in entry}
    other = {} if python == str(message) else {"python": python}
    return {"severity": SENTENCES[code][0], **known, "text": str(message), **other}


def entry_of(message: Message, request: str) -> dict[str, Any]:
    """Return the entry of a message that a test has shown."""
    field = {} if message.field is None else {"field": message.field}
    data = {"data": {name: _written(value) for name, value in message.data.items()}} if message.data else {}
    return {"request": request, **field, **data}


def save(entries: dict[str, dict[str, Any]]) -> None:
    """Write the entries, each code into the file of its room; entries of codes that are gone go."""
    FOLDER.mkdir(exist_ok=True)
    for room, codes in rooms().items():
        held = {code: rendered(code, entries[code]) for code in codes if code in entries}
        (FOLDER / f"{room}.toml").write_text(tomli_w.dumps(held, multiline_strings=False), encoding="utf-8")


class Recorder:
    """Messages that the tests of this process build, the first of each code."""

    def __init__(self) -> None:
        self.seen: dict[str, dict[str, Any]] = {}
        made = Message.__new__

        def build(cls: type[Message], code: str, /, **data: Any) -> Message:
            message = made(cls, code, **data)
            test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0].partition("[")[0]
            if test and code not in self.seen:
                self.seen[code] = entry_of(message, test)
            return message

        Message.__new__ = build  # type: ignore[method-assign, assignment]

    def save(self) -> None:
        """Add codes that have no entry yet; processes wait for each other."""
        FOLDER.mkdir(exist_ok=True)
        with (FOLDER / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            save(self.seen | stored())


def _written(value: Any) -> Any:
    match value:
        case Message():
            field = {} if value.field is None else {"field": value.field}
            return {"code": value.code, **field, "data": {name: _written(each) for name, each in value.data.items()}}
        case dict():
            return {str(name): _written(each) for name, each in value.items()}
        case bool() | int() | float():
            return value
        case str() | Path():
            return Path(value).name if str(value).startswith("/") else str(value)
        case None:
            return ""
        case _ if hasattr(value, "item"):
            return value.item()
        case _ if isinstance(value, Iterator) or hasattr(value, "__iter__"):
            return [_written(each) for each in value]
    return str(value)


def _read(value: Any) -> Any:
    match value:
        case {"code": str(code), "data": dict(data)}:
            return Message(code, field=value.get("field"), **{name: _read(each) for name, each in data.items()})
        case dict():
            return {name: _read(each) for name, each in value.items()}
        case list():
            return [_read(each) for each in value]
    return value


if __name__ == "__main__":
    save({code: entry for code, entry in stored().items() if code in SENTENCES})

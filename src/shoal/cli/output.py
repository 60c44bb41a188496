"""Where commands print: results to standard output, all else to standard error; or into a record, for the page.

Names of columns and files reach the screen through `show`, `show_lines` and `complain`, which make characters visible.
"""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from shoal.messages import Message
from shoal.text import visible


@dataclass
class Record:
    """What a command shows while nothing is printed: its screen, part by part, and its result."""

    progress: Callable[[str, int, int], None]
    shown: list[RenderableType] = field(default_factory=list)
    result: Any = None


_records: list[Record] = []  # the last one is in use


@contextmanager
def recorded(progress: Callable[[str, int, int], None]) -> Iterator[Record]:
    """Record what commands show, instead of printing it; progress goes to `progress`."""
    _records.append(Record(progress))
    try:
        yield _records[-1]
    finally:
        _records.pop()


def record() -> Record | None:
    """Return the record in use, if there is one."""
    return _records[-1] if _records else None


def stdout() -> Console:
    """Return the console for results."""
    return Console(highlight=False, emoji=False)


def stderr() -> Console:
    """Return the console for progress and mistakes."""
    return Console(stderr=True, highlight=False, emoji=False)


def show(draw: Callable[..., RenderableType], *found: Any, console: Console | None = None) -> None:
    """Print what `draw` makes of results, as results unless another console is given."""
    _print(draw(*visible(found)), console or stdout())


def show_lines(text: str, console: Console | None = None) -> None:
    """Print lines that are not broken, so that they can be copied."""
    for line in text.split("\n"):
        _print(Text(visible(line)), console or stdout(), soft_wrap=True)


def complain(kind: str, message: Message, label: str = "") -> None:
    """Print a message after a red word, such as Error or Failed, on one line; `label` names its field."""
    text = visible(message.text("terminal", label))
    _print(Text.assemble((f"{kind}:", "bold red"), " ", text), stderr(), soft_wrap=True)


def print_errors(messages: Iterable[Message], arguments: Sequence[str]) -> None:
    """Print errors for machines if the arguments of the command ask for it."""
    if "--json" in arguments:
        print_json({"errors": [each.as_json() for each in messages]})


def _print(drawn: RenderableType, console: Console, *, soft_wrap: bool = False) -> None:
    if (kept := record()) is not None:
        kept.shown.append(drawn)
    else:
        console.print(drawn, soft_wrap=soft_wrap)


def on_screen(result: Any, as_json: bool) -> bool:
    """Print a result for machines if that was asked for; return whether it is to be shown to a person."""
    if (kept := record()) is not None:
        kept.result = result
        return True
    if as_json:
        print_json(result)
    return not as_json


def print_json(result: Any) -> None:
    """Print a result for machines."""
    sys.stdout.write(for_machines(result))


def for_machines(result: Any) -> str:
    """Return a result as JSON."""
    return json.dumps(_finite(result), indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """Replace numbers that overflowed by null: JSON has no infinity."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

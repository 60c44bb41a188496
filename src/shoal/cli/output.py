"""Where commands print: results to standard output, all else to standard error.

Names of columns and files reach the screen through `show`, `show_lines` and `complain`, which make characters visible.
"""

import json
import math
import sys
from collections.abc import Callable
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from shoal.text import sentence, visible


def stdout() -> Console:
    """Return the console for results."""
    return Console(highlight=False, emoji=False)


def stderr() -> Console:
    """Return the console for progress and mistakes."""
    return Console(stderr=True, highlight=False, emoji=False)


def show(draw: Callable[..., RenderableType], *found: Any, console: Console | None = None) -> None:
    """Print what `draw` makes of results, as results unless another console is given."""
    (console or stdout()).print(draw(*visible(found)))


def show_lines(text: str, console: Console | None = None) -> None:
    """Print lines that are not broken, so that they can be copied."""
    for line in text.split("\n"):
        (console or stdout()).print(Text(visible(line)), soft_wrap=True)


def complain(kind: str, what: str) -> None:
    """Print what went wrong after a red word, on one line."""
    stderr().print(Text.assemble((f"{kind}:", "bold red"), " ", visible(sentence(what))), soft_wrap=True)


def print_json(result: Any) -> None:
    """Print a result for machines."""
    sys.stdout.write(json.dumps(_finite(result), indent=2, allow_nan=False) + "\n")


def _finite(value: Any) -> Any:
    """Put null where a number overflowed: JSON knows no infinity."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""Where commands print: results to standard output, all else to standard error."""

import json
import math
import sys
from typing import Any

from rich.console import Console


def stdout() -> Console:
    """Give the console for results."""
    return Console(highlight=False, emoji=False)


def stderr() -> Console:
    """Give the console for progress and mistakes."""
    return Console(stderr=True, highlight=False, emoji=False)


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

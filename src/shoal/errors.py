"""The one family of exceptions: each is a sentence for the person who made the mistake.

No message carries a value from the data: only names of columns, numbers of rows and the way out.
"""

from collections.abc import Mapping
from typing import Any


class ShoalError(Exception):
    """Base of everything that Shoal raises on purpose."""


class PlanError(ShoalError):
    """The request itself is wrong; `problems` maps each field of the plan to what is wrong with it."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        self.problems = problems
        super().__init__("\n".join(in_a_line(field, what) for field, what in problems))


def in_a_line(field: str, what: str, label: str = "") -> str:
    """Return a problem after the name of its field; "Set k, ..." names it already."""
    return what if what.startswith(f"Set {field}") else f"{label or field}: {what}"


class DataError(ShoalError, ValueError):
    """The table cannot be used as the plan asks: a column is missing, a cell is not a number, too few records."""


class FileError(ShoalError, OSError):
    """A file cannot be read or written."""


class CheckFailed(ShoalError):
    """A table is not what it claims to be; `failures` lists the sentences that say why, `found` what was counted."""

    def __init__(self, failures: list[str], found: Mapping[str, Any] | None = None) -> None:
        self.failures = failures
        self.found = dict(found or {})
        super().__init__("\n".join(failures))


class MissingExtra(ShoalError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra that is not installed: pip install 'shoal[{extra}]'")

"""The one family of exceptions: each is a sentence for the person who made the mistake.

No message carries a value from the data: only names of columns, numbers of rows and the way out.
"""

from collections.abc import Mapping
from typing import Any

from shoal.text import visible


class ShoalError(Exception):
    """Base of everything that Shoal raises on purpose; `sentences` lists what is wrong, one problem each."""

    def __init__(self, *sentences: str) -> None:
        self.sentences = tuple(map(visible, sentences))
        super().__init__("\n".join(self.sentences))


class PlanError(ShoalError):
    """The request itself is wrong.

    Attributes
    ----------
    problems : list of tuple
        Fields of the plan, and what is wrong with each.
    source : str
        The name of the file that has the fields; empty if they were given as options.
    """

    def __init__(self, problems: list[tuple[str, str]], source: str = "") -> None:
        self.problems, self.source = problems, source
        super().__init__(*(in_a_line(field, what, source=source) for field, what in problems))


class UntreatedColumns(PlanError):
    """Columns without a role would be released unchanged.

    Attributes
    ----------
    what : str
        How many.
    columns : list of dict
        For each column without a role the proposed ``treatment`` and ``type``, the ``reason`` and a ``warning``.
    options : dict
        The fields of the plan that carry the proposals out.
    """

    ADVICE = "Check each proposal, correct what is wrong, and run again with these options"

    def __init__(self, what: str, columns: list[dict[str, str]], options: dict[str, Any]) -> None:
        self.what, self.columns, self.options = what, columns, options
        proposed = "'{column}' has no role. Proposed: {treatment} ({reason})."
        super().__init__([("publish", proposed.format(**each)) for each in columns])
        self.args = (self._text(),)

    def _text(self) -> str:
        """Return a table of the proposals and the options that carry them out, in plain text."""
        rows = [{"column": "column", "treatment": "role", "reason": "reason"}, *self.columns]
        wide, wider = (max(len(row[name]) for row in rows) for name in ("column", "treatment"))
        table = [f"  {row['column']:{wide}}  {row['treatment']:{wider}}  {row['reason']}" for row in rows]
        options = [f"    {field}={value!r}," for field, value in self.options.items()]
        return "\n".join(visible([f"{self.what} Proposed:", "", *table, "", f"{self.ADVICE}:", "", *options]))


_SENTENCES = ("Set ", "Name ", "Pass ", "There is ", "No column ", "The policy ")


def in_a_line(field: str, what: str, label: str = "", source: str = "") -> str:
    """Return a problem after the name of its field, and of the file that has it, if any.

    What is a whole sentence, as "Set k, ...", needs no field.
    """
    if what.startswith(_SENTENCES):
        return f"{source}: {what}" if source else what
    if source:
        return f"{source}: {field}: {what}" if what.startswith("'") else f"{source}: '{field}' {what}"
    return f"{label or field}: {what}"


class DataError(ShoalError, ValueError):
    """The table cannot be used as the plan asks: a column is missing, a cell is not a number, too few records."""


class FileError(ShoalError, OSError):
    """A file cannot be read or written."""


class CheckFailed(ShoalError):
    """A table is not what it claims to be; `failures` lists the sentences that say why, `found` what was counted."""

    def __init__(self, failures: list[str], found: Mapping[str, Any] | None = None) -> None:
        self.failures = failures
        self.found = dict(found or {})
        super().__init__(*failures)


class MissingExtra(ShoalError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra that is not installed. Run pip install 'shoal-sdc[{extra}]'.")

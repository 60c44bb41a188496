"""The one family of exceptions: each is a sentence for the person who made the mistake, with a stable code.

`shoal.messages` holds the sentence of each code. No message carries a value from the data: only names of columns,
numbers of records and the remedy.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from shoal.messages import Message
from shoal.text import visible


class ShoalError(Exception):
    """Base of everything that Shoal raises on purpose.

    ``ShoalError("code", name=value)`` has one message; ``ShoalError(*messages)`` has several, one per problem.

    Attributes
    ----------
    messages : tuple of Message
        What is wrong, with code and data, one problem each.
    """

    def __init__(self, *problems: str, field: str | None = None, **data: Any) -> None:
        self.messages = tuple(
            each if isinstance(each, Message) else Message(each, field=field, **data) for each in problems
        )
        super().__init__(*problems)

    def __str__(self) -> str:
        return "\n".join(each.text("python") for each in self.messages)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a copy in another process is made of."""
        return _unpickled, (type(self), self.__dict__)

    @property
    def code(self) -> str:
        """Code of the first message."""
        return self.messages[0].code

    @property
    def codes(self) -> list[str]:
        """Codes of all messages."""
        return [each.code for each in self.messages]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is wrong in the words of the terminal, one problem each."""
        return tuple(map(str, self.messages))


def _unpickled(kind: type[ShoalError], state: dict[str, Any]) -> ShoalError:
    error = kind.__new__(kind, *state["messages"])
    error.__dict__.update(state)
    return error


class PlanError(ShoalError):
    """The request itself is wrong; the messages name fields of the plan."""

    @property
    def source(self) -> str:
        """Name of the file that has the fields; empty if they were given as options."""
        return self.messages[0].source if self.messages else ""


class UntreatedColumns(PlanError):
    """Columns without a role would be released unchanged.

    Attributes
    ----------
    what : Message
        How many.
    columns : list of dict
        For each column without a role the proposed ``treatment`` and ``type``, the ``reason`` and a ``warning``.
    options : dict
        The fields of the plan that carry the proposals out.
    """

    ADVICE = "Check each proposal, correct what is wrong, and run again with these options"

    def __init__(self, what: str, columns: list[dict[str, str]], options: dict[str, Any]) -> None:
        self.what, self.columns, self.options = what, columns, options
        super().__init__(*(Message("column-without-role", field="publish", **each) for each in columns))

    def __str__(self) -> str:
        """Return a table of the proposals and the options that carry them out, in plain text."""
        rows = [{"column": "column", "treatment": "role", "reason": "reason"}, *self.columns]
        wide, wider = (max(len(row[name]) for row in rows) for name in ("column", "treatment"))
        table = [f"  {row['column']:{wide}}  {row['treatment']:{wider}}  {row['reason']}" for row in rows]
        options = [f"    {field}={value!r}," for field, value in self.options.items()]
        return "\n".join(visible([f"{self.what} Proposed:", "", *table, "", f"{self.ADVICE}:", "", *options]))


class DataError(ShoalError, ValueError):
    """The table cannot be used as the plan asks: a column is missing, a cell is not a number, too few records."""


class FileError(ShoalError, OSError):
    """A file cannot be read or written."""


class CheckFailed(ShoalError):
    """A table is not what it claims to be; `found` holds what was counted."""

    def __init__(self, failures: Iterable[str], found: Mapping[str, Any] | None = None) -> None:
        self.found = dict(found or {})
        super().__init__(*failures)

    @property
    def failures(self) -> list[Message]:
        """What does not hold."""
        return list(self.messages)


class MissingExtra(ShoalError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__("missing-extra", feature=feature, extra=extra)

"""Commands as pages: what a command asks for, what was entered on its page, and the command line made of both.

Nothing here runs a command. The command line describes its commands for the page, and runs them in a worker.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from shoal.errors import PlanError
from shoal.messages import Message
from shoal.text import quoted

# What an option takes: a file, several files, one column, several columns, nothing, one text, or a text on every line.
Kind = Literal["file", "files", "column", "columns", "switch", "text", "lines"]


@dataclass(frozen=True)
class Asked:
    """An argument or option of a command.

    Attributes
    ----------
    name
        As Python knows it.
    spelling
        As it is typed; empty for an argument.
    title, help
        What the page shows of it.
    panel
        The group of options in the command's help.
    """

    name: str
    spelling: str
    title: str
    help: str
    panel: str
    kind: Kind
    required: bool = False


@dataclass(frozen=True)
class CommandPage:
    """A page that runs a command.

    Attributes
    ----------
    path
        Its address, and its name within a session.
    command
        The command that it runs.
    title, purpose
        The heading of the page and a sentence below it.
    action
        The label of the button that runs it.
    options
        Everything that the command asks for, files first.
    front
        The options that are shown at once, by name; files of arguments always are.
    proposed
        Options that are filled in with the columns of a role: the one chosen in step 2, or else proposed.
    categories
        Options that are filled in with categories only, not with numbers of many values.
    """

    path: str
    command: str
    title: str
    purpose: str
    action: str
    options: tuple[Asked, ...]
    front: tuple[str, ...]
    proposed: tuple[tuple[str, str], ...] = ()
    categories: tuple[str, ...] = ()

    def title_of(self, field: str) -> str | None:
        """Return the title of an option by the name of its field."""
        return next((each.title for each in self.options if each.name == field.rpartition(".")[2]), None)

    @property
    def required(self) -> tuple[str, ...]:
        """The options without which the command cannot run."""
        return tuple(each.name for each in self.options if each.required)


@dataclass
class Entered:
    """What was entered on the page of a command, and what came of it.

    Attributes
    ----------
    files
        By option: the files that were uploaded.
    values
        By option: everything else.
    columns
        Of the first file.
    found
        What the command found: see `shoal.cli.page_worker.command`.
    ran
        The command line that found it.
    """

    files: dict[str, list[Path]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    found: dict[str, Any] | None = None
    ran: str = ""
    problems: list[Message] = field(default_factory=list)

    def all_files(self) -> list[Path]:
        """List the files of all options."""
        return [path for paths in self.files.values() for path in paths]


def arguments(page: CommandPage, entered: Entered) -> list[str]:
    """Return the words after `shoal` that run the command with what was entered; files go by name.

    Raises
    ------
    PlanError
        Naming everything that is missing, or that a command line cannot express.
    """
    problems = [
        Message("file-needed" if each.kind in ("file", "files") else "value-needed", field=each.name)
        for each in page.options
        if each.required and not _value(each, entered)
    ]
    problems += [
        Message("name-with-comma", field=each.name)
        for each in page.options
        if each.kind == "columns" and any("," in name for name in entered.values.get(each.name) or [])
    ]
    if problems:
        raise PlanError(*problems)
    return [page.command, *(word for each in page.options for word in _words(each, entered))]


def command_line(words: Sequence[str]) -> str:
    """Return the command line that a person types."""
    return quoted(["shoal", *words])


def _value(asked: Asked, entered: Entered) -> Any:
    """Return what was entered for an option; something empty if nothing."""
    if asked.kind in ("file", "files"):
        return entered.files.get(asked.name)
    value = entered.values.get(asked.name)
    return value.strip() if isinstance(value, str) else value


def _words(asked: Asked, entered: Entered) -> Iterator[str]:
    """Yield an option as it is typed."""
    value = _value(asked, entered)
    if not value:
        return
    match asked.kind:
        case "switch":
            yield asked.spelling
            return
        case "file" | "files":
            texts = [f"./{path.name}" if path.name.startswith("-") else path.name for path in value]
        case "columns":
            texts = [",".join(value)]
        case "lines":
            texts = [line.strip() for line in value.splitlines() if line.strip()]
        case _:
            texts = [str(value)]
    for text in texts:
        # A text that begins with a dash would be taken for an option.
        joined = asked.spelling.startswith("--") and text.startswith("-")
        yield from [f"{asked.spelling}={text}"] if joined else [*([asked.spelling] if asked.spelling else []), text]

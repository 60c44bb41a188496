"""Columns without a role: what is proposed for each, and the command that carries it out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomli_w
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shoal.errors import UntreatedColumns
from shoal.plan import Plan
from shoal.plan.commands import SWEEP_FIELDS
from shoal.plan.options import Option, options_of, read, write
from shoal.text import quoted

_COLOURS = {"identifier": "red", "unit": "red", "weights": "yellow", "publish": "yellow"}
_WIDTH = 78  # of a line of the command, without its backslash
_PLAN_FILE = "This command has no options for some of these. Write them to plan.toml and add --plan plan.toml"


def proposals(what: str, columns: Sequence[Mapping[str, str]]) -> RenderableType:
    """Return a table of the columns without a role."""
    table = Table("Column", "Role", "Reason", box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.columns[0].overflow = "fold"
    for row in columns:
        reason = f"{row['reason']}. {row['warning']}" if row["warning"] else row["reason"]
        table.add_row(Text(row["column"]), Text(row["treatment"], _COLOURS.get(row["treatment"], "")), Text(reason))
    return Group(Text.assemble(("Error:", "bold red"), f" {what} Nothing was written.\n"), table, "")


def instead(error: UntreatedColumns, arguments: Sequence[str]) -> str:
    """Return what to run instead of a command with these arguments."""
    again = command(error, arguments)
    return f"{error.ADVICE}:\n\n{again}" if again else f"{_PLAN_FILE}:\n\n{tomli_w.dumps(error.options)}"


def for_machines(error: UntreatedColumns, arguments: Sequence[str]) -> dict[str, Any]:
    """Return the same, ready for JSON."""
    return {
        "errors": [each.as_json() for each in error.messages],
        "columns": error.columns,
        "plan": error.options,
        "command": command(error, arguments),
    }


def command(error: UntreatedColumns, arguments: Sequence[str]) -> str | None:
    """Return the command with the proposed options in place of its own; None where only a plan file can express it."""
    fields = SWEEP_FIELDS if arguments[0] == "sweep" else tuple(Plan.model_fields)
    options = [each for each in options_of(Plan) if each.path[0] in error.options and each.path[0] in fields]
    written = write(options, error.options)
    texts = {each.name: texts if each.repeated else texts[0] for each, texts in written.items()}
    if _as_texts(read(written, texts)) != _as_texts(error.options):
        return None
    first = quoted(["shoal", *_without(arguments, options)])
    lines = [line for each, texts in written.items() for text in texts for line in _lines(each, text)]
    return " \\\n    ".join([first, *lines])


def _as_texts(value: Any) -> Any:
    """Return values as they are typed: -99 and '-99' are one missing-value code."""
    if isinstance(value, Mapping):
        return {name: _as_texts(each) for name, each in value.items()}
    return [_as_texts(each) for each in value] if isinstance(value, list) else str(value)


def _without(arguments: Sequence[str], options: Sequence[Option]) -> Iterator[str]:
    """Leave out options, with what stands after them."""
    spelled = {spelling: option for option in options for spelling in option.spellings}
    words = iter(arguments)
    for word in words:
        option = spelled.get(word.partition("=")[0])
        if option is None:
            yield word
        elif "=" not in word and not option.alone:
            next(words, None)


def _lines(option: Option, text: str) -> Iterator[str]:
    """Cut a list of names into options of one line each, as the command line adds them up."""
    names = text.split(",") if option.form == "names" else [text]
    while names:
        many = len(names)
        while many > 1 and len(quoted([option.spelling, ",".join(names[:many])])) > _WIDTH - 4:
            many -= 1
        yield quoted([option.spelling, ",".join(names[:many])])
        names = names[many:]

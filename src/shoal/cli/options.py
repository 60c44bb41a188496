"""The options that commands share: those of the plan, made from its fields, and a few of the commands' own."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from shoal.cli.commands import OTHER
from shoal.plan import Plan
from shoal.plan.fields import GROUPS
from shoal.plan.options import Option, options_of, read

PANELS: dict[str, str] = {group: group.capitalize() for group in GROUPS}


def own(group: str, text: str, *spellings: str, metavar: str = "") -> Any:
    """Return an option of a command's own, in the panel of a group of fields or among the others."""
    return typer.Option(*spellings, help=text, metavar=metavar, rich_help_panel=PANELS.get(group, OTHER))


Json = Annotated[bool, own("other", "Print the result as JSON, for machines.", "--json")]
Report = Annotated[
    str | None, own("files", "Also write a report: one HTML file to read offline or print.", metavar="FILE")
]
External = Annotated[
    bool,
    own(
        "files", "With --report: write the report for users of the data, which says nothing about risks.", "--external"
    ),
]
Against = Annotated[
    list[str] | None,
    own(
        "protection",
        "An earlier release of the same data, to test what both reveal together. Once for each release.",
        metavar="FILE",
    ),
]
Key = Annotated[
    str | None,
    own(
        "protection",
        "With --against: a column that identifies records, if rows are not in the same order.",
        metavar="A",
    ),
]
PlanFile = Annotated[
    str | None, own("files", "A plan file; options on the command line take precedence.", metavar="FILE")
]
PolicyFile = Annotated[
    str | None,
    own(
        "protection", "The limits of your office in a file: passed or failed (exit 1), limit by limit.", metavar="FILE"
    ),
]
Overwrite = Annotated[bool, own("files", "Replace files that already exist.", "--overwrite")]


def takes_plan(
    *fields: str, model: type[BaseModel] = Plan, **helps: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of some fields of the plan to a command, of all if none is named.

    The command is called with what was given for them, a dict of fields, as its first argument. `helps` describe
    options that mean something else to this command than to `protect`.
    """
    options = [
        replace(option, help=helps.get(option.name, option.help))
        for option in options_of(model)
        if not fields or option.path[0] in fields
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        _, *own = inspect.signature(command).parameters.values()

        def run(**given: Any) -> None:
            asked = read(options, {option.name: given.pop(option.name) for option in options})
            command(asked, **given)

        everything = [*map(_ranked, options, map(_parameter, options)), *map(_ranked_own, own)]
        ordered = [parameter for _, parameter in sorted(everything, key=lambda pair: pair[0])]
        run.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        run.__name__ = command.__name__
        return run

    return decorate


def help_of(field: str) -> str:
    """Return the help of a field of the plan, for a command that has an option of its own for it."""
    return next(option.help for option in options_of(Plan) if option.path == (field,))


def spelled(field: str, arguments: Sequence[str]) -> str:
    """Return the option of a field, as it was typed if it was; the field itself where there is none, as in a plan."""
    path = tuple(field.split("."))
    found = [each for each in options_of(Plan) if each.path in (path, path[:1])]
    spellings = [spelling for each in found for spelling in each.spellings] or [f"--{field.replace('_', '-')}"]
    spellings += {"method": ["--methods"], "keys": ["--quasi"]}.get(field, [])  # of a sweep, of `shoal risk`
    typed = [each for each in spellings if any(word.partition("=")[0] == each for word in arguments)]
    return typed[0] if typed else found[0].spelling if found else field


def _parameter(option: Option) -> inspect.Parameter:
    """Return the parameter from which Typer makes an option or an argument."""
    kind: Any = bool if option.alone else list[str] if option.repeated else str
    if option.spelling.startswith("-"):
        info = typer.Option(
            *option.spellings,
            help=option.help,
            metavar=option.metavar,
            show_default=False,
            rich_help_panel=PANELS[option.group],
        )
    else:
        info = typer.Argument(help=option.help, metavar=option.metavar, show_default=False)
    annotation = Annotated[kind | None, info]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


Rank = tuple[int, int, int]


def _ranked(option: Option, parameter: inspect.Parameter) -> tuple[Rank, inspect.Parameter]:
    """Arguments first, then options by group: those of the plan, the command's own, those of tables of the plan."""
    if not option.spelling.startswith("-"):
        return (0, 0, 0), parameter
    return (1, GROUPS.index(option.group), 2 * (len(option.path) > 1)), parameter


def _ranked_own(parameter: inspect.Parameter) -> tuple[Rank, inspect.Parameter]:
    [info] = parameter.annotation.__metadata__
    panel = info.rich_help_panel
    place = [*PANELS.values()].index(panel) if panel in PANELS.values() else len(GROUPS)
    ranked = (1, place, 1) if parameter.default is not inspect.Parameter.empty else (0, 0, 0)
    return ranked, parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)

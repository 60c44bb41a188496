"""The command that proposes roles, before anything is masked."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from shoal.cli.options import Json, Overwrite, own, takes_plan
from shoal.cli.output import print_json, show, show_lines, stderr
from shoal.cli.process import leave_pandas_out
from shoal.errors import PlanError
from shoal.messages import Message
from shoal.plan.fields import FILES
from shoal.text import quoted, visible

_COLOURS = {"identifier": "red", "unit": "red", "weights": "yellow", "publish": "green"}


@takes_plan("sheet", "csv")
def roles_command(
    options: dict[str, Any],
    data: Annotated[str, typer.Argument(help=f"The file to look at ({FILES}).")],
    output: Annotated[
        str | None, own("files", "Write the proposal as a plan file to edit.", "--output", "-o", metavar="FILE")
    ] = None,
    k: Annotated[str, own("protection", "The minimum group size of the plan.", "-k", metavar="N")] = "5",
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Run `shoal roles`."""
    leave_pandas_out()
    from shoal.cli.display import Bar
    from shoal.evidence.roles import roles
    from shoal.tables.atomic import refuse_unwritable, written_whole

    target = None if output is None else Path(output)
    if target is not None:
        refuse_unwritable(target, overwrite)
    with Bar(stderr()) as bar:
        found = roles(data, progress=bar, **options)
    if target is not None:
        text = found.to_toml(target.parent, k=k)
        with written_whole(target, overwrite) as partial:
            partial.write_text(text, encoding="utf-8")
    if as_json:
        doubts = [Message("look-at-column", column=each.column, warning=each.warning) for each in found if each.warning]
        print_json({"columns": found.rows, "notes": [each.as_json() for each in doubts]})
        return
    show(_table, found.proposals)
    show_lines(_next(found, k, output))


def _table(found: list[Any]) -> Table:
    from shoal.evidence.roles import COLUMNS, row_of

    shown = Table(*(name.capitalize() for name in COLUMNS), box=None, padding=(0, 2, 0, 0), header_style="bold")
    shown.columns[0].overflow = "fold"
    for each in found:
        column, type_, role, reason = row_of(each)
        shown.add_row(Text(column), type_, Text(role, _COLOURS.get(each.role, "")), Text(reason))
    return shown


def _next(found: Any, k: str, output: str | None) -> str:
    """Return what to do next: the command to copy."""
    from shoal.pipeline.roles import proposed_command

    if output is not None:
        command = quoted(["shoal", "protect", "--plan", output, "-o", "masked.csv"])
        return f"\nWritten to {visible(output)}. Read it, correct it, then:\n\n  {command}"
    try:
        command = proposed_command(found.plan(k=k))
    except PlanError as error:
        return "\n".join(["", *error.sentences])
    return f"\nThis is a guess: read every line. To protect the file so:\n\n{command}"

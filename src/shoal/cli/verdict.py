"""What the command line shows of a verdict, and how a command ends that has one."""

from pathlib import Path
from typing import Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from shoal.cli.output import complain, show
from shoal.cli.tables import without_lines
from shoal.messages import Message
from shoal.text import counted

_STYLES = {"passed": "green", "failed": "bold red", "not measured": "yellow", "incomplete": "bold yellow"}


def show_verdict(verdict: dict[str, Any] | None) -> None:
    """Print a verdict, if there is one."""
    if verdict is not None:
        show(_drawn, verdict)


def not_passed(verdict: dict[str, Any] | None, target: Path | None = None) -> Message | None:
    """Explain that a policy was not passed; `target` is the file of the release, which is not written if it failed."""
    if verdict is None or verdict["result"] == "passed":
        return None
    what = "failed" if verdict["result"] == "failed" else "not measured"
    number, limits = sum(each["result"] == what for each in verdict["limits"]), len(verdict["limits"])
    about = {
        "number": number,
        "limits": limits,
        "policy": verdict["policy"],
        "file": None if not target else str(target),
    }
    if what == "failed":
        return Message("limits-failed", **about)
    return Message("limits-not-measured", some=number < limits, **about)


def with_errors(result: dict[str, Any], error: Message | None) -> dict[str, Any]:
    """Add an error to the result of a command, for machines."""
    return result if error is None else {**result, "errors": [error.as_json()]}


def leave_unless_passed(error: Message | None) -> None:
    """End with exit code 1 if a policy was not passed, so that a script does not go on."""
    if error is not None:
        complain("Failed" if error.code == "limits-failed" else "Not measured", error)
        raise typer.Exit(1)


def _drawn(verdict: dict[str, Any]) -> RenderableType:
    named = f" by policy '{verdict['policy']}'" if verdict["policy"] else ""
    said, unmeasured = verdict["result"], sum(each["result"] == "not measured" for each in verdict["limits"])
    if said == "passed" and unmeasured:
        said += f"; {counted(unmeasured, 'limit')} not measured"
    head = Text.assemble("\nVerdict", f"{named}: ", (said, _style(verdict["result"])), style="bold")
    table = without_lines(2)
    for header, justify in (
        ("Limit", "left"),
        ("what it is", "left"),
        ("measured", "right"),
        ("limit", "left"),
        ("", "left"),
    ):
        table.add_column(header, justify=justify)  # type: ignore[arg-type]
    for each in verdict["limits"]:
        result = Text(each["result"], _style(each["result"]))
        if each["needs"]:
            result.append(f": {each['needs']}", "not bold dim")
        bound = f"{each['must_be']} {_figure(each['bound'], each['unit'])}"
        table.add_row(each["limit"], each["meaning"], _figure(each["figure"], each["unit"]), bound, result)
    return Group(head, table)


def _style(result: str) -> str:
    return _STYLES[result]


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{value:,.4g} {unit}".rstrip() if isinstance(value, float) else f"{value:,} {unit}".rstrip()

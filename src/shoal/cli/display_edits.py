"""Rules on the screen: a table of what they are and how they are kept."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shoal.text import counted


def rules_table(rules: list[dict[str, Any]]) -> RenderableType:
    """Tabulate rules; those that records break stand out, and so do those that nothing keeps by construction."""
    table = Table(box=None, pad_edge=False, header_style="bold cyan", padding=(0, 2, 1, 0))
    for header in ("Rule", "class", "ties together", "broken now by", "kept by"):
        table.add_column(header, overflow="fold")
    for row in rules:
        said = Text(row["rule"], "bold")
        if row["text"] != row["rule"]:
            said.append(f"\n{row['text']}", "not bold dim")
        table.add_row(said, row["class"], Text(", ".join(row["attributes"])), _broken(row), _kept(row))
    wrong = sum(row["broken"] > row["rounding"] for row in rules)
    verdict = (
        f"{counted(wrong, 'rule')} broken by original records: put them right, or choose edits_original."
        if wrong
        else "No rule is broken."
    )
    return Group(table, Text(verdict, "bold red" if wrong else "bold"))


def _broken(row: dict[str, Any]) -> Text:
    if not row["broken"]:
        return Text("none")
    near = f", {row['rounding']:,} of them by rounding only" if row["rounding"] else ""
    style = "red" if row["broken"] > row["rounding"] else ""
    return Text(f"{counted(row['broken'], 'record')} (first {row['first']:,}){near}", style)


def _kept(row: dict[str, Any]) -> Text:
    return Text(row["kept"], "" if row["promised"] else "yellow")

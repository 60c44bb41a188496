"""What the screens of the command line are made of: tables without lines, messages and numbers."""

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text


def table_of(*headers: str, gap: int = 3) -> Table:
    """Return a table without lines whose columns are figures, but for the first."""
    table = without_lines(gap)
    for at, header in enumerate(headers):
        table.add_column(header, justify="right" if at and header else "left")
    return table


def without_lines(gap: int, below: int = 0) -> Table:
    """Return a table without lines, with so many characters between columns and lines below rows."""
    return Table(box=None, pad_edge=False, header_style="bold cyan", padding=(0, gap, below, 0))


def message(note: Mapping[str, str]) -> Text:
    """Show a message by its severity."""
    style, word = {"error": ("bold red", "Error: "), "warning": ("yellow", "Warning: "), "note": ("", "- ")}[
        note["severity"]
    ]
    return Text(f"{word}{note['text']}", style)


def number(value: int) -> str:
    """Return a whole number with commas between thousands."""
    return f"{value:,}"

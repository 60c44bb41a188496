"""A sweep on the screen: a line for every method and k, with the knee marked."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

_BAR = 12  # characters, of which each shows eighths; fewer on a narrow screen


def sweep_table(rows: Sequence[Mapping[str, Any]], knee: Mapping[str, Any] | None) -> RenderableType:
    """Tabulate what every k costs and risks; bars show the loss, and the row at the knee stands out."""
    table = Table(box=None, pad_edge=False, header_style="bold cyan", padding=(0, 2, 0, 0))
    table.add_column("method", no_wrap=True)
    for header in ("k", "groups", "largest", "loss (IL)"):
        table.add_column(header, justify="right", no_wrap=True)
    for header in ("found in the file", "found by distance"):
        table.add_column(header, justify="right")
    table.add_column("loss", style="dim", max_width=_BAR)
    table.add_column("", no_wrap=True)
    most = max((row["IL"] or 0.0 for row in rows), default=0.0)
    for row in rows:
        linked = "" if row["linked"] is None else f"{row['linked']:.1f} %"
        loss = "constant" if row["IL"] is None else f"{row['IL']:.3f} %"
        cells = [row["method"], f"{row['k']:,}", f"{row['groups']:,}", f"{row['largest']:,}", loss]
        bar = Bar(most, 0, row["IL"] or 0.0)
        is_knee = knee is not None and (row["method"], row["k"]) == (knee["method"], knee["k"])
        mark, style = ("◀ knee", "bold") if is_knee else ("", "")
        table.add_row(*cells, f"{row['reidentification']:.1f} %", linked, bar, mark, style=style)
    said = Text(
        "Found: records that an intruder links to the right person on average, who knows all quasi-identifiers as they "
        "are published, or as they were. At the knee, a larger k begins to cost more than it protects.",
        "dim",
    )
    return Group(table, said)

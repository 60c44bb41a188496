"""What the command line shows of a sweep: every k with its loss and risk, and the files that were saved."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.bar import Bar as LossBar
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from shoal.cli.tables import message, without_lines

_LOSS_BAR = 12  # characters, of which each shows eighths; fewer on a narrow screen


def sweep_table(
    rows: Sequence[Mapping[str, Any]],
    marked: Mapping[str, Any] | None,
    verdict: str,
    best: Mapping[int, Mapping[str, Any]],
    notes: Sequence[Mapping[str, str]],
) -> RenderableType:
    """Tabulate what every k costs and risks.

    Bars show the loss, `best` are the rows of the method that loses least at each k, and the row that the verdict names
    stands out.
    """
    table = without_lines(2)
    table.add_column("method", no_wrap=True)
    for header in ("k", "groups", "largest", "loss (IL)", "linked", "unique", "risk"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("loss", style="dim", max_width=_LOSS_BAR)
    table.add_column("", no_wrap=True)
    most = max((row["IL"] or 0.0 for row in rows), default=0.0)
    for row in rows:
        loss = "constant" if row["IL"] is None else f"{row['IL']:.3f} %"
        cells = [row["method"], f"{row['k']:,}", f"{row['groups']:,}", f"{row['largest']:,}", loss]
        cells += [f"{row[risk]:.1f} %" for risk in ("linked", "unique", "risk")]
        named = marked is not None and _same_row(row, marked)
        marks = ["best"] if row["k"] > 1 and row["k"] in best and _same_row(row, best[row["k"]]) else []
        marks += ["◀"] if named else []
        table.add_row(*cells, LossBar(most, 0, row["IL"] or 0.0), " ".join(marks), style="bold" if named else "")
    said = Text(
        "Linked: records linked correctly by distance, by an intruder who knows the original quasi-identifiers. "
        "Unique: records that no other equals in all released columns except the sensitive ones. Risk: the "
        "higher of the two."
        + (" Best: the method that loses least at this k." if best else "")
        + (" k = 1 changes nothing and protects nothing." if any(row["k"] == 1 for row in rows) else ""),
        "dim",
    )
    return Group(table, Text(verdict, "bold"), *map(message, notes), said)


def _same_row(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return (row["method"], row["k"]) == (other["method"], other["k"])


def saved_files(files: Sequence[Mapping[str, Any]]) -> RenderableType:
    """List the files of a sweep with the worst of the risk of each, then what else to know, once for all of them."""
    table = without_lines(2)
    for header in ("protected file", "the worst of its risk"):
        table.add_column(header, overflow="fold")
    for each in files:
        worst = each["headline"]
        bad = worst["severity"] == "warning"
        table.add_row(Text(each["file"], "bold"), Text(worst["text"], "bold red" if bad else "green"))
    said: dict[tuple[str, str], list[int]] = {}
    for each in files:
        for note in each["notes"]:
            said.setdefault((note["severity"], note["text"]), []).append(each["k"])
    sizes = len({each["k"] for each in files})
    ordered = sorted(said, key=lambda each: each[0] == "note")
    messages = [
        message({"severity": severity, "text": _at(said[severity, text], sizes) + text}) for severity, text in ordered
    ]
    beside = Text("Beside each file are its plan (.plan.toml) and its manifest (.manifest.json).", "dim")
    return Padding(Group(table, *messages, beside), (1, 0, 0, 0))


def _at(sizes: Sequence[int], all_sizes: int) -> str:
    """Return the k of a message that is not for all of them."""
    some = dict.fromkeys(sizes)
    return "" if len(some) == all_sizes else f"k = {', '.join(f'{k:,}' for k in some)}: "

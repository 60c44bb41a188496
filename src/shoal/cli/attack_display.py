"""What the command line shows of attacks: singling out, linkability, inference."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from shoal.cli.tables import without_lines
from shoal.text import counted


def attack_table(risk: Mapping[str, Any]) -> Table:
    """Tabulate how often attacks succeed: on people in the file, without the file, on people who are not in it."""
    single, link, guess = risk["singling_out"], risk["linkability"], risk["inference"]
    control = single["control"] is not None
    table = without_lines(2)
    table.add_column("Attacks, % that succeed", overflow="fold")
    for header in ["in the file", "guessing", *(["others", "risk"] if control else [])]:
        table.add_column(header, justify="right", no_wrap=True)
    table.add_row("singling out", *_cells(single, control))
    if link is not None:
        table.add_row("linkability", *_cells(link, control))
    for name, row in guess.items():
        cells = ["not measured"] if row is None else _cells(row, control)
        table.add_row(Text(f"inference of {name}"), *cells)
    table.caption = Text(_caption(risk, control), "dim", justify="left")
    return table


def _cells(row: Mapping[str, Any], control: bool) -> list[str]:
    cells = [_with_interval(row["main"]), f"{row['baseline']['percent']:.1f}"]
    if control:
        cells += [f"{row['control']['percent']:.1f}", _with_interval(row["risk"])]
    return cells


def _with_interval(rate: Mapping[str, Any]) -> str:
    if rate["percent"] is None:
        return "-"
    low, high = rate["interval"]
    return f"{rate['percent']:.1f} ({low:.1f}-{high:.1f})"


def _caption(risk: Mapping[str, Any], control: bool) -> str:
    single, link = risk["singling_out"], risk["linkability"]
    guess = [row for row in risk["inference"].values() if row is not None]
    parts = [
        f"The intruder knows {', '.join(single['attributes'])}. Singling out: a condition read off the file holds for "
        f"one record there and for one person alone ({counted(single['main']['attacks'], 'condition')} drawn)."
    ]
    if link is not None:
        parts.append("Linkability: two halves of what is known lead to the same published record.")
    if guess:
        parts.append(
            "Inference: the most frequent sensitive value among the nearest published records is the person's."
        )
        if tolerances := {row["tolerance"] for row in guess if row["tolerance"]}:
            parts.append(f"Numbers are right within {100 * max(tolerances):g} %.")
    drawn = [each["main"]["attacks"] for each in (link, *guess) if each is not None and each["sampled"]]
    if drawn:
        parts.append(f"{counted(max(drawn), 'person', 'people')} drawn at random.")
    if control:
        parts.append("Others: people who are not in the file. Risk: what attacks achieve beyond those on others.")
        if "main_like_control" in single:
            parts.append("Singling out is easier among few: its risk is that among as many people as the others are.")
    else:
        parts.append(
            "Without a control set (--control), what is true of people in general counts as well: compare with "
            "guessing."
        )
    return " ".join([*parts, "In parentheses: 95 % intervals. Lower is safer."])

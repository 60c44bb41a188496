"""What the command line shows of the utility of a masked file: regressions, estimates and published figures."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shoal.cli.tables import without_lines
from shoal.text import counted

_POOR = 0.5  # overlap of intervals below which a coefficient stands out
_SHOWN = 12  # published figures that no longer come out


def utility(result: dict[str, Any]) -> RenderableType:
    """Lay out what users of the data keep: estimates, regressions, published figures."""
    parts: list[RenderableType] = []
    for part in (_attributes(result["estimates"]), _tables(result["estimates"]), *map(_analysis, result["analyses"])):
        parts += [] if part is None else ["", part]
    if result["published"] is not None:
        parts += ["", _published(result["published"])]
    return Group(*parts)


def _table(*headers: str) -> Table:
    table = without_lines(2)
    for at, header in enumerate(headers):
        table.add_column(header, justify="right" if at else "left")
    return table


def _attributes(found: dict[str, Any]) -> RenderableType | None:
    """Tabulate what becomes of the mean and the distribution of each attribute."""
    if not found["distances"]:
        return None
    table = _table("What users see", "mean", "masked", "interval", "overlap", "distance")
    for name, distance in found["distances"].items():
        [(kind, far)] = distance.items()
        mean = found["means"].get(name)
        cells = ["", "", "", ""] if mean is None else [*_interval(mean), f"{mean['overlap']:.2f}"]
        unit = " sd" if kind == "wasserstein" else " H"
        table.add_row(Text(name), *cells, "constant" if far is None else f"{far:.3f}{unit}")
    table.caption = _caption(
        "Interval: 95 %, of the mean in the original. Overlap with that in the masked file: 1 is the same, 0 apart. "
        "Distance of the distributions: by how many standard deviations values move (Wasserstein), or for categories "
        "Hellinger's, 0 to 1; lower is better."
    )
    return table


def _interval(both: dict[str, Any]) -> Iterator[str]:
    before, after = both["before"], both["after"]
    yield f"{before['value']:.5g}"
    yield f"{after['value']:.5g}"
    yield f"{before['low']:.5g} to {before['high']:.5g}"


def _tables(found: dict[str, Any]) -> RenderableType | None:
    """Sum up the tables of one attribute and of two."""
    rows = []
    for size, name in ((1, "tables of one attribute"), (2, "cross tables of two")):
        tables = [each for each in found["tables"] if len(each["attributes"]) == size]
        if tables:
            cells, vanished, new = (sum(each[what] for each in tables) for what in ("cells", "vanished", "new"))
            overlap = np.average([each["overlap"] for each in tables], weights=[each["cells"] for each in tables])
            rows.append((name, f"{len(tables)}", f"{cells:,}", f"{vanished:,}", f"{new:,}", f"{overlap:.2f}"))
    if not rows:
        return None
    table = _table("Categories", "tables", "cells", "vanished", "new", "overlap")
    for row in rows:
        table.add_row(*row)
    text = "Cells with records in the original; of these, without any in the masked file. Overlap of the 95 % intervals"
    table.caption = _caption(
        f"{text} of their shares, on average." + (f" Left out: {found['left_out']}." if found["left_out"] else "")
    )
    return table


def _analysis(found: dict[str, Any]) -> RenderableType:
    """Tabulate the coefficients of a regression from both files."""
    records = found["records"]
    head = Text.assemble((found["formula"], "bold"), f"   {found['kind']}, {records['before']:,} records")
    if records["after"] != records["before"]:
        head.append(f", {records['after']:,} of the masked file")
    table = _table("coefficient", "original", "95 % interval", "masked", "95 % interval", "overlap", "")
    table.columns[-1].justify, table.columns[0].overflow = "left", "fold"
    table.columns[0].min_width = min(16, max(len(row["term"]) for row in found["coefficients"]))
    for row in found["coefficients"]:
        table.add_row(*_cells(row), style="yellow" if row["overlap"] is not None and row["overlap"] < _POOR else "")
    parts: list[RenderableType] = [head, table, _summed(found)]
    if found["not_estimated"]:
        parts.append(Text(f"Warning: not estimated from the masked file: {found['not_estimated']}.", "yellow"))
    return Group(*parts)


def _cells(row: dict[str, Any]) -> Iterator[Text | str]:
    yield Text(row["term"])
    for side in (row["before"], row["after"]):
        yield "-" if side is None else f"{side['estimate']:.4g}"
        yield "" if side is None else f"{side['low']:.3g} to {side['high']:.3g}"
    yield "" if row["overlap"] is None else f"{row['overlap']:.2f}"
    yield "hidden: rests on few records" if row["before"] is None else _changed(row)


def _changed(row: dict[str, Any]) -> str:
    """Describe whether the sign and the significance of a coefficient are kept."""
    if row["after"] is None:
        return ""
    gained = not row["significance"] and row["after"]["significant"]
    lost = [what for what in ("sign", "significance") if not row[what] and not (what == "significance" and gained)]
    said = [f"{' and '.join(lost)} lost"] if lost else []
    return ", ".join([*said, "now significant"] if gained else said)


def _summed(found: dict[str, Any]) -> Text:
    return Text(
        f"Overlap {found['overlap']:.2f} on average, {found['least']:.2f} at least; the sign of {found['signs']:.0f} % "
        f"and the significance of {found['significances']:.0f} % of the coefficients are kept."
    )


def _published(found: dict[str, Any]) -> RenderableType:
    """Count the published figures that still come out, and list those that do not."""
    figures, right = found["figures"], found["in_original"]
    parts: list[RenderableType] = [
        Text(f"Published figures that still come out of the masked file: {found['kept']:,} of {right:,}.", "bold")
    ]
    if wrong := len(figures) - right:
        why = "the original does not give them either, or only from a few records"
        text = f"Warning: {counted(wrong, 'figure')} not counted: {why}."
        parts.append(Text(text, "yellow"))
    lost = [each for each in figures if each["in_original"] and not each["kept"]]
    if lost:
        table = _table("no longer comes out", "published", "tolerance", "masked")
        for each in lost[:_SHOWN]:
            what = " ".join(filter(None, (each["statistic"], each["attribute"])))
            what += f" where {each['where']}" if each["where"] else ""
            after = "-" if each["after"] is None else f"{each['after']:.6g}"
            table.add_row(Text(what), f"{each['value']:.6g}", f"{each['tolerance']:.3g}", after)
        if len(lost) > _SHOWN:
            table.caption = _caption(f"For {counted(len(lost) - _SHOWN, 'other')} see --json.")
        parts.append(table)
    return Group(*parts)


def _caption(text: str) -> Text:
    return Text(text, "dim", justify="left")

"""What `shoal assess` shows: a line for each measure, with what it means and which direction is good."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shoal.cli import display as screen


def assessment(result: dict[str, Any]) -> RenderableType:
    """Lay out everything that was measured: risk, loss, loss by attribute, score."""
    names = ", ".join(result["quasi"])
    head = Text.assemble((f"{result['records']:,} records compared", "bold"), f" on {names}.")
    left_out = [Text(f"Left out, being {why}: {', '.join(each)}.") for why, each in result["left_out"].items() if each]
    parts: list[RenderableType] = [head, *left_out, "", screen.risk(result["risk"])]
    if "DLD" in result["risk"]:
        parts += ["", _risk(result["risk"])]
    if result["risk"]["diversity"]:
        parts += ["", _diversity(result["risk"]["diversity"])]
    if "intruder" in result["risk"]:
        parts += ["", _scenario(result["risk"]["intruder"])]
    if "PIL" in result["loss"]:
        parts += ["", _loss(result["loss"])]
    parts += ["", screen.loss(result["loss"])]
    if result["score"] is not None:
        meaning = "half loss, half risk: 0.5 IL of variations + 0.25 (DLD average + ID by rank); lower is better"
        parts += ["", Text.assemble(("Score ", "bold"), (f"{result['score']:.2f}", "bold"), (f"   {meaning}", "dim"))]
    return Group(*parts)


def _risk(risk: dict[str, Any]) -> Table:
    subsets, linkage = risk["real_k_by_subset"], risk["DLD_average"]
    rows = [
        ("k' of subsets", f"{subsets['mean']:.2f}", "records that are alike, if only some attributes are known", True),
        ("DLD", _share(risk["DLD"]["linked"]), "records whose nearest masked record is their own", False),
        ("DLD average", _share(linkage["linked"]), "the same, averaged over what an intruder may know", False),
        ("PLD", _share(risk["PLD"]["linked"]), "records linked right by probabilistic linkage", False),
        ("ID by rank", _share(risk["ID_rank"]["percent"]), "true values within 1-10 % of the ranks around", False),
        ("ID by sd", _share(risk["ID_sd"]["percent"]), "true values within 1-10 % of a standard deviation", False),
    ]
    table = _table("What an intruder gains")
    for name, value, meaning, higher in rows:
        table.add_row(name, value, meaning, _direction("safer", higher))
    if subsets["sampled"] or linkage["sampled"] or risk["DLD"]["sampled"] or risk["PLD"]["sampled"]:
        table.caption = Text("Some of these come from a sample: --json says which.", "dim", justify="left")
    return table


def _diversity(diversity: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold cyan", padding=(0, 3, 0, 0))
    for header in ("Confidential, among records published alike", "l distinct", "l entropy", "t", "taken as"):
        table.add_column(header, justify="left" if header.startswith("C") else "right")
    for name, row in diversity.items():
        kind = "ordered" if row["ordered"] else "nominal"
        table.add_row(Text(name), f"{row['distinct']:.0f}", f"{row['entropy']:.2f}", f"{row['t']:.3f}", kind)
    text = "l: values that a group has at least (higher is safer). t: how far a group is from all (lower is safer)."
    table.caption = Text(text, "dim", justify="left")
    return table


def _scenario(scenario: dict[str, Any]) -> RenderableType:
    head = Text(f"An intruder who knows {', '.join(scenario['attributes'])}", "bold")
    if "DLD" not in scenario:
        return Group(head, screen.risk(scenario))
    link = f"{_share(scenario['DLD']['linked'])} of the records are nearest to their own masked record; lower is safer"
    return Group(head, screen.risk(scenario), Text(link))


def _loss(loss: dict[str, Any]) -> Table:
    variations, pil, pmse = loss["IL_variations"], loss["PIL"], loss["pMSE"]
    rows = [
        ("IL", loss["IL"], "%", "squared error, against that of publishing the mean"),
        ("IL of variations", variations["IL"], "%", "relative change of values, covariances, variances, correlations"),
        ("PIL", pil["PIL"], "%", "how far statistics moved, against their sampling error: 100 is beyond chance"),
        ("IL1s", loss["IL1s"], "", "mean absolute change, in standard deviations over the root of 2"),
        ("eigenvalues", loss["eigenvalue"], "", "relative change of the eigenvalues of the covariances"),
        ("pMSE ratio", pmse["ratio"], "", "how well original and masked are told apart: 1 to 2 is by chance"),
        (
            "GCP",
            None if loss["GCP"] is None else 100 * loss["GCP"],
            "%",
            "ranges of records published alike, against the file",
        ),
        ("own-range SSE", loss["own_range_SSE"], "", "squared error after scaling each file by its own ranges"),
    ]
    table = _table("What it costs users")
    for name, value, unit, meaning in rows:
        shown = "-" if value is None else f"{value:,.3f} {unit}".rstrip() if value < 1e9 else f"{value:.1e} {unit}"
        table.add_row(name, shown, meaning, _direction("better", False))
    return table


def _table(title: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold cyan", padding=(0, 3, 0, 0))
    table.add_column(title, no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("what it is")
    table.add_column("")
    return table


def _direction(good: str, higher: bool) -> Text:
    return Text(f"{'higher' if higher else 'lower'} is {good}", "dim")


def _share(percent: float) -> str:
    return f"{percent:.2f} %"

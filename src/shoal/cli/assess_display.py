"""What the command line shows of an assessment: risk, loss, loss by attribute, score."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shoal.cli.attack_display import attack_table
from shoal.cli.display import findings, loss, risk, unchanged
from shoal.cli.tables import number, table_of, without_lines
from shoal.text import counted


def assessment(result: dict[str, Any]) -> RenderableType:
    """Lay out everything that was measured: risk, loss, loss by attribute, score."""
    names = ", ".join(result["quasi"])
    head = Text.assemble((f"{result['records']:,} records compared", "bold"), f" on {names}.")
    if gone := result["suppressed"]:
        head.append(f" {counted(gone, 'record')} of the original left out: loss and risk are of those published.")
    left_out = [Text(f"Left out because {why}: {', '.join(each)}.") for why, each in result["left_out"].items() if each]
    parts: list[RenderableType] = [head, findings(result["risk"]["file"]), *left_out]
    parts += ["", risk(result["risk"])]
    if result["risk"]["file"]["unchanged"]:
        parts += ["", unchanged(result["risk"]["file"])]
    parts += ["", _risk(result["risk"], len(result["quasi"]))]
    if result["risk"]["diversity"]:
        parts += ["", _diversity(result["risk"]["diversity"])]
    if result["risk"].get("dominance"):
        parts += ["", _dominance(result["risk"]["dominance"])]
    if "intruder" in result["risk"]:
        parts += ["", _scenario(result["risk"]["intruder"])]
    if "scenarios" in result["risk"]:
        parts += ["", _scenarios(result["risk"]["scenarios"])]
    parts += ["", attack_table(result["risk"])]
    parts += ["", _loss(result["loss"])]
    numbers = result["loss"].get("of_numbers", result["loss"])
    if numbers.get("subdomains"):
        parts += ["", _subdomains(numbers["subdomains"], result["loss"].get("of_numbers", {}).get("attributes"))]
    parts += ["", loss(result["loss"], result["weights"])]
    if result["edits"]:
        parts += ["", _violations(result["edits"])]
    il = "IL of variations" if "IL_variations" in result["loss"] else "IL"
    meanings = {
        "score": f"half loss, half risk: 0.5 {il} + 0.25 (DLD average + ID by rank); lower is better",
        "score_PIL": "the same with PIL: (PIL + DR) / 2; an unchanged file has 50",
    }
    for key, meaning in meanings.items():
        if result[key] is not None:
            parts += ["", Text.assemble(("Score ", "bold"), (f"{result[key]:.2f}", "bold"), (f"   {meaning}", "dim"))]
    return Group(*parts)


def _violations(rules: list[dict[str, Any]]) -> Table:
    table = without_lines(3)
    table.add_column("Rule")
    for header in ("broken in the original", "in the masked file"):
        table.add_column(header, justify="right")
    for each in rules:
        table.add_row(Text(each["rule"]), f"{each['broken_before']:,}", f"{each['broken_after']:,}")
    return table


def _risk(risk: dict[str, Any], attributes: int) -> Table:
    subsets, linkage, pld = risk["real_k_by_subset"], risk["DLD_average"], risk["PLD"]
    probabilistic = "records linked correctly by probabilistic linkage"
    if len(pld["attributes"]) < attributes:
        probabilistic += f", on {len(pld['attributes'])} of the {attributes} attributes"
    rows = [
        ("k' of subsets", f"{subsets['mean']:.2f}", "records that are alike, if only some attributes are known", True),
        ("DLD", _share(risk["DLD"]["expected"]), "records linked correctly to the nearest masked record", False),
        ("DLD average", _share(linkage["linked"]), "the same, averaged over what an intruder may know", False),
        (
            "DLD, masking",
            _share(risk["DLD_masking"]["expected"]),
            "linked correctly by the distance used for masking",
            False,
        ),
        (
            "DLD, neutral",
            _share(risk["DLD_neutral"]["expected"]),
            "linked correctly by ranks and equal categories",
            False,
        ),
        ("assignment", _assigned(risk["assignment"]), _found_at_once(risk["assignment"]), False),
        ("PLD", _share(pld["linked"]), probabilistic, False),
        ("ID by rank", _share(risk["ID_rank"]["percent"]), "true values within 1-10 % of the ranks around", False),
        ("ID by sd", _share(risk["ID_sd"]["percent"]), "true values within 1-10 % of a standard deviation", False),
        ("DR", _share(risk["DR"]), "disclosure risk, the mean of DLD (first of equals) and ID by rank", False),
    ]
    table = _titled_table("What an intruder gains")
    for name, value, meaning, higher in rows:
        table.add_row(name, value, meaning, _direction("safer", higher))
    if sampled := _sampled(risk):
        table.caption = Text(sampled, "dim", justify="left")
    return table


def _assigned(found: dict[str, Any]) -> str:
    return "not measured" if found["hits"] is None else _share(found["hits"])


def _found_at_once(found: dict[str, Any]) -> str:
    return f"found if all are assigned at once at the least distance; by guessing: {found['blind']:.2g} %"


def _sampled(risk: dict[str, Any]) -> str:
    """Return what was measured on a sample, with its 95 % interval."""
    links = ("DLD", "DLD_masking", "DLD_neutral", "PLD")
    said = [
        f"{name.replace('_', ', ')} links {counted(risk[name]['records'], 'record')} drawn at random: "
        f"{risk[name]['interval'][0]:.2f} to {risk[name]['interval'][1]:.2f} %."
        for name in links
        if risk[name]["sampled"]
    ]
    if (found := risk["assignment"])["sampled"] and found["interval"] is not None:
        low, high = found["interval"]
        said.append(f"The assignment is solved around groups drawn at random: {low:.2f} to {high:.2f} %.")
    if risk["real_k_by_subset"]["sampled"] or risk["DLD_average"]["sampled"]:
        said.append("Averages over subsets come from a sample, listed by --json.")
    return " ".join(said)


def _diversity(diversity: dict[str, Any]) -> Table:
    table = without_lines(3)
    table.add_column("Confidential")
    for header in ("l distinct", "entropy", "recursive", "dominated", "t", "taken as"):
        table.add_column(header, justify="right")
    for name, row in diversity.items():
        forms = f"{row['distinct']:.0f}", f"{row['entropy']:.2f}", f"{row['recursive']:.0f}", f"{row['dominated']:,}"
        table.add_row(Text(name), *forms, f"{row['t']:.3f}", "ordered" if row["ordered"] else "nominal")
    text = (
        "Among records published alike. l: values that a group has at least, recursive with c = 2 (higher is safer). "
        "dominated: groups in which one value has more than 80 %. t: how far a group is from all (lower is safer)."
    )
    table.caption = Text(text, "dim", justify="left")
    return table


def _dominance(magnitudes: dict[str, Any]) -> Table:
    table = without_lines(3)
    table.add_column("Magnitude")
    for header in ("groups", "dominated", "share"):
        table.add_column(header, justify="right")
    for name, row in magnitudes.items():
        table.add_row(Text(name), f"{row['cells']:,}", f"{row['failing']:,}", f"{row['share']:.1f} %")
    text = "Groups of records published alike whose largest contributors break a rule of dominance (lower is safer)."
    table.caption = Text(text, "dim", justify="left")
    return table


def _scenario(scenario: dict[str, Any]) -> RenderableType:
    head = Text(f"An intruder who knows {', '.join(scenario['attributes'])}", "bold")
    link = f"{_share(scenario['DLD']['linked'])} of the records are nearest to their own masked record; lower is safer"
    return Group(head, risk(scenario), Text(link))


def _scenarios(scenarios: dict[str, dict[str, Any]]) -> Table:
    """Tabulate how well records hide from intruders who know some attributes."""
    table = table_of("Intruders who know", "sets", "k' mean", "k' least", "smallest group", "unique")
    for name, row in scenarios.items():
        cells = f"{row['real_k']:,.2f}", f"{row['least']:,.2f}", number(row["smallest"]), number(row["uniques"])
        table.add_row(Text(name), number(row["sets"]), *cells)
    table.caption = Text(
        "k': records published alike, on average, on a set of attributes; higher is safer. 1G: sets from one attribute "
        "block, 2G: from two. Unique: the most records that one set singles out; lower is safer.",
        "dim",
        justify="left",
    )
    return table


def _subdomains(found: dict[str, Any], attributes: Sequence[str] | None) -> Table:
    """Tabulate how far statistics of the file and of random parts of it move; of all attributes, or of some."""
    table = table_of("What analyses of parts lose", "in the file", "in a part", "at most")
    covered = f" Of {', '.join(attributes)} alone." if attributes else ""
    for name, row in found["statistics"].items():
        table.add_row(name, *(f"{row[where]:,.4f}" if row[where] < 1e9 else f"{row[where]:.1e}" for where in row))
    table.caption = Text(
        f"How far each moved, in (powers of) standard deviations: in the file, and in {found['subdomains']} random "
        f"parts of {number(found['records'])} records on average and at most. Third and fourth moment: skewness and "
        f"kurtosis. Lower is better.{covered}",
        "dim",
        justify="left",
    )
    return table


def _loss(loss: dict[str, Any]) -> Table:
    numbers = loss.get("of_numbers", loss)
    rows = [
        ("IL", loss["IL"], "%", "squared error, against that of publishing the mean"),
        (
            "PIL",
            loss["PIL"]["PIL"],
            "%",
            "how far statistics moved, against their sampling error: 100 is beyond chance",
        ),
        *(_loss_by_numbers(numbers) if "IL1s" in numbers else []),
    ]
    table = _titled_table("What it costs users")
    for name, value, unit, meaning in rows:
        shown = "-" if value is None else f"{value:,.3f} {unit}".rstrip() if value < 1e9 else f"{value:.1e} {unit}"
        table.add_row(name, shown, meaning, _direction("better", False))
    if "of_numbers" in loss:
        covered = ", ".join(numbers["attributes"])
        table.caption = Text(f"IL and PIL are of all attributes, the others of {covered} alone.", "dim", justify="left")
    return table


def _loss_by_numbers(loss: dict[str, Any]) -> list[tuple[str, float | None, str, str]]:
    """List the measures of loss that are about numbers alone."""
    variations, gcp = loss["IL_variations"]["IL"], loss["GCP"]
    return [
        ("IL of variations", variations, "%", "relative change of values, covariances, variances, correlations"),
        ("IL1s", loss["IL1s"], "", "mean absolute change, in standard deviations over the root of 2"),
        ("eigenvalues", loss["eigenvalue"], "", "relative change of the eigenvalues of the covariances"),
        ("pMSE ratio", loss["pMSE"]["ratio"], "", "how well original and masked are told apart: 1 to 2 is by chance"),
        ("GCP", None if gcp is None else 100 * gcp, "%", "ranges of records published alike, against the file"),
        ("own-range SSE", loss["own_range_SSE"], "", "squared error after scaling each file by its own ranges"),
    ]


def _titled_table(title: str) -> Table:
    table = without_lines(3)
    table.add_column(title, no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("what it is")
    table.add_column("")
    return table


def _direction(good: str, higher: bool) -> Text:
    return Text(f"{'higher' if higher else 'lower'} is {good}", "dim")


def _share(percent: float) -> str:
    return f"{percent:.2f} %"

"""What the command line shows: tables, notes and progress, all through rich."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.bar import Bar as LossBar
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from shoal.cli.attack_display import attack_table
from shoal.parallel import STEPS
from shoal.text import RISKS, UNIT_RISKS, counted

_LOSS_BAR = 12  # characters, of which each shows eighths; fewer on a narrow screen
_SHOWN = 6  # columns that are released unchanged
SAFER = {
    "uniques": "lower is safer",
    "smallest": "higher is safer",
    "real_k": "higher is safer",
    "reidentification": "lower is safer",
}


class Bar:
    """A progress bar with an estimate for each step that takes longer than a second; on a terminal only."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[share]}"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._console = console
        self._step = ""
        self._began = 0.0
        self._task: TaskID | None = None

    def __call__(self, step: str, done: int, total: int) -> None:
        """Show how far a step is; a step of one piece just pulses."""
        if step == "loss so far":
            if self._task is not None:
                self._progress.update(self._task, description=f"{STEPS[self._step]}, IL {100 * done / total:.3f} %")
            return
        if step != self._step:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._step, self._began, self._task = step, time.monotonic(), None
        if self._task is None and (total == 1 or time.monotonic() - self._began > 1):
            self._task = self._progress.add_task(STEPS[step], total=None if total == 1 else total, share="")
        if self._task is not None and total > 1:
            self._progress.update(self._task, completed=done, share=f"{100 * done / total:3.0f} %")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._progress.disable:  # rich before 14.3 prints an empty line even so
            self._progress.stop()


def release(summary: dict[str, Any]) -> RenderableType:
    """Describe a release: what was done, what an intruder could do before and after, what it cost."""
    said = [_message(note) for note in summary["notes"]]
    warnings = sum(note["severity"] != "note" for note in summary["notes"])
    parts: list[RenderableType] = [_head(summary), headline(summary["risk"]["file"]), *said[:warnings], ""]
    if "after" in summary["risk"]:
        parts += [risk(summary["risk"]), ""]
    if summary["risk"]["file"]["unchanged"]:
        parts += [_unchanged(summary["risk"]["file"]), ""]
    if "loss" in summary:
        parts += [loss(summary["loss"], summary["plan"].get("weights")), ""]
    if "certificate" in summary:
        parts.append(Text(certified(summary["certificate"], summary["plan"]["k"])))
    if "preserved" in summary.get("hybrid", {}):
        parts += [hybrid(summary["hybrid"]), ""]
    for block in summary["risk"].get("blocks", []):
        names = ", ".join(block["attributes"])
        parts.append(Text(f"Block {names}: {_number(block['groups'])} groups, the smallest of {block['smallest']}."))
    if "blocks" in summary["risk"]:
        after = summary["risk"]["after"]
        parts.append(
            f"[bold]k holds within each attribute block only.[/] Over all blocks the smallest group has "
            f"{after['smallest']}, and k' is {after['real_k']:.2f}."
        )
    if "households" in summary["risk"]:
        shared, homes = ", ".join(summary["households"]["attributes"]), summary["risk"]["households"]
        parts.append(
            Text(f"Households by {shared}: {_number(homes['groups'])} groups, the smallest of {homes['smallest']}.")
        )
    if "strata" in summary["risk"]:
        parts.append(f"With the strata known too, the smallest group has {summary['risk']['strata']['smallest']}.")
    if "blocking" in summary:
        parts.append(Text(_blocking(summary["blocking"])))
    if "edits" in summary:
        parts.append(Text(_obeyed(len(summary["edits"]), summary["plan"])))
    return Group(*parts, *said[warnings:])


def certified(certificate: dict[str, Any], k: int) -> str:
    """Say how far above the lowest possible loss a release is at most."""
    error, bound, gap = (certificate[each] for each in ("SSE", "lower_bound", "at_most_above_optimum"))
    if bound is None:
        return f"SSE {error:.6g}. Lower bound: {certificate['how']}."
    said = f"SSE {error:.6g}. Any groups of at least {_number(k)} lose {bound:.6g} or more ({certificate['how']})"
    return f"{said}." if gap is None else f"{said}, so this is at most {gap:.3g} % above the lowest possible."


def headline(file: dict[str, Any]) -> Text:
    """Show the worst of the risk of the whole file: red where a stranger can use it, green where all is safe."""
    found = file["headline"]
    if found["severity"] == "warning":
        return Text(f"Warning: {found['text']}", "bold red" if file["findings"] else "yellow")
    return Text(found["text"], "bold green" if found["safe"] else "bold")


def findings(file: dict[str, Any]) -> RenderableType:
    """Show the worst of the risk of the whole file, and what else gives records away."""
    also = (_message({"severity": "warning", "text": each["text"]}) for each in file["findings"][1:])
    return Group(headline(file), *also)


def checked(result: dict[str, Any]) -> RenderableType:
    """Show what a check found: risks first, then what holds."""
    blocks = result.get("blocks", [{**result, "attributes": result["quasi"]}])
    held = "".join(
        f"; k = {result['k']} holds for {', '.join(each['attributes'])}, in {each['groups']:,} groups of "
        f"{each['smallest']} to {each['largest']}{' units' if 'counts' in result else ''}"
        for each in blocks
    )
    also = "so does" if result["edits"] == 1 else "so do"
    rules = f"; {also} {counted(result['edits'], 'rule')}" if result["edits"] else ""
    same = "this is the file that was published, of " if "unverified" in result else ""
    several = "warnings" if len(result["file"]["findings"]) > 1 else "warning"
    warned = f", except for the {several} above" if result["file"]["headline"]["severity"] == "warning" else ""
    lines = [f"Passed{warned}: {same}{counted(result['records'], 'record')}{held}{rules}."] + [
        f"Together with {' and '.join(each['against'])}: {each['groups']:,} intersections of groups by "
        f"{', '.join(each['attributes'])}, the smallest of {counted(each['smallest'], 'record')}."
        for each in result.get("against", [])
    ]
    return Group(findings(result["file"]), *map(Text, lines))


def _unchanged(file: dict[str, Any]) -> Table:
    """Tabulate the columns that are released unchanged, those that single out most records first."""
    table = _table("Released unchanged", "role", "distinct values", "unique", f"below {file['k']}")
    table.columns[1].justify = "left"
    rows = sorted(file["unchanged"].items(), key=lambda each: (-each[1]["uniques"], -each[1]["below_k"]))
    for name, row in rows[:_SHOWN]:
        style = "red" if row["below_k"] and row["role"] != "confidential" else ""
        counts = (_number(row[what]) for what in ("groups", "alone" if "alone" in row else "uniques", "below_k"))
        table.add_row(Text(name), row["role"], *counts, style=style)
    least = file["k"]
    who = "unit" if "counts" in file else "record"
    said = f"Unique: records whose value no other {who} has. Below {least}: fewer than {least} {who}s have it."
    if len(rows) > _SHOWN:
        said += f" For {counted(len(rows) - _SHOWN, 'other column')} see --json."
    table.caption = Text(said, "dim", justify="left")
    return table


def _message(note: Mapping[str, str]) -> Text:
    """Show a message by its severity."""
    style, word = {"error": ("bold red", "Error: "), "warning": ("yellow", "Warning: "), "note": ("", "- ")}[
        note["severity"]
    ]
    return Text(f"{word}{note['text']}", style)


def _obeyed(rules: int, plan: dict[str, Any]) -> str:
    hold = "The rule holds" if rules == 1 else f"All {_number(rules)} rules hold"
    kept = plan.get("edits_original") == "keep"
    return f"{hold} in what is published{', but for groups of records that broke them' if kept else ''}."


def _blocking(blocking: dict[str, Any]) -> str:
    said = f"{_number(blocking['blocks'])} record blocks of {_number(blocking['smallest'])} to "
    said += f"{_number(blocking['largest'])} records"
    if blocking.get("cost") is None:
        return said + "."
    cost, sampled = blocking["cost"], counted(blocking["sampled"], "record")
    return f"{said}; the loss is about {cost:.3f} times that without blocks, measured on {sampled}."


def _head(summary: dict[str, Any]) -> Text:
    """Summarize in a line what was done."""
    plan = summary["plan"]
    if "hybrid" in summary:
        return _hybrid_head(summary)
    after = summary["risk"]["after"]
    masked = f"{_number(len(plan['quasi']))} attribute{'s' if len(plan['quasi']) > 1 else ''} masked"
    unit = " values in a part, which promises no groups" if plan["method"] == "mic1d" else ""
    unit += " units" if "unit" in plan else ""
    unit += f", epsilon = {plan['epsilon']:g}" if "epsilon" in plan else ""
    return Text.assemble(
        (
            f"{_number(summary['records'])} records, {masked} by {plan['method']}, k = {_number(plan['k'])}{unit}",
            "bold",
        ),
        f": {counted(after['groups'], 'group')} of {after['smallest']} to {after['largest']}"
        f"{' units' if 'unit' in plan else ''}.",
    )


def _hybrid_head(summary: dict[str, Any]) -> Text:
    plan, groups = summary["plan"], summary["hybrid"]["groups"]
    made = counted(len(plan["confidential"]), "confidential attribute")
    what = f"{_number(summary['records'])} records, {made} made hybrid by {plan['method']}"
    what += f" in groups of {plan['partition']}" if "partition" in plan else ""
    if "k" not in plan:
        return Text(f"{what}, without groups.", "bold")
    return Text.assemble(
        (f"{what}, k = {_number(plan['k'])}", "bold"),
        f": {counted(groups['count'], 'group')} of {groups['smallest']} to {groups['largest']}.",
    )


def hybrid(measured: dict[str, Any]) -> Table:
    """Tabulate what hybrid data preserve: moments before and after, and Lemma 2 beside its bound."""
    found = measured["preserved"]
    table = _table("What it keeps", "third moment", "now", "fourth moment", "now", "cubes moved by", "at most", gap=2)
    for name, row in found["attributes"].items():
        moments, lemma = row["moments"], row["lemma_2"]
        cells = [*moments["third"], *moments["fourth"], lemma["measured"], lemma["bound"]]
        table.add_row(Text(name), *(f"{value:.3g}" for value in cells))
    several = measured["groups"]["count"] > 1
    means, covariances = (
        f"{found['file'][what]:.1g} in the file" + (f" and {found['groups'][what]:.1g} in a group" if several else "")
        for what in ("means", "covariances")
    )
    table.caption = Text(
        f"Means moved by at most {means}, covariances by {covariances}, relative. At most: the bound of Lemma 2 for "
        "the sum of cubed deviations; it comes from the value farthest from its group, so do not publish it. Whoever "
        f"knows the confidential numbers links {measured['linkage']['expected']:.1f} % of the records right.",
        "dim",
        justify="left",
    )
    return table


def risk(measured: dict[str, Any]) -> Table:
    """Tabulate the risk before and after."""
    whole = measured.get("file", {})
    seen = {name: figures for name, figures in measured.items() if name in ("before", "after")}
    more = "together" in whole or bool(whole.get("recovered") and "with_masked" in whole)
    seen |= {"whole file": whole["with_masked"]} if more else {}
    table = _table("What an intruder could do", *seen, "")
    by_units = "counts" in whole or "units" in measured
    for name, meaning in (UNIT_RISKS if by_units else RISKS).items():
        cells = [_value(name, each[name]) for each in seen.values()]
        table.add_row(meaning, *cells, Text(SAFER[name], "dim"))
    if more:
        known = " and original values that can be computed from the file" if whole["recovered"] else ""
        table.caption = Text(
            "Before and after: the quasi-identifiers alone. Whole file: with the columns released unchanged that a "
            f"stranger may know{known}.",
            "dim",
            justify="left",
        )
    return table


def loss(measured: dict[str, Any], weights: str | None = None) -> Table:
    """Tabulate the loss: the whole table first, then each attribute; records count by `weights`, if there are any."""
    table = _loss_by_type(measured) if "types" in measured else _loss_of_numbers(measured)
    if weights is not None:
        table.caption = Text(f"{table.caption} Records count by '{weights}'.", "dim", justify="left")
    return table


def _loss_of_numbers(measured: dict[str, Any]) -> Table:
    """Tabulate the loss where all attributes are numbers without gaps."""
    table = _table("What it costs", "IL", "mean moved by", "variance kept", "correlation moved by")
    table.add_row(
        "all attributes", _percent(measured["IL"]), "", "", _fixed(measured["correlation_change"]), style="bold"
    )
    for name, row in measured["attributes"].items():
        table.add_row(Text(name), *_numbers(row))
    table.caption = Text(
        f"IL = SSE / SST, here {measured['SSE']:.4f} / {measured['SST']:.4f} on z-scores: 0 % changes nothing, at "
        "100 % every record publishes the mean; lower is better. A correlation is moved at most by the figure shown.",
        "dim",
        justify="left",
    )
    return table


def _loss_by_type(measured: dict[str, Any]) -> Table:
    """Tabulate the loss where attributes are not all numbers, or values are missing."""
    table = _table("What it costs", "type", "IL", "mean moved", "variance kept", "changed", gap=2)
    table.columns[1].justify = "left"
    for column in table.columns:
        column.no_wrap = True
    table.add_row("all attributes", "", _percent(measured["IL"]), style="bold")
    if len(measured["types"]) > 1:
        for kind, il in measured["types"].items():
            table.add_row("", f"all {kind}", _percent(il), style="dim")
    for name, row in measured["attributes"].items():
        cells = [_percent(row["IL"]), "", ""] if "variance_ratio" not in row else _numbers(row)[:3]
        changed = f"{row['changed']:.1f} %" if "variance_ratio" not in row else ""
        table.add_row(Text(name), row["type"], *cells, changed)
    table.caption = Text(
        "IL = SSE / SST of each attribute, in squared distances; for all attributes their mean, so that they count "
        "alike: 0 % changes nothing, at 100 % every record publishes the average; lower is better. Changed: records "
        "that publish another level or category than theirs.",
        "dim",
        justify="left",
    )
    return table


def _numbers(row: dict[str, Any]) -> list[str]:
    ratio = None if row["variance_ratio"] is None else 100 * row["variance_ratio"]
    return [
        "changed" if row.get("changed") else _percent(row["IL"]),
        _fixed(row["mean_change"], " sd"),
        _percent(ratio),
        _fixed(row["correlation_change"]),
    ]


def files(paths: dict[str, str]) -> RenderableType:
    """List the files that were written."""
    table = Table.grid(padding=(0, 2))
    for what, path in paths.items():
        table.add_row(what, Text(path, "bold"))
    return Padding(table, (1, 0, 0, 0))


def _table(*headers: str, gap: int = 3) -> Table:
    table = _without_lines(gap)
    for at, header in enumerate(headers):
        table.add_column(header, justify="right" if at and header else "left")
    return table


def _without_lines(gap: int, below: int = 0) -> Table:
    return Table(box=None, pad_edge=False, header_style="bold cyan", padding=(0, gap, below, 0))


def _value(name: str, value: float) -> str:
    if name == "reidentification":
        return f"{value:.1f} %"
    return f"{value:,.2f}" if name == "real_k" else _number(int(value))


def _number(value: int) -> str:
    return f"{value:,}"


def _percent(value: float | None) -> str:
    return "constant" if value is None else f"{value:.3f} %"


def _fixed(value: float | None, unit: str = "") -> str:
    # Adding zero turns a rounded -0.0000 into 0.0000.
    return "" if value is None else f"{round(value, 4) + 0.0:.4f}{unit}"


def assessment(result: dict[str, Any]) -> RenderableType:
    """Lay out everything that was measured: risk, loss, loss by attribute, score."""
    names = ", ".join(result["quasi"])
    head = Text.assemble((f"{result['records']:,} records compared", "bold"), f" on {names}.")
    if gone := result["suppressed"]:
        head.append(f" {counted(gone, 'record')} of the original left out: loss and risk are of those published.")
    left_out = [Text(f"Left out, being {why}: {', '.join(each)}.") for why, each in result["left_out"].items() if each]
    parts: list[RenderableType] = [head, findings(result["risk"]["file"]), *left_out]
    parts += ["", risk(result["risk"])]
    if result["risk"]["file"]["unchanged"]:
        parts += ["", _unchanged(result["risk"]["file"])]
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
        "score_PIL": "the same with PIL: (PIL + DR) / 2; a file as it is has 50",
    }
    for key, meaning in meanings.items():
        if result[key] is not None:
            parts += ["", Text.assemble(("Score ", "bold"), (f"{result[key]:.2f}", "bold"), (f"   {meaning}", "dim"))]
    return Group(*parts)


def _violations(rules: list[dict[str, Any]]) -> Table:
    table = _without_lines(3)
    table.add_column("Rule")
    for header in ("broken in the original", "in the masked file"):
        table.add_column(header, justify="right")
    for each in rules:
        table.add_row(Text(each["rule"]), f"{each['broken_before']:,}", f"{each['broken_after']:,}")
    return table


def _risk(risk: dict[str, Any], attributes: int) -> Table:
    subsets, linkage, pld = risk["real_k_by_subset"], risk["DLD_average"], risk["PLD"]
    probabilistic = "records linked right by probabilistic linkage"
    if len(pld["attributes"]) < attributes:
        probabilistic += f", on {len(pld['attributes'])} of the {attributes} attributes"
    rows = [
        ("k' of subsets", f"{subsets['mean']:.2f}", "records that are alike, if only some attributes are known", True),
        ("DLD", _share(risk["DLD"]["linked"]), "records whose nearest masked record is their own", False),
        ("DLD average", _share(linkage["linked"]), "the same, averaged over what an intruder may know", False),
        ("DLD, masking", _share(risk["DLD_masking"]["expected"]), "linked right by the distance that masked", False),
        ("DLD, neutral", _share(risk["DLD_neutral"]["expected"]), "linked right by ranks and equal categories", False),
        ("assignment", _assigned(risk["assignment"]), _found_at_once(risk["assignment"]), False),
        ("PLD", _share(pld["linked"]), probabilistic, False),
        ("ID by rank", _share(risk["ID_rank"]["percent"]), "true values within 1-10 % of the ranks around", False),
        ("ID by sd", _share(risk["ID_sd"]["percent"]), "true values within 1-10 % of a standard deviation", False),
        ("DR", _share(risk["DR"]), "disclosure risk, the mean of DLD and ID by rank", False),
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
    return f"found if all are assigned at once at the least distance; blind: {found['blind']:.2g} %"


def _sampled(risk: dict[str, Any]) -> str:
    """Return what was measured on a sample, with its 95 % interval."""
    links = ("DLD", "DLD_masking", "DLD_neutral", "PLD")
    said = [
        f"{name.replace('_', ', ')} links {counted(risk[name]['records'], 'record')} drawn at random: "
        f"{risk[name]['interval'][0]:.2f} to {risk[name]['interval'][1]:.2f} %."
        for name in links
        if risk[name]["sampled"]
    ]
    if risk["real_k_by_subset"]["sampled"] or risk["DLD_average"]["sampled"]:
        said.append("Averages over subsets come from a sample: --json says which.")
    return " ".join(said)


def _diversity(diversity: dict[str, Any]) -> Table:
    table = _without_lines(3)
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
    table = _without_lines(3)
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
    table = _table("Intruders who know", "sets", "k' mean", "k' least", "smallest group", "unique")
    for name, row in scenarios.items():
        cells = f"{row['real_k']:,.2f}", f"{row['least']:,.2f}", _number(row["smallest"]), _number(row["uniques"])
        table.add_row(Text(name), _number(row["sets"]), *cells)
    table.caption = Text(
        "k': records published alike, on average, on a set of attributes; higher is safer. 1G: sets from one attribute "
        "block, 2G: from two. Unique: the most records that one set singles out; lower is safer.",
        "dim",
        justify="left",
    )
    return table


def _subdomains(found: dict[str, Any], attributes: Sequence[str] | None) -> Table:
    """Tabulate how far statistics of the file and of random parts of it move; of all attributes, or of some."""
    table = _table("What analyses of parts lose", "in the file", "in a part", "at most")
    covered = f" Of {', '.join(attributes)} alone." if attributes else ""
    for name, row in found["statistics"].items():
        table.add_row(name, *(f"{row[where]:,.4f}" if row[where] < 1e9 else f"{row[where]:.1e}" for where in row))
    table.caption = Text(
        f"How far each moved, in (powers of) standard deviations: in the file, and in {found['subdomains']} random "
        f"parts of {_number(found['records'])} records on average and at most. Third and fourth moment: skewness and "
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
    table = _without_lines(3)
    table.add_column(title, no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("what it is")
    table.add_column("")
    return table


def _direction(good: str, higher: bool) -> Text:
    return Text(f"{'higher' if higher else 'lower'} is {good}", "dim")


def _share(percent: float) -> str:
    return f"{percent:.2f} %"


def rules_table(rules: list[dict[str, Any]]) -> RenderableType:
    """Tabulate rules; those that records break stand out, and so do those that nothing keeps by construction."""
    table = _without_lines(2, below=1)
    for header in ("Rule", "class", "ties together", "broken now by", "kept by"):
        table.add_column(header, overflow="fold")
    for row in rules:
        said = Text(row["rule"], "bold")
        if row["text"] != row["rule"]:
            said.append(f"\n{row['text']}", "not bold dim")
        table.add_row(said, row["class"], Text(", ".join(row["attributes"])), _broken(row), _kept(row))
    wrong = sum(row["broken"] > row["rounding"] for row in rules)
    verdict = (
        f"{counted(wrong, 'rule')} broken by original records: correct them, or choose edits_original."
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
    table = _without_lines(2)
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
        "Linked: records that an intruder links rightly by distance who knows the quasi-identifiers as they were. "
        "Unique: records unlike any other in all released columns but the sensitive ones. Risk: the higher of the two."
        + (" Best: the method that loses least at this k." if best else "")
        + (" k = 1 changes nothing and protects nothing." if any(row["k"] == 1 for row in rows) else ""),
        "dim",
    )
    return Group(table, Text(verdict, "bold"), *map(_message, notes), said)


def _same_row(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return (row["method"], row["k"]) == (other["method"], other["k"])


def saved_files(files: Sequence[Mapping[str, Any]]) -> RenderableType:
    """List the files of a sweep with the worst of the risk of each, then what else to know, once for all of them."""
    table = _without_lines(2)
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
    ordered = sorted(said, key=lambda message: message[0] == "note")
    messages = [
        _message({"severity": severity, "text": _at(said[severity, text], sizes) + text}) for severity, text in ordered
    ]
    beside = Text("Beside each file are its plan (.plan.toml) and its manifest (.manifest.json).", "dim")
    return Padding(Group(table, *messages, beside), (1, 0, 0, 0))


def _at(sizes: Sequence[int], all_sizes: int) -> str:
    """Return the k of a message that is not for all of them."""
    some = dict.fromkeys(sizes)
    return "" if len(some) == all_sizes else f"k = {', '.join(f'{k:,}' for k in some)}: "

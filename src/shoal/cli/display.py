"""What the command line shows: tables, notes and progress, all through rich."""

import time
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from shoal.cli.output import record
from shoal.cli.tables import message, number, table_of, without_lines
from shoal.parallel import STEPS
from shoal.pipeline.certify import bounded_groups
from shoal.text import RISKS, UNIT_RISKS, counted

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
        if (kept := record()) is not None:
            kept.progress(step, done, total)
            return
        if step == "loss so far":
            if self._task is not None:
                self._progress.update(self._task, description=f"{STEPS[self._step]}, IL {100 * done / total:.3f} %")
            return
        if step == "bound so far":
            if self._task is not None and done > 0:
                above = f"at most {100 * (total / done - 1):.3g} % above the lowest possible"
                self._progress.update(self._task, description=f"{STEPS[self._step]}: {above}")
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
    said = [message(note) for note in summary["notes"]]
    warnings = sum(note["severity"] != "note" for note in summary["notes"])
    parts: list[RenderableType] = [_head(summary), headline(summary["risk"]["file"]), *said[:warnings], ""]
    if "after" in summary["risk"]:
        parts += [risk(summary["risk"]), ""]
    if summary["risk"]["file"]["unchanged"]:
        parts += [unchanged(summary["risk"]["file"]), ""]
    if "loss" in summary:
        parts += [loss(summary["loss"], summary["plan"].get("weights")), ""]
    if "certificate" in summary:
        parts.append(Text(certified(summary["certificate"], summary["plan"])))
    if "preserved" in summary.get("hybrid", {}):
        parts += [hybrid(summary["hybrid"]), ""]
    for block in summary["risk"].get("blocks", []):
        names = ", ".join(block["attributes"])
        parts.append(
            Text(f"Block {names}: {number(block['groups'])} groups, the smallest of {number(block['smallest'])}.")
        )
    if "blocks" in summary["risk"]:
        after = summary["risk"]["after"]
        parts.append(
            f"[bold]k holds within each attribute block only.[/] Over all blocks the smallest group has "
            f"{number(after['smallest'])}, and k' is {after['real_k']:,.2f}."
        )
    if "households" in summary["risk"]:
        shared, homes = ", ".join(summary["households"]["attributes"]), summary["risk"]["households"]
        parts.append(
            Text(f"Households by {shared}: {number(homes['groups'])} groups, the smallest of {homes['smallest']:,}.")
        )
    if "strata" in summary["risk"]:
        parts.append(
            f"With the strata known too, the smallest group has {number(summary['risk']['strata']['smallest'])}."
        )
    if "blocking" in summary:
        parts.append(Text(_blocking(summary["blocking"])))
    if "edits" in summary:
        parts.append(Text(_obeyed(len(summary["edits"]), summary["plan"])))
    return Group(*parts, *said[warnings:])


_LEAST_GAP = 0.005  # percent above the lowest possible, below which a release is said to have it


def certified(certificate: dict[str, Any], plan: dict[str, Any]) -> str:
    """Show how far above the lowest possible loss a release is at most."""
    error, bound, gap = (certificate[each] for each in ("SSE", "lower_bound", "at_most_above_optimum"))
    if bound is None:
        return f"SSE {error:.6g}. Lower bound: {certificate['how']}."
    groups = f"groups of at least {number(plan['k'])}{bounded_groups(plan)}"
    said = f"SSE {error:.6g}. Any {groups} lose {bound:.6g} or more ({certificate['how']})"
    if gap is None:
        return f"{said}."
    return f"{said}, so this is {'' if gap < _LEAST_GAP else f'at most {gap:.3g} % above '}the lowest possible."


def headline(file: dict[str, Any]) -> Text:
    """Show the worst of the risk of the whole file: red where a stranger can use it, green where all is safe."""
    found = file["headline"]
    if found["severity"] == "warning":
        return Text(f"Warning: {found['text']}", "bold red" if file["findings"] else "yellow")
    return Text(found["text"], "bold green" if found["safe"] else "bold")


def findings(file: dict[str, Any]) -> RenderableType:
    """Show the worst of the risk of the whole file, and what else gives records away."""
    also = (message({"severity": "warning", "text": each["text"]}) for each in file["findings"][1:])
    return Group(headline(file), *also)


def checked(result: dict[str, Any]) -> RenderableType:
    """Show what a check found: risks first, then what holds."""
    blocks = result.get("blocks", [{**result, "attributes": result["quasi"]}])
    held = "".join(
        f"; k = {result['k']} holds for {', '.join(each['attributes'])}, in {each['groups']:,} groups of "
        f"{each['smallest']:,} to {each['largest']:,}{' units' if 'counts' in result else ''}"
        for each in blocks
    )
    also = "so does" if result["edits"] == 1 else "so do"
    rules = f"; {also} {counted(result['edits'], 'rule')}" if result["edits"] else ""
    same = "this is the file that was published, of " if "unverified" in result else ""
    several = "warnings" if len(result["file"]["findings"]) > 1 else "warning"
    warned = f", except for the {several} above" if result["file"]["headline"]["severity"] == "warning" else ""
    lines = [f"Passed{warned}: {same}{counted(result['records'], 'record')}{held}{rules}."] + [
        f"Together with {' and '.join(each['against'])}: {each['groups']:,} intersections of groups by "
        f"{', '.join(each['attributes'])}, the smallest of "
        f"{counted(each['smallest'], 'unit' if 'counts' in each else 'record')}."
        for each in result.get("against", [])
    ]
    return Group(findings(result["file"]), *map(Text, lines))


def unchanged(file: dict[str, Any]) -> Table:
    """Tabulate the columns that are released unchanged, those that single out most records first."""
    table = table_of("Released unchanged", "role", "distinct values", "unique", f"below {file['k']}")
    table.columns[1].justify = "left"
    rows = sorted(file["unchanged"].items(), key=lambda each: (-each[1]["uniques"], -each[1]["below_k"]))
    for name, row in rows[:_SHOWN]:
        style = "red" if row["below_k"] and row["role"] != "confidential" else ""
        counts = (number(row[what]) for what in ("groups", "alone" if "alone" in row else "uniques", "below_k"))
        role = f"{row['role']}, changed" if "changed" in row else row["role"]
        table.add_row(Text(name), role, *counts, style=style)
    least = file["k"]
    who = "unit" if "counts" in file else "record"
    said = f"Unique: records whose value no other {who} has. Below {least}: fewer than {least} {who}s have it."
    if any("changed" in row for _, row in rows):
        said += " A sensitive column that changed counts as unchanged: an intruder may still recognise its values."
    if len(rows) > _SHOWN:
        said += f" For {counted(len(rows) - _SHOWN, 'other column')} see --json."
    table.caption = Text(said, "dim", justify="left")
    return table


def _obeyed(rules: int, plan: dict[str, Any]) -> str:
    hold = "The rule holds" if rules == 1 else f"All {number(rules)} rules hold"
    kept = plan.get("edits_original") == "keep"
    return f"{hold} in what is published{', but for groups of records that broke them' if kept else ''}."


def _blocking(blocking: dict[str, Any]) -> str:
    said = f"{number(blocking['blocks'])} record blocks of {number(blocking['smallest'])} to "
    said += f"{number(blocking['largest'])} records"
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
    masked = f"{number(len(plan['quasi']))} attribute{'s' if len(plan['quasi']) > 1 else ''} masked"
    unit = " values in a part, which promises no groups" if plan["method"] == "mic1d" else ""
    unit += " units" if "unit" in plan else ""
    unit += f", epsilon = {plan['epsilon']:g}" if "epsilon" in plan else ""
    groups = (
        f": {counted(after['groups'], 'group')} of {number(after['smallest'])} to {number(after['largest'])}"
        f"{' units' if 'unit' in plan else ''}."
    )
    comma = ","
    if "blocks" in summary["risk"]:  # groups over all attributes are promised nothing
        homes = "household attributes and for person attributes, each by itself"
        comma, groups = (
            ".",
            f" holds for {homes if 'households' in summary['risk'] else 'each attribute block by itself'}.",
        )
    return Text.assemble(
        (
            f"{number(summary['records'])} records, {masked} by {plan['method']}{comma} k = {number(plan['k'])}{unit}",
            "bold",
        ),
        groups,
    )


def _hybrid_head(summary: dict[str, Any]) -> Text:
    plan, groups = summary["plan"], summary["hybrid"]["groups"]
    made = counted(len(plan["confidential"]), "confidential attribute")
    what = f"{number(summary['records'])} records, {made} made hybrid by {plan['method']}"
    what += f" in groups of {plan['partition']}" if "partition" in plan else ""
    if "k" not in plan:
        return Text(f"{what}, without groups.", "bold")
    return Text.assemble(
        (f"{what}, k = {number(plan['k'])}", "bold"),
        f": {counted(groups['count'], 'group')} of {number(groups['smallest'])} to {number(groups['largest'])}.",
    )


def hybrid(measured: dict[str, Any]) -> Table:
    """Tabulate what hybrid data preserve: moments before and after, and Lemma 2 beside its bound."""
    found = measured["preserved"]
    table = table_of("What it keeps", "third moment", "now", "fourth moment", "now", "cubes moved by", "at most", gap=2)
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
        f"Means moved by at most {means}, covariances by {covariances}, relative. At most: the bound of Lemma 2 "
        "for the sum of cubed deviations; it depends on the value farthest from its group, so do not publish it. "
        f"Anyone who knows the sensitive numbers links {measured['linkage']['expected']:.1f} % of the records "
        "correctly.",
        "dim",
        justify="left",
    )
    return table


def risk(measured: dict[str, Any]) -> Table:
    """Tabulate the risk before and after."""
    whole = measured.get("file", {})
    seen = {name: figures for name, figures in measured.items() if name in ("before", "after")}
    more = "together" in whole or bool(whole.get("recovered") and "with_masked" in whole)
    more = more and any(whole["with_masked"][name] != measured.get("after", {}).get(name) for name in RISKS)
    seen |= {"whole file": whole["with_masked"]} if more else {}
    table = table_of("What an intruder could do", *seen, "")
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
    table = table_of("What it costs", "IL", "mean moved by", "variance kept", "correlation moved by")
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
    table = table_of("What it costs", "type", "IL", "mean moved", "variance kept", "changed", gap=2)
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


def _value(name: str, value: float) -> str:
    if name == "reidentification":
        return f"{value:.1f} %"
    return f"{value:,.2f}" if name == "real_k" else number(int(value))


def _percent(value: float | None) -> str:
    return "constant" if value is None else f"{value:.3f} %"


def _fixed(value: float | None, unit: str = "") -> str:
    # Adding zero turns a rounded -0.0000 into 0.0000.
    return "" if value is None else f"{round(value, 4) + 0.0:.4f}{unit}"


def rules_table(rules: list[dict[str, Any]]) -> RenderableType:
    """Tabulate rules; those that records break stand out, and so do those that nothing keeps by construction."""
    table = without_lines(2, below=1)
    for header in ("Rule", "class", "ties together", "broken now by", "kept by"):
        table.add_column(header, overflow="fold")
    for row in rules:
        said = Text(row["rule"], "bold")
        if row["text"] != row["rule"]:
            said.append(f"\n{row['text']}", "not bold dim")
        table.add_row(said, row["class"], Text(", ".join(row["attributes"])), _broken(row), _kept(row))
    wrong = sum(row["broken"] > row["rounding"] for row in rules)
    verdict = (
        f"{counted(wrong, 'rule')} broken by original records. Correct the records, or use --edits-original."
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

"""The command that measures risk in the population, before anything is masked."""

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from shoal.cli.options import Json, own, takes_plan
from shoal.cli.output import on_screen, show, stderr
from shoal.cli.process import leave_pandas_out
from shoal.cli.tables import message
from shoal.plan.fields import FILES
from shoal.plan.options import names
from shoal.text import counted


@takes_plan(
    *("weights", "recode", "sheet", "csv"),
    weights="The attribute with the sampling weights. Without it, the file counts as the population.",
)
def risk_command(
    options: dict[str, Any],
    data: Annotated[str, typer.Argument(help=f"The original file, not masked yet ({FILES}).")],
    keys: Annotated[
        list[str],
        own(
            "roles",
            "The key variables (quasi-identifiers) that an intruder may know.",
            "--keys",
            "--quasi",
            metavar="A,B,...",
        ),
    ],
    household: Annotated[
        str | None, own("roles", "The attribute with the household of each record.", metavar="A")
    ] = None,
    population: Annotated[
        str | None, own("files", "A file of the whole population with the same keys, for k-map.", metavar="FILE")
    ] = None,
    fraction: Annotated[
        float | None,
        own("method", "The sampling fraction for DIS; from the weights, or 0.01, if left out.", metavar="N"),
    ] = None,
    no_suda: Annotated[bool, own("method", "Leave out SUDA2 and DIS.", "--no-suda")] = False,
    records: Annotated[
        bool, own("other", "List the riskiest records by position, one line each.", "--records")
    ] = False,
    by_level: Annotated[
        bool,
        own("other", "Show the contribution of each level; levels of fewer than 10 records are pooled.", "--by-level"),
    ] = False,
    as_json: Json = False,
) -> None:
    """Run `shoal risk`."""
    leave_pandas_out()
    from shoal.cli.display import Bar
    from shoal.errors import PlanError
    from shoal.evidence.risk import risk
    from shoal.parallel import interruptible

    if no_suda and by_level:
        raise PlanError("does-not-apply-with", field="by_level", other="--no-suda")
    asked: dict[str, Any] = {
        "household": household,
        "population": population,
        "fraction": fraction,
        "suda": not no_suda,
    }
    with Bar(stderr()) as bar:
        found = interruptible(lambda shown: risk(data, names(keys), **asked, **options, progress=shown), bar)
    result = found.as_json(records=records, levels=by_level)
    if on_screen(result, as_json):
        show(summary, result)


def summary(found: dict[str, Any]) -> RenderableType:
    """Show the figures of a file: warnings first, then risk, special uniques and k-map, and what else to know."""
    notes = [message(each) for each in found["notes"]]
    warnings = sum(each["severity"] != "note" for each in found["notes"])
    parts: list[RenderableType] = [_head(found), *notes[:warnings], "", _risks(found), ""]
    if "suda" in found:
        parts += [_suda(found), ""]
    if "level_contributions" in found:
        parts += [_levels(found["level_contributions"]), ""]
    if "kmap" in found:
        parts += [_kmap(found["kmap"]), ""]
    if "riskiest" in found:
        parts += [_riskiest(found["riskiest"]), ""]
    return Group(*parts, *notes[warnings:])


def _head(found: dict[str, Any]) -> Text:
    text = (
        f"{counted(found['records'], 'record')}, {counted(len(found['keys']), 'key')} with "
        f"{counted(found['combinations'], 'combination')}: {counted(found['sample_uniques'], 'sample unique')}, "
        f"{found['expected']:,.2f} re-identifications expected."
    )
    return Text(text, "bold")


def _grid(*headings: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for at, heading in enumerate(headings):
        table.add_column(heading, justify="left" if at == 0 else "right", overflow="fold")
    return table


def _risks(found: dict[str, Any]) -> Table:
    """Show expected re-identifications and the spread of probabilities, of individuals, households and matches."""
    table = _grid("Risk", "expected", "of records", "highest", "records above 1 %", "5 %", "10 %", "50 %")
    all_of_it = "" if found["weighted"] else ", if the file is everyone"
    rows = [(f"individual{all_of_it}", found["individual"], found["expected"], found["global_risk"])]
    if "household" in found:
        households = found["expected_household"], found["global_risk_household"]
        rows.append((f"household{all_of_it}", found["household"], *households))
    for name, spread, expected, share in rows:
        table.add_row(name, f"{expected:,.2f}", f"{100 * share:.3f} %", *_spread(spread))
    if "dis" in found:
        sampled = "" if found["weighted"] else f", if the file is {100 * found['dis']['fraction']:g} % of everyone"
        table.add_row(f"DIS{sampled}", "", "", *_spread(found["dis"]))
    return table


def _spread(spread: dict[str, Any]) -> list[str]:
    return [f"{100 * spread['highest']:.2f} %", *(f"{count:,}" for count in spread["above"].values())]


def _suda(found: dict[str, Any]) -> RenderableType:
    suda = found["suda"]
    sizes = ", ".join(
        f"{count:,} of {counted(int(m), 'key')}" for m, count in suda["minimal_sample_uniques"].items() if count
    )
    head = f"SUDA2: {counted(suda['records'], 'record')} with minimal sample uniques{f': {sizes}' if sizes else ''}."
    table = _grid("Key", "contribution")
    for name, percent in sorted(found["contributions"].items(), key=lambda each: -each[1]):
        table.add_row(Text(name), f"{percent:.2f} %")
    return Group(Text(head), table)


def _levels(found: dict[str, list[dict[str, Any]]]) -> Table:
    table = _grid("Key", "level", "records", "contribution")
    table.columns[1].justify = "left"
    for key, levels in found.items():
        for each in levels:
            named = each["level"] if each["level"] is not None else f"({counted(each['levels'], 'rare level')})"
            table.add_row(Text(key), Text(named), f"{each['records']:,}", f"{each['percent']:.2f} %")
    return table


def _kmap(found: dict[str, Any]) -> Text:
    return Text(
        f"k-map: k = {found['k']:,} in a population of {found['records']:,}; "
        f"{counted(found['uniques'], 'record')} with a key that one person has; {found['expected']:,.2f} "
        "re-identifications expected."
    )


def _riskiest(found: list[dict[str, Any]]) -> Table:
    shown = {
        "record": "Record",
        "sample_frequency": "in sample",
        "population_frequency": "in population",
        "individual": "individual",
        "household": "household",
        "suda": "SUDA2",
        "dis": "DIS",
    }
    names_ = [name for name in shown if name in found[0]]
    table = _grid(*(shown[name] for name in names_))
    for each in found:
        table.add_row(*(_cell(name, each[name]) for name in names_))
    return table


def _cell(name: str, value: float) -> str:
    if name in ("individual", "household", "dis"):
        return f"{100 * value:.2f} %"
    return f"{value:,.6g}" if name in ("population_frequency", "suda") else f"{value:,}"

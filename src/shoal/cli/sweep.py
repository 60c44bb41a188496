"""The command that tries every k before one is chosen."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.options import Json, Overwrite, PlanFile, Report, own, takes_plan
from shoal.cli.output import print_json, show, stderr
from shoal.errors import PlanError
from shoal.plan.commands import SWEEP_FIELDS
from shoal.plan.fields import FILES
from shoal.plan.options import names


@takes_plan(*SWEEP_FIELDS)
def sweep_command(
    options: dict[str, Any],
    data: Annotated[str, typer.Argument(help=f"The file to look at ({FILES}).")],
    k: Annotated[
        str,
        own("protection", "The minimum group sizes to compare, such as 3-10 or 3,5,10.", "-k", metavar="N-M"),
    ] = "3-10",
    methods: Annotated[
        list[str] | None,
        own("method", "The methods to compare; auto if left out.", metavar="A,B,..."),
    ] = None,
    max_risk: Annotated[
        float | None,
        own(
            "protection", "The highest measured risk to accept, in percent; the k that meets it is named.", metavar="X"
        ),
    ] = None,
    max_loss: Annotated[
        float | None, own("protection", "The highest loss (IL) to accept, in percent.", metavar="X")
    ] = None,
    min_k: Annotated[int | None, own("protection", "The least k to accept.", metavar="N")] = None,
    plan: PlanFile = None,
    report: Report = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Show loss and measured risk for every k, and name the k that meets limits (exit 1 if none does)."""
    from shoal.cli.display import Bar, sweep_table
    from shoal.evidence.sweep import sweep
    from shoal.parallel import interruptible

    sizes = sizes_of(k)
    if report is not None:
        from shoal.report.pages import refuse_report

        refuse_report(Path(report), overwrite)
    compared = names(methods or []) or "auto"
    limits: dict[str, Any] = {"max_risk": max_risk, "max_loss": max_loss, "min_k": min_k}
    with Bar(stderr()) as bar:
        found = interruptible(
            lambda progress: sweep(data, sizes, compared, plan, **limits, progress=progress, **options), bar
        )
    if report is not None:
        found.report(report, overwrite)
    if as_json:
        print_json(found.to_dict())
    else:
        show(sweep_table, found.rows, found.chosen or found.nearest, found.verdict)
    if found.nearest is not None:  # so that a script does not go on
        raise typer.Exit(1)


def sizes_of(text: str) -> list[int]:
    """Group sizes from 3-10, or 3,5,10, or both."""
    sizes: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", part)
        if found is None:
            raise PlanError([("k", "must be group sizes, for example -k 3-10 or -k 3,5,10.")])
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first or last - first > 10_000:
            raise PlanError([("k", "must go from a smaller to a larger size, over at most 10,000 sizes.")])
        sizes += range(first, last + 1)
    return sizes

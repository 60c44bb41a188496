"""The command that tries every k before one is chosen, and protects a file for each."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.options import External, Json, Overwrite, PlanFile, Report, own, takes_plan
from shoal.cli.output import print_json, show, show_lines, stderr
from shoal.errors import PlanError
from shoal.messages import Message
from shoal.plan.commands import SWEEP_FIELDS
from shoal.plan.fields import FILES
from shoal.plan.options import names

_MOST = 10_000  # group sizes of one sweep


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
    output: Annotated[
        str | None,
        own(
            "files",
            "Also write a protected file for every k, such as 'masked-{k}.csv'; {method} stands for the method.",
            "-o",
            "--output",
            metavar="PATTERN",
        ),
    ] = None,
    report: Report = None,
    external: External = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Run `shoal sweep`."""
    from shoal.cli.display import Bar
    from shoal.cli.sweep_display import saved_files, sweep_table
    from shoal.evidence.outputs import output_paths, refuse_outputs
    from shoal.evidence.sweep import Sweep, sweep
    from shoal.parallel import Progress, interruptible

    sizes = sizes_of(k)
    compared = list(dict.fromkeys(names(methods or []))) or ["auto"]
    if output is not None:  # before any work
        refuse_outputs(data, list(output_paths(output, compared, sizes).values()), overwrite)
    if report is not None:
        from shoal.report.pages import refuse_report

        refuse_report(Path(report), overwrite)
    if overwrite and output is None and report is None:
        raise PlanError("applies-only-with", field="overwrite", needed="-o or --report")
    if external and report is None:
        raise PlanError("applies-only-with", field="external", needed="--report")
    limits: dict[str, Any] = {"max_risk": max_risk, "max_loss": max_loss, "min_k": min_k}
    done: list[Sweep] = []

    def run(progress: Progress) -> Sweep:
        done.append(sweep(data, sizes, compared, plan, **limits, progress=progress, **options))
        if output is not None:
            done[0].save(output, overwrite, progress=progress)
        return done[0]

    try:
        with Bar(stderr()) as bar:
            found = interruptible(run, bar)
        if report is not None:
            found.report(report, overwrite, external)
    except BaseException:
        if done and done[0].saved:
            show_lines(Message("files-complete", files=[str(each.path) for each in done[0].saved]), stderr())
        raise
    if as_json:
        print_json(found.to_dict())
    else:
        best = found.best if len(found.methods) > 1 else {}
        show(
            sweep_table,
            found.rows,
            found.chosen or found.nearest,
            found.verdict,
            best,
            [each.as_json() for each in found.notes],
        )
        if found.saved:
            show(saved_files, [each.as_json() for each in found.saved])
    if found.nearest is not None:  # so that a script does not go on
        raise typer.Exit(1)


def sizes_of(text: str) -> list[int]:
    """Group sizes from 3-10, or 3,5,10, or both."""
    sizes: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", part)
        if found is None:
            raise PlanError("group-sizes-unreadable", field="k")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first or last - first > _MOST:
            raise PlanError("group-sizes-order", field="k", most=_MOST)
        sizes += range(first, last + 1)
    return sizes

"""The demonstration: a real survey from raw answers to a file that may be published."""

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.display import Bar, files
from shoal.cli.display import release as shown
from shoal.cli.output import print_json, show, show_lines, stderr, stdout
from shoal.datasets import CONFIDENTIAL, QUASI, TYPES, survey
from shoal.errors import FileError, MissingExtra
from shoal.messages import Message
from shoal.parallel import Progress
from shoal.pipeline.manifest import manifest_beside
from shoal.pipeline.save import plan_beside
from shoal.plan import Plan
from shoal.release import protect
from shoal.tables import open_table, write_table
from shoal.tables.atomic import written_whole

INTRODUCTION = (
    "In 1974 the magazine Redbook asked its readers about their marriages and affairs; 6,366 women answered. Anyone "
    "who knows a woman's age, years of marriage, children, religiousness, schooling and the couple's occupations might "
    "find her answers. So these seven attributes are masked; how she rates her marriage, and her affairs, are released "
    "unchanged, for research."
)

_EXTRAS = "demo,report"


def demo_command(
    folder: Annotated[
        str,
        typer.Option(
            help="The folder to write to: new, empty, or of an earlier demo, whose files are replaced.",
            metavar="FOLDER",
        ),
    ] = "shoal-demo",
    k: Annotated[str, typer.Option("-k", help="The minimum group size.", metavar="N")] = "5",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON, for machines.", metavar="")
    ] = False,
) -> None:
    """Run `shoal demo`."""
    replaced = (Path(folder) / "masked.csv").exists()
    with Bar(stderr()) as bar:
        summary, paths = run(Path(folder), k, bar)
    notes = [Message("earlier-demo-replaced", folder=folder)] if replaced else []
    if as_json:
        print_json({**summary, "notes": [*summary["notes"], *(each.as_json() for each in notes)], "files": paths})
    else:
        stdout().print(f"{INTRODUCTION}\n")
        show(shown, summary)
        show(files, paths)
        for note in notes:
            show_lines(f"\nNote: {note}")


def run(folder: Path, k: int | str, progress: Progress) -> tuple[dict[str, Any], dict[str, str]]:
    """Write the survey to `folder`, protect it, report on it, and return the summary and the files."""
    answers = survey()
    _refuse_without_reports()
    original, masked, page = folder / "survey.csv", folder / "masked.csv", folder / "report.html"
    plan = Plan(k=k, input=original, quasi=QUASI, confidential=CONFIDENTIAL, types=TYPES)
    paths = {
        "original survey": original,
        "masked file": masked,
        "plan": plan_beside(masked),
        "manifest": manifest_beside(masked),
        "report": page,
    }
    _make(folder, {path.name for path in paths.values()})
    with written_whole(original, overwrite=True) as partial:
        write_table(open_table(answers), partial, "csv")
    release = protect(plan=plan, progress=progress)
    release.save(masked, overwrite=True)
    release.report(page, overwrite=True)
    return release.summary(), {what: str(path) for what, path in paths.items()}


def _refuse_without_reports() -> None:
    """Raise an error, before any work is done, if what reports need is not installed."""
    try:
        import shoal.report  # noqa: F401
    except ImportError:
        raise MissingExtra("shoal demo", _EXTRAS) from None


def _make(folder: Path, ours: set[str]) -> None:
    """Create the folder; one that is there must be empty, or hold an earlier demonstration and nothing else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise FileError("folder-unusable", folder=str(folder), reason=error.strerror) from None
    if found and found != ours:
        raise FileError("folder-not-empty", folder=str(folder))

"""The commands that look at a file that is already masked, by Shoal or by another program."""

from typing import Annotated, Any

import typer

from shoal.cli.options import Json, own, takes_plan
from shoal.cli.output import print_json, show, show_lines, stderr
from shoal.errors import CheckFailed
from shoal.plan.options import names
from shoal.text import listed, visible


@takes_plan(
    *("k", "quasi", "confidential", "edits", "csv"),
    k="The minimum group size that must hold.",
    quasi="Quasi-identifiers (key variables) of the file; every numeric attribute if left out.",
    confidential="Sensitive attributes, which strangers are presumed not to know.",
    edits="Rules that the file must obey, in a file (Schematron or plain text).",
)
def check_command(
    options: dict[str, Any],
    masked: Annotated[str, typer.Argument(help="The file to check, made by any program.")],
    original: Annotated[
        str | None,
        own("rules", "The original file, for rules about values that occur there.", metavar="FILE"),
    ] = None,
    manifest: Annotated[
        str | None,
        own("protection", "The manifest of the release, which says what to check instead of -k.", metavar="FILE"),
    ] = None,
    against: Annotated[
        list[str] | None,
        own(
            "protection",
            "An earlier release of the same data: do both together reveal more? Once for each release.",
            metavar="FILE",
        ),
    ] = None,
    key: Annotated[
        str | None,
        own(
            "protection",
            "With --against: a column that identifies records, if rows are not in the same order.",
            metavar="A",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check that every combination of quasi-identifiers occurs at least k times and that rules hold; otherwise exit 1.

    With a manifest, verify a release again; with earlier releases, check what all reveal together. Other columns that
    single out records are a warning: name sensitive ones with --confidential.
    """
    from shoal.cli.display import checked, findings
    from shoal.evidence.check import check

    try:
        result = check(masked, **options, original=original, manifest=manifest, against=against, key=key)
    except CheckFailed as failed:
        if as_json:
            print_json({"passed": False, "failures": failed.failures, **failed.found})
        else:
            if failed.found.get("file", {}).get("findings"):
                show(findings, failed.found["file"], console=stderr())
            _print_notes(failed.found)
        raise
    if as_json:
        print_json({"passed": True, **result})
        return
    show(checked, result)
    _print_notes(result)


def _print_notes(result: dict[str, Any]) -> None:
    """Print what could not be verified, and figures that need care."""
    for each in result.get("unverified", []):
        show_lines(visible(f"note: this check cannot verify {each}."), stderr())
    if differing := result.get("differing"):
        text = f"note: the releases differ in {listed(differing)}. If rows are not in the same order, add --key: "
        show_lines(visible(f"{text}otherwise records seem less protected than they are."), stderr())


@takes_plan(
    *("k", "quasi", "confidential", "weights", "types", "levels", "csv"),
    k="Count records whose value fewer than N records have, in columns released unchanged (2 if left out).",
    quasi="The masked attributes to compare; every numeric one that differs if left out.",
    confidential="Sensitive attributes: how diverse they are among records published alike.",
    weights="The attribute with the survey weights, by which records count in the loss.",
)
def assess_command(
    options: dict[str, Any],
    original: Annotated[str, typer.Argument(help="The original file.")],
    masked: Annotated[str, typer.Argument(help="The masked file, made by any program: the same records.")],
    intruder: Annotated[
        list[str] | None,
        own("roles", "One scenario: the attributes that an intruder knows.", metavar="A,B,..."),
    ] = None,
    key: Annotated[
        str | None,
        own("roles", "A column that identifies records, if rows are in another order or were left out.", metavar="A"),
    ] = None,
    seed: Annotated[
        str,
        own("method", "Seed of the samples that some measures take.", metavar="N"),
    ] = "0",
    as_json: Json = False,
) -> None:
    """Measure the information loss and the disclosure risk of a masked file."""
    from shoal.cli.display import Bar, assessment
    from shoal.evidence.assess import assess

    known = None if intruder is None else names(intruder)
    with Bar(stderr()) as bar:
        # The seed is a text until the plan has seen it.
        result = assess(original, masked, **options, intruder=known, key=key, seed=seed, progress=bar)  # type: ignore[arg-type]
    if as_json:
        print_json(result)
    else:
        show(assessment, result)

"""The commands that look at a file that is already masked, by Shoal or by another program."""

from typing import Annotated, Any

import typer

from shoal.cli.options import Json, own, takes_plan
from shoal.cli.output import print_json, stderr, stdout
from shoal.errors import CheckFailed
from shoal.plan.options import names
from shoal.text import counted, listed


@takes_plan("k", "quasi", "confidential", "edits", "csv")
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
    from shoal.cli.display import headline
    from shoal.evidence.check import check

    try:
        result = check(masked, **options, original=original, manifest=manifest, against=against, key=key)
    except CheckFailed as failed:
        if as_json:
            print_json({"passed": False, "failures": failed.failures, **failed.found})
        else:
            _print_warnings(failed.found)
        raise
    if as_json:
        print_json({"passed": True, **result})
        return
    stdout().print(_verdict(result), markup=False)
    stdout().print(headline(result["file"]))
    _print_warnings(result)


def _verdict(result: dict[str, Any]) -> str:
    """Return a sentence on what was found to hold."""
    blocks = result.get("blocks", [{**result, "attributes": result["quasi"]}])
    held = "".join(
        f"; k = {result['k']} holds for {', '.join(each['attributes'])}, in {each['groups']:,} groups of "
        f"{each['smallest']} to {each['largest']}"
        for each in blocks
    )
    also = "so does" if result["edits"] == 1 else "so do"
    rules = f"; {also} {counted(result['edits'], 'rule')}" if result["edits"] else ""
    same = "this is the file that was published, of " if "unverified" in result else ""
    return f"Passed: {same}{counted(result['records'], 'record')}{held}{rules}." + "".join(
        f"\nTogether with {' and '.join(each['against'])}: {each['groups']:,} intersections of groups by "
        f"{', '.join(each['attributes'])}, the smallest of {counted(each['smallest'], 'record')}."
        for each in result.get("against", [])
    )


def _print_warnings(result: dict[str, Any]) -> None:
    """Print what could not be verified, and figures that need care."""
    for each in result.get("unverified", []):
        stderr().print(f"not verified again: {each}", markup=False, soft_wrap=True)
    if differing := result.get("differing"):
        stderr().print(
            f"note: the releases differ in {listed(differing)}; if rows are not in the same order, name a key, or "
            "records seem to hide worse than they do",
            markup=False,
            soft_wrap=True,
        )


@takes_plan("quasi", "confidential", "types", "levels", "csv")
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
        stdout().print(assessment(result))

"""The commands that look at a file which is masked already, whoever did it."""

from typing import Annotated, Any

import typer

from shoal.cli.options import (
    Decimal,
    Delimiter,
    Edit,
    Edits,
    Encoding,
    Json,
    K,
    Levels,
    MissingWord,
    Quasi,
    Quote,
    Type,
    csv_of,
    edits_of,
    lists,
    names,
    pairs,
)
from shoal.cli.output import print_json, stderr, stdout
from shoal.errors import CheckFailed
from shoal.text import counted, listed


def check_command(
    masked: Annotated[str, typer.Argument(help="The file to check, whoever made it.")],
    k: K = None,
    quasi: Quasi = None,
    edits: Edits = None,
    edit: Edit = None,
    original: Annotated[
        str | None, typer.Option(help="The original file, for rules that ask what occurs there.", metavar="FILE")
    ] = None,
    manifest: Annotated[
        str | None,
        typer.Option(help="The manifest of the release, which says what to check instead of -k.", metavar="FILE"),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(help="An earlier release of the same data; once for each. Do they reveal more?", metavar="FILE"),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="With --against: a column that tells records, if rows are not in the same order.")
    ] = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing_word: MissingWord = None,
    as_json: Json = False,
) -> None:
    """Check that every combination of quasi-identifiers occurs at least k times, and that rules hold; else exit 1.

    With a manifest, verify a release once more; with earlier releases, what all reveal together.
    """
    from shoal.evidence.check import check

    try:
        result = check(
            masked,
            k,  # type: ignore[arg-type] # a number, as the plan will see
            names(quasi),
            edits=edits_of(edits, edit),
            csv=csv_of(delimiter, quote, decimal, encoding, missing_word),
            original=original,
            manifest=manifest,
            against=against,
            key=key,
        )
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
    _print_warnings(result)


def _verdict(result: dict[str, Any]) -> str:
    """Say what was found to hold."""
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
    """Say what could not be verified, and what figures to take with care."""
    for each in result.get("unverified", []):
        stderr().print(f"not verified again: {each}", markup=False, soft_wrap=True)
    if differing := result.get("differing"):
        stderr().print(
            f"note: the releases differ in {listed(differing)}; if rows are not in the same order, name a key, or "
            "records seem to hide worse than they do",
            markup=False,
            soft_wrap=True,
        )


def assess_command(
    original: Annotated[str, typer.Argument(help="The original file.")],
    masked: Annotated[str, typer.Argument(help="The masked file, whoever made it: the same records.")],
    quasi: Quasi = None,
    confidential: Annotated[
        list[str] | None, typer.Option(help="Attributes whose diversity within groups counts.", metavar="A,B,...")
    ] = None,
    intruder: Annotated[
        list[str] | None, typer.Option(help="One scenario: what an intruder knows.", metavar="A,B,...")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="A column that tells records, if the rows are not in the same order.")
    ] = None,
    type_: Type = None,
    levels: Levels = None,
    seed: Annotated[str, typer.Option(help="For what is measured on a sample.", metavar="N")] = "0",
    delimiter: Delimiter = None,
    quote: Quote = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing_word: MissingWord = None,
    as_json: Json = False,
) -> None:
    """Measure what a masked file costs its users and what it gives an intruder, by every measure there is."""
    from shoal.cli.display import Bar, assessment
    from shoal.evidence.assess import assess

    with Bar(stderr()) as bar:
        result = assess(
            original,
            masked,
            names(quasi),
            names(confidential) or [],
            names(intruder),
            key,
            seed,  # type: ignore[arg-type] # a number, as the plan will see
            csv_of(delimiter, quote, decimal, encoding, missing_word),
            bar,
            pairs("type", type_),  # type: ignore[arg-type] # words, as the plan will see
            lists("levels", levels),
        )
    if as_json:
        print_json(result)
    else:
        stdout().print(assessment(result))

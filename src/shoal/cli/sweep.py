"""The command that tries every k before one is chosen."""

import re
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.options import (
    FILES,
    Aggregate,
    Budget,
    Confidential,
    Decimal,
    Delimiter,
    Encoding,
    Identifiers,
    Json,
    Levels,
    Missing,
    MissingWord,
    Quasi,
    Quote,
    Report,
    Type,
    csv_of,
    given,
    lists,
    names,
    one_or_pairs,
    pairs,
)
from shoal.cli.output import print_json, stderr, stdout
from shoal.errors import PlanError


def sweep_command(
    data: Annotated[str, typer.Argument(help=f"The file to look at: {FILES}.")],
    k: Annotated[str, typer.Option("-k", help="The group sizes, such as 3-10 or 3,5,10.", metavar="N-M")] = "3-10",
    quasi: Quasi = None,
    methods: Annotated[
        list[str] | None, typer.Option(help="The methods to compare: tour if left out.", metavar="A,B,...")
    ] = None,
    confidential: Confidential = None,
    identifiers: Identifiers = None,
    budget: Budget = None,
    type_: Type = None,
    levels: Levels = None,
    missing: Missing = None,
    aggregate: Aggregate = None,
    plan: Annotated[str | None, typer.Option(help="A plan file; options given here take precedence.")] = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing_word: MissingWord = None,
    report: Report = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the report if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Show what every k would cost and risk, and where the knee is; nothing is written but a report, if asked for."""
    from shoal.cli.display import Bar, sweep_table
    from shoal.evidence.sweep import sweep
    from shoal.parallel import interruptible

    options = given(
        quasi=names(quasi),
        confidential=names(confidential),
        identifiers=names(identifiers),
        budget=budget,
        types=pairs("type", type_),
        levels=lists("levels", levels),
        missing=missing,
        aggregate=one_or_pairs("aggregate", aggregate),
        csv=csv_of(delimiter, quote, decimal, encoding, missing_word),
    )
    sizes = sizes_of(k)
    if report is not None:
        from shoal.report.pages import refuse_report

        refuse_report(Path(report), overwrite)
    with Bar(stderr()) as bar:
        found = interruptible(
            lambda progress: sweep(data, sizes, names(methods) or "tour", plan, progress=progress, **options), bar
        )
    if report is not None:
        found.report(report, overwrite)
    if as_json:
        print_json({"rows": found.rows, "knee": found.knee})
    else:
        stdout().print(sweep_table(found.rows, found.knee))


def sizes_of(text: str) -> list[int]:
    """Read group sizes: 3-10, or 3,5,10, or both."""
    sizes: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", part)
        if found is None:
            raise PlanError([("k", "must be group sizes such as 3-10 or 3,5,10")])
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first or last - first > 10_000:
            raise PlanError([("k", "must go from the smaller to the larger, over ten thousand sizes at most")])
        sizes += range(first, last + 1)
    return sizes

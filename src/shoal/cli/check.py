"""The commands that look at a file that is already masked, by Shoal or by another program."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from shoal.cli.options import Against, Json, Key, PolicyFile, own, takes_plan
from shoal.cli.output import complain, on_screen, show, show_lines, stderr
from shoal.cli.process import leave_pandas_out
from shoal.errors import CheckFailed, PlanError
from shoal.messages import Message
from shoal.plan.options import names


@takes_plan(
    *("k", "quasi", "confidential", "unit", "edits", "levels", "sheet", "csv"),
    k="The minimum group size that must hold.",
    quasi="Quasi-identifiers (key variables) of the file; every numeric attribute if left out.",
    confidential="Sensitive attributes, which intruders are assumed not to know.",
    unit="The column with the unit of each record (pseudonyms will do): every combination must have k units.",
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
        own("protection", "The manifest of the release, which lists what to check in place of -k.", metavar="FILE"),
    ] = None,
    against: Against = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Run `shoal check`."""
    leave_pandas_out()
    from shoal.cli.display import checked, findings
    from shoal.evidence.check import check

    try:
        result = check(masked, **options, original=original, manifest=manifest, against=against, key=key)
    except CheckFailed as failed:
        errors = [each.as_json() for each in failed.messages]
        notes = [*_notes(failed.found)]
        result = {"passed": False, "errors": errors, **failed.found, "notes": [each.as_json() for each in notes]}
        if on_screen(result, as_json):
            if failed.found.get("file", {}).get("findings"):
                show(findings, failed.found["file"], console=stderr())
            _print(notes)
        for each in failed.messages:
            complain("Failed", each)
        raise typer.Exit(1) from None
    notes = [*_notes(result)]
    if on_screen({"passed": True, **result, "notes": [each.as_json() for each in notes]}, as_json):
        show(checked, result)
        _print(notes)


def _notes(result: dict[str, Any]) -> Iterator[Message]:
    """Yield notes on what could not be verified, and on figures that need care."""
    for each in result.get("unverified", []):
        yield Message("not-verifiable", what=each)
    if differing := result.get("differing"):
        yield Message("releases-differ", columns=differing)


def _print(notes: Sequence[Message]) -> None:
    for each in notes:
        show_lines(f"Note: {each}", stderr())


@takes_plan(
    *("k", "quasi", "confidential", "weights", "unit", "types", "levels", "recode", "edits", "sheet", "csv"),
    *("p_percent", "dominance", "magnitudes"),
    k="Count records whose value fewer than N records have, in columns released unchanged (2 if left out).",
    quasi="The masked attributes to compare; every one that differs if left out.",
    confidential="Sensitive attributes: how diverse they are among records published alike.",
    weights="The attribute with the survey weights, by which records count in the loss.",
    unit="The column of the original with the unit of each record: groups are counted by units, which are the "
    "contributors.",
    edits="Rules whose violations are counted in both files, in a file (Schematron or plain text).",
    p_percent="p % rule: count the groups in which the largest contributor is known to within so many percent.",
    dominance="(n, k)-dominance: count the groups in which the n largest contributors hold more than k percent.",
    magnitudes="With --p-percent and --dominance: attributes with totals; every number from zero up if left out.",
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
    block: Annotated[
        list[str] | None,
        own(
            "roles",
            "An attribute block, once for each: intruders who know attributes of 1, 2, ... blocks.",
            metavar="A,B,...",
        ),
    ] = None,
    known: Annotated[
        int | None,
        own(
            "roles",
            "With --block: how many attributes an intruder knows (3 if left out, or all if fewer).",
            metavar="N",
        ),
    ] = None,
    scenario: Annotated[
        list[str] | None,
        own(
            "roles", "A named scenario and a set of attributes known in it; once for each set.", metavar="NAME=A,B,..."
        ),
    ] = None,
    analysis: Annotated[
        list[str] | None,
        own(
            "utility",
            "A regression that users run, such as 'income ~ age + C(educ)' (logistic for 0 and 1); once for each.",
            metavar="FORMULA",
        ),
    ] = None,
    published: Annotated[
        str | None,
        own("utility", "Figures published from the original, to be recomputed from the masked file.", metavar="FILE"),
    ] = None,
    policy: PolicyFile = None,
    control: Annotated[
        str | None,
        own(
            "roles", "People of the same population who are not in the file, as a baseline for attacks.", metavar="FILE"
        ),
    ] = None,
    tolerance: Annotated[
        float,
        own("roles", "Guessed sensitive numbers are right within this share of the true value.", metavar="X"),
    ] = 0.05,
    seed: Annotated[
        str,
        own("method", "Seed of the samples that some measures take.", metavar="N"),
    ] = "0",
    as_json: Json = False,
) -> None:
    """Run `shoal assess`."""
    leave_pandas_out()
    from shoal.cli.assess_display import assessment
    from shoal.cli.display import Bar
    from shoal.cli.utility import utility
    from shoal.cli.verdict import leave_unless_passed, not_passed, show_verdict, with_errors
    from shoal.evidence.assess import assess

    one = None if intruder is None else names(intruder)
    several = {
        "blocks": None if block is None else [names([each]) for each in block],
        "known": known,
        "scenarios": _scenarios_of(scenario or []),
        "analyses": analysis or [],
        "published": published,
        "policy": policy,
        "control": control,
        "tolerance": tolerance,
    }
    with Bar(stderr()) as bar:
        # The seed is a text until the plan has seen it.
        result = assess(original, masked, **options, **several, intruder=one, key=key, seed=seed, progress=bar)  # type: ignore[arg-type]
    failed = not_passed(result["verdict"])
    if on_screen(with_errors(result, failed), as_json):
        show(assessment, result)
        show(utility, result)
        show_verdict(result["verdict"])
    leave_unless_passed(failed)


def _scenarios_of(given: list[str]) -> dict[str, list[list[str]]]:
    """Read scenarios: sets of attributes, of which several may have the same name."""
    found: dict[str, list[list[str]]] = {}
    for text in given:
        name, equals, attributes = text.partition("=")
        if not (name and equals and attributes):
            raise PlanError("scenario-unreadable", field="scenario")
        found.setdefault(name, []).append(names([attributes]))
    return found

"""The command that protects a file."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.options import (
    FILES,
    Adjust,
    Aggregate,
    Alpha,
    AttributeWeight,
    Bound,
    Bounds,
    Budget,
    Confidential,
    Constraint,
    Decimal,
    Delimiter,
    Edit,
    Edits,
    EditsOriginal,
    Encoding,
    Epsilon,
    Identifiers,
    Json,
    K,
    Levels,
    MaskQuasi,
    Missing,
    MissingWord,
    OnInterrupt,
    Preserve,
    Quasi,
    Quote,
    Recompute,
    Refine,
    Report,
    RestoreVariance,
    Seed,
    Trim,
    Type,
    blocks_of,
    csv_of,
    edits_of,
    given,
    lists,
    names,
    one_or_pairs,
    pairs,
)
from shoal.cli.output import print_json, stderr, stdout

if TYPE_CHECKING:
    from shoal.plan import Plan


def protect_command(
    data: Annotated[
        str | None, typer.Argument(help=f"The file to protect: {FILES}; or a folder of Parquet files.")
    ] = None,
    k: K = None,
    quasi: Quasi = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="The file to write; its ending says of which kind.")
    ] = None,
    confidential: Confidential = None,
    identifiers: Identifiers = None,
    method: Annotated[
        str | None,
        typer.Option(help="auto, best, tour, mdav, vmdav, univariate, pca, zscores, mic1d, hybrid, ms or insensitive."),
    ] = None,
    mask_quasi: MaskQuasi = None,
    alpha: Alpha = None,
    constraint: Constraint = None,
    gain: Annotated[
        str | None, typer.Option(help="With vmdav: how readily groups grow, such as 0.2.", metavar="X")
    ] = None,
    budget: Budget = None,
    refine: Refine = None,
    bound: Bound = None,
    on_interrupt: OnInterrupt = "stop",
    type_: Type = None,
    levels: Levels = None,
    attribute_weight: AttributeWeight = None,
    missing: Missing = None,
    aggregate: Aggregate = None,
    trim: Trim = None,
    restore_variance: RestoreVariance = None,
    standardize: Annotated[
        str | None, typer.Option(help="How attributes are brought to one scale: zscore, minmax, none.")
    ] = None,
    round_: Annotated[
        bool | None, typer.Option("--round", help="Publish whole numbers in integer attributes.", show_default=False)
    ] = None,
    block: Annotated[
        list[str] | None,
        typer.Option(help="An attribute block, partitioned on its own; once for each block.", metavar="A,B,..."),
    ] = None,
    blocks: Annotated[
        str | None, typer.Option(help="Attribute blocks chosen for you: correlated or uncorrelated.")
    ] = None,
    block_size: Annotated[
        str | None, typer.Option(help="With --blocks: how many attributes a block has at least.", metavar="N")
    ] = None,
    strata: Annotated[
        list[str] | None, typer.Option(help="Attributes whose combinations are never mixed.", metavar="A,B,...")
    ] = None,
    small_strata: Annotated[
        str | None, typer.Option(help="What to do with strata below k: error, merge, suppress.")
    ] = None,
    weights: Annotated[str | None, typer.Option(help="The attribute that holds the survey weights.")] = None,
    preserve: Preserve = None,
    l: Annotated[  # noqa: E741 - the literature's own name
        str | None,
        typer.Option(
            "-l", help="l-diversity: at least so many different confidential values in every group.", metavar="N"
        ),
    ] = None,
    t: Annotated[
        str | None,
        typer.Option("-t", help="t-closeness: how far groups may be from the file in what is confidential."),
    ] = None,
    epsilon: Epsilon = None,
    bounds: Bounds = None,
    edits: Edits = None,
    edit: Edit = None,
    edits_original: EditsOriginal = None,
    recompute: Recompute = None,
    adjust: Adjust = None,
    seed: Seed = None,
    block_records: Annotated[
        str | None, typer.Option(help="Divide the table into blocks of at most so many records.", metavar="N")
    ] = None,
    blocking: Annotated[
        str | None, typer.Option(help="How: kd (blocks of equal size) or 2^d (cells of a 2^d-tree).")
    ] = None,
    seams: Annotated[
        bool | None, typer.Option("--seams", help="Let records cross the borders of blocks.", show_default=False)
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="How much memory may be used, such as 4GB.", metavar="SIZE")
    ] = None,
    engine: Annotated[str | None, typer.Option(help="local (this machine) or spark.")] = None,
    master: Annotated[str | None, typer.Option(help="With spark: the cluster, such as local[2].")] = None,
    report: Report = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run on a large file that was killed.")] = False,
    plan: Annotated[str | None, typer.Option(help="A plan file; options given here take precedence.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")] = False,
    delimiter: Delimiter = None,
    quote: Quote = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing_word: MissingWord = None,
    as_json: Json = False,
) -> None:
    """Protect a file: mask it, verify the result, write it, and show what it costs and risks."""
    from shoal.cli.display import Bar, files
    from shoal.cli.display import release as shown
    from shoal.parallel import interruptible
    from shoal.pipeline.manifest import manifest_beside
    from shoal.pipeline.save import plan_beside, refuse_output
    from shoal.plan import Plan
    from shoal.release import protect_to_file

    options = given(
        input=data,
        k=k,
        quasi=names(quasi),
        output=output,
        confidential=names(confidential),
        identifiers=names(identifiers),
        method=method,
        mask_quasi=mask_quasi,
        alpha=one_or_pairs("alpha", alpha),
        constraints=lists("constraint", constraint),
        gain=gain,
        budget=budget,
        refine=refine,
        bound=bound,
        types=pairs("type", type_),
        levels=lists("levels", levels),
        attribute_weights=pairs("attribute-weight", attribute_weight),
        missing=missing,
        aggregate=one_or_pairs("aggregate", aggregate),
        trim=trim,
        restore_variance=restore_variance,
        standardize=standardize,
        round=round_,
        blocks=blocks_of(block, blocks),
        block_size=block_size,
        strata=names(strata),
        small_strata=small_strata,
        weights=weights,
        preserve=preserve,
        l=l,
        t=t,
        epsilon=epsilon,
        bounds=lists("bounds", bounds),
        edits=edits_of(edits, edit),
        edits_original=edits_original,
        recompute=names(recompute),
        adjust=names(adjust),
        seed=seed,
        csv=csv_of(delimiter, quote, decimal, encoding, missing_word),
        scale=given(
            block_size=block_records, blocking=blocking, seams=seams, memory=memory, engine=engine, master=master
        )
        or None,
    )
    asked = _complete(None if plan is None else Plan.load(plan), options)
    target = Path(asked.output or "")
    refuse_output(asked.input, target, overwrite or resume)  # a run that resumes looks more closely
    page = None if report is None else Path(report)
    if page is not None:
        from shoal.report.pages import refuse_report

        refuse_report(page, overwrite)
    with Bar(stderr()) as bar:
        run = partial(protect_to_file, asked, target, overwrite, resume, on_interrupt, page)  # type: ignore[arg-type] # a word, as protect will see
        summary = interruptible(run, bar).summary()
    written = {"masked file": target, "plan": plan_beside(target), "manifest": manifest_beside(target), "report": page}
    paths = {what: str(path) for what, path in written.items() if path is not None}
    if as_json:
        print_json({**summary, "files": paths})
    else:
        stdout().print(shown(summary), files(paths))


def _complete(plan: "Plan | None", options: dict[str, Any]) -> "Plan":
    """Make one plan of a plan file and options, and report what is missing together with what is wrong."""
    from shoal.errors import PlanError
    from shoal.plan import Plan

    problems = []
    for field, how in {"input": "name the file to protect", "output": "name the file to write with -o"}.items():
        if not options.get(field) and (plan is None or getattr(plan, field) is None):
            problems.append((field, f"is missing; {how}"))
    try:
        complete = Plan(**options) if plan is None else plan.updated(**options)
    except PlanError as error:
        raise PlanError([*error.problems, *problems]) from None
    if problems:
        raise PlanError(problems)
    return complete

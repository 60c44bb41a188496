"""The command that protects a file."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from shoal.cli.options import Against, External, Json, Key, Overwrite, PlanFile, PolicyFile, Report, own, takes_plan
from shoal.cli.output import print_json, show, stderr
from shoal.cli.process import leave_pandas_out
from shoal.errors import PlanError
from shoal.messages import Message
from shoal.plan import Plan
from shoal.plan.policy import as_policy


@takes_plan()
def protect_command(
    options: dict[str, Any],
    plan: PlanFile = None,
    report: Report = None,
    external: External = False,
    against: Against = None,
    key: Key = None,
    policy: PolicyFile = None,
    overwrite: Overwrite = False,
    on_interrupt: Annotated[
        str,
        own("method", "On Ctrl-C: stop, or keep the best groups so far and go on. One of: stop, keep.", metavar="WORD"),
    ] = "stop",
    resume: Annotated[
        bool,
        own("scale", "Continue a run on a large file that was killed.", "--resume"),
    ] = False,
    as_json: Json = False,
) -> None:
    """Run `shoal protect`."""
    asked = _complete(None if plan is None else Plan.load(plan, **options), options)
    limits = as_policy(policy)
    of_report = {"external": external, "against": against or None, "key": key}
    if report is None and (unused := [name for name, given in of_report.items() if given]):
        raise PlanError(*(Message("applies-only-with", field=name, needed="--report") for name in unused))
    if asked.engine != "spark":  # whose functions are given records as pandas has them
        leave_pandas_out()
    from shoal.cli.display import Bar, files
    from shoal.cli.display import release as shown
    from shoal.cli.verdict import leave_unless_passed, not_passed, show_verdict, with_errors
    from shoal.parallel import interruptible
    from shoal.pipeline.manifest import manifest_beside
    from shoal.pipeline.save import plan_beside, refuse_output
    from shoal.release import protect_to_file

    target = Path(asked.output or "")
    if asked.engine != "spark":  # which may write to another disk, and looks there
        refuse_output(asked.input, target, overwrite or resume)  # a run that resumes looks more closely
    page = None if report is None else Path(report)
    if page is not None:
        from shoal.report.pages import refuse_report

        refuse_report(page, overwrite)
    with Bar(stderr()) as bar:
        # `on_interrupt` is a word, as protect will see.
        more: dict[str, Any] = {"on_interrupt": on_interrupt, "policy": limits, "page": page, **of_report}
        run = partial(protect_to_file, asked, target, overwrite, resume, **more)
        release = interruptible(lambda progress: run(progress=progress), bar)
        summary = release.summary()
    saved = {"masked file": target, "plan": plan_beside(target), "manifest": manifest_beside(target)}
    written = {**({} if release.refused else saved), "report": page}
    if external and release.refused:
        del written["report"]
    paths = {what: str(path) for what, path in written.items() if path is not None}
    failed = not_passed(summary.get("verdict"), target)
    if as_json:
        print_json(with_errors({**summary, "files": paths}, failed))
    else:
        show(shown, summary)
        show_verdict(summary.get("verdict"))
        if paths:
            show(files, paths)
    leave_unless_passed(failed)


def _complete(plan: Plan | None, options: dict[str, Any]) -> Plan:
    """One plan from a plan file and options; what is missing is reported together with what is wrong."""
    problems = [
        Message(code, field=field)
        for field, code in {"input": "no-input", "output": "no-output"}.items()
        if not options.get(field) and (plan is None or getattr(plan, field) is None)
    ]
    try:
        complete = Plan(**options) if plan is None else plan.updated(**options)
    except PlanError as error:
        raise PlanError(*error.messages, *problems) from None
    if problems:
        raise PlanError(*problems)
    return complete

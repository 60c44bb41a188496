"""Protecting a file from reading to writing, on the engine that suits it: what every front end runs."""

from pathlib import Path
from typing import Any, Literal

from shoal.engines.choice import engine_for
from shoal.engines.work_folder import forget
from shoal.errors import FileError, PlanError
from shoal.plan import Plan
from shoal.release import Release, protect
from shoal.work import Progress


def protect_to_file(
    plan: Plan,
    target: Path,
    overwrite: bool,
    resume: bool,
    on_interrupt: Literal["stop", "keep"],
    page: Path | None,
    progress: Progress,
) -> dict[str, Any]:
    """Protect the plan's input, write the release to `target` and its report to `page`, and return the summary."""
    engine = engine_for(plan)
    if resume and engine != "local":
        raise PlanError([("resume", "applies to files that are too large for memory; this one is not")])
    if on_interrupt != "stop" and engine in ("local", "spark"):
        raise PlanError([("on_interrupt", "does not apply to files that are too large for memory; --resume goes on")])
    if page is not None and engine in ("local", "spark"):
        raise PlanError([("report", "is made of files that fit into memory; this one does not")])
    if engine == "spark":
        from shoal.engines.spark_files import protect_files

        return protect_files(plan, overwrite=overwrite, progress=progress).summary()
    if engine == "local":
        from shoal.engines.local import protect_file

        return protect_file(plan, overwrite=overwrite, resume=resume, progress=progress).summary()
    return protect_in_memory(plan, target, overwrite, on_interrupt, page, progress).summary()


def protect_in_memory(
    plan: Plan,
    target: Path,
    overwrite: bool,
    on_interrupt: Literal["stop", "keep"],
    page: Path | None,
    progress: Progress,
) -> Release:
    """Protect a file that fits into memory: release, file, report."""
    forget(target)
    release = protect(plan=plan, progress=progress, on_interrupt=on_interrupt)
    progress("write", 0, 1)
    release.save(target, overwrite)
    if page is not None:
        try:
            release.report(page, overwrite)
        except FileError as error:
            raise FileError(f"{error}; the masked file is complete, '{target}'") from None
    return release

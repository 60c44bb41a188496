"""What works on a session's file, in a process of its own: `python -m shoal.app.worker`.

A task comes as one line of JSON; progress goes out as lines of JSON, and in the end what was found or messages
that explain why not. When the page goes away, so does the worker.
"""

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.app.fields import page_words, values_of
from shoal.app.form import refuse_spark
from shoal.app.security.limits import COLUMNS
from shoal.errors import FileError, MissingExtra, PlanError, ShoalError
from shoal.messages import Message
from shoal.parallel import Progress, interruptible
from shoal.plan import Plan
from shoal.plan.policy import as_policy
from shoal.tables import open_table
from shoal.tables.arrow import leave_pandas_out
from shoal.tables.files import kind_of
from shoal.text import quoted

if TYPE_CHECKING:
    from shoal.release import Release

SIZES = (3, 4, 5, 6, 8, 10, 12, 15, 20, 30)  # the k of the map
_FIRST_LINE = 1 << 24  # bytes of a CSV file in which its columns are counted
SAMPLED = 20_000  # records that the map is drawn from; of more, a sample

Found = dict[str, Any]


def inspect(path: str, progress: Progress, reading: dict[str, Any] | None = None) -> Found:
    """Look at a file: its attributes, and what they probably are."""
    from shoal.evidence.roles import roles

    _refuse_wide(_columns(Path(path)))
    found = roles(path, progress=progress, **(reading or {}))
    _refuse_wide(len(found))
    read = values_of(Plan(k=2, csv=found.csv, sheet=found.sheet))
    del read["k"]
    return {"records": found.records, "columns": [each._asdict() for each in found], "reading": read}


def _columns(path: Path) -> int:
    """Count the columns of a file where that takes no time; 0 where it does."""
    kind = kind_of(path)
    with contextlib.suppress(OSError, pa.ArrowException):  # what is wrong with the file is said by those who read it
        if kind == "csv":
            with path.open("rb") as file:
                first = file.readline(_FIRST_LINE)
            return 1 + max(first.count(separator) for separator in (b",", b";", b"\t", b"|"))
        if kind == "parquet":
            return len(pq.read_schema(path).names)
        if kind == "arrow":
            with pa.memory_map(str(path)) as file:
                return len(pa.ipc.open_file(file).schema.names)
    return 0


def _refuse_wide(columns: int) -> None:
    """Refuse a table whose form would take minutes to draw and to fill in."""
    if columns > COLUMNS:
        raise FileError("too-many-columns-for-page", columns=columns, most=COLUMNS)


def survey(path: str, progress: Progress, reading: dict[str, Any] | None = None) -> Found:
    """Write the demonstration's survey, and look at it; its roles are known."""
    from shoal import datasets
    from shoal.tables import write_table

    write_table(open_table(datasets.survey()), path, "csv")
    found = inspect(path, progress, reading)
    for each in found["columns"]:
        each["role"] = "confidential" if each["column"] in datasets.CONFIDENTIAL else "quasi"
        each["type"] = datasets.TYPES.get(each["column"], "continuous")
        each["reason"] = "known of this survey"
    return found


def risk_utility(path: str, options: dict[str, Any], progress: Progress) -> Found:
    """Measure what every k would cost and risk, on a sample of a large file."""
    from shoal.evidence.sweep import sweep

    plan = Plan(**options)
    refuse_spark(plan)
    table = open_table(path, plan.csv, plan.sheet).to_arrow()
    records = len(table)
    if records > SAMPLED:
        table = table.take(np.sort(np.random.default_rng(0).choice(records, SAMPLED, replace=False)))
    sizes = [size for size in SIZES if size <= len(table) // 2] or [plan.k]
    # mdav is quicker, and what the others release loses no more
    method = "mdav" if plan.method in ("auto", "best") else plan.method
    plan = plan.updated(method="auto", budget=None, csv=None, sheet=None)  # the file is read already
    found = sweep(table, sizes, method, plan, progress=progress)
    return {"rows": found.rows, "records": len(table), "sampled": records > SAMPLED}


def protect(options: dict[str, Any], progress: Progress, policy: str | None = None, shared: bool = False) -> Found:
    """Protect a session's file: everything to look at and to download.

    A release that fails the policy of the office is not written; the verdict and the report tell why.
    """
    from shoal.release import protect_to_file

    plan = Plan(**options)
    refuse_spark(plan)
    if shared:
        _refuse_shared_secret(plan)
    target = Path(plan.output or "")
    release = protect_to_file(plan, target, True, page=_report_of(target), progress=progress, policy=as_policy(policy))
    progress("look", 0, 1)
    if not release.refused:
        release.report(_report_of(target, "users"), overwrite=True, external=True)
    return {**_shown(release), **_again(target, plan, written=not release.refused)}


def _refuse_shared_secret(plan: Plan) -> None:
    """Refuse to draw from a secret that all users share: with it, one could test guesses at the records of another."""
    if plan.draws and plan.seed is None:
        raise PlanError("seed-of-your-own", field="seed")


def _shown(release: "Release") -> Found:
    """Draw what the page shows of a release."""
    from shoal.report.charts import correlations_chart, svg
    from shoal.report.figures import correlation_change, least
    from shoal.report.pages import before_and_after, release_html

    moved = correlation_change(release)
    return {
        "html": page_words(release_html(release)),
        "pictures": before_and_after(release),
        "least": least(release.plan),
        "correlations": None if moved is None else svg(correlations_chart(*moved)),
        "verdict": release.summary().get("verdict"),
    }


def _report_of(target: Path, kind: str = "report") -> Path:
    """Return the name of a report: it is read beside the masked file."""
    return target.with_name(f"{target.stem}-{kind}.html")


def look(
    path: str,
    column: str,
    progress: Progress,
    reading: dict[str, Any] | None = None,
    type_: str = "",
    codes: Sequence[str] = (),
    values: bool = False,
) -> Found:
    """Count the values of a column, rare ones together; `values` counts each."""
    from shoal.app.look import look_at

    progress("read", 0, 1)
    return look_at(Plan(k=2, input=path, **(reading or {})), column, type_, codes, values)


def _again(target: Path, asked: Plan, *, written: bool) -> Found:
    """Name the files and how to reproduce them, for a user who keeps the plan and all files in one folder."""
    from shoal.pipeline.manifest import manifest_beside
    from shoal.pipeline.save import plan_beside
    from shoal.plan.commands import file_name, protect_code, protect_command

    path = plan_beside(target)
    done = Plan.load(path) if written else asked
    names = {field: getattr(done, field) for field in ("input", "output", "edits")}
    plan = done.updated(**{field: file_name(each) for field, each in names.items() if isinstance(each, str)})
    if written:
        path.write_text(plan.to_toml(), encoding="utf-8")
    from_plan = quoted(["shoal", "protect", "--plan", path.name, "--output", f"again{target.suffix}"])
    files = {
        "masked": target,
        "report": _report_of(target),
        "users": _report_of(target, "users"),
        "plan": path,
        "manifest": manifest_beside(target),
    }
    return {
        "files": {what: each.name for what, each in files.items() if each.is_file()},
        "command": (protect_command(plan) if asked.seed is None else None) or from_plan,
        "code": protect_code(plan),
    }


TASKS: dict[str, Callable[..., Found]] = {
    "inspect": inspect,
    "survey": survey,
    "look": look,
    "map": risk_utility,
    "protect": protect,
}


def main() -> None:
    """Wait for a task, do it, and say what came of it."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints is not for the page
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _load()
    line = sys.stdin.readline()
    if not line:
        return
    task = json.loads(line)
    threading.Thread(target=_leave_with_page, daemon=True).start()
    _say(channel, _done(TASKS[task.pop("task")], task, channel))


def _load() -> None:
    """Load what most tasks need while nobody waits for it."""
    import shoal.evidence.sweep
    import shoal.release

    leave_pandas_out()
    with contextlib.suppress(MissingExtra):
        import shoal.report  # noqa: F401 - so that it is there


def _done(work: Callable[..., Found], task: dict[str, Any], channel: TextIO) -> Found:
    """Do a task: what was found, or the messages that say why not."""

    def progress(step: str, done: int, total: int) -> None:
        _say(channel, {"progress": [step, done, total]})

    try:
        return {"found": interruptible(lambda shown: work(**task, progress=shown), progress)}
    except ShoalError as error:
        return {"problems": [each.as_json() for each in error.messages]}
    except KeyboardInterrupt:
        return {"problems": []}
    except MemoryError:
        return {"problems": [Message("no-memory", page=True).as_json()]}
    except Exception as error:
        if os.environ.get("SHOAL_DEBUG"):
            raise
        # The error's own text may carry values from the data, so only its kind is shown.
        return {"problems": [Message("unexpected", what=type(error).__name__).as_json()]}


def _say(channel: TextIO, what: Found) -> None:
    channel.write(json.dumps(what) + "\n")
    channel.flush()


def _leave_with_page() -> None:
    """End at once when the page closes the pipe: it was stopped, or killed."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()

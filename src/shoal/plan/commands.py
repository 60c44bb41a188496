"""A plan as text, as Python, and as the command that carries it out, for readers of a report who want to repeat it."""

import json
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

import tomli_w

from shoal.errors import PlanError
from shoal.plan.model import PATHS, Plan
from shoal.plan.options import options_of, read, tables_of, write
from shoal.text import quoted

# The fields that `shoal sweep` has options for, beside its own for k and methods.
SWEEP_FIELDS = (
    *("quasi", "confidential", "identifiers", "publish", "weights", "strata", "small_strata", "attribute_weights"),
    *("unit", "unit_as", "household", "household_attributes", "household_as"),
    *("tour", "budget", "aggregate", "types", "levels", "recode", "missing", "missing_codes", "sheet", "csv"),
)


def protect_command(plan: Plan) -> str | None:
    """Return a plan as a command line; None where only a plan file can express it.

    Files go by their names, without their folders. Levels are left to the plan file, because they are values of the
    data, and so are those that are recoded.
    """
    words = None if _holds_levels(plan) else arguments(plan)
    return None if words is None else _joined("protect", plan, words)


def sweep_command(
    plan: Plan, sizes: list[int], methods: list[str], limits: Mapping[str, float | int | None] | None = None
) -> str | None:
    """Return a sweep as a command line; None where only a plan file can express it."""
    fields = {name: value for name, value in _given(plan).items() if name not in ("k", "method", "output")}
    if _holds_levels(plan) or not fields.keys() <= {"input", *SWEEP_FIELDS}:
        return None
    words = arguments(Plan(**fields, k=sizes[-1], method="tour" if "tour" in fields else "auto"), SWEEP_FIELDS)
    run = sizes == list(range(sizes[0], sizes[-1] + 1)) and len(sizes) > 1
    own = [["-k", f"{sizes[0]}-{sizes[-1]}" if run else ",".join(map(str, sizes))], ["--methods", ",".join(methods)]]
    given = {name: limit for name, limit in (limits or {}).items() if limit is not None}
    own += [[f"--{name.replace('_', '-')}", f"{limit:g}"] for name, limit in given.items()]
    return None if words is None else _joined("sweep", plan, [*own, *words])


def arguments(plan: Plan, only: Iterable[str] | None = None) -> list[list[str]] | None:
    """Return the options of a command line for the fields of a plan, or for some; None if a plan file is needed.

    Names with commas, matrices and the like can be expressed by a plan file alone: so what was written is read again,
    and must give the same plan.
    """
    fields = {"output": "masked.csv", **_given(plan)}
    fields |= {name: file_name(fields[name]) for name in PATHS if isinstance(fields.get(name), str)}
    order = list(type(plan).model_fields)
    written = write(sorted(options_of(type(plan)), key=lambda option: order.index(option.path[0])), fields)
    texts = {option.name: texts if option.repeated else texts[0] for option, texts in written.items()}
    try:
        again = type(plan)(**read(written, texts))
    except PlanError:
        return None
    if plan.input is None or again != type(plan)(**fields):
        return None
    chosen = {*(order if only is None else only)} - {"input"}  # which is an argument
    return [
        [option.spelling, *([] if option.alone else [text])]
        for option, texts in written.items()
        if option.path[0] in chosen
        for text in texts
    ]


def protect_code(plan: Plan) -> str:
    """Return a plan as Python; files go by their names, without their folders."""
    options = {name: value for name, value in _given(plan).items() if name not in ("input", "output")}
    options |= {"edits": file_name(options["edits"])} if isinstance(options.get("edits"), str) else {}
    table = repr(None if plan.input is None else file_name(plan.input))
    target = "masked.csv" if plan.output is None else file_name(plan.output)
    lines = [f"    {table},", *(f"    {name}={value!r}," for name, value in options.items())]
    return "\n".join(["import shoal", "", "release = shoal.protect(", *lines, ")", f"release.save({target!r})", ""])


def plan_text(plan: Plan) -> str:
    """Return a plan as TOML, without defaults, and without what a report must not hold: folders, levels, seeds.

    Levels are values of the data, and rare ones might be among them.
    """
    options = _given(plan)
    options |= {field: file_name(options[field]) for field in PATHS if isinstance(options.get(field), str)}
    levels = options.pop("levels", {})
    left_out = [f"# levels of {json.dumps(name)}: {len(each)}, left out here\n" for name, each in levels.items()]
    for name in _with_old_levels(plan):
        new = len(options["recode"].pop(name))
        left_out.append(f"# recode of {json.dumps(name)}: {new} new levels, left out here\n")
    return "".join(left_out) + tomli_w.dumps({name: value for name, value in options.items() if value != {}})


def _holds_levels(plan: Plan) -> bool:
    """Whether a plan has values of the data in it."""
    return bool(plan.given_levels or _with_old_levels(plan))


def _with_old_levels(plan: Plan) -> list[str]:
    """List the attributes whose recoding names old levels, which are values of the data."""
    return [name for name, each in plan.recode.items() if isinstance(each, dict)]


def file_name(path: str) -> str:
    """Return the name of a file without its folder, which is private."""
    return PurePath(path.replace("\\", "/").rstrip("/")).name


def _given(plan: Plan) -> dict[str, Any]:
    """Return the fields that differ from their defaults, but for the seed, which is drawn again or not used."""
    usual = {name: field.default for name, field in type(plan).model_fields.items()}
    options = {name: value for name, value in plan.options().items() if value != usual[name] and name != "seed"}
    parts = {name: getattr(plan, name) for name in tables_of(type(plan))}
    return options | {name: part.model_dump(exclude_defaults=True) for name, part in parts.items() if part is not None}


def _joined(command: str, plan: Plan, options: list[list[str]]) -> str:
    """Return a command with one option per line, as a shell takes it."""
    data = file_name(plan.input or "")
    first = ["shoal", command, f"./{data}" if data.startswith("-") else data]
    return " \\\n    ".join(quoted(line) for line in [first, *options])

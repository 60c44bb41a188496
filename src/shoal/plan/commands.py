"""A plan as text and as the command that carries it out, for those who read a report and want to do it again."""

import json
import shlex
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import tomli_w

from shoal.plan import Plan

_WORDS = (
    *("k", "method", "gain", "budget", "missing", "trim", "standardize", "block_size", "small_strata", "weights"),
    *("preserve", "l", "t", "edits_original", "epsilon"),
)
_LISTS = ("quasi", "confidential", "identifiers", "strata", "recompute", "adjust")
_SWITCHES = ("mask_quasi", "bound", "restore_variance", "round")
_PAIRS = {"types": "type", "attribute_weights": "attribute-weight", "alpha": "alpha", "aggregate": "aggregate"}
_SCALE = {"block_size": "block-records"}
_IN_SWEEP = ("budget", "missing", "quasi", "confidential", "identifiers", "types", "aggregate", "csv", "input")
_FILES = ("input", "output", "edits")
_REST = {"input", "output", "edits", "refine", "blocks", "constraints", "bounds", "scale", "csv"}


def protect_command(plan: Plan) -> str | None:
    """Write a plan as a command line; None where only a plan file can say it.

    Files go by their names, without their folders. Levels are left to the plan file, for they are values of the data.
    """
    options = given(plan)
    if plan.input is None or plan.levels or not _can_be_said(options):
        return None
    edits = options.get("edits", [])
    lines = [
        ["shoal", "protect", file_name(plan.input)],
        *(_option(name, options[name]) for name in _WORDS if name in options),
        *(_option(name, ",".join(options[name])) for name in _LISTS if name in options),
        *_pairs(options),
        *([f"--{name}".replace("_", "-")] for name in _SWITCHES if name in options),
        *([_option("refine", str(plan.refine).lower())] if "refine" in options else []),
        *(_option("block", ",".join(block)) for block in plan.given_blocks),
        *(_option("constraint", f"{name}={','.join(rules)}") for name, rules in plan.constraints.items()),
        *(_option("bounds", f"{name}={_number(low)},{_number(high)}") for name, (low, high) in plan.bounds.items()),
        *(
            [_option("edits", file_name(edits))]
            if isinstance(edits, str)
            else [_option("edit", rule) for rule in edits]
        ),
        *_scale(options.get("scale", {})),
        *_csv(options.get("csv", {})),
        ["--output", "masked.csv" if plan.output is None else file_name(plan.output)],
    ]
    return _joined(lines)


def protect_code(plan: Plan) -> str:
    """Write a plan as Python; files go by their names, without their folders."""
    options = {name: value for name, value in given(plan).items() if name not in ("input", "output")}
    options |= {"edits": file_name(options["edits"])} if isinstance(options.get("edits"), str) else {}
    table = repr(None if plan.input is None else file_name(plan.input))
    target = "masked.csv" if plan.output is None else file_name(plan.output)
    lines = [f"    {table},", *(f"    {name}={value!r}," for name, value in options.items())]
    return "\n".join(["import shoal", "", "release = shoal.protect(", *lines, ")", f"release.save({target!r})", ""])


def sweep_command(plan: Plan, sizes: list[int], methods: list[str]) -> str | None:
    """Write what was swept as a command line; None where only a plan file can say it."""
    options = given(plan)
    more = options.keys() - {"k", "method", *_IN_SWEEP}
    if plan.input is None or plan.levels or more or not _can_be_said(options):
        return None
    run = sizes == list(range(sizes[0], sizes[-1] + 1)) and len(sizes) > 1
    lines = [
        ["shoal", "sweep", file_name(plan.input)],
        ["-k", f"{sizes[0]}-{sizes[-1]}" if run else ",".join(map(str, sizes))],
        ["--methods", ",".join(methods)],
        *(_option(name, options[name]) for name in ("budget", "missing") if name in options),
        *(_option(name, ",".join(options[name])) for name in _LISTS if name in options),
        *_pairs(options),
        *_csv(options.get("csv", {})),
    ]
    return _joined(lines)


def plan_text(plan: Plan) -> str:
    """Write a plan as TOML, without what is usual, and what a report must not hold: folders, levels, seeds.

    Levels are values of the data, and rare ones might be among them.
    """
    options = given(plan)
    options |= {field: file_name(options[field]) for field in _FILES if isinstance(options.get(field), str)}
    levels = options.pop("levels", {})
    left_out = [f"# levels of {json.dumps(name)}: {len(each)}, left out here\n" for name, each in levels.items()]
    return "".join(left_out) + tomli_w.dumps(options)


def file_name(path: str) -> str:
    """Name a file without its folder, which is nobody's business."""
    return PurePath(path.replace("\\", "/").rstrip("/")).name


def given(plan: Plan) -> dict[str, Any]:
    """Give the options that differ from what a command does without them."""
    usual = {name: field.default for name, field in Plan.model_fields.items()}
    options = {name: value for name, value in plan.options().items() if value != usual[name]}
    options.pop("seed", None)  # drawn anew, or not used
    for part in ("scale", "csv"):
        if getattr(plan, part) is not None:
            options[part] = getattr(plan, part).model_dump(exclude_defaults=True)
    return options


def _can_be_said(options: dict[str, Any]) -> bool:
    """Tell whether commas and spaces in names, or matrices, leave the command line a way to say it."""
    lists = [*(options.get(name, []) for name in _LISTS), *options.get("blocks", [])]
    if any("," in name or name != name.strip() for names in lists for name in names):
        return False
    if isinstance(options.get("alpha"), list) or "dimensions" in options.get("scale", {}):
        return False
    said = {*_WORDS, *_LISTS, *_SWITCHES, *_PAIRS, *_REST}
    return options.keys() <= said


def _number(value: object) -> str:
    """Write a number as short as can be without changing it."""
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def _option(name: str, value: object) -> list[str]:
    text = _number(value)
    dashes = "-" if len(name) == 1 else "--"
    # A value that begins with a dash would be taken for an option of its own.
    if text.startswith("-"):
        return [f"{dashes}{name.replace('_', '-')}={text}"]
    return [f"{dashes}{name.replace('_', '-')}", text]


def _pairs(options: dict[str, Any]) -> Iterator[list[str]]:
    for name, option in _PAIRS.items():
        value = options.get(name)
        if isinstance(value, dict):
            for attribute, each in value.items():
                yield _option(option, f"{attribute}={_number(each)}")
        elif value is not None:
            yield _option(option, value)


def _scale(scale: dict[str, Any]) -> Iterator[list[str]]:
    for name, value in scale.items():
        yield ["--seams"] if name == "seams" else _option(_SCALE.get(name, name), value)


def _csv(csv: dict[str, Any]) -> Iterator[list[str]]:
    for name, value in csv.items():
        for each in value if isinstance(value, list) else [value]:
            yield _option("missing-word" if name == "missing" else name, each)


def _joined(lines: list[list[str]]) -> str:
    """Put an option on each line, as a shell takes it."""
    return " \\\n    ".join(shlex.join(line) for line in lines)

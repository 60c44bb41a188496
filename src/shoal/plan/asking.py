"""What was asked for, put together from a plan, a plan file and single options."""

import os
from typing import Any

from shoal.errors import PlanError
from shoal.plan.model import Plan

AnyPath = str | os.PathLike[str]


def asked(table: Any, plan: Plan | AnyPath | None, options: dict[str, Any]) -> Plan:
    """Merge a plan and options into one plan, in which `input` is the absolute path of the table, or None."""
    if isinstance(plan, str | os.PathLike):
        plan = Plan.load(plan, **options)
    if not isinstance(plan, Plan | None):
        raise PlanError("not-a-kind", field="plan", kind="Plan", file="plan file", example="-k=3")
    if isinstance(table, str | os.PathLike):
        options = {**options, "input": table}
    elif table is not None and plan is not None and plan.input is not None:
        options = {"input": None, "sheet": None, "csv": None, **options}  # the plan's own describe another table
    plan = Plan(**options) if plan is None else plan.updated(**options)
    paths = {name: getattr(plan, name) for name in ("input", "edits")}
    local = {name: path for name, path in paths.items() if isinstance(path, str) and "://" not in path}
    absolute = {name: os.path.abspath(path) for name, path in local.items()}  # noqa: PTH100 - keeps links
    return plan if absolute == local else plan.updated(**absolute)

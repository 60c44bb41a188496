"""Shoal makes microdata safe to publish.

Records are put into groups of at least k similar ones; each group publishes one representative; what the release
costs and what it risks is measured, and what it promises is verified before it is written.

The public names, loaded when first used: importing the package is instant.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.errors import CheckFailed, DataError, FileError, MissingExtra, PlanError, ShoalError, UntreatedColumns
    from shoal.estimator import Microaggregation
    from shoal.evidence.assess import assess
    from shoal.evidence.check import check
    from shoal.evidence.edits import rules
    from shoal.evidence.risk import Risk, risk
    from shoal.evidence.roles import Roles, roles
    from shoal.evidence.sweep import Sweep, sweep
    from shoal.partitioning import partition
    from shoal.plan import Plan
    from shoal.plan.policy import Policy
    from shoal.release import Release, protect, protect_file

__version__ = "0.1.0"

_HOMES = {
    "assess": "evidence.assess",
    "check": "evidence.check",
    "CheckFailed": "errors",
    "DataError": "errors",
    "FileError": "errors",
    "MissingExtra": "errors",
    "PlanError": "errors",
    "ShoalError": "errors",
    "UntreatedColumns": "errors",
    "Microaggregation": "estimator",
    "partition": "partitioning",
    "Plan": "plan",
    "Policy": "plan.policy",
    "Release": "release",
    "protect": "release",
    "protect_file": "release",
    "Risk": "evidence.risk",
    "risk": "evidence.risk",
    "Roles": "evidence.roles",
    "roles": "evidence.roles",
    "rules": "evidence.edits",
    "Sweep": "evidence.sweep",
    "sweep": "evidence.sweep",
}

__all__ = [
    "CheckFailed",
    "DataError",
    "FileError",
    "Microaggregation",
    "MissingExtra",
    "Plan",
    "PlanError",
    "Policy",
    "Release",
    "Risk",
    "Roles",
    "ShoalError",
    "Sweep",
    "UntreatedColumns",
    "assess",
    "check",
    "partition",
    "protect",
    "protect_file",
    "risk",
    "roles",
    "rules",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'shoal' has no attribute '{name}'")
    return getattr(importlib.import_module(f"shoal.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

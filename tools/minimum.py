"""Prints the lowest versions that pyproject.toml allows of everything it names itself, as exact requirements.

``make test-minimum`` installs these and runs tests with them: a lower bound that nobody has tried is a guess. Groups
of tools that only look at the source (lint, docs) are left out.
"""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
GROUPS = ["test"]


def lowest(line: str) -> str:
    """Turn ``numpy>=2.0`` into ``numpy==2.0``; what has no lower bound is taken as it is."""
    requirement = Requirement(line)
    bounds = [bound.version for bound in requirement.specifier if bound.operator in (">=", "==", "~=")]
    return f"{requirement.name}=={bounds[0]}" if bounds else requirement.name


def direct() -> list[str]:
    """Return the requirements of the package, of its extras and of its tests, as they are written."""
    told = tomllib.loads(PYPROJECT.read_text())
    lines = [*told["project"]["dependencies"]]
    lines += [line for extra in told["project"]["optional-dependencies"].values() for line in extra]
    lines += [line for group in GROUPS for line in told["dependency-groups"][group] if isinstance(line, str)]
    return [line for line in lines if Requirement(line).name != told["project"]["name"]]


if __name__ == "__main__":
    print("\n".join(sorted({lowest(line) for line in direct()})))

"""Writes the bill of materials of the package, without development: sbom.cdx.json (CycloneDX).

    python tools/sbom.py .venv-audit/bin/cyclonedx-py sbom.cdx.json

Everything that an installation with all extras brings, with version and licence. It holds no address and no path of the
machine that made it, and is the same each time: a file for an archive, not for the repository.
"""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

sys.path.insert(0, str(Path(__file__).parent))
from constraints import closure

COMMAND = ["environment", "--output-reproducible", "--short-PURLs", "--mc-type", "library"]


def bill(program: str) -> dict[str, Any]:
    """Let cyclonedx-py look at the environment, and keep what the package itself needs."""
    root = Path(__file__).parents[1]
    command = [program, *COMMAND, "--pyproject", str(root / "pyproject.toml"), sys.executable]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    found["metadata"]["component"]["version"] = version("shoal-sdc")
    return needed_alone(found, {*closure(development=False)})


def needed_alone(found: dict[str, Any], needed: set[str]) -> dict[str, Any]:
    """Keep components of these names, without addresses and properties."""
    found.pop("$schema", None)
    found["components"] = [each for each in found["components"] if canonicalize_name(each["name"]) in needed]
    kept = {each["bom-ref"] for each in [found["metadata"]["component"], *found["components"]]}
    found["dependencies"] = [_within(each, kept) for each in found["dependencies"] if each["ref"] in kept]
    for component in [found["metadata"]["component"], *found["components"], *_tools(found)]:
        component.pop("externalReferences", None)  # addresses of projects
        component.pop("properties", None)
    return found


def _tools(found: dict[str, Any]) -> list[dict[str, Any]]:
    tools = found["metadata"].get("tools", {})
    return [each for kind in tools.values() for each in kind] if isinstance(tools, dict) else tools


def _within(dependency: dict[str, Any], kept: set[str]) -> dict[str, Any]:
    return {**dependency, "dependsOn": [ref for ref in dependency.get("dependsOn", []) if ref in kept]}


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(bill(sys.argv[1]), indent=2) + "\n")

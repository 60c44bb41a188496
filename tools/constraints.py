"""Prints the exact version of everything that development needs, with the hashes of its files: constraints.txt.

    PIP_INDEX_URL=<the simple index> python tools/constraints.py > constraints.txt

Versions are those installed in the environment that runs this; which packages belong is found by following the
requirements of pyproject.toml: the package with all extras, the group dev and what builds. Hashes are those that the
index gives for files of that version that Python 3.11 or later can use on common systems. Where pyproject.toml asks for
a package on some systems only, so does the line. No address is printed.
"""

import html
import os
import re
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_sdist_filename, parse_wheel_filename

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
SYSTEMS = re.compile(r"any|(many)?linux.*_(x86_64|aarch64)|macosx_.*_(arm64|universal2|x86_64)|win_(amd64|arm64)")
PYTHONS = re.compile(r"py3|cp3(1[1-9])")


def wanted(development: bool) -> Iterator[Requirement]:
    """Yield what pyproject.toml asks for: for all of the package, and for its development."""
    told = tomllib.loads(PYPROJECT.read_text())
    groups = told["dependency-groups"]

    def lines(group: str) -> Iterator[str]:
        for each in groups[group]:
            yield from lines(each["include-group"]) if isinstance(each, dict) else [each]

    extras = told["project"]["optional-dependencies"]
    asked = [*told["project"]["dependencies"], *(line for extra in extras.values() for line in extra)]
    for line in [*asked, *([*told["build-system"]["requires"], *lines("dev")] if development else [])]:
        if Requirement(line).name != told["project"]["name"]:
            yield Requirement(line)


def closure(development: bool = True) -> dict[str, str]:
    """Follow requirements through what is installed; return versions by name."""
    versions: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [each for each in wanted(development) if each.marker is None or each.marker.evaluate()]
    while waiting:
        requirement = waiting.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        found = distribution(name)
        versions[name] = found.version
        for each in map(Requirement, found.requires or []):
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                waiting.append(each)
    return versions


def hashes(index: str, name: str, version: str) -> list[str]:
    """Return the hashes of the files of a version that may be installed."""
    with urllib.request.urlopen(f"{index.rstrip('/')}/{name}/", timeout=60) as page:
        links = re.findall(r'<a [^>]*href="[^"#]*#sha256=([0-9a-f]{64})"[^>]*>([^<]+)</a>', page.read().decode())
    return sorted({sha256 for sha256, file in links if _fits(html.unescape(file).strip(), version)})


def _fits(file: str, version: str) -> bool:
    try:
        if not file.endswith(".whl"):
            return str(parse_sdist_filename(file)[1]) == version
        _, found, _, tags = parse_wheel_filename(file)
    except (InvalidWheelFilename, ValueError):
        return False
    fits = any(PYTHONS.fullmatch(tag.interpreter) or tag.abi == "abi3" for tag in tags)
    return str(found) == version and fits and any(SYSTEMS.fullmatch(tag.platform) for tag in tags)


def main() -> None:
    """Print a requirement with its hashes for each package."""
    index = os.environ.get("PIP_INDEX_URL")
    if not index:
        sys.exit("name the package index with PIP_INDEX_URL")
    only = {canonicalize_name(each.name): f" ; {each.marker}" for each in wanted(development=True) if each.marker}
    print("# Exact versions for development, and the hashes of their files; made by tools/constraints.py.")
    for name, version in sorted(closure().items()):
        found = hashes(index, name, version)
        if not found:
            sys.exit(f"the index has no file of {name} {version}")
        line = f"{name}=={version}{only.get(name, '')}"
        print(" \\\n    ".join([line, *(f"--hash=sha256:{each}" for each in found)]))


if __name__ == "__main__":
    main()

"""Looks up the versions of constraints.txt in a database of vulnerabilities on this disk, without a network.

    python tools/audit.py all.zip

The database is a ZIP file or a folder of JSON files in the OSV format, such as the export of the ecosystem PyPI. The
exit code is 1 if a version is vulnerable, and 2 if there is nothing to look in.
"""

import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"


def main(database: Path) -> int:
    """Print what is vulnerable; return the exit code."""
    versions = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", CONSTRAINTS.read_text(), re.MULTILINE))
    entries = 0
    found = []
    try:
        for entry in entries_of(database):
            entries += 1
            found += [f"{name} {versions[name]}: {entry['id']}" for name in vulnerable(entry, versions)]
    except (OSError, zipfile.BadZipFile, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"'{database}' is no ZIP file or folder in the OSV format ({type(error).__name__}).", file=sys.stderr)
        return 2
    print(*sorted(found), sep="\n", end="\n" if found else "")
    print(f"{len(found)} of {len(versions)} versions and {entries:,} entries match.")
    return 2 if not entries else int(bool(found))


def entries_of(database: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of a database."""
    if database.is_dir():
        for path in sorted(database.rglob("*.json")):
            yield json.loads(path.read_bytes())
        return
    with zipfile.ZipFile(database) as archive:
        for name in archive.namelist():
            if name.endswith(".json"):
                yield json.loads(archive.read(name))


def vulnerable(entry: dict[str, Any], versions: dict[str, str]) -> Iterator[str]:
    """Yield the packages whose version an entry affects, each once."""
    if "withdrawn" in entry:
        return
    affected = [each for each in entry.get("affected", []) if each.get("package", {}).get("ecosystem") == "PyPI"]
    names = {canonicalize_name(each["package"]["name"]) for each in affected}
    for name in sorted(names & {*versions}):
        own = [each for each in affected if canonicalize_name(each["package"]["name"]) == name]
        if any(is_affected(each, versions[name]) for each in own):
            yield name


def is_affected(affected: dict[str, Any], version: str) -> bool:
    """Whether a version is listed, or lies in a range: from where it was introduced until where it was fixed."""
    if any(_version(each) == Version(version) for each in affected.get("versions", [])):
        return True
    return any(_in_range(each, Version(version)) for each in affected.get("ranges", []) if each["type"] == "ECOSYSTEM")


def _in_range(given: dict[str, Any], version: Version) -> bool:
    inside = False
    for event in sorted(given["events"], key=lambda each: _version(next(iter(each.values())))):
        if "introduced" in event and version >= _version(event["introduced"]):
            inside = True
        if ("fixed" in event and version >= _version(event["fixed"])) or (
            "last_affected" in event and version > _version(event["last_affected"])
        ):
            inside = False
    return inside


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))

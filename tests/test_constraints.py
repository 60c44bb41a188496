"""constraints.txt: names, exact versions and hashes, nothing else; it holds all that pyproject.toml asks for."""

import re
import sys
from pathlib import Path

from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from constraints import wanted  # noqa: E402 - a script, not a package

TEXT = (ROOT / "constraints.txt").read_text()


def test_there_is_nothing_but_names_versions_and_hashes():
    first, rest = TEXT.split("\n", 1)
    assert first.startswith("# ")
    marker = r"( ; [a-z_]+ [=<>!]+ \"[A-Za-z0-9.]+\"( and [a-z_]+ [=<>!]+ \"[A-Za-z0-9.]+\")*)?"
    entry = rf"[a-z0-9-]+==[A-Za-z0-9.!+]+{marker}( \\\n    --hash=sha256:[0-9a-f]{{64}})+\n"
    assert re.fullmatch(f"({entry})+", rest)


def test_all_that_development_asks_for_is_there_in_a_version_that_fits():
    versions = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", TEXT, re.MULTILINE))
    for requirement in wanted(development=True):
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement

"""The map of the repository agrees with it."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_layers_are_those_that_imports_are_checked_against():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    table = dict(re.findall(r"^\| (\d+) \| (.+) \|$", PAGE, re.MULTILINE))
    assert list(table) == [str(number + 1) for number in range(len(layers))]
    for row, layer in zip(table.values(), layers, strict=True):
        assert re.findall(r"`(\w+)`", row) == re.findall(r"\w+", layer)
        assert (" and " in row) == (":" in layer)


def test_every_room_and_every_file_that_the_map_names_exists():
    package = ROOT / "src" / "shoal"
    rooms = "|".join(folder.name for folder in package.iterdir() if (folder / "__init__.py").exists())
    named = re.findall(rf"`((?:{rooms})/(?!test_)(?:[a-z_0-9/]+(?:\.py)?)?)`", PAGE)
    assert len(named) > 40
    for path in named:
        assert (package / path).exists() or (package / f"{path}.py").exists(), path

"""Figures in the documentation are what the commands print that it names.

A table below ``<!-- printed by: python -m bench.mic1d -->`` is compared with what that command prints: the numbers of
each row must occur in a line of it, in the same order. Layout, names and further columns may differ. Tables of times
cannot be compared; ``<!-- measured by: ... -->`` names their command.
"""

import os
import re
import shlex
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

import pytest
from tests.docs.pages import DOCS

ROOT = DOCS.parent
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"]
MARK = re.compile(r"<!-- (printed|measured) by: (python -m bench[^\n]*?) -->\n+((?:\|.*\n)+)")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?")


def tables(kind: str) -> list[tuple[str, str, str]]:
    """Pages, commands and tables of one kind."""
    return [
        (str(page.relative_to(ROOT)), command, table)
        for page in PAGES
        if "_build" not in page.parts
        for how, command, table in MARK.findall(page.read_text(encoding="utf-8"))
        if how == kind
    ]


def numbers(line: str) -> list[float]:
    return [float(found.replace(",", "")) for found in NUMBER.findall(line)]


def occurs(wanted: list[float], line: list[float]) -> bool:
    """Whether numbers occur in a line, in their order, others between them."""
    rest = iter(line)
    return all(number in rest for number in wanted)


@cache
def printed(command: str) -> list[list[float]]:
    words = [sys.executable, *shlex.split(command)[1:]]
    places = os.pathsep.join([str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": places}
    )
    return [numbers(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "command", "table"), tables("printed"), ids=lambda value: value[:40])
def test_every_row_of_a_table_is_printed_by_the_command_that_it_names(page, command, table):
    lines = printed(command)
    for row in table.splitlines()[2:]:
        assert any(occurs(numbers(row), line) for line in lines), f"{page}: {row}"


def test_commands_in_the_documentation_exist():
    for page in PAGES:
        for module in re.findall(r"python -m (bench[\w.]*)", page.read_text(encoding="utf-8")):
            assert find_spec(module) is not None, f"{page.name} names {module}"


def test_rows_are_compared_by_their_numbers_in_order():
    assert occurs(numbers("| Census | 3,000 | 32.27 |"), numbers("3000 printed 4 720 32.27 8.41"))
    assert not occurs(numbers("| 32.27 | 3000 |"), numbers("3000 printed 32.27"))
    assert len(tables("printed")) >= 3

"""Every method gives the release of its golden file, on every instruction set of the kernels."""

import csv
from pathlib import Path
from typing import get_args

import pytest
from tests.golden.cases import CASES, ROUGH, answer
from tests.golden.make import golden_file

from shoal.plan import Method


def assert_golden(name: str, text: str) -> None:
    """Compare byte by byte; of what libraries round differently, numbers to nine digits, and groups exactly."""
    golden = golden_file(name).read_text()
    if name not in ROUGH:
        assert text == golden, name
        return
    rows, expected = (list(csv.DictReader(each.splitlines())) for each in (text, golden))
    assert len(rows) == len(expected)
    for row, other in zip(rows, expected, strict=True):
        assert row.keys() == other.keys()
        for column, value in row.items():
            if column.startswith("group"):
                assert value == other[column], name
            else:
                assert float(value) == pytest.approx(float(other[column]), rel=1e-9), (name, column)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("name", CASES)
def test_the_release_is_that_of_its_golden_file(name):
    assert_golden(name, answer(name))


def test_every_method_and_nothing_else_has_a_golden_file():
    # What 'auto' chooses is among them; 'insensitive' draws secret numbers and never gives the same release twice.
    methods = set(get_args(Method)) - {"auto", "insensitive"}
    assert methods == {options["method"] for options in CASES.values()}
    assert {path.stem for path in Path(__file__).parent.glob("*.csv")} == set(CASES)

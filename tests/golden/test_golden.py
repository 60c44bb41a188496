"""Every method gives the release of its golden file: compiled or not, with vector instructions or without."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from tests.golden.cases import CASES, ROUGH, answer
from tests.golden.make import golden_file

from shoal.plan import Method

ROOT = Path(__file__).parents[2]
DRIVER = """
import json
from shoal.kernels.mdav import mdav_scan
from tests.golden.cases import answers
print(json.dumps({"compiled": hasattr(mdav_scan, "py_func"), "answers": answers()}))
"""
# What becomes of a kernel elsewhere: without AVX and FMA, without vectorised loops, hardly optimised.
COMPILERS = {
    "any processor": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "no vectors": {"NUMBA_LOOP_VECTORIZE": "0", "NUMBA_SLP_VECTORIZE": "0"},
    "hardly optimised": {"NUMBA_OPT": "1"},
}


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


def answers_of(**environment: str) -> dict:
    """Run all cases in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", DRIVER], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CASES)
def test_the_release_is_that_of_its_golden_file(name):
    assert_golden(name, answer(name))


def test_nothing_compiled_gives_the_same_releases():
    found = answers_of(NUMBA_DISABLE_JIT="1")
    assert not found["compiled"]
    for name in CASES:
        assert_golden(name, found["answers"][name])


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_compiled_in_another_way_the_releases_are_the_same(tmp_path, compiler):
    found = answers_of(NUMBA_CACHE_DIR=str(tmp_path), **COMPILERS[compiler])
    assert found["compiled"]
    for name in CASES:
        assert_golden(name, found["answers"][name])


def test_every_method_and_nothing_else_has_a_golden_file():
    # What 'auto' chooses is among them; 'insensitive' draws secret numbers and never gives the same release twice.
    methods = set(get_args(Method)) - {"auto", "insensitive"}
    assert methods == {options["method"] for options in CASES.values()}
    assert {path.stem for path in Path(__file__).parent.glob("*.csv")} == set(CASES)

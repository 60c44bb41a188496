"""Importing the package is instant; what is heavy is loaded when it is needed."""

import json
import subprocess
import sys

import numpy as np
import pytest

import shoal

# What protecting a CSV file without rules does not need, whether it is installed or not.
UNUSED = (
    *("altair", "asyncio", "elementpath", "highspy", "jinja2", "lxml", "matplotlib", "narwhals", "nicegui", "numba"),
    *("numpy.f2py", "numpy.testing", "openpyxl", "pandas", "polars", "pyarrow.dataset", "pyarrow.parquet"),
    *("pyreadstat", "pyspark", "scipy", "sklearn", "ssl", "statsmodels", "unittest"),
)
HEAVY = ("duckdb", "numpy", "pyarrow", "pydantic", "shoal.plan", "shoal.release", "shoal.tables")


def loaded(code, *arguments):
    """The modules that a process of its own has loaded in the end."""
    show = "import atexit, json, sys; atexit.register(lambda: print('\\n' + json.dumps([*sys.modules])))\n"
    command = [sys.executable, "-c", show + code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return {*json.loads(done.stdout.splitlines()[-1])}


RUN = "from shoal.cli import run; run()"


def test_import_loads_nothing_heavy():
    assert not loaded("import shoal") & {*HEAVY, *UNUSED}


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_the_list_of_commands_loads_no_command(argument):
    assert not loaded(RUN, argument) & {*HEAVY, *UNUSED}


def test_the_help_of_a_command_loads_the_plan_alone():
    assert not loaded(RUN, "protect", "--help") & {"duckdb", "numpy", "pyarrow", "shoal.release", *UNUSED}


def test_a_plan_that_is_wrong_is_refused_before_anything_is_loaded():
    code = "from shoal.cli import main\ntry: main()\nexcept SystemExit: pass"
    assert not loaded(code, "protect", "a.csv", "-k", "none", "-o", "b.csv") & {"duckdb", "numpy", "pyarrow", *UNUSED}


@pytest.mark.parametrize("others", ["--confidential", "--publish"])
def test_protecting_a_csv_file_loads_what_it_needs(tmp_path, others):
    rows = np.random.default_rng(0).integers(10, 99, (60, 4)).tolist()
    source = tmp_path / "people.csv"
    source.write_text("\n".join(["age,income,height,score", *(",".join(map(str, row)) for row in rows)]) + "\n")
    options = ["-k", 3, "--quasi", "age,income", others, "height,score", "-o", tmp_path / "masked.csv"]
    assert not loaded(RUN, "protect", source, *options) & {*UNUSED}


@pytest.mark.parametrize("command", ["roles people.csv", "check people.csv -k 3 --quasi age"])
def test_commands_that_look_at_a_file_load_no_pandas(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age\n" + "41\n" * 5)
    assert "pandas" not in loaded(RUN, *command.split())


def test_every_public_name_is_there():
    for name in shoal.__all__:
        assert getattr(shoal, name).__name__ == name
    assert set(shoal.__all__) <= set(dir(shoal))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        _ = shoal.nothing

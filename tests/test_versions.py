"""Other versions of DuckDB and pandas: the newest, the major version before it, and the lowest that is allowed.

Each runs in an environment of its own with that one package and what it needs; all others are those of the environment
that runs the tests. `make test-minimum` has the lowest versions of everything.
"""

import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import shoal

ROOT = Path(__file__).parents[1]
ASKED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TESTS = [
    "tests/golden",
    "tests/test_release.py",
    "tests/tables/test_csv_in.py",
    "tests/tables/test_frames.py",
    "tests/backends/test_file.py",
    "tests/backends/test_spark.py",
]


def lowest(package: str) -> str:
    """Return the lowest version of a package that pyproject.toml allows, as a requirement."""
    lines = [*ASKED["dependencies"], *(line for extra in ASKED["optional-dependencies"].values() for line in extra)]
    (bound,) = next(Requirement(line).specifier for line in lines if Requirement(line).name == package)
    return f"{package}=={bound.version}"


def environment_with(requirement: str, folder: Path) -> Path:
    """Make an environment in which one package differs, with what it needs; returns its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=600)
    python = folder / "bin" / "python"
    installed = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", requirement], capture_output=True, timeout=1200
    )
    if installed.returncode != 0:
        pytest.skip(f"pip finds no index that has {requirement} for this Python")
    own = next((folder / "lib").glob("python3*/site-packages"))
    (own / "behind.pth").write_text(f"{Path(shoal.__file__).parents[1]}\n{sysconfig.get_path('purelib')}\n")
    return python


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX folders")
@pytest.mark.parametrize(
    "requirement", ["duckdb>=2", "duckdb<2", lowest("duckdb"), "pandas>=3", "pandas<3", lowest("pandas")]
)
def test_other_versions_give_the_same_answers(requirement, tmp_path):
    python = environment_with(requirement, tmp_path / "environment")
    asked = Requirement(requirement)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    show = f"import {asked.name}; print({asked.name}.__version__, {asked.name}.__file__)"
    run = subprocess.run([python, "-c", show], capture_output=True, text=True, env=clean, cwd=tmp_path, check=True)
    version, place = run.stdout.split()
    assert asked.specifier.contains(version)
    assert place.startswith(str(tmp_path))  # not the one behind it
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *TESTS]
    run = subprocess.run(command, capture_output=True, text=True, env=clean, cwd=ROOT, timeout=3600)
    assert run.returncode == 0, run.stdout[-5000:]
    assert " passed" in run.stdout

"""What is installed: the package and nothing else, the same bytes whenever and wherever it is built."""

import hashlib
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # compiles all kernels, twice

ROOT = Path(__file__).parents[1]
PACKAGED = {
    ".py",
    ".pyi",
    ".so",
    ".typed",
    ".j2",
    ".html",
    ".css",
    ".js",
    ".svg",
}  # endings that it may hold


def source(folder: Path) -> Path:
    """Copy what the repository keeps, as a clone would have it."""
    kept = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    for name in filter(None, kept.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def built(folder: Path) -> tuple[Path, Path]:
    """Build in a copy of the source, in a folder and at a time of its own; return the wheel and the source archive."""
    output = folder.with_name(f"{folder.name}-built")
    done = subprocess.run(
        [sys.executable, "tools/wheel.py", str(output)],
        cwd=source(folder),
        env={**os.environ, "SOURCE_DATE_EPOCH": "1750000000"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    wheel, archive = done.stdout.split()[-2:]
    return output / wheel, output / archive


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    """Two builds, in two folders."""
    pytest.importorskip("scikit_build_core", reason="scikit-build-core builds the wheel")
    folder = tmp_path_factory.mktemp("builds")
    return built(folder / "here"), built(folder / "elsewhere" / "deep")


def test_two_builds_are_the_same_to_the_byte(builds):
    for one, two in zip(*builds, strict=True):
        assert one.name == two.name
        assert hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(two.read_bytes()).digest()


def test_the_wheel_holds_the_package_and_nothing_else(builds):
    with zipfile.ZipFile(builds[0][0]) as wheel:
        names = {name for name in wheel.namelist() if not name.endswith("/")}  # files; auditwheel lists folders too
    assert builds[0][0].name.startswith("shoal_sdc-")
    about = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    assert {name.split("/", 1)[1] for name in about} == {
        *("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    }
    assert {Path(name).suffix for name in names - about} <= PACKAGED
    packaged = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "shoal").rglob("*")
        if path.is_file() and path.parent.name not in ("__pycache__", "cpp")
    }
    assert names - about == packaged


def test_the_source_archive_holds_what_is_named_and_nothing_else(builds):
    with tarfile.open(builds[0][1]) as archive:
        members = archive.getmembers()
    tops = {member.name.split("/")[1] for member in members}
    assert tops == {
        *("src", "tests", "bench", "docs", "tools", "fuzz", "README.md", "CHANGELOG.md", "LICENSE", "constraints.txt"),
        *("CMakeLists.txt", "CONTRIBUTING.md", "Makefile", "pyproject.toml", "PKG-INFO", "CITATION.cff", "SECURITY.md"),
    }
    assert not [member.name for member in members if Path(member.name).suffix in (".so", ".pyi", ".pyc")]
    assert not [member.name for member in members if not member.isfile()]  # nothing that points elsewhere
    assert {member.uname for member in members} | {member.gname for member in members} == {""}
    assert {member.uid for member in members} | {member.gid for member in members} == {0}


def test_nothing_tells_of_the_machine_that_built_it(builds):
    with zipfile.ZipFile(builds[0][0]) as wheel:
        texts = [wheel.read(name) for name in wheel.namelist()]
        kernels = [wheel.read(name) for name in wheel.namelist() if name.endswith(".so")]
    with tarfile.open(builds[0][1]) as archive:
        texts += [archive.extractfile(member).read() for member in archive.getmembers()]
    for place in (ROOT, Path(sys.prefix), builds[0][0].parent):
        assert not any(os.fsencode(place) in text for text in texts)
    for place in (tempfile.gettempdir(), Path.home(), ".cpp", ".hpp"):  # where it was compiled, and from what
        assert os.fsencode(place) not in kernels[0]


def test_the_wheel_is_tagged_for_other_machines(builds):
    pytest.importorskip("auditwheel", reason="auditwheel tags wheels, on Linux")
    assert "-manylinux_" in builds[0][0].name


@pytest.fixture(scope="module")
def installed(builds, tmp_path_factory):
    """Install the wheel in an environment of its own; return its folder of programs."""
    environment = tmp_path_factory.mktemp("installed")
    venv.create(environment, with_pip=True)
    programs = environment / "bin"
    command = [programs / "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    done = subprocess.run([*command, f"{builds[0][0]}[demo,report]"], env=alone(), capture_output=True, text=True)
    if "No matching distribution found" in done.stderr:
        pytest.skip("the packages that the wheel needs cannot be downloaded")
    assert done.returncode == 0, done.stderr
    return programs


def alone() -> dict[str, str]:
    """Return an environment in which there is no program, a compiler least of all, and no other package."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "http"))}
    return {**kept, "PATH": ""}


def test_the_demonstration_runs_from_the_wheel_without_a_compiler(installed, tmp_path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([installed / "shoal", "demo"], cwd=tmp_path, env=alone(), capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert {"masked.csv", "report.html"} <= {path.name for path in (tmp_path / "shoal-demo").iterdir()}
    # Processor time, not the clock: a machine may be busy. Nothing is compiled at the first run.
    assert after.ru_utime - before.ru_utime < 20


def test_the_wheel_brings_no_compiler_with_it(installed):
    listed = subprocess.run([installed / "python", "-m", "pip", "list"], env=alone(), capture_output=True, text=True)
    names = {line.split()[0].lower() for line in listed.stdout.splitlines()}
    assert "shoal-sdc" in names or "shoal_sdc" in names
    assert not names & {"numba", "llvmlite", "nanobind", "scikit-build-core", "cmake", "ninja"}

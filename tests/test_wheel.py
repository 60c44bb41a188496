"""What is installed: the package and nothing else, the same bytes whenever and wherever it is built."""

import io
import os
import shutil
import subprocess
import sys
import tarfile
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
BUILD = """
import sys
from scikit_build_core.build import build_sdist, build_wheel
print(build_wheel(sys.argv[1]), build_sdist(sys.argv[1]))
"""


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


def built(folder: Path) -> tuple[bytes, bytes]:
    """Build in a copy of the source, in a folder and at a time of its own; return the wheel and the source archive."""
    output = folder.with_name(f"{folder.name}-built")
    output.mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(output)],
        cwd=source(folder),
        env={**os.environ, "SOURCE_DATE_EPOCH": "1750000000"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    wheel, archive = done.stdout.split()[-2:]
    return (output / wheel).read_bytes(), (output / archive).read_bytes()


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    """Two builds, in two folders."""
    pytest.importorskip("scikit_build_core", reason="scikit-build-core builds the wheel")
    folder = tmp_path_factory.mktemp("builds")
    return built(folder / "here"), built(folder / "elsewhere" / "deep")


def test_two_builds_are_the_same_to_the_byte(builds):
    one, two = builds
    assert one[0] == two[0]
    assert one[1] == two[1]


def test_the_wheel_holds_the_package_and_nothing_else(builds):
    with zipfile.ZipFile(io.BytesIO(builds[0][0])) as wheel:
        names = set(wheel.namelist())
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
    with tarfile.open(fileobj=io.BytesIO(builds[0][1])) as archive:
        members = archive.getmembers()
    tops = {member.name.split("/")[1] for member in members}
    assert tops == {
        *("src", "tests", "bench", "docs", "tools", "fuzz", "README.md", "CHANGELOG.md", "LICENSE", "constraints.txt"),
        *("CMakeLists.txt", "CONTRIBUTING.md", "Makefile", "pyproject.toml", "PKG-INFO"),
    }
    assert not [member.name for member in members if Path(member.name).suffix in (".so", ".pyi", ".pyc")]
    assert not [member.name for member in members if not member.isfile()]  # nothing that points elsewhere
    assert {member.uname for member in members} | {member.gname for member in members} == {""}
    assert {member.uid for member in members} | {member.gid for member in members} == {0}


def test_nothing_tells_of_the_machine_that_built_it(builds):
    with zipfile.ZipFile(io.BytesIO(builds[0][0])) as wheel:
        texts = [wheel.read(name) for name in wheel.namelist()]
    with tarfile.open(fileobj=io.BytesIO(builds[0][1])) as archive:
        texts += [archive.extractfile(member).read() for member in archive.getmembers()]
    for place in (ROOT, Path(sys.prefix)):
        assert not any(os.fsencode(place) in text for text in texts)

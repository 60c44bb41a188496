"""Spark with its processes killed: a complete release or none, and nothing of the originals for anybody else."""

import contextlib
import errno
import os
import random
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet
import pytest
from tests.expect import prints
from tests.faults.runs import Ended, Place, assert_one_clear_line, large
from tests.faults.test_disks import mounted

import shoal

pytestmark = [pytest.mark.slow, pytest.mark.spark]

RENAME = "shoal.backends.spark.disk:Disk._rename"
# In the order of the run, so that later kills find what earlier ones have left.
MOMENTS = [
    "shoal.backends.spark.session:_started:before",
    "shoal.backends.spark.session:_started:after",
    "read",
    "scan",
    "measure",
    "divide",
    "partition",
    "shoal.backends.spark.dataframe:_published:after",
    "verify",
    "shoal.backends.spark.dataframe:SparkPublished.verify:after",
    "shoal.backends.spark.files:_write:before",
    "shoal.backends.spark.files:_write:after",
    "shoal.backends.spark.files:_verify:after",
    "shoal.backends.spark.disk:Disk._write:after:1",
    "shoal.backends.spark.disk:Disk._write:after:2",
]
RENAMES = [f"{RENAME}:{when}:{number}" for number in (1, 2, 3) for when in ("before", "after")]
REPLACING = [f"{RENAME}:after:{number}" for number in range(1, 7)]  # the old one, the new one, of three files


@dataclass(frozen=True)
class OnSpark(Place):
    """A place for runs on Spark, which write a folder."""

    @property
    def temporary(self) -> Path:
        """Where Spark puts its files."""
        return Path(self.environment["SPARK_LOCAL_DIRS"])

    def run(self, *more: str, **how) -> Ended:
        """Run, and wait for what a killed run has started; leave out what Java writes to standard error."""
        ended = super().run(*more, **how)
        while _is_used(self.folder):
            time.sleep(0.1)
        said = [line for line in ended.lines if line.startswith(("Error: ", "Failed: ")) or "Traceback" in line]
        return Ended(ended.code, said)

    @property
    def hidden(self) -> list[Path]:
        """What lies in the folder under private names."""
        return [path for path in self.folder.iterdir() if path.name[0] in "._"]

    def read(self) -> bytes | None:
        """Return the records of the release in one order, if there is one; it is complete, with plan and manifest."""
        path = self.folder / self.output
        if not path.exists():
            return None
        assert shoal.check(path, manifest=self.folder / f"{self.output}.manifest.json")["records"] == 600
        assert shoal.Plan.load(self.folder / f"{self.output}.plan.toml").k == 3
        return repr(sorted(map(str, pyarrow.parquet.read_table(path).to_pylist()))).encode()

    def remove(self) -> None:
        """Remove what has its final name."""
        for path in self.published:
            path.unlink() if path.is_file() else [*map(Path.unlink, path.iterdir()), path.rmdir()]


def _is_used(folder: Path) -> bool:
    """Whether a process works in a folder."""
    for path in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):  # gone, or another user's
            if path.readlink() == folder:
                return True
    return False


def on_spark(folder: Path, master: str = "local[1]") -> OnSpark:
    place = large(folder)
    (place.folder / "in").rename(place.folder / "in.parquet")
    temporary = folder / "temporary"
    temporary.mkdir()
    options = ("--block-records", "300", "--engine", "spark", "--master", master)
    environment = {"SPARK_LOCAL_DIRS": str(temporary), "JDK_JAVA_OPTIONS": "-XX:+UseSerialGC"}
    return OnSpark(place.folder, "in.parquet", place.output, options, environment)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[bytes, float]:
    """What an undisturbed run publishes, and how long it takes."""
    place = on_spark(tmp_path_factory.mktemp("whole"))
    start = time.monotonic()
    assert place.run().code == 0
    seconds = time.monotonic() - start
    assert [*place.hidden, *place.temporary.iterdir()] == []
    return place.read(), seconds


def kill(place: OnSpark, at: str, *more: str) -> None:
    """Run until Java and Python are killed together."""
    assert place.run(*more, at=at, fault="Java and Python killed").code == -9, at


def assert_private(place: OnSpark) -> None:
    """Assert that nobody else can look into what a killed run left."""
    for path in (*place.hidden, *place.temporary.iterdir()):
        assert path.is_dir()
        assert path.stat().st_mode & 0o777 == 0o700


def assert_cleaned_up(place: OnSpark, whole: bytes, *more: str) -> None:
    """Assert that the next run gives the same, and removes what killed ones have left."""
    assert place.run(*more).code == 0
    assert place.read() == whole
    assert [*place.hidden, *place.temporary.iterdir()] == []


def test_spark_killed_in_every_step(whole, tmp_path):
    place = on_spark(tmp_path)
    for number, at in enumerate(MOMENTS):
        fault = ("SIGKILL", "Java and Python killed")[number % 2 or number > 10]
        if at.endswith("_started:before"):
            fault = "SIGKILL"  # there is no Java yet
        assert place.run(at=at, fault=fault).code == -9, at
        assert place.published == []
        assert_private(place)
    assert_cleaned_up(place, whole[0])


def test_spark_killed_at_every_rename(whole, tmp_path):
    """Plan and manifest may be there without the data; the next run removes them."""
    place = on_spark(tmp_path)
    for at in RENAMES:
        kill(place, at)
        assert place.read() == (whole[0] if at.endswith("after:3") else None)
        assert_private(place)
    place.remove()
    assert_cleaned_up(place, whole[0])


def test_spark_killed_at_every_rename_of_a_release_that_replaces_another(whole, tmp_path):
    """The next run puts the old one back before it starts, with its own plan and manifest."""
    place = on_spark(tmp_path)
    assert place.run().code == 0
    old = {path.name for path in (place.folder / place.output).iterdir()}
    for at in REPLACING:
        kill(place, at, "--overwrite")
        assert (place.folder / place.output).exists() == (not at.endswith("after:5"))
        assert_private(place)
    new = {path.name for path in (place.folder / place.output).iterdir()}
    assert (new & old, place.read()) == ({"_SUCCESS", "._SUCCESS.crc"}, whole[0])
    kill(place, REPLACING[4], "--overwrite")
    kill(place, "read")
    assert {path.name for path in (place.folder / place.output).iterdir()} == new
    assert place.read() == whole[0]
    assert_cleaned_up(place, whole[0], "--overwrite")


def test_spark_killed_at_fifty_random_moments(whole, tmp_path):
    place, rng = on_spark(tmp_path), random.Random("spark")
    killed = 0
    while killed < 50:  # a run may end before its moment comes
        ended = place.run(killed_after=rng.uniform(0.1, whole[1]))
        killed += ended.code == -9
        assert ended.code in (-9, 0)
        assert place.read() in (None, whole[0])
        assert_private(place)
        place.remove()
    assert_cleaned_up(place, whole[0])


JAVA_KILLED = ["read", "measure", "partition", "verify", *MOMENTS[10:13], f"{RENAME}:before:3"]


def test_java_killed_while_python_lives_on(whole, tmp_path):
    place = on_spark(tmp_path)
    for at in JAVA_KILLED:
        ended = place.run(at=at, fault="Java killed")
        if ended.code == 0:  # too late: nothing after it needs Java
            assert (at, place.read()) == (JAVA_KILLED[-1], whole[0])
            place.remove()
            continue
        assert ended.code == 2
        assert_one_clear_line(ended)
        assert prints(ended.lines[0], "java-gone"), at
        assert place.published == []
        assert [*place.hidden, *place.temporary.iterdir()] == []
    assert_cleaned_up(place, whole[0])


@pytest.mark.parametrize("at", ["partition", "shoal.backends.spark.files:_write:before"])
def test_an_executor_killed(at, whole, tmp_path):
    place = on_spark(tmp_path, "local-cluster[2,1,1024]")
    assert place.run(at=at, fault="executor killed").code == 0
    assert place.read() == whole[0]
    assert place.hidden == []
    assert list(place.temporary.iterdir()) == []


@pytest.mark.parametrize(("pages", "whose"), [(0, "both"), (24, "both"), (0, "output"), (4, "output"), (8, "output")])
def test_spark_on_a_full_disk(pages, whose, tmp_path):
    """The disk of the output, and perhaps of Spark's own files."""
    with mounted(tmp_path, 4096) as (disk, fill):
        place = on_spark(disk)
        if whose == "output":
            (tmp_path / "temporary").mkdir()
            place = replace(place, environment={**place.environment, "SPARK_LOCAL_DIRS": str(tmp_path / "temporary")})
        fill(but=pages)
        ended = place.run()
        assert [*place.hidden, *place.temporary.iterdir()] == []
        if pages == 8 and ended.code == 0:  # room enough
            assert place.read() is not None
            return
        assert ended.code == 2
        assert_one_clear_line(ended)
        assert os.strerror(errno.ENOSPC) in ended.lines[0]
        assert place.published == []

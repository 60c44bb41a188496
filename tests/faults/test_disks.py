"""Disks that are really full, permissions that are really gone, and a result that nobody can be shown."""

import contextlib
import errno
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.expect import prints
from tests.faults.runs import OPTIONS, Place, assert_nothing_left, assert_one_clear_line, large, small

import shoal

PAGE = 4096
KINDS = ["csv", "parquet", "arrow", "xlsx", "xml", "sav", "dta"]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of its own of 64 pages, and what fills it but for some."""
    with mounted(tmp_path, 64) as disk:
        yield disk


@pytest.fixture
def medium_disk(tmp_path):
    """A disk on which there is room for all that a run needs, as long as nothing fills it."""
    with mounted(tmp_path, 4096) as disk:
        yield disk


@contextlib.contextmanager
def mounted(folder: Path, pages: int) -> Iterator[tuple[Path, Callable[[int], None]]]:
    disk = folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={pages * PAGE}", "tmpfs", str(disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small disk")

    def fill(but: int) -> None:
        (disk / "filler").unlink(missing_ok=True)
        free = os.statvfs(disk).f_bavail
        (disk / "filler").write_bytes(bytes(PAGE * max(free - but, 0)))

    try:
        yield disk, fill
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def ends_well(place: Place, *more: str, **how) -> bool:
    """Run; tell whether the output is there, which is complete then, and otherwise not there at all."""
    ended = place.run(*more, **how)
    assert place.hidden == []
    if ended.code == 0:
        assert shoal.check(place.folder / place.output, k=3, quasi=["age", "income"])["records"] >= 60
        return True
    assert ended.code == 2
    assert_one_clear_line(ended)
    assert_nothing_left(place)
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk(kind, small_disk):
    disk, fill = small_disk
    place = small(disk, f"masked.{kind}")
    fill(but=0)
    assert not ends_well(place)


def test_a_disk_that_is_full_at_any_moment(small_disk):
    disk, fill = small_disk
    place = small(disk)
    outcomes = []
    for pages in range(4):  # the output takes one, the plan one, the manifest one
        fill(but=pages)
        outcomes.append(ends_well(place))
    assert outcomes == [False, False, False, True]


def test_a_disk_without_room_for_the_report(small_disk):
    disk, fill = small_disk
    place = small(disk)
    fill(but=5)
    ended = place.run("--report", "report.html")
    assert ended.code == 2
    assert_one_clear_line(ended)
    assert "The masked file" in ended.lines[0]
    assert place.hidden == []
    assert place.read() is not None
    assert not (disk / "files" / "report.html").exists()


@pytest.mark.parametrize("pages", [0, 3, 12])
def test_a_disk_without_room_for_work(pages, small_disk):
    disk, fill = small_disk
    place = large(disk)
    fill(but=pages)
    assert not ends_well(place)


@pytest.mark.parametrize("kind", KINDS)
def test_a_limit_on_the_size_of_files(kind, tmp_path):
    """As `ulimit -f` sets it, which needs no rights."""
    place = small(tmp_path, f"masked.{kind}")
    assert not ends_well(place, limits={"RLIMIT_FSIZE": 256})


def test_a_limit_on_the_size_of_files_of_work(tmp_path):
    assert not ends_well(large(tmp_path), limits={"RLIMIT_FSIZE": 4096})


@pytest.mark.parametrize(
    ("make", "at"),
    [
        (small, "shoal.backends.choose:open_table"),
        (small, "shoal.pipeline.save:write_table:after"),
        (large, "measure"),
    ],
)
def test_a_folder_that_becomes_read_only(make, at, tmp_path):
    place = make(tmp_path)
    ended = place.run(at=at, fault="folder made read-only", ordinary=True)
    place.folder.chmod(0o755)
    assert ended.code == 2
    assert_one_clear_line(ended)
    assert place.published == []
    for path in place.hidden:  # the folder does not let go of the name, but nothing is in it
        assert (list(path.iterdir()) if path.is_dir() else path.stat().st_size) in ([], 0)
    assert place.run().code == 0
    assert place.hidden == []


@pytest.mark.parametrize("make", [small, large])
def test_an_input_that_may_not_be_read(make, tmp_path):
    place = make(tmp_path)
    for path in (*place.folder.glob("in.csv"), *place.folder.glob("in/*")):
        path.chmod(0)
    ended = place.run(ordinary=True)
    assert ended.code == 2
    assert_one_clear_line(ended)
    assert prints(ended.lines[0], "file-not-readable", reason=os.strerror(errno.EACCES))
    assert_nothing_left(place)


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_result_that_cannot_be_shown(more, tmp_path):
    place = small(tmp_path)
    ended = place.run(*more, stdout="/dev/full")
    assert ended.code == 2
    assert_one_clear_line(ended)
    assert "Files that have their final names are complete" in ended.lines[0]
    assert place.read() is not None
    assert place.hidden == []


def test_an_input_from_the_future(tmp_path):
    place = small(tmp_path)
    os.utime(place.folder / "in.csv", (4e9, 4e9))
    assert place.run().code == 0


@pytest.mark.parametrize("jump", ["clock forward", "clock back"])
def test_a_budget_of_seconds_while_the_clock_jumps(jump, tmp_path):
    place = small(tmp_path)
    shown = tmp_path / "shown"
    method = ["--method", "best", "--budget", "0.5s", "--json"]
    assert place.run(*method, at="shoal.pipeline.masker:grouped", fault=jump, stdout=str(shown)).code == 0
    assert json.loads(shown.read_text())["risk"]["after"]["smallest"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [16, 40, 80, 120, 200, 300])
@pytest.mark.parametrize("make", [small, large])
def test_a_limit_on_memory_from_the_start(make, megabytes, tmp_path):
    """As `ulimit -v` sets it; where a library cannot go on, it ends the process before Shoal can say a word."""
    place = make(tmp_path)
    ended = place.run(limits={"RLIMIT_AS": megabytes << 20})
    if ended.code == 0:
        assert shoal.check(place.folder / place.output, k=3, quasi=["age", "income"])["records"] >= 60
    else:
        assert place.published == []
    if ended.code == 2:
        assert_one_clear_line(ended)
        assert place.hidden == []
    place.run("--overwrite")
    assert place.hidden == []


PAGES = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]
ALL_KINDS = [*KINDS, "tsv", "zsav", "xpt"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "kind"), [*((small, kind) for kind in ALL_KINDS), *((large, kind) for kind in ("csv", "parquet", "arrow"))]
)
def test_every_kind_of_file_on_a_disk_that_is_full_at_any_moment(make, kind, medium_disk):
    """With more pages every time, until there is room; temporary files are on that disk too."""
    disk, fill = medium_disk
    (disk / "temporary").mkdir()
    place = replace(make(disk, f"masked.{kind}"), environment={"TMPDIR": str(disk / "temporary")})
    for pages in PAGES:
        fill(but=pages)
        complete = ends_well(place)
        assert list((disk / "temporary").iterdir()) == []
        if complete:
            break
    assert complete
    assert pages > 2  # the file, its plan and its manifest


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--external"]])
def test_a_report_on_a_disk_that_is_full_at_any_moment(more, medium_disk):
    disk, fill = medium_disk
    place = small(disk)
    report = place.folder / "report.html"
    for pages in PAGES:
        fill(but=pages)
        ended = place.run("--report", "report.html", "--overwrite", *more)
        assert place.hidden == []
        if ended.code == 0:
            break
        assert ended.code == 2
        assert_one_clear_line(ended)
        assert not report.exists()
        assert len(place.published) in (0, 3)
    assert pages > 3  # which is room for the masked file, its plan and its manifest
    assert report.read_text().rstrip().endswith("</html>")


@pytest.mark.slow
@pytest.mark.parametrize("step", ["divide", "partition", "write"])
def test_a_killed_run_that_is_resumed_on_a_full_disk(step, medium_disk):
    disk, fill = medium_disk
    place = large(disk)
    assert place.run().code == 0
    whole = place.read()
    for path in place.published:
        path.unlink()
    for pages in (0, 4, 16):
        assert place.run(at=step, fault="SIGKILL").code == -9
        fill(but=pages)
        ended = place.run("--resume")
        assert place.hidden == []
        if ended.code:
            assert ended.code == 2
            assert_one_clear_line(ended)
            assert_nothing_left(place)
            fill(but=2048)
            assert place.run("--resume").code == 0
        assert place.read() == whole
        for path in place.published:
            path.unlink()
        fill(but=2048)


@pytest.mark.slow
def test_a_sweep_on_a_disk_that_is_full_at_any_moment(medium_disk):
    """Files that have their names are complete, and the line that says why there are no more names them."""
    disk, fill = medium_disk
    place = small(disk)
    roles = OPTIONS[2:-2]
    for pages in range(10):
        fill(but=pages)
        ended = place.command("sweep", "in.csv", "-k", "3-5", *roles, "--methods", "mdav", "-o", "masked-{k}.csv")
        assert place.hidden == []
        written = [path for path in place.published if path.suffix == ".csv"]
        for path in written:
            k = int(path.stem[-1])
            assert shoal.check(path, k=k, quasi=["age", "income"])["records"] == 60
        assert len(place.published) == 3 * len(written)
        for path in place.published:
            path.unlink()
        if ended.code == 0:
            break
        assert ended.code == 2
        assert_one_clear_line(replace(ended, lines=ended.lines[-1:]))
        complete = ", ".join(sorted(path.name for path in written))
        assert ended.lines[:-1] == ([f"Complete: {complete}"] if written else [])
    assert len(written) == 3

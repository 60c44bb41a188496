"""What docs/threats.md claims and no other test tries: strangers' files and folders, other users, what levels tell."""

import contextlib
import os
import re
import stat
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.expect import refused
from tests.planted import CONFIDENTIAL, QUASI, planted_table

import shoal
from shoal.backends.file.checkpoint import forget, work_folder
from shoal.errors import FileError
from shoal.pipeline.classes import class_sizes
from shoal.plan import Plan
from shoal.release import protect_file
from shoal.tables import open_table, write_table
from shoal.tables.stream_reading import readable_kind

ROOT = Path(__file__).parents[1]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="devices and pipes of Linux")


@pytest.mark.parametrize("kind", ["sav", pytest.param("spark", marks=[pytest.mark.slow, pytest.mark.spark])])
def test_code_in_the_working_folder_is_not_run(kind, tmp_path):
    name = "people.sav" if kind == "sav" else "people.parquet"
    write_table(open_table(planted_table(100)), tmp_path / name, "sav" if kind == "sav" else "parquet")
    for module in ("json", "pandas", "pyarrow", "pyreadstat"):
        (tmp_path / f"{module}.py").write_text("open('ran', 'w').close()")
    command = (
        f"import sys; sys.path.remove(''); sys.argv = {_arguments(name, kind)!r}; import shoal.cli; shoal.cli.main()"
    )
    run = subprocess.run([sys.executable, "-c", command], cwd=tmp_path, capture_output=True, timeout=600)
    assert run.returncode == 0, run.stderr
    assert not (tmp_path / "ran").exists()


def _arguments(name: str, kind: str) -> list[str]:
    roles = ["--quasi", ",".join(QUASI), "--confidential", ",".join(CONFIDENTIAL), "--identifiers", "name"]
    engine = ["--engine", "spark", "--block-records", "30"] if kind == "spark" else []
    return ["shoal", "protect", name, "-k", "5", *roles, *engine, "-o", "masked.parquet"]


@LINUX
@pytest.mark.parametrize("ending", ["csv", "parquet", "sav"])
def test_pipes_and_devices_are_refused(ending, tmp_path):
    pipe, endless = tmp_path / f"pipe.{ending}", tmp_path / f"zero.{ending}"
    os.mkfifo(pipe)
    endless.symlink_to("/dev/zero")
    for path in (pipe, endless):
        for read in (open_table, readable_kind):
            with refused(FileError, "pipe-or-device", path=str(path)):
                read(path)


@LINUX
def test_a_plan_that_never_ends_or_nests_is_refused(tmp_path):
    with refused(FileError, "file-too-large", what="plan file", most=10_000_000):
        Plan.load("/dev/zero")
    (tmp_path / "deep.toml").write_text("k = 2\nquasi = " + "[" * 100_000)
    with refused(FileError, "toml-nested", what="plan file"):
        Plan.load(tmp_path / "deep.toml")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_a_work_folder_of_another_user_is_refused(tmp_path):
    output = tmp_path / "masked.parquet"
    planted = tmp_path / ".masked.parquet.shoal"
    planted.mkdir()
    os.chown(planted, 12345, -1)
    with (
        refused(FileError, "folder-of-another-user", path=planted),
        work_folder(output, Plan(k=2), [], [], True),
    ):
        pass
    with refused(FileError, "folder-of-another-user", path=planted):
        forget(output)


def test_links_in_place_of_the_output_are_not_followed(tmp_path):
    (tmp_path / "there").mkdir()
    other, output = tmp_path / "there" / "other.csv", tmp_path / "masked.csv"
    release = shoal.protect(planted_table(100), k=5, quasi=QUASI, confidential=CONFIDENTIAL, identifiers=["name"])
    output.symlink_to(other)
    with refused(FileError, "file-exists", path=str(output)):  # it leads to nothing, and nothing is made there
        release.save(output)
    assert not other.exists()
    other.write_text("somebody's")
    release.save(output, overwrite=True)
    assert other.read_text() == "somebody's"
    assert not output.is_symlink()


def test_groups_do_not_depend_on_what_is_not_masked():
    table = planted_table(120)
    other = table.set_column(4, "debt", pa.array(np.arange(120))).set_column(3, "illness", pa.array(["flu"] * 120))
    one, two = (
        shoal.protect(each, k=5, quasi=QUASI, confidential=CONFIDENTIAL, identifiers=["name"]).table
        for each in (table, other)
    )
    assert one.select(QUASI).equals(two.select(QUASI))


def test_texts_that_look_alike_are_counted_apart():
    both = ["\u00e9", unicodedata.normalize("NFD", "\u00e9")]
    assert sorted(class_sizes(open_table(pa.table({"x": [*both, *both, both[0]]})), ["x"])) == [2, 3]


def test_levels_and_categories_that_nobody_publishes_go(tmp_path):
    rng = np.random.default_rng(1)
    order, town = rng.choice(["low", "mid"], 60).astype(object), rng.choice(["a", "b"], 60).astype(object)
    order[7], town[9] = "rare level", "rare town"
    levels = pd.CategoricalDtype(["low", "mid", "rare level"], ordered=True)
    people = pd.DataFrame({"order": pd.Series(order, dtype=levels), "town": pd.Categorical(town)})
    shoal.protect(people, k=5, quasi=["order", "town"]).save(tmp_path / "masked.parquet")
    published = pq.read_table(tmp_path / "masked.parquet")
    assert published["order"].chunk(0).dictionary.to_pylist() == ["low", "mid"]
    assert "rare town" not in published["town"].chunk(0).dictionary.to_pylist()
    for beside in ("manifest.json", "plan.toml"):
        assert "rare" not in (tmp_path / f"masked.parquet.{beside}").read_text()


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("mask", ["022", "077"])
def test_spark_keeps_what_it_spills_to_itself(mask, tmp_path):
    spills, work = tmp_path / "spills", tmp_path / "work"
    spills.mkdir()
    work.mkdir()
    pq.write_table(planted_table(2000), work / "people.parquet")
    command = ["-m", *_arguments("people.parquet", "spark")]
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(spills)}
    run = subprocess.Popen([sys.executable, *command], cwd=work, env=environment, umask=int(mask, 8))
    seen: set[int] = set()
    while run.poll() is None:
        seen |= {mode for _, mode in _modes(spills)}
        time.sleep(0.05)
    assert run.returncode == 0
    assert {stat.S_IFDIR | 0o700, stat.S_IFREG | 0o600} <= seen
    assert not any(mode & 0o077 for mode in seen)
    assert {mode for _, mode in _modes(work / "masked.parquet")} == {stat.S_IFREG | 0o666 & ~int(mask, 8)}
    assert list(spills.iterdir()) == []


def _modes(folder: Path) -> list[tuple[Path, int]]:
    """Return the modes of all that lies in a folder, kinds included; what goes meanwhile is passed over."""
    found = []
    for inside, folders, files in os.walk(folder):
        for path in (Path(inside, name) for name in folders + files):
            with contextlib.suppress(OSError):
                found.append((path, path.lstat().st_mode))
    return found


def test_a_run_in_pieces_leaves_its_folder_to_nobody(tmp_path):
    write_table(open_table(planted_table(6000)), tmp_path / "people.csv", "csv")
    plan = Plan(
        k=5,
        quasi=QUASI,
        confidential=CONFIDENTIAL,
        identifiers=["name"],
        input=str(tmp_path / "people.csv"),
        output=str(tmp_path / "masked.csv"),
        scale={"memory": "1MB", "block_size": 500},
    )
    seen = {}

    def look(step: str, done: float, total: float) -> None:
        folder = tmp_path / ".masked.csv.shoal"
        seen.update({path.name: stat.S_IMODE(mode) for path, mode in _modes(folder) if path.suffix == ""})
        if folder.exists():
            seen["."] = stat.S_IMODE(folder.stat().st_mode)

    mask = os.umask(0)
    try:
        protect_file(plan, progress=look)
    finally:
        os.umask(mask)
    assert seen.pop(".") == seen.pop("sorting", 0o700) == 0o700
    assert {"codes", "records"} <= {*seen}
    assert {*seen.values()} == {0o600}
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("page", ["threats.md", "trust.md"])
def test_the_tests_that_claims_name_are_there(page):
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / page).read_text(encoding="utf-8")))
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named
    assert named <= there

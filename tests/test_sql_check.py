"""The count in SQL sees a group below k, in every kind of file, and says what it could not look at."""

import hashlib
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from tests.sql_check import Watch, smallest_group

import shoal

PLAN = 'k = 3\nquasi = ["a", "b"]\nmethod = "mdav"\n'


@pytest.fixture
def folder():
    """A folder that is gone before the count of this very run looks for what was published."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def published(folder: Path, rows: list[str], plan: str = PLAN) -> Path:
    """Write a file as another process would have published it."""
    path = folder / "out.csv"
    path.write_text("\n".join(["a,b,c", *rows]) + "\n")
    csv = {"delimiter": ",", "quote": '"'}
    told = {"published": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "csv": csv}}
    (folder / "out.csv.manifest.json").write_text(json.dumps(told))
    (folder / "out.csv.plan.toml").write_text(plan)
    return path


def found(folder: Path):
    watch = Watch()
    watch.look_through(folder)
    return watch.tally


def test_a_group_below_k_is_found(folder):
    path = published(folder, ["1,x,1", "1,x,2", "1,x,3", "1,y,4", "1,y,5"])
    tally = found(folder)
    assert tally.below == [f"{path}: smallest group 2, k = 3"]
    assert "1 published files, smallest group 2 (least k 3), 1 below k" in tally.line


def test_strata_count_unless_they_were_merged(folder):
    published(folder, ["1,x,1", "1,x,1", "1,x,2", "1,x,2"], PLAN + 'strata = ["c"]\n')
    assert found(folder).smallest == 2
    published(folder, ["1,x,1", "1,x,1", "1,x,2", "1,x,2"], PLAN + 'strata = ["c"]\nsmall_strata = "merge"\n')
    assert found(folder).smallest == 4


def test_each_block_counts_by_itself(folder):
    rows = ["1,x,1", "1,y,2", "1,x,3", "1,y,4", "1,x,5", "1,y,6"]
    published(folder, rows, 'k = 3\nblocks = [["a"], ["b"]]\nmethod = "mdav"\n')
    assert (found(folder).smallest, found(folder).below) == (3, [])


def test_what_a_test_changed_or_what_promises_nothing_is_told(folder):
    path = published(folder, ["1,x,1"], PLAN.replace("mdav", "mic1d"))
    assert found(folder).no_promise == 1
    path.write_text("a,b,c\n1,x,7\n")
    assert (found(folder).changed, found(folder).checked) == (1, 0)


def test_what_cannot_be_read_is_told(folder):
    published(folder, ["1,x,1"], PLAN.replace('"a"', '"nowhere"'))
    assert len(found(folder).unread) == 1


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "arrow", "xlsx", "xml", "sav", "dta", "xpt", "por"])
def test_every_kind_of_file_is_counted(tmp_path, kind):
    table = pa.table({"A": [float(i * i) for i in range(20)], "B": [float(-i) for i in range(20)], "T": ["x;'"] * 20})
    release = shoal.protect(table, k=4, quasi=["A", "B"], publish=["T"])
    path = tmp_path / f"out.{kind}"
    release.save(path)
    smallest = min(release.groups.tolist().count(group) for group in set(release.groups.tolist()))
    assert smallest_group(path, path, ["A", "B"]) == smallest >= 4

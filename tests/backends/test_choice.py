"""Which engine a file gets, and what a run that was killed has left."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.expect import refused, reports

import shoal
from shoal.backends.choose import engine_for
from shoal.backends.file.checkpoint import forget
from shoal.plan import Plan


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"x": np.arange(50_000.0), "t": ["the same text for all, which Parquet keeps once"] * 50_000}), path
    )
    return path


def test_a_file_goes_to_memory_while_it_fits(table, tmp_path):
    def engine(**options):
        return engine_for(Plan(**{"k": 3, "input": table, **options}))[0]

    assert engine() == "memory"
    assert engine(scale={"memory": "8MB"}) == "file"  # as it will be in memory, not on disk
    assert engine(engine="spark") == "spark"
    assert engine(engine="file") == "file"
    assert engine(engine="memory", scale={"memory": "8MB"}) == "memory"
    assert engine(input=tmp_path) == "file"
    assert engine(input=tmp_path / "nothing.csv") == "memory"


def test_a_note_says_why_a_file_is_not_read_into_memory(table, tmp_path):
    note = engine_for(Plan(k=3, input=table, scale={"memory": "8MB"}))[1]
    assert reports([note], "file-engine-chosen", limit=0.008)
    assert 0.008 < note.data["needed"] < 0.1
    assert engine_for(Plan(k=3, input=tmp_path))[1].data == {"needed": None}


@pytest.mark.parametrize(
    ("given", "options", "code", "field", "data"),
    [
        (False, {}, "no-input", "input", {"table": True}),
        (True, {"engine": "spark"}, "engine-not-for-table", "engine", {"engine": "spark"}),
        (True, {"resume": True}, "not-on-engine", "resume", {"engine": "memory", "instead": None}),
        (True, {"method": "mdav", "on_interrupt": "keep"}, "not-for-method", "on_interrupt", {"method": "mdav"}),
        (
            False,
            {"on_interrupt": "keep", "engine": "file"},
            "not-on-engine",
            "on_interrupt",
            {"option": "'keep'", "engine": "file", "instead": "memory"},
        ),
        (False, {"engine": "file"}, "no-input", "input", {}),
        (False, {"engine": "file"}, "no-output", "output", {}),
    ],
)
def test_what_does_not_suit_the_table_or_the_engine_is_refused(given, options, code, field, data):
    with refused(shoal.PlanError, code, field, **data):
        shoal.protect(pa.table({"x": [1.0, 2, 3]}) if given else None, k=3, quasi=["x"], **options)


def test_a_file_that_takes_more_memory_than_allowed_is_refused(table):
    with refused(shoal.PlanError, "table-exceeds-memory", "engine") as caught:
        shoal.protect(table, k=3, quasi=["x"], engine="memory", scale={"memory": "8MB"})
    assert 0.008 < caught.value.messages[0].data["needed"] < 0.1


def test_what_a_killed_run_left_is_removed_by_any_later_one(tmp_path):
    left = tmp_path / ".out.parquet.shoal"
    left.mkdir(mode=0o700)
    (left / "codes").write_bytes(b"original values")
    (left / "state.json").write_text("{")
    forget(tmp_path / "out.parquet")
    assert not left.exists()
    forget(tmp_path / "out.parquet")


def test_what_is_damaged_cannot_be_resumed(table, tmp_path):
    left = tmp_path / ".out.parquet.shoal"
    left.mkdir(mode=0o700)
    (left / "state.json").write_text("{")
    plan = Plan(k=3, quasi=["x"], publish=["t"], input=table, output=tmp_path / "out.parquet", scale={"memory": "8MB"})
    with refused(shoal.FileError, "damaged-run", path=left):
        shoal.protect_file(plan, resume=True)
    shoal.protect_file(plan)
    assert not left.exists()


def test_a_plan_beside_a_large_file_gives_the_same_bytes_again(table, tmp_path):
    plan = Plan(k=3, quasi=["x"], publish=["t"], input=table, output=tmp_path / "out.parquet", scale={"memory": "8MB"})
    shoal.protect_file(plan)
    again = Plan.load(tmp_path / "out.parquet.plan.toml").updated(output=str(tmp_path / "again.parquet"))
    assert engine_for(again)[0] == "file"
    shoal.protect_file(again)
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "out.parquet").read_bytes()


def test_a_folder_with_something_else_in_it_is_refused(table, tmp_path):
    (tmp_path / "sub").mkdir()
    with refused(shoal.FileError, "other-file-in-folder", path=str(tmp_path), name="sub"):
        shoal.protect_file(Plan(k=3, quasi=["x"], input=tmp_path, output=tmp_path.parent / "folder-out.parquet"))


def test_categories_alone_are_masked_in_one_block(tmp_path):
    rng = np.random.default_rng(0)
    pq.write_table(pa.table({"town": rng.choice(["a", "b", "c"], 3000)}), tmp_path / "t.parquet")
    plan = Plan(
        k=3, quasi=["town"], input=tmp_path / "t.parquet", output=tmp_path / "out.parquet", scale={"memory": "9MB"}
    )
    assert shoal.protect_file(plan).summary()["risk"]["after"]["smallest"] >= 3

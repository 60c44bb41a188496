"""The size of record blocks that suits the data: the least loss of those tried, said in a note."""

import numpy as np
import pyarrow as pa
import pytest
from tests.expect import refused, reports

import shoal
from shoal.errors import PlanError
from shoal.messages import Message
from shoal.pipeline import best_block_size


def blocks_note(release):
    return next(note for note in release.notes if note.code.startswith("block-size-"))


@pytest.fixture
def eia(reference):
    X = reference("eia")
    return pa.table({f"x{j}": column for j, column in enumerate(X.T)})


def test_blocks_of_the_2d_tree_that_lose_less_than_the_whole_are_found(eia):
    """The paper reports it for k = 5: EIA is clustered, and the tree follows the clusters."""
    loss = {}
    for size in (10_000, "auto"):
        scale = {"blocking": "2^d", "block_size": size}
        release = shoal.protect(eia, k=5, quasi=eia.column_names, method="mdav", scale=scale)
        loss[size] = release.loss()["IL"]
    assert loss["auto"] < loss[10_000]
    assert release.plan.scale.block_size == 2000
    note = blocks_note(release)
    assert (note.code, note.data["size"]) == ("block-size-chosen", 2000)
    assert note.data["others"][0].data["size"] == 1000


def test_blocks_are_as_large_as_memory_allows_if_these_lose_least():
    table = pa.table({"a": np.random.default_rng(0).random(1000)})  # whose optimum no blocks can beat
    release = shoal.protect(table, k=3, quasi=["a"], scale={"block_size": "auto"})
    assert release.blocking is None
    note = blocks_note(release)
    assert (note.code, note.data["tried"].code) == ("block-size-as-memory-allows", "largest-block-size-loses-least")
    assert release.plan.scale.block_size is None


def test_large_files_are_tried_in_regions(monkeypatch):
    monkeypatch.setattr(best_block_size, "_RECORDS", 900)
    monkeypatch.setattr(best_block_size, "_FEWEST", 4)
    rng = np.random.default_rng(0)
    table = pa.table({"a": np.repeat(rng.random(40), 50) + 1e-6 * rng.random(2000), "b": rng.random(2000)})
    release = shoal.protect(table, k=3, quasi=["a", "b"], method="mdav", scale={"block_size": "auto"})
    records = int(blocks_note(release).split("on ")[1].split()[0].replace(",", ""))
    assert 600 < records <= 900


def test_strata_rules_and_sensitive_values_do_not_stop_the_trial():
    rng = np.random.default_rng(0)
    n = 400
    table = pa.table(
        {
            "a": rng.random(n),
            "t": rng.choice(["x", "y"], n),
            "s": rng.choice(["m", "f"], n),
            "c": rng.choice(list("pqr"), n),
        }
    )
    options = {"k": 3, "quasi": ["a", "t"], "strata": ["s"], "confidential": ["c"], "l": 2, "edits": ["a >= 0"]}
    release = shoal.protect(table, **options, scale={"block_size": "auto"})
    assert release.records == n
    assert blocks_note(release)


def test_nominal_attributes_take_part_in_blocks():
    rng = np.random.default_rng(0)
    town, income = rng.choice(list("ABCDEFGH"), 2000), rng.lognormal(8, 1, 2000)
    table = pa.table({"town": town, "income": income})
    release = shoal.protect(table, k=5, quasi=["town", "income"], scale={"block_size": 300})
    by_block = {}
    for block, each in zip(release.published.masker.block_of(release.published.rows), town, strict=True):
        by_block.setdefault(int(block), set()).add(each)
    assert len(by_block) == release.blocking.blocks > 5
    assert np.mean([*map(len, by_block.values())]) < 6  # all eight without


def test_categories_alone_make_blocks():
    table = pa.table({"town": np.random.default_rng(0).choice(list("ABCD"), 400)})
    release = shoal.protect(table, k=5, quasi=["town"], scale={"block_size": 100})
    assert release.blocking.blocks == 4
    assert release.loss()["SSE"] == 0


@pytest.mark.parametrize(
    ("scale", "code", "data"),
    [
        ({"blocking": "2^d", "dimensions": ["town"]}, "dimension-without-range", {"column": "town", "type": "nominal"}),
        ({"blocking": "sorted", "dimensions": ["town"]}, "dimension-without-range", {"column": "town"}),
        ({"blocking": "interval", "dimensions": ["one"]}, "constant-dimensions", {"columns": ["one"]}),
        ({"blocking": "2^d", "dimensions": ["one"]}, "constant-dimensions", {"columns": ["one"]}),
    ],
)
def test_attributes_that_cannot_divide_are_refused_by_name(scale, code, data):
    rng = np.random.default_rng(0)
    table = pa.table({"town": rng.choice(["A", "B"], 100), "income": rng.random(100), "one": np.ones(100)})
    with refused(PlanError, code, "scale.dimensions", **data):
        shoal.protect(table, k=3, quasi=["town", "income", "one"], scale={"block_size": 20, **scale})


def test_dimensions_are_checked_where_the_table_says_what_is_masked():
    table = pa.table({"town": ["A", "B"] * 50, "income": np.arange(100.0)})
    with refused(PlanError, "not-masked", "scale.dimensions", column="town"):
        shoal.protect(table, k=3, publish=["town"], scale={"blocking": "2^d", "dimensions": ["town"]})
    with pytest.raises(PlanError, match="names 'other', which is not masked"):
        shoal.protect(table, k=3, quasi=["income"], scale={"blocking": "sorted", "dimensions": ["other"]})


def test_fused_leaves_and_blocks_are_counted_in_the_release():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.random(300), [5.0, 5.1], 9 + rng.random(298)])
    scale = {"block_size": 60, "blocking": "2^d", "dimensions": ["x"]}
    release = shoal.protect(pa.table({"x": x, "y": rng.random(600)}), k=3, quasi=["x", "y"], method="mdav", scale=scale)
    found = release.summary()["blocking"]
    assert found["fused"] == 1
    assert found["smallest"] >= 3
    assert reports(release.notes, "blocks-fused", leaves=1, blocks=found["blocks"])


def test_a_sweep_over_k_divides_anew():
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.random(200), "b": rng.random(200)})
    sweep = shoal.sweep(table, k=[3, 9], method="mdav", quasi=["a", "b"], scale={"block_size": 10, "blocking": "2^d"})
    assert [row["k"] for row in sweep.rows] == [3, 9]


@pytest.mark.parametrize("blocking", ["kd", "sorted"])
def test_records_that_are_all_alike_lose_nothing_in_any_block(blocking):
    table = pa.table({"a": [1] * 60, "b": [2] * 60})
    dimensions = ["a"] if blocking == "sorted" else None
    scale = {"block_size": "auto", "blocking": blocking, "dimensions": dimensions}
    release = shoal.protect(table, k=5, scale=scale)
    assert release.loss()["SSE"] == 0


def test_a_file_too_small_for_several_sizes_says_so():
    table = pa.table({"a": np.arange(40.0), "b": np.arange(40.0) ** 2})
    note = blocks_note(shoal.protect(table, k=3, scale={"block_size": "auto"}))
    assert note.code == "block-size-as-memory-allows"
    assert note.data == {"records": 40, "tried": Message("too-few-for-sizes")}

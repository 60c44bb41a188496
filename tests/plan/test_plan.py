"""A plan is validated once, and says everything that is wrong with it."""

import numpy as np
import pytest

from shoal import FileError, Plan, PlanError


def problems(**options):
    with pytest.raises(PlanError) as caught:
        Plan(**options)
    return dict(caught.value.problems)


@pytest.mark.parametrize("k", [1, 0, -3, 2.7, "many", True, None])
def test_k_must_be_a_whole_number_of_at_least_two(k):
    assert set(problems(k=k)) == {"k"}


def test_all_mistakes_are_reported_together_each_naming_its_field():
    found = problems(
        k=1,
        quasi=["a", "a"],
        confidential=["b"],
        identifiers=["b"],
        metod="mdav",
        aggregate="average",
        small_strata="merge",
    )
    assert set(found) == {"k", "quasi", "identifiers", "metod", "aggregate", "small_strata"}


def test_an_unknown_option_suggests_the_nearest():
    assert problems(k=3, quasy=["a"])["quasy"] == "is not a field of a plan. Did you mean 'quasi'?"


def test_an_attribute_has_one_role():
    assert "quasi too" in problems(k=3, quasi=["a"], strata=["a"])["strata"]


def test_published_columns_are_a_role_given_as_names_or_as_the_word_rest():
    assert Plan(k=2, publish="region").publish == ["region"]
    assert Plan(k=2, publish="rest").publish == "rest"
    assert Plan(k=2, publish=["rest"]).publish == ["rest"]  # a column of that name
    with pytest.raises(PlanError, match="publish: names 'age', which is in quasi too"):
        Plan(k=2, quasi=["age"], publish=["age"])
    with pytest.raises(PlanError, match="publish: would be released without noise"):
        Plan(k=2, epsilon=1, bounds={"age": [0, 1]}, quasi=["age"], publish="rest")


def test_blocks_must_cover_the_quasi_identifiers():
    assert "'b'" in problems(k=3, quasi=["a", "b"], blocks=[["a"]])["blocks"]
    assert "'c'" in problems(k=3, quasi=["a"], blocks=[["a"], ["c"]])["blocks"]
    assert "more than once" in problems(k=3, blocks=[["a"], ["a"]])["blocks"]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"trim": 1}, "trim"),
        ({"gain": 0.2}, "gain"),
        ({"method": "vmdav", "gain": -1}, "gain"),
        ({"tour": "savings"}, "tour"),
        ({"method": "npn-mhm", "tour": "refined"}, "tour"),
        ({"method": "tour", "tour": "shortest"}, "tour"),
        ({"small_strata": "merge"}, "small_strata"),
        ({"method": "univariate", "quasi": ["a", "b"]}, "method"),
        ({"method": "univariate", "blocks": [["a", "b"]]}, "method"),
        ({"preserve": "weighted_mean"}, "preserve"),
        ({"weights": "w", "preserve": "weighted_mean", "missing": "group"}, "preserve"),
        ({"quasi": ["a"], "confidential": ["c"], "types": {"c": "nominal"}}, "types"),
        ({"quasi": ["a"], "levels": {"a": ["x", ""]}}, "levels"),
        ({"scale": {"block_size": 2}}, "scale.block_size"),
        ({"scale": {"block_size": "some"}}, "scale.block_size"),
        ({"scale": {"block_size": True}}, "scale.block_size"),
        ({"scale": {"block_size": 2.5}}, "scale.block_size"),
        ({"scale": {"blocking": "interval"}}, "scale.dimensions"),
        ({"scale": {"blocking": "sorted", "dimensions": ["a", "b"]}}, "scale.dimensions"),
        ({"scale": {"blocking": "2^d", "dimensions": ["a", "a"]}}, "scale.dimensions"),
        ({"scale": {"dimensions": ["a"]}}, "scale.dimensions"),
        ({"quasi": ["a"], "scale": {"blocking": "2^d", "dimensions": ["b"]}}, "scale.dimensions"),
        ({"method": "mic1d", "scale": {"blocking": "2^d"}}, "scale.blocking"),
        ({"method": "ms", "confidential": ["c"], "alpha": 0.3, "scale": {"blocking": "2^d"}}, "scale.blocking"),
        ({"method": "hybrid", "confidential": ["c"], "scale": {"block_size": "auto"}}, "scale.block_size"),
        ({"scale": {"memory": "much"}}, "scale.memory"),
        ({"scale": {"master": "local[2]"}}, "scale.master"),
        ({"scale": {"seams": True}, "method": "pca"}, "scale.seams"),
        ({"scale": {"blocksize": 5000}}, "scale.blocksize"),
        ({"weights": "w", "preserve": "weighted_mean", "round": True}, "round"),
        ({"weights": "w", "aggregate": "trimmed_mean"}, "aggregate"),
        ({"weights": "w", "quasi": ["w"]}, "weights"),
        ({"l": 3}, "l"),
        ({"l": 1, "confidential": ["c"]}, "l"),
        ({"l": 2.5, "confidential": ["c"]}, "l"),
        ({"l": True, "confidential": ["c"], "l_form": "entropy"}, "l"),
        ({"l": 1.0, "confidential": ["c"], "l_form": "entropy"}, "l"),
        ({"l_form": "entropy"}, "l_form"),
        ({"l": 2, "confidential": ["c"], "c": 3}, "c"),
        ({"l": 2, "confidential": ["c"], "l_form": "recursive"}, "c"),
        ({"l": 2, "confidential": ["c"], "l_form": "recursive", "c": 0}, "c"),
        ({"t": 0.1}, "t"),
        ({"t": 0.0, "confidential": ["c"]}, "t"),
        ({"l": 2, "confidential": ["c"], "blocks": [["a"], ["b"]]}, "l"),
        ({"method": "mic1d", "missing": "group"}, "missing"),
        ({"method": "mic1d", "weights": "w"}, "weights"),
        ({"quasi": ["a"], "types": {"b": "nominal"}}, "types"),
        ({"quasi": ["a"], "types": {"a": "number"}}, "types.a"),
        ({"quasi": ["a"], "levels": {"a": ["x", "y"]}, "types": {"a": "nominal"}}, "levels"),
        ({"quasi": ["a"], "levels": {"a": ["x", "x"]}}, "levels"),
        ({"quasi": ["a"], "levels": {"a": []}}, "levels.a"),
        ({"quasi": ["a"], "attribute_weights": {"a": 0}}, "attribute_weights.a"),
        ({"quasi": ["a"], "attribute_weights": {"b": 2}}, "attribute_weights"),
        ({"quasi": ["a"], "aggregate": {"b": "mode"}}, "aggregate"),
        ({"quasi": ["a"], "aggregate": {"a": "most"}}, "aggregate.a"),
        ({"missing": "drop"}, "missing"),
        ({"block_size": 2}, "block_size"),
        ({"blocks": "other"}, "blocks"),
        ({"method": "mic1d", "strata": ["a"]}, "strata"),
        ({"method": "mic1d", "aggregate": "median"}, "aggregate"),
        ({"method": "mic1d", "standardize": "minmax"}, "standardize"),
        ({"edits": []}, "edits"),
        ({"edits": 5}, "edits"),
        ({"recompute": "a"}, "recompute"),
        ({"edits_original": "keep"}, "edits_original"),
    ],
)
def test_an_option_that_does_not_apply_is_an_error(options, field):
    assert field in problems(k=3, **options)


def test_only_a_method_without_groups_needs_no_k():
    assert problems(quasi=["a"]) == {"k": "Set k, the minimum group size, for example -k 5."}
    with pytest.raises(PlanError, match=r"^Set k, the minimum group size, for example -k 5\.$"):
        Plan()
    assert Plan(method="ms", confidential=["a"], alpha=0.3).k is None


def test_the_engine_is_a_field_of_the_plan_and_not_of_its_scale(tmp_path):
    (tmp_path / "plan.toml").write_text('k = 3\n[scale]\nengine = "spark"\n')
    with pytest.raises(PlanError) as error:
        Plan.load(tmp_path / "plan.toml")
    assert str(error.value) == (
        "plan.toml: 'scale.engine' is not in the table scale. Use engine, above all tables of the plan file."
    )
    assert Plan(k=3, engine="spark", scale={"master": "local[2]"}).engine == "spark"
    assert "Add --engine spark." in problems(k=3, engine="file", scale={"master": "local[2]"})["scale.master"]
    assert problems(k=3, engine="local") == {"engine": "must be 'memory', 'file' or 'spark'."}


def test_the_parts_of_csv_are_changed_one_by_one():
    plan = Plan(k=3, csv={"encoding": "cp437"}).updated(csv={"delimiter": ";"})
    assert (plan.csv.encoding, plan.csv.delimiter) == ("cp437", ";")
    assert problems(k=3, csv={"delimiter": ";;", "foo": 1, "quote": 5}).keys() == {
        "csv.delimiter",
        "csv.foo",
        "csv.quote",
    }


def test_an_empty_block_is_an_error():
    assert "names no attribute" in problems(k=3, blocks=[["a"], []])["blocks"]


def test_trimming_must_leave_a_record_of_the_smallest_group():
    assert "trim" in problems(k=4, aggregate="trimmed_mean", trim=2)
    assert Plan(k=5, aggregate="trimmed_mean", trim=2).trimmed == 2
    assert Plan(k=3, aggregate="trimmed_mean").trimmed == 1


def test_one_name_and_numpy_integers_are_welcome():
    assert Plan(k=np.int64(3), quasi="age") == Plan(k=3, quasi=["age"])


def test_a_plan_file_gives_the_same_plan(tmp_path):
    plan = Plan(
        k=5,
        quasi=["a", "b"],
        blocks=[["a"], ["b"]],
        strata=["région"],
        small_strata="merge",
        input=tmp_path / "data.csv",
        output=tmp_path / "masked.csv",
        csv={"delimiter": ";"},
    )
    file = tmp_path / "plan.toml"
    file.write_text(plan.to_toml(tmp_path), encoding="utf-8")
    assert Plan.load(file) == plan


def test_paths_in_a_plan_file_are_relative_to_it(tmp_path):
    file = tmp_path / "plan.toml"
    file.write_text('k = 3\ninput = "data.csv"\n')
    assert Plan.load(file).input == str(tmp_path / "data.csv")


def test_a_broken_plan_file_is_a_clear_error(tmp_path):
    with pytest.raises(FileError, match="no plan file"):
        Plan.load(tmp_path / "absent.toml")
    (tmp_path / "broken.toml").write_text("k = ")
    with pytest.raises(FileError, match="not valid TOML"):
        Plan.load(tmp_path / "broken.toml")

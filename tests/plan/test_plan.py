"""A plan is validated once, and says everything that is wrong with it."""

import numpy as np
import pytest
from tests.expect import refused

from shoal import FileError, Plan, PlanError


def test_published_columns_are_a_role_given_as_names_or_as_the_word_rest():
    assert Plan(k=2, publish="region").publish == ["region"]
    assert Plan(k=2, publish="rest").publish == "rest"
    assert Plan(k=2, publish=["rest"]).publish == ["rest"]  # a column of that name


def test_the_engine_is_a_field_of_the_plan_and_not_of_its_scale(tmp_path):
    (tmp_path / "plan.toml").write_text('k = 3\n[scale]\nengine = "spark"\n')
    with refused(PlanError, "field-in-wrong-table", "scale.engine", table="scale", name="engine") as caught:
        Plan.load(tmp_path / "plan.toml")
    assert caught.value.source == "plan.toml"
    assert str(caught.value).startswith("plan.toml: 'scale.engine' ")
    assert Plan(k=3, engine="spark", scale={"master": "local[2]"}).engine == "spark"


def test_the_parts_of_csv_are_changed_one_by_one():
    plan = Plan(k=3, csv={"encoding": "cp437"}).updated(csv={"delimiter": ";"})
    assert (plan.csv.encoding, plan.csv.delimiter) == ("cp437", ";")
    with pytest.raises(PlanError) as caught:
        Plan(k=3, csv={"delimiter": ";;", "foo": 1, "quote": 5})
    found = {each.field: each.code for each in caught.value.messages}
    assert found == {"csv.delimiter": "not-one-character", "csv.foo": "unknown-field", "csv.quote": "not-text"}


def test_trimming_leaves_a_record_of_the_smallest_group():
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


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "no-file"),
        ("k = ", "toml-syntax"),
        (b"\xff", "file-not-readable"),
        ("k = " + "1" * 5000, "toml-number-too-long"),
        ("k = " + "[" * 100_000, "toml-nested"),
        ("#" * 10_000_001, "file-too-large"),
    ],
    ids=["absent", "broken", "bytes", "number", "deep", "long"],
)
def test_a_broken_plan_file_is_a_clear_error(tmp_path, content, code):
    path = tmp_path / "plan.toml"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with refused(FileError, code, what="plan file", path=path):
        Plan.load(path)

"""Verification finds what is wrong, and passes what is right."""

import dataclasses
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expect import codes, refused, reports

import shoal
from shoal.backends.memory import verify_in_memory
from shoal.pipeline.classes import class_sizes
from shoal.tables import open_table


@given(st.lists(st.tuples(st.sampled_from([1, 2, None]), st.sampled_from(["a", "b", None])), min_size=1))
def test_combinations_are_counted_with_missing_equal_only_to_missing(rows):
    x, y = zip(*rows, strict=True)
    table = open_table(pa.table({"x": pa.array(x, pa.int64()), "y": pa.array(y, pa.string())}))
    sizes = class_sizes(table, ["x", "y"])
    assert sorted(sizes) == sorted(Counter(rows).values())


ORIGINAL = pa.table({"name": ["A", "B", "C", "D"], "x": [1.0, 3, 10, 12], "y": [1, 2, 3, float("nan")]})
RIGHT = pa.table({"x": [2.0, 2, 11, 11], "y": [1, 2, 3, float("nan")]})


def verified(published: pa.Table, original: pa.Table, **options):
    """Verify a table as if it were the release of another."""
    promise = shoal.protect(original, publish="rest", **options).published.promise
    return verify_in_memory(open_table(original), open_table(published), promise)


def failures(published):
    with pytest.raises(shoal.CheckFailed) as caught:
        verified(published, ORIGINAL, k=2, quasi=["x"], identifiers=["name"])
    return caught.value.failures


def replaced(name, values):
    return RIGHT.set_column(RIGHT.column_names.index(name), name, pa.array(values))


def test_what_is_right_passes():
    found = verified(RIGHT, ORIGINAL, k=2, quasi=["x"], identifiers=["name"])  # or it raises
    assert found.blocks == [{2: 2}]


def test_a_combination_below_k_is_found():
    [found] = failures(replaced("x", [2.0, 2, 10, 12]))
    assert reports([found], "group-below-k", below=2, combinations=3, columns=["x"], k=2, smallest=1, counts="record")


@pytest.mark.parametrize(
    ("column", "published", "options", "code"),
    [
        (["a", "a", "b", "b"], ["a"] * 4, {"quasi": ["x", "z"]}, "category-of-none"),
        ([1.0, None, 5, 6], [1.0, 1, 5.5, 5.5], {"quasi": ["x", "z"], "missing": "group"}, "few-known-values"),
        (["a", "a", "b", "b"], None, {"quasi": ["x"], "confidential": ["z"], "t": 0.4}, "t-not-kept"),
    ],
)
def test_groups_that_hide_no_value_are_found(column, published, options, code):
    original = pa.table({"x": [1.0, 3, 10, 12], "z": column})
    spoilt = pa.table({"x": [2.0, 2, 11, 11], "z": published or column})
    with refused(shoal.CheckFailed, code, column="z"):
        verified(spoilt, original, k=2, **options)


def test_a_value_outside_its_group_is_found():
    assert reports(failures(replaced("x", [2.0, 2, 13, 13]))[:1], "outside-the-range", column="x", values=1)


@pytest.mark.parametrize("weights", [{}, {"weights": "w"}])
def test_a_rounded_mean_that_is_off_by_more_than_a_half_is_found(weights):
    original = pa.table({"x": [1, 2, 4, 20, 22, 23], "w": [1.0] * 6})
    asked = {"k": 3, "quasi": ["x"], **weights}
    verified(pa.table({"x": [2, 2, 2, 22, 22, 22], "w": [1.0] * 6}), original, **asked)  # means 2.33 and 21.67
    with refused(shoal.CheckFailed, "sum-not-kept", column="x", groups=1):
        verified(pa.table({"x": [3, 3, 3, 22, 22, 22], "w": [1.0] * 6}), original, **asked)


def test_rows_that_changed_places_are_found():
    assert reports(failures(replaced("x", [11.0, 11, 2, 2]))[:1], "outside-the-range", column="x", values=2)
    assert reports(failures(replaced("y", [2, 1, 3, float("nan")]))[:1], "column-changed", column="y")


def test_an_identifier_that_is_still_there_is_found():
    assert reports(failures(RIGHT.add_column(0, "name", ORIGINAL["name"]))[:1], "identifier-released", column="name")


def test_missing_rows_and_columns_are_found():
    assert reports(failures(RIGHT.slice(1))[:1], "number-of-records-differs", records=3, expected=4)
    assert codes(failures(RIGHT.drop_columns(["y"])))[0] == "columns-changed"
    assert codes(failures(RIGHT.select(["y", "x"])))[0] == "columns-changed"


def test_a_type_that_was_not_promised_is_found():
    assert "type float" in failures(RIGHT.set_column(0, "x", RIGHT["x"].cast(pa.float32())))[0]


def test_in_a_csv_file_numbers_are_what_is_written(tmp_path):
    (tmp_path / "spelt.csv").write_text("a\n1.5\n1.50\n2.0\n2.0\n")
    with refused(shoal.CheckFailed, "group-below-k", below=2, combinations=3):
        shoal.check(tmp_path / "spelt.csv", k=2)


def test_restored_variances_are_tied_to_their_rows():
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.normal(size=40)})
    release = shoal.protect(table, k=4, restore_variance=True)
    release.published.verify()
    for wrong in (np.roll(release.table["a"].to_numpy(), 7), np.full(40, 1e9), np.full(40, np.nan)):
        with pytest.raises(shoal.CheckFailed):
            replace(release.published, released=open_table(pa.table({"a": wrong}))).verify()


def test_strata_are_counted_with_the_quasi_identifiers():
    table = pa.table({"x": [1.0, 2, 3, 4], "s": ["u", "u", "v", "v"]})
    mixed = pa.table({"x": [1.5, 2.5, 2.5, 2.5], "s": ["u", "u", "v", "v"]})
    with refused(shoal.CheckFailed, "group-below-k", below=2, combinations=3, columns=["x", "s"], k=2):
        verified(mixed, table, k=2, quasi=["x"], strata=["s"])


def test_check_passes_what_others_masked_and_raises_otherwise():
    table = pa.table({"a": [1, 1, 2, 2], "b": ["u", "u", "v", "w"]})
    assert shoal.check(table, k=2)["smallest"] == 2
    with refused(shoal.CheckFailed, "group-below-k", below=2, combinations=3, columns=["a", "b"], k=2):
        shoal.check(table, k=2, quasi=["a", "b"])
    with refused(shoal.PlanError, "too-small", "k", limit=2):
        shoal.check(table, k=1)
    with refused(shoal.PlanError, "unknown-column", "quasi", column="c"):
        shoal.check(table, k=2, quasi=["c"])


def test_assess_measures_any_masked_table():
    rng = np.random.default_rng(0)
    original = pa.table({"a": rng.normal(size=20), "b": rng.normal(size=20)})
    release = shoal.protect(original, k=4)
    assessed = shoal.assess(original, release.table, k=4)
    assert release.loss().items() <= assessed["loss"].items()
    assert release.risk().items() <= assessed["risk"].items()
    with refused(shoal.DataError, "numbers-of-records-differ", records=20, others=19):
        shoal.assess(original, release.table.slice(1))
    with refused(shoal.PlanError, "unknown-column", column="b", table="the masked table"):
        shoal.assess(original, release.table.select(["a"]), ["a", "b"])


def test_a_weighted_mean_that_is_not_that_of_its_group_is_found():
    rng = np.random.default_rng(4)
    table = pa.table({"x": rng.normal(size=40), "w": rng.integers(1, 9, 40) / 4})
    release = shoal.protect(table, k=4, quasi=["x"], weights="w", method="mdav")
    published = release.published
    first = np.array(release.table["x"])
    mine = first == first[0]
    moved = np.where(mine, np.sort(np.array(table["x"])[mine])[1], first)  # within the range of its group
    spoilt = published.original.publish({"x": pa.array(moved)})
    with refused(shoal.CheckFailed, "sum-not-kept", column="x", groups=1, weighted=True):
        dataclasses.replace(published, released=spoilt).verify()

"""Whole numbers stay whole under rules that hold in whole numbers; others have decimals, and the release says so."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import refused

import shoal


def published(table, *rules, **options):
    return shoal.protect(table, k=3, edits=list(rules), **options)


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    a, b = rng.integers(1, 50, (2, 30))
    return pa.table({"a": a, "b": b, "sum": a + b, "product": a * b, "x": a + rng.random(30), "free": b[::-1]})


@pytest.mark.parametrize(
    ("rule", "with_decimals"),
    [
        ("a >= 1", []),
        ("a + b == sum", []),
        ("a <= sum", []),
        ("a < sum", []),
        ("sum - a >= 1", []),
        ("if a >= 10 then b >= 0", []),
        ("a <= x", ["a"]),
        ("2 * a <= 3 * sum", ["a", "sum"]),
        ("a >= 0.01 * b", ["a", "b"]),
        ("a * b == product", ["a", "b", "product"]),
    ],
)
def test_only_attributes_of_rules_that_may_break_in_whole_numbers_have_decimals(table, rule, with_decimals):
    release = published(table, f"r: {rule}")
    decimals = [name for name in table.column_names if pa.types.is_floating(release.table[name].type)]
    assert decimals == [name for name in table.column_names if name in {*with_decimals, "x"}]
    told = [note.data for note in release.notes if note.code == "now-of-type" and note.data["why"]]
    assert [name for data in told for name in data["columns"]] == with_decimals


def test_decimals_spread_along_rules(table):
    release = published(table, "a + b == sum", "a <= x")
    assert {str(release.table[name].type) for name in ("a", "b", "sum")} == {"double"}
    assert release.table["free"].type == pa.int64()


def test_a_recomputed_product_has_decimals_and_its_factors_need_none(table):
    release = published(table, "a * b == product", recompute=["product"])
    kinds = [str(release.table[name].type) for name in ("a", "b", "product")]
    assert kinds == ["int64", "int64", "double"]


def test_a_recomputed_sum_of_whole_numbers_is_whole(table):
    release = published(table, "a + b == sum", recompute=["sum"])
    assert {str(release.table[name].type) for name in ("a", "b", "sum")} == {"int64"}


def test_rounding_that_was_asked_for_is_refused_where_a_rule_cannot_be_kept():
    mixed = pa.table({"a": [1, 2, 4, 7, 8, 9], "x": [0.5] * 6, "y": [1.5, 2.5, 4.5, 7.5, 8.5, 9.5]})
    assert published(mixed, "a + x == y").table["a"].type == pa.float64()
    with refused(shoal.DataError, "whole-tied-to-fractions", columns=["a"], others=["x", "y"]):
        published(mixed, "a + x == y", round=True)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_sums_and_orders_of_whole_numbers_hold_in_whole_numbers_near_the_means(seed, k):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2 * k, 40))
    a, b, c, free = rng.integers(0, 50, (4, n))
    table = pa.table({"a": a, "b": b, "ab": a + b, "c": c, "abc": a + b + c, "free": free, "more": free + 1})
    rules = ["a + b == ab", "ab + c == abc", "a <= ab", "free < more"]
    release = shoal.protect(table, k=k, edits=rules)
    assert release.table.schema.types == table.schema.types
    v = {name: release.table[name].to_numpy() for name in table.column_names}
    assert (v["a"] + v["b"] == v["ab"]).all()
    assert (v["ab"] + v["c"] == v["abc"]).all()
    assert (v["free"] < v["more"]).all()
    for name in table.column_names:
        for g in np.unique(release.groups):
            rows = release.groups == g
            assert abs(v[name][rows][0] - table[name].to_numpy()[rows].mean()) < 2

"""Columns that give a masked one away though no linear function does: products, orders and narrow bands."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import prints, refused, reports

import shoal
from naive import records_in_narrow_bands, spearman
from shoal.measures.determination import (
    NARROW,
    linear_relation,
    narrow_bands,
    product_relation,
    rank_correlation,
    same_order,
)

N = 400


def determined(table: pa.Table, quasi: str, **options) -> tuple[list[dict], list[str]]:
    file = shoal.protect(table, **{"k": 5, "quasi": [quasi], "publish": "rest", "method": "univariate", **options})
    found = file.risk()["file"]
    return found["determined"], [each["text"] for each in found["findings"]]


def test_a_column_in_the_same_order_is_found_whatever_the_function():
    income = np.random.default_rng(1).lognormal(10, 0.6, N)
    [found], texts = determined(pa.table({"income": income, "log": np.log(income)}), "income")
    assert (found["how"], found["by"], found["exact"], found["records"]) == ("order", ["log"], N, N)
    assert reports(texts, "original-in-order", column="income", by="log", found=N, records=N, near=False)
    [found], _ = determined(pa.table({"income": income, "inverse": np.exp(-income / 1e5).round(4)}), "income")
    assert (found["how"], found["exact"], found["records"]) == ("order", 0, N)


@pytest.mark.parametrize(
    ("made", "formula"), [(lambda p, q: p * q, "price * qty"), (lambda p, q: p / q, "price / qty")]
)
def test_a_product_and_a_ratio_are_found(made, formula):
    rng = np.random.default_rng(2)
    price, qty = rng.lognormal(2, 0.5, N).round(2), rng.integers(1, 9, N)
    [found], texts = determined(pa.table({"amount": made(price, qty), "price": price, "qty": qty}), "amount")
    assert (found["how"], found["formula"], found["exact"]) == ("product", formula, N)
    assert reports(texts, "original-from-columns", column="amount", found=N, records=N, formula=formula, near=False)


def test_narrow_bands_are_found_and_wide_ones_are_not():
    age = np.random.default_rng(3).integers(18, 90, 2_000)
    for years, expected in ((2, ["bands"]), (15, [])):
        band = np.array([f"{each}-{each + years - 1}" for each in age // years * years])
        found, texts = determined(pa.table({"age": age, "band": band}), "age")
        assert [each["how"] for each in found] == expected
        assert reports(texts, "original-in-bands", column="age", by="band") == bool(expected)
        width = 2 * NARROW * float(np.std(age))
        naive = records_in_narrow_bands(age.tolist(), band.tolist(), width)
        assert [each["records"] for each in found] == [naive] * len(expected)


def test_codes_of_a_text_are_one_to_one_with_it():
    town = np.random.default_rng(4).integers(0, 9, N)
    table = pa.table({"town": [f"T{each}" for each in town], "code": town * 7 + 100, "x": np.arange(N) % 50})
    [found], texts = determined(table.select(["town", "code"]), "town", method="mdav")
    assert found["how"] == "one-to-one"
    assert reports(texts, "original-follows-from-column", column="town", by="code", one_to_one=True)


def firms() -> pa.Table:
    rng = np.random.default_rng(5)
    wages, other = rng.integers(1, 90_000, N), rng.integers(1, 50_000, N)
    return pa.table({"staff": rng.integers(1, 300, N), "costs": wages + other, "wages": wages, "other": other})


FIRMS = {"k": 5, "quasi": ["staff", "costs"], "confidential": ["wages", "other"], "method": "mdav"}


def test_figures_of_the_whole_file_have_the_original_that_can_be_computed(tmp_path, run):
    table = firms()
    release = shoal.protect(table, **FIRMS)
    found = release.risk()["file"]
    assert found["recovered"] == ["costs"]
    rows = zip(release.table["staff"].to_pylist(), table["costs"].to_pylist(), strict=True)
    assert found["with_masked"]["groups"] == len({*rows})
    assert found["with_masked"]["uniques"] > 0.95 * N
    release.save(tmp_path / "masked.csv")
    said = json.loads((tmp_path / "masked.csv.manifest.json").read_text())["verified"]["determined"]
    assert [(each["column"], each["formula"]) for each in said] == [("costs", "wages + other")]
    code, out, _ = run("check", "masked.csv", "--manifest", "masked.csv.manifest.json")
    assert code == 0
    assert prints(out, "original-from-columns", column="costs", found=N, records=N, formula="wages + other", near=False)


def test_what_a_manifest_says_of_columns_that_are_not_there_fails(tmp_path):
    shoal.protect(firms(), **FIRMS).save(tmp_path / "masked.csv")
    manifest = tmp_path / "masked.csv.manifest.json"
    text = json.loads(manifest.read_text())
    text["verified"]["determined"][0]["by"] = ["profit"]
    manifest.write_text(json.dumps(text))
    with refused(shoal.CheckFailed, "column-not-published", columns=["profit"], number=1):
        shoal.check(tmp_path / "masked.csv", manifest=manifest)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=2, max_size=40))
def test_the_rank_correlation_is_that_of_counted_ranks(pairs):
    x, y = (list(map(float, each)) for each in zip(*pairs, strict=True))
    assert rank_correlation(np.array(x), np.array(y)) == pytest.approx(spearman(x, y))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([60, 300, 2_000]), st.floats(0, 0.98))
def test_columns_that_are_independent_or_just_correlated_raise_no_alarm(seed, n, correlation):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    near = correlation * x + np.sqrt(1 - correlation**2) * rng.normal(size=n)
    columns = [near, rng.normal(size=n), rng.integers(0, 5, n), np.round(near), rng.integers(0, 40, n)]
    income = np.exp(x)
    U = np.column_stack([*columns, np.exp(near), rng.lognormal(0, 1, n)]).astype(float)
    classes = [np.unique(each, return_inverse=True)[1] for each in U.T]
    assert product_relation(income, U) is None
    assert same_order(income, U) is None
    assert narrow_bands(income, classes) is None


def test_a_common_value_in_both_columns_is_no_order():
    rng = np.random.default_rng(7)
    some = rng.random(1_000) < 0.6
    x, y = (np.where(some, 0.0, rng.lognormal(5, 1, 1_000)) for _ in range(2))
    assert same_order(x, y[:, None]) is None


def _unrelated(n: int, rng: np.random.Generator) -> np.ndarray:
    """Ten columns, each missing in 45 % of the records."""
    return np.where(rng.random((n, 10)) < 0.45, np.nan, rng.normal(size=(n, 10)))


@pytest.mark.parametrize("n", [29, 400])
@pytest.mark.parametrize(
    "case",
    [
        "date in microseconds",
        "interview minus age",
        "factor",
        "mostly missing",
        "sum beside gaps",
        "tax",
        "four",
    ],
)
def test_relations_are_found_at_any_scale_with_gaps_and_in_most_records(case, n):
    rng = np.random.default_rng(3)
    x, other = rng.integers(5_000, 30_000, n).astype(float), rng.integers(5_000, 30_000, n).astype(float)
    most = rng.random(n) < 0.92
    parts = rng.integers(1, 5_000, (n, 4)).astype(float)
    cases = {
        "date in microseconds": (x, np.column_stack([x * 86_400e6, other])),
        "interview minus age": (x, np.column_stack([(x + other) * 86_400e6, other])),
        "factor": (x, np.column_stack([x * 1e7, other])),
        "mostly missing": (x, np.column_stack([np.where(rng.random(n) < 0.55, np.nan, x), other])),
        "sum beside gaps": (x + other, np.column_stack([x, other, _unrelated(n, rng)])),
        "tax": (np.where(most, 0.25 * x, other), x[:, None]),
        "four": (np.where(most, parts.sum(axis=1), other), parts),
    }
    y, columns = cases[case]
    found = linear_relation(y, columns)
    computed = found.intercept + columns[:, found.by] @ np.array(found.coefficients)
    known = ~np.isnan(computed)
    assert known.sum() >= 10
    assert np.mean(np.abs(y - computed)[known] <= 1e-9 * np.abs(y)[known]) > 0.8


def test_hybrid_data_are_refused_beside_a_copy_that_most_records_miss():
    rng = np.random.default_rng(4)
    income = rng.lognormal(10, 1, 300).round()
    table = pa.table(
        {"age": rng.normal(50, 9, 300), "income": income, "copy": pa.array(income, mask=rng.random(300) < 0.55)}
    )
    with refused(shoal.DataError, "original-computable", column="income", formula="copy"):
        shoal.protect(table, method="hybrid", k=10, quasi=["age"], confidential=["income"], publish=["copy"])


@pytest.mark.parametrize("unit", [1e-200, 1e-310, 1e150])
def test_a_relation_is_found_whatever_the_unit_or_not_told(unit):
    rng = np.random.default_rng(3)
    U = rng.normal(size=(200, 2))
    found = linear_relation((U[:, 0] + U[:, 1]) * unit, U)
    assert found is None or np.isfinite([found.intercept, *found.coefficients]).all()

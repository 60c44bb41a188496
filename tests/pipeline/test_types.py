"""protect() on attributes of every type, with missing values and survey weights: what must always hold."""

import datetime as dt

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import refused, reports

import naive
import shoal
from shoal.datasets import CONFIDENTIAL, QUASI, TYPES
from shoal.messages import Message
from shoal.pipeline import prepare
from shoal.tables import open_table
from shoal.tables.stat.labels import Labels, labels_of, with_labels

SIZES = ["S", "M", "L", "XL"]
TOWNS = ["Ayr", "Bath", "Cork", "Deal", "Ely"]
seeds = st.integers(0, 2**32 - 1)
INCOME = {"column": "income"}
TOWN = {"column": "town", "type": "nominal"}
SIZE = {"column": "size", "type": "ordinal"}
QUASI_IDENTIFIERS = ["income", "children", "size", "town", "born", "seen", "owner"]


def mixed_table(seed: int, n: int, gaps: float = 0.0) -> pa.Table:
    """A table with an attribute of each type, of which a share is missing."""
    rng = np.random.default_rng(seed)
    sizes = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 4, n), pa.int8()), pa.array(SIZES), ordered=True)
    columns = {
        "income": pa.array(rng.lognormal(size=n)),
        "children": pa.array(rng.integers(0, 5, n), pa.int16()),
        "size": sizes,
        "town": pa.array(rng.choice(TOWNS, n)),
        "born": pa.array(np.datetime64("1970-01-01") + rng.integers(0, 9000, n)),
        "seen": pa.array(np.datetime64("2020-01-01T00:00:00", "us") + rng.integers(0, 10**13, n)),
        "owner": pa.array(rng.random(n) < 0.4),
        "ill": pa.array(rng.integers(0, 3, n)),
    }
    if gaps:
        for name in QUASI_IDENTIFIERS:
            gap = rng.random(n) < gaps
            gap[rng.integers(n)] = False
            cells = [None if g else v for g, v in zip(gap, columns[name].to_pylist(), strict=True)]
            columns[name] = pa.array(cells).cast(columns[name].type)
    return pa.table(columns)


def smallest_class(table: pa.Table, names: list[str]) -> int:
    """Count with an engine that knows nothing of shoal."""
    keys = ", ".join(f'"{name}"' for name in names)
    plain = pa.table({name: table[name].cast(pa.string()) for name in names})
    assert plain.num_rows
    return duckdb.sql(f"SELECT min(c) FROM (SELECT count(*) AS c FROM plain GROUP BY {keys})").fetchall()[0][0]


@settings(max_examples=60)
@given(seeds, st.integers(12, 40), st.integers(2, 5), st.sampled_from(["group", "impute", "suppress"]))
def test_no_combination_is_below_k_whatever_is_missing(seed, n, k, missing):
    table = mixed_table(seed, n, gaps=0.1)
    complete = sum(None not in row.values() for row in table.to_pylist())
    if complete < k and missing != "group":
        with pytest.raises(shoal.DataError, match="missing value"):
            shoal.protect(table, k=k, quasi=QUASI_IDENTIFIERS, missing=missing, publish="rest")
        return
    release = shoal.protect(table, k=k, quasi=QUASI_IDENTIFIERS, missing=missing, publish="rest")
    assert smallest_class(release.table, QUASI_IDENTIFIERS) >= k
    assert release.table.schema.names == table.schema.names
    for name in ["size", "town", "born", "seen", "owner", "ill"]:
        assert release.table[name].type == table[name].type
    for name in ["size", "town", "owner"]:
        published = set(release.table[name].to_pylist()) - {None}
        assert published <= set(table[name].to_pylist())
    if missing != "group":
        assert all(release.table[name].null_count == 0 for name in QUASI_IDENTIFIERS)
    if missing == "suppress":
        whole = [i for i, row in enumerate(table.to_pylist()) if None not in row.values()]
        assert release.suppressed == n - len(whole)
        assert release.table["ill"].to_pylist() == table["ill"].take(whole).to_pylist()


@settings(max_examples=15)
@given(seeds)
def test_permuting_the_rows_permutes_a_mixed_release(seed):
    table = mixed_table(seed, 40)
    order = np.random.default_rng(seed).permutation(40)
    release = shoal.protect(table, k=3, quasi=QUASI_IDENTIFIERS, publish="rest")
    permuted = shoal.protect(table.take(order), k=3, quasi=QUASI_IDENTIFIERS, publish="rest")
    assert permuted.table.to_pylist() == release.table.take(order).to_pylist()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_types_come_back_as_they_were(library):
    arrow = mixed_table(1, 50)
    table = {"pandas": lambda: arrow.to_pandas(), "polars": lambda: pl.from_arrow(arrow), "pyarrow": lambda: arrow}[
        library
    ]()
    release = shoal.protect(table, k=4, quasi=QUASI_IDENTIFIERS, publish=["ill"])
    if library == "pyarrow":
        assert [f.type for f in release.table.schema if f.name != "children"] == [
            f.type for f in arrow.schema if f.name != "children"
        ]
    else:
        dtypes = dict(zip(table.columns, table.dtypes, strict=True))
        after = dict(zip(release.table.columns, release.table.dtypes, strict=True))
        assert {name: after[name] for name in dtypes if name != "children"} == {
            name: dtype for name, dtype in dtypes.items() if name != "children"
        }


def test_categories_and_enums_keep_their_dtype():
    towns = ["Ayr", "Bath", "Ayr", "Bath", "Ayr", "Bath"]
    frame = pl.DataFrame({"town": towns, "size": ["S", "M", "L", "S", "M", "L"]}).cast(
        {"town": pl.Categorical, "size": pl.Enum(["S", "M", "L"])}
    )
    release = shoal.protect(frame, k=2, quasi=["town", "size"], types={"size": "nominal"})
    published = release.table["size"].unique().to_list()
    used = [level for level in ["S", "M", "L"] if level in published]
    assert dict(release.table.schema) == {"town": pl.Categorical, "size": pl.Enum(used)}
    pandas = pd.DataFrame({"town": pd.Categorical(towns), "x": [1, 2, 1, 2, 1, 2]})
    assert list(shoal.protect(pandas, k=3, quasi=["town", "x"]).table["town"]) == towns


def test_a_category_that_nobody_publishes_any_more_leaves_no_trace():
    town = pd.Categorical(["Ayr"] * 5 + ["Secret"], categories=["Ayr", "Secret"])
    release = shoal.protect(pd.DataFrame({"town": town, "x": [1, 2, 3, 4, 5, 6]}), k=6, quasi=["town", "x"])
    assert list(release.table["town"].cat.categories) == ["Ayr"]


def test_ordinal_levels_in_the_order_given():
    table = pa.table({"size": ["S", "L", "M", "S", "XL", "M", "L", "XL"]})
    release = shoal.protect(table, k=4, quasi=["size"], levels={"size": SIZES})
    assert release.plan.types == {"size": "ordinal"}
    assert sorted(set(release.table["size"].to_pylist())) == ["L", "S"]
    assert release.table["size"].to_pylist() == ["S", "L", "S", "S", "L", "S", "L", "L"]


def test_the_convex_median_may_publish_a_level_between():
    table = pa.table({"size": ["S", "S", "S", "XL", "XL", "XL"]})
    between = shoal.protect(
        table, k=6, quasi=["size"], levels={"size": ["S", "M", "L", "XL"]}, aggregate={"size": "convex_median"}
    )
    assert set(between.table["size"].to_pylist()) == {"M"}
    plain = shoal.protect(table, k=6, quasi=["size"], levels={"size": ["S", "M", "L", "XL"]})
    assert set(plain.table["size"].to_pylist()) == {"S"}


def test_a_medoid_is_a_combination_that_occurs():
    table = mixed_table(7, 60)
    names = ["size", "town", "owner"]
    release = shoal.protect(
        table, k=5, quasi=["income", *names], aggregate=dict.fromkeys(names, "medoid"), publish="rest"
    )
    real = {tuple(row.values()) for row in table.select(names).to_pylist()}
    assert {tuple(row.values()) for row in release.table.select(names).to_pylist()} <= real


def test_attribute_weights_decide_which_records_are_near():
    table = pa.table({"a": [0.0, 0, 10, 10], "b": [0.0, 10, 0, 10]})
    by_a = shoal.protect(table, k=2, attribute_weights={"a": 9})
    by_b = shoal.protect(table, k=2, attribute_weights={"b": 9})
    assert by_a.groups.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    assert by_b.groups.tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


def test_dates_publish_dates_in_between():
    days = [dt.date(2020, 1, d) for d in (1, 2, 6, 20, 22, 30)]
    release = shoal.protect(pa.table({"day": days}), k=3, quasi=["day"])
    assert release.table["day"].to_pylist() == [dt.date(2020, 1, 3)] * 3 + [dt.date(2020, 1, 24)] * 3
    assert release.plan.method == "univariate"


def test_moments_of_nanoseconds_and_zones_survive():
    base = np.datetime64("2020-01-01T00:00:00.000000001", "ns")
    moments = pa.array(base + np.array([0, 2, 10**9, 10**9 + 2])).cast(pa.timestamp("ns", "Europe/Vienna"))
    release = shoal.protect(pa.table({"at": moments}), k=2, quasi=["at"])
    assert release.table["at"].type == moments.type
    after = (release.table["at"].cast(pa.int64()).to_numpy() - base.astype(int)).tolist()
    assert after == [1, 1, 10**9 + 1, 10**9 + 1]


# --- missing values -------------------------------------------------------------------------------------------------

GAPPY = pa.table({"a": [1.0, None, 2, 50, 51, None], "b": [1.0, 1, 2, 9, 9, 9]})


def test_missing_values_are_an_error_by_default_that_says_where():
    with refused(shoal.DataError, "missing-values", column="a", records=2, first=2):
        shoal.protect(GAPPY, k=2)


def test_missing_published_only_where_most_of_a_group_miss():
    table = pa.table({"a": [None, None, 3.0, 4.0, 5.0, 6.0], "b": [0.0, 0, 0, 9, 9, 9]})
    release = shoal.protect(table, k=3, missing="group")
    assert release.table["a"].to_pylist() == [None, None, None, 5, 5, 5]
    assert reports(release.notes, "missing-before-and-after", column="a", before=2, after=3)


def test_a_missing_value_is_filled_from_the_nearest_group():
    release = shoal.protect(GAPPY, k=2, missing="impute")
    assert release.table["a"].to_pylist() == [1.5, 1.5, 1.5, 50.5, 50.5, 50.5]


def test_records_that_miss_are_left_out_and_counted():
    release = shoal.protect(GAPPY, k=2, missing="suppress")
    assert release.suppressed == 2
    assert len(release.table) == 4
    assert reports(release.notes, "incomplete-left-out", records=2)


def test_nan_and_null_are_both_missing():
    table = pd.DataFrame({"a": [1.0, np.nan, 2.0, 8.0], "b": [1.0, 2, 3, 4]})
    assert shoal.protect(table, k=2, missing="suppress").suppressed == 1


# --- survey weights -------------------------------------------------------------------------------------------------


def weighted_table(weights):
    return pa.table({"x": [1.0, 2, 3, 11, 12, 19], "w": weights})


def test_weights_change_means_and_keep_weighted_totals():
    table = weighted_table([1.0, 1, 2, 1, 3, 1])
    release = shoal.protect(table, k=3, quasi=["x"], weights="w", preserve="weighted_mean")
    assert release.table["x"].to_pylist() == [2.25] * 3 + [13.2] * 3
    assert shoal.protect(table, k=3, quasi=["x"], publish=["w"]).table["x"].to_pylist() == [2.0] * 3 + [14.0] * 3
    assert release.table["w"].to_pylist() == table["w"].to_pylist()
    assert release.loss() != shoal.protect(table, k=3, quasi=["x"], publish=["w"]).loss()


@settings(max_examples=15)
@given(seeds)
def test_weights_of_one_equal_no_weights(seed):
    table = mixed_table(seed, 30).append_column("w", pa.array(np.ones(30)))
    plain = shoal.protect(table, k=3, quasi=QUASI_IDENTIFIERS, publish="rest")
    weighted = shoal.protect(table, k=3, quasi=QUASI_IDENTIFIERS, weights="w", publish="rest")
    assert weighted.table.equals(plain.table)
    assert weighted.loss()["IL"] == pytest.approx(plain.loss()["IL"], rel=1e-12)


@pytest.mark.parametrize(
    ("weights", "wrong", "first"),
    [
        ([1, 1, 0, 1, 1, 1], "zero or negative", 3),
        ([1, 1, 1, -1, 1, 1], "zero or negative", 4),
        ([1, None, 1, 1, 1, 1], "missing", 2),
        ([1, 1, 1, 1, 1, float("inf")], "infinite", 6),
    ],
)
def test_bad_weights_are_refused(weights, wrong, first):
    with refused(shoal.DataError, "wrong-weight", column="w", wrong=wrong, records=1, first=first):
        shoal.protect(weighted_table(weights), k=3, quasi=["x"], weights="w")


# --- l-diversity, t-closeness ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def survey():
    return shoal.datasets.survey()


def test_the_survey_with_its_real_types(survey):
    release = shoal.protect(survey, k=5, quasi=QUASI, confidential=CONFIDENTIAL, types=TYPES)
    for name in TYPES:
        assert set(release.table[name].to_pylist()) <= set(survey[name].to_pylist())
    assert smallest_class(release.table, QUASI) >= 5
    assert set(release.loss()["types"]) == {"continuous", "ordinal", "nominal"}


def test_the_survey_is_diverse_and_close_where_asked(survey):
    release = shoal.protect(survey, k=5, quasi=QUASI, confidential=CONFIDENTIAL, types=TYPES, l=3, t=0.1)
    frame = release.table.to_pandas()
    for name in CONFIDENTIAL:
        assert frame.groupby(QUASI)[name].nunique().min() >= 3
        found = shoal.assess(survey, release.table, quasi=["age", "children", "yrs_married"], confidential=[name])
        assert found["risk"]["diversity"][name]["t"] <= 0.1
    assert release.loss()["IL"] > shoal.protect(survey, k=5, quasi=QUASI, publish="rest", types=TYPES).loss()["IL"]


def test_more_diversity_than_there_is_is_refused():
    table = pa.table({"x": [1.0, 2, 3, 4], "ill": [0, 1, 0, 1]})
    with pytest.raises(shoal.DataError, match="'ill'"):
        shoal.protect(table, k=2, quasi=["x"], confidential=["ill"], l=3)


# --- what cannot be -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "code", "field", "data"),
    [
        ({"quasi": ["town"], "method": "pca"}, "type-not-for-method", "method", {"method": "pca", **TOWN}),
        ({"quasi": ["size", "income"], "method": "vmdav"}, "type-not-for-method", "method", SIZE),
        (
            {"quasi": ["town"], "aggregate": "mean"},
            "aggregate-not-for-type",
            "aggregate",
            {"aggregate": "mean", **TOWN},
        ),
        ({"quasi": ["size"], "aggregate": {"size": "mean"}}, "aggregate-not-for-type", "aggregate", SIZE),
        ({"quasi": ["income"], "aggregate": "convex_median"}, "aggregate-not-for-type", "aggregate", INCOME),
        ({"quasi": ["town", "income"], "blocks": "correlated"}, "correlation-needs-numbers", "blocks", {}),
        (
            {"quasi": ["income"], "attribute_weights": {"income": 2}},
            "attribute-alone-in-block",
            "attribute_weights",
            INCOME,
        ),
        ({"quasi": ["income"], "weights": "nobody"}, "unknown-column", "weights", {"column": "nobody"}),
        ({"quasi": ["town"], "restore_variance": True}, "no-number-masked", "restore_variance", {}),
        ({"quasi": ["town"], "standardize": "minmax"}, "no-number-masked", "standardize", {}),
        (
            {"quasi": ["income"], "weights": "children", "preserve": "weighted_mean", "aggregate": "median"},
            "needs-the-mean",
            "preserve",
            INCOME,
        ),
        (
            {"quasi": ["town"], "weights": "children", "preserve": "weighted_mean"},
            "no-number-masked",
            "preserve",
            {},
        ),
    ],
)
def test_what_does_not_fit_the_type_is_refused_by_name(options, code, field, data):
    with refused(shoal.PlanError, code, field, **data):
        shoal.protect(mixed_table(3, 60), k=3, publish="rest", **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"quasi": ["income"], "types": {"income": "date"}}, "which does not hold dates"),
        ({"quasi": ["town"], "types": {"town": "continuous"}}, "'town' holds text and no numbers"),
        ({"quasi": ["town"], "types": {"town": "ordinal"}}, "List its levels in order"),
        ({"quasi": ["income"], "levels": {"income": ["low"]}}, "levels: must be of the same type as 'income'"),
        ({"quasi": ["town"], "types": {"town": "boolean"}}, "'town' is of type string and not boolean"),
    ],
)
def test_values_that_are_not_of_the_type_are_refused_by_name(options, said):
    with pytest.raises(shoal.ShoalError, match=said) as caught:
        shoal.protect(mixed_table(3, 60), k=3, publish="rest", **options)
    assert not any(town in str(caught.value) for town in TOWNS)


@pytest.mark.parametrize(
    ("options", "code", "data"),
    [
        ({"types": {"income": "date"}}, "not-moments", {"column": "income", "wanted": "dates", "type": "double"}),
        ({"types": {"income": "datetime"}}, "not-moments", {"column": "income", "wanted": "times"}),
        ({"types": {"town": "continuous"}}, "no-numbers", {"column": "town", "content": "text"}),
        ({"types": {"town": "ordinal"}}, "order-not-known", {"column": "town"}),
        ({"types": {"town": "boolean"}}, "not-boolean", {"column": "town", "type": "string"}),
        ({"levels": {"town": TOWNS[:4]}}, "unknown-level", {"column": "town"}),
        ({"levels": {"income": ["low"]}}, "values-of-other-type", {"column": "income", "type": "double"}),
    ],
)
def test_a_type_or_levels_that_a_column_cannot_have_are_refused(options, code, data):
    with refused(shoal.DataError, code, **data) as caught:
        shoal.protect(mixed_table(3, 60), k=3, quasi=["income", "town"], publish="rest", **options)
    assert not any(town in str(caught.value) for town in TOWNS)


def test_a_column_with_as_many_categories_as_records_may_identify():
    table = pa.table({"name": ["Ann", "Bob", "Cyd", "Dee"], "x": [1, 2, 3, 4]})
    with refused(shoal.DataError, "many-categories", column="name"):
        shoal.protect(table, k=2, quasi=["name", "x"])
    shoal.protect(table, k=2, quasi=["name", "x"], types={"name": "nominal"})


def test_a_mean_may_be_a_number_that_was_declared_missing(tmp_path):
    table = pa.table({"x": [98.0, 100, 10, 20]})
    field = with_labels(table.schema.field(0), Labels(missing=((99.0, 99.0),)))
    release = shoal.protect(pa.table(table.columns, schema=pa.schema([field])), k=2)
    assert release.table["x"].to_pylist() == [99, 99, 15, 15]
    assert not labels_of(release.table.schema.field("x")).missing
    release.save(tmp_path / "out.sav")
    assert open_table(tmp_path / "out.sav").native["x"].to_pylist() == [99, 99, 15, 15]


def test_what_nobody_knows_is_filled_with_what_is_usual():
    income = [100.0, 101, 102, 99, 98, 100, 1000, 1001, 1002, None]
    release = shoal.protect(pa.table({"income": income, "x": [5.0] * 10}), k=3, missing="impute")
    assert release.table["income"].to_pylist()[-1] < 200


def test_filled_medoids_miss_nothing():
    rng = np.random.default_rng(0)
    gaps = [None if gap else x for gap, x in zip(rng.random(30) < 0.5, rng.normal(size=30), strict=True)]
    table = pa.table({"a": rng.normal(size=30), "b": gaps})
    release = shoal.protect(table, k=3, missing="impute", aggregate="medoid")
    assert release.table["b"].null_count == 0


@pytest.mark.parametrize("aggregate", ["mean", "medoid"])
def test_gaps_are_filled_in_groups_that_are_t_close_too(aggregate):
    rng = np.random.default_rng(0)
    gaps = [None if gap else x for gap, x in zip(rng.random(90) < 0.5, rng.normal(size=90), strict=True)]
    table = pa.table({"a": rng.normal(size=90), "b": gaps, "secret": rng.integers(0, 4, 90)})
    release = shoal.protect(table, k=2, confidential="secret", t=0.4, missing="impute", aggregate=aggregate)
    published = release.table.to_pandas()
    assert published[["a", "b"]].notna().all(axis=None)
    assert published.groupby(["a", "b"]).size().min() >= 2


def test_zero_has_no_sign_for_diversity():
    table = pa.table({"c": [0.0, -0.0] * 20, "a": np.random.default_rng(0).normal(size=40)})
    with pytest.raises(shoal.DataError, match="'c'"):
        shoal.protect(table, k=2, quasi=["a"], confidential=["c"], l=2)


def test_codes_declared_missing_are_no_value_for_diversity():
    table = pa.table({"a": np.arange(20.0), "ill": [1.0, 98, 2, 99] * 5})
    field = with_labels(table.schema.field(1), Labels(missing=((98.0, 99.0),)))
    table = pa.table(table.columns, schema=pa.schema([table.schema.field(0), field]))
    release = shoal.protect(table, k=2, quasi=["a"], confidential=["ill"], l=2)
    for group in range(release.groups.max() + 1):
        assert {1.0, 2.0} <= {*np.array(table["ill"].to_pylist())[release.groups == group]}
    reached = Message("has-values", number=2)
    with refused(shoal.DataError, "l-impossible", column="ill", reached=reached, l=3, stratum=False):
        shoal.protect(table, k=2, quasi=["a"], confidential=["ill"], l=3)


@pytest.mark.parametrize("asked", [{"l": 2}, {"l": 2.2, "l_form": "entropy"}, {"l": 3, "l_form": "recursive", "c": 3}])
def test_every_group_is_diverse_in_the_form_asked_for_and_verified_again(asked, tmp_path):
    rng = np.random.default_rng(4)
    ill = pa.array(rng.choice(["a", "b", "c", "d"], 300, p=[0.6, 0.2, 0.1, 0.1]), mask=rng.random(300) < 0.2)
    table = pa.table({"x": rng.normal(size=300), "y": rng.normal(size=300), "ill": ill})
    release = shoal.protect(table, k=3, quasi=["x", "y"], confidential=["ill"], **asked)
    for group in range(release.groups.max() + 1):
        members = ill.filter(pa.array(release.groups == group)).to_pylist()
        assert len(members) >= 3
        found = naive.diversity_of(members, asked.get("l_form", "distinct"), asked.get("c", 2))
        assert found >= asked["l"] - 1e-9
    release.save(tmp_path / "out.csv")
    shoal.check(tmp_path / "out.csv", manifest=tmp_path / "out.csv.manifest.json")


def test_groups_that_one_value_dominates_are_counted():
    table = pa.table(
        {"x": np.repeat([0.0, 50, 100], 6), "ill": ["flu"] * 5 + ["cold"] + ["flu", "cold"] * 3 + [None] * 6}
    )
    release = shoal.protect(table, k=6, quasi=["x"], confidential=["ill"])
    assert release.risk()["file"]["shared"] == {"ill": {"all": 0, "most": 1, "records": 6}}
    found = release.risk()["file"]["headline"]["text"]
    assert reports([found], "common-sensitive-value", column="ill", most=1, groups=3)


def test_categories_keep_their_order():
    towns = pd.Categorical(["b", "a", "c"] * 10, categories=["c", "a", "z", "b"], ordered=True)
    frame = pd.DataFrame({"town": towns, "x": np.arange(30) % 3 * 10.0})
    release = shoal.protect(frame, k=5, quasi=["town", "x"], types={"town": "nominal"})
    assert list(release.table["town"].cat.categories) == ["c", "a", "b"]
    assert release.table["town"].cat.ordered


def test_labelled_codes_are_categories():
    codes = pa.array([1, 2, 3, 4, 5] * 6)
    labels = Labels(values={float(code): f"region {code}" for code in range(1, 6)})
    table = pa.table([codes], schema=pa.schema([with_labels(pa.field("region", pa.int64()), labels)]))
    assert shoal.protect(table, k=3, quasi=["region"]).plan.types == {"region": "nominal"}


def test_dates_with_something_else_among_them_are_refused():
    table = pa.table({"day": ["2020-01-01", "2020-01-02T", "2020-01-03"] * 3})
    with refused(shoal.DataError, "not-a-date", column="day", record=2):
        shoal.protect(table, k=3, quasi=["day"])


@pytest.mark.parametrize("dtype", [object, "string[python]", "string[pyarrow]", "str", "category"])
def test_texts_of_pandas_keep_their_dtype(dtype):
    frame = pd.DataFrame({"t": pd.Series(["x", "y"] * 20, dtype=dtype), "a": np.arange(40.0)})
    release = shoal.protect(frame, k=3, quasi=["t", "a"])
    assert release.table["t"].dtype == frame["t"].dtype


@pytest.mark.parametrize("ending", ["csv", "xml", "parquet", "xlsx"])
@pytest.mark.parametrize(
    "cells", [["A"] + ["1"] * 10 + ["2"] * 19, ["A"] + [None] * 29, ["x"] + ["true", "false"] * 15]
)
def test_texts_that_look_like_something_else_are_written(tmp_path, cells, ending):
    release = shoal.protect(
        pa.table({"x": cells, "n": np.arange(len(cells)) / 7}),
        k=5,
        quasi=["x"],
        types={"x": "nominal"},
        missing="group",
        publish=["n"],
    )
    release.save(tmp_path / f"out.{ending}")
    checked = shoal.check(tmp_path / f"out.{ending}", manifest=tmp_path / f"out.{ending}.manifest.json")
    assert checked["records"] == len(cells)


def test_zones_and_narrow_floats_can_be_written_and_preserved(tmp_path):
    moments = pa.array(np.datetime64("2020-01-01T00:00", "us") + np.arange(12) * 10**9).cast(
        pa.timestamp("us", "Europe/Vienna")
    )
    table = pa.table({"at": moments, "x": pa.array(np.arange(12) * 1.1, pa.float32()), "w": [1.0, 2, 3] * 4})
    release = shoal.protect(table, k=3, quasi=["at", "x"], weights="w", preserve="weighted_mean")
    for ending in ("xml", "csv", "parquet"):
        release.save(tmp_path / f"{ending}.{ending}")
        assert shoal.check(tmp_path / f"{ending}.{ending}", k=3, quasi=["at", "x"])["records"] == 12
    assert release.table.schema.equals(table.schema)
    before, after = (np.average(each["x"], weights=each["w"]) for each in (table, release.table))
    assert after == pytest.approx(before, rel=1e-6)


def test_views_and_large_integers_as_levels():
    table = pa.table({"v": pa.array(["a", None, "b"] * 4).cast(pa.string_view()), "x": np.arange(12.0)})
    shoal.protect(table, k=3, quasi=["v", "x"], missing="group")
    big = [2**60, 2**60 + 1, 2**60 + 2]
    release = shoal.protect(pa.table({"x": big * 3}), k=3, quasi=["x"], levels={"x": big})
    assert sorted(set(release.table["x"].to_pylist())) == big


def test_an_attribute_without_a_value_is_refused():
    table = pa.table({"a": pa.array([None, None], pa.float64()), "b": [1, 2]})
    with pytest.raises(shoal.DataError, match="'a' is empty"):
        shoal.protect(table, k=2, quasi=["a", "b"], missing="group")


def test_the_geometric_mean_needs_positive_values():
    with refused(shoal.DataError, "not-positive", column="x", records=1, first=2, rule=None):
        shoal.protect(pa.table({"x": [1.0, 0, 2]}), k=3, aggregate="geometric_mean")
    release = shoal.protect(pa.table({"x": [1.0, 10, 100]}), k=3, aggregate="geometric_mean")
    assert release.table["x"].to_pylist() == pytest.approx([10.0] * 3)


# --- record blocks --------------------------------------------------------------------------------------------------


def blocks_table(n=3000):
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
            "s": rng.choice(["x", "y", "z"], n),
            "g": rng.integers(0, 9, n),
        }
    )


@pytest.mark.parametrize("at_seams", [150, 50_000])
def test_seams_are_repaired_within_strata(at_seams, monkeypatch):
    monkeypatch.setattr(prepare, "SEAM_RECORDS", at_seams)
    table = blocks_table()
    release = shoal.protect(
        table, k=5, quasi=["a", "b"], strata=["s"], scale={"block_size": 100, "seams": True}, publish="rest"
    )
    strata = np.array(table["s"].to_pylist())
    assert all(len(set(strata[release.groups == group])) == 1 for group in range(release.groups.max() + 1))
    sizes = np.bincount(release.groups)
    assert sizes.min() >= 5
    assert sizes.max() <= 9
    plain = shoal.protect(table, k=5, quasi=["a", "b"], strata=["s"], scale={"block_size": 100}, publish="rest")
    assert release.loss()["IL"] < plain.loss()["IL"]


@given(seed=st.integers(0, 2**32), k=st.integers(2, 6), most=st.integers(12, 90), kinds=st.integers(2, 400))
@settings(max_examples=20)
def test_groups_at_seams_have_k_to_2k_less_1_records_and_lose_no_more_than_before(seed, k, most, kinds):
    rng = np.random.default_rng(seed)
    table = pa.table({"a": rng.integers(0, kinds, 400), "b": rng.integers(0, kinds, 400) ** 2})  # many are equal
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "SEAM_RECORDS", most)
        plain, mended = (
            shoal.protect(table, k=k, quasi=["a", "b"], method="mdav", scale={"block_size": most, "seams": seams})
            for seams in (False, True)
        )
    sizes = np.bincount(mended.groups)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k
    assert mended.loss()["IL"] <= plain.loss()["IL"] * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"quasi": ["a", "g"], "types": {"g": "nominal"}, "scale": {"block_size": 100, "seams": True}}, "scale.seams"),
        ({"quasi": ["a"], "engine": "spark"}, "engine: 'spark' does not apply to a dataframe in memory"),
        ({"quasi": ["a"], "engine": "file"}, "engine: 'file' does not apply to a dataframe in memory"),
    ],
)
def test_blocks_that_cannot_be_are_refused(options, said):
    with pytest.raises(shoal.PlanError, match=said):
        shoal.protect(blocks_table(), k=5, publish="rest", **options)


def test_a_2d_tree_of_nominal_attributes_alone_is_refused():
    with refused(shoal.PlanError, "blocking-needs-order", "scale.blocking"):
        shoal.protect(blocks_table(), k=5, publish="rest", quasi=["s"], scale={"block_size": 100, "blocking": "2^d"})


def test_a_2d_tree_halves_the_dimensions_that_were_named():
    table = blocks_table()
    scale = {"block_size": 500, "blocking": "2^d", "dimensions": ["b"]}
    release = shoal.protect(table, k=5, quasi=["a", "b"], blocks=None, scale=scale, publish=["s", "g"])
    assert release.blocking.blocks > 1
    b = table["b"].to_numpy()
    ranges = [np.ptp(b[release.groups == group]) for group in range(release.groups.max() + 1)]
    assert np.median(ranges) < 1

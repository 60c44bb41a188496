"""protect(): what must always hold, whatever the table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import refused, reports

import shoal
from shoal.masking import mic1d
from shoal.messages import Message
from shoal.release import protect_to_file
from shoal.tables import open_table
from shoal.tables.attributes import Attribute, published_type

# Real numbers from a seeded generator: distances do not tie, so that rows may be permuted.
seeds = st.integers(0, 2**32 - 1)
many = st.integers(2, 60)
few = st.integers(1, 4)


def random_table(seed, n, d):
    rng = np.random.default_rng(seed)
    data = {f"x{j}": rng.lognormal(size=n) for j in range(d)}
    return pa.table({**data, "town": rng.choice(["Ayr", "Rye", "Wem"], n), "ill": rng.integers(0, 2, n)})


def masked_names(table):
    return [name for name in table.column_names if name.startswith("x")]


@given(seeds, many, few, st.integers(2, 9), st.sampled_from(["mean", "median"]))
def test_every_group_has_k_to_2k_minus_1_records(seed, n, d, k, aggregate):
    table = random_table(seed, max(n, k), d)
    release = shoal.protect(table, k=k, quasi=masked_names(table), aggregate=aggregate, publish=["town", "ill"])
    sizes = np.bincount(release.groups)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


@given(seeds, many, few)
def test_means_are_preserved(seed, n, d):
    table = random_table(seed, max(n, 3), d)
    release = shoal.protect(table, k=3, quasi=masked_names(table), publish=["town", "ill"])
    for name in masked_names(table):
        before, after = table[name].to_numpy(), release.table[name].to_numpy()
        assert after.mean() == pytest.approx(before.mean(), rel=1e-12)
        for group in np.unique(release.groups):
            members = release.groups == group
            assert after[members].sum() == pytest.approx(before[members].sum(), rel=1e-12)


@settings(max_examples=25)
@given(seeds, many, few)
def test_permuting_the_rows_permutes_the_release(seed, n, d):
    table = random_table(seed, max(n, 3), d)
    order = np.random.default_rng(seed).permutation(len(table))
    release = shoal.protect(table, k=3, quasi=masked_names(table), publish="rest")
    permuted = shoal.protect(table.take(order), k=3, quasi=masked_names(table), publish="rest")
    assert permuted.table.equals(release.table.take(order))


@settings(max_examples=10)
@given(seeds, many)
def test_two_runs_give_equal_bytes(tmp_path_factory, seed, n):
    folder = tmp_path_factory.mktemp("runs")
    table = random_table(seed, max(n, 3), 2)
    for name in ("a.csv", "b.csv"):
        shoal.protect(table, k=3, quasi=["x0", "x1"], publish=["town", "ill"]).save(folder / name)
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=5, max_size=40))
def test_ties_duplicates_and_constant_columns_break_nothing(rows):
    table = pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows], "same": [7] * len(rows)})
    release = shoal.protect(table, k=5)
    assert np.bincount(release.groups).min() >= 5
    assert release.table["same"].to_pylist() == [7] * len(rows)


@pytest.fixture(params=["pandas", "polars", "pyarrow"])
def kind(request):
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[request.param]


COLUMNS = {
    "name": ["Ann", "Bob", "Cyd", "Dee", "Eve", "Fay"],
    "age": [31, 72, 33, 70, 35, 74],
    "income": [10.5, 20.0, 11.5, 21.0, 12.0, 22.0],
    "ill": [True, False, True, True, False, False],
}


def columns(frame):
    return frame.to_pydict() if isinstance(frame, pa.Table) else {name: list(frame[name]) for name in frame.columns}


def test_the_same_kind_of_table_comes_back(kind):
    table = kind(COLUMNS)
    release = shoal.protect(table, k=3, quasi=["age", "income"], confidential=["ill"], identifiers=["name"])
    assert type(release.table) is type(table)
    out = columns(release.table)
    assert list(out) == ["age", "income", "ill"]
    assert out["age"] == [33, 72, 33, 72, 33, 72]
    assert not isinstance(out["age"][0], float)  # integers stay integers
    assert out["ill"] == COLUMNS["ill"]
    assert columns(table) == COLUMNS


def test_the_index_of_a_pandas_table_is_not_published():
    table = pd.DataFrame(COLUMNS, index=pd.Index(list("uvwxyz"), name="person")).rename_axis(columns="asked by Ann")
    release = shoal.protect(table, k=3, quasi=["age"], publish="rest")
    assert list(release.table.index) == [*range(6)]
    assert (release.table.index.name, release.table.columns.name) == (None, None)
    assert table.columns.name == "asked by Ann"
    assert reports(release.notes, "index-dropped")
    assert not reports(shoal.protect(pd.DataFrame(COLUMNS), k=3, quasi=["age"], publish="rest").notes, "index-dropped")


def test_anything_with_an_arrow_stream_will_do():
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)

    assert isinstance(shoal.protect(Stream(), k=3, quasi=["age"], publish="rest").table, pa.Table)


def test_integers_become_floats_whatever_their_means_where_decimals_are_asked_for():
    table = pa.table({"a": [1, 2, 3, 11, 12, 14], "b": [1, 2, 3, 11, 12, 13]})
    release = shoal.protect(table, k=3, round=False)
    assert release.table["a"].type == release.table["b"].type == pa.float64()
    assert reports(release.notes, "now-of-type", type="double", why="--no-round", columns=["a", "b"])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"weights": "w", "preserve": "weighted_mean"}, "--preserve keeps totals exactly"),
        ({"restore_variance": True}, "--restore-variance keeps variances exactly"),
        ({"edits": ["half: a >= 0.5 * w"], "quasi": ["a", "w"]}, Message("rounding-breaks-rule", rule="half")),
        ({"aggregate": "geometric_mean"}, "a geometric mean keeps products"),
    ],
)
def test_integers_have_decimals_where_exact_values_are_promised_and_the_release_says_why(options, why):
    table = pa.table({"a": [1, 2, 4, 11, 12, 14], "w": [1.0, 2, 1, 2, 1, 2]})
    asked = {"quasi": ["a"], **options}
    release = shoal.protect(table, k=3, publish=[] if "weights" in asked or "w" in asked["quasi"] else ["w"], **asked)
    assert release.table["a"].type == pa.float64()
    assert reports(release.notes, "now-of-type", type="double", why=why, columns=["a"])


@pytest.mark.parametrize("whole", [None, True])
def test_rounding_keeps_integers_without_breaking_groups(whole):
    table = pa.table({"a": pa.array([1, 2, 4, 11, 12, 14], pa.int16()), "b": [0.5, 1, 1.5, 9, 9.5, 10]})
    release = shoal.protect(table, k=3, round=whole)
    assert reports(release.notes, "mean-preserved", rounded=True, halves=True, columns=[], kind="attribute")
    assert release.table["a"].type == pa.int16()
    assert release.table["a"].to_pylist() == [2, 2, 2, 12, 12, 12]
    assert release.table["b"].to_pylist() == [1, 1, 1, 9.5, 9.5, 9.5]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_midnights_stay_midnights_and_other_moments_do_not(unit):
    days = np.array(["1967-10-01", "1967-10-02", "1967-10-04", "1990-01-01", "1990-01-02", "1990-01-05"], "M8[D]")
    table = pa.table({"born": pa.array(days.astype(f"M8[{unit}]")), "x": [1.0, 2, 3, 4, 5, 6]})
    release = shoal.protect(table, k=3, quasi=["born"], publish="rest")
    assert release.table["born"].type == table["born"].type
    expected = [np.datetime64("1967-10-02")] * 3 + [np.datetime64("1990-01-03")] * 3
    assert list(release.table["born"].to_numpy()) == expected
    exact = shoal.protect(table, k=3, quasi=["born"], publish="rest", round=False)
    assert exact.table["born"].to_numpy()[0] == np.datetime64("1967-10-02T08:00:00")
    later = pa.table({"born": pa.array(days.astype(f"M8[{unit}]") + np.timedelta64(3600, "s").astype(f"m8[{unit}]"))})
    assert shoal.protect(later, k=3, quasi=["born"]).table["born"].to_numpy()[0] == np.datetime64("1967-10-02T09:00")


@pytest.mark.parametrize("ending", ["xlsx", "sav", "dta", "parquet", "csv"])
def test_a_release_of_dates_is_saved_as_dates(tmp_path, ending):
    days = np.array(["1967-10-01", "1967-10-02", "1967-10-04", "1990-01-01", "1990-01-02", "1990-01-05"], "M8[D]")
    table = pa.table({"born": pa.array(days), "seen": pa.array(days.astype("M8[ns]") + np.timedelta64(1, "D"))})
    shoal.protect(table, k=3, quasi=["born", "seen"]).save(tmp_path / f"out.{ending}")
    written = open_table(tmp_path / f"out.{ending}")
    expected = np.array(["1967-10-02"] * 3 + ["1990-01-03"] * 3, "M8[D]")
    for name, later in (("born", 0), ("seen", 1)):
        found = written.column(name).cast(pa.timestamp("us")).to_numpy(zero_copy_only=False)
        assert list(found.astype("M8[s]")) == list((expected + later).astype("M8[s]"))


@pytest.mark.parametrize("rule", ["entered <= left", "entered < left"])
def test_midnights_in_an_order_stay_midnights_in_this_order(rule):
    rng = np.random.default_rng(3)
    entered = np.datetime64("2001-01-01") + rng.integers(0, 400, 60)
    left = entered + rng.integers(1, 4, 60)
    table = pa.table({name: pa.array(days.astype("M8[us]")) for name, days in (("entered", entered), ("left", left))})
    release = shoal.protect(table, k=4, quasi=["entered", "left"], edits=[rule])
    one, two = (release.table[name].to_numpy() for name in ("entered", "left"))
    assert (one < two).all()
    assert (one == one.astype("M8[D]")).all()


def test_midnights_that_a_rule_ties_to_other_moments_get_a_time_of_day_and_the_release_says_so():
    days = np.datetime64("2001-01-01") + np.arange(12)
    table = pa.table({"a": pa.array(days.astype("M8[s]")), "b": pa.array(days.astype("M8[s]") + 7)})
    release = shoal.protect(table, k=4, quasi=["a", "b"], edits=["order: a <= b"])
    why = Message("rounding-breaks-rule", rule="order")
    assert reports(release.notes, "time-of-day", why=why, columns=["a"])


def test_rounding_without_an_integer_attribute_is_an_error():
    with refused(shoal.PlanError, "no-number-masked", "round"):
        shoal.protect(pa.table({"a": [1.5, 2.5]}), k=2, round=True)


def test_vmdav_lets_groups_grow_where_records_are_dense():
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(20, 2)) * 100
    table = pa.table(dict(zip("ab", np.repeat(centres, 4, axis=0).T + rng.normal(size=(2, 80)), strict=True)))
    dense = shoal.protect(table, k=3, method="vmdav", gain=1.1)
    assert np.bincount(dense.groups).tolist() == [4] * 20
    assert dense.loss()["IL"] < shoal.protect(table, k=3, method="mdav").loss()["IL"]


@pytest.mark.parametrize("method", ["pca", "zscores"])
def test_a_line_is_cut_into_groups_of_k(method):
    release = shoal.protect(
        random_table(2, 50, 3), k=4, quasi=["x0", "x1", "x2"], method=method, publish=["town", "ill"]
    )
    assert release.plan.method == method
    assert np.bincount(release.groups).min() >= 4
    assert np.bincount(release.groups).max() <= 7


def test_mic1d_promises_no_groups_and_says_so(tmp_path):
    release = shoal.protect(
        random_table(2, 50, 3), k=30, quasi=["x0", "x1", "x2"], method="mic1d", publish=["town", "ill"]
    )
    assert reports(release.notes_below_headline[:1], "mic1d-preserves-nothing")
    published = set(zip(*(release.table[name].to_pylist() for name in ("x0", "x1", "x2")), strict=True))
    assert release.risk()["after"]["real_k"] == 50 / len(published)
    assert len(np.unique(release.groups)) == len(published)
    release.save(tmp_path / "masked.csv")


def test_mic1d_tells_what_it_published_as_it_was():
    table = random_table(2, 50, 3)
    release = shoal.protect(table, k=10, quasi=["x0", "x1", "x2"], method="mic1d", publish="rest")
    assert reports(release.notes, "mic1d-unchanged")
    asked = {"k": 2, "quasi": ["x0", "x1", "x2"], "method": "mic1d", "publish": "rest"}
    with refused(shoal.DataError, "mic1d-leaves-unchanged", k=2):
        shoal.protect(table, **asked)
    literal = shoal.protect(table, **asked, allow_unchanged=True)
    assert reports(literal.notes, "mic1d-unchanged")


def test_mic1d_may_cut_where_squared_errors_are_least():
    table, asked = random_table(2, 50, 3), {"k": 30, "quasi": ["x0", "x1", "x2"], "method": "mic1d", "publish": "rest"}
    release = shoal.protect(table, **asked, partition="optimal")
    X = np.column_stack([np.asarray(table[name]) for name in asked["quasi"]])
    expected = mic1d(X, 30, optimal=True)
    np.testing.assert_array_equal(np.column_stack([np.asarray(release.table[n]) for n in asked["quasi"]]), expected)


def test_mic1d_counts_values_and_not_records():
    table = random_table(2, 50, 3)
    assert shoal.protect(table, k=150, quasi=["x0", "x1", "x2"], method="mic1d", publish="rest").plan.k == 150
    with refused(shoal.DataError, "k-too-large", k=151, number=150, counts="value"):
        shoal.protect(table, k=151, quasi=["x0", "x1", "x2"], method="mic1d", publish="rest")


def test_blocks_can_be_chosen_by_correlation(tmp_path):
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 60))
    table = pa.table({"a": one, "b": other, "c": one + 0.1, "d": other * 2})
    assert shoal.protect(table, k=3, blocks="correlated", block_size=2).plan.blocks == [["a", "c"], ["b", "d"]]
    apart = shoal.protect(table, k=3, blocks="uncorrelated", block_size=2)
    assert sorted(map(sorted, apart.plan.blocks)) in ([["a", "b"], ["c", "d"]], [["a", "d"], ["b", "c"]])
    assert shoal.protect(table, k=3, blocks="correlated").plan.blocks is None
    with refused(shoal.PlanError, "block-size-too-large", "block_size", attributes=4):
        shoal.protect(table, k=3, blocks="correlated", block_size=5)


def test_blocks_are_partitioned_on_their_own_and_the_real_k_is_told():
    rng = np.random.default_rng(5)
    table = pa.table({"a": rng.normal(size=90), "b": rng.normal(size=90), "c": rng.normal(size=90)})
    release = shoal.protect(table, k=3, blocks=[["a", "b"], ["c"]])
    risk = release.risk()
    assert [block["smallest"] for block in risk["blocks"]] == [3, 3]
    assert risk["after"]["smallest"] < 3
    assert risk["after"]["real_k"] == 90 / len(set(zip(*release.table.to_pydict().values(), strict=True)))
    assert len(release.partitions) == 2
    assert len(np.unique(release.groups)) == risk["after"]["groups"]
    assert shoal.protect(table, k=3).loss()["IL"] > release.loss()["IL"]


STRATA = pa.table({"x": [1.0, 2, 9, 10, 1.5, 9.5, 50], "y": ["u", "u", "v", "v", "u", "v", "w"]})


def test_strata_are_never_mixed():
    table = STRATA.slice(0, 6)
    release = shoal.protect(table, k=3, quasi=["x"], strata=["y"])
    assert release.table["x"].to_pylist() == [1.5, 1.5, 9.5, 9.5, 1.5, 9.5]
    assert release.risk()["strata"]["smallest"] == 3


def test_a_stratum_below_k_is_an_error_that_names_it():
    with refused(shoal.DataError, "small-strata", k=3, records=[7]):
        shoal.protect(STRATA, k=3, quasi=["x"], strata=["y"])


def test_a_small_stratum_can_be_merged_with_the_nearest():
    release = shoal.protect(STRATA, k=3, quasi=["x"], strata=["y"], small_strata="merge")
    assert release.table["x"].to_pylist() == [1.5, 1.5, 19.625, 19.625, 1.5, 19.625, 19.625]
    assert reports(release.notes_below_headline[:1], "small-strata-joined", strata=1, k=3)


def test_a_small_stratum_can_be_left_out():
    release = shoal.protect(STRATA, k=3, quasi=["x"], strata=["y"], small_strata="suppress")
    assert release.suppressed == 1
    assert release.table["y"].to_pylist() == STRATA["y"].to_pylist()[:6]
    assert reports(release.notes[-1:], "small-strata-left-out", records=1, strata=1)
    assert reports(release.notes_below_headline[:1], "records-left-out", suppressed=1, records=7, percent=100 / 7)
    assert release.notes_below_headline[0].severity == "warning"
    assert release.risk()["before"]["uniques"] == 7


def test_small_strata_are_named_by_records_never_by_values():
    table = pa.table({"x": np.arange(100.0), "id": [f"person {i}" for i in range(100)]})
    with refused(shoal.DataError, "all-strata-small", k=2, counts="record"):
        shoal.protect(table, k=2, quasi=["x"], strata=["id"], small_strata="suppress")
    with refused(shoal.DataError, "small-strata", records=[1, 2, 3, 4, 5], more=95):
        shoal.protect(table, k=2, quasi=["x"], strata=["id"])
    release = shoal.protect(table, k=2, quasi=["x"], strata=["id"], small_strata="merge")
    assert "person" not in str(release.summary())


def test_categorical_strata_are_strata():
    table = pd.DataFrame({"x": [1.0, 2, 3, 4], "s": pd.Categorical(["u", "v", "u", "v"])})
    assert list(shoal.protect(table, k=2, quasi=["x"], strata=["s"]).table["x"]) == [2, 3, 2, 3]


def test_nested_strata_are_refused():
    with refused(shoal.DataError, "type-not-counted", column="s"):
        shoal.protect(pa.table({"x": [1.0, 2], "s": [[1], [2]]}), k=2, quasi=["x"], strata=["s"])


def test_integers_that_leave_their_type_are_refused():
    table = pa.table({"a": pa.array([-128, -127, -126, 0, 1, 2, 125, 126, 127], pa.int8())})
    release = shoal.protect(table, k=3, restore_variance=True, round=True)
    assert release.table["a"].to_pylist() == [-127] * 3 + [1] * 3 + [126] * 3
    attribute = Attribute("a", "continuous", np.empty(0), pa.int8())
    with refused(shoal.DataError, "type-range-left", column="a", type="int8"):
        attribute.decode(np.array([-3.0, 141.0]), whole=True)


@pytest.mark.parametrize(
    ("stored", "with_round", "without"),
    [
        (pa.int8(), pa.int8(), pa.float64()),
        (pa.uint64(), pa.uint64(), pa.float64()),
        (pa.float32(), pa.float32(), pa.float32()),
        (pa.decimal128(9, 2), pa.float64(), pa.float64()),
    ],
)
@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0, 2.5], [np.nan, 3.0]])
def test_the_type_of_a_published_column_does_not_depend_on_its_values(stored, with_round, without, values):
    attribute = Attribute("a", "continuous", np.empty(0), stored)
    for whole, kind in ((True, with_round), (False, without)):
        assert attribute.decode(np.array(values), whole=whole).type == published_type(attribute, whole=whole) == kind


def test_a_plan_for_one_table_serves_another(tmp_path):
    plan = shoal.Plan(k=2, quasi=["a"], input="elsewhere.csv", csv={"delimiter": ";"})
    release = shoal.protect(pa.table({"a": [1.0, 2]}), plan)
    assert release.plan.input is None
    release.save(tmp_path / "masked.csv")
    assert "input" not in (tmp_path / "masked.csv.plan.toml").read_text()


def test_a_plan_must_be_a_plan():
    with refused(shoal.PlanError, "not-a-kind", "plan", kind="Plan", example="-k=3"):
        shoal.protect(pa.table({"a": [1.0, 2]}), 2)
    with refused(shoal.PlanError, "not-a-choice", "on_interrupt", choices=["stop", "keep"]):
        shoal.protect(pa.table({"a": [1.0, 2]}), k=2, on_interrupt="wait")


def test_missing_strata_are_a_stratum_of_their_own():
    table = pa.table({"x": [1.0, 2, 3, 4], "y": ["u", None, "u", None]})
    assert shoal.protect(table, k=2, quasi=["x"], strata=["y"]).table["x"].to_pylist() == [2, 3, 2, 3]


def test_restored_variances_are_those_of_the_original():
    table = random_table(8, 300, 2)
    release = shoal.protect(table, k=5, quasi=["x0", "x1"], restore_variance=True, publish=["town", "ill"])
    for row in release.loss()["attributes"].values():
        assert row["variance_ratio"] == pytest.approx(1, abs=1e-12)
        assert row["mean_change"] == pytest.approx(0, abs=1e-12)
    assert np.bincount(release.groups).min() >= 5


def test_a_variance_that_cannot_be_restored_is_an_error():
    with refused(shoal.DataError, "variance-of-one-value", column="a"):
        shoal.protect(pa.table({"a": [1.0, 2]}), k=2, restore_variance=True)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"a": []}, {}, "no records"),
        ({"a": [1.0]}, {}, "1 record"),
        ({"a": [1.0, 2]}, {"k": 3}, "2 records"),
        ({"a": [1.0, None, 3]}, {}, "'a'.*record 2"),
        ({"a": [1.0, 2, float("inf")]}, {}, "'a'.*record 3"),
        ({"a": ["x", "y"]}, {"quasi": ["a"]}, "'a'"),
        ({"a": [1.0, 2]}, {"csv": {"delimiter": ";"}}, "csv"),
    ],
)
def test_bad_input_is_one_clear_sentence(table, options, message):
    with pytest.raises(shoal.ShoalError, match=message):
        shoal.protect(pa.table(table), publish="rest", **{"k": 2, **options})


def test_a_method_of_one_attribute_refuses_the_two_of_a_table():
    with refused(shoal.PlanError, "one-attribute-only", "method"):
        shoal.protect(pa.table({"a": [1.0, 2], "b": [1.0, 2]}), k=2, method="univariate", publish="rest")


def test_columns_that_are_not_there_are_refused_all_at_once():
    with refused(shoal.PlanError, "unknown-column", "quasi", column="agee", near="age"):
        shoal.protect(pa.table({"age": [1.0, 2]}), k=2, quasi=["agee"], publish="rest")
    with refused(shoal.PlanError, "unknown-column", "identifiers", column="b", near=None) as caught:
        shoal.protect(pa.table({"a": [1.0, 2]}), k=2, identifiers=["b"], strata=["c"], publish="rest")
    assert [(each.field, each.data["column"]) for each in caught.value.messages] == [
        ("identifiers", "b"),
        ("strata", "c"),
    ]


def test_without_a_table_something_is_missing():
    with pytest.raises(shoal.PlanError, match="Pass a table, or name a file"):
        shoal.protect(k=2)


@pytest.mark.parametrize("ages", [["34", "35", "60"], pd.Categorical([34, 35, 60])])
def test_numbers_in_disguise_do_not_slip_through_unmasked(ages):
    table = pd.DataFrame({"age": ages, "income": [1, 2, 3]})
    with pytest.raises(shoal.DataError, match="'age' holds numbers that are stored"):
        shoal.protect(table, k=2, publish="rest")
    assert list(shoal.protect(table, k=2, quasi=["income"], publish="rest").table["age"]) == list(ages)


def test_a_table_without_numbers_is_refused():
    with refused(shoal.DataError, "nothing-to-mask"):
        shoal.protect(pa.table({"a": ["x", "y"]}), k=2, publish="rest")


def test_a_seed_that_is_not_used_is_told():
    release = shoal.protect(pa.table({"a": [1.0, 2]}), k=2, seed=7)
    assert reports(release.notes, "seed-unused", method=release.plan.method)


def test_a_report_that_cannot_be_written_leaves_a_complete_file(tmp_path):
    pd.DataFrame(COLUMNS).to_csv(tmp_path / "people.csv", index=False)
    plan = shoal.Plan(k=3, quasi=["age"], publish="rest", input=tmp_path / "people.csv")
    page, target = tmp_path / "report.html", tmp_path / "masked.csv"
    page.write_text("mine")
    with refused(shoal.FileError, "only-report-failed", path=target):
        protect_to_file(plan, target, page=page)
    assert shoal.check(target, k=3, quasi=["age"])["smallest"] == 3
    assert page.read_text() == "mine"


def test_the_public_face_takes_its_arguments():
    release = shoal.protect(
        pd.DataFrame(COLUMNS),
        k=3,
        quasi=["age", "income"],
        confidential=["ill"],
        identifiers=["name"],
        method="auto",
        aggregate="mean",
        blocks=None,
        strata=None,
        weights=None,
        edits=None,
        seed=0,
    )
    assert np.bincount(release.groups).min() >= 3
    assert list(release.table.columns) == [name for name in COLUMNS if name != "name"]


def test_warnings_come_before_notes_and_are_told_apart_in_json():
    release = shoal.protect(pa.table(COLUMNS), k=3, quasi=["age"], publish="rest")
    severities = [note.severity for note in release.notes]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)
    assert reports(release.notes_below_headline[:1], "released-unchanged")
    assert release.summary()["notes"][0] == release.notes_below_headline[0].as_json()
    assert release.summary()["notes"][0]["severity"] == "warning"

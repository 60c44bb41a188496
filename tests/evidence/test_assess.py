"""assess(): any masked table against its original."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.expect import prints, refused

import shoal
from shoal.measures import scenarios_of_blocks


@pytest.fixture
def tables():
    rng = np.random.default_rng(3)
    original = pa.table(
        {
            "id": np.arange(60),
            "a": rng.lognormal(size=60),
            "b": rng.normal(size=60),
            "ill": rng.choice(["yes", "no"], 60),
            "cost": rng.integers(0, 9, 60),
        }
    )
    release = shoal.protect(original, k=4, quasi=["a", "b"], confidential=["ill", "cost"], publish=["id"])
    return original, release.table


def test_masked_rows_in_another_order_are_told_by_a_key(tables):
    original, masked = tables
    order = np.random.default_rng(0).permutation(60)
    expected = shoal.assess(original, masked, ["a", "b"], ["ill", "cost"])
    assert shoal.assess(original, masked.take(order), ["a", "b"], ["ill", "cost"], key="id") == expected
    assert shoal.assess(original, masked.take(order), ["a", "b"])["loss"]["IL"] > expected["loss"]["IL"]


def test_a_key_must_tell_records_apart(tables):
    original, masked = tables
    with refused(shoal.DataError, "key-not-unique", column="cost", table="the original"):
        shoal.assess(original, masked, ["a", "b"], key="cost")
    with refused(shoal.PlanError, "unknown-column", "key", column="nothing", table="the original"):
        shoal.assess(original, masked, ["a", "b"], key="nothing")
    shifted = masked.set_column(0, "id", pa.array(np.arange(1, 61)))
    types = {"type": "int64", "original": "int64"}
    with refused(shoal.DataError, "records-not-found", records=1, column="id", **types):
        shoal.assess(original, shifted, ["a", "b"], key="id")
    nested = original.set_column(0, "id", [[[each] for each in range(60)]])
    with refused(shoal.DataError, "type-not-counted", column="id", table="the original"):
        shoal.assess(nested, masked, ["a", "b"], key="id")


@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(seed=st.integers(0, 99), kept=st.integers(10, 59))
def test_a_release_without_some_records_is_measured_as_if_they_had_never_been(tables, seed, kept):
    original, masked = tables
    order = np.random.default_rng(seed).permutation(60)[:kept]
    expected = shoal.assess(original.take(np.sort(order)), masked.take(np.sort(order)), ["a", "b"], ["ill", "cost"])
    found = shoal.assess(original, masked.take(order), ["a", "b"], ["ill", "cost"], key="id")
    assert found.pop("suppressed") == 60 - kept
    assert expected.pop("suppressed") == 0
    del found["estimates"], expected["estimates"]  # users compare with all records of the original
    assert found == expected


def test_records_left_out_are_told_on_the_screen_and_in_json(tables, run, tmp_path):
    original, masked = tables
    pa.csv.write_csv(original, tmp_path / "original.csv")
    pa.csv.write_csv(masked.slice(7), tmp_path / "masked.csv")
    files = ["assess", "original.csv", "masked.csv", "--quasi", "a,b"]
    code, out, _ = run(*files, "--key", "id")
    assert code == 0
    assert "53 records compared" in out
    assert "7 records" in out
    assert json.loads(run(*files, "--key", "id", "--json")[1])["suppressed"] == 7
    code, out, error = run(*files)
    assert (code, out) == (2, "")
    of = {"table": "the original", "records": 60, "other": "the masked table", "others": 53}
    assert prints(error, "numbers-of-records-differ", **of)


def test_a_masked_key_that_occurs_twice_is_refused(tables):
    original, masked = tables
    with refused(shoal.DataError, "key-not-unique", column="id", table="the masked table"):
        shoal.assess(original, masked.take([0, 0, 1, 2, 3]), ["a", "b"], key="id")


def test_an_intruder_who_knows_less_gains_less(tables):
    original, masked = tables
    assessed = shoal.assess(original, masked, ["a", "b"], intruder=["a"])
    scenario = assessed["risk"]["intruder"]
    assert scenario["attributes"] == ["a"]
    assert scenario["after"]["smallest"] >= 4
    assert scenario["DLD"]["expected"] <= 100 / 4
    with refused(shoal.PlanError, "column-not-compared", "intruder", column="cost", numbers=False):
        shoal.assess(original, masked, ["a", "b"], intruder=["cost"])
    with pytest.raises(shoal.PlanError, match=r"^intruder: "):
        shoal.assess(original, masked, ["a", "b"], intruder=[])


def test_diversity_is_that_of_the_published_groups(tables):
    original, masked = tables
    diversity = shoal.assess(original, masked, ["a", "b"], ["ill", "cost"])["risk"]["diversity"]
    frame = masked.to_pandas()
    for name in ("ill", "cost"):
        assert diversity[name]["distinct"] == frame.groupby(["a", "b"])[name].nunique().min()
    assert diversity["cost"]["ordered"]
    assert not diversity["ill"]["ordered"]


def test_confidential_values_may_be_missing_or_categories(tables):
    original, masked = tables
    frame = masked.to_pandas()
    frame["ill"] = pd.Categorical(frame["ill"])
    frame.loc[0, "cost"] = None
    diversity = shoal.assess(original, frame, ["a", "b"], ["ill", "cost"])["risk"]["diversity"]
    assert diversity["ill"]["distinct"] >= 1
    assert not diversity["cost"]["ordered"]


def test_an_unchanged_table_costs_nothing_and_hides_nobody(tables):
    original, _ = tables
    assessed = shoal.assess(original, original, ["a", "b"])
    loss = assessed["loss"]
    assert loss["SSE"] == loss["own_range_SSE"] == loss["IL1s"] == loss["PIL"]["PIL"] == 0
    assert assessed["risk"]["DLD"]["linked"] == 100


def test_one_attribute_and_constant_ones_give_no_nan():
    table = pa.table({"a": [1.0, 2, 3, 4], "same": [7.0] * 4})
    for quasi in (["a"], ["a", "same"], ["same"]):
        assessed = shoal.assess(table, shoal.protect(table, k=2, quasi=quasi, publish="rest").table, quasi)
        assert json.loads(json.dumps(assessed, allow_nan=False))["records"] == 4


def test_attributes_that_the_masked_table_lacks_are_left_out_unless_asked_for(tables):
    original, masked = tables
    assert shoal.assess(original, masked.drop_columns(["id", "cost"]))["quasi"] == ["a", "b"]
    with refused(shoal.PlanError, "unknown-column", column="a", table="the masked table"):
        shoal.assess(original, masked.drop_columns(["a"]), ["a", "b"])


def test_what_tells_nothing_is_left_out_and_named(tables):
    original, masked = tables
    assessed = shoal.assess(
        original.append_column("same", [[7] * 60]), masked.append_column("same", [[7] * 60]).drop_columns(["id"])
    )
    assert assessed["quasi"] == ["a", "b"]
    assert [*assessed["left_out"].values()] == [["same"], ["cost"], ["id"]]  # constant, equal, not in the masked table


def test_an_order_is_seen_in_dates_and_large_integers(tables):
    _, masked = tables
    days = pa.array(np.asarray(masked["cost"]).astype("datetime64[D]"))
    large = pa.array(np.asarray(masked["cost"]) + 2**60)
    table = masked.append_column("day", days).append_column("large", large)
    diversity = shoal.assess(table, table, ["a", "b"], ["cost", "day", "large"])["risk"]["diversity"]
    assert diversity["day"] == diversity["large"] == diversity["cost"]


def test_beyond_the_range_of_numbers_nothing_breaks():
    tiny = pa.table({"a": [1e-200, 2e-200, 3e-200], "b": [0.0, 0, 0]})
    huge = pa.table({"a": [1e200, 3e200, 2e200], "b": [1e200, 3e200, 1e200]})
    assessed = shoal.assess(tiny, huge)
    assert json.loads(json.dumps(assessed, allow_nan=False))["records"] == 3


def test_csv_options_hold_for_the_csv_file_of_the_two(tables, tmp_path):
    original, masked = tables
    pa.parquet.write_table(masked, tmp_path / "masked.parquet")
    pa.csv.write_csv(original, tmp_path / "original.csv", pa.csv.WriteOptions(delimiter=";"))
    csv = {"delimiter": ";"}
    assert shoal.assess(tmp_path / "original.csv", tmp_path / "masked.parquet", ["a", "b"], csv=csv)["records"] == 60


def test_what_is_not_a_number_is_named(tables):
    original, masked = tables
    with pytest.raises(shoal.DataError, match="'ill'") as error:
        shoal.assess(original, masked, ["a", "ill"], types={"ill": "continuous"})
    assert error.value.messages[0].source == "The original"
    days = pa.array(np.arange(60).astype("datetime64[D]"))
    other = masked.set_column(1, "a", pa.array(["x"] * 60))
    with refused(shoal.DataError, "value-not-comparable", column="a", record=1) as error:
        shoal.assess(original.set_column(1, "a", days), other, ["a", "b"])
    assert error.value.messages[0].source == "The masked table"


def test_other_types_than_numbers_are_measured_by_type():
    original = pa.table({"x": [1.0, 2, 8, 9], "town": ["Ayr", "Ayr", "Rye", "Wem"], "size": ["S", "M", "L", "L"]})
    masked = pa.table({"x": [1.5, 1.5, 8.5, 8.5], "town": ["Ayr", "Ayr", "Rye", "Rye"], "size": ["S", "S", "L", "L"]})
    assessed = shoal.assess(original, masked, ["x", "town", "size"], levels={"size": ["S", "M", "L"]})
    assert assessed["loss"]["attributes"]["town"]["changed"] == 25
    assert assessed["loss"]["attributes"]["size"]["levels_moved"] == 0.25
    assert assessed["risk"]["after"]["smallest"] == 2
    assert assessed["loss"]["of_numbers"]["attributes"] == ["x"]
    assert "IL1s" not in assessed["loss"]
    renamed = masked.set_column(1, "town", pa.array(["Ayr", "Ayr", "Nowhere", "Nowhere"]))
    assert shoal.assess(original, renamed, ["town"])["loss"]["attributes"]["town"]["changed"] == 50
    only = shoal.assess(original, masked, ["town"])
    assert "of_numbers" not in only["loss"]
    assert only["risk"]["DLD"]["expected"] == pytest.approx(100 * (0.5 + 0.5 + 0.5 + 0.25) / 4)
    assert only["risk"]["ID_rank"]["percent"] == 75
    assert only["score"] == pytest.approx(only["loss"]["IL"] / 2 + (only["risk"]["DLD_average"]["linked"] + 75) / 4)


def test_text_that_differs_is_compared_without_being_named():
    original = pa.table({"x": [1.0, 2, 8, 9], "town": ["Ayr", "Ayr", "Rye", "Wem"], "same": list("abcd")})
    masked = original.set_column(1, "town", pa.array(["Ayr", "Ayr", "Rye", "Rye"]))
    assert shoal.assess(original, masked)["quasi"] == ["town"]
    with refused(shoal.DataError, "nothing-to-compare"):
        shoal.assess(original.select(["same"]), original.select(["same"]))


def test_scenarios_of_attribute_blocks_are_the_mean_over_their_sets(tables):
    original, masked = tables
    found = shoal.assess(original, masked, ["a", "b"], blocks=[["a"], ["b"]], known=1)["risk"]["scenarios"]
    single = [shoal.assess(original, masked, ["a", "b"], intruder=[name])["risk"]["intruder"]["after"] for name in "ab"]
    assert list(found) == ["1G"]
    assert found["1G"]["sets"] == 2
    assert found["1G"]["real_k"] == pytest.approx(np.mean([each["real_k"] for each in single]))
    assert found["1G"]["least"] == min(each["real_k"] for each in single)
    named = {"one": [["a"]], "two": [["a", "b"], ["b"]]}
    scenarios = shoal.assess(original, masked, ["a", "b"], scenarios=named)["risk"]["scenarios"]
    assert {name: row["sets"] for name, row in scenarios.items()} == {"one": 1, "two": 2}
    assert scenarios["one"]["real_k"] == single[0]["real_k"]


@pytest.mark.parametrize(
    ("options", "code", "field", "data"),
    [
        ({"known": 2}, "does-not-apply-without", "known", {"option": "--block"}),
        ({"blocks": [["a"], ["b"]], "known": 3}, "known-out-of-range", "known", {"most": 2}),
        ({"blocks": [["a"], ["a"]]}, "names-twice", "blocks", {"column": "a"}),
        ({"blocks": [["a", "cost"]]}, "column-not-compared", "blocks", {"column": "cost"}),
        ({"scenarios": {"x": [["cost"]]}}, "column-not-compared", "scenario", {"column": "cost"}),
        ({"scenarios": {"x": []}}, "scenario-without-sets", "scenario", {"scenario": "x"}),
        (
            {"blocks": [["a", "b"]], "known": 1, "scenarios": {"1G": [["a"]]}},
            "scenario-named-twice",
            "scenario",
            {"scenario": "1G"},
        ),
        (
            {"p_percent": 5, "magnitudes": ["ill"]},
            "column-not-compared",
            "magnitudes",
            {"column": "ill", "numbers": True},
        ),
    ],
)
def test_requests_that_make_no_sense_are_refused(tables, options, code, field, data):
    with refused(shoal.PlanError, code, field, **data):
        shoal.assess(*tables, ["a", "b"], **options)


def test_weights_must_be_positive(tables):
    original, masked = tables
    weights = pa.array([1.0, 0.0, None, *[1.0] * 57])
    with refused(shoal.DataError, "wrong-weight", column="w", records=2, first=2):
        shoal.assess(original.append_column("w", weights), masked, ["a", "b"], weights="w")


def test_the_sets_of_the_paper_are_among_those_of_its_blocks():
    blocks = [["a1", "a2", "a3"], ["a4", "a5", "a6"], ["a7", "a8", "a9"]]
    found = scenarios_of_blocks(blocks, 3)
    assert {name: len(sets) for name, sets in found.items()} == {"1G": 3, "2G": 54, "3G": 27}
    assert found["1G"] == blocks
    assert ["a1", "a5", "a9"] in found["3G"]
    some = scenarios_of_blocks(blocks, 3, limit=10)
    assert sum(len(sets) for sets in some.values()) == 10
    many = scenarios_of_blocks([[f"b{i}" for i in range(40)], [f"c{i}" for i in range(40)]], 20, limit=50)
    assert sum(len(sets) for sets in many.values()) == 50


def test_the_score_of_the_paper_is_half_pil_and_half_disclosure_risk():
    rng = np.random.default_rng(0)
    original = pa.table({name: rng.normal(size=60) for name in "abc"})
    release = shoal.protect(original, k=3, method="mdav")
    found = shoal.assess(original, release.table)
    risk = found["risk"]
    assert risk["DR"] == pytest.approx((risk["DLD"]["linked"] + risk["ID_rank"]["percent"]) / 2)
    assert found["score_PIL"] == pytest.approx((found["loss"]["PIL"]["PIL"] + risk["DR"]) / 2)
    same = shoal.assess(original, original, quasi=["a", "b", "c"])
    assert (same["risk"]["DR"], same["score_PIL"]) == (100, 50)

"""Releases that obey rules: the paper's own on Census, and everything that rules may be up to."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree, isoschematron
from tests.census_edits import FIGURES, ISO, census_with_edits
from tests.expect import prints, refused, reports

import shoal
from shoal.messages import Message

CONFLICT = "rules-need-different-aggregates"


@pytest.fixture
def census(reference_file):
    return census_with_edits(reference_file("census"))


@pytest.fixture
def figures(tmp_path):
    path = tmp_path / "figures.sch"
    path.write_text(FIGURES)
    return str(path)


@pytest.fixture(scope="module")
def validator():
    """A validator that has nothing to do with ours."""
    text = ISO.replace('id="EC-LC: V9+V10 = V14"', 'id="a"').replace('id="EC-NLC: V5*V15 = V16"', 'id="b"')
    text = text.replace('id="EC-PV: V3 in [0, 7500]"', 'id="c"')
    text = text.replace('id="EC-LC: if V8 &lt; 1115 then\n  V13 &lt;= V12"', 'id="d"')
    return isoschematron.Schematron(etree.fromstring(text), store_report=True)


def violations(validator, path) -> int:
    validator.validate(etree.parse(path))
    return len(validator.validation_report.findall(".//{*}failed-assert"))


def firms(n=60, seed=0, **more):
    rng = np.random.default_rng(seed)
    wages, other = rng.integers(1, 500, n), rng.integers(0, 90, n)
    return pa.table({"wages": wages, "other": other, "costs": wages + other, **more})


LETTERS = pa.table({"a": list(range(12)), "b": [1] * 12, "c": list(range(1, 13)), "name": list("abcdefghijkl")})


def numbers(table):
    return {name: table[name].to_numpy() for name in table.column_names}


def test_the_rules_of_the_paper_are_classified(census, figures):
    found = shoal.rules(census, figures)
    assert [row["class"] for row in found] == ["EC-LC", "EC-NLC", "EC-PV", "EC-GV", "domain"]
    assert [row["broken"] for row in found] == [0] * 5
    assert all(row["promised"] for row in found)
    assert [row["attributes"] for row in found] == [
        ["V9", "V10", "V14"],
        ["V5", "V15", "V16"],
        ["V3"],
        ["V8", "V13", "V12"],
        ["V1"],
    ]


@pytest.mark.parametrize("k", [2, 4, 33, 99])
def test_a_plain_validator_accepts_the_masked_census(census, figures, validator, tmp_path, k):
    release = shoal.protect(census, k=k, edits=figures)
    release.save(tmp_path / "masked.xml")
    assert violations(validator, tmp_path / "masked.xml") == 0
    assert set(release.table["V1"].to_pylist()) <= set(census["V1"].to_pylist())
    assert shoal.check(tmp_path / "masked.xml", k=k, edits=figures, original=census)["edits"] == 5


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_plain_validator_accepts_census_in_blocks_of_rules(census, figures, validator, tmp_path, k):
    """Many groups have one value of V15 there, and no other number within their range."""
    release = shoal.protect(census, k=k, method="mdav", edits=figures, blocks="edits")
    release.save(tmp_path / "masked.xml")
    assert violations(validator, tmp_path / "masked.xml") == 0
    shoal.check(tmp_path / "masked.xml", k=k, quasi=["V5", "V15", "V16"], edits=figures, original=census)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [None, "edits"])
def test_a_plain_validator_accepts_the_masked_census_at_every_k(census, figures, validator, tmp_path, blocks):
    refused = {}
    for k in range(2, 100):
        shoal.protect(census, k=k, method="mdav", edits=figures, blocks=blocks).save(tmp_path / f"{k}.xml")
        refused[k] = violations(validator, tmp_path / f"{k}.xml")
    print("records that lxml refuses, by k:", refused)
    assert not any(refused.values())


def test_the_blocks_of_rules_are_those_of_the_paper(census, figures):
    release = shoal.protect(census, k=20, method="mdav", edits=figures, blocks="edits")
    tied = [["V1"], ["V3"], ["V5", "V15", "V16"], ["V8", "V12", "V13"], ["V9", "V10", "V14"]]
    assert release.plan.blocks == [*tied, ["V2", "V4", "V6"], ["V7", "V11"]]


def test_rules_that_share_an_attribute_share_a_block_of_rules():
    table = pa.table({name: np.arange(12.0) for name in "abcdefgh"})
    options = {"k": 3, "method": "mdav", "blocks": "edits"}
    release = shoal.protect(table, **options, edits=["d <= b", "b <= f", "g >= 0"], block_size=2)
    assert release.plan.blocks == [["b", "d", "f"], ["g"], ["a", "c"], ["e", "h"]]
    assert shoal.protect(table.select(["b", "d"]), **options, edits=["d <= b"]).plan.blocks is None
    with refused(shoal.PlanError, "does-not-apply-without", "blocks", value="edits", option="--edits or --edit"):
        shoal.protect(table, **options)


def test_without_edits_the_rules_are_broken(census, figures, validator, tmp_path):
    release = shoal.protect(census, k=10)
    release.save(tmp_path / "masked.xml")
    assert violations(validator, tmp_path / "masked.xml") > 1000
    with refused(shoal.CheckFailed, "release-breaks-rule", records=1080) as error:
        shoal.check(tmp_path / "masked.xml", k=10, edits=figures, original=census)
    assert any("EC-NLC" in each.data["rule"] and each.data["records"] == 1080 for each in error.value.messages)


@pytest.mark.parametrize("name", ["masked.csv", "masked.parquet", "masked.xml", "masked.xlsx", "masked.sav"])
def test_what_is_written_obeys_and_the_plan_gives_the_same_again(tmp_path, name):
    table = tmp_path / "firms.parquet"
    pa.parquet.write_table(firms(), table)
    shoal.protect(table, k=3, edits=["wages + other == costs"]).save(tmp_path / name)
    shoal.check(tmp_path / name, k=3, edits=["wages + other == costs"])
    first = (tmp_path / name).read_bytes()
    again = shoal.protect(plan=tmp_path / f"{name}.plan.toml")
    again.save(overwrite=True)
    if not name.endswith((".xlsx", ".sav")):  # they hold the time of writing
        assert (tmp_path / name).read_bytes() == first


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from(["int", "cents", "float"]), st.booleans())
def test_totals_of_totals_hold_exactly(seed, k, kind, exact):
    """Hierarchies of sums, shares of a hundred and bounds, on whole numbers, on cents and on doubles."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2 * k, 40))
    unit = {"int": 1, "cents": 0.01, "float": rng.normal()}[kind]
    a, b, c = (rng.integers(0, 50, n) * unit for _ in range(3))
    table = pa.table({"a": a, "b": b, "ab": a + b, "c": c, "abc": a + b + c})
    rules = ["a + b == ab", "ab + c == abc", "a <= ab" if unit > 0 else "a >= ab", "b - abc == -a - c"]
    if exact:
        rules[0] = "ab - b == a"
    release = shoal.protect(table, k=k, edits=rules, round=False)
    v = numbers(release.table)
    for left, right in ((v["a"] + v["b"], v["ab"]), (v["ab"] + v["c"], v["abc"])):
        assert np.allclose(left, right, rtol=1e-12, atol=1e-12 * abs(unit) * 100)
        if kind == "int":
            assert (left == right).all()
    sizes = np.unique(release.groups, return_counts=True)[1]
    assert sizes.min() >= k
    for name in table.column_names:
        tolerance = 0.1 * abs(unit)
        for g in np.unique(release.groups):
            rows = release.groups == g
            assert abs(v[name][rows][0] - table[name].to_numpy()[rows].mean()) < tolerance


def test_whole_numbers_stay_whole_and_add_up():
    release = shoal.protect(firms(), k=4, round=True, edits=["wages + other == costs"])
    assert release.table.schema == firms().schema
    v = numbers(release.table)
    assert (v["wages"] + v["other"] == v["costs"]).all()


def test_a_rule_that_governs_never_mixes_records():
    rng = np.random.default_rng(1)
    age = np.concatenate([rng.integers(0, 16, 20), rng.integers(16, 90, 40)])
    income = np.where(age < 16, 0, rng.integers(1, 900, 60))
    table = pa.table({"age": age, "income": income})
    assert (numbers(shoal.protect(table, k=7, method="mdav").table)["income"] > 0)[age < 16].any()
    release = shoal.protect(table, k=7, edits=["if age < 16 then income == 0"])
    v = numbers(release.table)
    assert (v["income"][v["age"] < 16] == 0).all()
    assert ((v["age"] < 16) == (age < 16)).all()


def test_a_governing_attribute_may_be_one_that_is_published_as_it_is():
    rng = np.random.default_rng(2)
    sex, births = np.tile(["f", "m"], 30), rng.integers(0, 5, 60)
    table = pa.table({"sex": sex, "births": np.where(sex == "m", 0, births), "age": rng.integers(18, 90, 60)})
    release = shoal.protect(
        table, k=5, quasi=["births", "age"], edits=["if sex == 'm' then births == 0"], publish=["sex"]
    )
    assert (numbers(release.table)["births"][sex == "m"] == 0).all()


def test_parts_below_k_are_refused_left_out_or_joined():
    age = np.array([3, 4, 5, *range(20, 60)])
    table = pa.table({"age": age, "income": np.where(age < 16, 0, age * 10)})
    rule = ["minors: if age < 16 then income == 0"]
    small = {"rules": ["minors"], "number": 3, "counts": "record", "parts": 1, "k": 5, "medoid": True}
    with refused(shoal.DataError, "small-parts", **small):
        shoal.protect(table, k=5, edits=rule)
    assert shoal.protect(table, k=5, edits=rule, small_strata="suppress").suppressed == 3
    with refused(shoal.DataError, "all-parts-small", rules=["minors"], k=41, counts="record", medoid=True):
        shoal.protect(table, k=41, edits=rule, small_strata="suppress")
    with refused(shoal.CheckFailed, "release-breaks-rule", rule="minors"):
        shoal.protect(table, k=5, edits=rule, small_strata="merge")
    release = shoal.protect(table, k=5, edits=rule, aggregate="medoid")
    assert any("aggregate" in str(line) for line in release.plan.options())
    shoal.check(release.table, k=5, edits=rule)


def test_products_need_positive_numbers_or_a_recomputed_attribute():
    table = pa.table({"price": [0.0, 2, 3, 4] * 5, "amount": [1.0, 2, 3, 4, 5] * 4})
    table = table.append_column("value", pa.array(table["price"].to_numpy() * table["amount"].to_numpy()))
    rule = ["price * amount == value"]
    way = Message("rule-needs-geometric-mean", rule="rule 1", column="value")
    with refused(shoal.DataError, "not-positive", column="price", first=1, rule=way):
        shoal.protect(table, k=3, edits=rule)
    v = numbers(shoal.protect(table, k=3, edits=rule, recompute=["value"]).table)
    assert (v["price"] * v["amount"] == v["value"]).all()


def test_a_sum_and_a_product_on_one_attribute_are_explained_and_have_ways_out():
    rng = np.random.default_rng(3)
    a, b, c = (rng.integers(1, 50, 40).astype(float) for _ in range(3))
    table = pa.table({"a": a, "b": b, "s": a + b, "c": c, "p": (a + b) * c})
    rules = ["sum: a + b == s", "product: s * c == p"]
    wanted = [Message("wants-mean", rule="sum"), Message("wants-geometric-mean", rule="product")]
    with refused(shoal.PlanError, CONFLICT, "edits", column="s", wanted=wanted, computed="b", adjusted="a"):
        shoal.protect(table, k=4, edits=rules)
    for way in ({"recompute": ["p"]}, {"adjust": ["a", "b"]}):
        v = numbers(shoal.protect(table, k=4, edits=rules, **way).table)
        assert (v["a"] + v["b"] == v["s"]).all()
        assert (v["s"] * v["c"] == v["p"]).all()


def test_a_sum_and_a_domain_on_one_attribute_have_ways_out():
    rules = ["total: wages + other == costs", "known: wages in original"]
    wanted = [Message("wants-mean", rule="total"), Message("wants-member", rule="known")]
    with refused(shoal.PlanError, CONFLICT, "edits", column="wages", wanted=wanted, adjusted="other"):
        shoal.protect(firms(), k=4, edits=rules)
    for way in ({"adjust": ["other", "costs"]}, {"recompute": ["costs"]}):
        release = shoal.protect(firms(), k=4, edits=rules, **way)
        v = numbers(release.table)
        assert (v["wages"] + v["other"] == v["costs"]).all()
        assert set(v["wages"]) <= set(firms()["wages"].to_pylist())


def test_original_records_that_break_a_rule_are_refused_kept_or_left_out():
    table = firms()
    costs = table["costs"].to_numpy().copy()
    costs[[7, 20]] += 1
    table = table.set_column(2, "costs", pa.array(costs))
    rule = ["wages + other == costs"]
    broken = [Message("rule-broken", rule="rule 1", records=2, first=8)]
    with refused(shoal.DataError, "original-breaks-rules", broken=broken, more=0, keep=True):
        shoal.protect(table, k=3, edits=rule)
    left = shoal.protect(table, k=3, edits=rule, edits_original="exclude")
    assert left.suppressed == 2
    assert reports(left.notes, "records-left-out-for-rules", records=2, broken=broken)
    kept = shoal.protect(table, k=3, edits=rule, edits_original="keep")
    v, groups = numbers(kept.table), kept.groups
    broken = v["wages"] + v["other"] != v["costs"]
    assert set(groups[broken]) <= {groups[7], groups[20]}


def test_sums_that_differ_by_rounding_only_are_put_right():
    a, b = np.full(20, 0.1), np.round(np.arange(20) / 10, 1)
    table = pa.table({"a": a, "b": b, "s": np.round(a + b, 1)})
    assert (a + b != table["s"].to_numpy()).any()
    v = numbers(shoal.protect(table, k=4, edits=["a + b == s"]).table)
    assert np.allclose(v["a"] + v["b"], v["s"], rtol=1e-12)


@pytest.mark.parametrize(
    ("rules", "options", "code", "data"),
    [
        (["a + nobody == c"], {}, "rule-on-unknown-column", {"rule": "rule 1", "column": "nobody"}),
        (["name == 'x'"], {"identifiers": ["name"]}, "rule-on-dropped-column", {"column": "name"}),
        (["a + b == c"], {"quasi": ["a", "c"]}, "rule-ties-unmasked", {"columns": ["a", "c"], "others": ["b"]}),
        (["a + b == c"], {"blocks": [["a", "b"], ["c"]]}, "rule-across-blocks", {"columns": ["a", "b", "c"]}),
        (
            ["a + b == c"],
            {"aggregate": "median"},
            "aggregate-breaks-rule",
            {"rules": ["rule 1"], "allowed": ("mean",), "column": "a", "aggregate": "median"},
        ),
        (["a + b == c"], {"recompute": ["a", "b"]}, "not-recomputable", {"field": "recompute", "column": "a"}),
        (
            ["x: a + b == c", "y: a - b == c"],
            {"recompute": ["c"]},
            "computed-by-two-rules",
            {"column": "c", "one": ["a", "b"], "other": ["a", "b"]},
        ),
        (["a == b + 1", "b == a - 1"], {"recompute": ["a", "b"]}, "computed-in-a-circle", {"columns": ["a", "b"]}),
        (["a <= c"], {"adjust": ["a"]}, "not-adjustable", {"field": "adjust", "column": "a"}),
        (["a <= c"], {"recompute": ["a"]}, "not-recomputable", {"field": "recompute", "column": "a"}),
        (
            ["a <= c"],
            {"aggregate": {"a": "mode"}},
            "order-needs-one-aggregate",
            {"column": "a", "other": "c", "odd": ["mode"]},
        ),
        (
            ["a <= c"],
            {"aggregate": {"a": "mean", "c": "median"}},
            "order-needs-one-aggregate",
            {"column": "a", "other": "c", "found": ["mean", "median"]},
        ),
    ],
)
def test_rules_that_cannot_be_kept_are_refused(rules, options, code, data):
    options = {"k": 3, "publish": "rest", **({} if "blocks" in options else {"quasi": ["a", "b", "c"]}), **options}
    with refused(shoal.PlanError, code, **{"field": "edits", **data}):
        shoal.protect(LETTERS, edits=rules, **options)


@pytest.mark.parametrize(
    ("options", "field"), [({"restore_variance": True}, "restore_variance"), ({"method": "mic1d"}, "edits")]
)
def test_rules_and_what_changes_values_otherwise_do_not_go_together(options, field):
    with pytest.raises(shoal.PlanError) as error:
        shoal.protect(LETTERS, k=3, quasi=["a", "b", "c"], publish="rest", edits=["a <= c"], **options)
    assert [each.field for each in error.value.messages] == [field]


@pytest.mark.parametrize(
    ("rule", "options"), [("a + b == c", {"recompute": ["a"]}), ("a <= c", {"aggregate": {"a": "median"}})]
)
def test_rules_that_can_be_kept_are(rule, options):
    quasi = ["a", "b", "c"]
    release = shoal.protect(LETTERS, k=3, quasi=quasi, edits=[rule], publish="rest", **options)
    shoal.check(release.table, k=3, quasi=quasi, edits=[rule])


def test_blocks_that_are_chosen_are_joined_where_a_rule_ties_them():
    rng = np.random.default_rng(4)
    table = pa.table({f"x{j}": rng.normal(size=50) for j in range(6)})
    table = table.append_column("s", pa.array(table["x0"].to_numpy() + table["x5"].to_numpy()))
    release = shoal.protect(table, k=3, blocks="correlated", block_size=2, edits=["x0 + x5 == s"])
    assert any({"x0", "x5", "s"} <= set(block) for block in release.plan.in_blocks)


def test_a_rule_of_no_known_class_is_verified_and_never_promised():
    rng = np.random.default_rng(5)
    a, b = rng.uniform(1, 9, 40), rng.uniform(1, 9, 40)
    table = pa.table({"a": a, "b": b, "c": a * a + b + rng.uniform(50, 60, 40)})
    [found] = shoal.rules(table, ["a * a + b <= c"])
    assert not found["promised"]
    assert prints(found["kept"], "kept-unpromised")
    release = shoal.protect(table, k=3, edits=["a * a + b <= c"])
    assert "rules-only-verified" in [note.code for note in release.notes]
    with refused(shoal.CheckFailed, "release-breaks-rule", rule="rule 1", medoid=True):
        shoal.protect(pa.table({"a": a, "b": a * a * a}), k=5, edits=["a * a * a + 0 == b + a - a"])


def test_missing_values_part_records_and_break_no_plain_rule():
    table = firms()
    wages = table["wages"].to_pylist()
    wages[:12] = [None] * 12
    table = table.set_column(0, "wages", pa.array(wages))
    release = shoal.protect(table, k=4, missing="group", edits=["wages + other == costs"])
    published = release.table.slice(12)
    v = numbers(published)
    assert (v["wages"] + v["other"] == v["costs"]).all()
    assert release.table["wages"].null_count == 12


def test_rules_on_categories_and_dates():
    rng = np.random.default_rng(6)
    start = np.array("2020-01-01", dtype="datetime64[D]") + rng.integers(0, 900, 60)
    table = pa.table(
        {
            "town": rng.choice(["north", "south", "west"], 60),
            "start": start,
            "end": start + rng.integers(1, 99, 60),
            "size": rng.integers(1, 5, 60),
        }
    )
    rules = [
        "town in original",
        "town in {'north', 'south', 'west'}",
        "start < end",
        "size is integer",
        "size in {1, 2, 3, 4}",
    ]
    release = shoal.protect(table, k=5, quasi=table.column_names, edits=rules)
    assert {*release.table["size"].to_pylist()} <= {1, 2, 3, 4}


def test_record_blocks_strata_and_several_methods_obey():
    table = firms(400, age=np.tile([12, 30, 40, 50], 100), region=np.repeat(["a", "b"], 200))
    rules = ["wages + other == costs", "if age < 18 then wages <= 500", "other <= costs"]
    for options in (
        {"scale": {"block_size": 40}},
        {"scale": {"block_size": 40, "seams": True}},
        {"strata": ["region"]},
        {"method": "vmdav"},
        {"method": "pca"},
        {"weights": "age"},
    ):
        quasi = ["wages", "other", "costs"] if "weights" in options else ["wages", "other", "costs", "age"]
        release = shoal.protect(table, k=4, quasi=quasi, edits=rules, publish="rest", **options)
        assert shoal.check(release.table, k=4, quasi=quasi, edits=rules)["records"] == 400


def test_hybrid_data_keep_sums_exactly_and_refuse_other_rules():
    table = firms(200, age=np.arange(200))
    options = {"k": 30, "method": "hybrid", "confidential": ["wages", "other", "costs"], "quasi": ["age"], "seed": 1}
    release = shoal.protect(table, edits=["wages + other == costs"], **options)
    v = numbers(release.table)
    assert (v["wages"] + v["other"] == v["costs"]).all()
    assert not np.allclose(v["wages"], table["wages"].to_numpy())
    with refused(shoal.PlanError, "rule-not-a-sum", "edits", rule="rule 1", shape="EC-PV", method="hybrid"):
        shoal.protect(table, edits=["wages >= 0"], **options)


def test_permuting_the_records_permutes_the_release(census, figures):
    order = np.random.default_rng(7).permutation(len(census))
    one = shoal.protect(census, k=9, edits=figures).table.take(order)
    other = shoal.protect(census.take(order), k=9, edits=figures).table
    assert one.equals(other)


@pytest.mark.parametrize("many", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_rules(many):
    table = firms(50)
    rules = [f"wages + other <= costs + {i}" for i in range(many * 9 // 10)]
    rules += [f"wages <= {600 + i}" for i in range(many // 10)]
    release = shoal.protect(table, k=5, edits=rules)
    assert len(release.edits) == many

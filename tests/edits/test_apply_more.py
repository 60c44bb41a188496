"""What rules must not do: excuse others, give confidential values away, promise too much, or advise what is refused."""

import numpy as np
import pyarrow as pa
import pytest
from tests.expect import prints, refused, reports

import shoal
from shoal import cli
from shoal.backends.memory import verify_in_memory
from shoal.cli.display import _obeyed
from shoal.edits.apply import kept_by_medoids
from shoal.edits.load import read_rules
from shoal.messages import Message
from shoal.plan import Plan
from shoal.tables import open_table

NUMBERS = {"a": "continuous", "b": "continuous"}


def disobeyed(before, after, **options):
    """List the rules that a table breaks, were it the release of another whose broken rules are kept."""
    promise = shoal.protect(before, k=2, types=NUMBERS, edits_original="keep", round=False, **options).published.promise
    after = after.cast(pa.schema([("a", pa.float64()), ("b", pa.float64())]))
    with pytest.raises(shoal.CheckFailed) as caught:
        verify_in_memory(open_table(before), open_table(after), promise)
    return [each.data for each in caught.value.failures if each.code == "release-breaks-rule"]


def test_a_kept_record_excuses_the_rule_that_it_broke_and_no_other():
    before = pa.table({"a": [1, 9, 3, 4], "b": [1, 1, 1, 1]})
    after = pa.table({"a": [9, 9, 3, 3], "b": [7, 7, 1, 1]})
    rules = ["small: a <= 5", "one: b == 1"]
    [failure] = disobeyed(before, after, quasi=["a", "b"], edits=rules)
    assert failure == {"rule": "one", "records": 2, "first": 1, "medoid": True, "alone": False}


def test_a_kept_record_excuses_its_group_in_the_block_of_the_rule_alone():
    before = pa.table({"a": [1, 9, 3, 4], "b": [1, 2, 1, 2]})
    after = pa.table({"a": [5, 9, 5, 9], "b": [1, 1, 2, 2]})
    [failure] = disobeyed(before, after, blocks=[["a"], ["b"]], edits=["a <= 4"])
    assert failure == {"rule": "rule 1", "records": 2, "first": None, "medoid": True, "alone": False}


def test_only_rules_that_are_broken_take_memory():
    table = pa.table({"a": [1, 9, 3, 4]})
    rules = [f"a <= {i}" for i in range(5, 105)]
    release = shoal.protect(table, k=2, types={"a": "continuous"}, edits=rules, edits_original="keep")
    assert sorted(release.published.promise.edits.excused) == [0, 1, 2, 3]
    broken = [Message("rule-broken", rule=f"rule {i}", records=1, first=2) for i in range(1, 5)]
    assert reports(release.notes, "records-kept-that-break-rules", records=1, broken=broken, more=0)


def test_a_rule_on_what_is_published_as_it_is_is_not_broken_by_rounding(tmp_path):
    path = tmp_path / "sum.sch"
    path.write_text(
        '<schema><pattern name="sum"><rule context="Record"><assert test="number(x) + number(y) = number(z)"/></rule>'
        "</pattern></schema>"
    )
    table = pa.table({"a": [1, 2, 3, 4], "x": [0.1] * 4, "y": [0.2] * 4, "z": [0.3] * 4})
    release = shoal.protect(table, k=2, quasi=["a"], edits=str(path), publish="rest")
    assert release.table["z"].to_pylist() == [0.3] * 4


@pytest.mark.parametrize("more", [{}, {"l": 2}])
def test_no_confidential_attribute_parts_records(more):
    table = pa.table({"age": list(range(12)), "ill": ["yes", "no"] * 6})
    with refused(shoal.PlanError, "rule-separates-by-sensitive", "edits", rule="mine", columns=["ill"]):
        shoal.protect(
            table, k=3, quasi=["age"], confidential=["ill"], edits=["mine: if ill == 'yes' then age >= 0"], **more
        )
    shoal.protect(table, k=3, quasi=["age"], publish=["ill"], edits=["if ill == 'yes' then age >= 0"])


def test_records_that_are_left_out_are_noted_whatever_left_them_out():
    table = pa.table(
        {"g": ["u"] * 20 + ["v"] * 2, "x": [*range(10), *range(100, 110), 1, 2], "y": [0] * 10 + [5] * 10 + [0, 0]}
    )
    release = shoal.protect(
        table,
        k=3,
        quasi=["x", "y"],
        strata=["g"],
        small_strata="suppress",
        edits=["if x < 1 then y == 0"],
    )
    assert release.suppressed == 3
    said = [note for note in release.notes if "left out" in note]
    assert [note.split()[0] for note in said] == ["3", "2", "1"]


def test_parts_that_are_joined_take_the_promise_back():
    age = np.array([3, 4, 5, *range(20, 60)])
    table = pa.table({"age": age, "income": np.where(age < 16, 0, age * 10)})
    rules = ["minors: if age < 16 then income <= 900", "income >= 0"]
    release = shoal.protect(table, k=5, edits=rules, small_strata="merge")
    assert [row["promised"] for row in release.edits] == [False, True]
    assert ["minors"] in [note.data["rules"] for note in release.notes if note.code == "rules-only-verified"]


def hybrid_table():
    rng = np.random.default_rng(0)
    a, b, age = rng.integers(1, 500, 120), rng.integers(1, 90, 120), rng.integers(18, 90, 120)
    return pa.table({"a": a, "b": b, "s": a + b, "age": age})


HYBRID = {"k": 20, "method": "hybrid", "quasi": ["age"], "seed": 1}


def test_hybrid_data_say_how_rules_are_kept():
    rules = ["sum: a + b == s", "age >= 18"]
    release = shoal.protect(hybrid_table(), edits=rules, confidential=["a", "b", "s"], **HYBRID)
    looked = shoal.rules(hybrid_table(), rules, confidential=["a", "b", "s"], **HYBRID)
    for found in (release.edits, looked):
        assert [row["kept"] for row in found] == [Message("kept-by-moments", all=False), Message("kept-unchanged")]


@pytest.mark.parametrize(
    ("rule", "options", "code", "data"),
    [
        (
            "a + b == s",
            {"confidential": ["a", "b"]},
            "rule-on-other-columns",
            {"field": "edits", "rule": "rule 1", "columns": ["s"]},
        ),
        ("a + nobody == s", {}, "rule-on-unknown-column", {"field": "edits", "rule": "rule 1", "column": "nobody"}),
        (
            "b <= a",
            {"identifiers": ["b"], "confidential": ["a", "s"]},
            "rule-on-dropped-column",
            {"field": "edits", "rule": "rule 1", "column": "b"},
        ),
    ],
)
def test_what_hybrid_data_cannot_keep_is_said_before_anything_is_made(rule, options, code, data):
    options = {"confidential": ["a", "b", "s"], **HYBRID, **options}
    with refused(shoal.PlanError, code, **data):
        shoal.protect(hybrid_table(), edits=[rule], publish="rest", **options)


@pytest.mark.parametrize("field", ["recompute", "adjust"])
def test_what_gives_way_to_rules_does_not_apply_to_hybrid_data(field):
    options = {"confidential": ["a", "b", "s"], **HYBRID, field: ["s"]}
    with pytest.raises(shoal.PlanError) as error:
        shoal.protect(hybrid_table(), edits=["a + b == s"], publish="rest", **options)
    assert [each.field for each in error.value.messages] == [field]


def test_hybrid_data_are_not_advised_to_keep_what_breaks_a_rule():
    table = hybrid_table()
    broken = table.set_column(2, "s", pa.array(table["s"].to_numpy() + (np.arange(120) == 3)))
    with refused(shoal.DataError, "original-breaks-rules", keep=False) as caught:
        shoal.protect(broken, edits=["a + b == s"], confidential=["a", "b", "s"], **HYBRID)
    assert caught.value.messages[0].options == [("--edits-original", "exclude")]


def test_weighted_totals_and_sums_do_not_go_together():
    table = pa.table({"a": [1, 2, 3, 4], "b": [1, 1, 1, 1], "s": [2, 3, 4, 5], "w": [1.0, 2, 1, 2]})
    with refused(shoal.PlanError, "totals-not-with-rules", "preserve", number=1, rules=["sum"]):
        shoal.protect(table, k=2, weights="w", preserve="weighted_mean", edits=["sum: a + b == s"])
    shoal.protect(table, k=2, quasi=["a"], publish="rest", weights="w", preserve="weighted_mean", edits=["a <= 4"])


def test_sums_of_columns_of_32_bits():
    rng = np.random.default_rng(1)
    a, b = (rng.normal(size=40).astype(np.float32) for _ in range(2))
    table = pa.table({"a": a, "b": b, "s": a + b})
    release = shoal.protect(table, k=4, edits=["a + b == s"])
    assert shoal.check(release.table, k=4, edits=["a + b == s"])["records"] == 40
    assert {release.table[name].type for name in "abs"} == {pa.float32()}


def test_whole_records_are_advised_where_they_would_keep_a_rule():
    rules = read_rules(["own: a <= b", "other: a <= u"])
    plan = Plan(k=2, quasi=["a", "b"], edits=["a <= b"], types=NUMBERS)
    assert kept_by_medoids(rules, plan) == {"own"}
    assert not kept_by_medoids(rules, plan.updated(recompute=["a"]))
    assert not kept_by_medoids(rules, plan.updated(aggregate="medoid"))
    table = pa.table({"x": [1, *range(20, 40)], "sex": ["f", *["m"] * 20]})
    one = {"several": 1, "number": 1, "counts": "record", "parts": 1}
    with refused(shoal.DataError, "small-parts", **one):
        shoal.protect(table, k=3, quasi=["x"], edits=["if sex == 'm' then x >= 20"], publish=["sex"])


def test_gaps_that_are_filled_part_no_records():
    table = pa.table({"a": [1, 2, None, 4, 5, 6, 7, 8], "b": [1] * 8})
    release = shoal.protect(table, k=2, missing="impute", edits=["a <= 10"])
    assert release.table["a"].null_count == 0


def test_an_original_is_of_no_use_without_rules():
    table = pa.table({"a": [1, 1, 2, 2]})
    with refused(shoal.PlanError, "does-not-apply-without", "original", option="--edits"):
        shoal.check(table, k=2, original=table)


def test_a_rule_on_what_is_missing_says_how_it_is_kept():
    [found] = shoal.rules(pa.table({"a": [1, 2, 3, 4]}), ["a is not missing"])
    assert prints(found["kept"], "kept-by-any-value")


def test_what_holds_is_counted():
    assert "rule holds" in _obeyed(1, {})
    assert "but for" not in _obeyed(1, {})
    assert all(part in _obeyed(5, {"edits_original": "keep"}) for part in ("5 rules hold", "but for groups"))


def test_check_counts_rules_in_words_and_refuses_an_original_without_them(capsys, monkeypatch, tmp_path):
    (tmp_path / "out.csv").write_text("a,b\n1,2\n1,2\n3,4\n3,4\n")

    def said(*arguments):
        monkeypatch.setattr("sys.argv", ["shoal", "check", str(tmp_path / "out.csv"), "-k", "2", *arguments])
        with pytest.raises(SystemExit):
            cli.main()
        captured = capsys.readouterr()
        return " ".join((captured.out + captured.err).split())

    assert "; so does 1 rule." in said("--edit", "a <= b")
    assert "; so do 2 rules." in said("--edit", "a <= b", "--edit", "a >= 1")
    found = said("--original", str(tmp_path / "out.csv"))
    assert prints(found, "does-not-apply-without", needed="rules", option="--edits")
    assert "--original: " in found

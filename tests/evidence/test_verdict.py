"""Policies: the limits of an office held against what was measured."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.expect import codes, prints, refused, reports

import shoal
from shoal.evidence.verdict import LIMITS, judged
from shoal.messages import Message
from shoal.plan.policy import _SETTINGS, Policy


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(11)
    n = 120
    age = rng.integers(20, 60, n)
    return pd.DataFrame({"age": age, "income": 100 + age + rng.normal(0, 9, n), "ill": rng.integers(0, 4, n)})


def protected(people, **options):
    return shoal.protect(
        people, **{"k": 4, "quasi": ["age", "income"], "confidential": ["ill"], "method": "mdav"} | options
    )


def findings(release):
    return [each["text"] for each in release.risk()["file"]["findings"]]


def results(verdict):
    return {each["limit"]: each["result"] for each in verdict.as_json()["limits"]}


def test_every_limit_of_a_policy_has_a_figure_and_a_meaning():
    limits = [name for name in Policy.model_fields if name not in _SETTINGS]
    assert limits == [*LIMITS]


def test_a_release_within_all_limits_passes(people):
    release = protected(people, policy=Policy(k=4, l=1.5, t=0.9, unique_columns=0, unique_records=0, loss=50))
    assert (release.verdict.result, release.may_go_out) == ("passed", True)
    assert protected(people).may_go_out is None
    assert release.summary()["verdict"]["result"] == "passed"
    figures = {each.limit: each.figure for each in release.verdict.limits}
    assert figures["k"] == release.risk()["after"]["smallest"]
    assert figures["loss"] == release.loss()["IL"]
    diversity = shoal.assess(people, release.table, ["age", "income"], ["ill"])["risk"]["diversity"]["ill"]
    assert (figures["l"], figures["t"]) == (diversity["distinct"], pytest.approx(diversity["t"]))


def test_a_release_beyond_a_limit_fails_and_cannot_be_saved(people, tmp_path):
    release = protected(people, policy=Policy(k=5, loss=0.001))
    assert (release.verdict.result, release.may_go_out) == ("failed", False)
    of = {"limit": "k", "figure": 4, "least": "at least", "bound": 5, "unit": ""}
    with refused(shoal.CheckFailed, "limit-not-met", **of) as error:
        release.save(tmp_path / "masked.csv")
    assert len(error.value.failures) == 2
    assert not [*tmp_path.iterdir()]


def test_figures_that_only_assess_has_are_measured_for_tables_in_memory(people):
    release = protected(people, policy=Policy(linkage=60, analyses=0.3, formulas=["income ~ age"]))
    assert release.verdict.result == "passed"
    assessed = shoal.assess(people, release.table, ["age", "income"], ["ill"], analyses=["income ~ age"])
    figures = {each.limit: each.figure for each in release.verdict.limits}
    linked = max(assessed["risk"][name]["expected"] for name in ("DLD", "DLD_masking", "DLD_neutral"))
    assert figures == {"linkage": linked, "analyses": assessed["analyses"][0]["overlap"]}


def test_linkage_does_not_depend_on_the_order_of_rows(people):
    masked = protected(people).table
    options = {"quasi": ["age", "income"], "confidential": ["ill"], "policy": Policy(linkage=99)}
    orders = [people.index, people.index[::-1], np.random.default_rng(2).permutation(len(people))]
    found = [
        shoal.assess(people.loc[order], masked.loc[order], **options)["verdict"]["limits"][0]["figure"]
        for order in orders
    ]
    assert found == pytest.approx([found[0]] * 3)


def test_what_was_not_measured_is_not_passed_unless_the_policy_says_so(people):
    wanted = {"k": 4, "units": 3, "dominance": 0}
    verdict = protected(people, policy=Policy(**wanted)).verdict
    assert verdict.result == "incomplete"
    assert results(verdict) == {"k": "passed", "units": "not measured", "dominance": "not measured"}
    units, dominance = verdict.unmeasured
    assert reports([units], "limit-not-measured", limit="units", bound=3, needs=Message("name-unit"))
    assert reports([dominance], "limit-not-measured", limit="dominance", needs=Message("name-dominance-rule"))
    assert protected(people, policy=Policy(**wanted, not_measured="allow")).verdict.result == "passed"
    assert protected(people, policy=Policy(k=9, units=3, not_measured="allow")).verdict.result == "failed"
    assert protected(people, policy=Policy(units=3, not_measured="allow")).verdict.result == "incomplete"


def test_a_verdict_says_how_many_limits_were_not_measured(people, tmp_path, run):
    people.to_csv(tmp_path / "data.csv", index=False)
    roles = ["--quasi", "age,income", "--confidential", "ill"]
    protect = ["protect", "data.csv", "-k", "4", "--method", "mdav", *roles, "-o", "masked.csv", "--overwrite"]
    (tmp_path / "some.toml").write_text('k = 4\nunits = 3\nnot_measured = "allow"\n')
    (tmp_path / "none.toml").write_text('units = 3\nnot_measured = "allow"\n')
    code, out, _ = run(*protect, "--policy", "some.toml", "--report", "report.html")
    assert code == 0
    assert "'some.toml': passed; 1 limit" in out
    assert "passed; 1 limit" in (tmp_path / "report.html").read_text()
    code, _, error = run(*protect, "--policy", "none.toml")
    assert code == 1
    assert "1 of 1 limit" in error
    assert "'none.toml'" in error


def test_k_counts_columns_released_unchanged_that_a_stranger_may_know(people):
    numbered = people.assign(region=np.arange(120) % 50)
    verdict = protected(numbered, publish=["region"], policy=Policy(k=4, unique_columns=0)).verdict
    assert verdict.limits[0].figure == 1
    assert results(verdict)["k"] == "failed"
    unique = people.assign(number=np.arange(120))
    verdict = protected(unique, publish=["number"], policy=Policy(unique_columns=0, unique_records=5)).verdict
    assert [each.figure for each in verdict.limits] == [1, 100]


def test_units_are_those_of_a_dropped_identifier(people):
    firms = people.assign(firm=np.repeat(np.arange(40), 3))
    verdict = protected(firms, identifiers=["firm"], policy=Policy(units=2)).verdict
    assert verdict.limits[0].figure is not None


def test_figures_of_other_measures_are_read_by_their_names():
    evidence = {
        "left_out": {},
        "risk": {
            "assignment": {"hits": 12.5},
            "inference": {"ill": {"gain": {"percent": 3.0}}, "income": {"gain": {"percent": 7.0}}, "none": None},
            "dominance": {"income": {"cells": 9, "failing": 2}},
        },
        "published": {"percent": 80.0},
    }
    policy = Policy(assignment=10, inference=7, dominance=0, published=75, linkage=5)
    verdict = judged(policy, evidence)
    assert {each.limit: (each.figure, each.result) for each in verdict.limits} == {
        "dominance": (2, "failed"),
        "linkage": (None, "not measured"),
        "assignment": (12.5, "failed"),
        "inference": (7.0, "passed"),
        "published": (80.0, "passed"),
    }


@pytest.mark.parametrize(
    ("policy", "evidence", "needs"),
    [
        (Policy(analyses=0.5), {}, "add-formulas"),
        (Policy(published=90), {}, "add-published"),
        (Policy(l=2), {}, "name-sensitive"),
        (Policy(l=2), {"confidential": ["ill"]}, "measured-by-assess"),
        (Policy(linkage=5), {"left_out": {}}, "no-such-figure"),
        (Policy(loss=5), {"private": True}, "private-figure"),
        (Policy(linkage=5), {"private": True}, "private-figure"),
    ],
)
def test_a_limit_that_was_not_measured_has_a_reason(policy, evidence, needs):
    [judgement] = judged(policy, evidence).limits
    assert (judgement.result, judgement.needs) == ("not measured", Message(needs))


def test_linkage_is_by_attributes_of_every_type(people):
    mixed = people.assign(town=np.where(np.arange(120) % 3, "a", "b"))
    options = {"quasi": ["age", "town"], "confidential": ["income", "ill"], "types": {"town": "nominal"}}
    assert results(protected(mixed, **options, policy=Policy(linkage=99)).verdict) == {"linkage": "passed"}


def test_figures_of_some_of_the_columns_that_differ_pass_no_limit(people):
    masked = protected(people).table
    policy = Policy(linkage=99, inference=99, loss=99)
    found = shoal.assess(people, masked, quasi=["age"], confidential=["ill"], policy=policy)
    assert found["not_compared"] == ["income"]
    assert {each["result"] for each in found["verdict"]["limits"]} == {"not measured"}
    differ = Message("differ-uncompared", columns=["income"], number=1)
    assert {each["needs"] for each in found["verdict"]["limits"]} == {differ}
    whole = shoal.assess(people, masked, quasi=["age", "income"], confidential=["ill"], policy=policy)
    assert (whole["not_compared"], whole["verdict"]["result"]) == ([], "passed")
    strict = shoal.assess(people, masked, quasi=["age"], confidential=["ill"], policy=Policy(loss=0.001))
    assert strict["verdict"]["result"] == "failed"


def test_dominance_is_not_measured_without_a_rule_or_with_negative_magnitudes(people):
    signed = people.assign(profit=people["income"] - 140)
    masked = protected(signed, quasi=["age", "income", "profit"]).table
    options = {"quasi": ["age", "income", "profit"], "confidential": ["ill"], "policy": Policy(dominance=99)}

    def reason(**rule):
        [limit] = shoal.assess(signed, masked, **options, **rule)["verdict"]["limits"]
        return limit["result"], limit["needs"]

    assert reason() == ("not measured", Message("name-dominance-rule"))
    assert reason(p_percent=10) == ("not measured", Message("negative-in-records", columns=["profit"], number=1))
    assert reason(p_percent=10, magnitudes=["income"])[0] == "passed"


def test_the_loss_of_some_of_the_records_does_not_pass(people):
    gaps = people.assign(income=people["income"].where(people.index < 30), number=np.arange(120))
    options = {"identifiers": ["number"], "missing": "suppress"}
    release = protected(gaps, **options, policy=Policy(k=4, loss=99))
    why = Message("loss-of-published", records=90)
    assert [(each.result, each.needs) for each in release.verdict.limits] == [("passed", None), ("not measured", why)]
    assert reports(release.notes[:1], "records-left-out", suppressed=90, records=120, percent=75)
    assert results(protected(gaps, **options, policy=Policy(loss=0.001)).verdict) == {"loss": "failed"}


def test_the_loss_without_a_column_that_is_gone_does_not_pass(people):
    masked = protected(people).table
    policy = Policy(loss=99)
    [limit] = shoal.assess(people, masked.drop(columns="income"), confidential=["ill"], policy=policy)["verdict"][
        "limits"
    ]
    why = Message("gone-from-masked", columns=["income"], number=1)
    assert (limit["result"], limit["needs"]) == ("not measured", why)
    named = people.assign(name=[f"n{i}" for i in people.index])
    options = {"quasi": ["age", "income"], "confidential": ["ill"], "policy": policy}
    assert shoal.assess(named, masked, **options)["verdict"]["result"] == "passed"  # it was said what was masked


NUMBERED = {
    "consecutive": np.arange(120) + 4,
    "as decimals": np.arange(120) + 1000.0,
    "of nine digits": 314_159_265 + 7_654_321 * np.arange(120) % 99_999_999,
    "as texts": [f"P{i:05d}" for i in range(120)],
}


@pytest.mark.parametrize("sort", NUMBERED)
def test_numbers_of_records_are_no_sensitive_values(people, sort):
    limits = {"k": 4, "l": 2, "t": 1, "unique_records": 99, "linkage": 99, "assignment": 99, "inference": 99}
    numbered = people.assign(number=np.random.default_rng(0).permutation(NUMBERED[sort]))
    roles = {"quasi": ["age", "income"], "confidential": ["number"]}
    release = shoal.protect(numbered.drop(columns="ill"), k=4, method="mdav", **roles)
    assert reports(findings(release)[:1], "identifying-sensitive", columns="number")
    policy = Policy(**limits, unique_columns=0)
    for verdict in (
        replace(release, policy=policy).verdict.as_json(),
        shoal.assess(numbered, release.table, **roles, policy=policy)["verdict"],
    ):
        found = {each["limit"]: (each["result"], each["needs"]) for each in verdict["limits"]}
        why = Message("identifies-people", columns=["number"], number=1)
        assert found.pop("unique_columns") == ("failed", "")
        assert found == dict.fromkeys(limits, ("not measured", why))


def test_numbers_of_households_and_patients_are_no_sensitive_values(people):
    for name in ("household_no", "patient_id"):
        table = people.assign(**{name: np.random.default_rng(0).permutation(np.repeat(np.arange(60) + 900, 2))})
        release = protected(table, confidential=["ill", name], policy=Policy(k=4, unique_columns=0, linkage=99))
        assert results(release.verdict) == {"k": "not measured", "unique_columns": "passed", "linkage": "not measured"}


def test_units_that_are_published_by_their_numbers_pass_nothing(people):
    firms = people.assign(firm=np.repeat(np.arange(40) + 700, 3))
    masked = protected(firms, unit="firm", k=3).table
    limits = {"k": 3, "unique_columns": 0, "unique_records": 0, "linkage": 99}
    options = {"quasi": ["age", "income"], "confidential": ["ill"], "unit": "firm", "policy": Policy(**limits)}

    def found(published):
        return {
            each["limit"]: each["result"] for each in shoal.assess(firms, published, **options)["verdict"]["limits"]
        }

    assert found(masked.drop(columns="firm", errors="ignore")) == dict.fromkeys(limits, "passed")
    bad = {"k": "failed", "unique_columns": "failed", "unique_records": "failed", "linkage": "not measured"}
    assert found(masked.assign(firm=firms["firm"])) == bad


@pytest.mark.parametrize("function", ["copy", "logarithm", "nearly a line", "near", "falling"])
def test_a_masked_attribute_that_follows_from_a_sensitive_one_passes_nothing(people, function):
    income = people["income"]
    given = {
        "nearly a line": np.log(income + 40),
        "copy": income,
        "logarithm": np.log(income - 90),
        "near": income.round(1) + 0.01,
        "falling": 1 / income**2,
    }
    table = people.assign(other=given[function])
    limits = {"k": 4, "l": 2, "unique_records": 99, "linkage": 99, "assignment": 99, "inference": 99}
    release = protected(table, confidential=["ill", "other"], l=2, policy=Policy(**limits))
    assert "passed" not in {**results(release.verdict), "unique_records": ""}.values()
    options = {"quasi": ["age", "income"], "confidential": ["ill", "other"], "policy": Policy(**limits)}
    verdict = shoal.assess(table, release.table, **options)["verdict"]
    assert {each["limit"] for each in verdict["limits"] if each["result"] == "passed"} <= {"unique_records"}
    why = {each["needs"] for each in verdict["limits"] if each["limit"] == "linkage"}
    assert why == {Message("original-follows", column="income", by=["other"])}


def test_incomes_are_sensitive_though_no_two_are_alike(people):
    for income in (people["income"], (1000 * people["income"]).astype(int)):
        table = people.assign(income=income)
        release = protected(table, quasi=["age"], confidential=["income", "ill"], policy=Policy(k=4, unique_columns=0))
        assert release.verdict.result == "passed"


def test_linkage_does_not_pass_if_columns_released_unchanged_single_out_records(people):
    numbered = people.assign(number=np.arange(120))
    release = protected(numbered, publish=["number"], policy=Policy(linkage=99))
    why = Message("singled-out-uncounted", columns=["number"], number=1, records=120)
    assert [(each.result, each.needs) for each in release.verdict.limits] == [("not measured", why)]
    options = {"quasi": ["age", "income"], "confidential": ["ill"], "policy": Policy(linkage=99)}
    [limit] = shoal.assess(numbered, release.table, **options)["verdict"]["limits"]
    assert (limit["result"], limit["needs"]) == ("not measured", why)


@pytest.mark.parametrize(
    ("text", "field", "code", "data"),
    [
        ("kk = 3", "kk", "unknown-field", {"near": "k"}),
        ("linkages = 3", "linkages", "unknown-field", {"near": "linkage"}),
        ("zzz = 3", "zzz", "unknown-field", {"near": ""}),
        ("[risk]\nk = 5", "risk", "unknown-field", {}),
        ("k = 1", "k", "too-small", {"limit": 2}),
        ("k = true", "k", "not-whole", {}),
        ("k = 'five'", "k", "not-whole", {}),
        ("k = 5.5", "k", "not-whole", {}),
        ("l = 1", "l", "too-small", {"limit": 1, "open": True}),
        ("linkage = 120", "linkage", "too-large", {"limit": 100}),
        ("loss = nan", "loss", "not-a-number", {}),
        ("t = 3", "t", "too-large", {"limit": 1}),
        ("analyses = 80", "analyses", "too-large", {"limit": 1}),
        ("name = 5", "name", "not-text", {}),
        ("formulas = ['a ~ b']", "formulas", "does-not-apply-without", {"option": "analyses = 0.8"}),
        ("k = 3\nformulas = 3", "formulas", "not-formulas", {}),
        ("k = 3\nnot_measured = 'yes'", "not_measured", "not-a-choice", {"choices": ["refuse", "allow"]}),
        ("", "policy", "no-limits", {}),
        ("name = 'ours'", "policy", "no-limits", {}),
        ("p_percent = 10", "p_percent", "does-not-apply-without", {"option": "dominance = 0"}),
        ("dominance_rule = [1, 60]", "dominance_rule", "does-not-apply-without", {"option": "dominance = 0"}),
        ("dominance = 0\np_percent = 0", "p_percent", "too-small", {"limit": 0, "open": True}),
        ("dominance = 0\ndominance_rule = [1, 600]", "dominance_rule", "not-a-dominance-rule", {}),
        ("dominance = 0\ndominance_rule = '1,60'", "dominance_rule", "not-a-dominance-rule", {"example": "[1, 60]"}),
    ],
)
def test_a_wrong_policy_is_refused_in_a_sentence(tmp_path, text, field, code, data):
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with refused(shoal.PlanError, code, field, **data) as caught:
        Policy.load(path)
    assert caught.value.source == "policy.toml"


def test_all_mistakes_of_a_policy_are_reported_together_and_before_any_work(people, tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text("k = 0\nlinkage = 'few'\nrisk = 3\n")
    with pytest.raises(shoal.PlanError) as error:
        shoal.protect(people, k=5, policy=path)
    assert codes(error.value.messages) == ["too-small", "not-a-number", "unknown-field"]
    with refused(shoal.FileError, "no-file", what="policy file", path=tmp_path / "none.toml"):
        protected(people, policy=tmp_path / "none.toml")
    path.write_text("k = ")
    with refused(shoal.FileError, "toml-syntax", what="policy file", path=path):
        shoal.assess(people, people, policy=path)
    with refused(shoal.PlanError, "not-a-kind", "policy", kind="Policy"):
        protected(people, policy={"k": 5})


def test_a_wrong_formula_of_a_policy_is_refused_before_any_work(people):
    with refused(shoal.PlanError, "formula-not-supported", why=Message("another-function")):
        protected(people, policy=Policy(analyses=0.5, formulas=["income ~ log(age)"]))
    with refused(shoal.PlanError, "unknown-column", "policy.formulas", column="agee", near="age"):
        protected(people, policy=Policy(analyses=0.5, formulas=["income ~ agee"]))


def test_commands_end_with_exit_code_1_unless_the_policy_passes(people, tmp_path, run):
    people.to_csv(tmp_path / "data.csv", index=False)
    roles = ["--quasi", "age,income", "--confidential", "ill"]
    protect = ["protect", "data.csv", "-k", "4", "--method", "mdav", *roles, "-o", "masked.csv", "--policy"]
    (tmp_path / "strict.toml").write_text("k = 10\n")
    (tmp_path / "good.toml").write_text('name = "ours"\nk = 4\nloss = 60\n')
    (tmp_path / "more.toml").write_text("k = 4\ndominance = 0\n")
    code, out, error = run(*protect, "strict.toml", "--report", "report.html")
    assert code == 1
    assert "'strict.toml': failed" in out
    assert "1 of 1 limit" in error
    assert "'masked.csv' was not" in error
    assert not [*tmp_path.glob("masked*")]
    page = (tmp_path / "report.html").read_text()
    assert "policy strict.toml" in page
    assert "at least 10" in page
    code, out, error = run(*protect, "good.toml")
    assert (code, error) == (0, "")
    assert "'ours': passed" in out
    assert (tmp_path / "masked.csv").exists()
    code, out, _ = run(*protect, "more.toml", "--overwrite", "--json")
    assert code == 1
    found = json.loads(out)
    assert found["verdict"]["result"] == "incomplete"
    assert found["files"]["masked file"] == "masked.csv"
    assess = ["assess", "data.csv", "masked.csv", *roles, "--policy"]
    assert run(*assess, "good.toml")[0] == 0
    code, out, _ = run(*assess, "strict.toml", "--json")
    assert (code, json.loads(out)["verdict"]["limits"][0]["result"]) == (1, "failed")
    code, out, error = run(*assess, "more.toml")
    assert code == 1
    assert "1 of 2 limits" in error
    assert "not_measured" in error


def test_a_file_that_fails_is_not_written_by_the_engine_for_large_files(people, tmp_path, run):
    people.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "strict.toml").write_text("k = 10\nlinkage = 5\n")
    command = ["protect", "data.csv", "-k", "4", "--quasi", "age,income", "--confidential", "ill", "--engine", "file"]
    code, out, _ = run(*command, "-o", "masked.csv", "--policy", "strict.toml")
    assert code == 1
    assert prints(out, "measured-by-assess")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "strict.toml"]


def test_the_engine_for_large_files_says_where_the_rest_is_measured(people, tmp_path, run):
    people.to_csv(tmp_path / "data.csv", index=False)
    limits = 'k = 4\nl = 1.5\nt = 0.9\ninference = 50\nanalyses = 0.1\nformulas = ["income ~ age"]\n'
    (tmp_path / "ours.toml").write_text(limits)
    command = ["protect", "data.csv", "-k", "4", "--quasi", "age,income", "--engine", "file", "--overwrite"]
    command += ["-o", "masked.csv", "--policy", "ours.toml"]
    code, out, error = run(*command, "--confidential", "ill", "--json")
    assert code == 1
    assert "'masked.csv' was written" in error
    needs = {each["limit"]: each["needs"] for each in json.loads(out)["verdict"]["limits"]}
    assert needs == {"k": "", **dict.fromkeys(["l", "t", "inference", "analyses"], Message("measured-by-assess"))}
    _, out, _ = run(*command, "--publish", "ill", "--json")
    needs = {each["limit"]: each["needs"] for each in json.loads(out)["verdict"]["limits"]}
    assert needs["l"] == needs["inference"] == Message("name-sensitive")


def test_a_policy_states_the_rules_of_dominance(people):
    table = people.copy()
    options = {"quasi": ["age", "income"], "confidential": ["ill"]}

    def limit(policy: Policy, **more) -> tuple[str, str]:
        found = shoal.assess(table, table, **options, **more, policy=policy)["verdict"]["limits"][0]
        return found["result"], found["needs"]

    assert limit(Policy(dominance=0, p_percent=10)) == ("failed", "")  # counted though no rule was named
    assert limit(Policy(dominance=0, dominance_rule=(1, 60))) == ("failed", "")
    many = {"dominance": 10**6}
    assert limit(Policy(**many, p_percent=10), p_percent=20) == ("passed", "")
    asked = ("not measured", Message("policy-asks", option="--p-percent=10"))
    assert limit(Policy(**many, p_percent=10), p_percent=5) == asked
    asked = ("not measured", Message("policy-asks", option="--dominance=1,60"))
    assert limit(Policy(**many, dominance_rule=(1, 60)), dominance=(1, 80)) == asked


def test_sensitive_values_that_an_unchanged_column_gives_away_pass_no_limit():
    rng = np.random.default_rng(5)
    sex = np.arange(240) % 2
    table = pd.DataFrame(
        {"age": rng.integers(20, 80, 240), "inc": rng.normal(30, 9, 240), "sex": sex, "ill": np.where(sex, "h", "l")}
    )
    policy = Policy(l=2, t=0.9, inference=90, linkage=90, assignment=90)
    options = {"k": 20, "l": 2, "quasi": ["age", "inc"], "confidential": ["ill"], "publish": ["sex"]}
    release = shoal.protect(table, **options, method="mdav", policy=policy)
    assert release.table.groupby(["age", "inc", "sex"])["ill"].nunique().max() == 1
    divided = Message("groups-divided", columns=["sex"], number=1)
    assert {(each.result, each.needs) for each in release.verdict.limits if each.limit in "lt"} == {
        ("not measured", divided)
    }
    assert {each.result for each in release.verdict.limits} == {"not measured"}
    assert reports(findings(release), "same-sensitive-value", column="ill", columns=["sex"])
    whole = shoal.protect(table, k=3, quasi=["age", "inc"], confidential=["ill"], identifiers=["sex"], method="mdav")
    assert reports(findings(whole), "same-sensitive-value", column="ill", remedy=Message("use-l"))


def test_rows_in_another_order_pass_no_limit_of_linkage():
    rng = np.random.default_rng(6)
    table = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    masked = shoal.protect(table, k=5, method="mdav").table
    shuffled = masked.sample(frac=1, random_state=1).reset_index(drop=True)
    limits = shoal.assess(table, shuffled, ["a", "b"], policy=Policy(linkage=5, assignment=5))["verdict"]["limits"]
    assert [(each["result"], each["needs"]) for each in limits] == [
        ("not measured", Message("rows-in-another-order"))
    ] * 2

"""What users of the data keep: regressions, estimates and published figures from both files."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.expect import codes, prints, refused, reports

import shoal
from shoal.datasets import CONFIDENTIAL, QUASI, TYPES, survey
from shoal.evidence.estimates import estimates
from shoal.evidence.formula import Factor, parse_formula
from shoal.evidence.sides import Side
from shoal.measures.regression import records_behind
from shoal.messages import Message
from shoal.tables import open_table


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(7)
    n = 300
    age, educ = rng.integers(20, 60, n), rng.choice(["basic", "middle", "tertiary"], n)
    income = 100 + 3 * age + 40 * (educ == "tertiary") + rng.normal(0, 30, n)
    job = rng.random(n) < 1 / (1 + np.exp(-(age - 40) / 10))
    return pd.DataFrame(
        {
            "age": age,
            "educ": educ,
            "income": income,
            "job": job,
            "w": rng.lognormal(0, 0.5, n),
            "sex": rng.choice([1, 2], n),
        }
    )


def assess(before, after, *formulas, **more):
    return shoal.assess(before, after, ["age", "income"], analyses=formulas, **more)


def one(before, after, formula, **more):
    return assess(before, after, formula, **more)["analyses"][0]


def test_a_formula_is_read_with_categories_products_and_odd_names():
    formula = parse_formula(" income ~ 1 + age*C(educ) + `year of birth` ")
    assert formula.names == ["income", "age", "educ", "year of birth"]
    assert formula.terms == [
        (Factor("age", False),),
        (Factor("educ", True),),
        (Factor("year of birth", False),),
        (Factor("age", False), Factor("educ", True)),
    ]


@pytest.mark.parametrize(
    ("text", "why", "data"),
    [
        ("income", "no-tilde", {}),
        ("income ~", "ends-too-early", {}),
        ("income ~ log(age)", "another-function", {}),
        ("income ~ age - 1", "unknown-sign", {"sign": "-"}),
        ("income ~ 0 + age", "no-column-here", {"sign": "0"}),
        ("income ~ a:b:c", "product-of-many", {}),
        ("income ~ age:age", "product-of-itself", {}),
        ("income ~ age:C(educ)", "product-without-factors", {"term": "age:C(educ)", "both": "age*C(educ)"}),
        ("income ~ income + age", "response-among-terms", {}),
        ("C(educ) ~ age", "categorical-response", {}),
        ("income ~ C(age", "several-in-c", {}),
        ("", "ends-too-early", {}),
    ],
)
def test_what_a_formula_does_not_support_is_refused(text, why, data):
    with refused(shoal.PlanError, "formula-not-supported", "analysis", formula=text, why=Message(why, **data)):
        parse_formula(text)


def test_an_unchanged_file_keeps_every_coefficient(people):
    for formula, kind in (("income ~ age + C(educ)", "linear"), ("job ~ age + C(educ)", "logistic")):
        found = one(people, people, formula)
        assert (found["kind"], found["overlap"], found["signs"], found["significances"]) == (kind, 1, 100, 100)
        assert [each["term"] for each in found["coefficients"]] == [
            "Intercept",
            "age",
            "C(educ)[middle]",
            "C(educ)[tertiary]",
        ]
        assert all(each["moved"] == 0 for each in found["coefficients"])


@pytest.mark.parametrize("formula", ["affairs~age+yrs_married+C(educ)", "rate_marriage~children*C(religious)"])
def test_coefficients_of_the_survey_are_those_of_statsmodels(formula):
    smf = pytest.importorskip("statsmodels.formula.api")
    table = survey()
    found = one_of_survey(table, table, formula)
    model = smf.ols(formula, table.to_pandas()).fit()
    expected = {name.replace("[T.", "[").replace(".0]", "]"): name for name in model.params.index}
    for row in found["coefficients"]:
        name = expected[row["term"]]
        theirs = [model.params[name], *model.conf_int().loc[name]]
        np.testing.assert_allclose([row["before"][each] for each in ("estimate", "low", "high")], theirs, rtol=1e-8)
        assert row["before"]["significant"] == (model.pvalues[name] < 0.05)


def one_of_survey(before, after, formula):
    return shoal.assess(before, after, ["age", "children"], analyses=[formula])["analyses"][0]


def test_weights_count_in_both_files(people):
    smf = pytest.importorskip("statsmodels.formula.api")
    other = people.assign(w=people["w"][::-1].to_numpy())
    found = one(people, other, "income ~ age", weights="w")
    for side, frame in (("before", people), ("after", other)):
        model = smf.wls("income ~ age", frame, weights=frame["w"]).fit()
        assert found["coefficients"][1][side]["estimate"] == pytest.approx(model.params["age"])
    without = one(people, people.drop(columns="w"), "income ~ age", weights="w")
    assert without["overlap"] == 1  # the original's, record by record
    estimates = assess(people, other, weights="w")["estimates"]
    assert estimates["means"]["age"]["before"]["value"] == pytest.approx(np.average(people["age"], weights=people["w"]))
    assert estimates["totals"]["age"]["before"]["value"] == pytest.approx((people["age"] * people["w"]).sum())


@pytest.mark.parametrize(
    ("formula", "code", "data"),
    [
        ("income ~ educ", "term-not-a-number", {"column": "educ"}),
        ("educ ~ age", "response-not-a-number", {"column": "educ"}),
        ("income~age+twice", "collinear-terms", {"terms": ["twice"]}),
        ("income~C(educ)+C(school)", "collinear-terms", {"terms": ["C(school)"]}),
        ("same ~ age", "not-estimable", {"term": None}),
        ("old ~ age", "not-estimable", {"term": "age"}),
        ("income ~ C(number)", "too-many-categories", {"categories": 300, "column": "number", "most": 100}),
        ("empty ~ age", "no-complete-record", {}),
        ("few~age+sex+w", "too-few-complete-records", {"records": 4, "coefficients": 4}),
        ("income ~ C(nested)", "type-not-counted", {"column": "nested"}),
    ],
)
def test_a_formula_that_the_original_cannot_answer_is_refused(people, formula, code, data):
    odd = people.assign(
        twice=2 * people["age"],
        school=people["educ"].str.upper(),
        same=1,
        old=people["age"] > 40,
        number=np.arange(300) / 7,
        empty=np.nan,
        few=np.where(np.arange(300) < 4, np.arange(300), np.nan),
        nested=[[1]] * 300,
    )
    of_formula = {} if code == "type-not-counted" else {"field": "analysis", "formula": formula}
    with refused(shoal.ShoalError, code, **of_formula, **data):
        one(odd, odd, formula)


def test_a_formula_that_names_an_unknown_column_is_refused(people):
    with pytest.raises(shoal.PlanError, match=r"'agee'.*'age'"):
        one(people, people, "income ~ agee")


def test_all_wrong_formulas_are_named_at_once(people):
    with pytest.raises(shoal.PlanError) as error:
        assess(people, people, "income", "age ~ log(income)")
    assert codes(error.value.messages) == ["formula-not-supported"] * 2


def test_categories_that_vanished_have_no_coefficient_and_no_name(people):
    masked = people.assign(educ=people["educ"].replace("middle", "basic"))
    found = one(people, masked, "income ~ age + C(educ)")
    gone = [each for each in found["coefficients"] if each["after"] is None]
    assert len(gone) == 1
    assert (gone[0]["overlap"], gone[0]["sign"]) == (0, False)
    assert "middle" not in json.dumps(found)
    assert reports([found["not_estimated"]], "terms-of-lost-categories", terms=1)
    # the first category in order goes: the others are compared to the first that both have
    masked = people.assign(educ=people["educ"].replace("basic", "middle"))
    found = one(people, masked, "income ~ age + C(educ)")
    assert "basic" not in json.dumps(found)
    assert [each["after"] is None for each in found["coefficients"]] == [False, False, True, False]


@pytest.mark.parametrize(
    ("change", "code", "data"),
    [
        ({"age": 40}, "terms-that-follow", {"terms": ["age"]}),
        ({"educ": "other"}, "masked-lacks-categories", {"columns": ["educ"]}),
        (
            {"educ": ["basic"] * 100 + [f"e{i}" for i in range(200)]},
            "masked-too-many-categories",
            {"categories": 201, "column": "educ", "most": 100},
        ),
        ({"age": "young"}, "masked-not-a-number", {"column": "age"}),
        ({"age": np.nan}, "masked-lacks-records", {}),
        (
            {"age": 40, "educ": "basic"},
            "several-reasons",
            {
                "reasons": [
                    Message("terms-of-lost-categories", terms=2),
                    Message("terms-that-follow", terms=["age"], number=1),
                ]
            },
        ),
    ],
)
def test_what_the_masked_file_cannot_answer_is_a_loss_with_its_reason(people, change, code, data):
    found = shoal.assess(people, people.assign(**change), ["sex"], analyses=["income ~ age + C(educ)"])["analyses"][0]
    assert reports([found["not_estimated"]], code, **data)
    assert found["overlap"] < 1
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_masked_file_that_separates_its_response_has_no_coefficients(people):
    for job, term in ((people["age"] > 40, "age"), (people["age"] / 9, None)):
        found = one(people, people.assign(job=job), "job ~ age")
        assert term is None or reports([found["not_estimated"]], "term-and-reason", term=term)
        assert (found["kind"], found["overlap"]) == ("logistic", 0)
        assert [each["term"] for each in found["coefficients"]] == ["Intercept", "age"]


def test_a_masked_file_without_a_column_cannot_answer(people):
    found = one(people, people.drop(columns="educ"), "income ~ age + C(educ)")
    assert (found["overlap"], found["signs"]) == (0, 0)
    assert reports([found["not_estimated"]], "masked-lacks-columns", columns=["educ"])
    assert "basic" not in json.dumps(found)


def test_records_that_were_left_out_are_in_the_original_of_users(people):
    numbered = people.assign(id=range(300))
    found = shoal.assess(numbered, numbered[50:], ["age"], key="id", analyses=["income ~ age"])
    assert found["analyses"][0]["records"] == {"before": 300, "after": 250}
    assert found["estimates"]["means"]["age"]["before"]["value"] == pytest.approx(people["age"].mean())


def test_estimates_and_tables_of_the_survey_have_intervals():
    table = survey()
    release = shoal.protect(table, k=5, quasi=QUASI, confidential=CONFIDENTIAL, types=TYPES, method="mdav")
    found = shoal.assess(table, release.table, QUASI, CONFIDENTIAL, types=TYPES)
    estimates, distances = found["estimates"], found["estimates"]["distances"]
    assert {*estimates["means"]} == {"age", "yrs_married", "children", *CONFIDENTIAL}
    assert estimates["means"]["affairs"]["overlap"] == 1
    assert {*distances["educ"]} == {"hellinger"}
    assert 0 < distances["age"]["wasserstein"] < 0.5
    single = {each["attributes"][0]: each for each in estimates["tables"] if len(each["attributes"]) == 1}
    pairs = [each for each in estimates["tables"] if len(each["attributes"]) == 2]
    assert len(pairs) == 6
    frame, masked = table.to_pandas(), release.table.to_pandas()
    for each in pairs:
        before, after = (set(map(tuple, every[each["attributes"]].to_numpy())) for every in (frame, masked))
        counts = len(before), len(before - after), len(after - before)
        assert (each["cells"], each["vanished"], each["new"]) == counts
    shares = {row["categories"][0]: row["after"]["value"] for row in single["educ"]["shares"] if row["categories"]}
    assert shares == pytest.approx(
        {f"{code:g}": share for code, share in masked["educ"].value_counts(normalize=True).items()}
    )


def test_tables_that_are_left_out_are_named():
    table = open_table(pd.DataFrame({f"c{j}": np.arange(60) % 2 for j in range(11)} | {"many": np.arange(60)}))
    side = Side(table)
    reasons = [Message("of-many-categories", columns=["many"], most=50), Message("further-pairs", number=10)]
    found = estimates(dict.fromkeys(table.names, "nominal"), [], side, side)
    assert reports([found["left_out"]], "several-reasons", reasons=reasons)


def published(tmp_path, *rows, header="statistic,attribute,where,value,tolerance"):
    path = tmp_path / "figures.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_published_figures_come_out_within_their_tolerance(people, tmp_path):
    path = published(
        tmp_path,
        f"mean,age,,{people['age'].mean():.2f},",
        f"count,,educ == 'basic' and age >= 30,{((people['educ'] == 'basic') & (people['age'] >= 30)).sum()},0",
        f"share,,sex == 1,{100 * (people['sex'] == 1).mean():.1f},",
        f"median,income,sex == 2,{people.loc[people['sex'] == 2, 'income'].median():.3f},",
        f"total,age,,{people['age'].sum() * 1.02},3%",
        "mean,age,,0,0.1",
    )
    same = assess(people, people, published=path)["published"]
    assert [row["kept"] for row in same["figures"]] == [True] * 5 + [False]
    assert (same["in_original"], same["kept"], same["percent"]) == (5, 5, 100)
    moved = assess(people, people.assign(age=people["age"] + 1.0), published=path)["published"]
    assert [row["kept"] for row in moved["figures"]] == [False, False, True, True, True, False]


def test_missing_values_are_in_no_published_count(people, tmp_path):
    gaps = people.assign(age=people["age"].where(people["age"] >= 30))
    path = published(tmp_path, f"count,,age > 20,{gaps['age'].notna().sum()},0")
    assert shoal.assess(gaps, gaps, ["income"], published=path)["published"]["kept"] == 1


@pytest.mark.parametrize(
    ("row", "code", "data"),
    [
        ("variance,age,,3,", "unknown-statistic", {"known": ["count", "share", "mean", "total", "median"]}),
        ("mean,,,3,", "figure-of-no-attribute", {"statistic": "mean"}),
        ("count,age,,3,", "figure-of-records", {"statistic": "count"}),
        ("share,,,3,", "figure-of-no-condition", {}),
        ("mean,age,,three,", "value-not-a-number", {}),
        ("mean,age,,1e3,", "figure-without-tolerance", {}),
        ("mean,age,,3,-1", "tolerance-not-a-number", {}),
    ],
)
def test_published_figures_that_cannot_be_read_are_named_by_line(people, tmp_path, row, code, data):
    path = published(tmp_path, "mean,age,,40,1", row)
    with refused(shoal.PlanError, code, "published", line=3, file=str(path), **data):
        assess(people, people, published=path)


def test_a_condition_of_a_published_figure_that_cannot_be_read_is_named_by_its_line(people, tmp_path):
    path = published(tmp_path, "mean,age,,40,1", "mean,age,age >,3,")
    with refused(shoal.PlanError, "figure-condition", "published", file=str(path)) as error:
        assess(people, people, published=path)
    assert "line 3" in str(error.value.messages[0].data["problem"])


def test_published_figures_need_columns_of_the_original(people, tmp_path):
    with refused(shoal.PlanError, "figure-not-a-number", "published", statistic="mean", column="educ"):
        assess(people, people, published=published(tmp_path, "mean,educ,,3,"))
    with pytest.raises(shoal.PlanError, match=r"'agee'.*'age'"):
        assess(people, people, published=published(tmp_path, "mean,agee,,3,"))


@pytest.mark.parametrize(
    ("header", "rows", "code", "data"),
    [
        ("statistic,number", ["mean,3"], "figures-without-column", {"column": "value"}),
        ("statistic,number", ["mean,3"], "figures-unknown-column", {"column": "number"}),
        ("statistic;value", ["mean;3"], "figures-with-semicolons", {}),
        ("statistic,value", [], "no-figures", {}),
    ],
)
def test_a_file_of_published_figures_has_known_columns(people, tmp_path, header, rows, code, data):
    path = published(tmp_path, *rows, header=header)
    with refused(shoal.PlanError, code, "published", file=str(path), **data):
        assess(people, people, published=path)


def test_a_file_of_published_figures_is_text(people, tmp_path):
    (tmp_path / "figures.csv").write_bytes(b"statistic,value\nmean,\xff\n")
    with refused(shoal.FileError, "not-utf8", file=str(tmp_path / "figures.csv")):
        assess(people, people, published=tmp_path / "figures.csv")
    with pytest.raises(shoal.FileError, match=r"missing\.csv"):
        assess(people, people, published=tmp_path / "missing.csv")


def test_the_command_shows_regressions_and_published_figures(people, tmp_path, run):
    people.to_csv(tmp_path / "original.csv", index=False)
    people.assign(age=people["age"] + 1, educ="basic").to_csv(tmp_path / "masked.csv", index=False)
    published(tmp_path, f"mean,age,,{people['age'].mean():.2f},")
    command = ["assess", "original.csv", "masked.csv", "--quasi", "age,educ", "--type", "educ=nominal"]
    formulas = {"income ~ age + C(educ)": "linear, 300 records", "job ~ age": "logistic"}
    command += [*(word for each in formulas for word in ("--analysis", each)), "--published", "figures.csv"]
    code, out, _ = run(*command)
    assert code == 0
    assert all(f"{formula}   {kind}" in out for formula, kind in formulas.items())
    assert prints(out, "terms-of-lost-categories", terms=2)
    assert "0 of 1" in out
    assert json.loads(run(*command, "--json")[1])["analyses"][1]["kind"] == "logistic"
    code, out, error = run(*command[:5], "--analysis", "income ~ size")
    assert (code, out) == (2, "")
    assert "Error: --analysis: " in error
    assert "'size'" in error


def test_coefficients_that_rest_on_few_records_are_not_shown():
    rng = np.random.default_rng(0)
    towns = np.array(["A"] * 3 + ["B"] * 60 + ["C"] * 60 + ["D"])
    income = rng.normal(30_000, 5_000, len(towns))
    income[-1] = 987_654.0
    table = pd.DataFrame({"town": towns, "x": rng.normal(size=len(towns)), "income": income})
    found = shoal.assess(table, table, analyses=["income ~ C(town)"], quasi=["x"], confidential=["town"])
    rows = {row["term"]: row for row in found["analyses"][0]["coefficients"]}
    assert found["analyses"][0]["hidden"] == 3
    assert rows["C(town)[C]"]["overlap"] == 1.0  # compared to B: A, the first, has few records
    for few in ("C(town)[A]", "C(town)[D]", "Intercept"):  # which, with the mean of all, would give the others
        assert {rows[few][what] for what in ("before", "overlap", "moved", "sign", "significance")} == {None}
    [shares] = [each["shares"] for each in found["estimates"]["tables"] if each["attributes"] == ["town"]]
    assert [each["before"] is None for each in shares] == [True, True, False, True]  # A and D are 4 records


def mean_of_few(found, n, share):
    """Solve for the mean of some records by the mean of all and a regression on their indicator."""
    [analysis], means = found["analyses"], found["estimates"]["means"]
    rest = analysis["coefficients"][0]["before"]
    return None if rest is None else (means["income"]["before"]["value"] - (1 - share) * rest["estimate"]) / share


def test_the_mean_of_few_records_does_not_follow_by_subtraction(people):
    rare = people.assign(rare=np.where(people.index < 4, "yes", "no"))
    options = {"quasi": ["age", "income"], "confidential": ["rare"], "analyses": ["income ~ C(rare)"]}
    assert mean_of_few(shoal.assess(rare, rare, **options), 300, 4 / 300) is None
    many = people.assign(rare=np.where(people.index < 40, "yes", "no"))
    found = mean_of_few(shoal.assess(many, many, **options), 300, 40 / 300)
    assert found == pytest.approx(people["income"][:40].mean())  # and such a figure would be right


def test_regressions_on_all_but_few_records_are_not_shown(people):
    gaps = people.assign(flag=people["w"].where(people.index >= 4), many=people["sex"].where(people["age"] > 30))
    formulas = ["income ~ age", "income ~ flag", "income ~ many", "income ~ many + flag", "age ~ flag"]
    found = shoal.assess(gaps, gaps, ["age", "income"], analyses=formulas)["analyses"]
    assert [each["hidden"] for each in found] == [0, 2, 0, 3, 2]
    assert [each["overlap"] for each in found] == [1] * 5


def test_the_last_cell_of_a_table_does_not_follow_by_subtraction(people):
    town = np.array(["A"] * 3 + ["B"] * 40 + ["C"] * 257)
    table = people.assign(town=town)
    found = shoal.assess(table, table, ["age"], ["town"])["estimates"]["tables"]
    [shares] = [each["shares"] for each in found if each["attributes"] == ["town"]]
    assert [each["before"] is None for each in shares] == [True, True, False]


def test_records_behind_a_coefficient_are_those_of_its_mean():
    many = np.repeat(np.eye(3), [1, 12, 40], axis=0)
    assert records_behind(many) == pytest.approx([1, 12, 40])
    against = np.column_stack([np.ones(53), many[:, 0], many[:, 1]])
    assert (records_behind(against) < 10).tolist() == [False, True, False]


def test_means_that_rest_on_one_large_weight_are_not_shown(people):
    heavy = people.assign(w=np.where(people.index == 3, 1e7, people["w"]))
    assert not assess(heavy, heavy, weights="w")["estimates"]["means"]
    assert not assess(heavy, heavy, weights="w")["estimates"]["totals"]
    assert {*assess(people, people, weights="w")["estimates"]["means"]} == {"age", "income"}


def test_published_figures_that_differ_by_few_records_cannot_be_guessed(people, tmp_path):
    order = people["income"].rank()
    table = people.assign(place=order, bonus=people["income"].where(order > 297), w=np.where(order == 1, 1e6, 1.0))
    path = published(
        tmp_path,
        f"total,income,place > 100,{table['income'][order > 100].sum()},1%",
        f"total,income,place > 104,{table['income'][order > 104].sum()},1%",
        f"total,income,place > 150,{table['income'][order > 150].sum()},1%",
        f"mean,income,place > 100,{table['income'][order > 100].mean()},1%",
        f"mean,bonus,,{table['bonus'].mean()},1%",
    )
    found = assess(table, table, published=path)["published"]
    assert [row["in_original"] for row in found["figures"]] == [True, None, True, True, None]
    path = published(tmp_path, f"mean,income,place < 50,{table['income'].min()},1%")
    assert assess(table, table, published=path, weights="w")["published"]["figures"][0]["in_original"] is None


def test_published_figures_of_few_records_cannot_be_guessed(people, tmp_path, run):
    """Whoever may name figures and sees which come out of the original could try values until one does."""
    rich = people["income"].max()
    few, rest = people[people["income"] >= rich], people[people["income"] < rich]
    path = published(
        tmp_path,
        f"mean,age,income >= {rich},{few['age'].mean()},0.5",
        f"mean,age,income >= {rich},{few['age'].mean() + 9},0.5",
        f"mean,age,income < {rich},{rest['age'].mean()},0.001",
        f"count,,income >= {rich},1,0",
        f"count,,age >= 40,{(people['age'] >= 40).sum()},0",
    )
    found = assess(people, people, published=path)["published"]
    assert [row["in_original"] for row in found["figures"]] == [None, None, None, None, True]
    assert (found["in_original"], found["kept"], found["percent"]) == (1, 1, 100)
    people.to_csv(tmp_path / "people.csv", index=False)
    _, out, _ = run("assess", "people.csv", "people.csv", "--quasi", "age,income", "--published", "figures.csv")
    assert "4 figures not" in out

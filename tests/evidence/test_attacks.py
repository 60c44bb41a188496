"""Singling out, linkability and inference: attacks, baselines and people who are not in the file."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import refused

import naive
import shoal
from shoal.evidence import attacks as module
from shoal.kernels.encoded import MEAN, MODE, EncodedMatrix
from shoal.measures import singling_out
from shoal.measures.attack_rates import excess, measured, rate
from shoal.measures.inference import best_guess, guesses_from_nearest, right_guesses
from shoal.measures.intervals import wilson
from shoal.measures.linkability import halves, linkable
from shoal.measures.singling_out import Predicate, at_random, read_off, singled_out

CRITERIA = ("singling_out", "linkability", "inference")


@st.composite
def files(draw: st.DrawFn) -> tuple[EncodedMatrix, EncodedMatrix]:
    """Targets and published records of two numbers and a category, with ties and missing values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 25))
    X = rng.integers(0, 4, (n, 3)).astype(float)
    Y = X[rng.integers(0, n, n)]
    for matrix in (X, Y):
        matrix[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    space = EncodedMatrix(X, np.array([MEAN, MEAN, MODE]), np.array([2.0, 2, 3]), np.ones(3), np.full(3, 4))
    return space, space._replace(values=Y)


@settings(max_examples=40, deadline=None)
@given(files(), st.sampled_from([0.0, 0.3]))
def test_linkability_and_inference_equal_comparing_all_with_all(pair, tolerance):
    targets, published = pair
    split = ([0], [1, 2])
    found = linkable(targets, published, [split])
    secrets = np.array([np.nan, 0, 1, 1, -2, 7, 8])[np.arange(len(found)) * 5 % 7]
    guesses = guesses_from_nearest(targets, published, secrets, tolerance)
    for i, x in enumerate(targets.values.tolist()):
        assert found[i] == pytest.approx(naive.same_record_by_two_sources(x, published, *split))
        expected = naive.guess_from_nearest(x, published, secrets.tolist(), tolerance)
        assert guesses[i] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("draw", [read_off, at_random])
def test_a_condition_singles_out_if_one_record_meets_it(draw):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=80), rng.integers(0, 9, 80), rng.integers(0, 4, 80)])
    X[::9, 0] = np.nan
    nominal = np.array([False, False, True])
    drawn = draw(X, nominal, 300, np.random.default_rng(2))
    alone = 0
    X = np.array([*{str(x): x for x in X.tolist()}.values()])
    for each in drawn:
        terms = list(zip(*(part.tolist() for part in each), strict=True))
        met = [all(low <= x[j] <= high or (x[j] != x[j] and low != low) for j, low, high in terms) for x in X.tolist()]
        alone += sum(met) == 1
    assert singled_out(X, drawn).conditions == alone > 0
    if draw is read_off:
        assert alone == len(drawn) == len({str(each) for each in drawn})


def test_conditions_are_read_off_records_that_are_published_once_however_often_they_are_repeated():
    X = np.random.default_rng(4).integers(0, 30, (60, 2)).astype(float)
    X = X[np.sort(np.unique(X, axis=0, return_index=True)[1])]
    one, again = (read_off(each, np.zeros(2, bool), 50, np.random.default_rng(0)) for each in (X, np.repeat(X, 3, 0)))
    assert len(one) > 5
    assert str(one) == str(again)
    assert singled_out(np.repeat(X, 3, axis=0), again).conditions == 0


def rank_swapped(X: np.ndarray, reach: int, rng: np.random.Generator) -> np.ndarray:
    """Swap each value of each column with another whose rank is at most `reach` away."""
    Y = X.copy()
    for j, order in enumerate(np.argsort(X, axis=0, kind="stable").T):
        left = np.ones(len(X), dtype=bool)
        for rank, record in enumerate(order):
            others = [at for at in range(rank + 1, min(len(X), rank + reach + 1)) if left[at]]
            if left[rank] and others:
                at = others[rng.integers(len(others))]
                left[[rank, at]] = False
                Y[[record, order[at]], j] = X[[order[at], record], j]
    return Y


@pytest.mark.parametrize(
    ("known", "attacks", "successes"), [(3, 1000, 202), (5, 1000, 134), (8, 1000, 85), (13, 954, 34)]
)
def test_as_many_are_singled_out_in_a_rank_swapped_file_as_by_anonymeter(
    reference_file, monkeypatch, known, attacks, successes
):
    """Figures of SinglingOutEvaluator of anonymeter 1.1.0: n_attacks=1000, max_attempts=30000, seed=1, n_cols=known."""
    X = np.loadtxt(reference_file("census"), delimiter=",", skiprows=1)
    Y = rank_swapped(X, 54, np.random.default_rng(9))
    monkeypatch.setattr(singling_out, "_some_columns", lambda d, rng: np.sort(rng.permutation(d)[:known]))
    conditions = read_off(Y, np.zeros(13, dtype=bool), 1000, np.random.default_rng(0))
    assert len(conditions) == attacks
    found = singled_out(X, conditions).conditions
    if attacks < 1000:  # every condition that singles out a published record was found
        assert found == successes
    share = (found + successes) / (2 * attacks)
    assert abs(found - successes) <= 3 * np.sqrt(2 * attacks * share * (1 - share))


def test_intervals_of_singling_out_cover_other_draws_of_people():
    nominal = np.array([False, False, True])

    def drawn(seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 4, 60)])

    conditions = [read_off(drawn(0), nominal, 200, np.random.default_rng(seed)) for seed in range(80)]
    found = [singled_out(drawn(1 + at), each) for at, each in enumerate(conditions)]
    truth = 100 * sum(each.conditions for each in found) / sum(map(len, conditions))
    pairs = [*zip(found, map(len, conditions), strict=True)]
    wide = [rate(each.conditions, count, each.variance)["interval"] for each, count in pairs]
    narrow = [rate(each.conditions, count)["interval"] for each, count in pairs]
    covered = [np.mean([low <= truth <= high for low, high in ends]) for ends in (wide, narrow)]
    assert covered[0] >= 0.9 > covered[1]


def test_without_one_record_after_the_other_conditions_change_as_the_jackknife_says():
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=25), rng.integers(0, 3, 25)])
    conditions = read_off(X, np.array([False, True]), 40, rng)
    without = np.array([singled_out(np.delete(X, i, axis=0), conditions).conditions for i in range(25)])
    assert singled_out(X, conditions).variance == pytest.approx(24 / 25 * ((without - without.mean()) ** 2).sum())


def test_people_told_by_an_identifier_are_no_control_set(release):
    original, masked, asked = release
    own = original.append_column("id", pa.array(range(len(original))))
    strangers = people(50, 2)
    strangers = strangers.append_column("id", pa.array(range(len(original) - 1, len(original) + 49)))
    both = masked.append_column("id", pa.array(range(len(original))))
    with refused(shoal.DataError, "control-of-same-identifiers", values=1, column="id"):
        shoal.assess(own, both, **asked, key="id", control=strangers)


def test_nobody_is_singled_out_where_all_records_are_published_alike():
    X = np.random.default_rng(3).normal(size=(50, 2))
    everywhere = Predicate(np.array([0]), np.array([-np.inf]), np.array([np.inf]))
    assert singled_out(X, [everywhere]).conditions == 0
    assert singled_out(X[:1], [everywhere]).conditions == 1


def test_a_guess_is_right_for_most_within_the_tolerance():
    values = np.array([100.0, 104, 108, 500, np.nan])
    assert best_guess(values) == 100
    assert best_guess(values, 0.05) == 104
    assert best_guess(-values, 0.05) == -104
    assert best_guess(np.array([np.nan])) != best_guess(np.array([np.nan]))
    assert right_guesses(104.0, values, 0.05).tolist() == [True, True, True, False, False]
    assert right_guesses(0.0, np.zeros(2), 0.05).all()


def test_intervals_are_those_of_wilson():
    assert wilson(0, 10) == pytest.approx((0, 27.7533), abs=1e-3)
    assert wilson(5, 10) == pytest.approx((23.6593, 76.3407), abs=1e-3)
    assert wilson(0, 0) == (0, 100)
    rng = np.random.default_rng(0)
    intervals = [wilson(hits, 60) for hits in rng.binomial(60, 0.2, 400)]
    assert np.mean([low <= 20 <= high for low, high in intervals]) > 0.92


def test_risk_is_what_the_control_leaves_undone():
    found = excess(rate(60, 100), rate(20, 100))
    assert found["percent"] == pytest.approx(50)
    assert found["interval"][0] < 50 < found["interval"][1]
    assert excess(rate(10, 100), rate(20, 100))["percent"] == 0
    assert excess(rate(1, 1), rate(1, 1))["percent"] is None
    assert measured(rate(1, 2), rate(0, 2), None)["risk"] is None


def test_attributes_are_divided_between_two_sources():
    assert halves(1, 0) == []
    assert {frozenset(one) for one, _ in halves(2, 0)} == {frozenset([0]), frozenset([1])}
    for one, other in halves(7, 3):
        assert sorted(one + other) == list(range(7))
        assert len(one) == 3


def people(n, seed):
    """People whose illness follows from age and town, but for some."""
    rng = np.random.default_rng(seed)
    age, town = rng.integers(20, 80, n), rng.integers(0, 6, n)
    ill = np.where(rng.random(n) < 0.3, rng.integers(0, 9, n), (age // 10 + town) % 4)
    pay = np.round(rng.lognormal(7, 1, n), 2)
    columns = {"age": age, "town": np.array(list("ABCDEF"))[town], "size": rng.normal(size=n)}
    columns |= {"ill": np.array(list("abcdefghi"))[ill], "pay": pay}
    return pa.table(columns)


@pytest.fixture(scope="module")
def release():
    original = people(400, 1)
    asked = {"quasi": ["age", "town", "size"], "confidential": ["ill", "pay"]}
    return original, shoal.protect(original, k=4, method="mdav", **asked).table, asked


def test_attacks_have_baseline_control_risk_and_intervals(release):
    original, masked, asked = release
    risk = shoal.assess(original, masked, **asked, control=people(300, 2))["risk"]
    for row in (risk["singling_out"], risk["linkability"], *risk["inference"].values()):
        assert row["attributes"] == ["age", "town", "size"]
        for name in ("main", "baseline", "control", "risk", "gain"):
            low, high = row[name]["interval"]
            assert 0 <= low <= row[name]["percent"] + 1e-9
            assert row[name]["percent"] <= high + 1e-9 <= 100 + 1e-9
    assert risk["linkability"]["baseline"]["percent"] == 100 / 400
    assert risk["linkability"]["main"]["percent"] <= 100 / 4
    ill, pay = risk["inference"]["ill"], risk["inference"]["pay"]
    assert ill["main"]["percent"] > ill["control"]["percent"] > ill["baseline"]["percent"]
    assert (ill["tolerance"], pay["tolerance"]) == (0, 0.05)
    assert pay["main"]["percent"] > 20 > pay["control"]["percent"]  # one of four, but for what is near by chance
    assert "main_like_control" in risk["singling_out"]
    json.dumps(risk, allow_nan=False)


def test_the_same_seed_gives_the_same_attacks_and_without_a_control_there_is_no_risk(release):
    original, masked, asked = release
    one, two, other = (shoal.assess(original, masked, **asked, seed=seed)["risk"] for seed in (0, 0, 1))
    for name in CRITERIA:
        assert one[name] == two[name]
    assert one["singling_out"] != other["singling_out"]
    assert one["singling_out"]["control"] is one["singling_out"]["risk"] is None


def test_an_unchanged_file_gives_everything_away_and_one_group_nothing():
    original = people(200, 3)
    asked = {"quasi": ["age", "size"], "confidential": ["pay"]}
    same = shoal.assess(original, original, **asked)["risk"]
    assert same["inference"]["pay"]["main"]["percent"] == 100
    assert same["singling_out"]["main"]["percent"] > 0
    one = shoal.protect(original.drop_columns(["town", "ill"]), k=200, **asked).table
    found = shoal.assess(original, one, **asked)["risk"]
    assert found["linkability"]["main"]["percent"] == pytest.approx(100 / 200)
    assert found["inference"]["pay"]["gain"]["percent"] == 0


def test_diversity_lowers_what_an_intruder_infers(release):
    original, _, asked = release
    asked = {**asked, "confidential": ["ill"]}
    original = original.drop_columns(["pay"])
    found = []
    for form in ({}, {"l": 4}):
        masked = shoal.protect(original, k=4, method="mdav", **asked, **form).table
        found.append(shoal.assess(original, masked, **asked)["risk"]["inference"]["ill"]["main"])
    assert found[1]["interval"][1] < found[0]["interval"][0]


def test_people_of_the_file_are_no_control_set(release):
    original, masked, asked = release
    strangers = people(300, 2)
    columns = ["age", "town", "size", "ill", "pay"]
    with refused(shoal.DataError, "control-of-same-people", alike=40, records=340, chance=0, columns=columns):
        shoal.assess(original, masked, **asked, control=pa.concat_tables([strangers, original.slice(0, 40)]))
    with refused(shoal.DataError, "control-of-same-people", alike=400, records=400):
        shoal.assess(original, masked, **asked, control=original)


def test_people_who_are_alike_by_chance_are_no_overlap():
    def coarse(n, seed):
        rng = np.random.default_rng(seed)
        return pa.table({"sex": rng.integers(0, 2, n), "age": rng.integers(0, 8, n), "ill": rng.integers(0, 3, n)})

    original = coarse(200, 1)
    risk = shoal.assess(original, original, ["sex", "age"], ["ill"], control=coarse(150, 2))["risk"]
    assert risk["inference"]["ill"]["control"]["attacks"] == 150


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda t: t.slice(0, 0), ""),
        (lambda t: t.set_column(0, "age", [["x"] * len(t)]), "'age'"),
    ],
)
def test_a_control_set_that_cannot_be_compared_is_refused(release, change, names):
    original, masked, asked = release
    with pytest.raises(shoal.DataError, match=names) as error:
        shoal.assess(original, masked, **asked, control=change(people(50, 2)))
    assert error.value.messages[0].source == "The control set"


def test_a_control_set_has_the_columns_of_the_original(release):
    original, masked, asked = release
    with refused(shoal.PlanError, "control-lacks-columns", "control", columns=["town", "pay"]):
        shoal.assess(original, masked, **asked, control=people(50, 2).drop_columns(["town", "pay"]))


def test_a_control_set_may_have_other_categories_columns_and_gaps(release):
    original, masked, asked = release
    control = people(60, 2).to_pandas()
    control["more"] = 1
    control.loc[:5, "town"] = "elsewhere"
    control.loc[3:9, ["size", "ill"]] = None
    risk = shoal.assess(original, masked, **asked, control=control)["risk"]
    assert risk["inference"]["ill"]["control"]["attacks"] == 53


@pytest.mark.parametrize("tolerance", [-0.1, 1, float("nan")])
def test_a_tolerance_is_a_share(release, tolerance):
    original, masked, asked = release
    with refused(shoal.PlanError, "tolerance-not-a-share", "tolerance"):
        shoal.assess(original, masked, **asked, tolerance=tolerance)


def test_a_sample_of_people_is_attacked_and_the_screen_says_so(release, run, tmp_path, monkeypatch):
    original, masked, _ = release
    monkeypatch.setattr(module, "MOST_ATTACKS", 100)
    for name, table in (("original", original), ("masked", masked), ("control", people(300, 2))):
        pa.csv.write_csv(table, tmp_path / f"{name}.csv")
    options = ("--quasi", "age,town,size", "--confidential", "ill,pay", "--tolerance", "0.1")
    code, out, _ = run("assess", "original.csv", "masked.csv", *options, "--control", "control.csv")
    said = " ".join(out.split())
    assert code == 0
    assert "100 people" in said
    assert "within 10 %" in said
    assert "--control" not in said
    code, out, _ = run("assess", "original.csv", "masked.csv", *options)
    assert "--control" in out
    found = json.loads(run("assess", "original.csv", "masked.csv", *options, "--json")[1])["risk"]
    assert found["inference"]["pay"]["sampled"]
    assert found["inference"]["pay"]["main"]["attacks"] == 100


def test_a_sensitive_column_without_values_is_not_measured(run, tmp_path):
    table = pa.table({"a": [1.0, 2, 3, 4], "b": ["x", "y", "y", "x"], "none": pa.array([None] * 4, pa.string())})
    found = shoal.assess(table, table, ["a"], ["none", "b"])["risk"]["inference"]
    assert found["none"] is None
    assert found["b"]["main"]["percent"] == 100
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    out = run("assess", "t.parquet", "t.parquet", "--quasi", "a", "--confidential", "none,b")[1]
    assert "none not measured" in " ".join(out.split())


def test_constant_columns_and_one_attribute_are_measured_where_that_has_a_meaning():
    table = pa.table({"a": [1.0, 2, 3, 4], "same": [7.0] * 4})
    risk = shoal.assess(table, table, ["a"], ["same"])["risk"]
    assert risk["linkability"] is None
    assert risk["inference"]["same"]["main"]["percent"] == 100
    assert risk["inference"]["same"]["gain"]["percent"] is None

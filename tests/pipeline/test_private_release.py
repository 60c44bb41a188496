"""A private release: what it promises, what it refuses, and what it must not tell."""

import json
import shlex
from dataclasses import replace

import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import refused
from typer.testing import CliRunner

import shoal
from shoal.backends import choose
from shoal.backends.capabilities import refuse_limits
from shoal.cli import app
from shoal.plan import Plan
from shoal.plan.commands import protect_command
from shoal.tables import Table

BOUNDS = {"age": [0, 120], "income": [0, 200_000]}
ASKED = {"k": 20, "identifiers": ["name"], "epsilon": 1, "bounds": BOUNDS}


def people(n: int = 207, **more: object) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "income": rng.gamma(2, 20_000, n),
            **more,
        }
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 1}, "seed: is refused with --epsilon: anyone who knows it can remove the noise"),
        ({"epsilon": None}, "^Set epsilon, for example --epsilon 1: --bounds does not apply without it"),
        ({"epsilon": None, "bounds": {}, "method": "insensitive"}, "^Set epsilon, .*: method 'insensitive' needs"),
        ({"epsilon": 0}, "^epsilon: must be more than 0.$"),
        ({"epsilon": float("inf")}, "^epsilon: must be a number.$"),
        ({"epsilon": "little"}, "^epsilon: must be a number.$"),
        ({"method": "mdav"}, "method: must be 'insensitive' with --epsilon"),
        ({"method": "ms", "confidential": ["age"]}, "method: must be 'insensitive' with --epsilon"),
        (
            {"bounds": {"age": [0, 120]}},
            "epsilon: 'income' would be released unchanged.* Mask it with --bounds income=LOW,HIGH, or drop it with",
        ),
        (
            {"bounds": {"age": [0, 120]}, "quasi": ["age", "income"]},
            "bounds: leaves out 'income'. Set its lowest and highest possible value with --bounds",
        ),
        ({"bounds": {**BOUNDS, "wealth": [0, 1]}}, "bounds: 'wealth' is not a column"),
        ({"bounds": {**BOUNDS, "name": [0, 1]}, "quasi": ["age", "income"]}, "bounds: names 'name', which is not"),
        ({"bounds": {**BOUNDS, "age": [120, 0]}}, "bounds.age: must be the lowest value and then a higher one"),
        ({"bounds": {**BOUNDS, "age": [0]}}, "bounds.age: must be two numbers, the lowest and the highest"),
        ({"bounds": {**BOUNDS, "age": [-1.7e308, 1.7e308]}}, "bounds.age: .*at most 1e308 apart"),
        (
            {"bounds": {**BOUNDS, "age": [30.2, 30.8]}, "round": True},
            "bounds.age: must hold a whole number with --round",
        ),
        ({"bounds": {**BOUNDS, "age": [0, 1e16]}, "round": True}, "bounds.age: must .*, and none beyond 2"),
        ({"bounds": {}}, "^Set bounds of each attribute to mask, for example --bounds age=0,120"),
        ({"missing_codes": {"age": [99]}}, "missing_codes: does not apply with --epsilon. Empty these cells"),
        (
            {"identifiers": []},
            "epsilon: 'name' would be released unchanged, which breaks differential privacy. Mask it",
        ),
        ({"quasi": ["age"], "bounds": {"age": [0, 1]}}, "epsilon: 'income' would be released unchanged"),
        ({"confidential": ["income"]}, "confidential: would be released without noise"),
        ({"strata": ["age"]}, "strata: would be released without noise"),
        ({"weights": "age"}, "weights: would be released without noise"),
        ({"edits": ["age > 0"]}, "edits: does not apply with --epsilon: groups cannot depend on the data"),
        ({"blocks": [["age"], ["income"]]}, "blocks: does not apply with --epsilon"),
        ({"l": 2}, "l: does not apply with --epsilon"),
        ({"t": 0.2}, "t: does not apply with --epsilon"),
        ({"standardize": "minmax"}, "standardize: does not apply with --epsilon: --bounds set the scale"),
        ({"attribute_weights": {"age": 2}}, "attribute_weights: does not apply with --epsilon: --bounds set the scale"),
        ({"budget": "1s"}, "budget: does not apply with --epsilon: better groups would depend on the data"),
        ({"refine": True}, "refine: does not apply with --epsilon"),
        ({"bound": True}, "bound: does not apply with --epsilon"),
        ({"aggregate": "median"}, "aggregate: must be 'mean' with --epsilon"),
        ({"aggregate": {"age": "median"}}, "aggregate: must be 'mean' with --epsilon"),
        ({"restore_variance": True}, "restore_variance: would publish the variance without noise"),
        ({"missing": "suppress"}, "missing: does not apply with --epsilon: .* the middle of its --bounds"),
        (
            {"scale": {"block_size": 100}},
            "scale.block_size: does not apply with --epsilon: record blocks would depend on the data",
        ),
        ({"types": {"age": "ordinal"}}, "epsilon: 'age' is ordinal and cannot be protected"),
        ({"levels": {"age": [1, 2]}}, "epsilon: 'age' is ordinal and cannot be protected"),
        ({"k": 300}, "k = 300 is more than the table has"),
    ],
)
def test_what_breaks_differential_privacy_is_one_clear_sentence(options, message):
    with pytest.raises(shoal.ShoalError, match=message):
        shoal.protect(people(), **{**ASKED, **options})


def test_an_epsilon_whose_noise_would_exceed_every_value_is_refused():
    with refused(shoal.PlanError, "epsilon-too-small", "epsilon"):
        shoal.protect(people(), **{**ASKED, "epsilon": 1e-15})


def test_declared_dates_and_an_index_are_refused():
    born = pa.array(range(207), pa.int32()).cast(pa.date32())
    asked = {**ASKED, "bounds": {**BOUNDS, "born": [0, 1]}}
    with pytest.raises(
        shoal.PlanError,
        match=r"epsilon: 'born' is of type date32\[day\] and cannot be protected",
    ):
        shoal.protect(people(born=born), **asked, quasi=["age", "income", "born"])
    with pytest.raises(shoal.PlanError, match=r"epsilon: The index of the table cannot be protected"):
        shoal.protect(people().to_pandas().set_index("name"), **{**ASKED, "identifiers": []})


def test_engines_that_divide_records_and_sweeps_refuse_epsilon(tmp_path, monkeypatch):
    plan = Plan(k=3, quasi=["age"], epsilon=1, bounds={"age": [0, 120]})
    for engine in ("file", "spark"):
        with pytest.raises(
            shoal.PlanError, match=f"epsilon is not available on engine '{engine}'.* Use --engine memory"
        ):
            refuse_limits(engine, plan)
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    monkeypatch.setattr(choose, "free_memory", lambda: 1)
    large = plan.updated(input=str(tmp_path / "people.csv"))
    assert choose.engine_for(large)[0] == "memory"
    assert choose.engine_for(large.updated(epsilon=None, bounds={}))[0] == "file"
    with pytest.raises(shoal.PlanError, match="epsilon: does not apply to a sweep"):
        shoal.sweep(people(), [20], "auto", identifiers=["name"], epsilon=1, bounds=BOUNDS)
    with pytest.raises(shoal.PlanError, match="method: 'insensitive' does not apply to a sweep"):
        shoal.sweep(people(), [20], "insensitive", epsilon=1, bounds=BOUNDS)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(20, 90), k=st.integers(2, 20), epsilon=st.floats(0.05, 50), whole=st.booleans())
def test_k_and_bounds_hold_whatever_the_noise(n, k, epsilon, whole):
    bounds = {"age": [30.5, 60.2], "income": [10_000, 30_000]}  # narrower than the data
    release = shoal.protect(people(n), **{**ASKED, "k": k, "epsilon": epsilon, "bounds": bounds, "round": whole})
    published = release.table
    assert published.column_names == ["age", "income"]
    assert len(published) == n
    assert published.to_pandas().value_counts().min() >= k
    for name, (low, high) in bounds.items():
        assert low <= min(published[name].to_pylist()) <= max(published[name].to_pylist()) <= high
    assert np.bincount(release.groups).min() >= k
    assert (np.diff(release.groups) >= 0).all()
    if whole:
        assert pa.types.is_integer(published.schema.field("age").type)


def test_no_two_releases_are_the_same():
    one, other = (shoal.protect(people(), **ASKED) for _ in range(2))
    assert not one.table.equals(other.table)
    assert one.plan == other.plan
    assert one.plan.method == "insensitive"
    assert one.plan.seed is None


@pytest.mark.parametrize("kind", [pa.Table.to_pandas, pl.from_arrow, lambda table: table])
def test_the_same_kind_of_dataframe_comes_back(kind):
    given_ = kind(people())
    release = shoal.protect(given_, **ASKED, round=True)
    assert type(release.table) is type(given_)
    assert nw.from_native(release.table).columns == ["age", "income"]
    assert len(release.table) == 207


def test_rows_do_not_follow_the_order_of_the_original():
    n = 200
    table = pa.table({"x": np.tile([0.0, 1.0], n // 2)})
    release = shoal.protect(table, k=100, epsilon=1e6, bounds={"x": [0, 1]})
    assert np.round(release.table["x"].to_numpy()).tolist() == [0.0] * 100 + [1.0] * 100
    assert release.loss()["IL"] < 1e-3  # measured against the records of each group, and not row by row


def test_loss_grows_with_noise_and_the_figures_of_the_noise_are_public():
    losses = [shoal.protect(people(), **{**ASKED, "epsilon": epsilon}).loss()["IL"] for epsilon in (1e6, 0.01)]
    assert losses[0] < 30 < losses[1]
    one, other = (shoal.protect(table, **ASKED).privacy for table in (people(), people().slice(0)))
    assert one == other
    assert one["groups"] == 10
    assert 1 <= one["sensitivity"] <= 2 * 10  # ranges, and at most one for each group and attribute
    assert one["noise"]["income"] == pytest.approx(200_000 * np.sqrt(2) * one["sensitivity"] / 20)


def test_notes_say_what_is_promised_and_how_many_values_were_clamped_they_do_not():
    bounds = {"age": [0, 50], "income": [0, 30_000]}
    release = shoal.protect(people(), **{**ASKED, "bounds": bounds})
    text = "\n".join(release.notes)
    for said in (
        "Epsilon-differential privacy holds with epsilon = 1: with any other values in one record, what is",
        "10 groups",
        "Rows are in the order of groups, because the original order would disclose",
        "Values outside the bounds were moved to them",
        "the same plan gives other values each time",
        "missing values count as their middle",
        "loss is measured without noise, so only release.loss() returns it",
        "Preserved: no moment exactly",
    ):
        assert said in text
    wide = shoal.protect(people(), **{**ASKED, "bounds": {"age": [0, 1e3], "income": [0, 1e9]}})
    moved = [note for note in release.notes if "moved to them" in note]
    assert moved == [note for note in wide.notes if "moved to them" in note]
    few = shoal.protect(people(), **{**ASKED, "k": 2})
    assert any("k = 2 is so small" in note for note in few.notes)
    assert "is so small" not in text


def spoilt(release: shoal.Release, **columns: np.ndarray) -> Table:
    return Table(pa.table({**{name: release.table[name] for name in release.table.column_names}, **columns}))


@pytest.mark.parametrize(
    ("tamper", "failure"),
    [
        (lambda x: np.where(np.arange(207) < 21, 121.0, x), "'age' publishes 21 values outside of its bounds"),
        (lambda x: np.where(np.arange(207) < 21, -1.0, x), "'age' publishes 21 values outside of its bounds"),
        (
            lambda x: np.random.default_rng(0).permutation(np.tile([1.0, 2.0], 104)[:207]),
            "runs? of rows that are alike",
        ),
        (lambda x: np.arange(207.0) / 2, "occur fewer than 20 times"),
    ],
)
def test_verification_finds_what_is_not_as_claimed(tamper, failure):
    release = shoal.protect(people(), **ASKED, round=False)
    masked = np.asarray(tamper(release.table["age"].to_numpy()))
    constant = np.full(207, 5.0)
    with pytest.raises(shoal.CheckFailed, match=failure):
        replace(release.published, released=spoilt(release, age=masked, income=constant)).verify()
    release.published.verify()


def test_the_command_writes_a_private_file_and_its_plan_and_report(tmp_path):
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    options = "-k 20 --identifiers name --epsilon 1 --bounds age=0,120 --bounds income=-0.5,200000.25 --round --json"
    masked, report = tmp_path / "masked.csv", tmp_path / "report.html"
    arguments = ["protect", str(tmp_path / "people.csv"), *options.split(), "-o", str(masked), "--report", str(report)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["privacy"]["epsilon"] == 1
    assert shoal.check(masked, k=20)["smallest"] >= 20
    plan = Plan.load(f"{masked}.plan.toml")
    assert (plan.epsilon, plan.bounds) == (1, {"age": [0, 120], "income": [-0.5, 200000.25]})
    text = report.read_text().replace("<wbr>", "")
    for said in (
        "with differential privacy of epsilon = 1",
        "--epsilon 1",
        "--bounds age=0,120",
        "the same plan gives other bytes each time",
        "mean, with noise, of its group",
        "their epsilons add up",
    ):
        assert said in text
    assert "Differential privacy: a release may show" not in text
    again = shoal.protect(plan=f"{masked}.plan.toml", output=None, input=tmp_path / "people.csv")
    assert again.plan.method == "insensitive"


def test_a_seed_on_the_command_line_is_refused(tmp_path):
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    options = "-k 20 --identifiers name --epsilon 1 --bounds age=0,120 --bounds income=0,2e5 --seed 3 -o"
    result = CliRunner().invoke(
        app, ["protect", str(tmp_path / "people.csv"), *options.split(), str(tmp_path / "m.csv")]
    )
    assert isinstance(result.exception, shoal.PlanError)
    assert not (tmp_path / "m.csv").exists()


def test_the_plan_can_be_said_as_a_command():
    plan = Plan(**ASKED, quasi=["age", "income"], input="people.csv", output="masked.csv")
    words = shlex.split(protect_command(plan).replace("\\\n", " "))
    assert words[words.index("--epsilon") + 1] == "1"
    assert [words[i + 1] for i, word in enumerate(words) if word == "--bounds"] == ["age=0,120", "income=0,200000"]
    assert Plan.model_validate(plan.options()) == plan

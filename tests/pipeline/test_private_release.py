"""A private release: what it promises, what it refuses, and what it must not tell."""

import json
import math
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
from tests.expect import codes, refused, reports
from typer.testing import CliRunner

import shoal
from shoal.backends import choose
from shoal.backends.capabilities import refuse_limits
from shoal.cli import app
from shoal.messages import Message
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
    ("options", "code", "field", "data"),
    [
        ({"bounds": {"age": [0, 120]}}, "epsilon-unmasked", "epsilon", {"column": "income"}),
        ({"quasi": ["age"], "bounds": {"age": [0, 1]}}, "epsilon-unmasked", "epsilon", {"column": "income"}),
        ({"identifiers": []}, "epsilon-unmasked", "epsilon", {"column": "name"}),
        ({"types": {"age": "ordinal"}}, "epsilon-for-numbers", "epsilon", {"column": "age", "type": "ordinal"}),
        ({"levels": {"age": [1, 2]}}, "epsilon-for-numbers", "epsilon", {"column": "age", "type": "ordinal"}),
        ({"bounds": {**BOUNDS, "wealth": [0, 1]}}, "unknown-column", "bounds", {"column": "wealth"}),
        ({"k": 300}, "k-too-large", None, {"k": 300, "number": 207, "counts": "record"}),
    ],
)
def test_columns_without_noise_and_a_k_that_is_too_large_are_refused(options, code, field, data):
    with refused(shoal.ShoalError, code, field, **data):
        shoal.protect(people(), **{**ASKED, **options})


def test_an_epsilon_whose_noise_would_exceed_every_value_is_refused():
    with refused(shoal.PlanError, "epsilon-too-small", "epsilon"):
        shoal.protect(people(), **{**ASKED, "epsilon": 1e-15})


def test_declared_dates_and_an_index_are_refused():
    born = pa.array(range(207), pa.int32()).cast(pa.date32())
    asked = {**ASKED, "bounds": {**BOUNDS, "born": [0, 1]}}
    with refused(shoal.PlanError, "epsilon-for-numbers", "epsilon", column="born", type="date32[day]"):
        shoal.protect(people(born=born), **asked, quasi=["age", "income", "born"])
    with refused(shoal.PlanError, "epsilon-with-index", "epsilon"):
        shoal.protect(people().to_pandas().set_index("name"), **{**ASKED, "identifiers": []})


def test_engines_that_divide_records_and_sweeps_refuse_epsilon(tmp_path, monkeypatch):
    plan = Plan(k=3, quasi=["age"], epsilon=1, bounds={"age": [0, 120]})
    for engine in ("file", "spark"):
        with refused(shoal.PlanError, "not-on-engine", "epsilon", option="epsilon", engine=engine, instead="memory"):
            refuse_limits(engine, plan)
    pyarrow.csv.write_csv(people(), tmp_path / "people.csv")
    monkeypatch.setattr(choose, "free_memory", lambda: 1)
    large = plan.updated(input=str(tmp_path / "people.csv"))
    assert choose.engine_for(large)[0] == "memory"
    assert choose.engine_for(large.updated(epsilon=None, bounds={}))[0] == "file"
    with refused(shoal.PlanError, "not-in-a-sweep", "epsilon", why=Message("uses-an-epsilon-each")):
        shoal.sweep(people(), [20], "auto", identifiers=["name"], epsilon=1, bounds=BOUNDS)
    with refused(shoal.PlanError, "not-in-a-sweep", "method", value="insensitive"):
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
    assert reports(release.notes, "epsilon-promise", epsilon=1, factor=math.e)
    assert reports(release.notes, "epsilon-noise", groups=10)
    assert reports(release.notes, "no-moment-preserved", noise=True)
    assert {"rows-in-order-of-groups", "noise-of-system", "known-without-records"} <= {*codes(release.notes)}
    wide = shoal.protect(people(), **{**ASKED, "bounds": {"age": [0, 1e3], "income": [0, 1e9]}})
    for each in (release, wide):
        assert [note.data for note in each.notes if note.code == "clamped-to-bounds"] == [{}]
    few = shoal.protect(people(), **{**ASKED, "k": 2})
    assert reports(few.notes, "noise-exceeds-single-records", k=2)
    assert not reports(release.notes, "noise-exceeds-single-records")


def spoilt(release: shoal.Release, **columns: np.ndarray) -> Table:
    return Table(pa.table({**{name: release.table[name] for name in release.table.column_names}, **columns}))


@pytest.mark.parametrize(
    ("tamper", "code", "data"),
    [
        (lambda x: np.where(np.arange(207) < 21, 121.0, x), "outside-bounds", {"column": "age", "values": 21}),
        (lambda x: np.where(np.arange(207) < 21, -1.0, x), "outside-bounds", {"column": "age", "values": 21}),
        (lambda x: np.random.default_rng(0).permutation(np.tile([1.0, 2.0], 104)[:207]), "runs-below-k", {"k": 20}),
        (lambda x: np.arange(207.0) / 2, "group-below-k", {"combinations": 207, "below": 207, "k": 20}),
    ],
)
def test_verification_finds_what_is_not_as_claimed(tamper, code, data):
    release = shoal.protect(people(), **ASKED, round=False)
    masked = np.asarray(tamper(release.table["age"].to_numpy()))
    constant = np.full(207, 5.0)
    with refused(shoal.CheckFailed, code, **data):
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
        "of epsilon = 1",
        "--epsilon 1",
        "--bounds age=0,120",
        "other bytes each",
        "mean, with noise",
        "epsilons add up",
    ):
        assert said in text
    assert "Differential privacy:" not in text
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

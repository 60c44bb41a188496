"""The plan in a report, and the command that carries it out."""

import shlex
import tomllib

import pyarrow.csv
import pytest
from tests.report.report_samples import NUMBERS, RELEASES, people
from typer.testing import CliRunner

import shoal
from shoal.cli import app
from shoal.plan import Plan
from shoal.plan.commands import file_name, plan_text, protect_command, sweep_command

COMPLETE = {name: options for name, options in RELEASES.items() if "levels" not in options}
MORE = {
    "aggregates": {**NUMBERS, "aggregate": {"age": "median", "income": "trimmed_mean"}, "trim": 1},
    "weighted": {**NUMBERS, "attribute_weights": {"age": 2.5}, "standardize": "minmax", "restore_variance": True},
    "several rules": {
        "k": 3,
        "quasi": ["wages", "other", "costs"],
        "edits": ["wages + other == costs", "if wages < 100 then other >= 0"],
    },
    "refined": {"k": 4, "quasi": ["income", "debt"], "method": "vmdav", "gain": 0.5, "refine": True, "round": False},
    "weights only": {"k": 4, "quasi": ["income", "debt"], "method": "best", "budget": 200},
    "constraints": {**RELEASES["hybrid"], "constraints": {"wealth": ["non-negative"]}},
    "missing words": {"k": 4, "quasi": ["income", "debt"], "csv": {"missing": ["NA", "-"], "delimiter": ","}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    pyarrow.csv.write_csv(people(), folder / "people.csv")
    return folder


@pytest.mark.parametrize("options", [*COMPLETE.values(), *MORE.values()], ids=[*COMPLETE, *MORE])
def test_the_command_carries_out_the_same_plan(folder, monkeypatch, options):
    monkeypatch.chdir(folder)
    # Fresh noise may leave a value as it was, which is refused; this one does not.
    draws = options.get("method") in ("hybrid", "ms")
    release = shoal.protect(
        "people.csv", output="masked.csv", publish="rest", **options, **({"seed": 2} if draws else {})
    )
    release.save(overwrite=True)
    written = (folder / "masked.csv.plan.toml").read_text()
    published = (folder / "masked.csv").read_bytes()
    program, *words = shlex.split(protect_command(release.plan).replace("\\\n", " "))
    assert program == "shoal"
    result = CliRunner().invoke(
        app, [*words, "--overwrite", *(["--seed", "2"] if draws else [])], catch_exceptions=False
    )
    assert result.exit_code == 0
    assert tomllib.loads((folder / "masked.csv.plan.toml").read_text()) == tomllib.loads(written)
    assert (folder / "masked.csv").read_bytes() == published


@pytest.mark.parametrize(
    "options",
    [
        {"levels": {"size": ["small", "large"]}, "quasi": ["size"]},
        {"quasi": ["a,b", "c"]},
        {"quasi": [" a", "c"]},
        {"method": "ms", "alpha": [[0.1, 0.0], [0.0, 0.1]], "confidential": ["a", "b"], "k": None},
        {"scale": {"blocking": "2^d", "dimensions": ["a,b"]}},
        {"quasi": [""]},
        {"types": {"a": "nominal", "": "nominal"}},
        {"input": None},
    ],
)
def test_what_only_a_plan_file_can_say_gives_no_command(options):
    plan = {key: value for key, value in {"k": 3, "input": "a.csv", **options}.items() if value is not None}
    assert protect_command(Plan(**plan)) is None


@pytest.mark.parametrize(
    ("sizes", "methods", "command"),
    [
        ([3, 4, 5], ["tour"], "-k 3-5 --methods tour"),
        ([3, 5], ["tour", "mdav"], "-k 3,5 --methods tour,mdav"),
    ],
)
def test_a_sweep_is_a_command(folder, monkeypatch, sizes, methods, command):
    monkeypatch.chdir(folder)
    found = shoal.sweep("people.csv", k=sizes, method=methods, quasi=["income", "debt"], publish="rest")
    line = sweep_command(found.plan, sizes, methods).replace("\\\n", " ")
    assert command in " ".join(line.split())
    assert CliRunner().invoke(app, shlex.split(line)[1:], catch_exceptions=False).exit_code == 0
    limits = {"max_risk": 12.5, "max_loss": None, "min_k": 4}
    limited = shlex.split(sweep_command(found.plan, sizes, methods, limits).replace("\\\n", " "))
    assert "--max-risk 12.5 --min-k 4" in " ".join(limited)
    assert sweep_command(found.plan.updated(blocks=[["income"], ["debt"]]), sizes, methods) is None


def test_a_plan_is_shown_without_folders_levels_and_seeds():
    plan = Plan(
        k=3,
        quasi=["size"],
        levels={"size": ["S", "M"]},
        input="/home/ann/a.csv",
        output="b/c.csv",
        edits="d/r.sch",
        seed=7,
    )
    assert plan_text(plan) == (
        '# levels of "size": 2, left out here\nk = 3\nquasi = [\n    "size",\n]\nedits = "r.sch"\ninput = "a.csv"\n'
        'output = "c.csv"\n'
    )


@pytest.mark.parametrize("path", ["a.csv", "/x/a.csv", "C:\\x\\a.csv", "s3://bucket/x/a.csv", "a.csv/"])
def test_a_file_goes_by_its_name(path):
    assert file_name(path) == "a.csv"

"""What the worker of the page writes of a release."""

import numpy as np
import pyarrow as pa
import pytest
from tests.expect import refused

from shoal.app.worker import protect, risk_utility
from shoal.errors import PlanError
from shoal.parallel import quiet
from shoal.tables import open_table, write_table


@pytest.fixture
def options(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"age": rng.integers(20, 60, 60), "income": rng.integers(900, 999, 60)})
    write_table(open_table(table), tmp_path / "data.csv", "csv")
    named = {"input": str(tmp_path / "data.csv"), "output": str(tmp_path / "data-masked.csv")}
    return {"k": 3, "method": "mdav", "quasi": ["age", "income"], **named}


def test_a_release_has_a_report_for_the_keeper_and_one_for_users(options, tmp_path):
    files = protect(options, quiet)["files"]
    assert list(files) == ["masked", "report", "users", "plan", "manifest"]
    report, users = ((tmp_path / files[kind]).read_text() for kind in ("report", "users"))
    assert "intruder" in report
    assert "intruder" not in users


def test_a_release_that_fails_the_policy_has_the_report_for_the_keeper_alone(options, tmp_path):
    (tmp_path / "policy.toml").write_text('name = "office"\nloss = 0.001\n')
    found = protect(options, quiet, str(tmp_path / "policy.toml"))
    assert found["verdict"]["result"] == "failed"
    assert list(found["files"]) == ["report"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data-masked-report.html", "data.csv", "policy.toml"]


@pytest.mark.parametrize("scale", [{}, {"scale": {"master": "spark://192.0.2.1:7077"}}])
def test_no_record_goes_to_spark(options, scale):
    asked = {**options, **scale, "engine": "spark"}
    with refused(PlanError, "page-without-spark", "engine", command="shoal protect --engine spark"):
        protect(asked, quiet)
    with refused(PlanError, "page-without-spark"):
        risk_utility(options["input"], asked, quiet)


def test_users_with_names_draw_from_no_secret_that_they_share(options, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_SECRET", str(tmp_path / "secret"))
    hybrid = {**options, "method": "hybrid", "k": 6, "quasi": ["age"], "confidential": ["income"]}
    with refused(PlanError, "seed-of-your-own", "seed"):
        protect(hybrid, quiet, shared=True)
    assert not (tmp_path / "secret").exists()
    assert "masked" in protect({**hybrid, "seed": 4711}, quiet, shared=True)["files"]

"""What the worker of the page writes of a release."""

import numpy as np
import pyarrow as pa
import pytest

from shoal.app.worker import protect
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

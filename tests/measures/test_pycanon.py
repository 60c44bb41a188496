"""pyCANON agrees on k, l and t. It pins old versions, so it lives in an environment of its own."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import shoal
from shoal.datasets import CONFIDENTIAL, QUASI, TYPES

ASK = """
import json, sys
import pandas as pd
from pycanon import anonymity
table, names = pd.read_csv(sys.argv[1]), sys.argv[2].split(",")
answers = {"k": anonymity.k_anonymity(table, names)}
for confidential in sys.argv[3].split(","):
    answers[confidential] = {
        "distinct": anonymity.l_diversity(table, names, [confidential]),
        "t": anonymity.t_closeness(table, names, [confidential]),
    }
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def pycanon(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pycanon")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "pycanon"], check=True)
    return python


def ask(pycanon, table, folder, quasi, confidential):
    pa.csv.write_csv(table, folder / "masked.csv")
    command = [pycanon, "-c", ASK, folder / "masked.csv", ",".join(quasi), ",".join(confidential)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_pycanon_finds_the_same_k_l_and_t(pycanon, tmp_path, seed):
    rng = np.random.default_rng(seed)
    table = pa.table(
        {
            "a": rng.lognormal(size=200),
            "b": rng.normal(size=200),
            "ill": rng.choice(["flu", "none", "burn"], 200),
            "cost": rng.integers(0, 9, 200),
        }
    )
    masked = shoal.protect(table, k=4 + seed, quasi=["a", "b"], confidential=["ill", "cost"]).table
    theirs = ask(pycanon, masked, tmp_path, ["a", "b"], ["ill", "cost"])
    ours = shoal.assess(table, masked, ["a", "b"], ["ill", "cost"])["risk"]
    assert ours["after"]["smallest"] == theirs["k"]
    for confidential in ("ill", "cost"):
        assert ours["diversity"][confidential]["distinct"] == theirs[confidential]["distinct"]
        assert ours["diversity"][confidential]["t"] == pytest.approx(theirs[confidential]["t"], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("confidential", [["affairs"], CONFIDENTIAL])
def test_pycanon_finds_the_k_l_and_t_that_were_asked_for_in_the_survey(pycanon, tmp_path, confidential):
    release = shoal.protect(
        shoal.datasets.survey(), k=5, quasi=QUASI, confidential=confidential, publish="rest", types=TYPES, l=3, t=0.1
    )
    assert release.groups.max() > 100
    theirs = ask(pycanon, release.table, tmp_path, QUASI, confidential)
    assert theirs["k"] >= 5
    for name in confidential:
        assert theirs[name]["distinct"] >= 3
        assert theirs[name]["t"] <= 0.1 + 1e-9

"""pyCANON agrees on k, l and t. It pins old versions, so it lives in an environment of its own."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import shoal

ASK = """
import json, sys
import pandas as pd
from pycanon import anonymity
table, names = pd.read_csv(sys.argv[1]), ["a", "b"]
answers = {"k": anonymity.k_anonymity(table, names)}
for confidential in ("ill", "cost"):
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
    pa.csv.write_csv(masked, tmp_path / "masked.csv")
    told = subprocess.run([pycanon, "-c", ASK, tmp_path / "masked.csv"], capture_output=True, text=True, check=True)
    theirs = json.loads(told.stdout)
    ours = shoal.assess(table, masked, ["a", "b"], ["ill", "cost"])["risk"]
    assert ours["after"]["smallest"] == theirs["k"]
    for confidential in ("ill", "cost"):
        assert ours["diversity"][confidential]["distinct"] == theirs[confidential]["distinct"]
        assert ours["diversity"][confidential]["t"] == pytest.approx(theirs[confidential]["t"], abs=1e-9)

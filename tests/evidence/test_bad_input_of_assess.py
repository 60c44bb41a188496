"""Bad input of `shoal assess` on the command line: two sentences at most, exit code 2, no value of the data."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from shoal.messages import Message

SECRET = "917236453"
ROLES = ["--quasi", "age,income", "--confidential", "ill"]


def people(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    income = np.round(rng.lognormal(10, 0.5, n))
    income[3] = int(SECRET)
    columns = {"id": np.arange(n) + 1000 * seed, "age": age, "income": income, "twice": 2 * age, "same": np.ones(n)}
    return pa.table(columns | {"old": (age > 50).astype(int), "ill": rng.choice(["none", "heart", "lung"], n)})


@pytest.fixture
def files(tmp_path):
    """The original, the file published in groups, and what is wrong."""
    original = people(60, 1)
    labels = np.argsort(np.argsort(original["age"].to_numpy())) // 5
    masked = original
    for name in ("age", "income", "twice"):
        x = original[name].to_numpy()
        means = np.bincount(labels, x) / np.bincount(labels)
        masked = masked.set_column(masked.column_names.index(name), name, pa.array(means[labels]))
    one = masked
    for name in ("age", "income", "twice"):
        x = original[name].to_numpy()
        one = one.set_column(one.column_names.index(name), name, pa.array(np.full(60, x.mean())))
    strangers = people(60, 2)
    tables = {"original": original, "masked": masked, "one": one, "strangers": strangers}
    tables |= {"known": original.slice(0, 40), "fewer": masked.drop_columns(["income"]), "short": masked.slice(0, 9)}
    for name, table in tables.items():
        pyarrow.csv.write_csv(table, tmp_path / f"{name}.csv")
    (tmp_path / "unknown.toml").write_text("linkages = 3\n")
    (tmp_path / "formula.toml").write_text('analyses = 0.7\nformulas = ["income ~ agee"]\n')


WRONG = {
    "a formula with an unknown column": (
        "masked",
        ["--analysis", "income ~ agee"],
        "'agee' is not a column of the orig",
    ),
    "an unknown response": ("masked", ["--analysis", "pay ~ age"], "'pay' is not a column of the original"),
    "collinear terms": ("masked", ["--analysis", "income ~ age + twice"], "collinear terms: 'twice'"),
    "a constant response": ("masked", ["--analysis", "same ~ age"], "the response is constant. Use another response."),
    "perfect separation": ("masked", ["--analysis", "old ~ age"], "'age' separates records"),
    "a response of text": ("masked", ["--analysis", "ill ~ age"], "neither a number nor boolean. Code it as 0 and 1."),
    "a control set of people in the file": (
        "masked",
        ["--control", "known.csv"],
        "The control set has 40 records of 40",
    ),
    "a control set with keys of the file": (
        "masked",
        ["--control", "known.csv", "--key", "id"],
        "The control set has 40 values of 'id'",
    ),
    "a policy with an unknown limit": (
        "masked",
        ["--policy", "unknown.toml"],
        str(Message("unknown-limit", field="linkages", source="unknown.toml", near="linkage")),
    ),
    "a policy with an unknown column": ("masked", ["--policy", "formula.toml"], "policy.formulas: 'agee' is not a"),
    "files that share no record": ("strangers", ["--key", "id"], "60 records of the masked table cannot be found"),
    "a masked file with fewer columns": ("fewer", [], "--quasi: 'income' is not a column of the masked table"),
    "a masked file with fewer records": ("short", [], "The original has 60 records and the masked table 9"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_bad_input_is_refused_in_two_sentences_with_exit_code_2(kind, files, run):
    masked, options, message = WRONG[kind]
    code, out, err = run("assess", "original.csv", f"{masked}.csv", *ROLES, *options)
    assert code == 2
    assert err.startswith(f"Error: {message}") or f" {message}" in err
    assert len(re.findall(r"[.?](?:\s|$)", err)) <= 2
    assert out == ""
    assert SECRET not in err


def test_one_group_is_measured_and_its_regression_is_said_to_be_lost(files, run):
    code, out, err = run("assess", "original.csv", "one.csv", *ROLES, "--analysis", "income ~ age")
    assert (code, err) == (0, "")
    assert "not estimated from the masked file: the response is constant" in out

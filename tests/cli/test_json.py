"""What machines get: every error, warning and note of every command with its code, its data and its sentence."""

import json
import os

import numpy as np
import pytest

from shoal.messages.table import SENTENCES


@pytest.fixture
def people(tmp_path):
    chance = np.random.default_rng(3)
    rows = [f"{20 + i % 60},{chance.normal():.3f},{1 + chance.random():.4f},{i % 4}" for i in range(80)]
    (tmp_path / "people.csv").write_text("\n".join(["age,score,weight,ill", *rows]) + "\n")
    (tmp_path / "small.csv").write_text("age,ill\n" + "".join(f"{40 + i % 2},{i % 3}\n" for i in range(40)))
    (tmp_path / "odd.csv").write_text("age,ill\n" + "".join(f"{40 + i % 2},{i % 2}\n" for i in range(40)))
    (tmp_path / "rules.txt").write_text("age > 0\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "other.txt").touch()
    for name, limits in {"strict": "k = 50", "unmeasured": "loss = 99\nanalyses = 0.1"}.items():
        (tmp_path / f"{name}.toml").write_text(f"{limits}\n")
    return tmp_path


MASK = ["-k", "3", "--quasi", "age,score", "--publish", "ill,weight", "--method", "mdav"]
BAD = [
    ("protect", "no-input", "input", {}),
    ("protect people.csv", "no-output", "output", {}),
    ("protect people.csv -k 3 -o m.csv --external", "applies-only-with", "external", {"needed": "--report"}),
    ("protect people.csv -k 3 -o m.csv --report m.pdf", "report-not-html", None, {"path": "m.pdf"}),
    (
        "protect people.csv --qasi age",
        "no-such-command-option",
        None,
        {"option": "--qasi", "near": "--quasi", "help": "shoal protect --help"},
    ),
    ("protect people.csv -k 3 --quasi age -o m.csv", "column-without-role", "publish", {"column": "score"}),
    ("roles", "wrong-usage", None, {"help": "shoal roles --help"}),
    ("roles people.csv -o no/plan.toml", None, None, {}),
    ("risk people.csv --keys age --no-suda --by-level", "does-not-apply-with", "by_level", {"other": "--no-suda"}),
    ("sweep people.csv -k x", "group-sizes-unreadable", "k", {}),
    ("sweep people.csv -k 5-3", "group-sizes-order", "k", {"most": 10_000}),
    ("sweep people.csv -k 3 --overwrite", "applies-only-with", "overwrite", {"needed": "-o or --report"}),
    ("sweep people.csv -k 3 --external", "applies-only-with", "external", {"needed": "--report"}),
    ("assess people.csv people.csv --scenario age", "scenario-unreadable", "scenario", {}),
    ("assess people.csv", "wrong-usage", None, {"help": "shoal assess --help"}),
    ("check nosuch.csv -k 3", None, None, {}),
    ("edits people.csv nosuch.txt", None, None, {}),
    ("edits people.csv", "wrong-usage", None, {"help": "shoal edits --help"}),
    ("demo --folder mine", "folder-not-empty", None, {"folder": "mine"}),
    ("demo --folder people.csv", "folder-unusable", None, {"folder": "people.csv"}),
    ("chekc people.csv", "wrong-usage", None, {"help": "shoal --help"}),
]


def is_message(found):
    """Whether machines get all of a message."""
    return found["code"] in SENTENCES and {"severity", "text", "data"} <= {*found}


@pytest.mark.parametrize(("line", "code", "field", "data"), BAD, ids=[line for line, *_ in BAD])
def test_a_command_that_fails_prints_its_errors_with_codes_and_data(run, people, line, code, field, data):
    exit_code, out, err = run(*line.split(), "--json")
    errors = json.loads(out)["errors"]
    assert exit_code == 2
    assert all(map(is_message, errors))
    found = next(each for each in errors if code in (None, each["code"]))
    assert field == found.get("field")
    assert data.items() <= found["data"].items()
    assert code == "column-without-role" or len(err.splitlines()) == len(errors)
    assert run(*line.split())[1] == ""  # without --json, nothing for machines


def test_a_check_that_fails_prints_its_errors_beside_what_it_measured(run, people):
    code, out, err = run("check", "people.csv", "-k", 3, "--quasi", "age,score", "--json")
    found = json.loads(out)
    assert (code, found["passed"], [each["code"] for each in found["errors"]]) == (1, False, ["group-below-k"])
    assert err.startswith("Failed: ")


@pytest.mark.parametrize(
    ("policy", "code", "data"),
    [
        ("strict", "limits-failed", {"number": 1, "limits": 1, "policy": "strict.toml"}),
        ("unmeasured", "limits-not-measured", {"number": 1, "limits": 2, "policy": "unmeasured.toml", "some": True}),
    ],
)
def test_a_policy_that_is_not_passed_is_an_error_beside_the_result(run, people, policy, code, data):
    limits = ["--policy", f"{policy}.toml"]
    exit_code, out, err = run("protect", "people.csv", *MASK, "-o", "m.csv", *limits, "--json")
    [error] = json.loads(out)["errors"]
    assert (exit_code, error["code"]) == (1, code)
    assert error["data"] == {**data, "file": "m.csv"}
    assert err.endswith(f": {error['text']}\n")
    run("protect", "people.csv", *MASK, "-o", "m.csv", "--overwrite")
    exit_code, out, _ = run("assess", "people.csv", "m.csv", "--quasi", "age,score", *limits, "--json")
    [error] = json.loads(out)["errors"]
    assert (exit_code, error["code"], error["data"]) == (1, code, {**data, "file": None})


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (["protect", "people.csv", *MASK, "-o", "m.csv"], None),
        (["sweep", "people.csv", "-k", "3,4", *MASK[2:4], "--publish", "ill,weight", "-o", "m-{k}.csv"], None),
        (["risk", "people.csv", "--keys", "age,ill"], None),
        (["roles", "people.csv"], "look-at-column"),
        (["check", "small.csv", "-k", "3", "--quasi", "age", "--against", "odd.csv"], "releases-differ"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_warnings_and_notes_have_codes_too(run, people, line, code):
    exit_code, out, _ = run(*line, "--json")
    assert exit_code in (0, 1)
    notes = json.loads(out)["notes"]
    assert notes
    assert all(map(is_message, notes))
    assert code in (None, *(each["code"] for each in notes))


@pytest.mark.parametrize(
    ("error", "code", "data"),
    [
        (MemoryError(), "no-memory", {"page": False}),
        (OSError(28, "secret 4711"), "system-refused", {"reason": os.strerror(28)}),
        (RuntimeError("secret 4711"), "unexpected", {"what": "RuntimeError"}),
        (KeyboardInterrupt(), "interrupted", {}),
    ],
)
def test_what_nobody_thought_of_has_a_code_and_no_value(run, people, monkeypatch, error, code, data):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("shoal.release.resolve", fail)
    exit_code, out, err = run("protect", "people.csv", *MASK, "-o", "m.csv", "--json")
    [found] = json.loads(out)["errors"]
    assert (exit_code, found["code"], found["data"]) == (130 if code == "interrupted" else 2, code, data)
    assert "4711" not in out + err

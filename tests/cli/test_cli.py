"""The command line: what a person types, what comes back, and how it fails."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest
from tests.docs.pages import shows
from tests.expect import pattern, prints

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def people(tmp_path):
    rows = [f"person {i},{20 + i},{1000 + 7 * i * i},{'north' if i % 2 else 'south'}" for i in range(12)]
    (tmp_path / "people.csv").write_text("\n".join(["name,age,income,region", *rows]) + "\n")
    return "people.csv"


def test_census_at_k_3_loses_5_692_percent(run, reference_file):
    code, out, _ = run("protect", reference_file("census"), "-k", 3, "--method", "mdav", "-o", "out.csv", "--json")
    assert code == 0
    result = json.loads(out)
    assert round(result["loss"]["IL"], 3) == 5.692
    assert result["risk"]["after"]["smallest"] == 3
    assert run("check", "out.csv", "-k", 3)[0] == 0
    code, out, _ = run("assess", reference_file("census"), "out.csv", "--json")
    assert result["loss"].items() <= json.loads(out)["loss"].items()


def test_protect_shows_what_was_done_and_where_it_is(run, people, tmp_path):
    roles = ["--quasi", "age,income", "--identifiers", "name", "--publish", "region"]
    code, out, _ = run("protect", people, "-k", 3, *roles, "-o", "masked.csv")
    assert code == 0
    for words in ("12 records, 2 attributes masked", "unique records", "IL", "masked.csv", "region"):
        assert words in out
    assert "name" not in (tmp_path / "masked.csv").read_text()


def test_a_plan_file_does_what_the_options_did(run, people, tmp_path):
    options = ["-k", 3, "--quasi", "age", "--quasi", "income", "--identifiers", "name", "--strata", "region", "--round"]
    assert run("protect", people, *options, "-o", "one.csv")[0] == 0
    assert run("protect", "--plan", "one.csv.plan.toml", "-o", "two.csv")[0] == 0
    assert (tmp_path / "two.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    code, _, err = run("protect", "--plan", "one.csv.plan.toml")
    assert code == 2
    assert prints(err, "file-exists")
    assert run("protect", "--plan", "one.csv.plan.toml", "--overwrite")[0] == 0


def test_one_sheet_of_a_workbook_is_protected_by_the_option_that_the_error_names(run, tmp_path):
    book = openpyxl.Workbook()
    for sheet in (book.active, book.create_sheet("people")):
        for row in [["age", "pay"], *([20 + i, 7 * i % 30] for i in range(12))]:
            sheet.append(row)
    book.save(tmp_path / "book.xlsx")
    options = ["book.xlsx", "-k", 3, "--quasi", "age,pay", "-o", "masked.csv"]
    code, _, err = run("protect", *options)
    assert (code, "'people', hidden ones included). Choose one with --sheet." in " ".join(err.split())) == (2, True)
    code, _, err = run("protect", *options, "--sheet", "adults")
    assert code == 2
    assert "--sheet: names 'adults'" in err
    assert run("protect", *options, "--sheet", "people")[0] == 0
    assert 'sheet = "people"' in (tmp_path / "masked.csv.plan.toml").read_text()
    code, out, _ = run("roles", "book.xlsx", "--sheet", "people")
    assert code == 0
    assert "--sheet people" in out
    code, out, _ = run("assess", "book.xlsx", "masked.csv", "--sheet", "people", "--json")
    assert json.loads(out)["records"] == 12


def test_blocks_say_that_k_holds_within_each_only(run, people):
    code, out, _ = run(
        "protect", people, "-k", 3, "--block", "age", "--block", "income", "--publish-rest", "-o", "masked.csv"
    )
    assert code == 0
    assert "k holds within each attribute block only" in out


def test_blocks_are_given_or_chosen_not_both(run, people):
    code, _, err = run("protect", people, "-k", 3, "--block", "age", "--blocks", "correlated", "-o", "masked.csv")
    assert code == 2
    assert prints(err, "given-by-two-options", options=["--blocks", "--block"])


def test_check_fails_with_exit_code_1(run, people):
    code, out, err = run("check", people, "-k", 2)
    assert code == 1
    assert out == ""
    assert err.splitlines()[-1].startswith("Failed: ")
    assert prints(err, "group-below-k", below=12, combinations=12)


def test_check_tells_machines_too(run, people):
    code, out, _ = run("check", people, "-k", 2, "--json")
    assert code == 1
    found = json.loads(out)
    assert found["passed"] is False
    assert [(each["code"], each["data"]["below"]) for each in found["errors"]] == [("group-below-k", 12)]


def test_everything_that_is_missing_is_told_at_once(run):
    code, _, err = run("protect")
    assert code == 2
    assert [line.split()[1] for line in err.splitlines()] == ["Set", "Name", "Name"]
    assert prints(err, "no-input")
    assert prints(err, "no-output")


def test_a_name_by_itself_is_taken_to_the_letter(run, tmp_path):
    (tmp_path / "blanks.csv").write_text("name, age\nA, 1\nB, 2\n")
    assert run("protect", "blanks.csv", "-k", 2, "--quasi", " age", "--publish", "name", "-o", "masked.csv")[0] == 0


def test_the_demo_does_not_touch_other_files(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "masked.csv").write_text("mine")
    code, _, err = run("demo", "--folder", "mine")
    assert code == 2
    assert prints(err, "folder-not-empty", folder="mine")
    assert (tmp_path / "mine" / "masked.csv").read_text() == "mine"


def test_assess_explains_itself(run, people):
    code, out, _ = run("assess", people, people, "--quasi", "age,income")
    assert code == 0
    for words in (
        "lower is better",
        "lower is safer",
        "records linked correctly to the nearest masked record",
        "Score",
    ):
        assert words in out


BAD = {
    "k > n": (["-k", "13"], "12 records"),
    "an unknown column": (["-k", "3", "--quasi", "agee"], "Did you mean 'age'"),
    "text in a number": (["-k", "3", "--quasi", "region", "--type", "region=continuous"], "'region' holds text"),
    "an output that is the input": (["-k", "3", "-o", "people.csv", "--overwrite"], "is the input"),
    "an output that exists": (["-k", "3", "-o", "taken.csv"], pattern("file-exists", path="taken.csv", beside=None)),
    "an output of no known kind": (["-k", "3", "-o", "masked.doc"], pattern("unknown-extension", path="masked.doc")),
    "an output without a folder": (["-k", "3", "-o", "no/masked.csv"], pattern("no-folder", path="no")),
    "no output": (["-k", "3", "-o", ""], ""),
    "an unknown option": (["-k", "3", "--magic"], "--magic"),
}


WRONG = {
    "k < 2": (["-k", "1"], "-k", "too-small", {"limit": 2}),
    "k is missing": ([], "", "not-set", {"name": "k", "example": "-k=5"}),
    "a repeated column": (["-k", "3", "--quasi", "age,age"], "--quasi", "names-twice", {"column": "age"}),
    "two mistakes at once": (["-k", "1", "--method", "magic"], "--method", "not-a-choice", {"near": ""}),
    "an option that does not apply": (["-k", "3", "--trim", "1"], "--trim", "applies-only-with", {}),
    "a broken number": (["-k", "many"], "-k", "not-whole", {}),
    "engine": (["-k", 3, "--master", "x"], "--master", "applies-only-with", {"needed": "--engine=spark"}),
    "small blocks": (["-k", 3, "--block-records", 2], "--block-records", "block-below-k", {"k": 3}),
    "a form of l": (["-k", 3, "--l-form", "entropy"], "--l-form", "does-not-apply-without", {"option": "-l"}),
    "a long number": (["-k", "1" * 10_000], "-k", "not-whole", {}),
    "a misspelled method": (["-k", 3, "--method", "mdva"], "--method", "not-a-choice", {"near": "mdav"}),
    "a misspelled type": (["-k", 3, "--type", "age=ordnal"], "--type", "not-a-choice", {"near": "ordinal"}),
    "a plan that is not there": (["--plan", "absent.toml"], "", "no-file", {"what": "plan file"}),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_request_names_the_option_as_it_is_typed(run, people, tmp_path, case):
    arguments, option, code, data = WRONG[case]
    before = set(os.listdir(tmp_path))
    ended, out, err = run("protect", people, *arguments, "--publish-rest", "-o", "masked.csv")
    assert (ended, out) == (2, "")
    lines = [line.removeprefix("Error: ").strip() for line in err.splitlines()]
    said = [line for line in lines if line.startswith(f"{option}: ") or not option]
    assert any(prints(line, code, **data) for line in said)
    assert set(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_request_is_exit_code_2_and_nothing_is_written(run, people, tmp_path, case):
    arguments, message = BAD[case]
    (tmp_path / "taken.csv").write_text("mine")
    before = set(os.listdir(tmp_path))
    output = [] if "-o" in arguments else ["-o", "masked.csv"]
    code, out, err = run("protect", people, *arguments, "--publish-rest", *output)
    assert code == 2
    assert out == ""
    assert message in err or re.search(message, err)
    assert "Traceback" not in err
    assert set(os.listdir(tmp_path)) == before


FILES = {
    "empty": (b"", pattern("empty-file")),
    "header only": (b"a,b\n", pattern("no-records")),
    "one record": (b"a,b\n1,2\n", "1 record"),
    "the same name twice": (b"a,a\n1,2\n3,4\n", "'a'"),
    "text in a number": (b"a,b\n1,2\n3,oops\n5,6\n", "record 2"),
    "a missing value": (b"a,b\n1,2\n3,\n5,6\n", "record 2"),
    "ragged": (b"a,b\n1,2\n3,4,5\n", pattern("number-of-cells", record=2, cells=3, columns=2)),
    "binary": (b"\x00\x01\x02" * 100, ""),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_is_one_sentence_without_a_value(run, tmp_path, case):
    content, message = FILES[case]
    (tmp_path / "bad.csv").write_bytes(content)
    code, out, err = run("protect", "bad.csv", "-k", 2, "-o", "masked.csv")
    assert code == 2
    assert out == ""
    assert message in err or re.search(message, err)
    assert len(err.splitlines()) == 1
    assert "oops" not in err
    assert os.listdir(tmp_path) == ["bad.csv"]


def test_an_unwritable_folder_is_refused(run, people, tmp_path, monkeypatch):
    (tmp_path / "locked").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    code, _, err = run("protect", people, "-k", 3, "-o", "locked/masked.csv")
    assert code == 2
    assert prints(err, "folder-not-writable", path="locked")


def test_what_nobody_thought_of_is_no_traceback_and_no_value(run, people, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("secret 4711")

    monkeypatch.setattr("shoal.release.resolve", fail)
    code, _, err = run("protect", people, "-k", 3, "-o", "masked.csv")
    assert code == 2
    assert prints(err, "unexpected", what="RuntimeError")
    assert "4711" not in err


@pytest.mark.parametrize("command", ["protect", "roles", "risk", "sweep", "edits", "check", "assess", "demo"])
def test_every_command_has_an_example_in_its_help(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"Example:  shoal {command}" in out


def test_the_demo_protects_the_survey(run, tmp_path):
    code, out, _ = run("demo", "--json")
    assert code == 0
    result = json.loads(out)
    assert result["records"] == 6366
    assert result["risk"]["before"]["uniques"] > 2000
    assert result["risk"]["after"]["uniques"] == 0
    assert result["risk"]["after"]["smallest"] == 5
    written = {"survey.csv", "masked.csv", "masked.csv.plan.toml", "masked.csv.manifest.json", "report.html"}
    assert set(os.listdir(tmp_path / "shoal-demo")) == written
    assert {path.rpartition("/")[2] for path in result["files"].values()} == written
    assert run("check", "shoal-demo/masked.csv", "--manifest", "shoal-demo/masked.csv.manifest.json")[0] == 0
    code, out, _ = run("demo")
    assert code == 0
    assert prints(out, "earlier-demo-replaced", folder="shoal-demo")
    shown = re.search(r"```\n(In 1974 .*?)\n\.\.\.\n```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert shows(" ".join(out.split()), " ".join(shown[1].split()), by_search=True)


def test_the_installed_command_runs(people, tmp_path):
    arguments = [sys.executable, "-m", "shoal", "protect", people, "-k", "3", "--publish-rest", "-o", "masked.csv"]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("a,b\n1,2\n3,4\n5,6,7\n8,9\n", "record 3 has 3 cells"), ("a,a\n1,2\n3,4\n", "more than one column named")],
)
def test_a_file_that_cannot_be_cut_is_one_line_of_error_and_nothing_else(text, sentence, tmp_path):
    (tmp_path / "in.csv").write_text(text)
    arguments = [sys.executable, "-m", "shoal", "protect", "in.csv", "-k", "2", "--quasi", "a", "-o", "out.csv"]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1

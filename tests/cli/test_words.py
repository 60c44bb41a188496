"""What the command line says: true, and in words that tell what to type."""

import json

import numpy as np
import pytest
from tests.expect import prints

import shoal
from shoal.messages import Message


@pytest.fixture
def people(tmp_path):
    chance = np.random.default_rng(3)
    rows = [f"{20 + i % 60},{chance.normal():.3f},{1 + chance.random():.4f},{i % 4}" for i in range(80)]
    (tmp_path / "people.csv").write_text("\n".join(["age,score,weight,ill", *rows]) + "\n")
    return "people.csv"


ROLES = ("--quasi", "age,score", "--weights", "weight", "--confidential", "ill")


def test_seams_and_cells_of_one_record_block_are_noted_as_without_effect(run, people):
    blocks = ("--method", "mdav", "--seams", "--blocking", "2^d")
    out = run("protect", people, "-k", 3, *ROLES, *blocks, "-o", "one.csv")[1]
    assert prints(out, "one-record-block", seams=True, both=True, blocking="2^d")
    out = run("protect", people, "-k", 3, *ROLES, *blocks, "--block-records", 20, "-o", "several.csv")[1]
    assert not prints(out, "one-record-block")


def test_assess_with_weights_measures_the_loss_of_protect_and_says_which_k_it_counts_by(run, people):
    code, out, _ = run("protect", people, "-k", 5, *ROLES, "-o", "masked.csv", "--json")
    assert code == 0
    loss = json.loads(out)["loss"]["IL"]
    again = json.loads(run("assess", people, "masked.csv", *ROLES, "--json")[1])["loss"]["IL"]
    alike = json.loads(run("assess", people, "masked.csv", "--quasi", "age,score", "--json")[1])["loss"]["IL"]
    assert again == pytest.approx(loss, rel=1e-12)
    assert alike != pytest.approx(loss, rel=1e-6)
    out = run("assess", people, "masked.csv", *ROLES, "-k", 7)[1]
    assert "below 7" in out
    assert "Records count by 'weight'" in " ".join(out.split())
    assert "below 2" in run("assess", people, "masked.csv", *ROLES)[1]


def test_a_number_too_long_to_read_is_refused_in_a_sentence(run, people, tmp_path):
    (tmp_path / "plan.toml").write_text(f"k = {'1' * 10_000}\ninput = 'people.csv'\n")
    code, _, err = run("protect", "--plan", "plan.toml", "-o", "masked.csv")
    assert code == 2
    assert prints(err, "toml-number-too-long", what="plan file")


def test_a_file_in_the_way_is_named_with_the_output_it_goes_with_and_the_option_that_replaces_it(run, people, tmp_path):
    (tmp_path / "masked.csv.plan.toml").touch()
    err = run("protect", people, "-k", 3, *ROLES, "-o", "masked.csv")[2]
    assert prints(err, "file-exists", path="masked.csv.plan.toml", beside="masked.csv")
    assert "--overwrite" in err


@pytest.mark.parametrize("options", [[], ["--type", "age=continuous"]])
def test_a_word_among_numbers_is_refused_alike_by_every_engine_with_advice_that_works(run, tmp_path, options):
    rows = [f"{i % 50},{i}" for i in range(300)] + ["old,7"]
    (tmp_path / "late.csv").write_text("\n".join(["age,inc", *rows]) + "\n")
    command = ["protect", "late.csv", "-k", 3, "--quasi", "age,inc", "-o", "masked.csv"]
    said = {run(*command, *options, "--engine", engine)[2] for engine in ("memory", "file")}
    assert len(said) == 1
    assert prints(said.pop(), "word-among-numbers", column="age", record=301)
    assert run(*command, "--type", "age=nominal", "--engine", "memory")[0] == 0
    assert run(*command, "--type", "age=nominal", "--engine", "file", "--overwrite")[0] == 0


def test_a_link_in_place_of_the_work_folder_is_refused_in_a_sentence(run, people, tmp_path):
    (tmp_path / ".masked.csv.shoal").symlink_to(tmp_path)
    code, _, err = run("protect", people, "-k", 3, *ROLES, "--engine", "file", "-o", "masked.csv")
    assert code == 2
    assert prints(err, "folder-taken", path=".masked.csv.shoal")


def test_a_plan_for_other_columns_is_refused_with_the_columns_that_have_no_role(run, people):
    err = run("protect", people, "-k", 3, "--quasi", "age", "--publish", "nosuch", "-o", "masked.csv")[2]
    assert prints(err, "unknown-column", column="nosuch", table="the table", near=None)
    assert prints(err, "columns-without-role", columns=["score", "weight", "ill"], others=0)
    assert len(err.splitlines()) == 2


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["protect", "people.csv", "-k", 3, "--on-interrupt", "x", "-o", "m.csv"], "--on-interrupt: must be"),
        (["sweep", "people.csv", "-k", 3, "--min-k", 0], "--min-k: "),
    ],
)
def test_errors_name_options_as_they_are_typed(run, people, command, said):
    code, _, err = run(*command)
    assert code == 2
    assert said in err


def test_errors_of_groups_name_options_as_they_are_typed(run, people):
    roles = ["--method", "hybrid", "--quasi", "age", "--confidential", "score,ill", "--identifiers", "weight"]
    code, _, err = run("protect", people, "-k", 3, *roles, "-o", "m.csv")
    assert (code, err.split()[:2]) == (2, ["Error:", "-k:"])
    assert prints(err, "k-too-small-for-synthesis", records=3)


def test_help_describes_options_as_the_command_uses_them(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert "<bool>" not in run("--help")[1]
    out = " ".join(run("check", "--help")[1].replace("│", " ").split())
    assert "attributes to mask" not in out
    assert "are a warning" in out
    out = " ".join(run("protect", "--help")[1].replace("│", " ").split())
    assert "attributes, not records" in out


SWEEP = ("--methods", "tour", *ROLES)


def test_a_sweep_writes_a_file_for_every_k_and_tells_the_risk_of_each(run, people, tmp_path):
    code, out, err = run("sweep", people, "-k", "1,3-4", *SWEEP, "-o", "masked-{k}.csv", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert [(each["k"], each["file"]) for each in found["files"]] == [(3, "masked-3.csv"), (4, "masked-4.csv")]
    for k in (3, 4):
        assert run("check", f"masked-{k}.csv", "--manifest", f"masked-{k}.csv.manifest.json")[0] == 0
    assert not (tmp_path / "masked-1.csv").exists()
    code, _, err = run("sweep", people, "-k", "3-4", *SWEEP, "-o", "masked-{k}.csv")
    assert code == 2
    assert prints(err, "file-exists", path="masked-3.csv", more=5)
    code, out, _ = run("sweep", people, "-k", "3-4", *SWEEP, "-o", "masked-{k}.csv", "--overwrite")
    assert code == 0
    assert prints(out, "publish-one-only")
    assert all(f"masked-{k}.csv" in out for k in (3, 4))


def test_a_sweep_that_fails_in_between_names_the_files_that_are_complete(run, people, monkeypatch):
    from shoal.release import Release

    def save(self, path, overwrite, save=Release.save):
        if "4" in str(path):
            raise shoal.FileError("the disk is full")
        save(self, path, overwrite)

    monkeypatch.setattr(Release, "save", save)
    code, _, err = run("sweep", people, "-k", "3-5", *SWEEP, "-o", "masked-{k}.csv")
    assert code == 2
    first, second = err.splitlines()
    assert prints(first, "files-complete", files=["masked-3.csv"])
    assert second.startswith("Error: ")


def test_a_sweep_without_a_k_that_meets_the_limits_fails_and_names_the_k_that_links_fewest(run, people):
    options = ["--quasi", "age", "--publish", "score", "--identifiers", "weight,ill", "--methods", "mdav", "--json"]
    code, out, _ = run("sweep", people, "-k", "3-6", *options, "--max-risk", 10)
    found = json.loads(out)
    assert code == 1
    assert {row["risk"] for row in found["rows"]} == {100.0}
    assert found["nearest"]["linked"] == min(row["linked"] for row in found["rows"])
    assert run("sweep", people, "-k", "3-6", *options, "--max-risk", 100)[0] == 0


def test_all_records_in_one_group_are_a_warning(run, people):
    out = run("protect", people, "-k", 3, *ROLES, "-t", 0.0001, "--method", "mdav", "-o", "masked.csv")[1]
    assert prints(
        out,
        "all-in-one-group",
        ways=[Message("other-value", option="-t", larger=True), Message("other-value", option="-k")],
    )
    assert not prints(run("protect", people, "-k", 3, *ROLES, "-o", "other.csv")[1], "all-in-one-group")


def test_a_secret_in_place_of_its_path_is_refused_and_makes_no_file(run, people, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_SECRET", "mysecretvalue123")
    hybrid = ["--method", "hybrid", "--quasi", "age", "--confidential", "score", "--identifiers", "weight,ill"]
    code, _, err = run("protect", people, "-k", 20, *hybrid, "-o", "masked.csv")
    assert code == 2
    assert prints(err, "secret-not-path")
    assert "mysecretvalue123" not in err
    assert not (tmp_path / "mysecretvalue123").exists()


def test_a_column_w_of_fractions_above_one_is_proposed_as_survey_weights(run, tmp_path):
    chance = np.random.default_rng(2)
    rows = [f"{chance.normal():.3f},{1 + 9 * chance.random():.3f}" for _ in range(200)]
    (tmp_path / "firms.csv").write_text("\n".join(["turnover,w", *rows]) + "\n")
    found = {row["column"]: row["role"] for row in json.loads(run("roles", "firms.csv", "--json")[1])["columns"]}
    assert found["w"] == "weights"


@pytest.mark.parametrize(
    ("more", "problem", "data"),
    [
        (("--tour", "savings"), "not-for-any-method", {"methods": ["auto"], "method": "tour"}),
        (
            ("--methods", "mdav,tour", "--budget", 5),
            "not-for-any-method",
            {"methods": ["mdav", "tour"], "method": "best"},
        ),
        (("--methods", "hybrid"), "not-in-a-sweep", {"value": "hybrid", "why": Message("draws-new-values")}),
    ],
)
def test_a_sweep_names_the_options_that_it_has(run, people, more, problem, data):
    code, _, err = run("sweep", people, "-k", 3, *ROLES, *more)
    assert code == 2
    assert prints(err, problem, **data)
    assert f"{more[-2]}: " in err


def test_a_sweep_that_writes_nothing_overwrites_nothing(run, people):
    code, _, err = run("sweep", people, "-k", 3, *ROLES, "--overwrite")
    assert code == 2
    assert "--overwrite: " in err


def test_help_does_not_take_a_word_to_choose_for_an_option(run):
    out = " ".join(run("protect", "--help")[1].replace("│", " ").split())
    assert "With method tour:" in out
    assert "of three (edits)" in out


def test_blocks_of_few_attributes_are_assessed_without_saying_how_many_are_known(run, people):
    run("protect", people, "-k", 3, *ROLES, "-o", "masked.csv")
    code, out, _ = run("assess", people, "masked.csv", *ROLES, "--block", "age", "--block", "score", "--json")
    assert code == 0
    assert [*json.loads(out)["risk"]["scenarios"]] == ["2G"]

"""What the command line says: true, and in words that tell what to type."""

import json

import numpy as np
import pytest
from tests.expect import prints

import shoal


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
    assert "--seams and --blocking 2^d had no effect: all records are in one record block" in " ".join(out.split())
    out = run("protect", people, "-k", 3, *ROLES, *blocks, "--block-records", 20, "-o", "several.csv")[1]
    assert "had no effect" not in out


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
    assert "has a number of more than 4,300 digits" in err
    assert "-k: must be a whole number." in run("protect", people, "-k", "1" * 10_000, "-o", "masked.csv")[2]


def test_a_file_in_the_way_is_named_with_the_output_it_goes_with_and_the_option_that_replaces_it(run, people, tmp_path):
    (tmp_path / "masked.csv.plan.toml").touch()
    err = run("protect", people, "-k", 3, *ROLES, "-o", "masked.csv")[2]
    assert "'masked.csv.plan.toml', which goes with 'masked.csv', already exists" in err
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
    assert ".masked.csv.shoal' is a link or a file, and this run needs a folder of that name. Remove it" in err


def test_a_plan_for_other_columns_is_refused_with_the_columns_that_have_no_role(run, people):
    err = run("protect", people, "-k", 3, "--quasi", "age", "--publish", "nosuch", "-o", "masked.csv")[2]
    what = "--publish: 'nosuch' is not a column of the table. Columns without a role: 'score', 'weight', 'ill'."
    assert err == f"Error: {what}\n"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["protect", "people.csv", "-k", 3, "--master", "x", "-o", "m.csv"], "--master: applies only to Spark."),
        (
            ["protect", "people.csv", "-k", 3, "--block-records", 2, "-o", "m.csv"],
            "--block-records: must be at least k",
        ),
        (["protect", "people.csv", "-k", 3, "--l-form", "entropy", "-o", "m.csv"], "--l-form: does not apply"),
        (["protect", "people.csv", "-k", 3, "--on-interrupt", "x", "-o", "m.csv"], "--on-interrupt: must be"),
        (["protect", "people.csv", "-k", 1, "-o", "m.csv"], "-k: must be at least 2."),
        (["sweep", "people.csv", "-k", 3, "--min-k", 0], "--min-k: "),
        (["chekc", "people.csv"], "Did you mean 'check'? See shoal --help."),
        (
            [
                *(
                    "protect",
                    "people.csv",
                    "-k",
                    3,
                    "--method",
                    "hybrid",
                    "--quasi",
                    "age",
                    "--confidential",
                    "score,ill",
                ),
                *("--identifiers", "weight", "-o", "m.csv"),
            ],
            "-k: groups of 3 records are too small for ",
        ),
    ],
)
def test_errors_name_options_as_they_are_typed(run, people, command, said):
    code, _, err = run(*command)
    assert code == 2
    assert said in err


def test_help_describes_options_as_the_command_uses_them(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert "<bool>" not in run("--help")[1]
    out = " ".join(run("check", "--help")[1].replace("│", " ").split())
    assert "attributes to mask" not in out
    assert "Other columns that single out records are a warning" in out
    out = " ".join(run("protect", "--help")[1].replace("│", " ").split())
    assert "number of attributes, not records, in each" in out


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
    assert "'masked-3.csv' and 5 more files already exist, so nothing was written" in err
    code, out, _ = run("sweep", people, "-k", "3-4", *SWEEP, "-o", "masked-{k}.csv", "--overwrite")
    assert code == 0
    assert "Publish one of these files, not several" in " ".join(out.split())
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
    assert err.splitlines() == ["Complete: masked-3.csv", "Error: The disk is full."]


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
    assert "Warning: All records are in one group, so each masked column holds one value. Use a larger -t" in out
    assert "one group" not in run("protect", people, "-k", 3, *ROLES, "-o", "other.csv")[1]


def test_a_secret_in_place_of_its_path_is_refused_and_makes_no_file(run, people, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_SECRET", "mysecretvalue123")
    hybrid = ["--method", "hybrid", "--quasi", "age", "--confidential", "score", "--identifiers", "weight,ill"]
    code, _, err = run("protect", people, "-k", 20, *hybrid, "-o", "masked.csv")
    assert code == 2
    assert "SHOAL_SECRET must be the path of a file, with its folder, for example ./secret." in err
    assert "mysecretvalue123" not in err
    assert not (tmp_path / "mysecretvalue123").exists()


def test_a_column_w_of_fractions_above_one_is_proposed_as_survey_weights(run, tmp_path):
    chance = np.random.default_rng(2)
    rows = [f"{chance.normal():.3f},{1 + 9 * chance.random():.3f}" for _ in range(200)]
    (tmp_path / "firms.csv").write_text("\n".join(["turnover,w", *rows]) + "\n")
    found = {row["column"]: row["role"] for row in json.loads(run("roles", "firms.csv", "--json")[1])["columns"]}
    assert found["w"] == "weights"


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--tour", "savings"), "--tour: does not apply to 'auto'. Add tour to --methods."),
        (
            ("--methods", "mdav,tour", "--budget", 5),
            "--budget: does not apply to 'mdav', 'tour'. Add best to --methods.",
        ),
        (("--methods", "hybrid"), "--methods: 'hybrid' does not apply to a sweep: it publishes new sensitive values"),
        (("--overwrite",), "--overwrite: does not apply without a file to write. Add -o or --report."),
    ],
)
def test_a_sweep_names_the_options_that_it_has(run, people, more, sentence):
    code, _, err = run("sweep", people, "-k", 3, *ROLES, *more)
    assert code == 2
    assert sentence in " ".join(err.split())


def test_help_does_not_take_a_word_to_choose_for_an_option(run):
    out = " ".join(run("protect", "--help")[1].replace("│", " ").split())
    assert "With method tour: the tour of the savings" in out
    assert "the others in blocks of three (edits)" in out


def test_blocks_of_few_attributes_are_assessed_without_saying_how_many_are_known(run, people):
    run("protect", people, "-k", 3, *ROLES, "-o", "masked.csv")
    code, out, _ = run("assess", people, "masked.csv", *ROLES, "--block", "age", "--block", "score", "--json")
    assert code == 0
    assert [*json.loads(out)["risk"]["scenarios"]] == ["2G"]

"""What the command line says: true, and in words that tell what to type."""

import json

import numpy as np
import pytest


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

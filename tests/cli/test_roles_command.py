"""shoal roles: a table to read, a plan to edit, and never a value."""

import json
import random
import re
import sys

import pytest
from tests.expect import prints

from shoal import cli
from shoal.messages import Message

SECRETS = ("Quetzal", "Zanzibar", "example.org", "4711")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*arguments, columns=80):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "argv", ["shoal", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return call


@pytest.fixture
def people(tmp_path):
    chance = random.Random(0)
    rows = [
        f"{i + 1},p{i}@example.org,{chance.randrange(18, 80)},{chance.choice(['Quetzal', 'Zanzibar'])},"
        f"{chance.choice(['1', '2', '3', 'NA'])},{chance.choice([1, 2, 3, 4, 9])},{chance.choice([4711, 4712])}"
        for i in range(150)
    ]
    (tmp_path / "people.csv").write_text("\n".join([",mail,age,town,rooms,educ,diagnosis", *rows]) + "\n")
    return "people.csv"


def test_the_table_fits_in_80_columns_and_the_command_can_be_copied(run, people):
    code, out, _ = run("roles", people)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    command = out[out.index("shoal protect") :].replace("\\\n", " ").split()
    assert run(*command[1:])[0] == 0


def test_the_plan_has_the_reasons_and_works_in_another_folder(run, people, tmp_path):
    (tmp_path / "plans").mkdir()
    assert run("roles", people, "-o", "plans/plan.toml")[0] == 0
    text = (tmp_path / "plans" / "plan.toml").read_text()
    assert re.search(r"^# mail: identifier, nominal; .*e-mail", text, re.MULTILINE)
    assert "Missing-value codes: 9." in text
    assert 'missing = [\n    "NA",\n]' in text
    assert run("protect", "--plan", "plans/plan.toml", "-o", "masked.csv")[0] == 0
    assert (tmp_path / "masked.csv").read_text().splitlines()[0] == "age,town,rooms,educ,diagnosis"


def test_a_plan_is_not_overwritten_unless_asked(run, people, tmp_path):
    (tmp_path / "plan.toml").write_text("mine")
    code, _, err = run("roles", people, "-o", "plan.toml", columns=200)
    assert (code, err) == (2, f"Error: {Message('file-exists', path='plan.toml', beside=None)}\n")
    assert (tmp_path / "plan.toml").read_text() == "mine"
    assert run("roles", people, "-o", "plan.toml", "--overwrite")[0] == 0


def test_no_value_is_printed(run, people, tmp_path):
    shown = run("roles", people)[1] + run("roles", people, "--json")[1] + run("roles", people, "-o", "plan.toml")[1]
    shown += (tmp_path / "plan.toml").read_text()
    assert not [secret for secret in SECRETS if secret in shown]


def test_machines_get_every_column(run, people):
    found = json.loads(run("roles", people, "--json")[1])["columns"]
    assert [each["role"] for each in found] == ["identifier", "identifier", *["quasi"] * 4, "confidential"]
    assert [each["missing_codes"] for each in found[4:6]] == [["NA"], [9]]


def test_a_table_of_identifiers_says_that_nothing_is_left_to_mask(run, tmp_path):
    (tmp_path / "ids.csv").write_text("id,name\n" + "".join(f"{i},n{i}\n" for i in range(30)))
    code, out, _ = run("roles", "ids.csv")
    assert code == 0
    assert prints(out, "nothing-to-mask", numbers=None)
    code, _, err = run("roles", "ids.csv", "-o", "plan.toml")
    assert code == 2
    assert "--quasi" in err
    assert not (tmp_path / "plan.toml").exists()


def test_where_nothing_is_known_everything_is_masked(run, tmp_path):
    chance = random.Random(1)
    rows = "".join(f"{chance.random()},{chance.choice('xy')},{chance.randrange(4)}\n" for _ in range(60))
    (tmp_path / "odd.csv").write_text("qwx,zzv,bbk\n" + rows)
    found = json.loads(run("roles", "odd.csv", "--json")[1])["columns"]
    assert {each["role"] for each in found} == {"quasi"}
    assert all("unknown meaning" in each["reason"] for each in found)

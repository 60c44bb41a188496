"""What a newcomer reads: misspelled words, households, names as quasi-identifiers, warnings in Python."""

import json
import random
import re

import pyarrow as pa
import pyarrow.csv
import pytest
from tests.expect import pattern, prints, refused, reports

import shoal
from shoal.messages import Message
from shoal.plan.fields import FILES
from shoal.tables.files import KINDS

DRAW = random.Random(3)
HOMES = [home for home in range(40) for _ in range(DRAW.randint(1, 4))]


def homes(**more):
    """People in households, of which all members have one income and live in one town."""
    income = [DRAW.randint(20, 80) * 1000 for _ in range(40)]
    town = [DRAW.choice(["Bath", "York", "Leeds"]) for _ in range(40)]
    return pa.table(
        {
            "household": HOMES,
            "age": [DRAW.randint(1, 90) for _ in HOMES],
            "income": [income[home] for home in HOMES],
            "town": [town[home] for home in HOMES],
            "illness": [DRAW.choice(["none", "none", "flu"]) for _ in HOMES],
            **more,
        }
    )


@pytest.fixture
def people(tmp_path):
    pyarrow.csv.write_csv(homes(), tmp_path / "homes.csv")
    return "homes.csv"


def test_a_release_with_households_says_of_what_k_holds_and_warns_of_unique_records_first(run, people):
    roles = ["--quasi", "age,income,town", "--confidential", "illness", "--household", "household"]
    code, out, err = run("protect", people, "-k", 3, *roles, "-o", "m.csv")
    assert code == 0, err
    text = " ".join(out.split())
    where = Message("columns-masked", columns=["age", "income", "town"])
    assert re.search(rf"each by itself\. Warning: {pattern('singled-out', where=where)}", text)
    assert "groups of 1 to" not in text
    assert "-l 2 or more" not in text
    assert prints(text, "no-l-diversity", other="--household")


def test_roles_and_a_refusal_propose_the_same_for_household_numbers(run, people):
    _, out, _ = run("roles", people)
    _, _, err = run("protect", people, "-k", 3, "--quasi", "age", "-o", "m.csv")
    assert "--household household" in out
    assert "--household household" in err


def test_python_shows_the_warning_that_the_command_line_shows_first():
    release = shoal.protect(homes(), k=3, quasi=["age", "income", "town"], household="household", publish=["illness"])
    assert release.notes[0] == release.risk()["file"]["headline"]["text"]
    assert release.notes[0].severity == "warning"
    assert str(release.notes[0]) not in [note["text"] for note in release.summary()["notes"]]


def test_names_that_are_masked_are_warned_of():
    names = [f"{DRAW.choice('ABCDEF')}. Example {at // 2}" for at in range(len(HOMES))]
    release = shoal.protect(homes(name=names), k=3, quasi=["name", "age"], identifiers=["household"], publish="rest")
    assert reports(release.notes, "category-like-identifier", column="name")


def test_places_that_are_masked_are_not_taken_for_identifiers():
    release = shoal.protect(homes(), k=3, quasi=["town", "age"], identifiers=["household"], publish="rest")
    assert not reports(release.notes, "category-like-identifier")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-k", 3, "--method", "mdva"], "Error: --method: 'mdva' is not a choice. Did you mean 'mdav'?"),
        (["-k", 3, "--type", "age=ordnal"], "Error: --type: 'ordnal' is not a choice. Did you mean 'ordinal'?"),
        (["-k", 3, "--edits", "no.txt", "--quasi", "age"], "rules are given by --edit"),
        (
            ["-k", 3, "--quasi", "agee"],
            f"Error: --quasi: {Message('unknown-column', column='agee', table='the table', near='age')}",
        ),
    ],
)
def test_what_is_misspelled_in_a_plan_is_named_once_with_what_was_meant(run, people, words, said):
    code, _, err = run("protect", people, *words, "-o", "m.csv")
    assert code == 2
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_rule_that_is_misspelled_is_shown_from_its_mistake_on(run, people):
    code, _, err = run("protect", people, "-k", 3, "--edit", "age => 1", "--quasi", "age", "-o", "m.csv")
    assert code == 2
    assert prints(err, "other-spelling", number=1, position=6, excerpt="> 1", instead=">=", between=None)
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("words", [["--qasi", "age"], ["-k3", "-quasi", "age"]])
def test_an_option_that_is_misspelled_is_named_once_with_what_was_meant(run, people, words):
    code, out, err = run("protect", people, *words, "-o", "m.csv", "--json")
    [found] = json.loads(out)["errors"]
    assert (code, found["code"]) == (2, "no-such-command-option")
    wrong = next(word for word in words if "qasi" in word or "-quasi" in word)
    assert found["data"] == {"option": wrong, "near": "--quasi", "help": "shoal protect --help"}
    assert err == f"Error: {found['text']}\n"


def test_a_mistake_in_a_file_names_the_file(run, people, tmp_path):
    (tmp_path / "plan.toml").write_text("k = 3\nqasi = ['age']\n")
    (tmp_path / "office.toml").write_text("k = 3\nlinkge = 5\n")
    err = run("protect", people, "--plan", "plan.toml", "-o", "m.csv")[2]
    assert err == f"Error: {Message('unknown-field', field='qasi', source='plan.toml', near='quasi')}\n"
    err = run("protect", people, "-k", 3, "--quasi", "age", "--policy", "office.toml", "-o", "m.csv")[2]
    assert (
        err
        == f"Error: {Message('unknown-field', field='linkge', source='office.toml', near='linkage', limits=['k'])}\n"
    )


def test_a_plan_file_may_leave_to_the_command_line_what_it_lacks(run, people, tmp_path):
    (tmp_path / "plan.toml").write_text("quasi = ['age']\nidentifiers = ['household', 'income', 'town', 'illness']\n")
    code, out, err = run("protect", people, "--plan", "plan.toml", "-k", 4, "-o", "m.csv")
    assert code == 0, err
    assert "k = 4" in out


def test_missing_codes_are_proposed_as_options(run, tmp_path):
    income = [-99 if at < 12 else 20_000 + 100 * at for at in range(len(HOMES))]
    pyarrow.csv.write_csv(homes().set_column(2, "income", pa.array(income)), tmp_path / "coded.csv")
    err = run("protect", "coded.csv", "-k", 3, "--quasi", "age", "-o", "m.csv")[2]
    assert "--missing-code income=-99" in err


def test_risk_takes_key_variables_by_either_name(run, people):
    by_keys = run("risk", people, "--keys", "age,town", "--json")
    assert by_keys[0] == 0
    assert run("risk", people, "--quasi", "age,town", "--json")[1] == by_keys[1]


def test_the_help_lists_every_extension():
    assert FILES.split(", ") == list(KINDS)


def test_large_counts_have_separators():
    table = pa.table({"x": list(range(2_000))})
    with refused(shoal.CheckFailed, "group-below-k", below=2000, combinations=2000) as caught:
        shoal.check(table, k=2, quasi=["x"])
    assert "2,000 of the 2,000" in str(caught.value)

"""Every column has a treatment, or nothing is released: what is refused, what is proposed, and what that leads to."""

import json
import os
import shlex
import sys

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests import expect
from tests.household_survey import survey

import shoal
from shoal import cli
from shoal.messages import Message
from shoal.pipeline.notes import on_repair

RECORDS = 40
PEOPLE = pa.table(
    {
        "name": [f"Ann Baker {i}" for i in range(RECORDS)],
        "age": [20 + i % 30 for i in range(RECORDS)],
        "income": [1000 + 37 * i * i for i in range(RECORDS)],
        "town": ["Ayr", "Rye"] * (RECORDS // 2),
    }
)


def refused(table=PEOPLE, **options):
    with pytest.raises(shoal.UntreatedColumns) as caught:
        shoal.protect(table, **{"k": 3, **options})
    return caught.value


def treatments(error):
    return {row["column"]: row["treatment"] for row in error.columns}


def test_a_column_without_a_treatment_stops_the_run_with_a_proposal_and_its_reason():
    error = refused(quasi=["age", "income"])
    assert treatments(error) == {"name": "identifier", "town": "quasi"}
    assert all(row["reason"] for row in error.columns)
    assert (error.what.code, error.what.data) == ("untreated-columns", {"untreated": 2, "columns": 4, "default": 0})
    assert error.options == {"identifiers": ["name"], "quasi": ["age", "income", "town"]}
    assert "    quasi=['age', 'income', 'town']," in str(error)


def test_what_is_proposed_can_be_run_as_it_is():
    release = shoal.protect(PEOPLE, k=3, **refused().options)
    assert "name" not in release.table.column_names
    assert release.risk()["after"]["smallest"] >= 3


@pytest.mark.parametrize("engine", ["memory", "file"])
def test_every_engine_refuses_and_nothing_is_written(engine, tmp_path):
    pq.write_table(PEOPLE, tmp_path / "in.parquet")
    error = refused(tmp_path / "in.parquet", engine=engine, quasi=["age"], output=tmp_path / "out.parquet")
    assert treatments(error) == {"name": "identifier", "income": "quasi", "town": "quasi"}
    assert os.listdir(tmp_path) == ["in.parquet"]


@pytest.mark.parametrize(
    "options",
    [
        {"quasi": ["age", "income"], "identifiers": ["name"], "publish": ["town"]},
        {"quasi": ["age", "income"], "identifiers": ["name"], "confidential": ["town"]},
        {"quasi": ["age", "income"], "identifiers": ["name"], "strata": ["town"]},
        {"quasi": ["age", "town"], "identifiers": ["name"], "weights": "income", "method": "mdav"},
        {"quasi": ["age"], "publish": "rest"},
        {"publish": ["name", "town"]},
        {"method": "hybrid", "k": 12, "quasi": ["age"], "confidential": ["income"], "publish": ["name", "town"]},
        {"method": "mic1d", "k": 20, "quasi": ["age", "income"], "publish": ["name", "town"]},
    ],
)
def test_every_role_is_a_treatment(options):
    assert shoal.protect(PEOPLE, **{"k": 3, **options}).records == RECORDS


def test_sweeps_make_releases_and_follow_the_same_rule():
    with pytest.raises(shoal.UntreatedColumns):
        shoal.sweep(PEOPLE, k=[3], quasi=["age", "income"])
    assert len(shoal.sweep(PEOPLE, k=[3], quasi=["age", "income"], publish="rest")) == 1


def test_hybrid_data_do_not_excuse_other_columns():
    error = refused(method="hybrid", k=12, confidential=["income"])
    assert treatments(error) == {"name": "identifier", "age": "quasi", "town": "quasi"}


def test_the_rest_is_resolved_to_names_and_may_be_empty():
    assert shoal.protect(PEOPLE, k=3, quasi=["age", "income"], publish="rest").plan.publish == ["name", "town"]
    assert shoal.protect(PEOPLE.select(["age"]), k=3, publish="rest").plan.publish == []


def test_what_is_published_by_name_is_a_warning_even_if_it_is_unique():
    release = shoal.protect(PEOPLE, k=3, quasi=["age", "income"], publish=["name", "town"])
    assert release.table["name"].equals(PEOPLE["name"])
    assert [str(note) for note in release.notes if "name" in note and note.severity == "warning"]


def test_a_published_column_that_the_table_lacks_is_named():
    with expect.refused(shoal.PlanError, "unknown-column", "publish", column="twn", near="town") as caught:
        shoal.protect(PEOPLE, k=3, quasi=["age"], publish=["twn"])
    assert len(caught.value.messages) == 1  # a misspelled name is no table of other columns


def test_a_plan_for_another_table_lists_what_is_missing_and_what_is_new():
    with expect.refused(shoal.PlanError, "unknown-column", "quasi", column="profit", near=None) as caught:
        shoal.protect(PEOPLE, k=3, quasi=["profit"], identifiers=["name"])
    new = ["age", "income", "town"]
    assert expect.reports(caught.value.messages[1:], "columns-without-role", "quasi", columns=new, others=0)


def test_a_table_of_identifiers_has_nothing_to_publish():
    with expect.refused(shoal.DataError, "all-identifiers"):
        shoal.protect(PEOPLE, k=3, identifiers=PEOPLE.column_names)


def test_numbers_that_look_like_something_else_are_masked_with_a_warning():
    numbers = [7_000_000 + 13 * i for i in range(200)]
    table = pa.table({"person_id": numbers, "sex": [1, 2] * 100, "x": [0.5 + i * i % 89 for i in range(200)]})
    notes = shoal.protect(table, k=3, method="mdav").notes
    doubts = [(note.data["role"], note.data["column"]) for note in notes if note.code == "number-like-other-role"]
    assert doubts == [("an identifier", "person_id"), ("a code", "sex")]
    named = shoal.protect(table, k=3, method="mdav", quasi=["person_id", "sex", "x"]).notes
    assert not any("default" in note.data for note in named)


def test_numbers_as_large_as_floats_hold_are_looked_at_without_a_warning(recwarn):
    table = pa.table({"x": [1e300, -1e308, 1.7e308, 0.0] * 5, "y": ["a", "b"] * 10})
    assert treatments(refused(table)) == {"x": "quasi", "y": "quasi"}
    assert not recwarn.list


def test_gaps_of_what_is_proposed_to_be_masked_are_part_of_the_proposal():
    ages = [None if i == 3 else age for i, age in enumerate(PEOPLE["age"].to_pylist())]
    table = PEOPLE.set_column(1, "age", pa.array(ages))
    options = refused(table).options
    assert options["missing"] == "group"
    shoal.protect(table, k=3, **options)


def test_objects_that_cannot_be_masked_are_proposed_to_be_dropped():
    frame = pd.DataFrame({"age": range(20), "thing": [object() for _ in range(20)]})
    assert treatments(refused(frame, quasi=["age"])) == {"thing": "identifier"}


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in an empty folder, on a screen of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["shoal", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return ended.value.code or 0, captured.out, captured.err

    return call


def command_in(text):
    """The words after `shoal` of the command that a text ends with."""
    return shlex.split(text[text.index("\nshoal ") :].replace("\\\n", " "))[1:]


def test_the_survey_is_refused_and_the_command_that_is_proposed_works_as_printed(run, tmp_path):
    pyarrow.csv.write_csv(survey(), "survey.csv")
    code, out, err = run("protect", "survey.csv", "-k", 5, "-o", "x.csv")
    assert (code, out) == (2, "")
    assert os.listdir(tmp_path) == ["survey.csv"]
    assert max(map(len, err.splitlines())) <= 80
    for words in (
        "looks like e-mail",
        "dates of birth",
        "values in 5,000 records",
        "7 of 17 columns have no role",
    ):
        assert words in " ".join(err.split())
    code, out, err = run(*command_in(err))
    assert code == 0, err
    published = pyarrow.csv.read_csv("x.csv").column_names
    assert not {"person_no", "name", "email", "phone", "household_no"} & {*published}
    assert shoal.check("x.csv", manifest="x.csv.manifest.json")["records"] == 5_000


def test_machines_get_the_proposals_as_json(run):
    pyarrow.csv.write_csv(PEOPLE, "people.csv")
    code, out, _ = run("protect", "people.csv", "-k", 3, "--quasi=age", "-o", "x.csv", "--json")
    found = json.loads(out)
    assert code == 2
    assert {row["column"]: row["treatment"] for row in found["columns"]}["name"] == "identifier"
    assert found["plan"]["identifiers"] == ["name"]
    assert run(*command_in("\n" + found["command"]))[0] == 0


def test_what_a_command_cannot_express_is_proposed_for_a_plan_file(run):
    pyarrow.csv.write_csv(PEOPLE.rename_columns(["name", "age", "income", "town, or village"]), "people.csv")
    code, _, err = run("protect", "people.csv", "-k", 3, "-o", "x.csv")
    assert code == 2
    assert '"town, or village",' in err
    assert "--plan" in err


def test_categories_with_names_of_people_are_masked_with_a_warning():
    table = pa.table({"surname": ["Lee", "Kim", "Ito"] * 4, "age": [*range(12)]})
    notes = shoal.protect(table, k=3, quasi=["surname", "age"]).notes
    assert expect.reports(
        notes, "category-like-identifier", column="surname", reason=Message("name-contains", word="surname")
    )


def test_groups_in_which_rules_took_more_than_an_adjustment_are_counted():
    assert expect.codes(on_repair(1, 2)) == ["groups-as-own-records", "equality-not-in-digits"]

"""What columns probably are: proposals on the safe side, with reasons in words."""

import datetime
import random

import pyarrow as pa
import pytest

from shoal.backends.memory import MemoryRecords
from shoal.pipeline.roles import profiles_of, propose_for, proposed_plan
from shoal.tables import open_table

RECORDS = 200


def proposals(**columns):
    records = MemoryRecords(open_table(pa.table(columns)))
    found = propose_for(records, profiles_of(records))
    return {each.column: each for each in found}


def role_of(name, values):
    [found] = proposals(**{name: values}).values()
    return found.role


def cycle(*values):
    return [values[i % len(values)] for i in range(RECORDS)]


def some(function, seed=0):
    chance = random.Random(seed)
    return [function(chance) for _ in range(RECORDS)]


IDENTIFIERS = {
    "contact": [f"p{i}@example.org" for i in range(RECORDS)],
    "c1": [f"p{i}@example.org" for i in range(RECORDS)],
    "c2": [f"+49 30 {1000000 + i}" for i in range(RECORDS)],
    "c3": [f"DE{i % 90 + 10} 3704 0044 0532 0130 {i % 100:02}" for i in range(RECORDS)],
    "c4": [f"{100 + i}-45-{6000 + i}" for i in range(RECORDS)],
    "c5": [f"{i} Main Street" for i in range(RECORDS)],
    "c6": [f"Hauptstraße {i}" for i in range(RECORDS)],
    "c7": [f"https://example.org/{i}" for i in range(RECORDS)],
    "Nachname": cycle("Meier", "Schmidt", "Kunz"),
    "prénom": cycle("Anne", "Jean"),
    "apellidos": cycle("Puig", "Roca"),
    "cognome": cycle("Rossi", "Bianchi"),
    "cognoms": cycle("Soler", "Serra"),
    "hhid": cycle(*range(60)),
    "Haushaltsnummer": cycle(*range(60)),
    "v1": list(range(1000, 1000 + RECORDS)),
    "v2": random.Random(1).sample(range(100_000_000, 999_999_999), RECORDS),
    "comment": [f"they said that nothing was wrong in case {i}" for i in range(RECORDS)],
    "unknown": [f"x{i % 150}" for i in range(RECORDS)],
    "children": [[1], [2]] * (RECORDS // 2),
    "picture": [b"\xff", b"\xfe"] * (RECORDS // 2),
    "empty": [None] * RECORDS,
}


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_what_identifies_is_dropped(name):
    assert role_of(name, IDENTIFIERS[name]) == "identifier"


def test_a_number_of_patients_that_repeats_is_the_unit():
    assert role_of("patient_id", cycle(*range(40))) == "unit"
    assert role_of("patient_id", [None, *cycle(*range(40))[1:]]) == "identifier"
    assert role_of("patient_id", list(range(RECORDS))) == "identifier"


QUASI = {
    "age": some(lambda c: c.randrange(18, 90)),
    "Geschlecht": cycle(1, 2),
    "fecha_nacimiento": some(lambda c: datetime.date(1940, 1, 1) + datetime.timedelta(c.randrange(25_000))),
    "visited": some(lambda c: datetime.date(2020, 1, 1) + datetime.timedelta(c.randrange(500))),
    "etat_civil": cycle("a", "b", "c"),
    "municipi": [f"m{i % 50}" for i in range(RECORDS)],
    "region_id": cycle(1, 2, 3),
    "country name": cycle("a", "b", "c"),
    "household_size": cycle(1, 2, 3, 4),
    "income": some(lambda c: c.lognormvariate(10, 1)),
    "has_email": cycle(0, 1),
    "q17": cycle(1, 2, 3),
    "thing": cycle("a", "b", "c"),
    "bmi": some(lambda c: c.gauss(25, 4)),
    "weight_kg": some(lambda c: c.gauss(70, 10)),
}


@pytest.mark.parametrize("name", QUASI)
def test_what_strangers_may_know_is_masked(name):
    assert role_of(name, QUASI[name]) == "quasi"


@pytest.mark.parametrize("name", ["diagnosis", "religion", "Zufriedenheit", "maladie", "income_class", "voto_partido"])
def test_sensitive_categories_are_confidential(name):
    assert role_of(name, cycle(1, 2, 3, 4)) == "confidential"


def test_only_what_is_harmless_is_proposed_for_publication():
    assert role_of("country", ["x"] * RECORDS) == "quasi"
    assert role_of("version", ["x"] * RECORDS) == "publish"
    assert role_of("wave", cycle(1, 2, 3)) == "publish"
    assert role_of("wave", [*cycle(1, 2)[1:], 3]) == "quasi"  # of which there is one record


def test_survey_weights_are_found_and_only_one_is_used():
    found = proposals(
        age=QUASI["age"],
        wave=cycle(1, 2, 3),
        weight=some(lambda c: c.lognormvariate(4, 0.6)),
        repwt1=some(lambda c: c.lognormvariate(4, 0.6), 1),
    )
    assert found["weight"].role == "weights"
    assert found["weight"].reason == 'name contains "weight" and values are positive with a mean above 1'
    assert "singles records out" in found["weight"].warning
    assert found["repwt1"].role == "identifier"


def test_the_weight_of_a_body_is_no_survey_weight():
    found = proposals(age=QUASI["age"], height=some(lambda c: c.gauss(170, 9)), weight=some(lambda c: c.gauss(70, 30)))
    assert found["weight"].role == "quasi"


@pytest.mark.parametrize("name", ["repwt", "Hwt", "wgt", "wt", "weight", "poids", "body_weight", "Bwt"])
@pytest.mark.parametrize("spread", [12, 30])
def test_without_a_word_of_surveys_nearby_a_weight_is_that_of_a_body(name, spread):
    found = proposals(age=QUASI["age"], sex=cycle("m", "f"), **{name: some(lambda c: abs(c.gauss(75, spread)) + 1)})
    assert found[name].role == "quasi"


@pytest.mark.parametrize(
    "name", ["group", "treat", "arm", "source", "mode", "variety", "batch", "control", "sample", "species", "dataset"]
)
def test_a_name_is_no_evidence_that_a_column_is_harmless(name):
    assert role_of(name, cycle("a", "b", "c")) in ("quasi", "confidential")


def test_a_household_number_without_a_name_is_found_by_what_is_constant_within():
    homes = [i // 3 for i in random.Random(3).sample(range(RECORDS), RECORDS)]
    found = proposals(
        v7=[7919 * home % 10_007 for home in homes],
        v8=[home % 5 for home in homes],
        v9=[home % 7 for home in homes],
        v10=some(lambda c: c.randrange(50)),
    )
    assert found["v7"].role == "identifier"
    assert found["v7"].reason.endswith("2 other columns are constant within")
    assert found["v10"].role == "quasi"


def test_reasons_say_how_many_values_are_different():
    found = proposals(code=[f"k{i}" for i in range(RECORDS)])
    assert found["code"].reason == 'name contains "code", 200 different values in 200 records'


def test_persons_of_a_panel_are_units_and_their_households_are_dropped():
    homes = [i // 6 for i in range(RECORDS)]
    persons = [i // 2 for i in range(RECORDS)]
    found = proposals(
        household_id=[f"h{home}" for home in homes],
        person_id=[f"p{person}" for person in persons],
        rent=[300 + 37 * home % 900 for home in homes],
        age=[20 + 7 * person % 60 for person in persons],
        income=some(lambda c: c.randrange(5000)),
    )
    assert (found["person_id"].role, found["household_id"].role) == ("unit", "identifier")
    assert proposed_plan(list(found.values())).unit == "person_id"

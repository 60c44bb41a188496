"""k counts records: how many different patients, firms or households the groups have is counted and told."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import prints

import shoal
from naive import groups_below_k_units

PLAN = {"k": 5, "quasi": ["age", "postcode"], "confidential": ["icd"], "method": "mdav"}


def dialysis(patients: int = 60, stays: int = 5, identifier: str = "patient_no") -> pa.Table:
    """Patients with several stays each, in which nothing but the stay is different."""
    rng = np.random.default_rng(3)
    who = np.repeat(np.arange(patients), stays)
    columns = {
        identifier: rng.permutation(1_000_000)[:patients][who],
        "age": rng.integers(20, 90, patients)[who],
        "postcode": np.array([f"{code:05}" for code in rng.integers(1000, 1300, patients)])[who],
        "icd": rng.choice(["N18", "F20", "I10"], patients * stays),
    }
    return pa.table(columns).take(rng.permutation(patients * stays))


def units_of(table: pa.Table, **options) -> list[dict]:
    return shoal.protect(table, **{**PLAN, **options}).risk()["file"]["units"]


def test_a_file_in_which_every_group_is_one_patient_is_not_safe(tmp_path, run):
    pa.csv.write_csv(dialysis(), tmp_path / "stays.csv")
    command = ["protect", "stays.csv", "-k", "5", "--quasi", "age,postcode", "--confidential", "icd"]
    command += ["--identifiers", "patient_no", "-o", "masked.csv", "--report", "report.html"]
    out = run(*command)[1]
    found = {"below": 60, "groups": 60, "k": 5, "column": "patient_no"}
    assert "Warning: 60 of 60" in " ".join(out.split())
    assert prints(out, "few-units-in-groups", **found)
    assert not prints(out, "no-unique-record")
    assert prints((tmp_path / "report.html").read_text().replace("&#39;", "'"), "few-units-in-groups", **found)
    assert "units" not in json.loads((tmp_path / "masked.csv.manifest.json").read_text())["verified"]
    code, _, err = run("check", "masked.csv", "--manifest", "masked.csv.manifest.json")
    assert code == 0
    assert prints(err, "again-dropped", columns=["patient_no"], number=1)


def test_no_identifier_is_named_by_a_value():
    table = dialysis()
    text = json.dumps(shoal.protect(table, **PLAN, identifiers=["patient_no"]).risk())
    assert not any(str(value) in text for value in table.column("patient_no").to_pylist())


@settings(deadline=None, max_examples=20)
@given(st.integers(7, 40), st.integers(2, 6), st.integers(2, 5), st.floats(0, 0.5), st.integers(0, 1000))
def test_groups_are_counted_as_sets_of_units_are(patients, stays, k, gaps, seed):
    rng = np.random.default_rng(seed)
    n = patients * stays
    who = pa.array(np.repeat(np.arange(patients), stays), mask=rng.random(n) < gaps)
    table = pa.table({"patient": who, "x": rng.normal(size=n)})
    release = shoal.protect(table, k=k, quasi=["x"], identifiers=["patient"], method="mdav")
    naive = groups_below_k_units(release.table["x"].to_pylist(), who.to_pylist(), k)
    known = [each for each in who.to_pylist() if each is not None]
    found = release.risk()["file"]["units"]
    assert bool(found) == (5 < len({*known}) < len(known))
    if found:
        assert (found[0]["groups"], found[0]["below_k"], found[0]["records"]) == naive


def test_identifiers_of_one_record_each_are_not_counted():
    assert units_of(dialysis(300, 1), identifiers=["patient_no"]) == []


def test_a_column_without_a_telling_name_counts_if_others_are_constant_within_its_values():
    [found] = units_of(dialysis(identifier="v1"), identifiers=["v1"])
    assert found["below_k"] == found["groups"]
    rng = np.random.default_rng(1)
    apart = dialysis().drop_columns("patient_no").append_column("v1", pa.array(rng.integers(0, 60, 300)))
    assert units_of(apart, identifiers=["v1"]) == []


@pytest.mark.parametrize("name", ["region", "nace", "birth_year", "postcode_area"])
def test_dropped_categories_are_no_units(name):
    rng = np.random.default_rng(1)
    table = dialysis().drop_columns("patient_no").append_column(name, pa.array(rng.integers(0, 60, 300)))
    assert units_of(table, identifiers=[name]) == []


def test_each_attribute_block_is_counted_by_itself():
    found = units_of(dialysis(), quasi=None, blocks=[["age"], ["postcode"]], identifiers=["patient_no"])
    assert [each["attributes"] for each in found] == [["age"], ["postcode"]]


def test_with_epsilon_nothing_is_said_of_units():
    table = dialysis().select(["patient_no", "age"])
    found = shoal.protect(table, k=5, bounds={"age": (0, 100)}, epsilon=1.0, identifiers=["patient_no"]).risk()
    assert found["file"]["units"] == []

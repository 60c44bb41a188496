"""protect() from file to file, in every format: types, labels, order and k survive; what is written is what is read."""

import numpy as np
import pyarrow as pa
import pytest
from tests.expect import refused, reports

import shoal
from shoal.tables import Table, files, open_table, write_table
from shoal.tables.stat.labels import Labels, labels_of, with_labels
from shoal.tables.stat.reading import read_statistics
from shoal.tables.storage import stored, stored_type

KINDS = {"csv": "csv", "parquet": "parquet", "arrow": "arrow", "sav": "sav", "zsav": "zsav", "dta": "dta", "xpt": "xpt"}
KINDS |= {"xlsx": "excel", "xml": "xml"}
QUASI = ["AGE", "EDUC", "TOWN", "BORN"]
LABELS = {
    "AGE": Labels(label="age in years"),
    "EDUC": Labels(label="schooling", values={1.0: "none", 2.0: "some", 3.0: "much"}, measure="ordinal"),
    "ILL": Labels(label="illness", values={0.0: "no", 1.0: "yes"}),
}


@pytest.fixture(autouse=True)
def read_here(monkeypatch):
    """Read files of statistics packages in this process; another takes a second, and is a claim of other tests."""
    monkeypatch.setattr(files, "read_apart", read_statistics)


def people(seed: int, n: int = 40) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = [
        None if gap else float(value) for gap, value in zip(rng.random(n) < 0.1, rng.integers(18, 90, n), strict=True)
    ]
    town = [
        None if gap else value
        for gap, value in zip(rng.random(n) < 0.1, rng.choice(["Ayr", "Rye", "Wem"], n), strict=True)
    ]
    table = pa.table(
        {
            "AGE": pa.array(age),
            "EDUC": pa.array(rng.integers(1, 4, n)),
            "TOWN": pa.array(town),
            "BORN": pa.array(np.datetime64("1950-01-01") + rng.integers(0, 9000, n)),
            "ILL": pa.array(rng.integers(0, 2, n)),
            "NOTE": pa.array(rng.choice(["é ü", "plain", "a, b; c"], n)),
        }
    )
    fields = [with_labels(field, LABELS.get(field.name, Labels())) for field in table.schema]
    return pa.table(table.columns, schema=pa.schema(fields))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("ending", KINDS)
def test_a_release_survives_every_kind_of_file(tmp_path, ending, seed):
    folder = tmp_path
    table = people(seed)
    write_table(Table(table), folder / f"in.{ending}", KINDS[ending])
    types = {"EDUC": "ordinal"}
    release = shoal.protect(folder / f"in.{ending}", k=4, quasi=QUASI, types=types, missing="group", publish="rest")
    release.save(folder / f"out.{ending}")
    written = open_table(folder / f"out.{ending}")
    assert written.names == table.column_names
    shoal.check(folder / f"out.{ending}", k=4, quasi=QUASI)
    assert written.column("ILL").to_pylist() == table["ILL"].to_pylist()
    assert written.column("NOTE").to_pylist() == table["NOTE"].to_pylist()
    assert set(written.column("EDUC").to_pylist()) <= {1, 2, 3}
    assert set(written.column("TOWN").to_pylist()) <= {"Ayr", "Rye", "Wem", None}
    for name in ("EDUC", "TOWN", "BORN", "NOTE"):
        assert written.column(name).type == stored_type(KINDS[ending], table.schema.field(name).type)
    again = shoal.protect(plan=folder / f"out.{ending}.plan.toml", output=folder / f"again.{ending}", publish="rest")
    again.save(folder / f"again.{ending}")
    assert (folder / f"again.{ending}").read_bytes() == (folder / f"out.{ending}").read_bytes()


@pytest.fixture(scope="module")
def from_sav(tmp_path_factory):
    """The release of a file of SPSS, which is read in a process of its own."""
    path = tmp_path_factory.mktemp("labelled") / "in.sav"
    write_table(Table(people(1)), path, "sav")
    return shoal.protect(path, k=4, quasi=QUASI, missing="group", publish=["ILL", "NOTE"])


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "parquet", "arrow"])
def test_labels_are_kept_on_the_way_out(from_sav, tmp_path, ending):
    release = from_sav
    assert release.plan.types["EDUC"] == "ordinal"
    release.save(tmp_path / f"out.{ending}")
    written = open_table(tmp_path / f"out.{ending}").native
    for name, labels in LABELS.items():
        found = labels_of(written.schema.field(name))
        assert found.label == labels.label
        assert found.values == labels.values


def test_what_a_kind_of_file_cannot_keep_is_said(from_sav, tmp_path):
    from_sav.save(tmp_path / "out.csv")
    assert reports(from_sav.notes, "labels-lost", format="CSV")


def test_codes_declared_missing_are_missing(tmp_path):
    table = pa.table({"AGE": [20.0, 30, 99, 40, 50, 60], "X": [1.0, 2, 3, 4, 5, 6]})
    fields = [with_labels(table.schema.field(0), Labels(missing=((99.0, 99.0),))), table.schema.field(1)]
    write_table(Table(pa.table(table.columns, schema=pa.schema(fields))), tmp_path / "in.sav", "sav")
    with refused(shoal.DataError, "missing-values", column="AGE", first=3):
        shoal.protect(tmp_path / "in.sav", k=3, quasi=["AGE", "X"])
    release = shoal.protect(tmp_path / "in.sav", k=3, quasi=["AGE", "X"], missing="impute")
    assert max(release.table["AGE"].to_pylist()) <= 60
    assert reports(release.notes, "missing-codes-read", columns=["AGE"])


def test_what_is_held_is_what_is_compared():
    table = people(2)
    for kind in KINDS.values():
        assert stored(table, kind).column_names == table.column_names

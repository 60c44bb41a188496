"""The proposals for a file that is read in pieces are those for a table in memory."""

import random

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.backends.choose import open_records
from shoal.parallel import quiet
from shoal.pipeline.roles import profiles_of, propose_for
from shoal.plan import Plan

CHANCE = random.Random(2)
HOMES = sorted(CHANCE.randrange(300) for _ in range(900))
PEOPLE = pa.table(
    {
        "v1": [7919 * home % 10_007 for home in HOMES],
        "region": [f"r{home % 7}" for home in HOMES],
        "kind": [home % 3 for home in HOMES],
        "mail": [f"p{i}@example.org" for i in range(900)],
        "age": [CHANCE.choice([*range(18, 80), 99, 99]) for _ in range(900)],
        "plz": [f"0{CHANCE.randrange(1000, 1200)}" for _ in range(900)],
        "income": [None if CHANCE.random() < 0.1 else CHANCE.lognormvariate(10, 1) for _ in range(900)],
        "survey_weight": [CHANCE.lognormvariate(4, 1) for _ in range(900)],
    }
)


def proposed(table, **options):
    with open_records(table, Plan(k=2, **options), quiet) as records:
        return propose_for(records, profiles_of(records))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_in_pieces_gives_the_same_proposals(tmp_path, monkeypatch, kind):
    path = tmp_path / f"people.{kind}"
    (pyarrow.csv.write_csv if kind == "csv" else pq.write_table)(PEOPLE, path)
    monkeypatch.setattr("shoal.backends.file.run._piece", lambda *_: 100)
    found = proposed(None, engine="file", input=str(path), output=str(tmp_path / "unused.parquet"))
    assert found == list(shoal.roles(path))
    assert [each.role for each in found] == ["identifier", "quasi", "quasi", "identifier", *["quasi"] * 3, "weights"]


def test_a_file_larger_than_memory_is_read_in_pieces(tmp_path, monkeypatch):
    pyarrow.csv.write_csv(PEOPLE, tmp_path / "people.csv")
    whole = list(shoal.roles(tmp_path / "people.csv"))
    monkeypatch.setattr("shoal.backends.choose.free_memory", lambda: 1000)
    assert list(shoal.roles(tmp_path / "people.csv")) == whole
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]

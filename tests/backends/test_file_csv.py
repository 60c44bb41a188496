"""CSV files in pieces: what is not masked keeps its spelling, and types follow from all cells."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.expect import refused

import shoal
from shoal import protect_file
from shoal.errors import CheckFailed, DataError
from shoal.plan import Plan
from shoal.tables.csv import pieces as csv_source
from shoal.tables.csv.writing import csv_lines

HEADER = "id;age;pay;town;day;note"


def lines(n: int = 400) -> list[str]:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n):
        pay = f"{rng.normal(2000, 300):.2f}".replace(".", ",")
        town = rng.choice(["Ulm", '"Bad; Ems"'])
        rows.append(
            f'"n {i}";{rng.integers(18, 80)};{pay};{town};2015-0{i % 9 + 1}-11;{["007", "+5", "", "1,50"][i % 4]}'
        )
    return rows


def protect(tmp_path, rows, output="out.csv", newline="\r\n", **options):
    text = newline.join([options.pop("header", HEADER), *rows]) + newline
    (tmp_path / "in.csv").write_bytes(text.encode(options.pop("encoding", "utf-8")))
    plan = Plan(
        **{"k": 3, "quasi": ["age", "pay", "town", "day"], "publish": "rest", "scale": {"block_size": 100}, **options},
        input=str(tmp_path / "in.csv"),
        output=str(tmp_path / output),
    )
    return protect_file(plan)


@pytest.fixture(params=[1 << 24, 1 << 12], ids=["one piece", "many pieces"])
def _pieces(request, monkeypatch):
    monkeypatch.setattr(csv_source, "_PIECE", request.param)
    monkeypatch.setattr(csv_source, "_HEAD", min(request.param, 1 << 22))


@pytest.mark.usefixtures("_pieces")
def test_spelling_and_line_ends_are_kept(tmp_path):
    rows = lines()
    protect(tmp_path, rows)
    written = (tmp_path / "out.csv").read_bytes().decode().split("\r\n")
    assert written[0] == HEADER
    assert written[-1] == ""
    assert [row.split(";")[0] for row in written[1:-1]] == [row.split(";")[0].strip('"') for row in rows]
    assert [row.rsplit(";", 1)[1] for row in written[1:-1]] == [row.rsplit(";", 1)[1] for row in rows]
    assert '"Bad; Ems"' in written[2] + written[3] + written[4] + written[5] + written[6]


@pytest.mark.usefixtures("_pieces")
def test_values_are_those_of_protect(tmp_path):
    release = protect(tmp_path, lines(), scale={"block_size": 400})  # for which auto takes mdav
    quasi = ["age", "pay", "town", "day"]
    whole = shoal.protect(tmp_path / "in.csv", k=3, quasi=quasi, publish="rest", method="mdav")
    written = shoal.tables.open_table(tmp_path / "out.csv")
    assert release.plan.types == whole.plan.types
    for name in ("age", "pay"):
        np.testing.assert_allclose(written.column(name), whole.table.column(name), rtol=1e-12)
    for name in ("town", "day"):
        assert written.column(name).to_pylist() == whole.table.column(name).to_pylist()


def test_every_column_gets_its_type_in_parquet(tmp_path):
    protect(tmp_path, lines(), "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.schema.types == [pa.string(), pa.int64(), pa.float64(), pa.string(), pa.date32(), pa.string()]


def test_words_for_missing_values(tmp_path):
    rows = [row.replace(";Ulm;", ";?;") if i % 50 == 0 else row for i, row in enumerate(lines())]
    protect(tmp_path, rows, csv={"missing": ["?"]}, missing="impute")
    assert "?" not in (tmp_path / "out.csv").read_text()


def test_a_number_late_in_the_file_makes_floats(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_source, "_PIECE", 1 << 12)
    rows = [f"{i};{i}" for i in range(2000)]
    rows[1900] = "1900;3,5"
    release = protect(tmp_path, rows, header="a;b", quasi=["b"], csv={"decimal": ","}, scale={"block_size": 500})
    assert release.plan.types == {"b": "continuous"}
    assert release.loss()["attributes"]["b"]["mean_change"] == pytest.approx(0, abs=1e-9)


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize(
    ("at", "row", "csv", "code", "data"),
    [
        (300, "x;1;2;3", {}, "number-of-cells", {"record": 301, "cells": 4, "columns": 6}),
        (300, 'x;"1"2;3,0;Ulm;2015-01-01;', {}, "stray-quote", {"record": 301, "closes": True}),
        (399, 'x;1;3,0;"Ulm;2015-01-01;', {}, "stray-quote", {"record": 400, "closes": False}),
        (350, "x;3;3,0;Köln;2015-01-01;", {"encoding": "ascii"}, "wrong-encoding", {"encoding": "ascii"}),
        (350, "x;3;3,0;\0;2015-01-01;", {}, "not-text-file", {"nul": True}),
    ],
)
def test_bad_rows_are_named(tmp_path, at, row, csv, code, data):
    rows = lines()
    rows[at] = row
    with refused(DataError, code, path=str(tmp_path / "in.csv"), **data):
        protect(tmp_path, rows, csv=csv)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize(
    ("age", "options", "code", "data"),
    [
        ("old", {}, "word-among-numbers", {"record": 351}),
        ("old", {"quasi": None}, "word-among-numbers", {"record": 351}),
        ("", {}, "missing-values", {"records": 1, "first": 351}),
    ],
)
def test_bad_cells_are_named(tmp_path, age, options, code, data):
    rows = lines()
    rows[350] = f"x;{age};3,0;Ulm;2015-01-01;"
    with refused(DataError, code, column="age", **data):
        protect(tmp_path, rows, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize(
    ("encoding", "csv"),
    [
        ("latin-1", {}),
        ("utf-16", {}),
        ("utf-8-sig", {}),
        ("cp1252", {"encoding": "cp1252"}),
        ("utf-16-be", {"encoding": "utf-16-be"}),
    ],
)
def test_any_encoding_is_read_in_pieces(tmp_path, encoding, csv):
    rows = [row.replace(";Ulm;", ";Köln;") for row in lines()]
    protect(tmp_path, rows)
    found = (tmp_path / "out.csv").read_bytes()
    for path in tmp_path.glob("out*"):
        path.unlink()
    protect(tmp_path, rows, encoding=encoding, csv=csv)
    assert (tmp_path / "out.csv").read_bytes() == found


@pytest.mark.parametrize("engine", ["memory", "file"])
def test_a_stratum_that_is_spelled_in_two_ways_does_not_pass(engine, tmp_path):
    lines = [f"{x},{stratum}" for x, stratum in enumerate(["1", "1.0", "2", "2"] * 8)]
    (tmp_path / "in.csv").write_text("\n".join(["x,s", *lines]) + "\n")
    plan = {"input": str(tmp_path / "in.csv"), "output": str(tmp_path / "out.csv"), "engine": engine}
    with refused(CheckFailed, "group-below-k", columns=["x", "s"], k=3):
        shoal.protect(k=3, quasi=["x"], strata=["s"], **plan)


def test_original_records_are_counted_by_value_on_every_engine(tmp_path):
    lines = [f"{x}{'0' * (i % 2)},{i % 5}" for i, x in enumerate([1.5] * 10 + [2.5] * 10)]
    (tmp_path / "in.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    plan = {"input": str(tmp_path / "in.csv"), "output": str(tmp_path / "out.csv"), "k": 3, "quasi": ["x", "y"]}
    before = [shoal.protect(engine=engine, **plan).risk()["before"] for engine in ("memory", "file")]
    assert before[0] == before[1]
    assert before[0]["groups"] == 10


def test_one_number_in_two_spellings_does_not_pass(tmp_path, monkeypatch):
    def careless(columns, dialect):
        return bytes(csv_lines(columns, dialect)).replace(b".5;", b".50;", 1)

    monkeypatch.setattr("shoal.backends.file.output.csv_lines", careless)
    rows = [f"{0.25 + i % 2 / 2};x" for i in range(12)]
    with refused(CheckFailed, "number-written-otherwise", column="a"):
        protect(tmp_path, rows, header="a;b", quasi=["a"], k=12)
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("quasi", [["x"], ["x", "at"]], ids=["released unchanged", "masked"])
def test_nanoseconds_are_written_as_csv(quasi, tmp_path):
    at = pa.array([0, 3_600_000_000_000, 1, 7_200_000_000_001], pa.timestamp("ns"))
    pq.write_table(pa.table({"x": [1.0, 1.0, 2.0, 2.0], "at": at}), tmp_path / "in.parquet")
    release = shoal.protect(
        tmp_path / "in.parquet", k=2, quasi=quasi, publish="rest", engine="file", output=tmp_path / "out.csv"
    )
    release.save()
    found = [line.split(",")[1] for line in (tmp_path / "out.csv").read_text().split()[1::2]]
    assert found == ["1970-01-01"] * 4

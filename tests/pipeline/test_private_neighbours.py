"""With epsilon, two tables that differ in one record differ in the noisy values published, and in nothing else.

Most tests here publish the same means for every table, so that all files, screens and errors must be the same bytes.
"""

import datetime as dt
import decimal
import json
import math
from functools import partial

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expect import prints, refused

import shoal
from shoal.masking.insensitive import PrivateMeans, group_sizes, private_means
from shoal.pipeline import private
from shoal.plan import Plan
from shoal.tables.bounded import open_bounded

N = 45
BOUNDS = {"age": [0, 120], "income": [-1000.5, 200_000]}
ASKED = {"k": 20, "identifiers": ["name"], "epsilon": 1, "bounds": BOUNDS}
OPTIONS = ["-k20", "--identifiers=name", "--epsilon=1", "--bounds=age=0,120", "--bounds=income=-1000.5,200000"]
AGES = [18 + i for i in range(N)]
INCOMES = [1000 * i for i in range(N)]
CELLS = ["30.5", "-0.0", "-0", "", " 31 ", "x", "NA", "1e999", "-1e308", "121", "0030", '"1,5"', "1.5.5", "2000-01-01"]
CELLS += ["true", "inf", "nan", "9" * 30, "é", '"a ""b"""', '"two\nlines"', "+5", ".5", "-9"]


def means_of_no_record(X, bounds, k, epsilon):
    """Means that are the same for all tables of as many records."""
    low, high = np.asarray(bounds).T
    sizes = group_sizes(len(X), k)
    return PrivateMeans(
        low + np.random.default_rng(0).random((len(sizes), len(low))) * (high - low), sizes, np.arange(len(X))
    )


@pytest.fixture
def same_means(monkeypatch):
    monkeypatch.setattr(private, "private_means", means_of_no_record)


def csv_of(record, ages=AGES):
    """A CSV file with one record of another kind; a text is its whole line, a list its cells."""
    rows = [[f"person {i}", str(ages[i]), str(INCOMES[i])] for i in range(N)]
    rows[20] = record
    lines = [",".join(row) if isinstance(row, list) else row for row in (["name", "age", "income"], *rows)]
    return ("\n".join(lines) + "\n").encode()


def everything(run, tmp_path, name, *options):
    """The exit code, what is on the screen, and the bytes of all files that were written."""
    shown = run("protect", name, *OPTIONS, "-o", "out.csv", "--overwrite", *options)
    return shown, {path.name: path.read_bytes() for path in sorted(tmp_path.iterdir()) if path.name != name}


@pytest.mark.parametrize(("column", "more"), [(0, []), (1, []), (2, ["--round"]), (1, ["--report", "out.html"])])
def test_no_cell_of_a_record_changes_anything_but_the_noisy_values(run, tmp_path, same_means, column, more):
    def released(cell):
        record = ["person 20", "38", "20000"]
        record[column] = cell
        (tmp_path / "in.csv").write_bytes(csv_of(record))
        return everything(run, tmp_path, "in.csv", *more)

    usual = released("38")
    assert usual[0][0] == 0
    assert {"out.csv", "out.csv.manifest.json", "out.csv.plan.toml"} <= {*usual[1]}
    for cell in CELLS[::3] if "--report" in more else CELLS:
        assert released(cell) == usual, cell


def test_bytes_that_are_no_text_of_the_encoding_change_nothing(run, tmp_path, same_means):
    seen = []
    for name in (b"Bj\xf6rk", b"Bj\xc3\xb6rk", b"Bjork"):
        (tmp_path / "in.csv").write_bytes(csv_of(["person 20", "38", "20000"]).replace(b"person 20", name))
        seen.append(everything(run, tmp_path, "in.csv"))
    assert seen[0] == seen[1] == seen[2]


def test_a_file_that_cannot_be_cut_into_cells_is_refused_in_the_same_words_without_a_record(run, tmp_path):
    errors = set()
    for line in ("a,1,2,3", "a,1", '"a,1,2', '"a"b,1,2', "a,1,2\0"):
        (tmp_path / "in.csv").write_bytes(csv_of(line))
        (code, out, error), files = everything(run, tmp_path, "in.csv")
        assert (code, out, files) == (2, "", {})
        errors.add(" ".join(error.split()))
    [error] = errors
    assert prints(error, "unreadable-with-epsilon")


def test_how_a_csv_file_is_written_follows_from_its_header_and_the_options(tmp_path, same_means):
    path = tmp_path / "in.csv"
    path.write_bytes(csv_of(["person 20", "38", "20000"]).replace(b",", b";"))
    with refused(shoal.PlanError, "decimal-with-epsilon", "csv.decimal"):
        shoal.protect(path, **ASKED)
    commas = shoal.protect(path, **ASKED, csv={"decimal": ","})
    path.write_bytes(csv_of(["person 20", "38.5", "20000"]).replace(b",", b";"))
    for each in (commas, shoal.protect(path, **ASKED, csv={"decimal": ","})):
        each.save(tmp_path / "out.csv", overwrite=True)
        assert json.loads((tmp_path / "out.csv.manifest.json").read_text())["published"]["csv"]["decimal"] == ","
        assert (tmp_path / "out.csv").read_text().startswith("age;income\n")


RECORDS = {
    "whole": pa.array(AGES),
    "decimals": pa.array([*AGES[:20], 38.5, *AGES[21:]], pa.float64()),
    "missing": pa.array([*AGES[:20], None, *AGES[21:]]),
    "text": pa.array([*map(str, AGES[:20]), "x", *map(str, AGES[21:])]),
    "categories": pa.array([*map(str, AGES[:20]), "x", *map(str, AGES[21:])]).dictionary_encode(),
    "huge": pa.array([*AGES[:20], 2**63, *AGES[21:]], pa.uint64()),
    "infinite": pa.array([*AGES[:20], -math.inf, *AGES[21:]], pa.float64()),
    "exact": pa.array([*map(decimal.Decimal, AGES[:20]), decimal.Decimal("1e30"), *map(decimal.Decimal, AGES[21:])]),
    "small": pa.array(AGES, pa.int8()),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_the_type_of_a_column_changes_nothing(run, tmp_path, same_means, kind):
    seen = []
    for ages in (RECORDS["whole"], RECORDS[kind]):
        noted = pa.field("age", ages.type, metadata={"a": kind})
        columns = [pa.array(["a"] * N), ages, pa.array(INCOMES)]
        schema = pa.schema([("name", pa.string()), noted, ("income", pa.int64())], metadata={"note": kind})
        pq.write_table(pa.Table.from_arrays(columns, schema=schema), tmp_path / "in.parquet")
        seen.append(everything(run, tmp_path, "in.parquet"))
    assert seen[0] == seen[1]
    release = shoal.protect(tmp_path / "in.parquet", **ASKED)
    release.save(tmp_path / "out.parquet")
    assert pq.read_schema(tmp_path / "out.parquet").equals(
        pa.schema([("age", pa.float64()), ("income", pa.float64())]), check_metadata=True
    )


@pytest.mark.parametrize("value", [38.5, "x", None, dt.date(2000, 1, 1), True, 10**400, "38"])
def test_no_cell_of_a_workbook_changes_anything(run, tmp_path, same_means, value):
    seen = []
    for each in (38, value):
        book = openpyxl.Workbook()
        book.active.append(["name", "age", "income"])
        for i in range(N):
            book.active.append([f"person {i}", AGES[i] if i != 20 else each, INCOMES[i]])
        if value == 10**400:
            book.active.cell(22, 2).value = 1e300
        book.save(tmp_path / "in.xlsx")
        seen.append(everything(run, tmp_path, "in.xlsx"))
    assert seen[0] == seen[1]


def test_records_of_xml_name_their_columns_so_it_is_refused(tmp_path):
    (tmp_path / "in.xml").write_text("<Data><Record><age>3</age></Record></Data>")
    with refused(shoal.PlanError, "epsilon-with-xml", "epsilon"):
        shoal.protect(tmp_path / "in.xml", **ASKED)


OBJECTS = (
    st.none()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.booleans()
    | st.dates()
    | st.decimals(allow_nan=False)
    | st.complex_numbers()
    | st.binary(max_size=2)
    | st.sampled_from([np.float16(3), np.int8(3), pd.NA, pd.NaT, 10**400, -(10**400), "\ud800", [1], {}, math.nan])
)


@given(value=OBJECTS, at=st.integers(0, N - 1), whole=st.booleans())
def test_any_object_moves_no_other_value_and_no_type(value, at, whole):
    plan = Plan(**ASKED, round=whole)
    table = pd.DataFrame({"name": "a", "age": pd.Series(AGES, dtype=object), "income": INCOMES})
    usual = open_bounded(table, plan).native
    table.at[at, "age"] = value
    odd = open_bounded(table, plan).native
    assert (odd.dtypes == usual.dtypes).all()
    pd.testing.assert_frame_equal(odd.drop(index=at), usual.drop(index=at))
    assert 0 <= odd["age"][at] <= 120


@given(cell=st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.floats().map(str))
def test_a_cell_is_the_number_that_python_reads_or_the_middle_of_its_bounds(cell):
    found = (
        open_bounded(pa.table({"name": ["a"], "age": [cell], "income": [1.0]}), Plan(**ASKED)).native["age"][0].as_py()
    )
    plain = cell.strip()
    if plain and {*plain} <= {*"0123456789.eE+-"}:
        try:
            assert found == min(max(float(plain), 0), 120)
        except ValueError:
            assert found == 60
    else:
        assert found == 60


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("ages", [[*map(float, AGES[1:]), 38.5], [*AGES[:20], None, *AGES[21:]], [*map(str, AGES)]])
def test_dataframes_have_the_types_of_the_plan_and_summaries_are_the_same(kind, ages, monkeypatch):
    releases = []
    for each in (AGES, ages):
        seeded = partial(private_means, source=np.random.default_rng(7).bytes)
        monkeypatch.setattr(private, "private_means", seeded)
        releases.append(shoal.protect(kind({"name": ["a"] * N, "age": each, "income": INCOMES}), **ASKED))
    tables = [pa.table(release.table) for release in releases]
    assert tables[0].schema.equals(tables[1].schema)
    assert [type(release.table) for release in releases].count(type(releases[0].table)) == 2
    assert tables[0]["age"].null_count == tables[1]["age"].null_count == 0
    public = [{**release.summary(), "risk": sorted(release.summary()["risk"])} for release in releases]
    assert public[0] == public[1]
    assert "loss" not in public[0]
    assert public[0]["risk"] == ["after", "file"]
    assert releases[0].loss()["IL"] >= 0  # for the keeper, who asks for it


def test_nothing_of_the_original_is_on_the_screen_in_the_summary_or_in_the_report(run, tmp_path):
    (tmp_path / "in.csv").write_bytes(csv_of(["person 20", "38", "20000"]))
    (code, out, _), files = everything(run, tmp_path, "in.csv", "--report", "out.html")
    assert code == 0
    for text in (out, files["out.html"].decode()):
        assert "IL" not in text.replace("FILE", "")
        assert "before masking" not in text
        assert ">before<" not in text
    assert "before" not in out
    assert "loss is measured without noise" in " ".join(out.split())
    assert "standard deviation of the noise" in files["out.html"].decode()

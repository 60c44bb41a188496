"""Text that a spreadsheet may run as a formula: counted, quoted if asked for, and never changed otherwise."""

import csv

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expect import refused, reports
from typer.testing import CliRunner

import shoal
from shoal.cli import app
from shoal.plan.recoding import classes_of
from shoal.tables.arrow import pc
from shoal.tables.csv.formulas import is_formula, unquoted, with_apostrophes, without_apostrophes
from shoal.tables.table import Table

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "'=1", "''@x", "--"]
# Before the sign: no-break and wide blanks, marks of byte order, characters without width, controls, line ends.
FORMULAS += [f"{each}=1" for each in "\u00a0\u3000\ufeff\u200b\u2060\u00ad\u202e\u2028\u2029\x00\x07\v\f\x85"]
FORMULAS += [f"{each}SUM(1)" for each in "\uff1d\uff0b\uff0d\uff20"]
NO_FORMULAS = [
    "-5",
    "+3.2",
    "-1,5",
    "-1,234.5",
    "+1e5",
    " -5 ",
    "-",
    "+",
    "=",
    "a=b",
    "",
    "'-5",
    "'s-Gravenhage",
    "1-2",
    "\u00a0-5\u3000",
    "=\u00a0\u200b",
    "\ufeffa=b",
]
NOTE = "@SUM(1+1)*cmd|' /C calc'!A0"


@pytest.mark.parametrize("text", FORMULAS)
def test_what_begins_like_a_formula_is_one(text):
    assert is_formula(pa.array([text])).to_pylist() == [True]


@pytest.mark.parametrize("text", NO_FORMULAS)
def test_numbers_signs_and_words_are_none(text):
    assert is_formula(pa.array([text])).to_pylist() == [False]


@given(st.lists(st.none() | st.text("='+-@\t\r 15.,a\u00a0\u3000\ufeff\u200b\v\uff1d"), min_size=1))
def test_quoting_loses_nothing_and_leaves_no_formula_bare(cells):
    column = pa.array(cells, pa.string())
    quoted = with_apostrophes(column)
    assert without_apostrophes(quoted).to_pylist() == cells
    bare = pc.and_not(is_formula(quoted), pc.starts_with(quoted, "'"))
    assert not pc.any(bare).as_py()


def test_a_column_with_bare_formulas_was_not_quoted_so_that_counting_tells_its_cells_apart():
    table = Table(pa.table({"a": ["=1", "'=1"]}))
    assert unquoted(table).column("a").to_pylist() == ["=1", "'=1"]


def people(n=12):
    notes = [NOTE, "\u3000=1+1", "fine", "-5", "'=quoted", "b"] * (n // 6)
    towns = ["=A", "=A", "=A", "B", "B", "B"] * (n // 6)
    return pa.table({"age": list(range(n)), "town": towns, "note": notes})


PLAN = {"k": 3, "quasi": ["age", "town"], "publish": ["note"]}


def cells_of(path):
    files = sorted(path.glob("*.csv")) if path.is_dir() else [path]
    return [row for file in files for row in csv.DictReader(file.open(newline=""))]


def warnings_of(release):
    return [note for note in release.notes if note.severity == "warning" and note.code.startswith("formula-")]


@pytest.mark.parametrize(
    "engine", ["memory", "file", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])]
)
def test_formulas_are_counted_by_column_without_a_value(tmp_path, engine):
    source = tmp_path / "people.parquet"
    pq.write_table(people(), source)
    release = shoal.protect(source, engine=engine, output=tmp_path / "masked.csv", **PLAN)
    release.save()
    (said,) = warnings_of(release)
    assert (said.code, said.options) == ("formula-cells", [("--quote-formulas", None)])
    counts = {each.data["column"]: each.data["number"] for each in said.data["columns"]}
    assert counts in ({"town": 6, "note": 6}, {"town": 12, "note": 6})
    assert "cmd" not in said
    assert {row["note"] for row in cells_of(tmp_path / "masked.csv")} == {*people()["note"].to_pylist()}


@pytest.mark.parametrize(
    "engine", ["memory", "file", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])]
)
def test_quoted_formulas_are_verified_and_checked_like_others(tmp_path, engine):
    source, masked = tmp_path / "people.parquet", tmp_path / "masked.csv"
    pq.write_table(people(), source)
    release = shoal.protect(source, engine=engine, output=masked, quote_formulas=True, **PLAN)
    release.save()
    assert not warnings_of(release)
    assert reports(release.notes, "formulas-quoted")
    cells = cells_of(masked)
    assert {row["note"] for row in cells} == {f"'{NOTE}", "'\u3000=1+1", "fine", "-5", "''=quoted", "b"}
    assert {row["town"] for row in cells} <= {"'=A", "B"}
    assert shoal.check(masked, manifest=f"{masked}.manifest.json")["records"] == 12


def test_assess_compares_quoted_text_with_what_it_was(tmp_path):
    source = tmp_path / "people.csv"
    people().to_pandas().to_csv(source, index=False)
    found = []
    for name, quoted in (("plain.csv", False), ("quoted.csv", True)):
        shoal.protect(source, quote_formulas=quoted, **PLAN).save(tmp_path / name)
        assessed = shoal.assess(source, tmp_path / name, quasi=["age", "town"])
        found.append(assessed.to_dict() if hasattr(assessed, "to_dict") else assessed)
    assert found[0] == found[1]


def test_a_csv_file_keeps_its_words_for_missing_values_and_its_numbers(tmp_path):
    source = tmp_path / "people.csv"
    source.write_text("age,note\n" + "".join(f"{n},{note}\n" for n, note in enumerate(["--", "=1", "-5", "x"] * 3)))
    plan = {"k": 3, "quasi": ["age"], "publish": ["note"], "csv": {"missing": ["--"]}, "quote_formulas": True}
    for engine in ("memory", "file"):
        masked = tmp_path / f"{engine}.csv"
        shoal.protect(source, engine=engine, output=masked, **plan).save()
        assert [row["note"] for row in cells_of(masked)] == ["--", "'=1", "-5", "x"] * 3


@pytest.mark.parametrize("name", ["masked.xlsx", "masked.parquet"])
def test_other_files_have_no_formulas_to_quote(tmp_path, name):
    with refused(shoal.PlanError, "only-for-format", "quote_formulas", format="CSV"):
        shoal.protect(people(), output=tmp_path / name, quote_formulas=True, **PLAN)
    release = shoal.protect(people(), quote_formulas=True, **PLAN)
    with refused(shoal.PlanError, "only-for-format", "quote_formulas"):
        release.save(tmp_path / name)
    assert not any(tmp_path.iterdir())


def test_the_command_line_has_the_option(tmp_path):
    source, masked = tmp_path / "people.csv", tmp_path / "masked.csv"
    people().to_pandas().to_csv(source, index=False)
    options = ["protect", str(source), "-k", "3", "--quasi", "age,town", "--publish", "note", "--quote-formulas"]
    result = CliRunner().invoke(app, [*options, "-o", str(masked)])
    assert result.exit_code == 0, result.output
    assert all(row["town"] in ("'=A", "B") for row in cells_of(masked))
    again = tmp_path / "again.csv"
    assert CliRunner().invoke(app, ["protect", "--plan", f"{masked}.plan.toml", "-o", str(again)]).exit_code == 0
    assert again.read_bytes() == masked.read_bytes()


def test_a_dataframe_stays_as_it_is(tmp_path):
    frame = pd.DataFrame(people().to_pandas())
    release = shoal.protect(frame, quote_formulas=True, **PLAN)
    assert list(release.table["note"]) == list(frame["note"])


ENGINES = ["memory", "file", pytest.param("spark", marks=[pytest.mark.spark, pytest.mark.slow])]


@pytest.mark.parametrize("engine", ENGINES)
def test_names_of_columns_that_are_formulas_are_a_warning_and_are_never_quoted(tmp_path, engine):
    source, odd = tmp_path / "people.parquet", "\u200b@note"
    pq.write_table(people().rename_columns(["age", "=town", odd]), source)
    asked = {"k": 3, "quasi": ["age", "=town"], "output": tmp_path / "masked.csv", "engine": engine}
    release = shoal.protect(source, publish=[odd], **asked)
    release.save()
    assert reports(warnings_of(release)[-1:], "formula-names", columns=["=town", odd])
    assert r"'=town', '\u200b@note'" in warnings_of(release)[-1]
    assert [*cells_of(tmp_path / "masked.csv")[0]] == ["age", "=town", odd]
    with refused(shoal.PlanError, "quoted-column-names", "quote_formulas", columns=["=town", odd]):
        shoal.protect(source, publish=[odd], quote_formulas=True, **{**asked, "output": tmp_path / "again.csv"})


def test_a_name_that_is_a_formula_does_no_harm_where_its_column_is_dropped(tmp_path):
    table = people().rename_columns(["age", "=town", "note"])
    release = shoal.protect(table, k=3, quasi=["age"], identifiers=["=town"], publish=["note"], quote_formulas=True)
    release.save(tmp_path / "masked.csv")
    assert not warnings_of(release)


def test_no_name_of_a_class_is_a_formula():
    cuts = [-5, -0.5, 0, 3]
    assert classes_of(cuts) == [
        "under -5",
        "from -5 to under -0.5",
        "from -0.5 to under 0",
        "0 to under 3",
        "3 and over",
    ]
    assert classes_of([-5]) == ["under -5", "at least -5"]
    assert not pc.any(is_formula(pa.array([*classes_of(cuts), *classes_of(["1970-01-01"])]))).as_py()

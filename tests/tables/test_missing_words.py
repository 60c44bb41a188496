"""Words for missing values in CSV: taken for such only where asked for, and written where one is missing."""

import csv
import io
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expect import refused

from shoal import protect
from shoal.errors import DataError, PlanError
from shoal.plan import Csv, Plan
from shoal.tables import open_table, write_table
from shoal.tables.text_values import looks_missing

WORDS = ["?", "NA", "n/a", "-9", "a,b", 'x"y', "keine Angabe", "ø"]
CELLS = st.sampled_from([*WORDS, "", " ? ", "1", "2.50", "x", "-9.0"])


@pytest.fixture
def opened(tmp_path):
    """Open a CSV file that holds a text."""

    def _open(content, missing):
        path = tmp_path / "table.csv"
        path.write_text(content)
        return open_table(path, Csv(missing=missing))

    return _open


def written(table):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out.csv")
        write_table(table, path, "csv")
        return path.read_bytes().decode(), open_table(path, table.dialect.as_csv())


def test_the_water_treatment_plant_has_numbers_where_it_has_question_marks(reference_file):
    path = reference_file("water-treatment")
    table = open_table(path, Csv(missing="?"))
    assert [name for name in table.names if name not in table.numeric] == ["DATE"]
    assert table.spoiled == {}
    holes = [row.count(",?") for row in path.read_text().splitlines()]
    assert sum(column.null_count for column in table.native.columns) == sum(holes)
    assert holes[1:].count(0) == 380  # the complete records of the literature
    text, again = written(table)
    assert text == path.read_text()
    assert again.native.equals(table.native)


@pytest.mark.parametrize("engine", ["memory", "file"])
def test_numbers_that_are_all_missing_are_published_as_the_word(tmp_path, engine):
    (tmp_path / "a.csv").write_text("x;y\n0;2\n0;1\n?;2\n2;2\n")
    plan = {"k": 2, "quasi": ["x", "y"], "blocks": [["x"], ["y"]], "missing": "group", "missing_codes": {"x": [0]}}
    masked = tmp_path / "masked.csv"
    release = protect(tmp_path / "a.csv", **plan, csv={"missing": ["?"]}, engine=engine, output=masked)
    release.save()
    assert masked.read_text() == "x;y\n" + "?;2\n" * 4


def test_no_word_is_missing_unless_it_is_given(opened):
    table = opened("a,b\n1,x\nNA,y\n?,NA\n", [])
    assert table.native.to_pydict() == {"a": ["1", "NA", "?"], "b": ["x", "y", "NA"]}


def test_words_are_missing_before_types_are_found(opened):
    table = opened('a,b,c,d\n1,"NA",NA,2020-01-01\nNA,x,NA,?\n 3 , ? ,?,NA\n', ["NA", "?"])
    assert table.native.to_pydict()["a"] == [1, None, 3]
    assert table.native.to_pydict()["b"] == [None, "x", None]
    assert table.native.to_pydict()["c"] == [None] * 3
    assert [str(kind) for kind in table.native.schema.types] == ["int64", "string", "string", "date32[day]"]


def test_words_count_letter_by_letter(opened):
    table = opened("a,b\nna,-9.0\nNAN,-9\nNA,1\n", ["NA", "-9"])
    assert table.native.to_pydict() == {"a": ["na", "NAN", None], "b": [-9.0, None, 1.0]}


def test_a_decimal_comma_is_found_beside_a_word(opened):
    table = opened("a;b\n1,5;x\n?;y\n", "?")
    assert table.native["a"].to_pylist() == [1.5, None]
    assert table.dialect.decimal == ","


def test_the_name_of_a_column_may_be_such_a_word(opened):
    assert opened("NA,b\n1,2\nNA,3\n", "NA").native.to_pydict() == {"NA": [1, None], "b": [2, 3]}


def test_untouched_cells_are_spelt_as_they_were_whatever_stands_for_missing(opened):
    content = "a,b,c\n1,NA,x\n,?,\n?,1.50,NA\n2,,?\n"
    assert written(opened(content, ["NA", "?"]).publish({}))[0] == content


def test_a_masked_column_has_the_first_word_where_a_value_is_missing(opened):
    table = opened("a,b\n1,x\n,y\n?,NA\n", ["NA", "?"]).publish({"a": pa.array([1.5, None, None])})
    text, again = written(table)
    assert text == "a,b\n1.5,x\nNA,y\nNA,NA\n"
    assert again.native["a"].to_pylist() == [1.5, None, None]


def test_a_masked_column_has_empty_cells_where_no_word_was_given(opened):
    table = opened("a,b\n1,x\n,y\n", []).publish({"a": pa.array([1.5, None])})
    assert written(table)[0] == "a,b\n1.5,x\n,y\n"


def test_a_masked_value_that_reads_like_a_word_is_refused(opened, tmp_path):
    table = opened("a,b\n1,x\n-9,y\n", "-9").publish({"a": pa.array([-9, None])})
    with refused(DataError, "read-as-missing", column="a", record=1):
        write_table(table, tmp_path / "out.csv", "csv")
    assert not (tmp_path / "out.csv").exists()


@given(
    st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8),
    st.lists(st.sampled_from(WORDS), max_size=3, unique=True),
)
def test_what_is_written_is_read_alike(rows, words):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([("one", "two"), *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "in.csv")
        path.write_text(text.getvalue())
        table = open_table(path, Csv(delimiter=",", quote='"', decimal=".", missing=words))
    expected = [None if cell == "" or cell.strip() in words else cell for cell, _ in rows]
    assert [value is None for value in table.native["one"].to_pylist()] == [cell is None for cell in expected]
    untouched, again = written(table.publish({}))
    assert list(csv.reader(io.StringIO(untouched))) == [["one", "two"], *map(list, rows)]
    assert again.native.equals(table.native)
    masked = pa.array([None if cell is None else 0.5 for cell in expected], pa.float64())
    spelt, again = written(table.publish({"one": masked}))
    assert again.native["one"].to_pylist() == masked.to_pylist()
    word = words[0] if words else ""
    assert [row[0] for row in csv.reader(io.StringIO(spelt))][1:] == [
        word if cell is None else "0.5" for cell in expected
    ]


@pytest.mark.parametrize(
    ("words", "code", "data"),
    [
        ([""], "bad-missing-word", {"empty": True}),
        (["NA", "NA"], "names-twice", {"column": "NA"}),
        ([" NA"], "bad-missing-word", {"blanks": True}),
        (["N\nA"], "bad-missing-word", {"unprintable": True}),
    ],
)
def test_words_that_cannot_be_are_refused(opened, words, code, data):
    with refused(PlanError, code, "csv.missing") as caught:
        opened("a,b\n1,2\n", words)
    assert [each.data for each in caught.value.messages] == [data]


def test_one_word_may_stand_for_a_list_and_a_plan_file_keeps_it(tmp_path):
    plan = Plan(k=3, csv={"missing": "?"})
    assert plan.csv.missing == ["?"]
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    assert Plan.load(tmp_path / "plan.toml").csv.missing == ["?"]


@pytest.mark.parametrize("cell", ["?", "NA", " n/a ", "#N/A", "n.a.", "-", ".", "..", "NaN", "null", "missing"])
def test_cells_that_say_that_there_is_no_value_are_known_for_messages(cell):
    assert looks_missing(cell)


@pytest.mark.parametrize("cell", ["1", "-1", ".5", "x", "...", "nanny", ""])
def test_other_cells_are_not(cell):
    assert not looks_missing(cell)

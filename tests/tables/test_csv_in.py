"""Reading CSV: the structure, the encoding, the types and the spelling."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from tests.expect import refused

from shoal.errors import DataError, PlanError
from shoal.plan import Csv
from shoal.tables import open_table


@pytest.fixture
def opened(tmp_path):
    """Open a CSV file that holds a text or bytes."""

    def _open(content, csv=None):
        path = tmp_path / "table.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return open_table(path, csv)

    return _open


def types(table):
    return {field.name: str(field.type) for field in table.native.schema}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(opened, delimiter):
    table = opened("a,b,c\n1,x,2\n3,y,4\n".replace(",", delimiter))
    assert table.native.to_pydict() == {"a": [1, 3], "b": ["x", "y"], "c": [2, 4]}
    assert table.dialect.delimiter == delimiter


def test_a_comma_in_text_does_not_mislead_about_the_delimiter(opened):
    table = opened("name;note\nx;a, b, c\ny;d, e, f\n")
    assert table.names == ["name", "note"]


def test_a_delimiter_that_is_given_is_used(opened):
    assert opened("a:b\n1,0:2\n", Csv(delimiter=":", decimal=",")).native.to_pydict() == {"a": [1.0], "b": [2]}


def test_a_quote_that_is_given_is_used(opened):
    assert opened("a,b\n'x,y',2\n", Csv(quote="'")).native.to_pydict() == {"a": ["x,y"], "b": [2]}


@pytest.mark.parametrize("text", ["a,b\n'x,y',2\nz,3\n", "'a','b'\n'x,y','2'\n'z','3'\n"])
def test_apostrophes_quote_where_they_must(opened, text):
    assert opened(text).native.to_pydict() == {"a": ["x,y", "z"], "b": [2, 3]}


def test_quotes_may_be_escaped_with_a_backslash(opened):
    table = opened('a,b\n"x\\"y, z",2\n"p",3\n')
    assert table.native["a"].to_pylist() == ['x"y, z', "p"]


def test_a_backslash_at_the_end_of_a_quoted_cell_is_no_escape(opened):
    assert opened('a,b\n"x, \\",2\n"p",3\n').native["a"].to_pylist() == ["x, \\", "p"]


def test_quoted_cells_hold_delimiters_quotes_and_line_ends(opened):
    table = opened('a,b\n"x, ""y""\nz",1\n"\r\n",2\n')
    assert table.native.to_pydict() == {"a": ['x, "y"\nz', "\r\n"], "b": [1, 2]}


def test_quotes_in_the_middle_of_a_cell_are_ordinary_characters(opened):
    table = opened('a,b\n5" pipe,1\n6" pipe,2\n7" or 8",3\n')
    assert table.native["a"].to_pylist() == ['5" pipe', '6" pipe', '7" or 8"']


def test_an_empty_cell_is_missing_and_a_pair_of_quotes_is_an_empty_text(opened):
    table = opened('a,b\n,x\n"",y\nz,z\n')
    assert table.native["a"].to_pylist() == [None, "", "z"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_line_end_will_do_and_the_last_may_lack(opened, end):
    assert opened(f"a,b{end}1,2{end}3,4").native.to_pydict() == {"a": [1, 3], "b": [2, 4]}


def test_empty_lines_are_no_records(opened):
    assert opened("\n\na,b\n1,2\n\n3,4\n\n").native.to_pydict() == {"a": [1, 3], "b": [2, 4]}


def test_in_a_file_of_one_column_an_empty_line_is_a_missing_value(opened):
    assert opened("a\n1\n\n3\n").native["a"].to_pylist() == [1, None, 3]


@pytest.mark.parametrize("text", ["full name\nAnn\nBob, Jr\n", "x\na;b\nc;d\n", 'x\n"a,b"\n"c"\n'])
def test_one_column_stays_one_column(opened, text):
    assert len(opened(text).names) == 1


def test_names_may_hold_anything(opened):
    table = opened('"a, b","say ""hi""",two words,größe,"new\nline"\n1,2,3,4,5\n')
    assert table.names == ["a, b", 'say "hi"', "two words", "größe", "new\nline"]


def test_a_record_may_be_longer_than_any_block(opened):
    long = "x" * (20 << 20)
    assert opened(f'a,b\n"{long},",2\n').native["a"].to_pylist() == [long + ","]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom", "utf-16-be-bom", "utf-32", "cp1252", "latin-1"]
)
def test_the_encoding_is_found(opened, encoding):
    marks = {"utf-16-le-bom": ("utf-16-le", b"\xff\xfe"), "utf-16-be-bom": ("utf-16-be", b"\xfe\xff")}
    codec, mark = marks.get(encoding, (encoding, b""))
    table = opened(mark + "città,b\nGöteborg,1\nÅrhus,2\n".encode(codec))
    assert table.native.to_pydict() == {"città": ["Göteborg", "Århus"], "b": [1, 2]}


def test_windows_quotes_and_euro_are_read_as_windows_wrote_them(opened):
    assert opened("a,b\n“€5”,1\n".encode("cp1252")).native["a"].to_pylist() == ["“€5”"]


def test_bytes_that_windows_does_not_have_are_latin_1(opened):
    assert opened(b"a,b\n\x81\xe9,1\n").native["a"].to_pylist() == ["\x81é"]


def test_an_encoding_that_is_given_is_used(opened):
    assert opened("a,b\nж,1\n".encode("koi8-r"), Csv(encoding="koi8-r")).native["a"].to_pylist() == ["ж"]
    assert opened("a,b\nж,1\n".encode("utf-16-le"), Csv(encoding="utf-16-le")).native["a"].to_pylist() == ["ж"]
    assert opened("a,b\nж,1\n".encode("utf-8-sig"), Csv(encoding="utf-8")).names == ["a", "b"]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-2", "0"], "int64"),
        (["+1", " 2 ", "3"], "int64"),
        (["9223372036854775807", "1"], "int64"),
        (["9223372036854775808", "1"], "uint64"),
        (["1", "2.5"], "double"),
        (["1e5", "1E-3", ".5", "5."], "double"),
        (["true", "False", "TRUE"], "bool"),
        (["2020-02-29", "1995-01-01"], "date32[day]"),
        (["2020-02-29 10:00:00", "2020-02-29T10:00:00.5"], "timestamp[us]"),
        (["2020-02-29T10:00:00Z", "2020-02-29T10:00:00+01:00"], "timestamp[us, tz=UTC]"),
        (["2020-02-30", "1995-01-01"], "string"),
        (["01/02/1995"], "string"),
        (["007", "123"], "string"),
        (["-01", "1"], "string"),
        (["00.5", "1"], "string"),
        (["0.5", "0"], "double"),
        (["0x1F", "1"], "string"),
        (["1_000"], "string"),
        (["nan", "1"], "string"),
        (["inf", "1"], "string"),
        (["NA", "1"], "string"),
        (["?", "1"], "string"),
        (["1", "1,5"], "string"),
        (["yes", "no"], "string"),
        (["", ""], "string"),
        (["", "1", " "], "int64"),
        (['""', "1"], "int64"),
    ],
)
def test_types_follow_from_all_records(opened, cells, kind):
    content = "a;b\n" + "".join(f"{cell};x\n" for cell in cells)
    assert types(opened(content, Csv(delimiter=";", decimal=".")))["a"] == kind


def test_a_text_in_the_last_of_many_records_makes_a_text_column(opened):
    cells = [str(i) for i in range(50_000)] + ["x"]
    table = opened("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    assert types(table) == {"a": "string", "b": "int64"}
    assert table.spoiled == {"a": 50_001}


def test_values_are_what_the_text_says(opened):
    table = opened("i,f,b,d\n+5, 1e3 ,TRUE,2020-01-02\n,,,\n")
    assert table.native.to_pylist()[0] == {"i": 5, "f": 1000.0, "b": True, "d": dt.date(2020, 1, 2)}
    assert table.native.to_pylist()[1] == {"i": None, "f": None, "b": None, "d": None}


def test_a_decimal_comma_is_found_where_the_delimiter_is_another(opened):
    table = opened("a;b;c\n1,5;2;1,25\n-2,5;3;7\n")
    assert table.native.to_pydict() == {"a": [1.5, -2.5], "b": [2, 3], "c": [1.25, 7.0]}
    assert table.dialect.decimal == ","


def test_commas_between_thousands_are_no_decimal_commas_and_no_silence(opened):
    table = opened("a\tb\n1,234\tx\n999\ty\n")
    assert types(table)["a"] == "string"
    assert table.spoiled == {"a": 1}


def test_a_decimal_comma_can_be_given(opened):
    assert opened('a,b\n"1,500",x\n', Csv(decimal=",")).native["a"].to_pylist() == [1.5]
    assert types(opened("a;b\n1,5;x\n", Csv(decimal=".")))["a"] == "string"


def test_points_are_no_numbers_where_the_decimal_sign_is_a_comma(opened):
    table = opened("a;b\n1,5;1.5\n2,5;2.5\n")
    assert types(table) == {"a": "double", "b": "string"}
    assert table.spoiled == {"b": 1}


@pytest.mark.parametrize(
    ("cells", "record"),
    [
        (["1", "2", "x"], 3),
        (["x", "1"], 1),
        (["1", "", "?", "2"], 3),
        (["x", "y", "1"], None),
        (["007", "008", "9"], None),
        (["1.5", "nan"], 2),
        (["x", "y"], None),
    ],
)
def test_numbers_spoiled_by_text_are_pointed_out(opened, cells, record):
    table = opened("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    assert table.spoiled == ({} if record is None else {"a": record})


def test_spelling_is_kept_where_values_would_lose_it(opened):
    table = opened("id,price,when,plus,name\n1,1.50,2020-01-01T00:00:00,+1,x\n2,2.00,2020-01-01T10:00:00,2,y\n")
    assert table.spelling["price"].to_pylist() == ["1.50", "2.00"]
    assert table.spelling["when"].to_pylist() == ["2020-01-01T00:00:00", "2020-01-01T10:00:00"]
    assert table.spelling["plus"].to_pylist() == ["+1", "2"]
    assert "id" not in table.spelling
    assert "name" not in table.spelling


def test_a_table_from_a_file_answers_like_any_other(opened):
    table = opened("i,f,s,b\n1,1.5,x,true\n2,2.5,y,false\n")
    assert len(table) == 2
    assert table.names == ["i", "f", "s", "b"]
    assert table.numeric == ["i", "f"]
    assert table.column("s").equals(pa.array(["x", "y"]))
    matrix = table.matrix(["f", "i"])
    assert matrix.flags.c_contiguous
    np.testing.assert_array_equal(matrix, [[1.5, 1], [2.5, 2]])


def test_the_names_tsv_and_txt_are_csv_too(tmp_path):
    for name in ("a.tsv", "a.txt", "A.CSV", "a[1]*.csv"):
        (tmp_path / name).write_text("a\tb\n1\t2\n")
        assert open_table(str(tmp_path / name)).names == ["a", "b"]


@pytest.mark.parametrize(
    ("csv", "field", "code"),
    [
        (Csv(delimiter="§"), "csv.delimiter", "not-one-character"),
        (Csv(quote="\n"), "csv.quote", "not-one-character"),
        (Csv(quote=";", delimiter=";"), "csv.quote", "quote-is-delimiter"),
        (Csv(encoding="klingon"), "csv.encoding", "unknown-encoding"),
        (Csv(encoding="base64"), "csv.encoding", "unknown-encoding"),
    ],
)
def test_options_that_no_file_can_have_are_refused(opened, csv, field, code):
    with refused(PlanError, code, field) as caught:
        opened("a,b\n1,2\n", csv)
    assert len(caught.value.messages) == 1


def test_a_header_that_cannot_be_split_into_cells_is_refused(opened, tmp_path):
    with refused(DataError, "cells-not-found", path=str(tmp_path / "table.csv"), header=True):
        opened("a" * 200_000 + ",b\n1,2\n", Csv(delimiter=","))

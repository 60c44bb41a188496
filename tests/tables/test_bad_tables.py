"""What cannot be a table, or not a matrix, is refused in one sentence that holds nothing from the data."""

import datetime as dt
import os
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.expect import refused, reports

from shoal.errors import DataError, FileError, PlanError, ShoalError
from shoal.plan import Csv
from shoal.tables import kind_of, open_table, write_table
from shoal.tables.attributes import encode
from shoal.tables.levels import keep_in_arrow, used_in_arrow
from shoal.tables.unchanged import steady

SECRET = "s3cret"


def refusal(source, csv=None, error=ShoalError):
    with pytest.raises(error) as caught:
        open_table(source, csv)
    message = str(caught.value)
    assert message
    assert "\n" not in message
    assert SECRET not in message
    assert caught.value.__cause__ is None
    return message


def refused_table(source, code, **data):
    with refused(DataError, code, **data) as caught:
        open_table(source)
    assert len(caught.value.messages) == 1
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.fixture
def file(tmp_path):
    """Make a file of a name and bytes."""

    def _make(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return _make


def test_a_file_that_is_not_there(tmp_path):
    assert "There is no file" in refusal(tmp_path / "none.csv", error=FileError)


def test_a_folder(tmp_path):
    (tmp_path / "data.csv").mkdir()
    assert "is a folder" in refusal(tmp_path / "data.csv", error=FileError)


def test_a_name_that_no_file_can_have(tmp_path):
    refusal(tmp_path / ("x" * 500 + ".csv"), error=FileError)
    refusal("a\0b.csv", error=FileError)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(file):
    path = file("a,b\n1,2\n")
    path.chmod(0)
    assert "permission" in refusal(path, error=FileError)


def test_a_file_that_the_system_refuses(file, monkeypatch):
    def refuse(self, mode):
        raise PermissionError(13, "Permission denied")

    path = file("a,b\n1,2\n")
    monkeypatch.setattr("pathlib.Path.open", refuse)
    assert "permission" in refusal(path, error=FileError)


@pytest.mark.parametrize("name", ["table", "table.doc", "table.csv.gz", "table.xls"])
def test_an_ending_that_is_not_known(file, name):
    message = refusal(file("a,b\n1,2\n", name), error=FileError)
    for ending in (".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".ipc"):
        assert ending in message


def test_the_kind_follows_from_the_ending():
    assert [kind_of(f"a.{end}") for end in ("csv", "TXT", "tsv", "parquet", "arrow", "feather", "ipc")] == [
        *["csv"] * 3,
        "parquet",
        *["arrow"] * 3,
    ]


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", "  \n"])
def test_an_empty_file(file, content):
    assert "is empty" in refusal(file(content), error=DataError)


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "a", "a\n"])
def test_a_header_without_records(file, content):
    assert "no records" in refusal(file(content), error=DataError)


def test_a_name_twice(file):
    sources = [file("a,b,a\n1,2,3\n"), pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"])]
    sources += [pa.table([[1], [2], [3]], names=["a", "b", "a"])]
    sources += [sources[-1].to_reader()]
    path = file(b"", "twice.parquet")
    pq.write_table(sources[2], path)
    for source in (*sources, path):
        refused_table(source, "column-names-repeat", columns=["a"])


@pytest.mark.parametrize("content", [",a,c\n1,2,3\n", '"","a","c"\n"1",2,3\n', "\ta\tc\n1\t2\t3\n"])
def test_a_first_column_without_a_name_holds_row_names(file, content):
    assert open_table(file(content)).names == ["row_names", "a", "c"]


@pytest.mark.parametrize(
    "content", ["a,,c\n1,2,3\n", ",row_names\n1,2\n", ",,c\n1,2,3\n", 'a," ",c\n1,2,3\n', "a,\n1,2\n", "\n1\n2\n"]
)
def test_a_column_without_a_name(file, content):
    refused_table(file(content), "column-without-name")


@pytest.mark.parametrize(
    "content",
    [
        "1,2\n3,4\n",
        "1.5;-2e3\n3;4\n",
        "17\n18\n",
        f"{SECRET},17,1000,3\nBob,35,1100,4\nCem,36,1200,5\n",
        f"{SECRET},17\nBob,35\nCem,unknown\n",
        f"{SECRET},00017\nBob,01234\nCem,01235\n",
        f"{SECRET};1,7\nBob;3,5\nCem;3,6\n",
        f"{SECRET},1917-01-02\nBob,1990-01-02\nCem,1991-01-02\n",
        f"{SECRET},1917-01-02 10:00\nBob,1990-01-02 10:00:01.5\n",
        f"{SECRET},TRUE\nBob,false\nCem,true\n",
        f"{SECRET},2017,2018\nBob,35,36\n",
    ],
)
def test_a_first_row_that_is_data(file, content):
    message = refusal(file(content), error=DataError)
    assert "the first row looks like a record" in message
    assert "as in y2019" in message
    assert "17" not in message.removeprefix(f"'{file('')}'")


@pytest.mark.parametrize("content", ["name,2019\nAnn,yes\nBob,no\n", "x1,y2019,1a\n1,2,3\n", "true,2020-01-01\nx,y\n"])
def test_a_name_that_is_not_like_what_is_below_is_a_name(file, content):
    assert open_table(file(content)).names == content.split("\n")[0].split(",")


@pytest.mark.parametrize("column", [[1, 2], [1.5, 2.5], ["1", "2"], pa.array(["1", "2"]).dictionary_encode()])
def test_a_name_like_a_number_is_not_written_where_it_could_not_be_read(tmp_path, column):
    table = open_table(pa.table({"fine": ["x", "y"], "2019": column}))
    with pytest.raises(DataError, match=r"column '2019' has a name like its values.*such as y2019"):
        write_table(table, tmp_path / "out.csv", "csv")
    assert not (tmp_path / "out.csv").exists()


def test_nul_is_refused_before_anything_is_written(tmp_path):
    for column in (["x", f"{SECRET}\0"], pa.array(["x", f"{SECRET}\0"]).dictionary_encode()):
        with pytest.raises(DataError, match="column 'text' has a NUL character in record 2, which CSV") as caught:
            write_table(open_table(pa.table({"text": column})), tmp_path / "out.csv", "csv")
        assert SECRET not in str(caught.value)
        assert not (tmp_path / "out.csv").exists()
    with pytest.raises(DataError, match="The name of a column has a NUL"):
        write_table(open_table(pa.table({"a\0": [1]})), tmp_path / "out.csv", "csv")


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (f"a,b\n1,2\n{SECRET}\n3,4\n", "record 2 has 1 cell, and the header has 2"),
        (f"a,b\n1,2,{SECRET}\n3,4,5\n6,7,8\n", "record 1 has 3 cells, and the header has 2"),
        (f'a,b\n"x\ny",2\n\n3,4\n5,6,{SECRET}\n', "record 3 has 3 cells, and the header has 2"),
        ("a,b\n" + "1,2\n" * 5_000_000 + f"1,2,{SECRET}\n", "record 5000001 has 3 cells, and the header has 2"),
    ],
    ids=["short", "long", "after line ends in quotes", "far down"],
)
def test_a_record_with_cells_too_many_or_too_few(file, content, where):
    assert where in refusal(file(content), error=DataError)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (f'a,b\n1,"x\n2,{SECRET}\n', "record 1 opens a quote that is never closed"),
        (f'a,b\n\n1,"y\nz"\n2,"x\n3,{SECRET}\n', "record 2 opens a quote that is never closed"),
        (f'a,"b\n1,{SECRET}\n', "the header opens a quote that is never closed"),
        (f'a,b\n1,"x\n2,"{SECRET}"\n3,z\n', "record 1 has text after a closing quote"),
        (f'a,b\n1,x\n2,"x" {SECRET}\n', "record 2 has text after a closing quote"),
        ('a,b\n1,"x""\n', "record 1 opens a quote that is never closed"),
    ],
)
def test_a_quote_that_does_not_close(file, content, where):
    assert where in refusal(file(content), Csv(delimiter=",", quote='"'), error=DataError)


def test_a_wrong_encoding(file):
    path = file("a,b\nGöteborg,1\n".encode("latin-1"))
    assert "is not encoded in utf-8 (at byte 6)" in refusal(path, Csv(encoding="utf-8"), error=DataError)
    assert "is not encoded in utf-16" in refusal(file(b"a,b\n1,2"), Csv(encoding="utf-16"), error=DataError)
    refusal(file(b"\xff\xfea\x00,"), error=DataError)


def test_bytes_that_are_no_text(file):
    assert "NUL" in refusal(file(b"a,b\n1,\x002\n"), error=DataError)
    assert "UTF-16" in refusal(file("a,b\n1,2\n".encode("utf-16-le")), error=DataError)
    assert "not a text file" in refusal(file(b"\x1f\x8b\x08\xff\x03\x04\xfe\n"), error=DataError)
    path = file(b"", "parquet.csv")
    pq.write_table(pa.table({"a": [1]}), path)
    assert "not a text file" in refusal(path, error=DataError)


@pytest.mark.parametrize("name", ["table.parquet", "table.arrow", "table.feather"])
def test_a_file_that_is_damaged_or_another_kind(tmp_path, name):
    path = tmp_path / name
    write_table(open_table(pa.table({"a": np.arange(50_000), "b": [SECRET] * 50_000})), path, kind_of(name))
    whole = path.read_bytes()
    half = len(whole) // 2
    for content in (
        b"",
        b"a,b\n1,2\n",
        whole[:half],
        whole[half:],
        whole[:8],
        whole[:-1],
        whole[:half] + b"\0" * 64 + whole[half + 64 :],
    ):
        path.write_bytes(content)
        assert "is not a complete" in refusal(path, error=FileError)


def test_each_kind_under_the_other_name(tmp_path):
    table = open_table(pa.table({"a": [1]}))
    write_table(table, tmp_path / "a.arrow", "parquet")
    write_table(table, tmp_path / "a.parquet", "arrow")
    assert "is not a complete Arrow file" in refusal(tmp_path / "a.arrow", error=FileError)
    assert "is not a complete Parquet file" in refusal(tmp_path / "a.parquet", error=FileError)


def test_names_of_pandas_columns_that_are_no_text():
    refused_table(pd.DataFrame({"a": [1], 7: [2]}), "column-name-type", position=2, type="int")
    frame = pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")]))
    refused_table(frame, "column-name-type", position=1, type="tuple")


@pytest.mark.parametrize(
    "source", [5, None, [1, 2], {"a": [1]}, np.zeros((2, 2)), b"abc", pd.Series([1], name="a"), pl.Series("a", [1])]
)
def test_what_is_no_table(source):
    refused_table(source, "not-tabular", type=type(source).__name__)


def test_an_arrow_stream_that_fails():
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            raise TypeError

    refused_table(Stream(), "not-tabular", type="Stream", stream=True)


def test_a_lazy_frame():
    refused_table(pl.LazyFrame({"a": [1]}), "lazy-frame")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_dataframe_without_records_or_columns(make):
    refused_table(make({"a": []}), "no-records")
    refused_table(make({}), "no-columns")


def test_csv_options_for_what_is_no_csv(tmp_path):
    write_table(open_table(pa.table({"a": [1]})), tmp_path / "a.parquet", "parquet")
    for source in (tmp_path / "a.parquet", pa.table({"a": [1]})):
        assert "does not apply" in refusal(source, Csv(delimiter=";"), error=PlanError)
        assert len(open_table(source, Csv())) == 1


def test_a_place_that_cannot_be_written(tmp_path):
    table = open_table(pa.table({"a": [1]}))
    for kind in ("csv", "parquet", "arrow"):
        with pytest.raises(FileError, match="cannot be written"):
            write_table(table, tmp_path / "none" / "out", kind)


@pytest.mark.parametrize(
    ("column", "code", "data"),
    [
        (["1", SECRET, "2"], "word-among-numbers", {"record": 2}),
        (["1", "nan", "2"], "word-for-missing", {"record": 2}),
        (["1", "2", " N/A"], "word-for-missing", {"record": 3}),
        (["1", "-Inf", "2"], "infinite-values", {"first": 2}),
        ([SECRET, SECRET, None], "no-numbers", {"content": "text"}),
        (["1", "2", "3"], "numbers-as-text", {}),
        ([1, None, 2], "missing-values", {"records": 1, "first": 2}),
        ([None, float("nan"), 2.0], "missing-values", {"records": 2, "first": 1}),
        ([1.0, 2.0, float("-inf")], "infinite-values", {"first": 3, "records": None}),
        ([1.0, float("inf"), float("-inf")], "infinite-values", {"first": 2, "records": 2}),
        ([True, False, True], "no-numbers", {"content": "booleans"}),
        ([dt.date(2020, 1, 1)] * 3, "no-numbers", {"content": "dates or times"}),
        ([dt.time(12)] * 3, "time-type", {"type": "time64[us]"}),
        ([[1], [2], [3]], "nested-column", {}),
        ([None, None, None], "empty-column", {}),
        (pa.array(["a", "b", "a"]).dictionary_encode(), "no-numbers", {"content": "categories"}),
        ([b"x", b"y", b"z"], "type-not-masked", {"type": "binary"}),
    ],
)
def test_a_column_that_cannot_be_averaged(column, code, data):
    with refused(DataError, code, column="x", **data) as caught:
        open_table(pa.table({"x": column})).matrix(["x"])
    assert len(caught.value.messages) == 1
    assert SECRET not in str(caught.value)


def test_all_columns_that_cannot_be_averaged_are_named_at_once():
    table = open_table(pa.table({"a": [1, 2], "b": ["x", "y"], "c": [1.5, None], "d": [True, False]}))
    with pytest.raises(DataError) as caught:
        table.matrix(["a", "b", "c", "d"])
    assert [each.data["column"] for each in caught.value.messages] == ["b", "c", "d"]


def test_pandas_objects_that_cannot_be_averaged():
    frame = pd.DataFrame({"a": pd.Series([1, SECRET, 2], dtype=object), "b": pd.Series([(), SECRET, 2], dtype=object)})
    frame["c"] = [1j, 2j, 3j]
    with refused(DataError, "mixed-types", column="a", record=2) as caught:
        open_table(frame).matrix(["a", "b", "c"])
    assert reports(caught.value.messages, "mixed-types", column="b", record=None)
    assert reports(caught.value.messages, "type-not-in-arrow", column="c", type="complex128")
    assert SECRET not in str(caught.value)


def test_pandas_text_that_turns_into_something_else_far_down(tmp_path):
    frame = pd.DataFrame({"a": pd.Series([SECRET] * 500 + [5], dtype=object)})
    for use in (lambda table: table.matrix(["a"]), lambda table: write_table(table, tmp_path / "a", "parquet")):
        with refused(DataError, "mixed-types", column="a", record=None) as caught:
            use(open_table(frame))
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_polars_objects_are_not_written(tmp_path, kind):
    frame = pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)})
    with refused(DataError, "python-objects", column="a"):
        write_table(open_table(frame), tmp_path / "a", kind)


def test_a_type_that_parquet_cannot_hold_is_refused(tmp_path):
    table = pa.table({"a": pa.array([pa.MonthDayNano([1, 2, 3])])})
    with pytest.raises(
        DataError,
        match=r"column 'a' is of type month_day_nano_interval, which Parquet cannot hold",
    ):
        write_table(open_table(table), tmp_path / "a", "parquet")


def test_numbers_of_every_width_can_be_averaged():
    kinds = [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(30, 2), pa.decimal256(50, 2)]
    table = open_table(pa.table({str(kind): pa.array([1, 2, 3]).cast(kind) for kind in kinds}))
    assert table.numeric == table.names
    np.testing.assert_array_equal(table.matrix(table.names), np.repeat([[1.0], [2.0], [3.0]], len(kinds), axis=1))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2**53 + 1]),
        pa.array([1, -(2**53) - 1]),
        pa.array([2**62, 2**63 - 1]),
        pa.array([2**63, 2**64 - 1], pa.uint64()),
        pa.array([2**63, 2**63 + 1], pa.uint64()),
        pa.array([Decimal(1), Decimal(2**53 + 1)], pa.decimal128(30, 0)),
    ],
)
def test_integers_that_no_float_equals_are_refused(column):
    with refused(DataError, "inexact-integers", column="a", record=2):
        open_table(pa.table({"a": column})).matrix(["a"])


def test_integers_that_a_float_equals_are_averaged_however_large():
    wide = [2**53, -(2**60), -(2**63)]
    assert open_table(pa.table({"a": wide})).matrix(["a"]).ravel().tolist() == wide
    assert open_table(pa.table({"a": pa.array([2**63], pa.uint64())})).matrix(["a"]).tolist() == [[2.0**63]]


def test_a_file_that_changes_while_it_is_read_is_refused(file):
    path = file("a\n1\n2\n")
    with refused(FileError, "input-changed", path=path), steady([path]):
        path.write_text("a\n1\n2\n3\n")
        raise ValueError


TEXTS = pa.array([["a"], ["b"]], pa.list_(pa.string_view()))
RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["a"]).dictionary_encode())


@pytest.mark.parametrize(
    ("change", "column", "what"),
    [(lambda t: keep_in_arrow(t, np.array([True, False])), TEXTS, "records"), (used_in_arrow, RUNS, "categories")],
    ids=["records", "categories"],
)
def test_a_type_from_which_nothing_can_be_left_out(change, column, what):
    with refused(DataError, "type-not-filtered", column="x", type=str(column.type), what=what):
        change(pa.table({"x": column}))


@pytest.mark.parametrize(
    ("column", "options", "code"),
    [
        (pa.array([-(2**63), 2**63 - 1], pa.timestamp("us")), ("datetime",), "time-span-too-long"),
        ([1, 2], ("ordinal", [1, 1]), "levels-repeat-number"),
        ([1, 2], ("ordinal", [1, "x"]), "levels-of-other-type"),
        ([1, 2], ("ordinal", [1]), "unknown-level"),
    ],
)
def test_a_column_that_does_not_suit_its_type(column, options, code):
    with refused(DataError, code, column="x"):
        encode(open_table(pa.table({"x": column})), "x", *options)

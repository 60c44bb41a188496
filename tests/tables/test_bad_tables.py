"""What cannot be a table, or not a matrix, is refused in one sentence that holds nothing from the data."""

import datetime as dt
import errno
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
from shoal.messages import Message
from shoal.plan import Csv
from shoal.tables import kind_of, open_table, write_table
from shoal.tables.attributes import encode
from shoal.tables.files import KINDS
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


def refuses(source, error, code, csv=None, field=None, **data):
    """Open a table that is refused with one message of this code and these data, and with nothing from its records."""
    with refused(error, code, field, **data) as caught:
        open_table(source, csv)
    assert len(caught.value.messages) == 1
    assert "\n" not in str(caught.value)


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
    refuses(tmp_path / "none.csv", FileError, "no-file", path=str(tmp_path / "none.csv"))


def test_a_folder(tmp_path):
    (tmp_path / "data.csv").mkdir()
    refuses(tmp_path / "data.csv", FileError, "folder-named", path=str(tmp_path / "data.csv"), reading=True)


def test_a_name_that_no_file_can_have(tmp_path):
    refusal(tmp_path / ("x" * 500 + ".csv"), error=FileError)
    refusal("a\0b.csv", error=FileError)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(file):
    path = file("a,b\n1,2\n")
    path.chmod(0)
    refuses(path, FileError, "file-not-readable", path=str(path), reason=os.strerror(errno.EACCES))


def test_a_file_that_the_system_refuses(file, monkeypatch):
    def refuse(self, mode):
        raise PermissionError(errno.EACCES, SECRET)

    path = file("a,b\n1,2\n")
    monkeypatch.setattr("pathlib.Path.open", refuse)
    refuses(path, FileError, "file-not-readable", path=str(path), reason=os.strerror(errno.EACCES))


def test_an_error_of_the_disk_without_a_number(file, monkeypatch):
    def refuse(self, mode):
        raise OSError(SECRET)

    path = file("a,b\n1,2\n")
    monkeypatch.setattr("pathlib.Path.open", refuse)
    refuses(path, FileError, "file-not-readable", path=str(path), reason=Message("disk-error"))


@pytest.mark.parametrize("name", ["table", "table.doc", "table.csv.gz", "table.xls"])
def test_an_ending_that_is_not_known(file, name):
    path = file("a,b\n1,2\n", name)
    refuses(path, FileError, "unknown-extension", path=str(path), extensions=[*KINDS])
    assert {".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".ipc"} < {*KINDS}


def test_the_kind_follows_from_the_ending():
    assert [kind_of(f"a.{end}") for end in ("csv", "TXT", "tsv", "parquet", "arrow", "feather", "ipc")] == [
        *["csv"] * 3,
        "parquet",
        *["arrow"] * 3,
    ]


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff", "  \n"])
def test_an_empty_file(file, content):
    refuses(file(content), DataError, "empty-file", path=str(file(content)))


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "a", "a\n"])
def test_a_header_without_records(file, content):
    refuses(file(content), DataError, "no-records", path=str(file(content)))


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
    ("content", "position"),
    [
        ("1,2\n3,4\n", 1),
        ("1.5;-2e3\n3;4\n", 1),
        ("17\n18\n", 1),
        (f"{SECRET},17,1000,3\nBob,35,1100,4\nCem,36,1200,5\n", 2),
        (f"{SECRET},17\nBob,35\nCem,unknown\n", 2),
        (f"{SECRET},00017\nBob,01234\nCem,01235\n", 2),
        (f"{SECRET};1,7\nBob;3,5\nCem;3,6\n", 2),
        (f"{SECRET},1917-01-02\nBob,1990-01-02\nCem,1991-01-02\n", 2),
        (f"{SECRET},1917-01-02 10:00\nBob,1990-01-02 10:00:01.5\n", 2),
        (f"{SECRET},TRUE\nBob,false\nCem,true\n", 2),
        (f"{SECRET},2017,2018\nBob,35,36\n", 2),
    ],
)
def test_a_first_row_that_is_data(file, content, position):
    path = file(content)
    with refused(DataError, "first-row-like-record") as caught:
        open_table(path)
    (message,) = caught.value.messages
    assert message.data == {"path": str(path), "position": position}
    assert SECRET not in message
    assert "17" not in message.removeprefix(f"'{path}'")


@pytest.mark.parametrize("content", ["name,2019\nAnn,yes\nBob,no\n", "x1,y2019,1a\n1,2,3\n", "true,2020-01-01\nx,y\n"])
def test_a_name_that_is_not_like_what_is_below_is_a_name(file, content):
    assert open_table(file(content)).names == content.split("\n")[0].split(",")


@pytest.mark.parametrize("column", [[1, 2], [1.5, 2.5], ["1", "2"], pa.array(["1", "2"]).dictionary_encode()])
def test_a_name_like_a_number_is_not_written_where_it_could_not_be_read(tmp_path, column):
    table = open_table(pa.table({"fine": ["x", "y"], "2019": column}))
    with refused(DataError, "name-like-values", column="2019"):
        write_table(table, tmp_path / "out.csv", "csv")
    assert not (tmp_path / "out.csv").exists()


def test_nul_is_refused_before_anything_is_written(tmp_path):
    for column in (["x", f"{SECRET}\0"], pa.array(["x", f"{SECRET}\0"]).dictionary_encode()):
        found = {"column": "text", "value": "text", "record": 2, "format": "CSV", "limit": Message("limit-no-nul")}
        with refused(DataError, "value-not-for-format", **found) as caught:
            write_table(open_table(pa.table({"text": column})), tmp_path / "out.csv", "csv")
        assert SECRET not in str(caught.value)
        assert not (tmp_path / "out.csv").exists()
    with refused(DataError, "name-not-for-format", column="a\0", format="CSV", rule=Message("limit-no-nul")):
        write_table(open_table(pa.table({"a\0": [1]})), tmp_path / "out.csv", "csv")


@pytest.mark.parametrize(
    ("content", "record", "cells"),
    [
        (f"a,b\n1,2\n{SECRET}\n3,4\n", 2, 1),
        (f"a,b\n1,2,{SECRET}\n3,4,5\n6,7,8\n", 1, 3),
        (f'a,b\n"x\ny",2\n\n3,4\n5,6,{SECRET}\n', 3, 3),
        ("a,b\n" + "1,2\n" * 5_000_000 + f"1,2,{SECRET}\n", 5_000_001, 3),
    ],
    ids=["short", "long", "after quotes", "far down"],
)
def test_a_record_with_cells_too_many_or_too_few(file, content, record, cells):
    refuses(file(content), DataError, "number-of-cells", record=record, cells=cells, columns=2)


@pytest.mark.parametrize(
    ("content", "record", "closes"),
    [
        (f'a,b\n1,"x\n2,{SECRET}\n', 1, False),
        (f'a,b\n\n1,"y\nz"\n2,"x\n3,{SECRET}\n', 2, False),
        (f'a,"b\n1,{SECRET}\n', None, False),
        (f'a,b\n1,"x\n2,"{SECRET}"\n3,z\n', 1, True),
        (f'a,b\n1,x\n2,"x" {SECRET}\n', 2, True),
        ('a,b\n1,"x""\n', 1, False),
    ],
)
def test_a_quote_that_does_not_close(file, content, record, closes):
    how = Csv(delimiter=",", quote='"')
    refuses(file(content), DataError, "stray-quote", how, record=record, closes=closes)


def test_a_wrong_encoding(file):
    path = file("a,b\nGöteborg,1\n".encode("latin-1"))
    refuses(path, DataError, "wrong-encoding", Csv(encoding="utf-8"), encoding="utf-8", byte=6)
    refuses(file(b"a,b\n1,2"), DataError, "wrong-encoding", Csv(encoding="utf-16"), encoding="utf-16")
    refuses(file(b"\xff\xfea\x00,"), DataError, "wrong-encoding")


def test_bytes_that_are_no_text(file):
    refuses(file(b"a,b\n1,\x002\n"), DataError, "not-text-file", nul=True)
    refuses(file("a,b\n1,2\n".encode("utf-16-le")), DataError, "not-text-file", nul=True)
    refuses(file(b"\x1f\x8b\x08\xff\x03\x04\xfe\n"), DataError, "not-text-file", nul=False)
    path = file(b"", "parquet.csv")
    pq.write_table(pa.table({"a": [1]}), path)
    refuses(path, DataError, "not-text-file", path=str(path))


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
        refuses(path, FileError, "damaged-file", path=str(path), format=KINDS[path.suffix].capitalize())


def test_each_kind_under_the_other_name(tmp_path):
    table = open_table(pa.table({"a": [1]}))
    write_table(table, tmp_path / "a.arrow", "parquet")
    write_table(table, tmp_path / "a.parquet", "arrow")
    refuses(tmp_path / "a.arrow", FileError, "damaged-file", format="Arrow")
    refuses(tmp_path / "a.parquet", FileError, "damaged-file", format="Parquet")


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
        refuses(source, PlanError, "only-for-format", Csv(delimiter=";"), "csv", format="CSV")
        assert len(open_table(source, Csv())) == 1


def test_a_place_that_cannot_be_written(tmp_path):
    table = open_table(pa.table({"a": [1]}))
    for kind in ("csv", "parquet", "arrow"):
        path = tmp_path / "none" / "out"
        with refused(FileError, "file-not-writable", path=str(path), reason=os.strerror(errno.ENOENT)):
            write_table(table, path, kind)


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
    with refused(DataError, "type-not-for-format", column="a", type="month_day_nano_interval", format="Parquet"):
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
        ([1, 2], ("ordinal", [1, "x"]), "values-of-other-type"),
        ([1, 2], ("ordinal", [1]), "unknown-level"),
    ],
)
def test_a_column_that_does_not_suit_its_type(column, options, code):
    with refused(DataError, code, column="x"):
        encode(open_table(pa.table({"x": column})), "x", *options)

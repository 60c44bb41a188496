"""Files of SPSS, Stata and SAS that are damaged are never half read, and what has no place in one is refused."""

import contextlib
import datetime as dt
import math
import pickle
import struct
import sys
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from surveys import KINDS, labelled, opened, survey, there_and_back
from tests.expect import refused, reports

from shoal.errors import DataError, FileError, MissingExtra, ShoalError
from shoal.messages import Message
from shoal.tables.files import kind_of, open_table, writable_kind, write_table
from shoal.tables.stat.labels import Labels
from shoal.tables.stat.limits import HOLDERS, TITLES
from shoal.tables.table import Table


@pytest.mark.parametrize("kind", [*KINDS, "sas7bdat"])
@pytest.mark.parametrize(
    "data", [b"", b"a,b\n1,2\n", b"\0" * 2000, b"$FL2@(#) SPSS", b"<stata_dta><header>", b"PK\3\4" * 99]
)
def test_what_is_not_such_a_file_is_refused(tmp_path, kind, data):
    (tmp_path / f"t.{kind}").write_bytes(data)
    with refused(FileError, "damaged-file", path=str(tmp_path / f"t.{kind}"), format=TITLES[kind]):
        opened(tmp_path / f"t.{kind}")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path, kind):
    rows = 15
    table = labelled(
        {"X": [float(i) for i in range(rows)], "S": [f"a{i}" for i in range(rows)]}, {"X": Labels(values={1.0: "one"})}
    )
    whole = there_and_back(table, tmp_path, kind)
    data = (tmp_path / f"t.{kind}").read_bytes()
    for cut in range(0, len(data), 11):
        (tmp_path / f"t.{kind}").write_bytes(data[:cut])
        if kind == "por" and b"Z" in data[len(data.rstrip(b"Z\r\n")) : cut]:  # more of the Z that ends it mean nothing
            assert opened(tmp_path / f"t.{kind}").native.equals(whole, check_metadata=True)
            continue
        with refused(FileError, "damaged-file"):
            opened(tmp_path / f"t.{kind}")


def test_old_transport_files_that_are_cut_off_within_a_row_are_refused(tmp_path):
    frame = pl.DataFrame({"x": [float(i) for i in range(1, 60)], "s": ["abc"] * 59})
    pyreadstat.write_xport(frame, tmp_path / "t.xpt", file_format_version=5)
    data = (tmp_path / "t.xpt").read_bytes()
    assert opened(tmp_path / "t.xpt").native.num_rows == 59
    for cut in range(0, len(data), 40):
        (tmp_path / "t.xpt").write_bytes(data[:cut])
        with pytest.raises(ShoalError) as caught:
            opened(tmp_path / "t.xpt")
        assert (
            reports(caught.value.messages, "damaged-file", format="SAS transport")
            or "no records" in caught.value.sentences[0]
        )


def test_two_tables_in_a_transport_file_are_not_taken_for_one(tmp_path):
    pyreadstat.write_xport(pl.DataFrame({"x": [1.0, 2.0]}), tmp_path / "t.xpt", file_format_version=5)
    data = (tmp_path / "t.xpt").read_bytes()
    (tmp_path / "t.xpt").write_bytes(data + data[240:])
    for read in (opened, open_table):  # also in a process of its own
        with refused(FileError, "several-tables", path=str(tmp_path / "t.xpt")) as caught:
            read(tmp_path / "t.xpt")
        assert len(caught.value.messages) == 1


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(st.data())
def test_a_damaged_file_gives_a_table_or_one_sentence(tmp_path_factory, kind, data):
    folder = tmp_path_factory.mktemp("t")
    there_and_back(survey(), folder, kind)
    path = folder / f"t.{kind}"
    broken = bytearray(path.read_bytes())
    # the library that parses SPSS files may crash on bytes that are no text in the dictionary, which ends with 999
    first = broken.index(struct.pack("<i", 999)) if kind in ("sav", "zsav") else 0
    at = data.draw(st.integers(first, len(broken) - 4))
    broken[at : at + 4] = data.draw(st.binary(min_size=4, max_size=4))
    path.write_bytes(broken)
    with contextlib.suppress(ShoalError):
        assert opened(path).native.num_columns == 6


def test_a_file_on_which_the_library_crashes_gives_one_sentence(tmp_path):
    table = labelled({"region": ["north", "south"]}, {"region": Labels(values={"north": "North"})})
    write_table(Table(table), tmp_path / "t.sav", "sav")
    data = (tmp_path / "t.sav").read_bytes()
    at = data.index(b"north")  # the code in the dictionary, before the records
    (tmp_path / "t.sav").write_bytes(data[:at] + b"\x8fq\xb0\xa3\xff" + data[at + 5 :])
    with refused(FileError, "damaged-file", path=str(tmp_path / "t.sav"), format="SPSS") as caught:
        open_table(tmp_path / "t.sav")
    assert len(caught.value.messages) == 1


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_a_damaged_file_is_one_message_from_the_process_that_reads_it(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    there_and_back(survey(), tmp_path, kind)
    path.write_bytes(path.read_bytes()[:-100])
    with refused(FileError, "damaged-file", path=str(path), format=TITLES[kind], line=None) as caught:
        open_table(path)
    assert len(caught.value.messages) == 1
    assert pickle.loads(pickle.dumps(caught.value)).messages == caught.value.messages


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("sav", name) for name in ("a b", "1a", "_a", "a-b", "x" * 65, "é" * 33, "ALL", "$a")),
        *(("por", name) for name in ("age", "ABCDEFGHI", "É", "A-B")),
        *(("dta", name) for name in ("a b", "1a", "a.b", "x" * 33, "if", "str5", "_n")),
        *(("xpt", name) for name in ("a b", "1a", "é", "a.b", "x" * 33)),
    ],
)
def test_a_name_that_the_file_cannot_hold_is_refused(tmp_path, kind, name):
    rule, most = Message(HOLDERS[kind].rule), HOLDERS[kind].name_length
    with refused(DataError, "name-not-for-format", column=name, format=TITLES[kind], rule=rule, most=most):
        write_table(Table(pa.table({name: [1.0]})), tmp_path / "t", kind)


@pytest.mark.parametrize("kind", ["sav", "xpt"])
def test_names_that_differ_by_capitals_only_are_refused(tmp_path, kind):
    with refused(DataError, "names-differ-in-case", columns=["AB", "aB"], format=TITLES[kind]):
        write_table(Table(pa.table({"AB": [1.0], "aB": [1.0]})), tmp_path / "t", kind)


FAR = dt.datetime(2020, 1, 1, 0, 0, 0, 1)
EXACT = Message("limit-integers", low=-(2**53), high=2**53)
SHORT = Message("limit-integers", low=1 - 2**31, high=2**31 - 28)
FINITE = Message("limit-finite")
YEARS = Message("limit-years", first=1, last=9999, type="timestamp[ms]")


@pytest.mark.parametrize(
    ("kind", "column", "value", "record", "limit"),
    [
        ("sav", pa.array([1, 2**53 + 1]), "number", 2, EXACT),
        ("sav", pa.array([1, 2**64 - 1], pa.uint64()), "number", 2, EXACT),
        ("dta", pa.array([1, 2**31 - 1], pa.int32()), "number", 2, SHORT),
        ("sav", pa.array([1.0, math.inf]), "number", 2, FINITE),
        ("dta", pa.array([1.0, 9e307]), "number", 2, FINITE),
        ("xpt", pa.array([1.0, 1e76]), "number", 2, FINITE),
        ("xpt", pa.array([1.0, 1e-80]), "number", 2, FINITE),
        ("sav", pa.array(["0.1234567890123456789"] * 2).cast(pa.decimal128(30, 19)), "number", 1, FINITE),
        ("dta", pa.array([FAR, FAR], pa.timestamp("us")), "date or time", 1, YEARS),
        ("sav", pa.array([0, 2**48], pa.timestamp("ms")), "date or time", 2, YEARS),
        ("sav", pa.array(["a", "b\0"]), "text", 2, Message("limit-bytes", most=32_767, portable=False)),
        ("sav", pa.array(["a", "b" * 32_768]), "text", 2, Message("limit-bytes", most=32_767, portable=False)),
        ("por", pa.array(["a", "é"]), "text", 2, Message("limit-bytes", most=255, portable=True)),
        ("por", pa.array(["a", "b" * 256]), "text", 2, Message("limit-bytes", most=255, portable=True)),
    ],
)  # fmt: skip
def test_a_value_that_the_file_cannot_hold_is_refused(tmp_path, kind, column, value, record, limit):
    found = {"column": "X", "value": value, "record": record, "format": TITLES[kind], "limit": limit}
    with refused(DataError, "value-not-for-format", **found):
        write_table(Table(pa.table({"X": column})), tmp_path / "t", kind)


@pytest.mark.parametrize(
    "column", [pa.array([[1], [2]]), pa.array([b"1", b"2"]), pa.array([FAR, FAR], pa.timestamp("us", "UTC"))], ids=str
)
def test_a_type_that_the_file_cannot_hold_is_refused(tmp_path, column):
    found = {"column": "X", "type": str(column.type), "format": "SPSS", "instead": "Parquet"}
    with refused(DataError, "type-not-for-format", **found):
        write_table(Table(pa.table({"X": column})), tmp_path / "t", "sav")


def test_a_full_disk_is_not_blamed_on_the_table():
    if not Path("/dev/full").exists():
        pytest.skip("this system has no disk that is always full")
    with refused(FileError, "file-not-writable", path="/dev/full"):
        write_table(Table(survey()), "/dev/full", "sav")


@pytest.mark.parametrize(
    ("said", "error", "code", "data"),
    [
        ("secret", DataError, "labels-not-for-format", {"format": "SPSS"}),
        ("Unable to write", FileError, "file-not-writable", {"reason": Message("disk-error", full=True)}),
    ],
)
def test_an_error_of_the_library_shows_none_of_its_words(tmp_path, monkeypatch, said, error, code, data):
    def fail(*_, **__):
        raise ValueError(said)

    monkeypatch.setattr("pyreadstat._readstat_writer.writer_entry_point", fail)
    with refused(error, code, **data) as caught:
        write_table(Table(survey()), tmp_path / "t.sav", "sav")
    assert said not in str(caught.value)


def test_sas_files_can_be_read_but_not_written():
    assert kind_of("t.sas7bdat") == "sas7bdat"
    assert writable_kind("t.XPT") == "xpt"
    with refused(FileError, "read-only-format", path="t.sas7bdat", extension=".sas7bdat", instead=".xpt"):
        writable_kind("t.sas7bdat")


@pytest.mark.parametrize("module", ["pyreadstat._readstat_parser", "pyreadstat._readstat_writer", "polars"])
def test_without_the_extra_its_name_is_told(tmp_path, monkeypatch, module):
    write_table(Table(survey()), tmp_path / "t.sav", "sav")
    monkeypatch.setitem(sys.modules, module, None)
    act = opened if module.endswith("parser") else partial(write_table, Table(survey()), kind="sav")
    feature = f"{'reading' if module.endswith('parser') else 'writing'} SPSS files"
    with refused(MissingExtra, "missing-extra", feature=feature, extra="stat"):
        act(tmp_path / "t.sav")

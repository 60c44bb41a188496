"""Files of SPSS, Stata and SAS that are damaged are never half read, and what has no place in one is refused."""

import contextlib
import datetime as dt
import math
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

from shoal.errors import DataError, FileError, MissingExtra, ShoalError
from shoal.tables.files import kind_of, open_table, writable_kind, write_table
from shoal.tables.stat.labels import Labels
from shoal.tables.table import Table


@pytest.mark.parametrize("kind", [*KINDS, "sas7bdat"])
@pytest.mark.parametrize(
    "data", [b"", b"a,b\n1,2\n", b"\0" * 2000, b"$FL2@(#) SPSS", b"<stata_dta><header>", b"PK\3\4" * 99]
)
def test_what_is_not_such_a_file_is_refused(tmp_path, kind, data):
    (tmp_path / f"t.{kind}").write_bytes(data)
    with pytest.raises(FileError, match=r"is not a complete (SPSS|SPSS portable|Stata|SAS|SAS transport) file: it is"):
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
        with pytest.raises(FileError, match="is not a complete"):
            opened(tmp_path / f"t.{kind}")


def test_old_transport_files_that_are_cut_off_within_a_row_are_refused(tmp_path):
    frame = pl.DataFrame({"x": [float(i) for i in range(1, 60)], "s": ["abc"] * 59})
    pyreadstat.write_xport(frame, tmp_path / "t.xpt", file_format_version=5)
    data = (tmp_path / "t.xpt").read_bytes()
    assert opened(tmp_path / "t.xpt").native.num_rows == 59
    for cut in range(0, len(data), 40):
        (tmp_path / "t.xpt").write_bytes(data[:cut])
        with pytest.raises(ShoalError, match=r"is not a complete SAS transport file|no records"):
            opened(tmp_path / "t.xpt")


def test_two_tables_in_a_transport_file_are_not_taken_for_one(tmp_path):
    pyreadstat.write_xport(pl.DataFrame({"x": [1.0, 2.0]}), tmp_path / "t.xpt", file_format_version=5)
    data = (tmp_path / "t.xpt").read_bytes()
    (tmp_path / "t.xpt").write_bytes(data + data[240:])
    with pytest.raises(FileError, match="has more than one table"):
        opened(tmp_path / "t.xpt")


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
    with pytest.raises(FileError, match=r"cannot be read: it is damaged, truncated, or in another format."):
        open_table(tmp_path / "t.sav")


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
    with pytest.raises(DataError, match="is not a valid name in a"):
        write_table(Table(pa.table({name: [1.0]})), tmp_path / "t", kind)


@pytest.mark.parametrize("kind", ["sav", "por", "xpt"])
def test_names_that_differ_by_capitals_only_are_refused(tmp_path, kind):
    with pytest.raises(DataError, match=r"differ only in case|is not a valid name"):
        write_table(Table(pa.table({"AB": [1.0], "aB": [1.0]})), tmp_path / "t", kind)


NUMBER = "holds a number in record 2 that an? (SPSS|Stata|SAS transport) file cannot hold"
FAR = dt.datetime(2020, 1, 1, 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("kind", "column", "what"),
    [
        ("sav", pa.array([1, 2**53 + 1]), NUMBER),
        ("sav", pa.array([1, 2**64 - 1], pa.uint64()), NUMBER),
        ("dta", pa.array([1, 2**31 - 1], pa.int32()), NUMBER),
        ("sav", pa.array([1.0, math.inf]), NUMBER),
        ("dta", pa.array([1.0, 9e307]), NUMBER),
        ("xpt", pa.array([1.0, 1e76]), NUMBER),
        ("xpt", pa.array([1.0, 1e-80]), NUMBER),
        ("sav", pa.array([[1], [2]]), "is of type list"),
        ("sav", pa.array([b"1", b"2"]), "is of type binary"),
        ("dta", pa.array([FAR, FAR], pa.timestamp("us")), r"a date or time in record 1 .* as timestamp\[ms\]"),
        ("sav", pa.array([FAR, FAR], pa.timestamp("us", "UTC")), r"is of type timestamp\[us, tz=UTC\]"),
        ("sav", pa.array([0, 2**48], pa.timestamp("ms")), "a date or time in record 2 .*the years 1 to 9999"),
        ("sav", pa.array(["a", "b\0"]), r"holds a text in record 2 that an SPSS file cannot hold \(.* no NUL"),
        ("sav", pa.array(["a", "b" * 32_768]), r"a text in record 2 that an SPSS file .*at most 32767 bytes"),
        ("por", pa.array(["a", "é"]), "holds a text in record 2 that an SPSS portable file cannot hold"),
        ("por", pa.array(["a", "b" * 256]), "a text in record 2 that an SPSS portable file .*at most 255 bytes"),
        ("sav", pa.array(["0.1234567890123456789"] * 2).cast(pa.decimal128(30, 19)), "holds a number in record 1 that"),
    ],
)  # fmt: skip
def test_a_value_that_the_file_cannot_hold_is_refused(tmp_path, kind, column, what):
    with pytest.raises(DataError, match=rf"^column 'X' .*{what}"):
        write_table(Table(pa.table({"X": column})), tmp_path / "t", kind)


def test_a_full_disk_is_not_blamed_on_the_table():
    if not Path("/dev/full").exists():
        pytest.skip("this system has no disk that is always full")
    with pytest.raises(FileError, match="cannot be written"):
        write_table(Table(survey()), "/dev/full", "sav")


def test_sas_files_can_be_read_but_not_written():
    assert kind_of("t.sas7bdat") == "sas7bdat"
    assert writable_kind("t.XPT") == "xpt"
    with pytest.raises(FileError, match=r"can be read but not written. Use \.xpt"):
        writable_kind("t.sas7bdat")


@pytest.mark.parametrize("module", ["pyreadstat._readstat_parser", "pyreadstat._readstat_writer", "polars"])
def test_without_the_extra_its_name_is_told(tmp_path, monkeypatch, module):
    write_table(Table(survey()), tmp_path / "t.sav", "sav")
    monkeypatch.setitem(sys.modules, module, None)
    act = opened if module.endswith("parser") else partial(write_table, Table(survey()), kind="sav")
    with pytest.raises(MissingExtra, match=r"ing SPSS files needs an extra .*shoal-sdc\[stat\]"):
        act(tmp_path / "t.sav")

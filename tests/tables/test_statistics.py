"""Files of SPSS, Stata and SAS: what is read is written again as it was, with all that is said of it."""

import datetime as dt
import struct

import numpy as np
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from surveys import KINDS, labelled, opened, survey, there_and_back
from tests.expect import codes, reports

from shoal.tables.files import open_table, write_table
from shoal.tables.stat.labels import Labels, labels_of, letters_of, tagged
from shoal.tables.storage import stored, stored_type, unkept
from shoal.tables.table import Table


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_holds_what_was_said_it_would(tmp_path, kind):
    found, expected = there_and_back(survey(), tmp_path, kind), stored(survey(), kind)
    assert found.equals(expected)
    for field in expected.schema:
        one, two = labels_of(found.field(field.name)), labels_of(field)
        assert (one.label, one.values, one.missing) == (two.label, two.values, two.missing)


@pytest.mark.parametrize("kind", ["sav", "zsav"])
def test_all_that_spss_says_of_a_column_is_kept(tmp_path, kind):
    found = there_and_back(survey(), tmp_path, kind)
    assert found.drop_columns(["SEEN", "AT"]).equals(survey().drop_columns(["SEEN", "AT"]))
    for name in ("AGE", "INCOME", "REGION", "BORN"):
        assert labels_of(found.field(name)) == labels_of(survey().field(name))
    assert unkept(survey(), kind) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_was_read_is_written_with_the_same_bytes(tmp_path, kind):
    first = there_and_back(survey(), tmp_path, kind)
    before = (tmp_path / f"t.{kind}").read_bytes()
    second = there_and_back(first, tmp_path, kind)
    assert second.equals(first, check_metadata=True)
    assert (tmp_path / f"t.{kind}").read_bytes() == before


@pytest.mark.parametrize("kind", KINDS)
def test_the_time_of_writing_is_not_in_the_file(tmp_path, kind):
    write_table(Table(survey()), tmp_path / "t", kind)
    data = (tmp_path / "t").read_bytes()
    now = dt.datetime.now()
    for words in (f"{now:%d %b %y}", f"{now:%d %b %Y}", f"{now:%d%b%y}".upper(), f"{now:%Y%m%d}"):
        assert words.encode() not in data[:1024]
    with_public_function = {"dta": pyreadstat.read_dta, "xpt": pyreadstat.read_xport, "por": pyreadstat.read_por}
    _, said = with_public_function.get(kind, pyreadstat.read_sav)(tmp_path / "t", metadataonly=True)
    assert said.creation_time.date() == dt.date(1980, 1, 1)


def test_parquet_keeps_the_labels_on_the_way_from_spss_to_spss(tmp_path):
    first = there_and_back(survey(), tmp_path, "sav")
    write_table(Table(first), tmp_path / "t.parquet", "parquet")
    again = there_and_back(opened(tmp_path / "t.parquet").native, tmp_path, "sav")
    assert again.equals(first, check_metadata=True)


def test_files_of_other_writers_are_read(tmp_path):
    frame = pl.DataFrame(
        {"sex": [1, 2, 9], "wage": [1.5, None, 3.0], "ort": ["Köln", "", "東京"], "day": [dt.date(2020, 1, 1)] * 3}
    )
    pyreadstat.write_sav(
        frame,
        tmp_path / "t.sav",
        column_labels={"sex": "Geschlecht"},
        variable_value_labels={"sex": {1: "männlich", 2: "weiblich"}},
        missing_ranges={"sex": [9]},
        variable_measure={"sex": "nominal"},
        variable_format={"sex": "F1.0"},
    )  # fmt: skip
    table = opened(tmp_path / "t.sav").native
    assert table.to_pydict() == {**frame.to_dict(as_series=False), "ort": ["Köln", None, "東京"]}
    assert table.schema.types == [pa.int64(), pa.float64(), pa.string(), pa.date32()]
    labels = labels_of(table.field("sex"))
    assert labels == Labels(
        "Geschlecht", {1.0: "männlich", 2.0: "weiblich"}, ((9.0, 9.0),), "nominal", "F1.0", 8, "spss"
    )


def test_stata_keeps_letters_integers_and_labels(tmp_path):
    frame = pl.DataFrame(
        {
            "kids": pl.Series([2, "a", None, "z"], dtype=pl.Object),
            "wage": pl.Series([2.5, "b", None, 1.0], dtype=pl.Object),
            "year": pl.Series([1, 2, None, 4], dtype=pl.Int32),
            "note": ["x" * 3000, "trailing ", "", "é"],
        }
    )
    letters = {"kids": ["a", "z"], "wage": ["b"]}
    words = {"kids": {2: "two", "a": "refused"}, "year": {1: "first"}}
    pyreadstat.write_dta(frame, tmp_path / "s.dta", missing_user_values=letters, variable_value_labels=words)
    table = opened(tmp_path / "s.dta").native
    assert table.schema.types == [pa.float64(), pa.float64(), pa.int32(), pa.string()]
    assert bytes(letters_of(table["kids"].to_numpy())) == b"\0a\0z"
    assert [cell.is_valid for cell in table["kids"]] == [True, True, False, True]
    assert labels_of(table.field("kids")).values == {2.0: "two", "a": "refused"}
    assert table["note"].to_pylist() == ["x" * 3000, "trailing ", None, "é"]
    again = there_and_back(table, tmp_path, "dta")
    assert again.schema.equals(table.schema, check_metadata=True)
    for name in table.column_names:
        assert again[name].to_pylist()[2:3] == table[name].to_pylist()[2:3]
    assert bytes(letters_of(again["wage"].to_numpy())) == b"\0b\0\0"
    assert pyreadstat.read_dta(tmp_path / "t.dta", user_missing=True, output_format="dict")[0]["kids"] == [
        2,
        "a",
        None,
        "z",
    ]
    assert unkept(table, "dta") == []
    assert reports(unkept(table, "sav")[-1:], "letters-of-missing-lost", format="SPSS", columns=["kids", "wage"])
    assert there_and_back(table, tmp_path, "sav")["kids"].to_pylist() == [2.0, None, None, None]


def test_sas_letters_are_read_and_go_to_stata(tmp_path):
    pyreadstat.write_xport(pl.DataFrame({"x": [1.0, 7.0, 3.0]}), tmp_path / "t.xpt", file_format_version=5)
    data = (tmp_path / "t.xpt").read_bytes()
    seven = b"A\x70" + bytes(6)
    assert data.count(seven) == 1
    (tmp_path / "t.xpt").write_bytes(data.replace(seven, b"R" + bytes(7)))
    table = opened(tmp_path / "t.xpt").native
    assert bytes(letters_of(table["x"].to_numpy())) == b"\0R\0"
    assert bytes(letters_of(there_and_back(table, tmp_path, "dta")["x"].to_numpy())) == b"\0r\0"
    assert "letters" in " ".join(unkept(table, "xpt"))


def test_dates_that_arrow_cannot_hold_stay_numbers_with_their_format(tmp_path):
    table = labelled(
        {"LONG": [90_000.0, 1.0], "FAR": [1e12, 0.0], "WEEK": [0.5, 1.0]},
        {
            "LONG": Labels(format="TIME8", package="spss"),
            "FAR": Labels(format="DATETIME20", package="spss"),
            "WEEK": Labels(format="DATE11", package="spss"),
        },
    )
    found = there_and_back(table, tmp_path, "sav")
    assert found.equals(table)
    assert [labels_of(field).format for field in found.schema] == ["TIME8", "DATETIME20", "DATE11"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_float_stays_one_when_its_values_become_whole(tmp_path, kind):
    package = {"dta": "stata", "xpt": "sas"}.get(kind, "spss")
    own = {"stata": "%8.0f", "sas": "F8", "spss": "F8.0"}[package]
    table = labelled({"X": [1.0, 2.0], "Y": [10.0, 20.0]}, {"X": Labels(format=own, package=package)})
    assert there_and_back(table, tmp_path, kind).equals(table)


@pytest.mark.parametrize("kind", KINDS)
def test_booleans_and_categories_become_numbers_with_labels(tmp_path, kind):
    ordered = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.int8()), ["low", "high"], ordered=True)
    table = pa.table(
        {"YES": [True, False, None], "LEVEL": ordered, "NAME": pa.array(["b", "a", None]).dictionary_encode()}
    )
    found = there_and_back(table, tmp_path, kind)
    assert found["YES"].to_pylist() == [1, 0, None]
    if kind == "xpt":
        assert found["LEVEL"].to_pylist() == ["high", "low", None]
        return
    assert found["LEVEL"].to_pylist() == [2, 1, None]
    assert labels_of(found.field("YES")).values == {0.0: "false", 1.0: "true"}
    assert labels_of(found.field("LEVEL")).values == {1.0: "low", 2.0: "high"}
    assert labels_of(found.field("NAME")).values == {1.0: "b", 2.0: "a"}
    if kind in ("sav", "zsav"):
        assert [labels_of(found.field(name)).measure for name in ("LEVEL", "NAME")] == ["ordinal", "nominal"]


TYPES = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float32(), pa.float64(), pa.decimal128(5, 2), pa.bool_(), pa.string(), pa.large_string()),
    *(pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("us"), pa.time32("s"), pa.time64("ns")),
    *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int8(), pa.int64())),
]


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("kind", [*KINDS, "csv", "parquet", "arrow", "excel", "xml"])
def test_the_type_that_is_promised_is_the_type_that_is_read(tmp_path, kind, type_):
    plain = pa.array([1, 2, 1], pa.int32())
    inner = getattr(type_, "value_type", type_)
    if pa.types.is_string(inner) or pa.types.is_large_string(inner):
        plain = pa.array(["one", "two", "one"])
    elif pa.types.is_date64(type_):
        plain = plain.cast(pa.date32())
    elif pa.types.is_time(type_):
        plain = plain.cast(pa.time32("s"))
    elif pa.types.is_timestamp(type_):
        plain = pa.array([60, 120, 60]).cast(pa.timestamp("s"))
    elif pa.types.is_decimal(type_) or pa.types.is_floating(type_):
        plain = pa.array([1.25, 2.5, 0.75])
    column = plain.cast(inner)
    column = column.dictionary_encode() if pa.types.is_dictionary(type_) else column
    path = tmp_path / f"t.{'xlsx' if kind == 'excel' else kind}"
    write_table(open_table(pa.table({"X": column})), path, kind)
    found = opened(path).column("X").type
    if pa.types.is_time(type_) and kind in ("csv", "xml"):
        assert found == stored_type(kind, type_) == pa.string()
    else:
        assert found == stored_type(kind, type_ if not pa.types.is_dictionary(type_) else column.type)


NAMES = st.sampled_from(["A", "B2", "C_C", "LONGNAME"])
SIMPLE = st.text(st.sampled_from("abcXYZ 019.-é東"), max_size=9)


@st.composite
def tables(draw, kind):
    size = draw(st.integers(1, 5))
    texts = SIMPLE if kind != "por" else SIMPLE.filter(str.isascii)
    floats = st.floats(1e-70, 1e70) | st.floats(-1e70, -1e-70) | st.just(0.0)

    def column(cells, type_):
        return st.lists(st.none() | cells, min_size=size, max_size=size).map(lambda drawn: pa.array(drawn, type_))

    kinds = st.one_of(
        column(texts, pa.string()),
        column(texts, pa.dictionary(pa.int32(), pa.string())),
        column(floats, pa.float64()),
        column(st.integers(-(2**53), 2**53), pa.int64()),
        column(st.integers(-(2**31) + 1, 2**31 - 28), pa.int32()),
        column(st.booleans(), pa.bool_()),
        column(st.dates(), pa.date32()),
        column(st.datetimes(), pa.timestamp("us")).map(lambda moments: moments.cast(pa.timestamp("ms"), safe=False)),
        column(st.times(), pa.time64("us")),
    )
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    columns = {name: draw(kinds) for name in names}
    # without a value in its last record, a table of texts ends in blanks, as SAS transport files do anyway
    columns["ID"] = pa.array(range(1, size + 1))
    words = draw(st.dictionaries(st.integers(-5, 5).map(float), texts.filter(str.strip), max_size=3))
    ranges = draw(st.sampled_from([(), ((5.0, 5.0),), ((-5.0, -3.0), (4.0, 4.0))]))
    return labelled(columns, {"ID": Labels(draw(st.none() | texts.map(str.strip)) or None, words, ranges)})


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(st.data())
def test_whatever_a_table_holds_the_file_holds_what_was_said(tmp_path_factory, kind, data):
    table = data.draw(tables(kind))
    folder = tmp_path_factory.mktemp("t")
    found, expected = there_and_back(table, folder, kind), stored(table, kind)
    assert found.equals(expected)
    assert found.schema.types == [stored_type(kind, type_) for type_ in table.schema.types]
    one, two = labels_of(found.field("ID")), labels_of(expected.field("ID"))
    assert (one.label, one.missing) == (two.label, two.missing)
    assert one.values == {code: text.rstrip() for code, text in two.values.items()}


def test_long_labels_are_shortened_between_characters_and_said_so(tmp_path):
    table = labelled({"X": [1.0]}, {"X": Labels("é" * 200, {1.0: "ü" * 100})})
    found = labels_of(there_and_back(table, tmp_path, "sav").field("X"))
    assert (found.label, found.values) == ("é" * 128, {1.0: "ü" * 60})
    assert reports(unkept(table, "sav"), "labels-lost", format="SPSS", columns=["X"])
    assert labels_of(there_and_back(table, tmp_path, "dta").field("X")).label == "é" * 40


def test_what_a_kind_cannot_keep_is_named():
    assert unkept(survey(), "parquet") == []
    lost = unkept(survey(), "csv")
    assert codes(lost) == ["labels-lost"]
    assert lost[0].data == {"format": "CSV", "columns": ["AGE", "INCOME", "REGION", "BORN"]}
    lost = unkept(survey(), "dta")[1]
    assert lost.code == "codes-not-missing-in-format"
    assert lost.data == {"format": "Stata", "columns": ["AGE", "INCOME", "REGION", "BORN"]}
    assert unkept(survey().select(["SEEN"]), "xpt") == []


def test_short_numbers_of_sas_are_read(tmp_path):
    pyreadstat.write_xport(pl.DataFrame({"A": [1.0, 2.0, 3.5]}), tmp_path / "t.xpt", file_format_version=5)
    data = bytearray((tmp_path / "t.xpt").read_bytes())
    at = data.index(b"HEADER RECORD*******NAMESTR") + 80
    data[at + 4 : at + 6] = struct.pack(">H", 4)
    start = data.index(b"HEADER RECORD*******OBS ") + 80
    rows = b"".join(bytes(data[start + 8 * i : start + 8 * i + 4]) for i in range(3))
    (tmp_path / "t.xpt").write_bytes(bytes(data[:start]) + rows.ljust(80))
    assert opened(tmp_path / "t.xpt").native["A"].to_pylist() == [1.0, 2.0, 3.5]


def test_the_last_milliseconds_of_time_are_exact(tmp_path):
    last = 253_402_300_799_999  # of the year 9999
    table = pa.table({"X": pa.array(range(last - 999, last + 1), pa.timestamp("ms"))})
    for kind in KINDS:
        assert there_and_back(table, tmp_path, kind).equals(table)


def test_a_nan_is_a_missing_value_and_a_letter_is_lost_only_where_it_must(tmp_path):
    column = pa.array(np.concatenate([tagged([1.0, "c"]), [np.nan]]))
    assert there_and_back(pa.table({"X": column}), tmp_path, "sav")["X"].to_pylist() == [1.0, None, None]
    found = there_and_back(pa.table({"X": column}), tmp_path, "dta")["X"]
    assert [cell.is_valid for cell in found] == [True, True, False]

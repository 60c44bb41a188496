"""Excel: what a workbook holds comes out as Excel shows it or not at all; what is written comes back to the bit."""

import builtins
import datetime as dt
import decimal
import re
import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.formatting.rule import CellIsRule
from openpyxl.workbook.protection import WorkbookProtection
from tests.expect import refused

from shoal.errors import DataError, FileError, MissingExtra
from shoal.messages import Message
from shoal.tables.excel.reading import read_workbook
from shoal.tables.excel.writing import MOST_COLUMNS, MOST_ROWS, write_excel
from shoal.tables.numbers import find_odd

SHEET, STRINGS, TYPES = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "[Content_Types].xml"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
MILLISECONDS = st.datetimes(dt.datetime(1900, 1, 1)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["=1+1", "+1", "-1", "@SUM(A1)", "_x0041_", "_x0041_x0042_", "x005F_", "\r\n", " ", "1", "true", "#N/A", "'"]
)
KINDS = {
    pa.int64(): st.integers(-(2**53), 2**53),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
    pa.bool_(): st.booleans(),
    pa.string(): TEXTS,
    pa.date32(): st.dates(dt.date(1900, 1, 1)),
    pa.timestamp("us"): MILLISECONDS,
    pa.time64("us"): MILLISECONDS.map(dt.datetime.time),
    pa.duration("us"): st.integers(-8_640_000_000_000, 8_640_000_000_000).map(lambda ms: dt.timedelta(milliseconds=ms)),
}


@pytest.fixture
def saved(tmp_path):
    """Save rows with openpyxl, which is not what writes Shoal's own files, and give the path."""

    def _save(rows=(), change=None):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        if change:
            change(book)
        book.save(tmp_path / "in.xlsx")
        return tmp_path / "in.xlsx"

    return _save


def rewrite(path, change):
    """Put the parts of a workbook through a function, by name."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


@pytest.fixture
def patched(saved):
    """Save rows, and put one text for another in a part of the file."""

    def _patch(rows, part, old, new):
        def change(parts):
            assert old in parts[part]
            parts[part] = parts[part].replace(old, new)

        path = saved(rows)
        rewrite(path, change)
        return path

    return _patch


@pytest.fixture
def shared(saved):
    """Save one record whose text is kept as Excel keeps it, in a part of its own."""

    def _share(text):
        def change(parts):
            cell = re.compile('<c r="A2" t="inlineStr">.*?</c>')
            assert cell.search(parts[SHEET])
            parts[SHEET] = cell.sub('<c r="A2" t="s"><v>0</v></c>', parts[SHEET])
            parts[STRINGS] = f'<sst xmlns="{MAIN}"><si><t xml:space="preserve">{text}</t></si></sst>'
            kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
            entry = f'<Override PartName="/{STRINGS}" ContentType="{kind}"/></Types>'
            parts[TYPES] = re.sub('<Override PartName="/xl/sharedStrings.xml".*?/>', "", parts[TYPES])
            parts[TYPES] = parts[TYPES].replace("</Types>", entry)

        path = saved([["a"], ["x"]])
        rewrite(path, change)
        return path

    return _share


def read_excel(path):
    """The table of a workbook."""
    return read_workbook(path)[0]


def round_trip(table):
    with tempfile.TemporaryDirectory() as folder:
        write_excel(table, Path(folder, "table.of-any-name"))
        return read_excel(Path(folder, "table.of-any-name"))


EXCEL = {"format": "Excel"}


def refusal(path, code, error=DataError, /, **data):
    with refused(error, code, **data) as caught:
        read_excel(path)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def bits(values):
    return [struct.pack("<d", value) if isinstance(value, float) else value for value in values]


@settings(max_examples=150)
@given(st.data(), st.integers(1, 5), st.lists(TEXTS.filter(str.strip), min_size=1, max_size=4, unique=True))
def test_values_types_order_and_missing_values_come_back(data, count, names):
    columns = {}
    for name in names:
        kind = data.draw(st.sampled_from(list(KINDS)))
        values = data.draw(st.lists(KINDS[kind] | st.none(), min_size=count, max_size=count))
        columns[name] = pa.array(values, kind)
    columns["last"] = pa.array(range(count))  # so that every record has a value
    again = round_trip(pa.table(columns))
    assert again.column_names == list(columns)
    for name, column in columns.items():
        assert bits(again[name].to_pylist()) == bits(column.to_pylist())
        assert again[name].type == (column.type if column.null_count < count else pa.string())


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=10))
def test_floats_come_back_to_the_bit(floats):
    assert bits(round_trip(pa.table({"x": floats}))["x"].to_pylist()) == bits(floats)


@pytest.mark.parametrize("text", ["=1+1", '=HYPERLINK("http://x")', "+1", "-1", "@A1", "\t=1", "{=1}"])
def test_a_text_is_never_a_formula(tmp_path, text):
    write_excel(pa.table({text: [text]}), tmp_path / "out.xlsx")
    cells = [row[0] for row in openpyxl.load_workbook(tmp_path / "out.xlsx").active.iter_rows()]
    assert [(cell.value, cell.data_type) for cell in cells] == [(text, "s")] * 2


def test_other_programs_see_dates_as_dates(tmp_path):
    table = pa.table({"d": [dt.date(2020, 2, 29)], "t": [dt.datetime(2020, 2, 29, 1, 2, 3)], "b": [True]})
    write_excel(table, tmp_path / "out.xlsx")
    date, moment, truth = openpyxl.load_workbook(tmp_path / "out.xlsx").active[2]
    assert (date.value, date.number_format) == (dt.datetime(2020, 2, 29), "yyyy-mm-dd")
    assert (moment.value, moment.is_date) == (dt.datetime(2020, 2, 29, 1, 2, 3), True)
    assert truth.value is True


def test_the_same_table_gives_the_same_bytes(tmp_path):
    table = pa.table({"a": [1, None], "b": ["x", "y"]})
    for name in ("one.xlsx", "two"):
        write_excel(table, tmp_path / name)
    assert (tmp_path / "one.xlsx").read_bytes() == (tmp_path / "two").read_bytes()
    with zipfile.ZipFile(tmp_path / "two") as archive:
        assert {part.date_time for part in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_categories_decimals_and_narrow_types_are_written_as_their_values():
    table = pa.table(
        {
            "category": pa.array(["x", None, "y"]).dictionary_encode(),
            "decimal": [decimal.Decimal("1.50"), None, decimal.Decimal("-0.25")],
            "narrow": pa.array([1.5, 0.1, float("nan")], pa.float32()),
            "small": pa.array([1, 255, None], pa.uint8()),
        }
    )
    assert round_trip(table).to_pydict() == {
        "category": ["x", None, "y"],
        "decimal": [1.5, None, -0.25],
        "narrow": [1.5, float(np.float32(0.1)), None],
        "small": [1, 255, None],
    }


def test_more_columns_than_letters():
    names = [f"c{i}" for i in range(800)]
    assert round_trip(pa.table({name: [i] for i, name in enumerate(names)})).to_pydict() == {
        name: [i] for i, name in enumerate(names)
    }


EXACT = Message("limit-exact")
CHARACTERS = Message("limit-number", most=32_767, unit="character")
MILLISECOND = Message("limit-milliseconds")


@pytest.mark.parametrize(
    ("column", "value", "limit"),
    [
        (pa.array([1, 2**53 + 1]), "number", EXACT),
        (pa.array([1, -(2**63)]), "number", EXACT),
        (pa.array([1, 2**64 - 1], pa.uint64()), "number", EXACT),
        (pa.array([1.0, float("-inf")]), "number", EXACT),
        (pa.array([decimal.Decimal(1), decimal.Decimal("12345678901234567.8")]), "number", EXACT),
        (pa.array(["x", "secret" * 10_000]), "text", CHARACTERS),
        (pa.array(["x", "😀" * 16_384]), "text", CHARACTERS),
        (pa.array([0, 1], pa.timestamp("us")), "date or time", MILLISECOND),
        (pa.array([0, 1], pa.time64("ns")), "date or time", MILLISECOND),
        (
            pa.array([dt.date(1900, 1, 1), dt.date(1899, 12, 31)]),
            "date or time",
            Message("limit-years", first=1900, last=9999),
        ),
        (pa.array([0, 10**14], pa.duration("ms")), "duration", Message("limit-number", most=100_000, unit="day")),
    ],
)
def test_values_that_excel_cannot_hold_are_refused(tmp_path, column, value, limit):
    found = {"column": "a", "record": 2, "value": value, "limit": limit, "format": "Excel"}
    with refused(DataError, "value-not-for-format", **found) as caught:
        write_excel(pa.table({"a": column}), tmp_path / "out.xlsx")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "out.xlsx").exists()


@pytest.mark.parametrize(
    "column", [pa.array([0, 1], pa.timestamp("s", "UTC")), pa.array([b"x", b"y"]), pa.array([[1], [2]])], ids=str
)
def test_types_that_excel_cannot_hold_are_refused(tmp_path, column):
    found = {"column": "a", "type": str(column.type), "format": "Excel", "instead": "Parquet"}
    with refused(DataError, "type-not-for-format", **found):
        write_excel(pa.table({"a": column}), tmp_path / "out.xlsx")
    assert not (tmp_path / "out.xlsx").exists()


@pytest.mark.parametrize(
    ("table", "code", "data"),
    [
        (
            pa.table({"a": pa.nulls(MOST_ROWS, pa.int8())}),
            "too-large-for-excel",
            {"records": 1_048_576, "columns": 1, "most_records": 1_048_575},
        ),
        (
            pa.table({f"{i}": [1] for i in range(MOST_COLUMNS + 1)}),
            "too-large-for-excel",
            {"records": 1, "columns": 16_385, "most_columns": 16_384},
        ),
        (
            pa.table({"b": [1], "a" * 32_768: [1]}),
            "name-not-for-format",
            {"position": 2, "format": "Excel", "rule": CHARACTERS},
        ),
        (pa.table({"a": [1, None], "b": ["x", None]}), "last-record-empty", {}),
    ],
)
def test_tables_that_no_sheet_can_show_are_refused(tmp_path, table, code, data):
    with refused(DataError, code, **data):
        write_excel(table, tmp_path / "out.xlsx")


def test_types_follow_from_the_cells(saved):
    rows = [
        ["int", "float", "both", "text", "bool", "date", "moment", "midnight", "time"],
        [1, 1.5, 1, "a", True, dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 12), dt.datetime(2020, 1, 1), dt.time(3)],
        [None] * 9,
        [-2, 2.5, 0.5, "1", False, dt.date(1999, 1, 1), dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1), dt.time(0)],
    ]
    table = read_excel(saved(rows))
    assert [str(kind) for kind in table.schema.types] == [
        *("int64", "double", "double", "string", "bool", "date32[day]", "timestamp[us]", "timestamp[us]", "time64[us]")
    ]
    assert [list(row.values()) for row in table.to_pylist()] == rows[1:]


def test_integers_that_no_type_holds_are_floats_as_in_excel(patched):
    path = patched([["a"], [5], [1]], SHEET, "<v>5</v>", f"<v>{2**64}</v>")
    assert read_excel(path).to_pydict() == {"a": [2.0**64, 1.0]}


def test_a_number_among_texts_makes_text_and_a_text_among_numbers_is_found(saved):
    table = read_excel(saved([["a", "b"], [1, "x"], [2.5, 3], [True, "y"], ["n.a.", dt.date(2020, 1, 1)], [3, None]]))
    assert table.to_pydict() == {
        "a": ["1", "2.5", "true", "n.a.", "3"],
        "b": ["x", "3", "y", "2020-01-01", None],
    }
    assert find_odd(table) == ({"a": 3}, [])


def test_a_blank_text_in_a_column_of_numbers_is_missing(saved):
    table = read_excel(saved([["a", "b"], [1, "x"], ["  ", "  "]]))
    assert table.to_pydict() == {"a": [1, None], "b": ["x", "  "]}


def test_a_formula_gives_the_value_that_was_saved(patched):
    path = patched([["a", "b"], [1, 5], [2, 6]], SHEET, "<v>5</v>", "<f>A2+4</f><v>5</v>")
    assert read_excel(path).to_pydict() == {"a": [1, 2], "b": [5, 6]}


def test_a_formula_that_gave_an_empty_text_is_missing(patched):
    path = patched([["a", "b"], [1, 5], [2, 6]], SHEET, 'r="B2" t="n"><v>5</v>', 'r="B2" t="str"><f>""</f><v></v>')
    assert read_excel(path).to_pydict() == {"a": [1, 2], "b": [None, 6]}


def test_a_formula_whose_value_was_not_saved_is_refused(saved):
    refusal(saved([["a", "b"], [1, 2], [3, "=A2+1"]]), "formula-without-value", column="b", record=2)


@pytest.mark.parametrize("error", ["#N/A", "#REF!", "#DIV/0!"])
def test_cells_with_errors_are_refused(patched, error):
    path = patched([["a", "b"], [1, 2], [3, 7]], SHEET, 't="n"><v>7</v>', f't="e"><v>{error}</v>')
    refusal(path, "error-in-cell", column="b", record=2)


def test_an_error_as_the_name_of_a_column_is_refused(patched):
    path = patched([["a", 7], [1, 2]], SHEET, 't="n"><v>7</v>', 't="e"><v>#N/A</v>')
    refusal(path, "error-in-cell", path=str(path), position=2)


def test_dates_that_there_are_none_of_are_refused(patched):
    path = patched([["a"], [dt.date(2020, 1, 1)]], SHEET, "<v>43831</v>", "<v>1e9</v>")
    refusal(path, "error-in-cell", column="a", record=1)


def test_the_text_of_an_error_is_a_text_where_it_is_typed_as_one(shared):
    assert read_excel(shared("#N/A")).to_pydict() == {"a": ["#N/A"]}


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([["a", None, "c"], [1, 2, 3]], "column 2 has no name"),
        ([["a", "b"], [1, 2, 3]], "column 3 has no name"),
        ([["a", "a"], [1, 2]], "more than one column named 'a'"),
        ([["a", 2019], [1, 2]], "the name of column 2 is of type int. Use text as column names"),
    ],
)
def test_names_that_no_table_has_are_refused(saved, rows, sentence):
    with pytest.raises(DataError, match=sentence):
        read_excel(saved(rows))


@pytest.mark.parametrize(
    ("rows", "code", "data"),
    [
        ([[None, None], ["a", "b"], [1, 2]], "first-row-empty", {}),
        ([["a", "b"]], "no-records", {}),
        ([], "empty-file", {"sheets": True}),
    ],
)
def test_sheets_that_are_no_tables_are_refused(saved, rows, code, data):
    path = saved(rows)
    refusal(path, code, path=str(path), **data)


def test_cells_that_are_only_formatted_are_no_records_and_no_columns(saved):
    def format_more(book):
        for place in ("A9", "F1", "G20"):
            book.active[place].font = openpyxl.styles.Font(bold=True)

    assert read_excel(saved([["a", "b"], [1, 2]], format_more)).to_pydict() == {"a": [1], "b": [2]}


def test_what_the_file_says_of_its_size_is_not_believed(patched):
    path = patched([["a", "b"], [1, 2], [3, 4]], SHEET, '<dimension ref="A1:B3"', '<dimension ref="A1:A2"')
    assert read_excel(path).to_pydict() == {"a": [1, 3], "b": [2, 4]}


def test_merged_cells_are_refused(saved):
    for area in ("A1:B1", "A2:A3"):
        path = saved([["a", "b"], [1, 2], [3, 4]], lambda book, area=area: book.active.merge_cells(area))
        refusal(path, "merged-cells", path=str(path), sheet="Sheet")


def test_a_second_sheet_with_data_is_refused_and_an_empty_one_is_not(saved):
    path = saved([["a"], [1]], lambda book: book.create_sheet("empty", 0))
    assert read_excel(path).to_pydict() == {"a": [1]}
    path = saved([["a"], [1]], lambda book: book.create_sheet("more").append([1]))
    refusal(path, "several-sheets", path=str(path), sheets=["Sheet", "more"])


def test_texts_keep_their_characters(shared):
    path = shared(" _x000D_\n_x005F_x0041_ x005F_ _xD83D_ &lt;")
    assert read_excel(path).to_pydict() == {"a": [" \r\n_x0041_ x005F_ _xD83D_ <"]}


@pytest.mark.parametrize("end", ["d", "_x005F_x0041_"])
def test_runs_of_formatted_text_are_text(saved, shared, end):
    rich = CellRichText("a", TextBlock(InlineFont(b=True), "b"), "c")
    assert read_excel(saved([["x"], [rich], ["d"]])).to_pydict() == {"x": ["abc", "d"]}
    runs = (
        f"</t></si><si><r><t>a</t></r><r><rPr><b/></rPr><t>b{end}</t></r><rPh sb='0' eb='1'><t>z</t></rPh></si><si><t>"
    )
    path = shared(runs)
    rewrite(path, lambda parts: parts.update({SHEET: parts[SHEET].replace("<v>0</v>", "<v>1</v>")}))
    assert read_excel(path).to_pydict() == {"a": ["ab" + end.replace("_x005F_", "_")]}


def test_years_may_be_counted_from_1904(saved):
    def from_1904(book):
        book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
        book.active["A2"] = dt.date(2020, 1, 1)

    assert read_excel(saved([["a"]], from_1904)).to_pydict() == {"a": [dt.date(2020, 1, 1)]}


def test_rules_protection_and_formats_do_not_matter(saved):
    def decorate(book):
        book.security = WorkbookProtection(lockStructure=True)
        book.active.conditional_formatting.add("A1:A2", CellIsRule(operator="lessThan", formula=["1"]))
        book.active["A2"].number_format = "0.0%"

    assert read_excel(saved([["a"], [0.5]], decorate)).to_pydict() == {"a": [0.5]}


def test_the_ending_of_the_name_does_not_matter(saved):
    path = saved([["a"], [1]])
    assert read_excel(path.rename(path.with_suffix(".partial"))).num_rows == 1


@pytest.mark.parametrize(
    ("content", "code", "data"),
    [
        (b"", "damaged-file", EXCEL),
        (b"a,b\n1,2\n", "damaged-file", EXCEL),
        (b"<html>secret</html>", "damaged-file", EXCEL),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"secret", "old-excel-format", {}),
        (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "file-with-password", {}),
        (b"PK\3\4secret", "damaged-file", EXCEL),
    ],
)
def test_files_of_other_kinds_are_refused(tmp_path, content, code, data):
    path = tmp_path / "in.xlsx"
    path.write_bytes(content)
    refusal(path, code, FileError, path=str(path), **data)


def test_zip_files_of_other_kinds_are_refused(tmp_path):
    path = tmp_path / "in.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    refusal(path, "damaged-file", FileError, **EXCEL)


def test_a_file_that_is_cut_off_is_refused_wherever_that_is(saved):
    path = saved([["a", "b"], [1, "secret"], [2, "secret"]])
    whole = path.read_bytes()
    for end in range(4, len(whole), 97):
        path.write_bytes(whole[:end])
        refusal(path, "damaged-file", FileError, **EXCEL)


def test_a_file_with_a_wrong_byte_is_refused_or_reads_the_same(saved):
    path = saved([["a", "b"], [1, "x"], [2, "y"]])
    whole, table = path.read_bytes(), read_excel(path)
    for at in range(0, len(whole), 61):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :])
        try:
            again = read_excel(path)
        except (FileError, DataError):
            continue
        assert again.equals(table)


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))


@pytest.mark.parametrize("part", [SHEET, STRINGS, TYPES, "xl/workbook.xml"])
@pytest.mark.parametrize(
    "declared", [f'<!DOCTYPE x [<!ENTITY l0 "ha">{LAUGHS}]>', '<!DOCTYPE x [<!ENTITY l9 SYSTEM "file:///etc/passwd">]>']
)
def test_workbooks_that_declare_entities_are_refused(shared, part, declared):
    def declare(parts):
        parts[part] = declared + re.sub(r"^<\?xml.*?\?>", "", parts[part])

    path = shared("&l9;" if part == STRINGS else "x")
    rewrite(path, declare)
    refusal(path, "doctype", FileError, file=str(path), excel=True)


def test_a_bomb_is_refused_before_it_is_unpacked(saved):
    path = saved([["a"], [1]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/bomb.xml", b"")
    content = bytearray(path.read_bytes())
    # say in the directory that what is unpacked is as large as these fields can tell
    for name in (b"xl/bomb.xml", SHEET.encode()):
        at = content.rindex(name) - 46
        content[at + 24 : at + 28] = struct.pack("<I", 2**32 - 2)
    path.write_bytes(content)
    refusal(path, "unpacks-to-too-much", FileError, path=str(path))


def test_more_rows_than_a_sheet_has_are_refused(patched):
    path = patched([["a"], [1]], SHEET, '<row r="2"', '<row r="99999999999"')
    refusal(path, "damaged-file", FileError, **EXCEL)


def test_a_folder_or_a_missing_file_is_an_error_of_the_disk(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_excel(tmp_path / "no.xlsx")


def test_without_openpyxl_the_extra_is_named(saved, monkeypatch):
    path, real = saved([["a"], [1]]), builtins.__import__

    def without(name, *rest):
        if name.startswith("openpyxl"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with refused(MissingExtra, "missing-extra", extra="stat"):
        read_excel(path)

"""Workbooks that someone wrote by hand to take all memory, or to have other files read: refused in a sentence."""

import tracemalloc
import zipfile

import pytest
from tests.expect import codes, refused, reports

import shoal.tables.excel.reading as excel
from shoal.errors import DataError, FileError
from shoal.tables.dataframes import check_names
from shoal.tables.excel.reading import filled_sheets, read_workbook

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
KINDS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
DECLARED = '<!DOCTYPE x [<!ENTITY y "planted"><!ENTITY z SYSTEM "file:///etc/passwd">]>'
MEMORY = 50_000_000  # bytes that reading a file of a few kilobytes may take


def read_excel(path):
    """The table of a workbook."""
    return read_workbook(path)[0]


def text(*values: str) -> str:
    """Cells of a row, one after another."""
    return "".join(f'<c t="inlineStr"><is><t>{value}</t></is></c>' for value in values)


def sheet(*rows: str, dimension: str = "A1:A1") -> str:
    return f'<worksheet xmlns="{MAIN}"><dimension ref="{dimension}"/><sheetData>{"".join(rows)}</sheetData></worksheet>'


@pytest.fixture
def workbook(tmp_path):
    """Write the parts of a workbook; those that are not given are as they must be."""

    def _write(content: str | bytes, part: str = "sheet1.xml", **others: str | bytes):
        links = (
            f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" Type="{OFFICE}/%s" Target="%s"/>'
            "</Relationships>"
        )
        parts = {
            "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Override PartName="/xl/texts.part" '
            f'ContentType="{KINDS}.sharedStrings+xml"/></Types>',
            "_rels/.rels": links % ("officeDocument", "xl/workbook.xml"),
            "xl/_rels/workbook.xml.rels": links % ("worksheet", part),
            "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets><sheet name="S" sheetId="1" '
            'r:id="r1"/></sheets></workbook>',
            "xl/texts.part": f'<sst xmlns="{MAIN}"><si><t>shared</t></si></sst>',
            f"xl/{part}": content,
            **others,
        }
        with zipfile.ZipFile(tmp_path / "in.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, held in parts.items():
                archive.writestr(name, held)
        return tmp_path / "in.xlsx"

    return _write


def refusal(path, error=DataError):
    """Return the messages on a file, which are found in little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(error) as caught:
            read_excel(path)
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    return caught.value.messages


PLAIN = sheet(f"<row>{text('a')}</row>", f"<row>{text('AB&y;CD&z;EF')}</row>")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "iso-8859-1"])
@pytest.mark.parametrize("part", ["sheet1.xml", "sheet1.dat"])
@pytest.mark.parametrize("before", ["", "<!-- " + " " * 40_000 + "-->"], ids=["", "after a comment"])
def test_declarations_are_refused_in_any_encoding_and_part(workbook, part, encoding, before):
    name = encoding.removesuffix("-sig").removesuffix("-le").removesuffix("-be")
    content = f'<?xml version="1.0" encoding="{name}"?>{before}{DECLARED}{PLAIN}'.encode(encoding)
    found = codes(refusal(workbook(content, part), FileError))
    # libxml2 knows no UTF-32 of some builds, and then such a file is no XML at all
    assert found == ["doctype"] or (encoding == "utf-32" and found == ["damaged-file"])


@pytest.mark.parametrize("part", ["_rels/.rels", "xl/_rels/workbook.xml.rels", "xl/workbook.xml", "xl/texts.part"])
def test_declarations_of_other_parts_are_refused_in_any_encoding(workbook, part):
    path = workbook(sheet(f"<row>{text('a')}</row>", f"<row>{text('x')}</row>"))
    assert read_excel(path).to_pydict() == {"a": ["x"]}
    with zipfile.ZipFile(path) as archive:
        held = archive.read(part).decode()
    given = f'<?xml version="1.0" encoding="UTF-16"?>{DECLARED}{held}'.encode("utf-16")
    assert codes(refusal(workbook(PLAIN, **{part: given}), FileError)) == ["doctype"]


def test_a_picture_may_declare_what_it_likes_and_a_sheet_may_be_in_utf_16(workbook):
    content = sheet(f"<row>{text('a')}</row>", f"<row>{text('&lt;!DOCTYPE x>')}</row>")
    given = f'<?xml version="1.0" encoding="UTF-16"?>{content}'.encode("utf-16")
    path = workbook(given, **{"xl/media/image1.svg": f"{DECLARED}<svg/>"})
    assert read_excel(path).to_pydict() == {"a": ["<!DOCTYPE x>"]}


def test_a_value_far_beside_the_table_is_refused(workbook):
    last = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    (said,) = refusal(workbook(sheet(f"<row>{text('a', 'b')}</row>", last)))
    assert "column 3 has no name" in said


def test_a_value_far_below_a_wide_table_is_refused(workbook):
    names = [f"n{i}" for i in range(16_384)]
    last = '<row r="1048576"><c r="A1048576"><v>1</v></c></row>'
    said = refusal(workbook(sheet(f"<row>{text(*names)}</row>", last)))
    assert reports(said, "mostly-empty-sheet", cells=1, rows=1_048_575, columns=16_384)


def test_a_value_far_below_a_narrow_table_is_a_record(workbook):
    last = '<row r="100001"><c r="B100001"><v>1</v></c></row>'
    assert read_excel(workbook(sheet(f"<row>{text('a', 'b')}</row>", last))).num_rows == 100_000


def test_large_tables_may_be_nearly_empty_but_not_more(workbook, monkeypatch):
    monkeypatch.setattr(excel, "_CELLS", 0)
    rows = [f'<row r="{at}"><c r="A{at}"><v>1</v></c></row>' for at in range(51, 502, 50)]
    path = workbook(sheet(f"<row>{text('a', 'b')}</row>", *rows))
    assert read_excel(path).num_rows == 500
    monkeypatch.setattr(excel, "_EMPTY", 99)
    assert reports(refusal(path), "mostly-empty-sheet", path=str(path), cells=1, rows=50, columns=2)


def test_rows_without_a_value_and_sizes_that_a_file_claims_cost_nothing(workbook):
    rows = (f"<row>{text('a')}</row>", f"<row>{text('x')}</row>", '<row r="1048576"><c r="XFD1048576" s="0"/></row>')
    assert read_excel(workbook(sheet(*rows, dimension="A1:XFD1048576"))).to_pydict() == {"a": ["x"]}


def test_a_text_that_many_cells_share_counts_as_often_as_they_do(workbook, monkeypatch):
    rows = "".join('<row><c t="s"><v>0</v></c></row>' for _ in range(10))
    path = workbook(sheet(f"<row>{text('a')}</row>", rows))
    assert read_excel(path).num_rows == 10
    monkeypatch.setattr(excel, "_MOST_BYTES", 10_000)  # the file itself is smaller
    with refused(FileError, "unpacks-to-too-much"):
        read_excel(
            workbook(sheet(rows), **{"xl/texts.part": f'<sst xmlns="{MAIN}"><si><t>{"x" * 2000}</t></si></sst>'})
        )


def test_a_part_that_is_many_sheets_is_looked_at_once(workbook, monkeypatch):
    sheets = "".join(f'<sheet name="S{i}" sheetId="{i}" r:id="r1"/>' for i in range(500))
    book = f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{sheets}</sheets></workbook>'
    looked = []
    monkeypatch.setattr(excel._Book, "has", lambda self, part, *tags: looked.append(part))
    assert filled_sheets(workbook(sheet(), **{"xl/workbook.xml": book})) == []
    assert looked == ["xl/sheet1.xml"]


def test_names_that_are_there_twice_are_found_in_one_pass():
    names = [f"n{i}" for i in range(300_000)]  # comparing all pairs takes hours
    with pytest.raises(DataError, match="more than one column named 'n7'"):
        check_names([*names, "n7"], "it")

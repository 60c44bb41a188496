"""XML microdata: what comes back, what is refused, and what never happens: an entity that is resolved."""

import datetime as dt
import struct
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from tests.expect import refused

from shoal.errors import DataError, FileError
from shoal.messages import Message
from shoal.tables import xml as module
from shoal.tables.xml import read_xml, write_xml

SMALL = """<?xml version="1.0"?>
<Census>
  <Person><AGE>31</AGE><PAY>1.5</PAY><TOWN>Ávila</TOWN></Person>
  <Person><TOWN> a &amp; b </TOWN><AGE>7</AGE></Person>
  <!-- passed over -->
  <Person><AGE/><PAY>2e3</PAY><TOWN></TOWN><LATE>x</LATE></Person>
</Census>
"""
# what XML can hold
CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff") | st.sampled_from(
    "\t\n\r"
)
TEXTS = st.text(CHARACTERS, min_size=1, max_size=6)
NAMES = st.from_regex(r"[A-Za-z_é][A-Za-z0-9_.ж-]{0,5}", fullmatch=True)


@pytest.fixture
def opened(tmp_path):
    """Read a file that holds a text or bytes."""

    def _open(content):
        path = tmp_path / "table.xml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_xml(path)

    return _open


def round_trip(table):
    with tempfile.TemporaryDirectory() as folder:
        write_xml(table, Path(folder, "table.of-any-name"))
        return read_xml(Path(folder, "table.of-any-name"))


def bits(values):
    return [None if value is None else struct.pack("<d", value) for value in values]


def test_records_and_variables(opened):
    table = opened(SMALL)
    assert table.to_pydict() == {
        "AGE": [31, 7, None],
        "PAY": [1.5, None, 2000.0],
        "TOWN": ["Ávila", " a & b ", None],
        "LATE": [None, None, "x"],
    }
    assert [str(kind) for kind in table.schema.types] == ["int64", "double", "string", "string"]


def test_the_names_around_the_variables_are_kept(opened, tmp_path):
    write_xml(opened(SMALL), tmp_path / "out.xml")
    root = etree.parse(tmp_path / "out.xml").getroot()
    assert root.tag == "Census"
    assert [record.tag for record in root] == ["Person"] * 3
    assert [variable.tag for variable in root[2]] == ["AGE", "PAY", "TOWN", "LATE"]


def test_what_is_written_is_one_line_a_variable(tmp_path):
    write_xml(pa.table({"V1": [1, None], "V2": ["<a>", "&"]}), tmp_path / "out.xml")
    assert (tmp_path / "out.xml").read_text().splitlines() == [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<Records>",
        *("  <Record>", "    <V1>1</V1>", "    <V2>&lt;a&gt;</V2>", "  </Record>"),
        *("  <Record>", "    <V1/>", "    <V2>&amp;</V2>", "  </Record>"),
        "</Records>",
    ]
    assert (tmp_path / "out.xml").read_bytes().endswith(b"</Records>\n")


def test_the_same_table_gives_the_same_bytes(opened, tmp_path):
    table = opened(SMALL)
    for name in ("one", "two"):
        write_xml(table, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.none(), min_size=1, max_size=8))
def test_floats_come_back_to_the_bit(floats):
    again = round_trip(pa.table({"x": pa.array(floats, pa.float64())}))
    assert bits(again["x"].to_pylist()) == bits(floats)


@given(st.lists(TEXTS | st.none(), min_size=1, max_size=6), NAMES)
def test_texts_come_back_letter_by_letter(texts, name):
    marked = [None if text is None else f"t{text}" for text in texts]  # no number, no date
    assert round_trip(pa.table({name: pa.array(marked, pa.string())})).to_pydict() == {name: marked}


@given(st.data(), st.integers(1, 6), st.lists(NAMES, min_size=1, max_size=4, unique=True))
def test_types_order_and_missing_values_come_back(data, count, names):
    kinds = {
        pa.int64(): st.integers(-(2**63), 2**63 - 1),
        pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
        pa.bool_(): st.booleans(),
        pa.date32(): st.dates(),
        pa.timestamp("us"): st.datetimes(min_value=dt.datetime(1700, 1, 1), max_value=dt.datetime(2200, 1, 1)),
    }
    columns = {}
    for name in names:
        kind = data.draw(st.sampled_from(list(kinds)))
        values = data.draw(st.lists(kinds[kind] | st.none(), min_size=count, max_size=count))
        columns[name] = pa.array(values, kind)
    again = round_trip(pa.table(columns))
    assert again.column_names == names
    for name, column in columns.items():
        assert again[name].to_pylist() == column.to_pylist()
        assert again[name].type == (column.type if column.null_count < count else pa.string())


def test_variables_may_come_up_late_and_go(opened, monkeypatch):
    monkeypatch.setattr(module, "_CHUNK", 3)  # records that are put together, many more in earnest
    records = [{"a": i} | ({"b": i} if i in (4, 5, 8) else {}) for i in range(9)]
    parts = ("".join(f"<{name}>{value}</{name}>" for name, value in record.items()) for record in records)
    table = opened("<r>" + "".join(f"<p>{part}</p>" for part in parts) + "</r>")
    assert table.to_pydict() == {
        "a": list(range(9)),
        "b": [record.get("b") for record in records],
    }


def test_a_record_without_variables_misses_all_values(opened):
    assert opened("<r><p/><p><a>1</a></p><p/></r>").to_pydict() == {"a": [None, 1, None]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_the_declaration_names_the_encoding(opened, encoding):
    content = f'<?xml version="1.0" encoding="{encoding}"?><r><p><größe>é</größe></p></r>'
    assert opened(content.encode(encoding)).to_pydict() == {"größe": ["é"]}


def test_character_data_and_references_are_text(opened):
    assert opened("<r><p><a>x<![CDATA[<&>]]>&#65;&lt;</a></p></r>").to_pydict() == {"a": ["x<&>A<"]}


def refusal(opened, content, error):
    with pytest.raises(error) as caught:
        opened(content)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "code", "data"),
    [
        ("<r/>", "no-records", {}),
        ("<r>  </r>", "no-records", {}),
        ("<r><p><a><secret>1</secret></a></p></r>", "xml-element-in-variable", {"record": 1, "column": "a"}),
        ("<r><p><a>1</a></p><p><a unit='secret'>1</a></p></r>", "xml-attributes", {"record": 2, "column": "a"}),
        ("<r><p id='secret'><a>1</a></p></r>", "xml-attributes", {"record": 1, "column": "p"}),
        ("<r x='1'><p><a>1</a></p></r>", "xml-attributes", {"record": None, "column": "r"}),
        ("<r><p><a>1</a>secret</p></r>", "xml-text-outside-variables", {"record": 1}),
        ("<r><p><a>1</a></p>secret</r>", "xml-text-outside-variables", {"record": 1}),
        ("<r>secret<p><a>1</a></p></r>", "xml-text-outside-variables", {"record": None}),
        ("<r><p><a>1</a><a>2</a></p></r>", "xml-variable-twice", {"record": 1, "column": "a"}),
        ("<r><p><a>1</a></p><q><a>1</a></q></r>", "xml-record-name", {"record": 2, "name": "q", "other": "p"}),
        ("<r xmlns='urn:x'><p><a>1</a></p></r>", "xml-namespace", {"record": None}),
        ("<r xmlns:n='urn:x'><p><n:a>1</n:a></p></r>", "xml-namespace", {"record": 1}),
    ],
)
def test_xml_of_another_shape_is_refused(opened, tmp_path, content, code, data):
    with refused(DataError, code, path=str(tmp_path / "table.xml"), **data) as caught:
        opened(content)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_records_without_variables_are_refused(opened):
    assert "has no columns" in refusal(opened, "<r><p/></r>", DataError)


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))


@pytest.mark.parametrize(
    "content",
    [
        "<!DOCTYPE r><r><p><a>1</a></p></r>",
        '<!DOCTYPE r SYSTEM "http://127.0.0.1:9/r.dtd"><r><p><a>1</a></p></r>',
        '<!DOCTYPE r [<!ENTITY e "1">]><r><p><a>&e;</a></p></r>',
        '<!DOCTYPE r [<!ENTITY e SYSTEM "SECRET">]><r><p><a>&e;</a></p></r>',
        '<!DOCTYPE r [<!ENTITY % e SYSTEM "SECRET"> %e;]><r><p><a>1</a></p></r>',
        f'<!DOCTYPE r [<!ENTITY l0 "ha">{LAUGHS}]><r><p><a>&l9;</a></p></r>',
        f'<!DOCTYPE r [<!ENTITY l0 "ha">{LAUGHS}]><r x="&l9;"><p><a>1</a></p></r>',
    ],
)
def test_documents_that_declare_anything_are_refused(opened, tmp_path, content):
    (tmp_path / "secret").write_text("42")
    with refused(FileError, "doctype", file=str(tmp_path / "table.xml")):
        opened(content.replace("SECRET", (tmp_path / "secret").as_uri()))


@pytest.mark.parametrize(
    "content",
    [b"", b"a,b\n1,2\n", b"PK\3\4", b"<r><p><a>1</a></q></r>", b"<r>&undeclared;</r>", b"<r><p><a>\xff</a></p></r>"],
)
def test_what_is_not_xml_is_refused(opened, content):
    with refused(FileError, "damaged-file", format="XML"):
        opened(content)


def test_the_line_that_is_not_xml_is_named(opened):
    with refused(FileError, "damaged-file", line=3):
        opened("<r>\n<p>\n<a>1</p>\n</r>")


def test_a_file_that_is_cut_off_is_refused_wherever_that_is(opened):
    whole = SMALL.strip().encode()
    for end in range(len(whole) - 1):
        # half a name looks like another name: then that is what the sentence says
        refusal(opened, whole[:end], (FileError, DataError))


def test_deep_nesting_is_refused_at_once(opened):
    refusal(opened, "<r>" + "<p>" * 100_000, DataError)


def test_a_large_file_is_not_kept_as_a_tree(tmp_path):
    path = tmp_path / "large.xml"
    record = "<p>" + "".join(f"<v{i}>{i}.5</v{i}>" for i in range(5)) + "</p>"
    path.write_text("<r>" + record * 70_000 + "</r>")
    table = read_xml(path)
    assert table.num_rows == 70_000
    assert table.column("v3").unique().to_pylist() == [3.5]


@pytest.mark.parametrize("name", ["a b", "1a", "", "a:b", "{u}a", "<a", "-a", "a\n", "a>"])
def test_names_that_xml_does_not_have_are_refused(tmp_path, name):
    with refused(DataError, "name-not-for-format", column=name, format="XML", rule=Message("names-in-xml")):
        write_xml(pa.table({name: [1]}), tmp_path / "out.xml")
    assert not (tmp_path / "out.xml").exists()


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3))
@settings(max_examples=300)
def test_a_name_that_passes_is_one_to_the_parser_too(name):
    try:
        again = round_trip(pa.table({name: [1]}))
    except DataError:
        return
    assert again.column_names == [name]


@pytest.mark.parametrize("noted", [b"{}}", b"[]", b'{"root": "a", "more": "b"}', b'{"root": "a><b", "record": "r"}'])
def test_metadata_that_names_no_elements_is_refused(tmp_path, noted):
    with refused(DataError, "bad-metadata", key="shoal.xml"):
        write_xml(pa.table({"a": [1]}).replace_schema_metadata({b"shoal.xml": noted}), tmp_path / "out.xml")


@pytest.mark.parametrize(
    ("values", "code", "data"),
    [
        (["x", ""], "value-not-for-format", {"record": 2, "limit": Message("limit-not-empty")}),
        (["x", "secret\x01"], "value-not-for-format", {"record": 2, "limit": Message("limit-no-control")}),
        (["x", "secret\uffff"], "value-not-for-format", {"record": 2, "limit": Message("limit-no-control")}),
        ([1.0, float("inf")], "value-not-for-format", {"record": 2, "limit": Message("limit-finite")}),
        ([b"x", b"y"], "type-not-for-format", {"type": "binary", "instead": "Parquet"}),
        ([[1], [2]], "type-not-for-format", {"type": "list<item: int64>", "instead": "Parquet"}),
    ],
)
def test_what_xml_cannot_hold_is_refused(tmp_path, values, code, data):
    with refused(DataError, code, column="a", format="XML", **data) as caught:
        write_xml(pa.table({"a": values}), tmp_path / "out.xml")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "out.xml").exists()


def test_a_value_that_is_not_a_number_is_missing():
    assert round_trip(pa.table({"a": [1.5, float("nan")]})).to_pydict() == {"a": [1.5, None]}


def test_categories_and_moments_are_written_as_text_that_says_the_same():
    table = pa.table(
        {"a": pa.array(["x", "y", "x"]).dictionary_encode(), "b": pa.array([0, 1, 2], pa.timestamp("ns", "UTC"))}
    )
    again = round_trip(table)
    assert again["a"].to_pylist() == ["x", "y", "x"]
    assert again["b"].cast(pa.int64()).to_pylist() == [0, 1, 2]

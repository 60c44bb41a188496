"""One reader of CSV files: whole or in pieces of any size, the same types, values and sentences."""

import itertools
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import refused

from shoal.errors import DataError, ShoalError
from shoal.plan import Csv
from shoal.tables import open_table
from shoal.tables.csv import pieces as csv_pieces
from shoal.tables.csv.inference import look, together
from shoal.tables.csv.quoting import end_of_records, first_stray_quote, in_records
from shoal.tables.stream_reading import open_source

CELLS = [
    "1",
    "-2",
    "+3",
    "3.5",
    "1e3",
    "",
    " ",
    "007",
    "x",
    "true",
    "2020-01-31",
    "2020-01-31 10:00:00",
    "1500-01-31 10:00:00",
    "2020-01-31 10:00:00.123456789",
    "2020-01-31T10:00:00Z",
    "9007199254740993",
    "12345678901234567890",
    "9" * 30,
    "1,5",
    "1,234",
]


@pytest.fixture
def _small_pieces(monkeypatch):
    monkeypatch.setattr(csv_pieces, "_PIECE", 256)
    monkeypatch.setattr(csv_pieces, "_HEAD", 256)
    monkeypatch.setattr(csv_pieces, "_ROWS", 7)


def in_pieces(path, rows: int, csv: Csv | None = None) -> pa.Table:
    """Read a CSV file in pieces of so many records, with types that are the sum of looks at those pieces."""
    source = open_source(path, csv)
    starts = itertools.count(0, rows)
    looks = {name: [] for name in source.names}
    for start, piece in zip(starts, source.pieces(source.names, rows)):  # noqa: B905
        for name in source.names:
            looks[name].append(look(piece.column(name).combine_chunks(), source.dialect.decimal, start))
    found = {name: together(parts).type for name, parts in looks.items()}
    source = replace(source, types={name: kind for name, kind in found.items() if kind not in (None, pa.string())})
    return pa.concat_tables(source.pieces(source.names, rows)).combine_chunks()


@given(st.lists(st.sampled_from(CELLS), min_size=2, max_size=40), st.integers(1, 12), st.sampled_from(",;\t"))
@settings(max_examples=100, deadline=None)
def test_pieces_of_any_size_have_the_types_and_values_of_the_whole(tmp_path_factory, cells, rows, delimiter):
    path = tmp_path_factory.mktemp("csv") / "in.csv"
    text = [f'"{cell}"' if delimiter in cell else cell for cell in cells]
    path.write_text("".join(f"{row}\n" for row in [f"a{delimiter}b", *(f"{cell}{delimiter}z" for cell in text)]))
    csv = Csv(delimiter=delimiter)
    assert in_pieces(path, rows, csv).equals(open_table(path, csv).native)


@pytest.mark.usefixtures("_small_pieces")
@pytest.mark.parametrize(
    ("last", "kind"),
    [
        ("17", pa.int64()),
        ("18446744073709551615", pa.uint64()),
        ("1" * 30, pa.decimal128(38, 0)),
        ("9" * 41, pa.float64()),
        ("0.5", pa.float64()),
        ("007", pa.string()),
        ("n/a", pa.string()),
    ],
)
def test_the_last_cell_may_decide_the_type(tmp_path, last, kind):
    path = tmp_path / "in.csv"
    path.write_text("a;b\n" + "".join(f"{i};x\n" for i in range(1000)) + f"{last};x\n")
    whole = open_table(path)
    assert whole.native.schema.types == [kind, pa.string()]
    assert whole.native.equals(in_pieces(path, 50))
    assert whole.spoiled == ({"a": 1001} if last == "n/a" else {})
    assert str(whole.native.column("a")[-1].as_py()) == (str(float(last)) if kind == pa.float64() else last)


@pytest.mark.usefixtures("_small_pieces")
@pytest.mark.parametrize(("late", "decimal"), [("2,5", ","), ("2,345", "."), ("2.5", ".")])
def test_the_decimal_sign_follows_from_all_records(tmp_path, late, decimal):
    path = tmp_path / "in.csv"
    path.write_text("a;b\n" + "1,234;x\n" * 500 + f"{late};x\n")
    assert open_table(path).dialect.decimal == open_source(path, None).dialect.decimal == decimal


@pytest.mark.usefixtures("_small_pieces")
def test_a_record_may_be_longer_than_a_piece(tmp_path):
    path = tmp_path / "in.csv"
    notes = ["x", "y" * 5000, "z\n" * 2000, "w"]
    path.write_text("a,b\n" + "".join(f'{i},"{note}"\n' for i, note in enumerate(notes)))
    expected = {"a": [0, 1, 2, 3], "b": notes}
    assert open_table(path).native.to_pydict() == expected
    assert in_pieces(path, 2).to_pydict() == expected


@given(st.lists(st.sampled_from(["a", ",", "\n", '"', '""', "x" * 9]), max_size=60), st.integers(1, 40))
def test_files_are_cut_between_records_whatever_the_size_of_a_block(parts, size):
    text = "".join(parts).encode()
    blocks = [text[start : start + size] for start in range(0, len(text), size)]
    found = [*in_records(blocks, ",", '"', None)]
    whole = first_stray_quote(text, ",", '"', None)
    assert b"".join(piece for piece, _ in found) == text
    assert all(piece.endswith(b"\n") or not piece for piece, _ in found[:-1])
    assert any(stray is not None for _, stray in found) == (whole is not None)


def test_looking_for_the_end_of_a_long_quoted_cell_takes_linear_time(monkeypatch):
    looked = []

    def counting(data, *rest):
        looked.append(len(data))
        return first_stray_quote(data, *rest)

    monkeypatch.setattr("shoal.tables.csv.quoting.first_stray_quote", counting)
    text = b'a,"' + b"line\n" * 20_000 + b'"\n'
    blocks = (text[start : start + 100] for start in range(0, len(text), 100))
    assert b"".join(piece for piece, _ in in_records(blocks, ",", '"', None)) == text
    assert sum(looked) <= 4 * len(text)


def test_a_file_that_is_one_line_is_looked_at_once():
    assert [*in_records([b"a,b\r1,2\r"] * 1000, ",", '"', None)] == [(b"a,b\r1,2\r" * 1000, None)]


@given(st.lists(st.sampled_from(["a", "\n", '"', '""', "x\n" * 3]), min_size=1, max_size=40))
def test_the_head_ends_with_the_last_line_that_no_quote_is_open_in(parts):
    text = "".join(parts).encode()
    ends = [at + 1 for at in range(len(text)) if text[at] == ord("\n") and text.count(b'"', 0, at) % 2 == 0]
    assert end_of_records(text) == max(ends, default=0)


def test_a_stray_quote_before_two_million_lines_is_found_in_one_pass(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(b'a,b\n1,"' + b"x\n" * 2_500_000)  # counting quotes again for each line takes minutes
    with refused(DataError, "stray-quote", path=str(path), record=1, closes=False):
        open_source(path, None)


BAD = {
    "ragged": "a,b\n" + "1,2\n" * 300 + "1,2,3\n" + "1,2\n" * 300,
    "quote that never closes": "a,b\n" + "1,2\n" * 300 + '1,"2\n' + "1,2\n" * 300,
    "quote within a cell": "a,b\n" + '1,"2"\n' * 300 + '1,"2"3\n' + "1,2\n" * 300,
    "no header": "1,2\n" * 600,
    "no records": "a,b\n",
    "name twice": "a,a\n" + "1,2\n" * 300,
    "empty line before one column": "\na\n" + "1\n" * 300,
    "empty": "\n\n",
    "NUL": "a,b\n" + "1,2\n" * 300 + "1,\0\n",
}


@pytest.mark.usefixtures("_small_pieces")
@pytest.mark.parametrize("text", BAD.values(), ids=list(BAD))
def test_bad_files_are_refused_alike(tmp_path, text):
    path = tmp_path / "in.csv"
    path.write_text(text)
    with pytest.raises(ShoalError) as whole:
        open_table(path)
    with pytest.raises(ShoalError) as pieces:
        in_pieces(path, 10)
    assert (type(whole.value), whole.value.sentences) == (type(pieces.value), pieces.value.sentences)


@pytest.mark.usefixtures("_small_pieces")
def test_a_backslash_late_in_the_file_escapes_quotes(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("a,b\n" + '1,"x \\" y"\n' * 5 + '1,"plain"\n' * 300 + '1,"x \\" y"\n')
    assert open_table(path).native.column("b").to_pylist()[-1] == 'x " y'

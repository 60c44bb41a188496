"""Sources: pieces of any size give the same records; types of text columns follow from all cells."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.backends.backend_samples import people, saved
from tests.expect import refused

from shoal.errors import FileError
from shoal.tables.csv.inference import Look, look, together
from shoal.tables.stream_reading import in_rows, open_source
from shoal.tables.text_values import infer


@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(1, 40))
def test_streams_are_cut_anew(lengths, rows):
    table = pa.table({"x": range(sum(lengths))})
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    pieces = list(in_rows((table.slice(start, n) for start, n in zip(starts, lengths, strict=True)), rows))
    assert [value for piece in pieces for value in piece.column("x").to_pylist()] == list(range(sum(lengths)))
    assert {piece.num_rows for piece in pieces[:-1]} <= {rows}


@pytest.mark.parametrize("rows", [1, 333, 5000])
def test_pieces_of_parquet(tmp_path, rows):
    table = people(1000)
    source = open_source(saved(table, tmp_path / "in.parquet", rows=300), None)
    pieces = list(source.pieces(["age", "town"], rows))
    assert source.records == 1000
    assert pa.concat_tables(pieces).column("town").to_pylist() == table.column("town").to_pylist()
    assert pieces[0].column_names == ["age", "town"]


def test_arrow_streams_are_refused(tmp_path):
    with pa.ipc.new_stream(str(tmp_path / "in.arrow"), people(10).schema) as writer:
        writer.write_table(people(10))
    with refused(FileError, "arrow-stream", path=str(tmp_path / "in.arrow")):
        open_source(tmp_path / "in.arrow", None)


CELLS = [
    "1",
    "-2",
    "3.5",
    "1e3",
    "",
    " ",
    "007",
    "x",
    "true",
    "2020-01-31",
    "2020-01-31 10:00:00",
    "12345678901234567890",
]


@given(st.lists(st.sampled_from(CELLS), min_size=1, max_size=30), st.integers(1, 10))
def test_types_of_pieces_make_the_type_of_the_whole(cells, rows):
    column = pa.array(cells, pa.large_string())
    parts = [look(column.slice(start, rows), ".", start) for start in range(0, len(cells), rows)]
    whole, found = look(column, ".", 0), together(parts)
    kind = infer(column, ".").type
    assert whole == found
    if whole.type is None:
        assert not "".join(cells).strip()
    else:
        assert whole.type == (pa.string() if kind == pa.large_string() else kind)


def test_what_only_looks_like_numbers():
    spoiled = look(pa.array(["1", "2", "x"]), ".", 10)
    assert (spoiled.is_spoiled, spoiled.first_text) == (True, 13)
    assert not look(pa.array(["1", "x", "y", "z"]), ".", 0).is_spoiled
    assert not look(pa.array(["001", "120"]), ".", 0).is_spoiled
    assert look(pa.array(["1", None]), ".", 0).is_disguised
    assert Look() + spoiled == spoiled

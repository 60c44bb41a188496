"""Whatever a table holds, what was not touched comes back as it was: by hypothesis, with Python's csv as a witness."""

import csv
import io
import math
import re
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.plan import Csv
from shoal.tables import open_table, write_table

DELIMITERS = st.sampled_from([",", ";", "\t", "|"])
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
AWKWARD = st.text(st.sampled_from("\"',;|\t\n\r \\#.-+e05aé\ufeff"), max_size=8)
TEXTS = AWKWARD | st.text(CHARACTERS, max_size=8)
NUMBERS = (
    st.integers().map(str) | st.floats().map(repr) | st.from_regex(r"[+-]?[0-9]{1,3}([.,][0-9]{0,3})?", fullmatch=True)
)
DATES = st.dates().map(str) | st.datetimes().map(str)
NAMES = TEXTS.filter(lambda name: name.strip() and not name.startswith("\ufeff"))


@st.composite
def rows(draw):
    """Rows of text under a header that no one takes for data."""
    width = draw(st.integers(1, 4))
    names = draw(st.lists(NAMES, min_size=width, max_size=width, unique=True))
    assume(not any(re.match(r"[\s\d.,+-]", name) or name.strip().lower() in ("true", "false") for name in names))
    kinds = [draw(st.sampled_from([TEXTS, NUMBERS, DATES, NUMBERS | TEXTS])) for _ in names]
    return [names, *draw(st.lists(st.tuples(*kinds).map(list), min_size=1, max_size=6))]


def spelt(text, delimiter):
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


@given(rows(), DELIMITERS, st.sampled_from(["\n", "\r\n"]))
def test_cells_that_are_not_touched_are_spelt_as_they_were(rows, delimiter, end):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "in.csv")
        path.write_bytes(text.getvalue().encode())
        table = open_table(path, Csv(delimiter=delimiter, quote='"', encoding="utf-8"))
        write_table(table.publish({}), Path(folder, "out.csv"), "csv")
        written = Path(folder, "out.csv").read_bytes()
        again = open_table(Path(folder, "out.csv"), table.dialect.as_csv())
        write_table(again, Path(folder, "again.csv"), "csv")
        assert spelt(written.decode(), delimiter) == rows
        assert again.native.equals(table.native)
        assert Path(folder, "again.csv").read_bytes() == written


@given(
    st.lists(st.text("abé '.-", min_size=1, max_size=6).map(lambda text: f"x{text}"), min_size=8, max_size=8),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=8, max_size=8),
    DELIMITERS,
    st.sampled_from([".", ","]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
)
def test_nothing_needs_to_be_said_about_an_ordinary_file(texts, floats, delimiter, decimal, encoding):
    assume(decimal != delimiter)
    lines = [["name", "note", "amount", "id"]]
    lines += [
        [text, f"{text}, etc.", f"{x:.2f}".replace(".", decimal), str(i)]
        for i, (text, x) in enumerate(zip(texts, floats, strict=True))
    ]
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(lines)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "in.csv")
        path.write_bytes(text.getvalue().encode(encoding))
        table = open_table(path)
        assert table.numeric == ["amount", "id"]
        assert table.matrix(["amount", "id"]).tolist() == [[float(f"{x:.2f}"), i] for i, x in enumerate(floats)]
        write_table(table.publish({}), Path(folder, "out.csv"), "csv")
        assert Path(folder, "out.csv").read_bytes().decode() == text.getvalue()


def columns(size):
    def column(values, kind):
        return st.lists(st.none() | values, min_size=size, max_size=size).map(lambda cells: pa.array(cells, kind))

    return st.one_of(
        column(TEXTS, pa.string()),
        column(TEXTS, pa.large_string()),
        column(st.sampled_from("abc"), pa.dictionary(pa.int8(), pa.string())),
        column(st.integers(-(2**63), 2**63 - 1), pa.int64()),
        column(st.integers(0, 255), pa.uint8()),
        column(st.floats(), pa.float64()),
        column(st.floats(width=32), pa.float32()),
        column(st.decimals(-999, 999, places=2), pa.decimal128(5, 2)),
        column(st.booleans(), pa.bool_()),
        column(st.dates(), pa.date32()),
        column(st.datetimes(), pa.timestamp("us")),
        column(st.lists(st.integers(0, 9)), pa.list_(pa.field("element", pa.int8()))),
    )


@st.composite
def tables(draw):
    size = draw(st.integers(1, 6))
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    arrays = [draw(columns(size)) for _ in names]
    fields = [pa.field(name, array.type, metadata={"label": name}) for name, array in zip(names, arrays, strict=True)]
    return pa.table(arrays, schema=pa.schema(fields, metadata={"title": "any"}))


def same(left, right):
    """Equal, free metadata left out; NaN equals itself, and a dictionary may be numbered anew."""
    assert left.schema.equals(pa.schema([field.remove_metadata() for field in right.schema]), check_metadata=True)
    for one, other in zip(left.columns, right.columns, strict=True):
        one, other = (column.combine_chunks() for column in (one, other))
        if pa.types.is_floating(one.type):
            np.testing.assert_array_equal(one.to_numpy(zero_copy_only=False), other.to_numpy(zero_copy_only=False))
            assert one.is_null().equals(other.is_null())
        else:
            assert one.to_pylist() == other.to_pylist()


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@given(table=tables())
def test_typed_files_keep_columns_and_types_and_drop_free_metadata(kind, table):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"t.{kind}")
        write_table(open_table(table).publish({}), path, kind)
        same(open_table(path).native, table)


@given(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=6, max_size=6),
    DELIMITERS,
    st.sampled_from([".", ","]),
)
def test_numbers_that_are_replaced_read_back_from_csv_as_the_same(whole, floats, delimiter, decimal):
    assume(any(value is not None for value in whole))
    floats = floats[: len(whole)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "in.csv")
        path.write_text(delimiter.join("abc") + "\n" + (delimiter.join("xyz") + "\n") * len(whole))
        table = open_table(path, Csv(delimiter=delimiter, decimal=decimal))
        published = table.publish({"b": pa.array(whole, pa.int64()), "c": np.array(floats)})
        write_table(published, Path(folder, "out.csv"), "csv")
        back = open_table(Path(folder, "out.csv"), table.dialect.as_csv())
        assert back.native.equals(published.native)
        signs = [math.copysign(1, value) for value in floats]
        assert [math.copysign(1, value) for value in back.column("c").to_pylist()] == signs


def with_levels_in_use(frame, keep):
    """Levels that nobody has any more go where records are left out."""
    levels = {} if keep.all() else frame.select_dtypes("category")
    return frame.assign(**{name: levels[name].cat.remove_unused_categories() for name in levels})


@given(tables(), st.data())
@settings(max_examples=50)
def test_frames_in_memory_keep_what_is_not_touched(table, data):
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table))))
    labels = data.draw(st.lists(st.text("ab", max_size=2), min_size=len(table), max_size=len(table)))
    drop = data.draw(st.lists(st.sampled_from(table.column_names), max_size=len(table.column_names) - 1, unique=True))
    replaced = pa.array(np.arange(keep.sum(), dtype=float))
    target = next(name for name in table.column_names if name not in drop)

    pandas = table.to_pandas().set_axis(pd.Index(labels, dtype=object), axis=0)
    published = open_table(pandas).publish({target: replaced}, drop, keep).native
    rest = with_levels_in_use(pandas.iloc[np.flatnonzero(keep)].drop(columns=[*drop, target]), keep)
    pd.testing.assert_frame_equal(published.drop(columns=target), rest.reset_index(drop=True), check_exact=True)

    frame = pl.from_arrow(table)
    published = open_table(frame).publish({target: replaced}, drop, keep).native
    left = [name for name in table.column_names if name not in (*drop, target)]  # `drop` takes * for a pattern
    rest = frame.filter(pl.Series(keep, dtype=pl.Boolean))
    assert [name for name in published.columns if name != target] == left
    for name in left:
        polars.testing.assert_series_equal(published.get_column(name), rest.get_column(name), check_exact=True)

    published = open_table(table).publish({target: replaced}, drop, keep).native
    same(published.drop_columns([target]), table.filter(pa.array(keep)).drop_columns([*drop, target]))
    assert published[target].to_pylist() == replaced.to_pylist()

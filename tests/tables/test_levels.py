"""Records that are left out leave nothing behind: no level of a category, no text in the bytes of a file."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.tables import open_table, write_table

SECRET = "a secret that is long enough to lie in a buffer of its own"
KEEP = np.array([True, False, True, True])
WORDS = ["mid", SECRET, "low", None]
LEVELS = ["low", SECRET, "mid", "high"]


def encoded(values=WORDS, ordered=True):
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=ordered)
    places = pa.array([None if value is None else LEVELS.index(value) for value in values], pa.int8())
    return pa.DictionaryArray.from_arrays(places, LEVELS, ordered=ordered).cast(kind)


def published_files(table, folder):
    for kind in ("parquet", "arrow"):
        write_table(table, folder / f"out.{kind}", kind)
        yield (folder / f"out.{kind}").read_bytes()


def nested():
    word = encoded()
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 2, 4], pa.int32()), word, mask=pa.array([False, False, True, False])
    )
    wide = pa.LargeListArray.from_arrays(pa.array([0, 1, 2, 3, 4], pa.int64()), word)
    return {
        "word": word,
        "struct": pa.StructArray.from_arrays([word, pa.array([1, 2, 3, 4])], names=["word", "n"]),
        "list": lists,
        "wide": wide,
        "pair": pa.FixedSizeListArray.from_arrays(pa.concat_arrays([word, word]), 2),
        "view": pa.array(WORDS, pa.string_view()),
        "bytes": pa.array([word.encode() if word else None for word in WORDS], pa.binary_view()),
        "map": pa.MapArray.from_arrays(pa.array([0, 1, 2, 3, 4], pa.int32()), ["a", "b", "c", "d"], word),
    }


@pytest.mark.parametrize("name", nested())
def test_nothing_of_a_record_that_is_left_out_is_in_arrow_or_its_files(tmp_path, name):
    table = pa.table({"x": [1, 2, 3, 4], name: nested()[name]})
    keep = np.array([True, False, True, False]) if name == "pair" else KEEP
    if name == "pair":
        table = pa.table({name: pa.FixedSizeListArray.from_arrays(encoded(["mid", "mid", SECRET, SECRET] * 2), 2)})
    before = [row for row, kept in zip(table.to_pylist(), keep, strict=True) if kept]
    published = open_table(table).publish({}, keep=keep)
    assert published.native.to_pylist() == before
    assert published.native.schema.equals(table.schema)
    for data in published_files(published, tmp_path):
        assert SECRET.encode() not in data


@pytest.mark.parametrize("ordered", [True, False])
def test_levels_in_use_keep_their_order_and_their_type(ordered):
    chunks = pa.chunked_array([encoded(ordered=ordered)[:2], encoded(ordered=ordered)[2:]])
    column = open_table(pa.table({"c": chunks})).publish({}, keep=KEEP).column("c")
    assert column.type == pa.dictionary(pa.int8(), pa.string(), ordered=ordered)
    assert column.dictionary.to_pylist() == ["low", "mid"]
    assert column.to_pylist() == ["mid", "low", None]


def test_levels_that_nobody_has_go_where_no_record_is_left_out():
    for keep in (None, np.ones(4, bool)):
        column = open_table(pa.table({"c": encoded()})).publish({}, keep=keep).column("c")
        assert column.dictionary.to_pylist() == ["low", SECRET, "mid"]


def test_levels_of_pandas_that_nobody_has_any_more_go(tmp_path):
    frame = pd.DataFrame({"x": range(4), "c": pd.Categorical(WORDS, LEVELS, ordered=True)})
    frame["arrow"] = pd.arrays.ArrowExtensionArray(pa.chunked_array([encoded()]))
    published = open_table(frame).publish({}, keep=KEEP)
    assert published.native["c"].cat.categories.tolist() == ["low", "mid"]
    assert published.native["c"].cat.ordered
    assert published.native["arrow"].dtype == frame["arrow"].dtype
    assert published.native["arrow"].tolist()[:2] == ["mid", "low"]
    for data in published_files(published, tmp_path):
        assert SECRET.encode() not in data


def test_the_index_of_a_table_of_pandas_stays_behind():
    frame = pd.DataFrame({"x": range(4)})
    several = frame.set_index(pd.MultiIndex.from_arrays([["a", SECRET, "b", "c"], range(4)]))
    category = frame.set_index(pd.CategoricalIndex(["a", SECRET, "b", "c"]))
    for each in (several, category):
        assert open_table(each).publish({}, keep=KEEP).native.index.tolist() == [0, 1, 2]


def test_levels_of_polars_that_nobody_has_any_more_go(tmp_path):
    frame = pl.DataFrame({"e": pl.Series(WORDS, dtype=pl.Enum(LEVELS)), "c": pl.Series(WORDS, dtype=pl.Categorical)})
    published = open_table(frame).publish({}, keep=KEEP)
    assert dict(published.native.schema) == {"e": pl.Enum(["low", "mid"]), "c": pl.Categorical}
    assert published.native["c"].to_list() == published.native["e"].to_list() == ["mid", "low", None]
    for data in published_files(published, tmp_path):
        assert SECRET.encode() not in data

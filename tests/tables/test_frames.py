"""Dataframes in memory: the same kind comes back, and what was not touched is the same."""

from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest

from shoal.tables import open_table, write_table

KEEP = np.array([True, False, True])


@pytest.fixture
def frame():
    """One of pandas' frames with as many kinds of columns as it has, on an index with a label that is there twice."""
    return pd.DataFrame(
        {
            "int": [1, 2, 3],
            "small": np.array([1, 2, 3], np.int8),
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "arrow": pd.array([1, 2, 3], dtype=pd.ArrowDtype(pa.int32())),
            "float": [1.5, np.nan, 2.5],
            "category": pd.Categorical(["a", "b", "a"], categories=["b", "a", "c"], ordered=True),
            "object": pd.Series([{"x": 1}, (1, 2), "text"], dtype=object),
            "text": ["x", None, "y"],
            "string": pd.array(["x", None, "y"], dtype="string"),
            "when": pd.date_range("2020-01-01", periods=3, tz="Europe/Amsterdam"),
            "period": pd.period_range("2020-01", periods=3, freq="M"),
            "interval": pd.interval_range(0, 3),
            "sparse": pd.arrays.SparseArray([0, 0, 1]),
            "complex": [1j, 2j, 3j],
        }
    ).set_index(pd.Index(["p", "q", "p"], name="who"))


def test_pandas_columns_that_are_not_touched_stay_as_they_are(frame):
    before = frame.copy()
    published = open_table(frame).publish({"int": np.array([2, 2, 3])}, drop=["small"]).native
    rest = frame.assign(category=frame["category"].cat.remove_unused_categories())
    pd.testing.assert_frame_equal(
        published.drop(columns="int"), rest.drop(columns=["int", "small"]).reset_index(drop=True)
    )
    assert list(published.columns) == [name for name in frame.columns if name != "small"]
    assert published["int"].tolist() == [2, 2, 3]
    pd.testing.assert_frame_equal(frame, before)


def test_pandas_records_are_left_out_by_position_whatever_the_index(frame):
    published = open_table(frame).publish({"int": np.array([7, 9])}, keep=KEEP).native
    rest = frame.iloc[[0, 2]].assign(category=frame["category"].iloc[[0, 2]].cat.remove_unused_categories())
    pd.testing.assert_frame_equal(published.drop(columns="int"), rest.drop(columns="int").reset_index(drop=True))
    assert published["int"].tolist() == [7, 9]


def test_changing_a_published_pandas_frame_leaves_the_original_alone(frame):
    published = open_table(frame).publish({}).native
    published.iloc[0, 0] = 99
    assert frame.iloc[0, 0] == 1


@pytest.mark.parametrize(
    ("name", "values", "dtype"),
    [
        ("int", pa.array([1, 2, 3]), "int64"),
        ("int", pa.array([1.5, 2, 3]), "float64"),
        ("small", pa.array([1, 2, 3], pa.int8()), "int8"),
        ("nullable", pa.array([1, None, 3]), "Int64"),
        ("nullable", pa.array([1, 2, 3], pa.uint8()), "UInt8"),
        ("nullable", pa.array([1.5, 2, 3]), "Float64"),
        ("nullable", np.array([1.5, 2, 3]), "Float64"),
        ("arrow", pa.array([1, 2, 3], pa.int32()), "int32[pyarrow]"),
        ("arrow", pa.array([1.5, 2, 3]), "double[pyarrow]"),
        ("float", np.array([1.5, 2, 3]), "float64"),
    ],
)
def test_replaced_pandas_columns_stay_in_their_family_of_dtypes(frame, name, values, dtype):
    published = open_table(frame).publish({name: values}).native
    assert str(published[name].dtype) == dtype
    assert published.index.tolist() == [0, 1, 2]


def test_numeric_pandas_columns_are_found(frame):
    frame["decimals"] = [Decimal("1.5")] * 3
    frame["objects"] = pd.array([1, 2.5, None], dtype=object)
    numeric = ["int", "small", "nullable", "arrow", "float", "sparse", "decimals", "objects"]
    assert open_table(frame).numeric == numeric
    assert open_table(frame).matrix(["int", "sparse"]).tolist() == [[1, 0], [2, 0], [3, 1]]


def test_run_lengths_are_no_hiding_place_for_numbers():
    table = open_table(pa.table({"x": pa.RunEndEncodedArray.from_arrays([2, 3], [1.5, 2.5])}))
    assert table.numeric == ["x"]
    assert table.matrix(["x"]).tolist() == [[1.5], [1.5], [2.5]]
    assert table.publish({"x": np.ones(3)}).native["x"].to_pylist() == [1, 1, 1]


def test_polars_columns_that_are_not_touched_stay_as_they_are():
    frame = pl.DataFrame(
        {
            "int": pl.Series([1, 2, 3], dtype=pl.Int16),
            "enum": pl.Series(["a", "b", "a"], dtype=pl.Enum(["b", "a", "c"])),
            "category": pl.Series(["a", "b", None], dtype=pl.Categorical),
            "decimal": [Decimal("1.5"), None, Decimal("2.5")],
            "list": [[1], [], None],
            "struct": [{"a": 1}, {"a": 2}, None],
            "time": pl.Series([1, 2, 3], dtype=pl.Duration("ms")),
            "wide": pl.Series([1, 2, 3], dtype=pl.Int128),
            "object": pl.Series([object(), object(), object()], dtype=pl.Object),
        }
    )
    table = open_table(frame)
    assert table.numeric == ["int", "decimal", "wide"]
    published = table.publish({"int": pa.array([1.5, 2.5])}, drop=["list"], keep=KEEP).native
    rest = frame.filter(pl.Series(KEEP)).with_columns(pl.col("enum").cast(pl.String).cast(pl.Enum(["a"])))
    assert published.schema["category"] == pl.Categorical
    one, two = (each.with_columns(pl.col("category").cast(pl.String)) for each in (published, rest))
    polars.testing.assert_frame_equal(one.drop("int", "object"), two.drop("int", "list", "object"))
    assert published["object"].to_list() == frame.filter(pl.Series(KEEP))["object"].to_list()
    assert published["int"].to_list() == [1.5, 2.5]
    assert published.columns == [name for name in frame.columns if name != "list"]


@pytest.fixture
def arrow():
    schema = pa.schema(
        [
            pa.field("int", pa.int16(), nullable=False, metadata={"unit": "EUR"}),
            pa.field("text", pa.dictionary(pa.int8(), pa.string(), ordered=True), metadata={"from": "survey"}),
            pa.field("nested", pa.list_(pa.struct([("a", pa.int8())]))),
            pa.field("id", pa.large_string(), nullable=False),
        ],
        metadata={"title": "households"},
    )
    chunks = (
        [{"int": 1, "text": "b", "nested": None, "id": "x"}],
        [
            {"int": 2, "text": "a", "nested": [{"a": 1}], "id": "y"},
            {"int": 3, "text": None, "nested": [], "id": "z"},
        ],
    )
    plain = pa.schema([field.with_type(pa.string()) if field.name == "text" else field for field in schema])
    # made of text: pyarrow 18 makes no ordered dictionaries of lists
    return pa.concat_tables([pa.Table.from_pylist(rows, plain) for rows in chunks]).cast(schema)


def test_arrow_columns_that_are_not_touched_stay_as_they_are(arrow):
    published = open_table(arrow).publish({"int": pa.array([1.5, 2.5])}, drop=["id"], keep=KEEP).native
    assert (
        published.drop_columns(["int"]).to_pylist()
        == arrow.filter(pa.array(KEEP)).select(["text", "nested"]).to_pylist()
    )
    assert published.schema.field("int") == pa.field("int", pa.float64(), nullable=False)
    assert published.schema.field("text") == arrow.schema.field("text")
    assert published["int"].to_pylist() == [1.5, 2.5]


def test_a_column_comes_in_one_chunk(arrow):
    assert isinstance(open_table(arrow).column("int"), pa.Array)
    assert open_table(arrow).column("int").to_pylist() == [1, 2, 3]


def test_what_pandas_noted_on_a_column_does_not_outlive_it():
    frame = pd.DataFrame({"n": pd.array([1, 2], dtype="Int64"), "m": pd.array([1, 2], dtype="Int64"), "c": ["x", "y"]})
    published = open_table(pa.Table.from_pandas(frame)).publish({"n": np.array([1.5, 1.5])}, drop=["c"]).native
    assert published.to_pandas().dtypes.astype(str).to_dict() == {"n": "float64", "m": "Int64"}


def test_an_index_that_pandas_noted_does_not_outlive_its_column(tmp_path):
    frame = pd.DataFrame({"n": [1, 2, 3], "m": [4, 5, 6]}, index=pd.Index(["Ann", "Bob", "Cem"], name="who"))
    for replace, drop in (({}, ["who"]), ({"who": pa.array([1.5, 2.5])}, [])):
        published = open_table(pa.Table.from_pandas(frame)).publish(replace, drop, KEEP)
        write_table(published, tmp_path / "out.parquet", "parquet")
        assert b"Ann" not in (tmp_path / "out.parquet").read_bytes()
        for back in (published.native.to_pandas(), pd.read_parquet(tmp_path / "out.parquet")):
            assert back["m"].tolist() == [4, 6]
            assert list(back.columns) == ["n", "m", *replace]
    several = pa.Table.from_pandas(frame.set_index("m", append=True))
    assert open_table(several).publish({}, ["who"]).native.to_pandas().index.names == ["m"]
    ranged = pa.Table.from_pandas(frame.reset_index(drop=True))
    assert open_table(ranged).publish({}, keep=KEEP).native.to_pandas().index.tolist() == [0, 1]


def test_free_notes_of_pandas_are_not_published(tmp_path):
    frame = pd.DataFrame({"n": [1, 2]})
    frame.attrs["source"] = "s3cret"
    frame.to_parquet(tmp_path / "in.parquet")
    assert b"s3cret" in (tmp_path / "in.parquet").read_bytes()
    for source in (frame, tmp_path / "in.parquet", pa.Table.from_pandas(frame)):
        write_table(open_table(source).publish({}), tmp_path / "out.parquet", "parquet")
        assert b"s3cret" not in (tmp_path / "out.parquet").read_bytes()
        assert pd.read_parquet(tmp_path / "out.parquet")["n"].tolist() == [1, 2]


def test_metadata_of_arrow_is_not_published(arrow):
    nested = pa.field("nested", pa.list_(pa.field("item", pa.int8(), metadata={"unit": "EUR"})))
    for table in (arrow, pa.table([[[1], [2]]], schema=pa.schema([nested]))):
        schema = open_table(table).publish({}).native.schema
        assert not schema.metadata
        assert b"EUR" not in schema.serialize().to_pybytes()
        assert b"survey" not in schema.serialize().to_pybytes()


def test_notes_of_pandas_that_nobody_understands_are_left_out():
    for notes in (b"{", b"[]", b"{}"):
        table = pa.table({"a": [1]}).replace_schema_metadata({b"pandas": notes})
        assert open_table(table).publish({}).native.schema.metadata == {}


def test_chunks_with_dictionaries_of_their_own_can_be_written(tmp_path):
    column = pa.chunked_array([pa.array(words).dictionary_encode() for words in (["a", "b"], ["c", "b"])])
    for kind in ("csv", "parquet", "arrow"):
        write_table(open_table(pa.table({"x": column})), tmp_path / f"out.{kind}", kind)
        assert open_table(tmp_path / f"out.{kind}").column("x").to_pylist() == ["a", "b", "c", "b"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_numbers_in_disguise_are_pointed_out(make):
    columns = {"text": ["1", " 2.5", None], "code": ["007", "8", "9"], "word": ["x", "y", "1"], "none": [None] * 3}
    table = open_table(make({**columns, "number": [1, 2, 3], "spoiled": ["1", "2", "x"]}))
    assert table.disguised == ["text"]
    assert table.spoiled == {"spoiled": 3}


def test_numbers_in_disguise_are_pointed_out_in_categories():
    words = {"text": ["1", "2", None], "code": ["007", "8", "9"], "word": ["x", "y", "1"], "half": ["1", "2", "x"]}
    numbers = {"int": [1, 2, None], "float": [1.5, 2.5, None]}
    arrow = {name: pa.array(values).dictionary_encode() for name, values in (words | numbers).items()}
    pandas = {name: pd.Categorical(values) for name, values in (words | numbers).items()}
    for table in (pa.table(arrow), pd.DataFrame(pandas)):
        assert open_table(table).disguised == ["text", "int", "float"]
        assert open_table(table).spoiled == {"half": 3}
    for kind in (pl.Categorical, pl.Enum(["1", "2", "007", "8", "9", "x", "y"])):
        assert open_table(pl.DataFrame(words, schema=dict.fromkeys(words, kind))).disguised == ["text"]
    assert open_table(pa.table({"b": [b"1", b"2"], "c": [b"\xff", b"1"]})).disguised == ["b"]
    assert open_table(pa.table({"r": pa.RunEndEncodedArray.from_arrays([2], ["1"])})).disguised == ["r"]


def test_an_arrow_stream_becomes_an_arrow_table(arrow):
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return arrow.__arrow_c_stream__(requested_schema)

    for source in (Stream(), arrow.to_reader(), arrow.combine_chunks().to_batches()[0]):
        native = open_table(source).native
        assert isinstance(native, pa.Table)
        assert native.to_pylist() == arrow.to_pylist()
    one = duckdb.sql("SELECT 1 AS a, 'x' AS b")
    assert open_table(one).native.to_pydict() == {"a": [1], "b": ["x"]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_numbers_spoiled_by_text_are_pointed_out_in_memory_too(make):
    table = open_table(make({"a": ["1", "2", "unknown"], "b": ["x", "y", "z"], "c": ["1", "2", "3"]}))
    assert table.spoiled == {"a": 3}


def test_pandas_objects_of_different_kinds_are_pointed_out():
    frame = pd.DataFrame({"a": pd.Series([1, None, "x", 2.5], dtype=object), "b": pd.Series([1, (), "y", "z"])})
    assert open_table(frame).spoiled == {"a": 3}
    assert open_table(frame).numeric == []


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_any_dataframe_can_be_written_to_any_file(tmp_path, make, kind):
    columns = {"a": [1, 2], "b": [1.5, None], "c": ["x", "y, z"], "d": [True, False]}
    write_table(open_table(make(columns)), tmp_path / f"t.{kind}", kind)
    assert open_table(tmp_path / f"t.{kind}").native.to_pydict() == columns

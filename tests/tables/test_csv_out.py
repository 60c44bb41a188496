"""Writing CSV: in the dialect that came in, with the spelling that came in, quotes only where needed."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.expect import refused

from shoal.errors import DataError
from shoal.plan import Csv
from shoal.tables import open_table, write_table


@pytest.fixture
def rewritten(tmp_path):
    """Open a CSV file that holds a text, publish it, and give the text of the result."""

    def _rewrite(text, **published):
        path = tmp_path / "in.csv"
        path.write_bytes(text.encode())
        write_table(open_table(path).publish(**({"replace": {}} | published)), tmp_path / "out", "csv")
        return (tmp_path / "out").read_bytes().decode()

    return _rewrite


@pytest.fixture
def written(tmp_path):
    """Return the text of a dataframe as CSV."""

    def _write(frame):
        write_table(open_table(frame), tmp_path / "out", "csv")
        return (tmp_path / "out").read_bytes().decode()

    return _write


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,x\n2,y\n",
        "a;b;c\n1,50;x, y;+1\n2,00;;2\n",
        "a\tb\r\n1\tx\r\n2\ty\r\n",
        'a,b\n"x, ""y""\nz",\n"",007\n,1e5\n',
        "a|b\n2020-01-01T10:00|1.10\n2020-01-01T11:00|true\n",
        "one\n1\n\n 2\n",
        '"a,b","c""d"\n1,2\n',
        "a,b\nx,'y'\n",
        "d,t\n01/02/1995,TRUE\n31/12/1995,False\n",
        "a,b\n1,9223372036854775808\n2,1\n",
    ],
)
def test_a_file_with_no_quotes_too_many_comes_back_byte_for_byte(rewritten, text):
    assert rewritten(text) == text


def test_quotes_that_nothing_needs_go(rewritten):
    assert rewritten('"a","b"\n"x","1"\n"y z","2"\n') == "a,b\nx,1\ny z,2\n"


def test_replaced_columns_follow_the_decimal_sign(rewritten):
    text = rewritten("a;b\n1,50;x\n2,50;y\n", replace={"a": np.array([2.0, 1.25])})
    assert text == "a;b\n2,0;x\n1,25;y\n"


def test_a_decimal_comma_is_quoted_where_commas_delimit(tmp_path):
    (tmp_path / "in.csv").write_text('a,b\n"1,5",x\n')
    table = open_table(tmp_path / "in.csv", Csv(decimal=","))
    write_table(table.publish({"a": np.array([2.5])}), tmp_path / "out.csv", "csv")
    assert (tmp_path / "out.csv").read_text() == 'a,b\n"2,5",x\n'


def test_records_and_columns_that_are_left_out_are_not_written(rewritten):
    text = rewritten(
        "a,b,c\n1.50,x,1\n2.50,y,2\n3.50,z,3\n",
        replace={"c": pa.array([7, 9])},
        drop=["b"],
        keep=np.array([True, False, True]),
    )
    assert text == "a,c\n1.50,7\n3.50,9\n"


def test_floats_read_back_as_the_same_doubles(written, tmp_path):
    bits = np.random.default_rng(0).integers(0, 2**64, 10_000, dtype=np.uint64)
    values = bits.view(np.float64)
    values = np.concatenate([values[np.isfinite(values)], [0.0, -0.0, 1.0, 1e15, 1e16, 5e-324, 0.1 + 0.2]])
    text = written(pa.table({"x": values}))
    np.testing.assert_array_equal(np.array(text.split()[1:], dtype=float).view(np.uint64), values.view(np.uint64))
    (tmp_path / "x.csv").write_text(text)
    back = open_table(tmp_path / "x.csv").column("x").to_numpy()
    np.testing.assert_array_equal(back.view(np.uint64), values.view(np.uint64))


def test_whole_floats_do_not_become_integers(written):
    assert written(pa.table({"x": [1.0, -20.0]})) == "x\n1.0\n-20.0\n"


def test_a_large_table_is_written_in_order(tmp_path):
    table = open_table(pa.table({"x": np.arange(250_001), "y": [f"t{i}" for i in range(250_001)]}))
    write_table(table, tmp_path / "x.csv", "csv")
    assert open_table(tmp_path / "x.csv").native.equals(table.native)


def test_every_type_that_text_can_hold_is_written(written):
    frame = pa.table(
        {
            "s": pa.array(["x", None]).dictionary_encode(),
            "v": pa.array(["", "a,b"], pa.string_view()),
            "n": pa.nulls(2),
            "f": pa.array([float("nan"), 1.5], pa.float32()),
            "d": [Decimal("1.50"), None],
            "t": pa.array([dt.datetime(2020, 1, 2, 3), None], pa.timestamp("ns")),
            "b": [True, False],
            "D": [dt.date(2020, 1, 2), None],
        }
    )
    assert written(frame).split("\n") == [
        "s,v,n,f,d,t,b,D",
        'x,"",,,1.50,2020-01-02 03:00:00,true,2020-01-02',
        ',"a,b",,1.5,,,false,',
        "",
    ]


@pytest.mark.parametrize("column", [[[1], [2]], [b"x", b"y"], [{"a": 1}, None], [dt.timedelta(1), None]])
def test_a_type_that_text_cannot_hold_is_refused(written, column):
    table = pa.table({"fine": [1, 2], "odd": column})
    found = {"type": str(table.schema.field("odd").type), "format": "CSV", "instead": "Parquet"}
    with refused(DataError, "type-not-for-format", column="odd", **found):
        written(table)


def test_an_index_of_pandas_is_not_written(written):
    assert written(pd.DataFrame({"a": [1, 2]}, index=["Ann", "Bob"])) == "a\n1\n2\n"

"""A column that nobody touched is found to be the same after any kind of file, whatever its type."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from tests.samples import diagonal

from shoal.tables import Dialect, open_table, write_table

NAN = float("nan")
MOMENTS = [0, None, 86_400, 1_600_000_000]
TEXTS = {
    "booleans": ["TRUE", "FALSE", None, "true"],
    "dates": ["2020-01-01", None, "2020-02-29", "1999-12-31"],
    "moments": ["2020-01-01 10:00", "2020-01-01T10:00:00Z", None, "2020-01-01"],
    "prices": ["1.50", None, "2.00", "1e5"],
    "codes": ["007", "8", None, ""],
    "blanks": [" 5", "5 ", "", None],
    "infinities": ["inf", "-inf", None, "1"],
    "nans": ["nan", "NaN", None, "1"],
    "signs": ["+1", "-1", None, "+0"],
    "commas": ["1,5", "2,5", None, "3"],
    "quotes": ['"', "'s-Gravenhage", "dogs'", ',"\r\n;'],
    "empties": ["", None, "", None],
}
FLAT = {
    **{f"text {name}": pa.array(texts) for name, texts in TEXTS.items()},
    **{f"large text {name}": pa.array(texts, pa.large_string()) for name, texts in TEXTS.items()},
    "text view": pa.array(["1.50", None, "", "x"], pa.string_view()),
    "float16": pa.array([np.float16(0.1), None, np.float16(NAN), np.float16(-0.0)], pa.float16()),
    "float32": pa.array([0.1, None, NAN, 1e30], pa.float32()),
    "float64": pa.array([0.1, None, NAN, float("-inf")], pa.float64()),
    "float64 with NaN": pa.array([0.1, None, NAN, -0.0]),
    "float64 all NaN": pa.array([NAN] * 4),
    "decimal128": pa.array(
        [Decimal("1.50"), None, Decimal("-0.05"), Decimal("1234567890123456789.25")], pa.decimal128(30, 2)
    ),
    "decimal256": pa.array([Decimal("1.50"), None, Decimal("-0.05"), Decimal(10) ** 40], pa.decimal256(60, 2)),
    "decimal of no places": pa.array([Decimal(1), None, Decimal(2), Decimal(3)], pa.decimal128(5, 0)),
    "uint64": pa.array([2**64 - 1, None, 2**63, 1], pa.uint64()),
    "int8": pa.array([1, None, -1, 0], pa.int8()),
    "bool": pa.array([True, None, False, True]),
    "null": pa.nulls(4),
    "null text": pa.nulls(4, pa.string()),
    "null float": pa.nulls(4, pa.float32()),
    "null moment": pa.nulls(4, pa.timestamp("ns", "Europe/Amsterdam")),
    "date32": pa.array([dt.date(2020, 1, 2), None, dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    "date64": pa.array([dt.date(2020, 1, 2), None, dt.date(1969, 1, 1), dt.date(2000, 1, 1)], pa.date64()),
    "time32[s]": pa.array([dt.time(1, 2, 3), None, dt.time(), dt.time(23)], pa.time32("s")),
    "time32[ms]": pa.array([dt.time(1, 2, 3, 4000), None, dt.time(), dt.time(23)], pa.time32("ms")),
    "time64[us]": pa.array([dt.time(1, 2, 3, 4), None, dt.time(), dt.time(23)], pa.time64("us")),
    "time64[ns]": pa.array([1, None, 0, 86_399_999_999_999], pa.time64("ns")),
    **{
        f"timestamp[{unit}, {zone}]": pa.array(MOMENTS, pa.timestamp("s", zone)).cast(pa.timestamp(unit, zone))
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "UTC", "Europe/Amsterdam", "+05:30")
    },
    **{f"fraction of {unit}": pa.array([1, None, 2, 10**9], pa.timestamp(unit)) for unit in ("ms", "us", "ns")},
    **{
        f"fraction of {unit} somewhere": pa.array([1, None, 2, 10**9], pa.timestamp(unit, "Asia/Kolkata"))
        for unit in ("us", "ns")
    },
    "runs": pa.RunEndEncodedArray.from_arrays([1, 4], [1.5, NAN]),
}
LEVELS = [
    pa.array(["1.50", "x"]),
    pa.array(["", "007"], pa.large_string()),
    pa.array([0.1, 2.0]),
    pa.array([0.1, 2.0], pa.float32()),
    pa.array([7, 3], pa.int16()),
    pa.array([7, 3], pa.date32()),
    pa.array([7, 3], pa.timestamp("ns")),
    pa.array([7, 3], pa.timestamp("s", "Europe/Amsterdam")),
    pa.array([7, 3], pa.time32("s")),
    pa.array([Decimal("1.50"), Decimal(3)], pa.decimal128(8, 2)),
]
FLAT |= {
    f"dictionary of {levels.type}": pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 0], pa.int8()), levels)
    for levels in LEVELS
}
FLAT["dictionary with NaN"] = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 0], pa.int8()), [NAN, 0.1])
ODD = {
    "list": pa.array([[NAN, 1.0], None, [], [None]]),
    "large list": pa.array([[NAN, 1.0], None, [], [None]], pa.large_list(pa.float32())),
    "fixed list": pa.array([[NAN, 1.0], None, [0.0, 0.0], [None, 1.0]], pa.list_(pa.float64(), 2)),
    "struct": pa.array([{"a": NAN, "b": "x"}, None, {"a": 1.0, "b": None}, {"a": None, "b": "y"}]),
    "list of structs": pa.array([[{"a": NAN}], None, [], [None, {"a": 1.0}]]),
    "list of times": pa.array([[dt.time(1)], None, [], [None]], pa.list_(pa.time32("s"))),
    "list of words": pa.array([["x"], None, [], ["y"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "map": pa.array([[("a", NAN)], None, [], [("b", 1.0)]], pa.map_(pa.string(), pa.float64())),
    "binary": pa.array([b"\0", None, b"", b"x"]),
    "fixed binary": pa.array([b"ab", None, b"\0\0", b"x\xff"], pa.binary(2)),
    "duration": pa.array([1, None, 2, 3], pa.duration("ns")),
    "NUL": pa.array(["\0", None, "", "x\0"]),
}


def written(table, folder, kind):
    path = folder / f"out.{kind}"
    write_table(table, path, kind)
    return open_table(path, Dialect().as_csv() if kind == "csv" else None)


@pytest.mark.parametrize(("name", "kind"), diagonal([*FLAT], ["csv", "parquet", "arrow"]))
def test_every_type_that_text_can_hold_is_the_same_after_any_file(tmp_path, name, kind):
    original = open_table(pa.table({"first": ["a", "b", "c", "d"], "x": FLAT[name]}))
    back = written(original.publish({}), tmp_path, kind)
    assert back.same_column(original, "x")
    assert original.same_column(back, "x")


@pytest.mark.parametrize("kind", ["memory", "parquet", "arrow"])
@pytest.mark.parametrize("name", ODD)
def test_every_other_type_is_the_same_after_a_typed_file(tmp_path, name, kind):
    original = open_table(pa.table({"x": ODD[name]}))
    published = original.publish({})
    assert (published if kind == "memory" else written(published, tmp_path, kind)).same_column(original, "x")


@pytest.mark.parametrize("name", [*FLAT, *ODD])
def test_every_type_is_the_same_after_a_record_was_left_out(name):
    keep = np.array([True, False, True, True])
    column = (FLAT | ODD)[name]
    one = open_table(pa.table({"x": column})).publish({}, keep=keep)
    other = open_table(pa.table({"x": column})).publish({}, keep=keep)
    assert len(one) == 3
    assert one.same_column(other, "x")


# without the columns whose records are all alike, and those that text cannot hold
ORDERED = [
    (name, kind)
    for name in [*FLAT, *ODD]
    for kind in ["memory", "csv", "parquet", "arrow"]
    if not ("null" in name or "all NaN" in name or (kind == "csv" and name in ODD))
]


@pytest.mark.parametrize(("name", "kind"), ORDERED)
def test_another_order_is_not_the_same(tmp_path, name, kind):
    column = pa.table({"x": (FLAT | ODD)[name]}).column("x")
    decoded = open_table(pa.table({"x": column})).column("x")
    turned = open_table(pa.table({"x": pa.concat_arrays([decoded[1:], decoded[:1]])}))
    original = open_table(pa.table({"x": decoded}))
    assert not (turned if kind == "memory" else written(turned, tmp_path, kind)).same_column(original, "x")


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ([[1.0], [2.0]], [[1.0, 2.0], []]),
        ([[1.0], None], [[1.0], []]),
        ([{"a": NAN}], [{"a": None}]),
        ([{"a": 1}], [{"b": 1}]),
        ([[NAN]], [[1.0]]),
        ([0.0], [-0.0]),
        ([""], [None]),
        ([b"x"], ["x"]),
        ([[1]], ["[1]"]),
        (pa.array([1], pa.timestamp("s")), pa.array([1], pa.timestamp("ms"))),
        (pa.array([0], pa.timestamp("s")), pa.array([0], pa.timestamp("s", "UTC"))),
    ],
)
def test_what_differs_is_not_the_same(one, two):
    assert not open_table(pa.table({"x": one})).same_column(open_table(pa.table({"x": two})), "x")


def test_moments_have_the_same_digits_all_the_way_down_a_long_file(tmp_path):
    moments = np.zeros(150_000, np.int64)
    moments[-1] = 1
    original = open_table(pa.table({"when": pa.array(moments, pa.timestamp("ns"))}))
    assert written(original, tmp_path, "csv").same_column(original, "when")


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32()])
def test_narrow_floats_read_back_from_csv_as_the_doubles_that_they_are(tmp_path, kind):
    values = pa.array(np.random.default_rng(0).normal(size=1000)).cast(kind, safe=False)
    back = written(open_table(pa.table({"x": values})), tmp_path, "csv")
    assert back.column("x").equals(values.cast(pa.float64()))

"""Labels lie in the metadata of Arrow's fields, and missing values that have a reason keep it."""

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expect import refused

from shoal.errors import DataError
from shoal.tables.stat.labels import (
    Labels,
    labels_of,
    letters_of,
    tagged,
    user_missing,
    with_labels,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
CODES = NUMBERS | TEXTS
RANGES = st.tuples(NUMBERS | st.just(-math.inf), NUMBERS | st.just(math.inf)) | TEXTS.map(lambda text: (text, text))
LABELS = st.builds(
    Labels,
    label=st.none() | TEXTS,
    values=st.dictionaries(CODES, TEXTS, max_size=4),
    missing=st.lists(RANGES, max_size=3).map(tuple),
    measure=st.sampled_from([None, "nominal", "ordinal", "scale"]),
    format=st.sampled_from([None, "F8.2", "%9.0g"]),
    width=st.none() | st.integers(1, 40),
    package=st.sampled_from([None, "spss", "stata", "sas"]),
)


@given(LABELS, LABELS)
def test_labels_come_back_from_a_field_and_replace_those_it_had(old, new):
    field = pa.field("x", pa.float64(), metadata={"by": "others"})
    field = with_labels(with_labels(field, old), new)
    assert labels_of(field) == new
    assert field.metadata[b"by"] == b"others"


def test_a_field_without_labels_has_empty_ones():
    assert labels_of(pa.field("x", pa.int64())) == Labels()
    assert not with_labels(pa.field("x", pa.int64()), Labels()).metadata


@pytest.mark.parametrize("text", ["", "[]", "7", '{"values": 3}', '{"other": 1}', '{"missing": [["a"]]}', "\xff"])
def test_labels_of_somebody_else_are_refused_in_one_sentence(text):
    field = pa.field("income", pa.int64(), metadata={"shoal.labels": text.encode("latin-1")})
    with refused(DataError, "bad-metadata", key="shoal.labels", column="income"):
        labels_of(field)


def test_labels_go_through_parquet_and_a_change_of_type(tmp_path):
    labels = Labels("Größe", {1.0: "klein", "a": "verweigert"}, ((90.0, math.inf),), "ordinal", "F4.0", 8, "spss")
    schema = pa.schema([with_labels(pa.field("x", pa.int64()), labels)])
    pq.write_table(pa.table([[1, 99]], schema=schema), tmp_path / "t.parquet")
    found = pq.read_table(tmp_path / "t.parquet").schema
    assert labels_of(found.field("x").with_type(pa.float64())) == labels


def naive_missing(cells, labels):
    """Which cells are declared missing, one by one."""
    found = []
    for cell in cells:
        inside = [low <= cell <= high for low, high in labels.missing if type(low) is type(cell)]
        found.append(cell is not None and any(inside))
    return found


@given(st.lists(st.none() | st.integers(-5, 5).map(float), min_size=1, max_size=8), st.lists(RANGES, max_size=3))
def test_numbers_in_a_missing_range_are_found(cells, ranges):
    labels = Labels(missing=tuple(ranges))
    assert user_missing(pa.array(cells, pa.float64()), labels).tolist() == naive_missing(cells, labels)
    assert user_missing(pa.array(cells, pa.float64()).cast(pa.int8()), labels).tolist() == naive_missing(cells, labels)


def test_texts_and_dates_that_mean_missing_are_found():
    texts = pa.array(["NA", None, "na", "NA"])
    labels = Labels(missing=(("NA", "NA"),))
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        assert user_missing(texts.cast(kind), labels).tolist() == [True, False, False, True]
    days = pa.array([dt.date(1970, 1, 1), None, dt.date(2020, 1, 1)])
    for kind in (pa.date32(), pa.date64()):
        assert user_missing(days.cast(kind), Labels(missing=((0.0, 0.0),))).tolist() == [True, False, False]
    moments = days.cast(pa.timestamp("us"))
    assert user_missing(moments, Labels(missing=((1.5e12, math.inf),))).tolist() == [False, False, True]
    assert not user_missing(pa.array([True, None]), Labels(missing=((1.0, 1.0),))).any()


def test_letters_of_missing_values_survive_filters_and_files(tmp_path):
    values = tagged([1.5, "a", None, "Z", "_", "a"])
    column = pa.array(values, mask=np.array([False, False, True, False, False, False]))
    assert np.isnan(values[1:]).all()
    assert user_missing(column, Labels()).tolist() == [False, True, False, True, True, True]
    pq.write_table(pa.table({"x": column}), tmp_path / "t.parquet")
    kept = (
        pq.read_table(tmp_path / "t.parquet")["x"]
        .combine_chunks()
        .filter(pa.array([True, True, True, True, True, True]))
    )
    assert bytes(letters_of(kept.to_numpy(zero_copy_only=False))) == b"\0a\0Z_a"


def test_a_plain_nan_has_no_letter():
    assert not letters_of(np.array([np.nan, -np.nan, np.inf, 0.0, 97.0])).any()

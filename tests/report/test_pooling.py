"""What a picture of original values may show: counts of many records, round borders, and names that many have."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.report.bins import moment_ranges, number_ranges, size_ranges
from shoal.report.distributions import distribution, level_text, pooled, pooled_rare, told_apart
from shoal.tables import Table
from shoal.tables.attributes import encode

counts = st.lists(st.integers(0, 40), min_size=1, max_size=30)
least = st.integers(1, 50)


@given(counts, least)
def test_every_pool_has_enough_records_and_only_neighbours(counts, least):
    pools = pooled(counts, least)
    assert pools[0] == 0
    assert set(np.diff(pools)) <= {0, 1}
    sums = np.bincount(pools, weights=counts)
    assert sums.sum() == sum(counts)
    assert (sums >= least).all() or len(sums) == 1


@given(counts, least)
def test_no_pool_could_be_cut_in_two(counts, least):
    pools = pooled(counts, least)
    for pool in range(pools.max()):  # the last may have taken in what was left
        members = [count for count, own in zip(counts, pools, strict=True) if own == pool]
        assert sum(members[:-1]) < least


@given(counts, least, st.integers(2, 20))
def test_a_category_of_its_own_and_all_others_have_enough_records(counts, least, most):
    own = pooled_rare(counts, least, most)
    assert len(set(own)) == len(own) <= most
    assert all(counts[place] >= least for place in own)
    rest = sum(counts) - sum(counts[place] for place in own)
    assert rest == 0 or rest >= least or not own


@given(st.lists(st.sampled_from(["a", "a (2)", "b", "", "(all others)"])))
def test_labels_are_told_apart(labels):
    assert len(set(told_apart(labels))) == len(labels)


values = st.lists(
    st.one_of(st.floats(allow_nan=True, allow_infinity=False), st.integers(-5, 5).map(float)), min_size=1, max_size=80
)


@given(values, st.integers(1, 20))
def test_numbers_of_any_size_have_rising_borders_with_enough_records_beyond_them(values, least):
    codes = np.array(values)
    edges = number_ranges(codes, least).edges
    assert (np.diff(edges) > 0).all()
    if len(edges):
        present = codes[~np.isnan(codes)]
        assert (present <= edges[0]).sum() >= least
        assert (present >= edges[-1]).sum() >= least


@pytest.mark.parametrize("values", [[2.0000000000000004e130, 7.710476644932327e-195], [0.0, 1.9999999999999999e130]])
def test_no_border_rounds_to_beyond_the_tails(values):
    edges = number_ranges(np.array(values), 1).edges
    assert min(values) <= edges[0] < edges[-1] <= max(values)


def attribute_of(values, type_, levels=None):
    return encode(Table(pa.table({"x": values})), "x", type_, levels)


@given(values, st.integers(1, 12))
def test_every_bar_of_numbers_has_enough_original_records(values, least):
    codes = np.array(values)
    if np.isnan(codes).all():
        return
    attribute = attribute_of(pa.array(values, from_pandas=True), "continuous")
    shown = distribution(attribute, attribute.codes, least)
    if shown is not None:
        n = (~np.isnan(codes)).sum()
        n = len(codes) if "(missing)" in shown.labels else n
        assert min(shown.before) >= round(100 * least / n, 1) - 0.051
        assert shown.before == shown.after
        assert sum(shown.before) == pytest.approx(100, abs=0.05 * len(shown.before) + 1e-9)


def test_an_outlier_shows_in_no_border():
    rng = np.random.default_rng(0)
    income = np.append(rng.normal(2000, 300, 400), [987_654_321.25, -123_456_789.5])
    ranges = number_ranges(income, 10)
    assert ranges.edges.min() > 1000
    assert ranges.edges.max() < 3000
    assert all(float(text.replace(",", "")) == edge for text, edge in zip(ranges.texts, ranges.edges, strict=True))
    assert ranges.label(0, 0).startswith("under ")
    assert ranges.label(len(ranges.edges), len(ranges.edges)).endswith(" or more")


def test_whole_numbers_have_whole_borders():
    assert number_ranges(np.repeat([1.0, 2.0, 3.0], 30), 10, whole=True).texts == ["1", "2", "3"]


def test_dates_have_borders_where_a_month_or_a_year_begins():
    first = datetime.date(1950, 3, 17)
    days = [first + datetime.timedelta(days=int(37 * i)) for i in range(400)]
    ranges = moment_ranges(attribute_of(pa.array(days), "date"), 10)
    assert all(len(text) == 4 for text in ranges.texts)  # years
    few = moment_ranges(attribute_of(pa.array(days[:24]), "date"), 10)
    assert few.texts[0] >= "1951-02"
    assert few.label(0, 0).startswith("before ")


def test_moments_are_counted_in_their_own_unit():
    start = np.datetime64("2020-01-01T00:00:00", "ms")
    moments = pa.array(start + np.arange(600) * np.timedelta64(61_000, "ms"))
    attribute = attribute_of(moments, "datetime")
    shown = distribution(attribute, attribute.codes, 10)
    assert shown.labels[1] == "2020-01-01 01 \N{EN DASH} 2020-01-01 02"
    assert shown.before[1] == pytest.approx(9.8, abs=0.11)


def test_a_rare_level_is_not_named():
    levels = ["low", "middle", "high", "PLANTED"]
    attribute = attribute_of(["low"] * 30 + ["middle"] * 25 + ["high"] * 20 + ["PLANTED"], "ordinal", levels)
    assert distribution(attribute, attribute.codes, 10).labels == ["low", "middle", "high and rarer"]
    many = attribute_of([str(i % 40) for i in range(400)] + ["PLANTED"], "ordinal", [*map(str, range(40)), "PLANTED"])
    assert not any("PLANTED" in label for label in distribution(many, many.codes, 10).labels)


def test_rare_categories_are_pooled_with_one_that_is_not():
    attribute = attribute_of(["a"] * 30 + ["b"] * 20 + ["c"] * 12 + ["PLANTED"], "nominal")
    assert distribution(attribute, attribute.codes, 10).labels == ["a", "b", "(all others)"]


def test_few_missing_values_cannot_be_counted_and_many_have_a_bar():
    few = attribute_of([1.0, 2.0] * 30 + [None] * 3, "continuous")
    assert sum(distribution(few, few.codes, 10).before) == pytest.approx(100)
    many = attribute_of([1.0, 2.0] * 30 + [None] * 20, "continuous")
    assert distribution(many, many.codes, 10).labels[-1] == "(missing)"
    assert distribution(many, many.codes, 10).before[-1] == 25.0


def test_too_few_records_are_not_shown():
    attribute = attribute_of([1.0, 2.0] * 9, "continuous")
    assert distribution(attribute, attribute.codes, 10) is None
    constant = attribute_of([7.0] * 100, "continuous")
    assert distribution(constant, constant.codes, 10) is None


def test_levels_are_written_as_people_do():
    assert [level_text(each) for each in (True, 3.0, 2.5, "", "x")] == ["true", "3", "2.5", "(empty)", "x"]


@given(st.lists(st.integers(2, 5000), min_size=1, max_size=60))
def test_every_group_is_in_one_range_of_sizes(sizes):
    labels, found = size_ranges(np.array(sizes))
    assert sum(found) == len(sizes)
    assert len(labels) == len(found) == len(set(labels)) <= 24


def test_many_records_of_one_unit_are_not_many():
    values = pa.array([1.0] * 40 + [2.0] * 40 + [9.0] * 40)
    attribute = encode(Table(pa.table({"a": values})), "a", "continuous")
    one_each = np.zeros(120, dtype=bool)
    one_each[:80] = True  # the last 40 are of one unit, which is counted elsewhere
    by_record, by_unit = (distribution(attribute, attribute.codes, 10, counted) for counted in (None, one_each))
    assert by_record.before == [33.3, 33.3, 33.3]
    assert by_unit.before == [33.3, 66.7]

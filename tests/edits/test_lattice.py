"""Sums on a lattice: exact as written, close to the means, within the ranges of the groups."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import refused

from shoal.edits.controlled_rounding import Equality, RoundingBase, round_controlled, rounding_base_of
from shoal.errors import DataError

UNITS = {"integers": 1, "dyadic": 8, "decimals": 100}


def tree(rng, n):
    """Totals of totals and differences, each attribute a part of one at most: whole numbers and their equalities."""
    columns = {f"x{j}": whole(rng, n) for j in range(rng.integers(2, 7))}
    roots, equalities = list(columns), []
    while len(roots) > 1:
        parts = [roots.pop(rng.integers(len(roots))) for _ in range(min(rng.integers(2, 4), len(roots)))]
        signs = rng.choice([1, 1, -1], size=len(parts))
        total = f"t{len(equalities)}"
        columns[total] = sum(sign * columns[part] for sign, part in zip(signs, parts, strict=True))
        equalities.append(Equality({**dict(zip(parts, map(float, signs), strict=True)), total: -1.0}))
        roots.append(total)
    return columns, shuffled(rng, equalities)


def shares(rng, n):
    a = rng.integers(0, 101, n)
    b = rng.integers(0, 101 - a)
    return {"a": a, "b": b, "c": 100 - a - b}, [Equality({"a": 1, "b": 1, "c": 1}, 100)]


def double(rng, n):
    a, b = whole(rng, n), whole(rng, n)
    return {"a": a, "b": b, "c": 2 * a + b}, [Equality({"a": 2, "b": 1, "c": -1})]


def half(rng, n):
    a, c = 2 * whole(rng, n), whole(rng, n)
    return {"a": a, "b": 2 * c - a, "c": c}, [Equality({"a": 0.5, "b": 0.5, "c": -1})]


def table(rng, n):
    """A table with margins; one of its equalities follows from the others."""
    rows, cells = range(rng.integers(2, 4)), range(rng.integers(2, 4))
    columns = {f"a{i}{j}": whole(rng, n) for i in rows for j in cells}
    columns |= {f"r{i}": sum(columns[f"a{i}{j}"] for j in cells) for i in rows}
    columns |= {f"c{j}": sum(columns[f"a{i}{j}"] for i in rows) for j in cells}
    columns["t"] = sum(columns[f"r{i}"] for i in rows)
    equalities = [Equality({**{f"a{i}{j}": 1 for j in cells}, f"r{i}": -1}) for i in rows]
    equalities += [Equality({**{f"a{i}{j}": 1 for i in rows}, f"c{j}": -1}) for j in cells]
    equalities += [
        Equality({**{f"r{i}": 1 for i in rows}, "t": -1}),
        Equality({**{f"c{j}": 1 for j in cells}, "t": -1}),
    ]
    return columns, shuffled(rng, equalities)


def repeated(rng, n):
    columns, equalities = tree(rng, n)
    again = [Equality({name: -3 * value for name, value in each.coefficients.items()}) for each in equalities]
    return columns, shuffled(rng, equalities + again)


def whole(rng, n):
    """Whole numbers, often zero in whole groups."""
    return rng.integers(0, 1000, n) * (rng.random(n) < rng.choice([0.05, 0.5, 1.0]))


def shuffled(rng, many):
    return [many[place] for place in rng.permutation(len(many))]


@st.composite
def grouped(draw, *shapes):
    """Records that obey equalities, and what groups of them publish."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    unit = UNITS[draw(st.sampled_from(sorted(UNITS)))]
    groups, k = draw(st.integers(1, 40)), draw(st.integers(1, 7))
    columns, equalities = draw(st.sampled_from(shapes))(rng, groups * k)
    columns = {name: (column / unit).reshape(groups, k) for name, column in columns.items()}
    equalities = [Equality(each.coefficients, each.constant / unit) for each in equalities]
    return columns, equalities, rng


def published(columns):
    return tuple({name: np.asarray(of(x, axis=1)) for name, x in columns.items()} for of in (np.mean, np.min, np.max))


def in_any_order(equality, values, rng):
    """Whether an equality holds in double arithmetic, terms on either side, in a random order and association."""
    sides = [[], [np.full(next(iter(values.values())).shape, equality.constant)]]
    for name, coefficient in equality.coefficients.items():
        side = int(rng.integers(2))
        sides[side].append((-coefficient if side else coefficient) * values[name])
    return added(sides[0], rng) == added(sides[1], rng)


def added(terms, rng):
    terms = [*terms, np.zeros(1)]
    while len(terms) > 1:
        one, other = (terms.pop(int(rng.integers(len(terms)))) for _ in range(2))
        terms.append(one + other)
    return terms[0]


def every_sum_is_exact(equalities, values, rng):
    return all(in_any_order(each, values, rng).all() for each in equalities for _ in range(5))


@settings(max_examples=200)
@given(grouped(tree, shares, double, half, table, repeated))
def test_every_sum_is_exact_in_doubles_in_any_order(sample):
    columns, equalities, rng = sample
    base = rounding_base_of(columns, equalities, binary=True)
    right = round_controlled(*published(columns), equalities, base)
    assert every_sum_is_exact(equalities, right, rng)


@settings(max_examples=150)
@given(grouped(tree, shares, double, repeated))
def test_values_stay_near_the_mean_and_in_the_range_of_their_group(sample):
    columns, equalities, _ = sample
    base = rounding_base_of(columns, equalities, binary=True)
    means, low, high = published(columns)
    right = round_controlled(means, low, high, equalities, base)
    step = float(base.from_multiples(np.ones(1))[0])
    for name, value in right.items():
        on_lattice = (base.to_multiples(columns[name]) % 1 == 0).all()
        beyond = 0 if on_lattice else 2 * step
        assert (value >= low[name] - beyond).all()
        assert (value <= high[name] + beyond).all()
        assert np.abs(value - means[name]).max() < (2 + 2 * (beyond > 0)) * step
        if on_lattice:
            constant = low[name] == high[name]
            assert (value[constant] == low[name][constant]).all()


@settings(max_examples=100)
@given(grouped(table), st.booleans())
def test_a_table_stays_near_and_never_becomes_negative(sample, whole):
    columns, equalities, rng = sample
    columns = {name: np.round(column * 800) for name, column in columns.items()} if whole else columns
    base = rounding_base_of(columns, equalities, binary=True, whole=whole)
    means, low, high = published(columns)
    right = round_controlled(means, low, high, equalities, base)
    step = float(base.from_multiples(np.ones(1))[0])
    assert every_sum_is_exact(equalities, right, rng)
    for name, value in right.items():
        assert (value >= 0).all()
        assert not value[high[name] == 0].any()
        assert np.abs(value - means[name]).max() <= 6 * step


@settings(max_examples=100)
@given(grouped(tree, shares))
def test_a_decimal_tick_gives_sums_that_are_exact_as_decimals(sample):
    columns, equalities, _ = sample
    base = rounding_base_of(columns, equalities, binary=False)
    right = round_controlled(*published(columns), equalities, base)
    multiples = {name: np.rint(base.to_multiples(value)).astype(np.int64) for name, value in right.items()}
    for each in equalities:
        total = sum(int(factor) * multiples[name] for name, factor in each.coefficients.items())
        assert (total == round(float(base.to_multiples(np.array([each.constant]))[0]))).all()
    for name, value in right.items():
        if base.radix == 10:
            assert all(float(f"{one:.{base.digits}f}") == one for one in value)
        assert (value == base.from_multiples(multiples[name])).all()


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.integers(2, 6))
def test_one_sum_is_rounded_at_the_least_distance(seed, terms):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 40, (terms, 9)) / 8
    x = np.vstack([x, x.sum(axis=0)])
    names = [f"x{j}" for j in range(terms + 1)]
    equality = Equality({**dict.fromkeys(names[:-1], 1.0), names[-1]: -1.0})
    values = dict(zip(names, x, strict=True))
    ranges = (
        {name: column - 9 for name, column in values.items()},
        {name: column + 9 for name, column in values.items()},
    )
    n = np.array(list(round_controlled(values, *ranges, [equality], RoundingBase(2, 0)).values()))
    for group in range(9):
        choices = itertools.product(*({math.floor(one), math.ceil(one)} for one in x[:, group]))
        best = min(np.abs(np.array(each) - x[:, group]).sum() for each in choices if sum(each[:-1]) == each[-1])
        assert np.abs(n[:, group] - x[:, group]).sum() == best


@settings(max_examples=50)
@given(grouped(tree, table, shares))
def test_each_group_is_put_right_on_its_own(sample):
    columns, equalities, rng = sample
    base = rounding_base_of(columns, equalities, binary=True)
    means, low, high = published(columns)
    means = {name: value + rng.normal(size=value.size) for name, value in means.items()}
    at = rng.permutation(next(iter(means.values())).size)[: rng.integers(1, 40)]
    together = round_controlled(means, low, high, equalities, base)
    some = ({name: value[at] for name, value in of.items()} for of in (means, low, high))
    for name, value in round_controlled(*some, equalities, base).items():
        assert (value == together[name][at]).all()


@settings(max_examples=60)
@given(grouped(tree, table, repeated))
def test_a_sum_with_a_missing_term_is_left_alone_and_all_others_hold(sample):
    columns, equalities, rng = sample
    base = rounding_base_of(columns, equalities, binary=True)
    means, low, high = published(columns)
    means = {name: np.where(rng.random(value.size) < 0.15, np.nan, value) for name, value in means.items()}
    right = round_controlled(means, low, high, equalities, base)
    for each in equalities:
        there = ~np.isnan([means[name] for name in each.coefficients]).any(axis=0)
        assert in_any_order(each, right, rng)[there].all()
    for name, value in right.items():
        assert (np.isnan(value) == np.isnan(means[name])).all()
        assert (base.to_multiples(value[~np.isnan(value)]) % 1 == 0).all()


@settings(max_examples=100)
@given(grouped(tree, shares))
def test_a_fixed_median_stays_and_the_others_make_up_for_it_in_their_ranges(sample):
    columns, equalities, rng = sample
    columns = {name: np.round(column * 800) for name, column in columns.items()}
    equalities = [Equality(each.coefficients, each.constant * 800) for each in equalities]
    base = rounding_base_of(columns, equalities, binary=True)
    values, low, high = published(columns)
    fixed = list(columns)[int(rng.integers(len(columns)))]
    values[fixed] = np.median(columns[fixed], axis=1)
    right = round_controlled(values, low, high, equalities, base, fixed=[fixed])
    assert (right[fixed] == values[fixed]).all()
    assert every_sum_is_exact(equalities, right, rng)
    for name, value in right.items():
        assert (value >= low[name]).all()
        assert (value <= high[name]).all()


def test_what_a_fixed_attribute_lacks_is_spread_by_least_squares():
    values = {"a": np.array([10.0]), "b": np.array([20.0]), "c": np.array([36.0])}
    low, high = ({name: value + by for name, value in values.items()} for by in (-9, 9))
    right = round_controlled(values, low, high, [Equality({"a": 1, "b": 1, "c": -1})], RoundingBase(2, 10), fixed=["a"])
    assert {name: value.tolist() for name, value in right.items()} == {"a": [10.0], "b": [23.0], "c": [33.0]}


def test_a_range_stops_the_spreading_and_the_widest_takes_the_rest():
    values = {"a": np.array([10.0]), "b": np.array([20.0]), "c": np.array([36.0])}
    low, high = {"a": np.array([10.0]), "b": np.array([20.0]), "c": np.array([0.0])}, dict(values)
    right = round_controlled(values, low, high, [Equality({"a": 1, "b": 1, "c": -1})], RoundingBase(2, 0))
    assert [float(value[0]) for value in right.values()] == [10, 20, 30]


def one_group(**of):
    """Values and ranges of one group, each attribute as (value, low, high)."""
    return [{name: np.array([three[place]], dtype=float) for name, three in of.items()} for place in range(3)]


def test_what_one_range_does_not_allow_is_spread_over_the_others_alike():
    group = one_group(a=(10, 0, 20), b=(20, 19, 20.5), c=(30, 0, 60), d=(30, 0, 60), t=(100.5, 0, 200))
    equality = Equality({"a": 1, "b": 1, "c": 1, "d": 1, "t": -1})
    right = round_controlled(*group, [equality], RoundingBase(2, 10), fixed=["a", "t"])
    assert [round(float(value[0]), 1) for value in right.values()] == [10, 20.5, 35, 35, 100.5]


def test_a_tick_beyond_the_range_is_not_taken_while_another_attribute_has_one():
    group = one_group(a=(2.75, 0, 2.875), b=(0.5, 0, 8), c=(3.25, 0, 8))
    right = round_controlled(*group, [Equality({"a": 1, "b": 1, "c": -1})], RoundingBase(2, 0))
    assert [float(value[0]) for value in right.values()] == [2, 1, 3]


def test_what_rounding_leaves_over_is_shared_out_within_the_ranges():
    group = one_group(a=(0.5, 0, 1), b=(1, 0, 2), c=(3, 2, 4))
    right = round_controlled(*group, [Equality({"a": 4, "b": 1, "c": -1})], RoundingBase(2, 0))
    assert [float(value[0]) for value in right.values()] == [0, 2, 2]


def test_a_fixed_value_off_the_lattice_stays():
    values = {name: np.array([1.0, 1.5, np.nan]) for name in "ab"}
    right = round_controlled(*[values] * 3, [Equality({"a": 1, "b": -1})], RoundingBase(2, 0), fixed=["a"])
    np.testing.assert_array_equal(right["a"], values["a"])


def test_coefficients_and_constants_of_no_lattice_are_not_imposed():
    values = {name: np.array([3.3]) for name in "abc"}
    equalities = [
        Equality({"a": 0.1, "b": -1}),
        Equality({"b": 0.25, "c": -0.5}),
        Equality({"b": 1, "c": 1}, 0.1),
        Equality({"b": 2, "c": 2}, 3),
    ]
    right = round_controlled(values, values, values, equalities, RoundingBase(2, 0))
    assert right["a"][0] == 3.3  # tied by no equality that a lattice can hold
    assert right["b"][0] == 2 * right["c"][0]


def test_no_zero_has_a_sign():
    values = {"a": np.array([-0.3]), "b": np.array([0.3])}
    right = round_controlled(
        values,
        *({name: value + by for name, value in values.items()} for by in (-9, 9)),
        [Equality({"a": 1, "b": 1})],
        RoundingBase(2, 0),
    )
    assert not np.signbit(list(right.values())).any()


def test_more_groups_than_a_block_are_all_put_right():
    rng = np.random.default_rng(7)
    a, b = rng.integers(0, 1000, (2, 100_000, 3))
    columns = {"a": a / 1.0, "b": b / 1.0, "c": (a + b) / 1.0}
    equality = Equality({"a": 1, "b": 1, "c": -1})
    right = round_controlled(*published(columns), [equality], rounding_base_of(columns, [equality], binary=True))
    assert (right["a"] + right["b"] == right["c"]).all()


@pytest.mark.parametrize(
    ("values", "binary", "text"),
    [
        ([1.0, 250.0, np.nan], True, "2^-10"),
        ([1.0, 250.0], False, "2^-10"),
        ([0.25, 3.0], False, "2^-12"),
        ([0.1, 3.5], False, "0.0001"),
        ([0.1, 3.25], False, "0.00001"),
        ([0.1, 3.25], True, "2^-15"),
        ([math.pi, 3.0], True, "2^-18"),
        ([math.pi, 3.0], False, "2^-18"),
        ([2.0**47, 3.0], True, "2^-4"),
        ([2.0**60, 2.0**55], True, "2^9"),
        ([0.0], True, "2^-10"),
        ([], True, "2^-10"),
    ],
)
def test_the_tick_is_finer_than_the_data_and_as_fine_as_doubles_allow(values, binary, text):
    assert rounding_base_of({"a": np.array(values)}, binary=binary).text == text


def test_a_fine_tick_keeps_as_many_digits_as_sums_allow():
    assert rounding_base_of({"a": np.array([math.pi, 3.0])}, binary=True, fine=True).text == "2^-42"


def test_a_fixed_value_off_the_lattice_is_met_to_half_a_tick():
    values = {"a": np.array([0.3]), "b": np.array([1.0]), "s": np.array([1.3])}
    right = round_controlled(
        values, *[values] * 2, [Equality({"a": 1, "b": 1, "s": -1})], RoundingBase(2, 30), fixed=["a"]
    )
    assert right["a"][0] == 0.3
    assert abs(right["a"] + right["b"] - right["s"])[0] <= 2.0**-31


def test_whole_numbers_have_the_tick_one():
    assert rounding_base_of({"a": np.array([1.5, 2.0])}, binary=True, whole=True).text == "1"


def test_coefficients_constants_and_what_is_left_over_make_a_tick_coarser():
    columns = {"a": np.array([2.0**47]), "b": np.array([2.0**46])}
    assert rounding_base_of(columns, binary=True) == RoundingBase(2, 4)
    assert rounding_base_of(columns, [Equality({"a": 16, "b": 1})], binary=True) == RoundingBase(2, 0)
    assert rounding_base_of(columns, [Equality({"a": 0.5, "b": 1})], binary=True) == RoundingBase(2, 3)
    assert rounding_base_of(columns, [Equality({"a": 1, "b": 1}, 2.0**48)], binary=True) == RoundingBase(2, 3)
    assert rounding_base_of(columns, [Equality({"a": 1, "b": 1, "left over": 1})], binary=True) == RoundingBase(2, 3)
    assert rounding_base_of({"a": np.array([1.0])}, [Equality({"a": 1}, 0.125)], binary=True) == RoundingBase(2, 13)


def test_sizes_too_different_are_refused_by_name():
    columns = {"small": np.array([1.0]), "none": np.array([0.0]), "large": np.array([1e300])}
    with refused(DataError, "sizes-too-different", small=["small"], large=["large"]):
        rounding_base_of(columns, binary=True)
    with refused(DataError, "sums-too-large", columns=["small", "none", "large"]):
        rounding_base_of(columns, binary=True, whole=True)
    with refused(DataError, "sums-too-large", columns=["small", "large"], step="2^-10"):
        round_controlled(*[columns] * 3, [Equality({"small": 1, "large": -1})], RoundingBase(2, 10))


@given(st.integers(-(10**12), 10**12), st.integers(0, 9))
def test_a_decimal_value_on_the_lattice_is_a_whole_number_of_ticks(number, digits):
    value = np.array([float(f"{number}e-{digits}")])
    base = RoundingBase(10, digits)
    assert base.to_multiples(value)[0] == number
    assert (base.from_multiples(np.array([number])) == value).all()

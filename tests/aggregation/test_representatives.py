"""What a group publishes, compared with definitions written out in fractions."""

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from group_samples import LEVELS, groups, levels, numbers, positive, repeated, shuffled
from hypothesis import given
from hypothesis import strategies as st

from shoal.aggregation import aggregate

OF_NUMBERS = ["mean", "median"]
OF_LEVELS = ["median", "convex_median", "mode"]
ONE_GROUP = np.zeros(2, dtype=np.int64)


def exact_mean(members):
    return sum(Fraction(x) * Fraction(w) for x, w in members) / sum(Fraction(w) for _, w in members)


def frequencies(members):
    f = {}
    for x, w in members:
        f[x] = f.get(x, 0) + Fraction(w)
    return f


def reaching_half(f):
    """The first value at which the running frequency reaches half, and whether it is exactly half."""
    running = Fraction(0)
    for x in sorted(f):
        running += f[x]
        if 2 * running >= sum(f.values()):
            return x, 2 * running == sum(f.values())
    raise AssertionError


def lower_median(members):
    return reaching_half(frequencies(members))[0]


def median(members):
    f = frequencies(members)
    x, exactly = reaching_half(f)
    return (Fraction(x) + Fraction(min(y for y in f if y > x))) / 2 if exactly else x


def convex_median(members):
    f = frequencies(members)
    every = range(LEVELS)
    convex = {
        i: min(max(f.get(j, Fraction(0)) for j in every[: i + 1]), max(f.get(j, Fraction(0)) for j in every[i:]))
        for i in every
    }
    return reaching_half(convex)[0]


def by_group(codes, labels, weights, function, fill=False):
    """What each record publishes, group by group, with missing values as they are promised."""
    published = []
    for label in labels:
        here = labels == label
        has = here & ~np.isnan(codes)
        lacks = here & np.isnan(codes)
        if not has.any() or (weights[lacks].sum() > weights[has].sum() and not fill):
            published.append(np.nan)
        else:
            published.append(float(function(list(zip(codes[has].tolist(), weights[has].tolist(), strict=True)))))
    return np.array(published)


def mode_in(codes, weights):
    has = ~np.isnan(codes)
    in_column = frequencies(zip(codes[has].tolist(), weights[has].tolist(), strict=True))

    def mode(members):
        f = frequencies(members)
        return min(f, key=lambda x: (-f[x], in_column[x], x))

    return mode


@given(groups(), st.booleans())
def test_means_and_medians_equal_their_definitions(drawn, fill):
    codes, labels, weights = drawn
    for w, given_weights in ((weights, weights), (np.ones(len(codes)), None)):
        for how, function in (("mean", exact_mean), ("median", median)):
            published = aggregate(codes, labels, how, weights=given_weights, fill=fill)
            expected = by_group(codes, labels, w, function, fill)
            np.testing.assert_allclose(published, expected, rtol=1e-15, atol=1e-6 if how == "mean" else 0)


@given(groups(missing=False))
def test_without_weights_mean_and_median_equal_the_statistics_module(drawn):
    codes, labels, _ = drawn
    for how, function in (("mean", statistics.fmean), ("median", statistics.median)):
        expected = [function(codes[labels == label].tolist()) for label in labels]
        np.testing.assert_allclose(aggregate(codes, labels, how), expected, rtol=1e-15)


@given(groups(levels), st.booleans())
def test_aggregates_of_levels_and_categories_equal_their_definitions(drawn, fill):
    codes, labels, weights = drawn
    for w, given_weights in ((weights, weights), (np.ones(len(codes)), None)):
        functions = {"median": lower_median, "convex_median": convex_median, "mode": mode_in(codes, w)}
        for how, function in functions.items():
            published = aggregate(codes, labels, how, weights=given_weights, levels=LEVELS, fill=fill)
            np.testing.assert_array_equal(published, by_group(codes, labels, w, function, fill), err_msg=how)


@given(groups(positive))
def test_the_geometric_mean_equals_its_definition(drawn):
    codes, labels, weights = drawn

    def geometric_mean(members):
        return math.exp(sum(w * math.log(x) for x, w in members) / sum(w for _, w in members))

    published = aggregate(codes, labels, "geometric_mean", weights=weights)
    np.testing.assert_allclose(published, by_group(codes, labels, weights, geometric_mean), rtol=1e-11)


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e300])
def test_the_geometric_mean_keeps_its_digits_over_the_whole_range(unit):
    codes = np.array([2.0, 8.0]) * unit
    assert aggregate(codes, ONE_GROUP, "geometric_mean")[0] == pytest.approx(4 * unit, rel=4e-16)
    assert aggregate(np.array([5e-324, 1.7e308]), ONE_GROUP, "geometric_mean")[0] == pytest.approx(
        math.sqrt(5e-324) * math.sqrt(1.7e308), rel=1e-15
    )


@given(st.floats(5e-324, 1.7e308), st.integers(1, 9), st.floats(0.01, 100))
def test_equal_members_publish_their_own_value_to_the_bit(value, size, weight):
    codes, labels = np.full(size, value), np.zeros(size, dtype=np.int64)
    for how in ("mean", "geometric_mean", "median", "mode"):
        for weights in (None, np.full(size, weight)):
            np.testing.assert_array_equal(aggregate(codes, labels, how, weights=weights), codes)
    np.testing.assert_array_equal(aggregate(codes, labels, "trimmed_mean", trim=1), codes)


RANKS = st.one_of(st.integers(1, 6), st.fractions(0, 1, max_denominator=20).filter(lambda share: 0 < share < 1))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1), RANKS)
def test_an_order_statistic_is_the_value_at_its_rank(members, rank):
    labels, codes = np.array(members).T
    labels, codes = np.unique(labels, return_inverse=True)[1], codes.astype(np.float64)
    found = aggregate(codes, labels, "order_statistic", rank=float(rank))
    for group in np.unique(labels):
        members = sorted(codes[labels == group])
        at = min(rank, len(members)) if rank >= 1 else math.ceil(rank * len(members))
        assert {*found[labels == group]} == {members[int(at) - 1]}
    lower = aggregate(codes, labels, "lower_median")
    np.testing.assert_array_equal(aggregate(codes, labels, "order_statistic"), lower)


def test_order_statistics_have_no_weighted_version():
    with pytest.raises(ValueError, match="weighted"):
        aggregate(np.ones(2), ONE_GROUP, "order_statistic", weights=np.ones(2))


def test_the_trimmed_mean_leaves_out_records_at_each_end():
    codes = np.array([100.0, 1, 2, 3, -50, 7, 8, 9])
    labels = np.array([0, 0, 0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(aggregate(codes, labels, "trimmed_mean", trim=1), [2.0] * 5 + [8.0] * 3)


def test_the_trimmed_mean_leaves_the_median_where_values_are_missing():
    codes = np.array([1.0, 2, 9, np.nan, np.nan])
    labels = np.zeros(5, dtype=np.int64)
    np.testing.assert_array_equal(aggregate(codes, labels, "trimmed_mean", trim=2), [2.0] * 5)


def test_what_has_no_meaning_is_refused():
    with pytest.raises(ValueError, match="weighted"):
        aggregate(np.ones(2), ONE_GROUP, "trimmed_mean", weights=np.ones(2))
    with pytest.raises(ValueError, match="levels"):
        aggregate(np.ones(2), ONE_GROUP, "convex_median")


def test_the_convex_median_may_lie_between_the_levels_that_occur():
    codes = np.array([0.0, 0, 0, 4, 4, 4])
    labels = np.zeros(6, dtype=np.int64)
    assert aggregate(codes, labels, "median", levels=5)[0] == 0
    assert aggregate(codes, labels, "convex_median", levels=5)[0] == 2


def test_a_mode_that_is_tied_spares_what_is_rare():
    codes = np.array([0.0, 1, 0, 0, 2, 3])
    labels = np.array([0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(aggregate(codes, labels, "mode"), [1, 1, 0, 0, 2, 2])
    weights = np.array([1.0, 1, 2, 2, 1, 1])
    many_of_1 = np.array([0.0, 1, 0, 1, 1, 1])  # by weight 0 has 3 and 1 has 5, whatever the weights of a group are
    np.testing.assert_array_equal(aggregate(many_of_1, labels, "mode", weights=weights), [0, 0, 0, 0, 1, 1])


@given(groups(), groups(levels), groups(positive))
def test_weights_of_one_change_no_bit(of_numbers, of_levels, of_positive):
    cases = [(of_numbers, how, 0) for how in OF_NUMBERS]
    cases += [(of_levels, how, LEVELS) for how in OF_LEVELS] + [(of_positive, "geometric_mean", 0)]
    for (codes, labels, _), how, of in cases:
        weighted = aggregate(codes, labels, how, weights=np.ones(len(codes)), levels=of)
        np.testing.assert_array_equal(weighted, aggregate(codes, labels, how, levels=of))


whole = st.integers(0, 3).map(float)


def test_weight_two_counts_as_two_records():
    codes, labels = np.array([1.0, 4.0]), ONE_GROUP
    weights = np.array([2.0, 1.0])
    assert aggregate(codes, labels, "mean", weights=weights)[0] == 2
    assert aggregate(codes, labels, "median", weights=weights)[0] == 1
    assert aggregate(codes, labels, "mode", weights=np.array([1.0, 2.0]))[0] == 4


@given(groups(weights=whole), groups(levels, weights=whole), groups(positive, weights=whole))
def test_a_weight_counts_as_so_many_records_and_zero_as_none(of_numbers, of_levels, of_positive):
    cases = [(of_numbers, how, 0) for how in OF_NUMBERS]
    cases += [(of_levels, how, LEVELS) for how in OF_LEVELS] + [(of_positive, "geometric_mean", 0)]
    for (codes, labels, weights), how, of in cases:
        some = np.isin(labels, labels[(weights > 0) & ~np.isnan(codes)])  # groups in which anybody counts
        codes, labels, weights = codes[some], np.unique(labels[some], return_inverse=True)[1], weights[some]
        if not len(codes):
            continue
        many, of_many = repeated(codes, labels, weights)
        published = aggregate(many, of_many, how, levels=of)
        expected = [published[of_many == label][0] for label in labels]
        weighted = aggregate(codes, labels, how, weights=weights, levels=of)
        np.testing.assert_allclose(weighted, expected, rtol=1e-14, atol=1e-6 if how == "mean" else 0, err_msg=how)


@given(groups(), st.sampled_from([0.0, 1e-300, 3.0, 1e308]))
def test_members_of_one_weight_count_alike_whatever_it_is(drawn, weight):
    codes, labels, _ = drawn
    for how in OF_NUMBERS:
        weighted = aggregate(codes, labels, how, weights=np.full(len(codes), weight))
        np.testing.assert_allclose(weighted, aggregate(codes, labels, how), rtol=1e-14, atol=1e-6)


def test_with_fill_the_values_that_are_there_count_alike_if_none_has_weight():
    codes, weights = np.array([1.0, 3.0, np.nan]), np.array([0.0, 0.0, 5.0])
    labels = np.zeros(3, dtype=np.int64)
    np.testing.assert_array_equal(aggregate(codes, labels, "mean", weights=weights), [np.nan] * 3)
    np.testing.assert_array_equal(aggregate(codes, labels, "mean", weights=weights, fill=True), [2.0] * 3)


def test_a_tie_of_missing_and_present_publishes_a_value():
    codes = np.array([np.nan, 5.0, np.nan, np.nan, 7.0])
    labels = np.array([0, 0, 1, 1, 1])
    np.testing.assert_array_equal(aggregate(codes, labels, "mean"), [5, 5, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(aggregate(codes, labels, "mean", fill=True), [5, 5, 7, 7, 7])
    weights = np.array([2.0, 1, 1, 1, 2])
    np.testing.assert_array_equal(aggregate(codes, labels, "mean", weights=weights), [np.nan, np.nan, 7, 7, 7])


def test_an_attribute_that_nobody_has_stays_missing():
    codes = np.full(4, np.nan)
    labels = np.array([0, 0, 1, 1])
    for how in ("mean", "geometric_mean", "median", "trimmed_mean", "convex_median", "mode"):
        assert np.isnan(aggregate(codes, labels, how, levels=2, fill=True)).all()


def test_one_level_publishes_itself():
    for how in OF_LEVELS:
        np.testing.assert_array_equal(aggregate(np.zeros(3), np.zeros(3, dtype=np.int64), how, levels=1), np.zeros(3))


real_weights = st.floats(0.001, 1000)


@given(groups(st.one_of(numbers, st.just(-0.0)), weights=real_weights), st.randoms(use_true_random=False))
def test_the_order_of_the_records_and_groups_does_not_change_a_bit(drawn, random):
    codes, labels, weights = drawn
    order, _ = shuffled(random, codes)
    names, _ = shuffled(random, np.unique(labels))
    renamed = np.array(names)[labels]
    for how in ("mean", "median", "mode"):
        for w in (None, weights):
            moved = None if w is None else w[order]
            published = aggregate(codes, labels, how, weights=w)[order]
            assert aggregate(codes[order], renamed[order], how, weights=moved).tobytes() == published.tobytes()


@given(groups(levels, weights=real_weights), st.randoms(use_true_random=False))
def test_the_order_of_the_records_does_not_change_a_level(drawn, random):
    order, codes, labels, weights = shuffled(random, *drawn)
    for how in OF_LEVELS:
        published = aggregate(*drawn[:2], how, weights=drawn[2], levels=LEVELS)[order]
        np.testing.assert_array_equal(aggregate(codes, labels, how, weights=weights, levels=LEVELS), published)


@given(groups(positive, weights=real_weights))
def test_the_representative_lies_within_its_group(drawn):
    codes, labels, weights = drawn
    for how in ("mean", "geometric_mean", "median"):
        published = aggregate(codes, labels, how, weights=weights, fill=True)
        for label in labels:
            members = codes[(labels == label) & ~np.isnan(codes)]
            if members.size:
                assert (published[labels == label] >= members.min()).all()
                assert (published[labels == label] <= members.max()).all()


@given(groups(levels, weights=real_weights))
def test_medians_and_modes_of_levels_occur_in_their_group(drawn):
    codes, labels, weights = drawn
    for how in ("median", "mode"):
        published = aggregate(codes, labels, how, weights=weights, levels=LEVELS)
        for label, representative in zip(labels, published, strict=True):
            assert np.isnan(representative) or representative in codes[labels == label]


def test_the_mean_survives_large_cancelling_values():
    codes = np.array([1e16, 1.0, -1e16, 2.0])
    assert aggregate(codes, np.zeros(4, dtype=np.int64), "mean")[0] == 0.75


@pytest.mark.parametrize("how", OF_NUMBERS)
def test_a_mean_that_exists_does_not_overflow(how):
    codes = np.array([1.5e308, 1.7e308])
    assert aggregate(codes, ONE_GROUP, how)[0] == 1.6e308
    for weight in (1e-300, 1.0, 1e308):
        published = aggregate(codes, ONE_GROUP, how, weights=np.full(2, weight))
        np.testing.assert_allclose(published, 1.6e308, rtol=1e-15)

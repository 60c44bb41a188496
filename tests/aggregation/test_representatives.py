"""What a group publishes."""

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import aggregation
from shoal.aggregation import restore_variance

values_and_labels = st.lists(
    st.tuples(st.floats(-1e9, 1e9, allow_nan=False), st.integers(0, 3)), min_size=1, max_size=40
).map(lambda pairs: (np.array([x for x, _ in pairs]), np.unique([g for _, g in pairs], return_inverse=True)[1]))


def aggregate(values, labels, how, trim=0):
    return aggregation.aggregate(values[:, None], labels, how, trim)[:, 0]


def by_group(values, labels, function):
    return np.array([function(values[labels == label].tolist()) for label in labels])


@given(values_and_labels)
def test_mean_and_median_equal_the_statistics_module(drawn):
    values, labels = drawn
    np.testing.assert_allclose(
        aggregate(values, labels, "mean"), by_group(values, labels, statistics.fmean), rtol=1e-15
    )
    np.testing.assert_allclose(
        aggregate(values, labels, "median"), by_group(values, labels, statistics.median), rtol=1e-15
    )


def test_the_trimmed_mean_leaves_out_records_at_each_end():
    values = np.array([100.0, 1, 2, 3, -50, 7, 8, 9])
    labels = np.array([0, 0, 0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(aggregate(values, labels, "trimmed_mean", 1), [2.0] * 5 + [8.0] * 3)


@given(values_and_labels, st.randoms(use_true_random=False))
def test_the_order_of_the_records_does_not_change_a_bit(drawn, random):
    values, labels = drawn
    order = list(range(len(values)))
    random.shuffle(order)
    for how in ("mean", "median"):
        np.testing.assert_array_equal(
            aggregate(values[order], labels[order], how), aggregate(values, labels, how)[order]
        )


@given(values_and_labels)
def test_the_representative_lies_within_its_group(drawn):
    values, labels = drawn
    published = aggregate(values, labels, "mean")
    assert (by_group(values, labels, min) <= published).all()
    assert (published <= by_group(values, labels, max)).all()


def test_the_mean_survives_large_cancelling_values():
    values = np.array([1e16, 1.0, -1e16, 2.0])
    assert aggregate(values, np.zeros(4, dtype=np.int64), "mean")[0] == 0.75


@pytest.mark.parametrize("how", ["mean", "median"])
def test_restoring_the_variance_gives_back_mean_and_variance_and_keeps_groups(how):
    rng = np.random.default_rng(3)
    original = rng.lognormal(size=600)
    labels = np.repeat(np.arange(200), 3)
    published = aggregate(original, labels, how)
    restored = restore_variance(published, original).apply(published)
    np.testing.assert_allclose(restored.mean(), original.mean(), rtol=1e-13)
    np.testing.assert_allclose(restored.var(), original.var(), rtol=1e-13)
    assert len(np.unique(restored)) <= 200


def test_a_constant_attribute_stays_as_it_is():
    same = np.full(6, 0.1)
    labels = np.array([0, 0, 0, 1, 1, 1])
    published = aggregate(same, labels, "mean")
    np.testing.assert_array_equal(restore_variance(published, same).apply(published), same)


@pytest.mark.parametrize("unit", [1e200, 1e-200])
def test_restoring_the_variance_of_huge_and_tiny_values(unit):
    original = np.array([1, 1.1, 1.2, 2, 2.1, 2.2, 3, 3.1, 3.2])
    labels = np.repeat(np.arange(3), 3)
    published = aggregate(original, labels, "mean")
    expected = restore_variance(published, original).apply(published)
    rescaling = restore_variance(published * unit, original * unit)
    np.testing.assert_allclose(rescaling.apply(published * unit) / unit, expected)
    np.testing.assert_allclose(rescaling.undo(expected * unit) / unit, published)


def test_a_mean_that_exists_does_not_overflow():
    assert aggregate(np.array([1.5e308, 1.7e308]), np.zeros(2, dtype=np.int64), "mean")[0] == 1.6e308

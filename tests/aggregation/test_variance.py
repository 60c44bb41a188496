"""Restoring the variance of a masked attribute."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from group_samples import repeated

from shoal.aggregation import Rescaling, aggregate
from shoal.pipeline.moments import Extent
from shoal.pipeline.rescale import Restoring
from shoal.tables.attributes import Attribute

THREES = np.repeat(np.arange(200), 3)


def restore_variance(masked, original, weights=None) -> Rescaling:
    counting = ~np.isnan(original) & (True if weights is None else weights > 0)
    values = original[counting] if counting.any() else np.zeros(1)
    masker = SimpleNamespace(
        attributes=[Attribute("x", "continuous", np.empty(0), pa.float64())], weights=lambda rows: weights
    )
    heaviest = 1.0 if weights is None else weights.max()
    restoring = Restoring(masker, [Extent(values.min(), values.max())], heaviest)
    return restoring.rescalings(restoring.look(original[:, None], masked[:, None]))["x"]


def moments(column, weights=None):
    there = ~np.isnan(column)
    w = np.ones(there.sum()) if weights is None else weights[there]
    mean = np.average(column[there], weights=w)
    return mean, np.average((column[there] - mean) ** 2, weights=w)


@pytest.fixture
def original():
    return np.random.default_rng(3).lognormal(size=600)


@pytest.mark.parametrize("how", ["mean", "median"])
def test_restoring_the_variance_gives_back_mean_and_variance_and_keeps_groups(original, how):
    published = aggregate(original, THREES, how)
    restored = restore_variance(published, original).apply(published)
    np.testing.assert_allclose(restored.mean(), original.mean(), rtol=1e-13)
    np.testing.assert_allclose(restored.var(), original.var(), rtol=1e-13)
    assert len(np.unique(restored)) <= 200


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [0, 0.3, 0.6])
def test_moments_are_those_of_the_values_that_are_there(original, share, weighted):
    rng = np.random.default_rng(5)
    original[rng.random(600) < share] = np.nan
    weights = rng.integers(0, 5, 600) / 2 if weighted else None
    published = aggregate(original, THREES, "mean", weights=weights)
    assert np.isnan(published).any() == (share > 0)
    restored = restore_variance(published, original, weights).apply(published)
    np.testing.assert_array_equal(np.isnan(restored), np.isnan(published))
    np.testing.assert_allclose(moments(restored, weights), moments(original, weights), rtol=1e-12)


def test_a_weight_counts_as_so_many_records(original):
    weights = np.random.default_rng(6).integers(0, 4, 600).astype(float)
    published = aggregate(original, THREES, "mean", weights=weights)
    many, _ = repeated(original, THREES, weights)
    many_published, _ = repeated(published, THREES, weights)
    weighted = restore_variance(published, original, weights)
    np.testing.assert_allclose(weighted, restore_variance(many_published, many), rtol=1e-12)
    ones = restore_variance(published, original, np.ones(600))
    np.testing.assert_allclose(ones, restore_variance(published, original), rtol=1e-14)


@pytest.mark.parametrize(
    ("original", "weights"),
    [
        ([0.1] * 6, None),
        ([0.1, np.nan, 0.1, 0.1, 0.1, np.nan], None),
        ([0.1, 0.1, 0.1, 0.1, 0.1, 7.0], [1.0, 1, 1, 1, 1, 0]),
        ([np.nan] * 6, None),
    ],
)
def test_a_constant_attribute_stays_as_it_is(original, weights):
    labels = np.array([0, 0, 0, 1, 1, 1])
    weights = None if weights is None else np.array(weights)
    published = aggregate(np.array(original), labels, "mean", weights=weights)
    restored = restore_variance(published, np.array(original), weights).apply(published)
    np.testing.assert_array_equal(restored, published)


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 10)])
@pytest.mark.parametrize("unit", [1e200, 1e-200, 5e307])
def test_restoring_the_variance_of_huge_and_tiny_values(unit, weights):
    original = np.array([1, 1.1, 1.2, 2, 2.1, 2.2, 3, 3.1, 3.2])
    labels = np.repeat(np.arange(3), 3)
    published = aggregate(original, labels, "mean", weights=weights)
    expected = restore_variance(published, original, weights).apply(published)
    rescaling = restore_variance(published * unit, original * unit, weights)
    np.testing.assert_allclose(rescaling.apply(published * unit) / unit, expected)
    np.testing.assert_allclose(rescaling.undo(expected * unit) / unit, published)

"""Information loss."""

import numpy as np
import pytest

from shoal.measures import loss


def test_an_unchanged_table_costs_nothing():
    X = np.random.default_rng(0).normal(size=(50, 3))
    measured = loss(X, X, ["a", "b", "c"])
    assert measured["SSE"] == 0
    assert measured["IL"] == 0
    assert measured["SST"] == pytest.approx(150)
    assert measured["correlation_change"] == 0


def test_publishing_the_mean_costs_everything():
    X = np.random.default_rng(0).normal(5, size=(50, 2))
    measured = loss(X, np.broadcast_to(X.mean(axis=0), X.shape), ["a", "b"])
    assert measured["IL"] == pytest.approx(100)
    assert measured["attributes"]["a"]["variance_ratio"] == pytest.approx(0, abs=1e-20)


def test_loss_equals_its_formula():
    rng = np.random.default_rng(4)
    X = rng.lognormal(size=(30, 2)) * [1, 1000]
    Y = X + rng.normal(size=X.shape)
    sd = X.std(axis=0)
    expected = sum(((X[i, j] - Y[i, j]) / sd[j]) ** 2 for i in range(30) for j in range(2))
    measured = loss(X, Y, ["a", "b"])
    assert measured["SSE"] == pytest.approx(expected)
    assert measured["IL"] == pytest.approx(100 * expected / 60)
    assert measured["attributes"]["b"]["mean_change"] == pytest.approx((Y[:, 1].mean() - X[:, 1].mean()) / sd[1])
    assert measured["attributes"]["b"]["variance_ratio"] == pytest.approx(Y[:, 1].var() / X[:, 1].var())
    change = abs(np.corrcoef(Y.T)[0, 1] - np.corrcoef(X.T)[0, 1])
    assert measured["correlation_change"] == pytest.approx(change)


def test_a_constant_attribute_has_no_ratio_and_breaks_nothing():
    X = np.column_stack([np.full(10, 0.1), np.arange(10.0)])
    measured = loss(X, X, ["a", "b"])
    assert measured["attributes"]["a"]["IL"] is None
    assert measured["SST"] == pytest.approx(10)
    only = loss(X[:, :1], X[:, :1], ["a"])
    assert only["IL"] is None
    assert only["SSE"] == 0


def test_a_constant_attribute_that_masking_changed_is_told_and_has_no_scale():
    X = np.column_stack([np.arange(4.0), np.full(4, 2.0)])
    moved = np.array([0.0, 1.0])
    for unit in (1, 1000):
        measured = loss(X * [1, unit], (X + moved) * [1, unit], ["a", "b"])
        assert measured["SSE"] == 0
        assert measured["attributes"]["b"]["changed"]
    assert not loss(X, X, ["a", "b"])["attributes"]["b"]["changed"]

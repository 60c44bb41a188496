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


def numbers(measured):
    """The figures of a loss in one list."""
    per_attribute = [figure for attribute in measured["attributes"].values() for figure in attribute.values()]
    return [measured["SSE"], measured["SST"], measured["IL"], measured["correlation_change"], *per_attribute]


@pytest.fixture
def files():
    rng = np.random.default_rng(8)
    X = rng.lognormal(size=(40, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.3], [0, 0, 1]]) * [1, 1000, 0.01]
    return X, X + rng.normal(size=X.shape) * X.std(axis=0) / 3


def test_a_weight_counts_as_so_many_records_and_zero_as_none(files):
    X, Y = files
    X[0] = 1e6  # without weight, this one is not seen
    weights = np.random.default_rng(9).integers(0, 4, 40).astype(float)
    weights[0] = 0
    many = np.repeat(np.arange(40), weights.astype(int))
    weighted = loss(X, Y, ["a", "b", "c"], weights)
    assert numbers(weighted) == pytest.approx(numbers(loss(X[many], Y[many], ["a", "b", "c"])), rel=1e-12, abs=1e-13)


def test_weights_of_one_change_nothing(files):
    X, Y = files
    ones = loss(X, Y, ["a", "b", "c"], np.ones(40))
    assert numbers(ones) == pytest.approx(numbers(loss(X, Y, ["a", "b", "c"])), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_with_missing_values_loss_equals_its_formula(files, weighted):
    X, Y = files
    rng = np.random.default_rng(10)
    X[rng.random(X.shape) < 0.3] = np.nan
    Y[rng.random(X.shape) < 0.2] = np.nan
    w = rng.integers(1, 9, 40) / 4 if weighted else np.ones(40)
    measured = loss(X, Y, ["a", "b", "c"], w if weighted else None)

    def moments(column):
        there = ~np.isnan(column)
        mean = np.average(column[there], weights=w[there])
        return mean, np.average((column[there] - mean) ** 2, weights=w[there])

    def correlation(M, i, j):
        both = ~np.isnan(M[:, i]) & ~np.isnan(M[:, j])
        C = np.cov(M[both][:, [i, j]].T, aweights=w[both], ddof=0)
        return C[0, 1] / np.sqrt(C[0, 0] * C[1, 1])

    change = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            change[i, j] = abs(correlation(X, i, j) - correlation(Y, i, j)) if i != j else 0
    for j, name in enumerate("abc"):
        (mean, variance), (masked_mean, masked_variance) = moments(X[:, j]), moments(Y[:, j])
        both = ~np.isnan(X[:, j]) & ~np.isnan(Y[:, j])
        errors = (w * (X[:, j] - Y[:, j]) ** 2)[both].sum()
        deviations = (w * (X[:, j] - mean) ** 2)[both].sum()
        assert measured["attributes"][name] == pytest.approx(
            {
                "IL": 100 * errors / deviations,
                "mean_change": (masked_mean - mean) / np.sqrt(variance),
                "variance_ratio": masked_variance / variance,
                "correlation_change": change[j].max(),
            }
        )
    assert measured["correlation_change"] == pytest.approx(change.max())


def test_an_attribute_that_no_record_has_in_both_files_has_no_figures():
    nobody = np.full(4, np.nan)
    X = np.column_stack([np.arange(4.0), nobody, np.arange(4.0), [1, 1, np.nan, 1]])
    Y = np.column_stack([np.arange(4.0), nobody, nobody, [1, 1, np.nan, 1]])
    measured = loss(X, Y, list("abcd"))
    assert measured["IL"] == 0
    assert measured["attributes"]["a"]["IL"] == 0
    for name, changed in (("b", False), ("c", True), ("d", False)):
        assert measured["attributes"][name]["IL"] is None
        assert measured["attributes"][name]["variance_ratio"] is None
        assert measured["attributes"][name]["changed"] == changed

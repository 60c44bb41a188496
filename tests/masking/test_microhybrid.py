"""R-microhybrid, re-drawn categories, values that keep to rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expect import refused

from shoal.aggregation import aggregate
from shoal.errors import DataError
from shoal.masking.ipso import least_k
from shoal.masking.microhybrid import Rule, kept_to, microhybrid, redraw
from shoal.measures import distance_linkage
from shoal.measures.hybrid import preservation
from shoal.partitioning import partition


def halves(V):
    """Every other attribute is confidential."""
    return V[:, ::2], V[:, 1::2]


def check(X, Y, k, seed=0):
    """What is promised: moments kept in every group, Lemma 2's bound, nobody's own value that is not reported."""
    result = microhybrid(X, Y, partition(np.hstack([X, Y]), k), seed)
    names = [str(j) for j in range(X.shape[1])]
    found = preservation(X, result.values, Y, result.labels, names)
    assert max(*found["file"].values(), *found["groups"].values()) < 1e-9
    for attribute in found["attributes"].values():
        assert attribute["lemma_2"]["measured"] <= attribute["lemma_2"]["bound"]
    own = np.abs(result.values - X) <= 1e-12 * np.abs(X)
    assert not (own & ~result.unchanged).any()
    assert_given_by_what_is_published(X, Y, result)
    return result


def assert_given_by_what_is_published(X, Y, result):
    """Only a constant or a combination of Y is left unchanged, in a group as a whole, or a record singled out by Y."""
    changeable = result.room >= 1e-6
    assert result.unchanged[~changeable].all()
    for g, j in {(result.labels[i], j) for i, j in np.argwhere(result.unchanged & changeable[:, None])}:
        members = result.labels == g
        assert result.unchanged[members, j].all()
        A = np.column_stack([np.ones(members.sum()), Y[members]])
        A = A / np.maximum(np.abs(A).max(0), 1e-300)
        x = X[members, j]
        assert np.abs(x - A @ np.linalg.lstsq(A, x)[0]).max() <= 1e-8 * np.ptp(x) + 1e-12 * np.abs(x).max()


@pytest.mark.parametrize("k", [21, 34, 50])
@pytest.mark.parametrize("name", ["census", "tarragona", "eia"])
def test_means_and_covariances_are_kept_on_the_reference_sets(reference, name, k):
    check(*halves(reference(name)), k)


@pytest.mark.slow
@pytest.mark.parametrize("k", range(5, 51))
@pytest.mark.parametrize("name", ["census", "tarragona", "eia"])
def test_means_and_covariances_are_kept_for_every_admissible_k(reference, name, k):
    V = reference(name)
    for attributes in range(2, V.shape[1] + 1):
        X, Y = halves(V[:, :attributes])
        if least_k(X.shape[1], Y.shape[1]) <= k:
            check(X, Y, k, seed=k)


def test_what_the_published_attributes_add_up_to_is_reported(reference):
    X, Y = halves(reference("census"))
    result = check(X, Y, 50)
    # PTOTVAL is the sum of POTHVAL and PEARNVAL, which are published
    np.testing.assert_array_equal(result.unchanged.sum(0), [0, 0, len(X), 0, 0, 0, 0])


@pytest.mark.parametrize("k", [10, 25, 50])
def test_hardly_more_records_are_linked_than_after_microaggregation_with_the_same_groups(reference, k):
    X = reference("census")[:, [2, 4, 8, 11]]
    labels = partition(X, k)
    plain = np.column_stack([aggregate(x, labels, "mean") for x in X.T])
    draws = [microhybrid(X, X[:, :0], labels, seed).values for seed in range(10)]
    linked = np.mean([distance_linkage(X, values)["expected"] for values in draws])
    assert linked < 1.2 * distance_linkage(X, plain)["expected"]


@pytest.fixture
def sample():
    rng = np.random.default_rng(1)
    V = np.exp(rng.normal(size=(120, 5)))
    return V[:, :3], V[:, 3:], rng.integers(0, 6, 120)


def test_no_records_are_too_few(sample):
    X, Y, labels = sample
    with refused(DataError, "k-too-small-for-synthesis", records=0):
        microhybrid(X[:0], Y[:0], labels[:0], 0)


def test_what_y_leaves_of_the_variance_is_one_less_r_squared(sample):
    X, Y, labels = sample
    X[:, 1] = Y[:, 0] + 1e-3 * X[:, 1]
    X[:, 2] = 5
    expected = np.empty((120, 2))
    for g in range(6):
        E = X[labels == g, :2] - fitted(X, Y, labels == g)[labels == g, :2]
        expected[labels == g] = E.var(0) / X[labels == g, :2].var(0)
    np.testing.assert_allclose(microhybrid(X, Y, labels, 0).left, [*expected.mean(0), 1])


def test_the_numbers_of_groups_do_not_matter(sample):
    X, Y, labels = sample
    result, other = microhybrid(X, Y, labels, 0), microhybrid(X, Y, 10 - labels, 0)
    np.testing.assert_array_equal(result.values, other.values)
    np.testing.assert_array_equal(result.labels, other.labels)
    assert result.labels[0] == 0


def test_every_group_is_made_synthetic_by_itself(sample):
    X, Y, labels = sample
    values = microhybrid(X, Y, labels, 0).values
    X[labels == 2] += 1
    Y[labels == 3] *= -2
    again = microhybrid(X, Y, labels, 0).values
    rest = ~np.isin(labels, [2, 3])
    np.testing.assert_array_equal(again[rest], values[rest])
    assert (again[labels == 2] != values[labels == 2]).all()


@given(st.integers(0, 2**32), st.integers(0, 3), st.integers(1, 30))
def test_ties_constant_and_collinear_columns_in_groups(seed, q, levels):
    rng = np.random.default_rng(seed)
    p = 3
    V = rng.integers(0, levels + 1, size=(60, p + q)).astype(float)
    V[:, 0] = V[:, 1:3].sum(1)
    V[rng.random(60) < 0.4, p - 1] = 0
    check(V[:, :p], V[:, p:], least_k(p, q) + int(rng.integers(0, 20)))


def test_a_record_that_y_singles_out_is_never_published_as_it_is(sample):
    X, Y, labels = sample
    order = np.argsort(labels)
    Y[:, 1] = 0
    Y[[order[0], order[-1]], 1] = [5.0, 7.0]  # each is the only one in its group with anything but 0
    result = microhybrid(X, Y, labels, 0)
    assert result.fused == 1
    assert result.labels[order[0]] == result.labels[order[-1]]
    assert (np.abs(result.values - X) > 1e-6 * np.abs(X)).all()
    assert not result.unchanged.any()
    assert result.room.min() > 1e-6


def test_a_record_that_y_singles_out_in_the_whole_file_is_reported(sample):
    X, Y, labels = sample
    Y[:, 1] = 0
    Y[17, 1] = 1
    result = microhybrid(X, Y, labels, 0)
    assert result.fused == 0
    np.testing.assert_array_equal(np.flatnonzero(result.unchanged.all(1)), [17])
    np.testing.assert_array_equal(np.flatnonzero(result.unchanged.any(1)), [17])


def test_a_record_that_x_singles_out_is_not_published_as_it_is(sample):
    X, Y, labels = sample
    X[:, 0] = 1
    X[17, 0] = 0  # the only one with a residual of its own: others are uncorrelated with it if they are zero there
    X[17, 1:] = 0.5 + X[np.flatnonzero(labels == labels[17]), 1:].mean(0)
    result = microhybrid(X, Y, labels, 0)
    varies = np.ptp(X[labels == labels[17]], axis=0) > 0
    assert varies.all()
    residual = result.values[17] - fitted(X, Y, labels == labels[17])[17]
    assert (np.abs(residual) > 1e-4).all()


def fitted(X, Y, members):
    A = np.column_stack([np.ones(len(X)), Y])
    return A @ np.linalg.lstsq(A[members], X[members])[0]


def test_groups_that_are_too_small_are_refused(sample):
    X, Y, _ = sample
    with refused(DataError, "k-too-small-for-synthesis", records=1, least=9):
        microhybrid(X, Y, np.arange(120), 0)
    with refused(DataError, "k-too-small-for-synthesis", records=8):
        microhybrid(X, Y, np.repeat([0, 1], [8, 112]), 0)


def test_redrawn_attributes_keep_the_marginals_of_every_group(sample):
    _, _, labels = sample
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 4, (120, 3)).astype(float)
    codes[rng.random((120, 3)) < 0.1] = np.nan
    codes[:, 2] = 1
    dealt = redraw(codes, labels, 0)
    for g in range(6):
        np.testing.assert_array_equal(np.sort(dealt[labels == g], axis=0), np.sort(codes[labels == g], axis=0))
    assert not np.array_equal(dealt[:, :2], codes[:, :2], equal_nan=True)
    np.testing.assert_array_equal(redraw(codes, 9 - labels, 0), dealt)


def test_attributes_are_dealt_apart_and_every_way_is_as_likely():
    codes = np.column_stack([np.arange(3.0), np.arange(3.0)])
    rng = np.random.default_rng(3)
    ways, counts = np.unique(
        [redraw(codes, np.zeros(3, int), rng).T.ravel() for _ in range(3600)], axis=0, return_counts=True
    )
    assert len(ways) == 36
    assert (np.abs(counts - 100) < 50).all()


def test_values_move_to_the_nearest_one_that_a_rule_allows():
    values = np.array([-1.5, 2.5, 3.0, 9.6])
    np.testing.assert_array_equal(kept_to(Rule(), values), values)
    np.testing.assert_array_equal(kept_to(Rule(low=0), values), [0, 2.5, 3, 9.6])
    np.testing.assert_array_equal(kept_to(Rule(low=2.5, high=8.5, whole=True), values), [3, 3, 3, 8])

"""Projections: the line is what the papers say, and no other cut of it is better."""

import numpy as np
import pytest
from bench.samples import distributed
from hypothesis import given
from hypothesis import strategies as st

import naive
from samples import loss, matrices
from shoal.kernels.standardize import standardize
from shoal.partitioning.optimal_cut import univariate
from shoal.partitioning.orderings import line, pca, principal_direction, zscores

ORDERINGS = {"pca": pca, "zscores": zscores}


def order_of(name: str, Z: np.ndarray) -> np.ndarray:
    w = np.linalg.svd(Z - Z.mean(axis=0))[2][0] if name == "pca" else np.ones(Z.shape[1])
    return np.argsort(Z @ w, kind="stable")


@pytest.mark.parametrize("ordering", ORDERINGS)
@pytest.mark.parametrize("name", ["census", "tarragona", "eia"])
def test_the_optimal_cut_is_never_worse_than_the_equal_size_cut_of_the_same_line(reference, name, ordering):
    Z = standardize(reference(name))
    order = line(Z, principal_direction(Z) if ordering == "pca" else np.ones(Z.shape[1]))
    for k in range(3, 11):
        assert loss(Z, ORDERINGS[ordering](Z, k)) <= loss(Z, naive.equal_cut(order, k)) * (1 + 1e-12)


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_groups_are_pieces_of_the_line_that_the_paper_describes(reference, ordering):
    X = reference("tarragona")
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    along = ORDERINGS[ordering](Z, 5)[order_of(ordering, Z)]
    if along[0] > along[-1]:  # the singular vectors of the check may point the other way
        along = along[::-1]
    assert (np.diff(along) >= 0).all()


@pytest.mark.parametrize("ordering", ORDERINGS)
@given(X=matrices(), data=st.data())
def test_every_group_has_k_to_2k_less_one_records(ordering, X, data):
    k = data.draw(st.integers(1, len(X)))
    sizes = np.bincount(ORDERINGS[ordering](X, k))
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_constant_columns_change_nothing(ordering):
    X = distributed("skewed", 200, 3)
    wide = np.insert(X, [0, 2, 3], [0.1, 1e9, -3.0], axis=1)
    assert ORDERINGS[ordering](standardize(wide), 4).tolist() == ORDERINGS[ordering](standardize(X), 4).tolist()


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_one_attribute_is_cut_as_the_univariate_method_cuts_it(ordering):
    X = standardize(distributed("skewed", 300, 1))
    assert ORDERINGS[ordering](X, 4).tolist() == univariate(X, 4).tolist()


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_records_that_are_all_alike_are_cut_in_their_own_order(ordering):
    assert ORDERINGS[ordering](np.zeros((9, 2)), 3).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_the_direction_has_a_positive_sign_however_the_attributes_are_opposed():
    x = np.random.default_rng(0).normal(size=500)
    for sign in (1.0, -1.0):
        w = principal_direction(standardize(np.column_stack([x, sign * x])))
        np.testing.assert_allclose(w, [np.sqrt(0.5), sign * np.sqrt(0.5)])


def test_opposed_attributes_cancel_in_the_sum_of_zscores_but_not_in_the_principal_component():
    x = np.random.default_rng(0).normal(size=(500, 1))
    Z = standardize(np.hstack([x, -x + 1e-3 * np.random.default_rng(1).normal(size=(500, 1))]))
    assert loss(Z, pca(Z, 5)) < loss(Z, zscores(Z, 5)) / 100


@pytest.mark.parametrize("factor", [1e-170, 1e170])
def test_scale_does_not_matter(factor):
    X = distributed("uniform", 100, 3)
    for partition in ORDERINGS.values():
        assert partition(X * factor, 3).tolist() == partition(X, 3).tolist()


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_progress_ends_at_the_number_of_records_and_the_search_can_be_stopped(ordering):
    X, watch = distributed("uniform", 500, 2), np.zeros(2, np.int64)
    ORDERINGS[ordering](X, 3, watch)
    assert watch[0] == 500
    assert set(ORDERINGS[ordering](X, 3, watch=np.array([0, 1]))) == {-1}

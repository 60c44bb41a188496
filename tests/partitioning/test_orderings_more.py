"""Orderings: each is a permutation, and the line is what its paper says."""

import numpy as np
import pytest
from bench.samples import distributed
from hypothesis import given

import naive
import shoal
from samples import loss, matrices
from shoal.kernels.standardize import standardize
from shoal.partitioning.cbfs import cbfs
from shoal.partitioning.mdav import mdav
from shoal.partitioning.optimal_cut import cut
from shoal.partitioning.orderings import (
    cbfs_mhm,
    group_order,
    mdav_mhm,
    nearest_next_order,
    npn_mhm,
    principal_order,
    zscore_order,
)

ORDERINGS = {
    "principal": principal_order,
    "zscore": zscore_order,
    "nearest next": nearest_next_order,
    "mdav": lambda X: group_order(X, mdav(X, min(3, len(X)))),
    "cbfs": lambda X: group_order(X, cbfs(X, min(3, len(X)))),
}
KINDS = ["uniform", "clustered", "skewed", "lattice"]


def records(kind: str, n: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 6, (n, 3)) * 1.0 if kind == "lattice" else distributed(kind, n, 3)


@pytest.mark.parametrize("name", ORDERINGS)
@given(X=matrices())
def test_every_ordering_is_a_permutation(name, X):
    order = ORDERINGS[name](X)
    assert order.dtype == np.int64
    assert sorted(order) == list(range(len(X)))


@pytest.mark.parametrize("name", ORDERINGS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_few_records_of_many_attributes_are_ordered(name, n):
    X = np.random.default_rng(n).normal(size=(n, 30))
    X[:, 3] = 7.0
    assert sorted(ORDERINGS[name](X)) == list(range(n))


@pytest.mark.parametrize("name", ["principal", "zscore", "nearest next"])
def test_records_that_are_all_alike_keep_their_order(name):
    assert ORDERINGS[name](np.full((20, 3), 0.1)).tolist() == list(range(20))


@pytest.mark.parametrize("kind", KINDS)
def test_nearest_point_next_is_the_naive_walk(kind):
    X = records(kind, 300)
    assert nearest_next_order(X).tolist() == naive.nearest_next_order(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 3, 7])
def test_cbfs_forms_the_naive_groups(kind, k):
    X = records(kind, 101)
    assert cbfs(X, k).tolist() == naive.cbfs(X, k).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_groups_are_walked_through_as_the_naive_walk_does(kind):
    X = records(kind, 101)
    for labels in (mdav(X, 3), cbfs(X, 4)):
        assert group_order(X, labels).tolist() == naive.group_order(X, labels)


@pytest.mark.parametrize("kind", KINDS)
def test_each_method_is_the_optimal_cut_of_its_line(kind):
    X, k = records(kind, 150), 4
    lines = {
        npn_mhm: naive.nearest_next_order(X),
        mdav_mhm: naive.group_order(X, naive.mdav(X, k)),
        cbfs_mhm: naive.group_order(X, naive.cbfs(X, k)),
    }
    for method, line in lines.items():
        expected = float(naive.exact_cut_cost(X[line], k))
        assert loss(X, method(X, k)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("method", ["npn-mhm", "mdav-mhm", "cbfs-mhm"])
@given(X=matrices())
def test_every_group_has_k_to_2k_less_one_records(method, X):
    k = min(3, len(X))
    if k < 2:
        return
    sizes = np.bincount(shoal.partition(X, k, method))
    assert sizes.min() >= k
    assert len(X) < 2 * k or sizes.max() < 2 * k


@pytest.mark.parametrize(("name", "published"), [("census", [6.21, 11.05, 20.23]), ("tarragona", [17.5, 28.2, 38.7])])
def test_nearest_point_next_has_its_known_loss(reference, name, published):
    Z = standardize(reference(name))
    order = nearest_next_order(Z)
    for k, expected in zip((3, 5, 10), published, strict=True):
        assert 100 * loss(Z, cut(Z, order, k)) / Z.size == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("method", [mdav_mhm, cbfs_mhm])
def test_the_cut_never_loses_more_than_the_groups_it_started_from(method):
    X = distributed("skewed", 101, 3)
    start = {mdav_mhm: mdav, cbfs_mhm: cbfs}[method]
    assert loss(X, method(X, 4)) <= loss(X, start(X, 4)) * (1 + 1e-12)


@pytest.mark.parametrize("method", [npn_mhm, mdav_mhm, cbfs_mhm])
def test_a_method_that_is_stopped_forms_no_groups(method):
    assert (method(distributed("uniform", 50, 3), 3, watch=np.array([0, 1])) == -1).all()


def test_an_ordering_that_is_stopped_leaves_the_records_as_they_stand():
    assert nearest_next_order(distributed("uniform", 50, 3), np.array([0, 1])).tolist() == list(range(50))


def test_scale_does_not_matter():
    X = distributed("uniform", 200, 3)
    for exponent in (-560, 560):
        assert nearest_next_order(np.ldexp(X, exponent)).tolist() == nearest_next_order(X).tolist()

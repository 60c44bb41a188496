"""Orderings: each is a permutation, and the line is what its paper says."""

import numpy as np
import pytest
from bench.samples import distributed
from hypothesis import given

from samples import loss, matrices
from shoal.kernels.paths import nearest_next
from shoal.kernels.standardize import standardize, within_squares
from shoal.partitioning.mdav import mdav
from shoal.partitioning.optimal_cut import cut
from shoal.partitioning.orderings import principal_order, zscore_order


def nearest_next_order(X: np.ndarray, watch: np.ndarray | None = None) -> np.ndarray:
    """Order records by the nearest point next [1]_: from the one farthest from the mean to the nearest not yet visited.

    No method of the package cuts this line: the tour, which is joined by the same kernel, is shorter.

    References
    ----------
    .. [1] J. Domingo-Ferrer, A. Martínez-Ballesté, J. M. Mateo-Sanz and F. Sebé, "Efficient multivariate data-oriented
       microaggregation", VLDB Journal 15 (2006) 355-369 (NPN-MHM).
    """
    watch = np.zeros(2, np.int64) if watch is None else watch
    rows = within_squares(X)
    start = int(np.argmax(((rows - rows.mean(axis=0)) ** 2).sum(axis=1)))
    order = nearest_next(rows, np.arange(len(rows)), start, watch)
    return np.arange(len(rows)) if watch[1] != 0 else order


def mdav_order(X: np.ndarray, k: int) -> np.ndarray:
    """Order records by MDAV [1]_: its groups one after the other, as they are formed (MDAV-MHM)."""
    return np.argsort(mdav(X, k), kind="stable")


ORDERINGS = {
    "principal": principal_order,
    "zscore": zscore_order,
    "nearest next": nearest_next_order,
    "mdav": lambda X: mdav_order(X, min(3, len(X))),
}


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


@pytest.mark.parametrize("name", ORDERINGS)
def test_records_that_are_all_alike_keep_their_order(name):
    assert ORDERINGS[name](np.full((20, 3), 0.1)).tolist() == list(range(20))


def naive_walk(X: np.ndarray) -> list[int]:
    """From the record farthest from the mean, always to the nearest that was not visited."""
    order = [int(np.argmax(((X - X.mean(axis=0)) ** 2).sum(axis=1)))]
    left = set(range(len(X))) - set(order)
    while left:
        order.append(min(left, key=lambda i: (((X[i] - X[order[-1]]) ** 2).sum(), i)))
        left.remove(order[-1])
    return order


@pytest.mark.parametrize("kind", ["uniform", "clustered", "skewed", "lattice"])
def test_nearest_point_next_is_the_naive_walk(kind):
    X = np.random.default_rng(0).integers(0, 6, (400, 3)) * 1.0 if kind == "lattice" else distributed(kind, 400, 3)
    assert nearest_next_order(X).tolist() == naive_walk(X)


@pytest.mark.parametrize(("name", "published"), [("census", [6.21, 11.05, 20.23]), ("tarragona", [17.5, 28.2, 38.7])])
def test_nearest_point_next_has_its_known_loss(reference, name, published):
    Z = standardize(reference(name))
    order = nearest_next_order(Z)
    for k, expected in zip((3, 5, 10), published, strict=True):
        assert 100 * loss(Z, cut(Z, order, k)) / Z.size == pytest.approx(expected, abs=0.05)


def test_mdav_order_has_its_groups_one_after_the_other():
    X = distributed("skewed", 101, 3)
    along = mdav(X, 4)[mdav_order(X, 4)]
    assert (np.diff(along) >= 0).all()
    assert loss(X, cut(X, mdav_order(X, 4), 4)) <= loss(X, mdav(X, 4)) * (1 + 1e-12)


def test_an_ordering_that_is_stopped_leaves_the_records_as_they_stand():
    assert nearest_next_order(distributed("uniform", 50, 3), np.array([0, 1])).tolist() == list(range(50))


def test_scale_does_not_matter():
    X = distributed("uniform", 200, 3)
    for exponent in (-560, 560):
        assert nearest_next_order(np.ldexp(X, exponent)).tolist() == nearest_next_order(X).tolist()

"""Orderings: each is a permutation, and the line is what its paper says."""

from itertools import product

import numpy as np
import pytest
from bench.samples import distributed
from hypothesis import given
from hypothesis import strategies as st

from samples import loss, matrices
from shoal.kernels.hilbert import hilbert_places
from shoal.partitioning.cut import cut
from shoal.partitioning.mdav import mdav
from shoal.partitioning.orderings import (
    HILBERT_AXES,
    hilbert_order,
    mdav_order,
    nearest_next_order,
    principal_axes,
    principal_order,
    zscore_order,
)
from shoal.scaling import standardize

ORDERINGS = {
    "principal": principal_order,
    "zscore": zscore_order,
    "nearest next": nearest_next_order,
    "mdav": lambda X: mdav_order(X, min(3, len(X))),
    "hilbert": hilbert_order,
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


@pytest.mark.parametrize(("d", "bits"), [(1, 5), (2, 1), (2, 4), (3, 3), (4, 2), (5, 2), (10, 1)])
def test_hilbert_curve_visits_every_cell_and_goes_from_each_to_one_beside_it(d, bits):
    cells = np.array(list(product(range(2**bits), repeat=d)))
    places = hilbert_places(cells, bits, np.zeros(2, np.int64))
    assert sorted(places[:, 0]) == list(range(len(cells)))
    steps = np.abs(np.diff(cells[np.argsort(places[:, 0])], axis=0)).sum(axis=1)
    assert (steps == 1).all()


@given(st.integers(0, 2**32), st.integers(1, 10))
def test_places_of_many_bits_are_refined_by_the_next_columns(seed, d):
    """The first bits of a coordinate alone have the same order as far as they go (with all bits, of even number)."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 2**20, (60, d))
    places = hilbert_places(cells, 20, np.zeros(2, np.int64))
    assert places.shape[1] == -(-20 * d // 62)
    assert (places >= 0).all()
    assert (places[:, : places.shape[1] - 1] < 2**62).all()
    whole = [int("".join(format(v, "062b") for v in row[:-1]) or "0", 2) for row in places.tolist()]
    rest = 20 * d - 62 * (places.shape[1] - 1)
    whole = [(w << rest) | row[-1] for w, row in zip(whole, places.tolist(), strict=True)]
    assert all(w < 2 ** (20 * d) for w in whole)
    assert len(set(whole)) == len({tuple(cell) for cell in cells.tolist()})


def test_hilbert_order_keeps_near_records_together():
    X = distributed("uniform", 2000, 2)
    line = X[hilbert_order(X)]
    assert np.linalg.norm(np.diff(line, axis=0), axis=1).mean() < 1.5 / np.sqrt(2000)


def test_hilbert_curve_of_many_attributes_goes_through_the_space_of_principal_components():
    rng = np.random.default_rng(0)
    few = rng.normal(size=(300, HILBERT_AXES)) * np.arange(20, 20 - HILBERT_AXES, -1)
    wide = np.hstack([few, 1e-7 * rng.normal(size=(300, 10))])
    turned = wide @ np.linalg.qr(rng.normal(size=(20, 20)))[0]
    scores = (turned - turned.mean(axis=0)) @ principal_axes(turned)[:, :HILBERT_AXES]
    assert hilbert_order(turned).tolist() == hilbert_order(scores).tolist()


def test_principal_axes_are_orthonormal_and_in_the_order_of_variance():
    X = distributed("skewed", 300, 6)
    axes = principal_axes(X)
    np.testing.assert_allclose(axes.T @ axes, np.eye(6), atol=1e-12)
    assert (np.diff(((X - X.mean(axis=0)) @ axes).var(axis=0)) <= 0).all()


@pytest.mark.parametrize("order", [nearest_next_order, hilbert_order])
def test_an_ordering_that_is_stopped_leaves_the_records_as_they_stand(order):
    assert order(distributed("uniform", 50, 3), np.array([0, 1])).tolist() == list(range(50))


@pytest.mark.parametrize("name", ["nearest next", "hilbert"])
def test_scale_does_not_matter(name):
    X = distributed("uniform", 200, 3)
    for exponent in (-560, 560):
        assert ORDERINGS[name](np.ldexp(X, exponent)).tolist() == ORDERINGS[name](X).tolist()

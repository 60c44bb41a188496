"""The record that stands for its group."""

from fractions import Fraction

import numpy as np
import pytest
from group_samples import repeated
from hypothesis import given
from hypothesis import strategies as st

from shoal.aggregation import medoids
from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, EncodedMatrix

LEVELS = 4
KINDS = np.array([MEAN, MEDIAN, CONVEX_MEDIAN, MODE])
COLUMN_WEIGHTS = np.array([1.0, 4.0, 1.0, 2.0])
STEPS = np.array([1.0, 0.5, 0.25, 1.0])  # powers of two: sums of squares are exact
OF_LEVELS = np.array([0, LEVELS, LEVELS, LEVELS])

codes = st.one_of(st.integers(0, LEVELS - 1).map(float), st.just(np.nan))
records = st.lists(
    st.tuples(st.tuples(codes, codes, codes, codes), st.integers(0, 2), st.integers(0, 3).map(float)),
    min_size=1,
    max_size=15,
)


def unpacked(drawn):
    rows, labels, weights = (np.array(part) for part in zip(*drawn, strict=True))
    space = EncodedMatrix(rows * STEPS, KINDS, COLUMN_WEIGHTS, STEPS, OF_LEVELS)
    return space, np.unique(labels, return_inverse=True)[1], weights


def squared_distance(space, a, b):
    total = Fraction(0)
    for j, kind in enumerate(space.kinds):
        x, y = space.values[a, j], space.values[b, j]
        if np.isnan(x) or np.isnan(y):
            total += Fraction(0 if np.isnan(x) and np.isnan(y) else space.apart[j])
        elif kind == MODE:
            total += Fraction(0 if x == y else space.apart[j])
        else:
            total += (Fraction(x) - Fraction(y)) ** 2
    return total


def naive_medoids(space, labels, weights):
    found = []
    for label in range(labels.max() + 1):
        members = np.flatnonzero(labels == label).tolist()
        w = weights if weights[members].any() else np.ones(len(labels))

        def rank(a, members=members, w=w):
            cost = sum(Fraction(w[b]) * squared_distance(space, a, b) for b in members)
            return cost, np.nan_to_num(space.values[a], nan=np.inf).tolist(), w[a], a

        found.append(min(members, key=rank))
    return found


@given(records)
def test_medoids_equal_their_definition(drawn):
    space, labels, weights = unpacked(drawn)
    np.testing.assert_array_equal(medoids(space, labels, weights), naive_medoids(space, labels, weights))
    ones = np.ones(len(labels))
    np.testing.assert_array_equal(medoids(space, labels), naive_medoids(space, labels, ones))
    np.testing.assert_array_equal(medoids(space, labels, ones), medoids(space, labels))


@given(records, st.randoms(use_true_random=False))
def test_the_order_of_the_records_does_not_change_what_a_medoid_publishes(drawn, random):
    space, labels, weights = unpacked(drawn)
    order = list(range(len(labels)))
    random.shuffle(order)
    moved = space.rows(np.array(order))
    for w in (None, weights):
        found = medoids(moved, labels[order], None if w is None else w[order])
        np.testing.assert_array_equal(moved.values[found], space.values[medoids(space, labels, w)])


@given(records)
def test_a_weight_counts_as_so_many_records(drawn):
    space, labels, weights = unpacked(drawn)
    weights += 1
    many, of_many = repeated(np.arange(len(labels)), labels, weights)
    found = many[medoids(space.rows(many), of_many)]
    np.testing.assert_array_equal(space.values[found], space.values[medoids(space, labels, weights)])


def test_a_medoid_belongs_to_its_group_and_costs_least():
    rng = np.random.default_rng(0)
    plain = EncodedMatrix(
        rng.normal(size=(60, 3)), np.full(3, MEAN), np.ones(3), np.ones(3), np.zeros(3, dtype=np.int64)
    )
    labels = rng.integers(0, 5, 60)
    for label, found in enumerate(medoids(plain, labels)):
        assert labels[found] == label
        members = plain.values[labels == label]
        costs = ((members[:, None] - members[None]) ** 2).sum(axis=(1, 2))
        assert ((plain.values[found] - members) ** 2).sum() == pytest.approx(costs.min())


def test_two_records_publish_the_lower_one():
    plain = EncodedMatrix(
        np.array([[0.3], [0.1]]), np.array([MEAN]), np.ones(1), np.ones(1), np.zeros(1, dtype=np.int64)
    )
    assert medoids(plain, np.zeros(2, dtype=np.int64)).tolist() == [1]

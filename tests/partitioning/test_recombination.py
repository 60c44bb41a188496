"""Recombination: never worse than its parts, and the best there is where the groups allow."""

import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_bounds import KINDS, optimum, small

import naive
from samples import diagonal, loss, matrices
from shoal.errors import MissingExtra
from shoal.partitioning.column_generation import column_generation
from shoal.partitioning.mdav import mdav
from shoal.partitioning.orderings import pca
from shoal.partitioning.recombination import recombine, solve_over_columns
from shoal.partitioning.set_partitioning import Groups, groups_of, pooled

ROUNDING = 1 + 1e-9


def random_partition(n: int, k: int, seed: int) -> np.ndarray:
    order = np.random.default_rng(seed).permutation(n)
    labels = np.empty(n, np.int64)
    labels[order] = np.minimum(np.arange(n) // k, n // k - 1)
    return labels


def assert_sizes(labels: np.ndarray, k: int) -> None:
    sizes = np.bincount(labels)
    assert labels.dtype == np.int64
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


@settings(max_examples=40)
@given(matrices(most=40), st.integers(2, 4), st.integers(1, 5))
def test_result_is_never_worse_than_its_parts(X, k, parts):
    k = min(k, len(X))
    partitions = [mdav(X, k)] + [random_partition(len(X), k, seed) for seed in range(parts)]
    labels = recombine(X, k, partitions, seconds=600)
    assert_sizes(labels, k)
    assert float(naive.exact_cost(X, labels)) <= min(float(naive.exact_cost(X, p)) for p in partitions) * ROUNDING


def test_the_best_halves_of_two_partitions_are_joined():
    near, far = np.random.default_rng(0).normal(size=(2, 9, 2))
    X = np.r_[near, far + 100]
    bad, good = random_partition(9, 3, 1), mdav(near, 3)
    bad_far, good_far = random_partition(9, 3, 2), mdav(far, 3)
    assert loss(near, good) < loss(near, bad)
    assert loss(far, good_far) < loss(far, bad_far)
    labels = recombine(X, 3, [np.r_[good, bad_far + 3], np.r_[bad, good_far + 3]])
    assert loss(X, labels) == pytest.approx(loss(near, good) + loss(far, good_far))


def test_result_is_the_best_that_the_pool_allows():
    """All groups of k to 2k - 1 are in the pool: the best partition over them is the best there is."""
    from itertools import combinations

    for seed in range(5):
        X = small("random", 9, 2, seed)
        rows = [[*g, *[-1] * (5 - len(g))] for size in (3, 4, 5) for g in combinations(range(9), size)]
        members = np.array(rows)
        labels = recombine(X, 3, [random_partition(9, 3, seed)], Groups(members, np.zeros(len(members))))
        assert loss(X, labels) == pytest.approx(float(optimum(X, 3)), rel=1e-9)


def test_partitions_of_many_small_components_are_solved_in_batches():
    """Each of 400 far clusters of nine records is a component of its own; of each, one partition has a good third."""
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(400, 9, 2)) + 1000.0 * np.arange(400)[:, None, None]).reshape(-1, 2)
    partitions = [np.concatenate([random_partition(9, 3, 400 * p + c) + 3 * c for c in range(400)]) for p in range(12)]
    labels = recombine(X, 3, partitions)
    assert_sizes(labels, 3)
    best = sum(min(loss(X[c * 9 : c * 9 + 9], p[c * 9 : c * 9 + 9]) for p in partitions) for c in range(400))
    assert loss(X, labels) < best * (1 - 1e-6)


def test_groups_that_cannot_be_completed_are_no_harm():
    X = small("random", 12, 2, 0)
    partition = mdav(X, 3)
    alone = Groups(np.array([[0, 5, 11, -1, -1]]), np.zeros(1))
    assert loss(X, recombine(X, 3, [partition], alone)) <= loss(X, partition) * ROUNDING


def test_fewer_than_2k_records_stay_one_group():
    X = small("random", 5, 2, 0)
    assert (recombine(X, 3, [np.zeros(5, np.int64)]) == 0).all()


def test_without_time_the_best_by_component_is_returned():
    X = small("random", 30, 2, 0)
    partitions = [mdav(X, 3), pca(X, 3), random_partition(30, 3, 0)]
    labels = recombine(X, 3, partitions, seconds=0.0)
    assert_sizes(labels, 3)
    assert loss(X, labels) <= min(loss(X, p) for p in partitions) * ROUNDING


def test_result_is_the_same_every_time_and_for_any_number_of_copies():
    X = np.random.default_rng(5).normal(size=(60, 3))
    partitions = [random_partition(60, 3, seed) for seed in range(20)] + [mdav(X, 3)]
    first = recombine(X, 3, partitions)
    assert np.array_equal(first, recombine(X, 3, partitions))
    assert np.array_equal(first, recombine(X, 3, partitions + partitions))


@pytest.mark.parametrize(("kind", "size"), diagonal(KINDS, [(8, 2), (9, 3), (10, 3)]))
def test_columns_and_enumeration_give_the_optimum_and_its_proof(kind, size):
    n, k = size
    X = small(kind, n, 2, n + k)
    start = mdav(X, k)
    columns = column_generation(X, k, start)
    solution = solve_over_columns(X, k, columns, [start])
    best = optimum(X, k)
    assert_sizes(solution.labels, k)
    assert solution.optimal
    assert naive.exact_cost(X, solution.labels) <= best * Fraction(ROUNDING) + Fraction(0)
    assert Fraction(columns.bound) <= Fraction(solution.bound) <= best


def test_optimum_of_forty_records_is_proved():
    X = np.random.default_rng(8).normal(size=(40, 2))
    start = mdav(X, 3)
    solution = solve_over_columns(X, 3, column_generation(X, 3, start), [start])
    assert solution.optimal
    assert loss(X, solution.labels) < loss(X, start)
    assert solution.bound == pytest.approx(loss(X, solution.labels), rel=1e-5)


def test_pool_holds_every_group_once_the_first_met_first():
    X = small("random", 9, 2, 0)
    parts = [groups_of(X, 3, np.array(p)) for p in ([0, 0, 0, 1, 1, 1, 2, 2, 2], [1, 1, 1, 0, 2, 0, 2, 2, 0])]
    pool, (first, second) = pooled(parts)
    assert pool.members[:, :3].tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [3, 5, 8], [4, 6, 7]]
    assert first.tolist() == [0, 1, 2]
    assert second.tolist() == [3, 0, 4]
    assert pool.costs == pytest.approx([float(naive.exact_sse(X[row[row >= 0]])) for row in pool.members])


def test_without_highs_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    X = small("random", 12, 2, 0)
    with pytest.raises(MissingExtra, match=r"shoal-sdc\[bounds\]"):
        recombine(X, 3, [mdav(X, 3), random_partition(12, 3, 1)])

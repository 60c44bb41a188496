"""Parts of a partition that are solved again: never worse than what they begin with, and the best of their groups."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_bounds import optimum
from test_recombination import ROUNDING, assert_sizes, random_partition

import naive
from samples import loss, matrices
from shoal.partitioning import neighbourhoods
from shoal.partitioning.mdav import mdav
from shoal.partitioning.neighbourhoods import promising, solve_parts

AMPLE = 600.0  # seconds: a search of few records ends long before


def solved(X: np.ndarray, k: int, partitions: list[np.ndarray], threads: int = 1) -> np.ndarray:
    watch = np.zeros(2, np.int64)
    groups = promising(X, k, partitions, AMPLE, watch)
    assert groups is not None
    return solve_parts(k, partitions, groups, AMPLE, 0, watch, threads)


@settings(max_examples=10, deadline=None)
@given(matrices(most=24), st.integers(2, 4), st.integers(1, 3))
def test_result_is_never_worse_than_the_best_of_the_partitions(X, k, others):
    if len(X) < 2 * k:
        return
    partitions = [mdav(X, k), *(random_partition(len(X), k, seed) for seed in range(others))]
    labels = solved(X, k, partitions)
    assert_sizes(labels, k)
    assert float(naive.exact_cost(X, labels)) <= min(float(naive.exact_cost(X, p)) for p in partitions) * ROUNDING


@pytest.mark.parametrize("threads", [1, 2])
def test_one_part_of_all_groups_is_the_optimum(monkeypatch, threads):
    """With room for all groups there are, what is found once a part takes in all records is the best partition."""
    monkeypatch.setattr(neighbourhoods, "RELATIVE", 1e9)
    X = np.random.default_rng(3).normal(size=(9, 2))
    labels = solved(X, 3, [random_partition(9, 3, 1)], threads)
    assert loss(X, labels) == pytest.approx(float(optimum(X, 3)))


def test_a_poor_partition_of_many_records_is_improved_in_parts(monkeypatch):
    monkeypatch.setattr(neighbourhoods, "RECORDS", 12)
    X = np.random.default_rng(4).normal(size=(45, 2))
    start = mdav(X, 3)
    labels = solved(X, 3, [start])
    assert_sizes(labels, 3)
    assert loss(X, labels) < 0.9 * loss(X, start)


def test_without_time_there_is_nothing_to_choose_from():
    X = np.random.default_rng(5).normal(size=(60, 2))
    assert promising(X, 3, [mdav(X, 3)], 0.0, np.zeros(2, np.int64)) is None


def test_without_time_the_best_partition_is_returned():
    X, watch = np.random.default_rng(6).normal(size=(60, 2)), np.zeros(2, np.int64)
    partitions = [random_partition(60, 3, 1), mdav(X, 3)]
    groups = promising(X, 3, partitions, AMPLE, watch)
    assert groups is not None
    assert loss(X, solve_parts(3, partitions, groups, 0.0, 0, watch, 2)) == pytest.approx(loss(X, partitions[1]))

"""Every change of a partition changes the sum of squared errors by what its kernel says, and can be taken back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import loss

from shoal.kernels._native import (
    best_swap,
    dissolve,
    form,
    joining,
    leaving,
    move,
    random_bits,
    regroup,
    resplit,
    ruin,
    swap,
    swapping,
    take_back,
)
from shoal.kernels.anneal import anneal, descend
from shoal.kernels.refine import Grouping, grouped, new_journal

pytestmark = pytest.mark.usefixtures("instruction_set")

RUINS = {"dissolve": 0, "form": 1, "regroup": 2, "resplit": 3}


def neighbour_lists(X: np.ndarray) -> np.ndarray:
    apart = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    return np.argsort(apart, axis=1, kind="stable")[:, : min(12, len(X) - 1)].astype(np.int32)


def random_labels(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Random groups of k to 2k - 1 records."""
    sizes = []
    left = n
    while left >= 2 * k:
        sizes.append(int(rng.integers(k, min(2 * k - 1, left - k) + 1)))
        left -= sizes[-1]
    return rng.permutation(np.repeat(np.arange(len(sizes) + 1), [*sizes, left]))


@st.composite
def partitions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, Grouping]:
    """Records of size at most 1, often equal ones, in random groups."""
    k = draw(st.integers(2, 5))
    n, d = draw(st.integers(2 * k, 60)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.random((n, d)) if draw(st.booleans()) else rng.integers(0, 3, (n, d)) / 2
    labels = random_labels(rng, n, k)
    return X, neighbour_lists(X), k, grouped(X, labels, k, int(labels.max()) + 1)


def consistent(s: Grouping) -> bool:
    """Whether all arrays tell of the same partition."""
    used = [g for g in range(len(s.size)) if s.size[g] > 0]
    listed = {int(i): g for g in used for i in s.members[g, : s.size[g]]}
    free = s.free[1 : s.free[0] + 1].tolist()
    return (
        sorted(listed) == list(range(len(s.X)))
        and all(s.label[i] == g and s.members[g, s.place[i]] == i for i, g in listed.items())
        and sorted(free + used) == list(range(len(s.size)))
        and all(np.allclose(s.centroid[g], s.X[s.label == g].mean(axis=0), rtol=0, atol=1e-12) for g in used)
    )


def state_of(s: Grouping) -> tuple[list[int], list[int]]:
    return s.label.tolist(), s.free[: s.free[0] + 1].tolist()


@given(partitions(), st.integers(0, 10**6))
def test_the_gain_of_a_move_is_that_of_the_recomputed_error(partition, number):
    X, _, _, s = partition
    i = number % len(X)
    targets = [g for g in range(len(s.size)) if g != s.label[i] and 0 < s.size[g] < s.members.shape[1]]
    if not targets:
        return
    before = loss(X, s.label)
    change = joining(s, i, targets[number % len(targets)]) - leaving(s, i)
    move(s, i, targets[number % len(targets)])
    assert change == pytest.approx(loss(X, s.label) - before, rel=1e-9, abs=1e-12)
    assert consistent(s)


@given(partitions(), st.integers(0, 10**6))
def test_the_gain_of_a_swap_is_that_of_the_recomputed_error(partition, number):
    X, _, _, s = partition
    i = number % len(X)
    others = np.flatnonzero(s.label != s.label[i])
    if not len(others):
        return
    m = int(others[number % len(others)])
    before = loss(X, s.label)
    change = swapping(s, i, m)
    assert best_swap(s, i, s.label[m])[0] <= change
    swap(s, i, m)
    assert change == pytest.approx(loss(X, s.label) - before, rel=1e-9, abs=1e-12)
    assert consistent(s)


@pytest.mark.parametrize("kind", RUINS)
@given(partition=partitions(), number=st.integers(0, 10**6))
def test_ruins_change_the_error_by_what_they_say_or_nothing_at_all(kind, partition, number):
    X, near, k, s = partition
    i = number % len(X)
    before = loss(X, s.label)
    change = ruin(s, near, i, RUINS[kind], new_journal(2 * k * (k + 1)), np.inf)
    assert change == pytest.approx(loss(X, s.label) - before, rel=1e-9, abs=1e-12)
    assert consistent(s)
    assert set(np.bincount(s.label, minlength=len(s.size))) <= {0, *range(k, 2 * k)}


@pytest.mark.parametrize("change", [dissolve, form, regroup, resplit])
@given(partition=partitions(), number=st.integers(0, 10**6))
def test_what_is_taken_back_leaves_the_partition_as_it_was(change, partition, number):
    X, near, k, s = partition
    i = number % len(X)
    before = state_of(s)
    journal = new_journal(2 * k * (k + 1))
    change(s, near, s.label[i] if change is dissolve else i, journal)
    take_back(s, journal)
    assert state_of(s) == before
    assert consistent(s)


def test_a_group_is_formed_of_what_others_can_spare():
    # Two groups of three where two would do; the two to spare are neighbours.
    X = np.array([[0.0], [0.1], [0.5], [0.52], [0.9], [1.0]])
    s = grouped(X, np.array([0, 0, 0, 1, 1, 1]), 2, 2)
    change = ruin(s, neighbour_lists(X), 2, RUINS["form"], new_journal(20), 0.0)
    assert change < 0
    assert np.unique(s.label).size == 3
    assert s.label[2] == s.label[3]


def test_regrouping_dissolves_the_groups_that_fall_short():
    X = np.array([[0.0], [0.01], [0.02], [0.5], [0.51], [0.52], [0.98], [0.99], [1.0]])
    labels = np.array([0, 0, 1, 0, 1, 1, 2, 2, 2])
    s = grouped(X, labels, 3, 3)
    before = loss(X, labels)
    change = ruin(s, neighbour_lists(X), 0, RUINS["regroup"], new_journal(40), np.inf)
    assert s.label[0] == s.label[1] == s.label[2]
    assert loss(X, s.label) == pytest.approx(before + change, rel=1e-12)
    assert np.bincount(s.label, minlength=3)[np.unique(s.label)].min() >= 3


def test_two_groups_that_lie_across_each_other_are_split_anew():
    X = np.array([[0.0], [0.02], [0.03], [0.9], [0.95], [1.0]])
    s = grouped(X, np.array([0, 1, 0, 1, 0, 1]), 3, 2)
    assert ruin(s, neighbour_lists(X), 0, RUINS["resplit"], new_journal(20), 0.0) < 0
    assert s.label[0] == s.label[1] == s.label[2] != s.label[3] == s.label[4] == s.label[5]


@given(partitions(), st.sampled_from([1e-6, 0.1, 10.0]))
def test_annealing_keeps_sizes_and_counts_its_error(partition, temperature):
    X, near, k, s = partition
    before = loss(X, s.label)
    state = np.array([88172645463325252], np.uint64)
    change = anneal(s, near, np.ones(len(X)), temperature, 3000, state, np.zeros(2, np.int64))
    assert loss(X, s.label) == pytest.approx(before + change, rel=1e-9, abs=1e-12)
    assert set(np.bincount(s.label, minlength=len(s.size))) <= {0, *range(k, 2 * k)}
    assert consistent(s)


@given(partitions())
def test_a_descent_ends_where_nothing_awake_lowers_the_error(partition):
    X, near, k, s = partition
    before = loss(X, s.label)
    awake = np.ones(len(X), np.bool_)
    for _ in range(20):  # waking everyone up again finds what a sleeper overlooked
        awake[:] = True
        if descend(s, near, np.ones(len(X)), awake, np.zeros(2, np.int64)) == 0.0:
            break
    assert not awake.any()
    assert loss(X, s.label) <= before * (1 + 1e-12)
    assert set(np.bincount(s.label, minlength=len(s.size))) <= {0, *range(k, 2 * k)}
    for i in range(len(X)):
        for g in {int(s.label[j]) for j in near[i]} - {int(s.label[i])}:
            assert best_swap(s, i, g)[0] >= -1e-12
            if s.size[s.label[i]] > k and s.size[g] < s.members.shape[1]:
                assert joining(s, i, g) - leaving(s, i) >= -1e-12


@given(partitions())
def test_a_descent_and_an_annealing_stop_when_asked(partition):
    X, near, _, s = partition
    before, asked = state_of(s), np.array([0, 1])
    assert descend(s, near, np.ones(len(X)), np.ones(len(X), np.bool_), asked) == 0.0
    assert anneal(s, near, np.ones(len(X)), 1.0, 5000, np.array([1], np.uint64), asked) == 0.0
    assert state_of(s) == before


def test_random_numbers_are_those_of_xorshift64_star():
    state, expected = np.array([1], np.uint64), 1
    for _ in range(7000):
        expected ^= expected >> 12
        expected = (expected ^ (expected << 25)) & (2**64 - 1)
        expected ^= expected >> 27
        assert random_bits(state) == expected * 0x2545F4914F6CDD1D % 2**64

"""MDAV-generic on attributes of every type: the groups and averages of the naive version, to the record."""

import threading
import time

import numpy as np
import pytest
from bench.mixed import mixed_records
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from samples import matrices
from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, EncodedMatrix
from shoal.kernels.mixed_average import averages_as_they_leave
from shoal.partitioning.mdav import mdav, mdav_mixed


def space_of(*columns: tuple[list[float], int, int]) -> EncodedMatrix:
    """A space of columns given as places, categories or numbers, with their kind and number of levels; weights 1."""
    kinds = np.array([kind for _, kind, _ in columns])
    levels = np.array([count for _, _, count in columns])
    ordinal = (kinds == MEDIAN) | (kinds == CONVEX_MEDIAN)
    steps = 1.0 / np.where(ordinal, levels, 1)
    values = np.column_stack([np.array(column, float) for column, _, _ in columns])
    return EncodedMatrix(np.ascontiguousarray(values * steps), kinds, np.ones(len(columns)), steps, levels)


@st.composite
def spaces(draw: st.DrawFn, most: int = 60) -> EncodedMatrix:
    """Spaces with what breaks a search: ties, lattices, duplicates, constants, missing values and records, weights."""
    n, d = draw(st.integers(1, most)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = np.array(draw(st.lists(st.sampled_from([MEAN, MEDIAN, CONVEX_MEDIAN, MODE]), min_size=d, max_size=d)))
    weights = np.array(draw(st.lists(st.sampled_from([0.0, 1e-6, 0.3, 1.0, 7.0, 1e6]), min_size=d, max_size=d)))
    levels = np.where(kinds == MEAN, 0, draw(st.integers(1, 9)))
    steps = np.where((kinds == MEAN) | (kinds == MODE), 1.0, np.sqrt(weights) / np.maximum(levels, 1))
    values = np.empty((n, d))
    for j in range(d):
        if kinds[j] == MEAN:
            shape = draw(st.sampled_from(["normal", "lattice", "constant", "rounded", "outliers"]))
            column = {
                "normal": rng.normal(size=n),
                "lattice": rng.integers(0, 4, n) * 1.0,
                "constant": np.full(n, 0.1),
                "rounded": np.round(rng.normal(size=n), 1) + 1e6,
                "outliers": rng.normal(size=n) * 10.0 ** rng.integers(-8, 14, n),
            }[shape]
            values[:, j] = column * np.sqrt(weights[j])
        else:
            used = draw(st.integers(1, int(levels[j])))
            values[:, j] = rng.integers(0, used, n) * steps[j]
        values[rng.random(n) < draw(st.sampled_from([0.0, 0.0, 0.1, 0.5, 0.9, 1.0])), j] = np.nan
    if draw(st.booleans()):
        values = values[rng.integers(0, max(1, n // 3), n)]
    if draw(st.booleans()):
        values[rng.random(n) < 0.1] = np.nan
    return EncodedMatrix(np.ascontiguousarray(values), kinds, weights, steps, levels)


@settings(max_examples=300)
@given(space=spaces(), data=st.data())
def test_the_groups_are_those_of_the_naive_version_to_the_record(space, data):
    k = data.draw(st.integers(1, min(len(space.values), 8)))
    assert mdav_mixed(space, k).tolist() == naive.mdav_mixed(space, k).tolist()


@pytest.mark.slow
@settings(max_examples=3000)
@given(space=spaces(), data=st.data())
def test_the_groups_are_the_naive_ones_in_thousands_of_cases(space, data):
    k = data.draw(st.integers(1, min(len(space.values), 8)))
    assert mdav_mixed(space, k).tolist() == naive.mdav_mixed(space, k).tolist()


@settings(max_examples=200)
@given(space=spaces(), data=st.data())
def test_the_average_of_what_remains_is_the_naive_one_to_the_bit(space, data):
    alive = data.draw(st.permutations(range(len(space.values))))
    for average in averages_as_they_leave(space, np.array(alive[:-1], np.int64)):
        np.testing.assert_array_equal(average, naive.average_record(space, sorted(alive)))
        alive = alive[1:]


def test_the_mode_among_ten_thousand_categories_is_the_naive_one_as_records_leave():
    rng = np.random.default_rng(0)
    space = space_of(((10_000 * rng.beta(0.3, 3, 2_000)).astype(int), MODE, 10_000))
    alive = rng.permutation(2_000)
    averages = averages_as_they_leave(space, alive[:-1])
    for gone in range(0, 2_000, 20):
        assert averages[gone].tolist() == naive.average_record(space, sorted(alive[gone:].tolist()))


def average_of(space: EncodedMatrix) -> list[float]:
    return averages_as_they_leave(space, np.empty(0, np.int64))[0].tolist()


def test_the_convex_median_can_be_a_level_that_no_record_has():
    places = [0, 0, 0, 4, 4]  # frequencies 3 0 0 0 2, without dips 3 2 2 2 2
    assert average_of(space_of((places, MEDIAN, 5), (places, CONVEX_MEDIAN, 5))) == [0.0, 2 / 5]


def test_of_categories_as_frequent_the_lowest_number_is_the_mode():
    assert average_of(space_of(([4, 2, 2, 4, 1], MODE, 5))) == [2.0]


@pytest.mark.parametrize("kind", [MEAN, MEDIAN, CONVEX_MEDIAN, MODE])
def test_the_average_is_missing_only_if_more_records_miss_the_value_than_have_it(kind):
    nan = np.nan
    levels = 0 if kind == MEAN else 1
    assert average_of(space_of(([0, nan, 0, nan], kind, levels))) == [0.0]
    assert np.isnan(average_of(space_of(([0, nan, nan], kind, levels)))).all()


@given(X=matrices(), data=st.data())
def test_in_a_plain_space_the_groups_are_those_of_mdav(X, data):
    k = data.draw(st.integers(1, min(len(X), 8)))
    d = X.shape[1]
    space = EncodedMatrix(X, np.full(d, MEAN), np.ones(d), np.ones(d), np.zeros(d, np.int64))
    assert space.plain
    assert mdav_mixed(space, k).tolist() == mdav(X, k).tolist()


def test_in_a_plain_space_of_twenty_thousand_records_the_groups_are_those_of_mdav():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    space = EncodedMatrix(X, np.full(3, MEAN), np.ones(3), np.ones(3), np.zeros(3, np.int64))
    assert np.array_equal(mdav_mixed(space, 3), mdav(X, 3))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_without_ties_the_order_of_the_records_does_not_matter(k):
    space = mixed_records(500)
    space.values[:, 0] = np.random.default_rng(1).normal(size=500)  # never missing, so that no two distances are equal
    order = np.random.default_rng(2).permutation(500)
    assert np.array_equal(mdav_mixed(space.rows(order), k), mdav_mixed(space, k)[order])


@given(space=spaces(most=300), data=st.data())
def test_every_group_has_at_least_k_records_and_fewer_than_2k(space, data):
    k = data.draw(st.integers(1, len(space.values)))
    sizes = np.bincount(mdav_mixed(space, k))
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


def test_weights_whose_sums_overflow_are_grouped_as_if_scaled():
    space = mixed_records(300)
    numbers = space.kinds != MODE
    huge = space._replace(
        values=np.where(numbers, space.values * 2.0**511, space.values),
        apart=space.apart * 2.0**1022,
        steps=np.where(numbers, space.steps * 2.0**511, space.steps),
    )
    assert np.array_equal(mdav_mixed(huge, 3), mdav_mixed(space, 3))


def test_beside_numbers_whose_squares_overflow_categories_count_for_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) * 2.0**1020
    space = space_of((X[:, 0], MEAN, 0), (rng.integers(0, 5, 300), MODE, 5), (X[:, 1], MEAN, 0))
    assert np.array_equal(mdav_mixed(space, 3), mdav(X, 3))


def test_records_in_any_memory_order_give_the_same_groups():
    space = mixed_records(300)
    turned = space._replace(values=np.asfortranarray(space.values))
    assert np.array_equal(mdav_mixed(turned, 4), mdav_mixed(space, 4))


def test_progress_ends_at_the_number_of_records():
    watch = np.zeros(2, np.int64)
    mdav_mixed(mixed_records(500), 3, watch)
    assert watch[0] == 500


def test_another_thread_can_stop_the_search():
    space = mixed_records(200_000)
    watch = np.zeros(2, np.int64)
    labels = []
    thread = threading.Thread(target=lambda: labels.append(mdav_mixed(space, 3, watch)))
    thread.start()
    while watch[0] == 0 and thread.is_alive():
        time.sleep(0.001)
    watch[1] = 1
    thread.join()
    assert 0 < watch[0] < 200_000
    assert np.count_nonzero(labels[0] >= 0) == watch[0]

"""MDAV: one set of groups, whether scanned, searched or done naively."""

import threading
import time

import numpy as np
import pytest
from bench.samples import distributed
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from samples import diagonal, loss, matrices
from shoal.kernels.mdav import mdav_scan, mdav_tree
from shoal.partitioning.mdav import mdav

SEARCHES = [mdav_scan, mdav_tree]


def watched() -> np.ndarray:
    return np.zeros(2, np.int64)


@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=300)
@given(X=matrices(), data=st.data())
def test_the_groups_are_those_of_the_naive_version_to_the_record(search, X, data):
    k = data.draw(st.integers(1, min(len(X), 8)))
    assert search(X, k, watched()).tolist() == naive.mdav(X, k).tolist()


@settings(max_examples=300)
@given(X=matrices(most=3000), data=st.data())
def test_scan_and_tree_form_the_same_groups(X, data):
    k = data.draw(st.integers(1, min(len(X), 40)))
    assert mdav_scan(X, k, watched()).tolist() == mdav_tree(X, k, watched()).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=3000)
@given(X=matrices(), data=st.data())
def test_the_groups_are_the_naive_ones_in_thousands_of_cases(search, X, data):
    k = data.draw(st.integers(1, min(len(X), 8)))
    assert search(X, k, watched()).tolist() == naive.mdav(X, k).tolist()


@pytest.mark.parametrize(("kind", "d", "k"), diagonal(["uniform", "clustered", "skewed"], [1, 2, 4, 10], [3, 10]))
def test_scan_and_tree_agree_on_twenty_thousand_records(kind, d, k):
    X = distributed(kind, 20_000, d)
    assert np.array_equal(mdav_scan(X, k, watched()), mdav_tree(X, k, watched()))


@pytest.mark.parametrize("levels", [1, 2, 40])
def test_scan_and_tree_agree_on_thousands_of_duplicates(levels):
    X = np.random.default_rng(1).integers(0, levels, size=(10_000, 2)).astype(float)
    assert np.array_equal(mdav_scan(X, 5, watched()), mdav_tree(X, 5, watched()))


@given(X=matrices(most=400), data=st.data())
def test_every_group_has_at_least_k_records_and_fewer_than_2k(X, data):
    k = data.draw(st.integers(1, len(X)))
    sizes = np.bincount(mdav(X, k))
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


@pytest.mark.parametrize("search", SEARCHES)
def test_fewer_than_2k_records_are_one_group(search):
    X = np.random.default_rng(0).random((9, 3))
    assert set(search(X, 5, watched())) == {0}
    assert set(search(X, 9, watched())) == {0}


def test_the_tree_does_not_enter_every_duplicate():
    X = np.random.default_rng(1).integers(0, 2, size=(50_000, 2)).astype(float)
    mdav_tree(X[:100], 3, watched())
    start = time.thread_time()
    mdav_tree(X, 3, watched())
    assert time.thread_time() - start < 1.0  # 0.1 s; 1.8 s if every tie were entered to compare indices


@pytest.mark.parametrize("power", [-900, 1000])
def test_values_whose_squares_overflow_or_vanish_are_grouped_as_if_scaled(power):
    X = np.random.default_rng(0).normal(size=(200, 3))
    assert np.array_equal(mdav(X * 2.0**power, 3), mdav(X, 3))


def test_records_in_any_memory_order_give_the_same_groups():
    X = np.random.default_rng(0).random((300, 4))
    assert np.array_equal(mdav(np.asfortranarray(X), 4), mdav(X, 4))


PUBLISHED = {
    "census": {3: 5.692, 4: 7.495, 5: 9.088, 10: 14.156},
    "tarragona": {3: 16.933, 4: 19.546, 5: 22.462, 10: 33.193},
    "eia": {3: 0.483, 4: 0.671, 5: 1.667, 10: 3.840},
}


@pytest.mark.parametrize(("name", "k"), [(name, k) for name, row in PUBLISHED.items() for k in row])
def test_the_published_information_loss_is_reproduced_in_all_digits(reference, name, k):
    X = reference(name)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert round(100 * loss(Z, mdav(Z, k)) / Z.size, 3) == PUBLISHED[name][k]


def test_the_published_error_of_eia_is_reproduced(reference):
    X = reference("eia")
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert round(loss(Z, mdav(Z, 3)), 4) == 217.3804


@pytest.mark.parametrize("search", SEARCHES)
def test_progress_ends_at_the_number_of_records(search):
    watch = watched()
    search(np.random.default_rng(0).random((500, 2)), 3, watch)
    assert watch[0] == 500


@pytest.mark.parametrize("search", SEARCHES)
def test_another_thread_can_stop_the_search(search):
    X = distributed("uniform", 200_000, 10)
    watch = watched()
    labels = []
    thread = threading.Thread(target=lambda: labels.append(search(X, 3, watch)))
    thread.start()
    while watch[0] == 0 and thread.is_alive():
        time.sleep(0.001)
    watch[1] = 1
    thread.join()
    assert 0 < watch[0] < len(X)
    assert np.count_nonzero(labels[0] >= 0) == watch[0]

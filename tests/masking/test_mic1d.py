"""Mic1D: the paper's figures, the naive version's values, and what it does not promise."""

import numpy as np
import pytest
from bench.papers import KNOWN, mean_real_k, nine_attributes
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from samples import matrices
from shoal.masking import mic1d


@pytest.fixture
def nine(reference_file):
    """The nine attributes of a file of the paper, by its name."""
    return lambda name: nine_attributes(name, reference_file(name).parent)


def own_range_sse(X: np.ndarray, Y: np.ndarray) -> float:
    """Squared differences of the two files, each brought to [0, 1] by its own ranges."""
    X, Y = ((A - A.min(axis=0)) / np.ptp(A, axis=0) for A in (X, Y))
    return float(((X - Y) ** 2).sum())


@pytest.mark.parametrize(("k", "published"), [(3000, 32.27), (4000, 129.06), (5000, 738.12)])
def test_the_published_loss_on_census_is_reproduced(nine, k, published):
    X = nine("census")
    assert round(own_range_sse(X, mic1d(X, k)), 2) == published


@pytest.mark.parametrize(("k", "published", "off"), [(500, 65.89, 0.04), (800, 80.95, 0.11), (900, 255.64, 0.04)])
def test_the_published_loss_on_water_is_reproduced_but_for_the_unspecified_ties(nine, k, published, off):
    X = nine("water-treatment")
    assert len(X) == 380
    assert own_range_sse(X, mic1d(X, k)) == pytest.approx(published, abs=off)


@pytest.mark.parametrize(
    ("blocks", "known", "published"),
    [
        ("correlated", "1G", 72.83),
        ("correlated", "2G", 76.08),
        ("correlated", "3G", 55.02),
        ("non-correlated", "1G", 59.77),
        ("non-correlated", "3G", 67.25),
    ],
)
def test_the_published_real_k_on_census_is_reproduced(nine, blocks, known, published):
    assert round(mean_real_k(mic1d(nine("census"), 5000), KNOWN[blocks][known]), 2) == published


@settings(max_examples=300)
@given(X=matrices(most=40), data=st.data())
def test_the_values_are_those_of_the_naive_version(X, data):
    k = data.draw(st.integers(1, X.size))
    ours, slow = mic1d(X, k), naive.mic1d(X, k)
    # to a rounding error of the part a value comes from, which is as wide as the values at its ends
    places = np.argsort(X.ravel()[::-1], kind="stable")
    width = np.empty(X.size)
    for start in range(0, X.size, k):
        part = X.size - 1 - places[start : start + k]
        width[part] = np.abs(X.ravel()[part]).max()
    assert (np.abs(ours - slow).ravel() <= 1e-14 * width).all()


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32), k=st.integers(2, 12))
def test_optimal_parts_are_those_of_all_cuts_with_the_least_error(seed, k):
    X = np.random.default_rng(seed).lognormal(size=(4, 3))
    np.testing.assert_allclose(mic1d(X, k, optimal=True), naive.mic1d(X, k, optimal=True), rtol=1e-12)


def test_optimal_parts_lose_less_on_water_and_hide_more(nine):
    X = nine("water-treatment")
    plain, optimal = mic1d(X, 500), mic1d(X, 500, optimal=True)
    assert own_range_sse(X, optimal) < own_range_sse(X, plain) / 3
    for known in KNOWN["correlated"].values():
        assert mean_real_k(optimal, known) > mean_real_k(plain, known)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 20, 30])
def test_tied_and_constant_data_are_masked_as_the_naive_version_masks_them(k):
    rng = np.random.default_rng(k)
    for X in (np.full((10, 3), 7.0), rng.integers(0, 3, (10, 3)) * 1.0, np.repeat(rng.random((2, 3)), 5, axis=0)):
        np.testing.assert_allclose(mic1d(X, k), naive.mic1d(X, k), rtol=0, atol=1e-14)


@given(X=matrices(most=30), data=st.data())
def test_no_value_leaves_the_part_it_was_sorted_into(X, data):
    k = data.draw(st.integers(1, X.size))
    before, after = np.sort(X.ravel()), np.sort(mic1d(X, k).ravel())
    for start in range(0, X.size, k):
        part = slice(start, start + k)
        assert before[part].min() <= after[part].min()
        assert after[part].max() <= before[part].max()


def test_parts_of_one_value_change_nothing_and_one_part_makes_all_values_equal():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert np.array_equal(mic1d(X, 1), X)
    np.testing.assert_allclose(mic1d(X, X.size), X.mean())


@pytest.mark.parametrize("optimal", [False, True])
def test_constant_data_come_out_as_they_went_in(optimal):
    assert np.array_equal(mic1d(np.full((6, 2), 0.1), 5, optimal=optimal), np.full((6, 2), 0.1))


def test_the_input_is_left_alone_and_its_layout_does_not_matter():
    X = np.random.default_rng(0).integers(0, 9, (30, 4)) * 1.0
    kept = X.copy()
    assert np.array_equal(mic1d(X, 25), mic1d(np.asfortranarray(X), 25))
    assert np.array_equal(X, kept)


def test_the_largest_numbers_do_not_overflow():
    X = np.array([[1.7e308, -1.7e308], [1e308, 0.0]])
    assert np.isfinite(mic1d(X, 4)).all()
    assert np.isfinite(mic1d(X, 2, optimal=True)).all()


def test_no_group_of_k_records_is_promised(nine):
    masked = mic1d(nine("census"), 3000)
    assert np.unique(masked, axis=0, return_counts=True)[1].min() == 1


def test_the_example_of_the_documentation():
    X = np.array([[1.0, 10], [2, 14], [3, 20], [5, 30]])
    assert mic1d(X, 4).tolist() == [[1.45, 12.25], [1.45, 12.25], [4.0, 25.0], [4.0, 25.0]]

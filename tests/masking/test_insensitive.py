"""Insensitive microaggregation: what one record can change, in all small cases, and the noise that covers it."""

import inspect
import itertools
import math
import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.expect import refused

from shoal.errors import PlanError
from shoal.masking.discrete_laplace import LARGEST_SCALE, discrete_laplace, uniform
from shoal.masking.insensitive import (
    BITS,
    group_sizes,
    group_sums,
    in_steps,
    insensitive_order,
    noise_scale,
    private_means,
    sensitivity,
)

SMALL = [(1, 3), (2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3), (4, 2), (5, 1), (7, 1)]


def repeatable(seed: int):
    """Random bytes that are the same in every run, so that no test fails by chance."""
    return np.random.default_rng(seed).bytes


def curve(d: int, bits: int) -> np.ndarray:
    """All cells of a small box, in their order."""
    cells = np.array(list(itertools.product(range(2**bits), repeat=d)))
    return cells[insensitive_order(cells, bits)]


def longest_chain(cells: np.ndarray, m: int) -> int:
    """The greatest length of at most m steps through cells that follow their order, by trying all of them."""
    steps = np.abs(cells[:, None] - cells[None]).sum(axis=2).astype(float)
    steps[np.tril_indices(len(cells), -1)] = -np.inf
    best = np.zeros(len(cells))
    for _ in range(m):
        best = (best[:, None] + steps).max(axis=0)
    return int(best.max())


@pytest.mark.parametrize(("d", "bits"), SMALL)
def test_the_order_goes_from_cell_to_neighbouring_cell_at_every_level(d, bits):
    cells = curve(d, bits)
    for level in range(bits + 1):
        coarse = cells >> (bits - level)
        moves = np.abs(np.diff(coarse, axis=0)).sum(axis=1)
        assert moves.max(initial=0) <= 1
        assert moves.sum() == 2 ** (d * level) - 1


@pytest.mark.parametrize(("d", "bits"), [*SMALL, (13, 1)])
def test_halves_change_once_twice_and_so_on_as_in_a_gray_code(d, bits):
    halves = curve(d, bits) >> (bits - 1)
    assert sorted(np.abs(np.diff(halves, axis=0)).sum(axis=0)) == [2**j for j in range(d)]


@pytest.mark.parametrize(("d", "bits"), SMALL)
def test_no_chain_is_longer_than_the_sensitivity_which_is_not_much_longer_than_the_longest(d, bits):
    cells = curve(d, bits)
    for m in (1, 2, 3, 5, 8, 13, 40):
        longest, bound = longest_chain(cells, m), sensitivity(m, d, bits)
        assert longest <= bound <= 1.25 * longest
        assert bound <= d * m * (2**bits - 1)  # which holds for any order


def test_one_attribute_can_change_by_its_range_in_all_groups_together():
    assert all(sensitivity(m, 1) == 2**BITS - 1 for m in (1, 7, 10**6))


def sums_of(records: tuple[int, ...], cells: np.ndarray, k: int, bits: int) -> np.ndarray:
    chosen = cells[list(records)]
    return group_sums(chosen[insensitive_order(chosen, bits)], group_sizes(len(chosen), k))


@pytest.mark.parametrize(
    ("d", "bits", "n", "k"), [(1, 2, 6, 2), (1, 3, 5, 2), (2, 1, 7, 2), (2, 1, 6, 1), (2, 2, 4, 1), (3, 1, 5, 2)]
)
def test_replacing_any_record_of_any_table_changes_no_more_than_the_sensitivity(d, bits, n, k):
    cells = curve(d, bits)
    tables = itertools.combinations_with_replacement(range(len(cells)), n)
    sums = {table: sums_of(table, cells, k, bits) for table in tables}
    most = 0
    for table, place, other in itertools.product(sums, range(n), range(len(cells))):
        neighbour = tuple(sorted((*table[:place], *table[place + 1 :], other)))
        most = max(most, int(np.abs(sums[table] - sums[neighbour]).sum()))
    assert most == longest_chain(cells, n // k) <= sensitivity(n // k, d, bits)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 60),
    d=st.integers(1, 6),
    k=st.integers(1, 8),
    seed=st.integers(0, 2**32),
    lattice=st.sampled_from([0, 1, 3]),
)
def test_replacing_a_record_changes_no_more_than_the_sensitivity(n, d, k, seed, lattice):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) if lattice == 0 else rng.integers(0, lattice + 1, (n, d)) / lattice
    Y = X.copy()
    Y[rng.integers(n)] = rng.random(d) if rng.random() < 0.5 else rng.integers(0, 2, d)
    bounds, sizes = np.tile([0.0, 1.0], (d, 1)), group_sizes(n, min(k, n))
    one, other = (
        group_sums(cells[insensitive_order(cells)], sizes) for cells in (in_steps(X, bounds), in_steps(Y, bounds))
    )
    assert np.abs(one - other).sum() <= sensitivity(len(sizes), d)


@given(n=st.integers(1, 500), k=st.integers(1, 500))
def test_groups_have_k_to_less_than_2k_records_whatever_the_data(n, k):
    if k <= n:
        sizes = group_sizes(n, k)
        assert sizes.sum() == n
        assert k <= sizes.min() <= sizes.max() < 2 * k or (k == 1 and sizes.max() == 1)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 40), d=st.integers(1, 4), epsilon=st.floats(0.01, 100), seed=st.integers(0, 2**32))
def test_means_lie_within_bounds_and_belong_to_every_record_once(n, d, epsilon, seed):
    rng = np.random.default_rng(seed)
    bounds = np.sort(rng.normal(scale=1e3, size=(d, 2)), axis=1)
    made = private_means(rng.normal(scale=2e3, size=(n, d)), bounds, 2, epsilon)
    assert ((made.means >= bounds[:, 0]) & (made.means <= bounds[:, 1])).all()
    assert sorted(made.order) == list(range(n))
    assert len(made.means) == len(made.sizes) == n // 2


def test_with_hardly_any_noise_the_means_are_those_of_the_groups():
    X = np.random.default_rng(0).random((50, 3))
    made = private_means(X, np.tile([0.0, 1.0], (3, 1)), 5, 1e12, repeatable(1))
    groups = np.split(X[made.order], np.cumsum(made.sizes)[:-1])
    np.testing.assert_allclose(made.means, [group.mean(axis=0) for group in groups], atol=1e-5)


def test_values_outside_the_bounds_count_as_the_bounds():
    X = np.random.default_rng(1).normal(size=(30, 2))
    bounds = np.array([[-0.5, 0.5], [0.0, 1.0]])
    clamped = np.clip(X, *bounds.T)
    one, other = (private_means(Z, bounds, 3, 1.0, repeatable(2)).means for Z in (X, clamped))
    np.testing.assert_array_equal(one, other)


def test_the_order_of_the_records_does_not_matter():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (40, 2)).astype(float)
    bounds = np.array([[0.0, 3.0], [0.0, 3.0]])
    one, other = (private_means(Z, bounds, 4, 1.0, repeatable(4)).means for Z in (X, rng.permutation(X)))
    np.testing.assert_array_equal(one, other)


@given(bound=st.integers(1, 2**44), epsilon=st.floats(1e-2, 1e4))
def test_the_noise_is_never_less_than_epsilon_asks_for(bound, epsilon):
    scale = noise_scale(bound, epsilon)
    assert Fraction(bound, scale) <= Fraction(repr(epsilon))
    assert scale == 1 or Fraction(bound, scale - 1) > Fraction(repr(epsilon))


def test_an_epsilon_that_would_need_more_than_64_bits_is_refused():
    with refused(PlanError, "epsilon-too-small", "epsilon"):
        noise_scale(sensitivity(1000, 5), 1e-12)


@pytest.mark.parametrize("scale", [1, 2, 7])
def test_the_noise_has_the_discrete_laplace_distribution(scale):
    draws = discrete_laplace(scale, 40_000, repeatable(scale))
    edge = 4 * scale
    seen = np.bincount(np.clip(draws, -edge, edge) + edge, minlength=2 * edge + 1)
    q = math.exp(-1 / scale)
    chances = (1 - q) / (1 + q) * q ** np.abs(np.arange(-edge, edge + 1.0))
    chances[[0, -1]] /= 1 - q  # those beyond the edge too
    assert chances.sum() == pytest.approx(1)
    assert stats.chisquare(seen, chances * seen.sum()).pvalue > 1e-3


def test_large_noise_is_laplace():
    draws = discrete_laplace(LARGEST_SCALE, 20_000, repeatable(5))
    assert stats.kstest(draws / LARGEST_SCALE, "laplace").pvalue > 1e-3
    assert len(np.unique(draws & 1)) == 2  # down to the last digit


def test_noise_of_different_means_is_not_correlated():
    draws = discrete_laplace(1000, 40_000, repeatable(6)).reshape(2, -1)
    assert abs(np.corrcoef(draws)[0, 1]) < 0.03


def test_whole_numbers_are_drawn_evenly():
    seen = np.bincount(uniform(6, 30_000, repeatable(7)))
    assert len(seen) == 6
    assert stats.chisquare(seen).pvalue > 1e-3
    assert not uniform(1, 10, repeatable(7)).any()


def test_noise_comes_from_the_operating_system_unless_a_test_gives_other_bytes():
    for function in (discrete_laplace, uniform, private_means):
        assert inspect.signature(function).parameters["source"].default is os.urandom
    assert not np.array_equal(discrete_laplace(10**6, 20), discrete_laplace(10**6, 20))


def test_nothing_is_much_likelier_for_a_table_than_for_its_neighbour():
    # The worst neighbours of one attribute: all at one end, then one of them at the other.
    bounds, epsilon, draws, source = np.array([[0.0, 1.0]]), 1.0, 800, repeatable(8)
    high = []
    for X in (np.zeros((4, 1)), np.array([[0.0], [0.0], [0.0], [1.0]])):
        means = [private_means(X, bounds, 2, epsilon, source).means[1, 0] for _ in range(draws)]
        high.append(np.mean(np.array(means) >= 0.5))
    likelier = high[1] / high[0]
    assert 0.8 * math.exp(epsilon) <= likelier <= 1.2 * math.exp(epsilon)  # as much as allowed, and no more

"""The optimal cut: optimal indeed, in exact arithmetic, and still so on long and nasty lines."""

import threading
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive
from samples import diagonal
from shoal.kernels._native import group_sse
from shoal.kernels.optimal_cut import cut_by_scan, cut_sorted, number_groups
from shoal.partitioning.optimal_cut import cut, univariate

ROUNDING = 1 + Fraction(1, 10**12)


def in_line(X: np.ndarray, k: int) -> np.ndarray:
    return cut(X, np.arange(len(X)), k)


def by_scan(line: np.ndarray, k: int) -> np.ndarray:
    return number_groups(cut_by_scan(line, k, np.zeros(2, np.int64)), np.arange(len(line)))


def by_queue(line: np.ndarray, k: int) -> np.ndarray:
    return number_groups(cut_sorted(line, k, np.zeros(2, np.int64)), np.arange(len(line)))


def cheapest_cut(line: np.ndarray, k: int):
    """Brute force: every cut, in rational arithmetic."""
    sse = {}
    costs = []
    for groups in naive.all_cuts(len(line), k):
        for start, end in groups:
            if (start, end) not in sse:
                sse[start, end] = naive.exact_sse(line[start:end])
        costs.append(sum(sse[group] for group in groups))
    return min(costs)


def small_lines(d: int):
    """Up to 14 records: random, tied, with an offset, with gaps of several sizes."""
    values = st.one_of(
        st.integers(0, 4).map(float),
        st.floats(-1, 1, width=32, allow_subnormal=False),  # the kernels' own squares do not vanish; cut() scales
        st.integers(0, 3).map(lambda v: 1e9 + v * 2.0**-20),
        st.sampled_from([-1e12, -1e6, 0.0, 1e-6, 1e6]),
    )
    return st.integers(2, 14).flatmap(lambda n: arrays(np.float64, (n, d), elements=values))


# Optimal


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("kind", ["random", "tied", "constant"])
def test_sorted_cut_equals_brute_force_over_all_cuts(k, kind):
    rng = np.random.default_rng(k)
    for n in range(k, 15 if k > 1 else 11):
        x = {"random": rng.normal(size=n), "tied": rng.integers(0, 4, n) * 1.0, "constant": np.full(n, 0.1)}[kind]
        X = x[:, None]
        assert naive.exact_cost(X, univariate(X, k)) <= cheapest_cut(np.sort(X, axis=0), k) * ROUNDING


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_cut_of_any_line_equals_brute_force_over_all_cuts_within_2k(k, d):
    """Out of order a larger group can be split at no cost too, so that brute force may have groups of any size."""
    rng = np.random.default_rng(10 * k + d)
    for n in range(k, 15):
        for X in (rng.normal(size=(n, d)), rng.integers(0, 3, (n, d)) * 1.0):
            order = rng.permutation(n)
            assert naive.exact_cost(X, cut(X, order, k)) <= cheapest_cut(X[order], k) * ROUNDING


@given(small_lines(1), st.integers(2, 5))
def test_both_kernels_equal_brute_force_on_sorted_lines(X, k):
    k = min(k, len(X))
    line = np.sort(X, axis=0)
    best = cheapest_cut(line, k)
    assert naive.exact_cost(line, by_queue(line, k)) <= best * ROUNDING
    assert naive.exact_cost(line, by_scan(line, k)) <= best * ROUNDING


@given(small_lines(2), st.integers(2, 5), st.randoms(use_true_random=False))
def test_cut_equals_brute_force_on_any_ordering(X, k, random):
    k = min(k, len(X))
    order = np.array(random.sample(range(len(X)), len(X)))
    assert naive.exact_cost(X, cut(X, order, k)) <= cheapest_cut(X[order], k) * ROUNDING


@pytest.mark.parametrize("k", [2, 3, 4])
def test_no_partition_at_all_is_better_than_the_univariate_cut(k):
    rng = np.random.default_rng(k)
    for n in range(k, 10):
        x = rng.integers(0, 50, n)  # integers: n^2 times an SSE is exact in floating point
        costs = []
        for groups in naive.all_partitions(n, k):
            costs.append(sum((x[g] ** 2).sum() - x[g].sum() ** 2 / len(g) for g in groups))
        X = x[:, None] * 1.0
        assert float(naive.exact_cost(X, univariate(X, k))) <= min(costs) + 1e-9


# Costs of microagg1d 0.4.0, method "wilber" (its default is not always optimal), on 10,000 values; see the slow test.
WILBER = {
    "uniform": {
        2: 2.1930629587146636e-05,
        3: 6.098697200719738e-05,
        10: 0.0008193903500831504,
        1000: 8.401161969184761,
    },
    "lognormal": {2: 301.774531429287, 3: 399.7759606432789, 10: 740.5531490340046, 1000: 16410.49687571493},
}


def ten_thousand(kind: str) -> np.ndarray:
    rng = np.random.default_rng(20240101)
    return rng.random(10_000) if kind == "uniform" else rng.lognormal(size=10_000)


def cost(x: np.ndarray, labels: np.ndarray) -> float:
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    return float(sum(((g - g.mean()) ** 2).sum() for g in np.split(x[order], ends)))


@pytest.mark.parametrize("kind", WILBER)
def test_cost_equals_that_of_microagg1d_on_ten_thousand_values(kind):
    x = ten_thousand(kind)
    for k, wilber in WILBER[kind].items():
        assert cost(x, univariate(x[:, None], k)) == pytest.approx(wilber, rel=1e-12)


@pytest.mark.slow  # microagg1d compiles for a minute when it is first imported
@pytest.mark.parametrize("kind", WILBER)
def test_recorded_costs_are_those_of_microagg1d(kind):
    import microagg1d

    x = ten_thousand(kind)
    for k, wilber in WILBER[kind].items():
        labels = microagg1d.univariate_microaggregation(x, k, method="wilber")
        assert cost(x, labels) == pytest.approx(wilber, rel=1e-12)


# Accurate

RNG = np.random.default_rng(7)
NASTY = {
    "offset": 1e9 + RNG.integers(0, 50, 400) * 2.0**-22,
    "two tight clusters": np.r_[RNG.normal(size=200) * 1e-6, 1e6 + RNG.normal(size=200) * 1e-6],
    "outlier below": np.r_[-1e12, RNG.random(399) * 1e-3],
    "outlier above": np.r_[RNG.random(399) * 1e-3, 1e12],
    "shrinking scales": np.concatenate([-(10.0**-e) * (1 + RNG.random(40)) for e in range(-4, 6)]),
    "growing scales": np.concatenate([10.0**e * (1 + RNG.random(40)) for e in range(-5, 5)]),
    "ties": RNG.integers(0, 30, 400) / 3,
    "cauchy": RNG.standard_cauchy(400),
}


@pytest.mark.parametrize(("kind", "k"), diagonal([*NASTY], [2, 3, 10, 37]))
def test_cost_equals_the_exact_optimum_on_nasty_data(kind, k):
    line = np.sort(NASTY[kind])[:, None]
    best = naive.exact_cut_cost(line, k)
    assert naive.exact_cost(line, by_queue(line, k)) <= best * ROUNDING
    assert naive.exact_cost(line, by_scan(line, k)) <= best * ROUNDING


@pytest.mark.parametrize("kind", NASTY)
def test_every_stretch_is_optimal_however_small_its_part_in_the_total(kind):
    line = np.sort(NASTY[kind])[:, None]
    for cut_line in (by_queue, by_scan):
        labels = cut_line(line, 3)
        for g in range(labels[-1] - 8):
            assert_stretch_is_optimal(line, labels, np.searchsorted(labels, g), 3)


def test_cost_equals_the_exact_optimum_in_several_attributes_far_from_zero():
    line = 1e9 + RNG.integers(0, 50, (300, 3)) * 2.0**-22
    line[150:] += 1e6
    for k in (3, 12):
        assert naive.exact_cost(line, in_line(line, k)) <= naive.exact_cut_cost(line, k) * ROUNDING


@pytest.mark.parametrize("kind", NASTY)
def test_group_costs_are_exact_to_twelve_digits_on_nasty_data(kind):
    line = np.sort(NASTY[kind])[:, None]
    for j in range(180, 221):  # two of the sets have a gap, or a change of scale, at record 200
        for size in range(10, 20):
            assert_cost_is_exact(line, 10, j, j + size)


def assert_cost_is_exact(line: np.ndarray, k: int, j: int, end: int) -> None:
    assert group_sse(line, k, j, end) == pytest.approx(float(naive.exact_sse(line[j:end])), rel=1e-12, abs=0)


def assert_stretch_is_optimal(line: np.ndarray, labels: np.ndarray, at: int, k: int, groups: int = 8) -> None:
    """Cutting the records of a few consecutive groups anew, in rational arithmetic, gains nothing."""
    g = labels[at]
    start, end = np.searchsorted(labels, [g, g + groups])
    stretch = line[start:end]
    assert naive.exact_cost(stretch, labels[start:end]) <= naive.exact_cut_cost(stretch, k) * ROUNDING


# What adds up along a line must not show at its end.
LENGTHS = [1_000_000, pytest.param(10_000_000, marks=pytest.mark.slow)]


def long_line(n: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).random(n))[:, None]


def long_nasty_line(n: int) -> np.ndarray:
    """An offset, a dense half, and a gap of 1e9 times its width."""
    rng = np.random.default_rng(1)
    return np.sort(1e6 + np.r_[rng.random(n // 2) * 1e-3, 1e6 + rng.normal(size=n // 2)])[:, None]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("k", [3, 100, 10_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("data", [long_line, long_nasty_line])
def test_group_costs_of_millions_of_records_are_exact_to_twelve_digits(data, k, n):
    line = data(n)
    rng = np.random.default_rng(k)
    # The middle of the line is where the nasty one has its gap.
    for j in [n // 2 - k // 2, *rng.integers(0, n - 2 * k, 40 if k < 1000 else 1)]:
        assert_cost_is_exact(line, k, int(j), int(j + rng.integers(k, 2 * k)))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize(("data", "k"), [(long_line, 3), (long_nasty_line, 3), (long_nasty_line, 10)])
def test_cut_of_millions_of_records_is_optimal_wherever_one_looks(data, k, n):
    line = data(n)
    labels = in_line(line, k)
    for at in [n // 2 - 4 * k, n - 9 * k, *np.random.default_rng(k).integers(0, n - 20 * k, 100)]:
        assert_stretch_is_optimal(line, labels, at, k)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_scale_of_the_data_does_not_matter(scale):
    X = np.random.default_rng(3).normal(size=(500, 1))
    power = 2.0 ** np.round(np.log2(scale))
    assert np.array_equal(univariate(X * power, 4), univariate(X, 4))
    order = np.arange(500)
    assert np.array_equal(cut(X * power, order, 4), cut(X, order, 4))


# Labels


@given(arrays(np.float64, st.tuples(st.integers(1, 60), st.integers(1, 3)), elements=st.floats(-1e3, 1e3)), st.data())
def test_groups_are_consecutive_have_k_to_2k_less_one_records_and_are_numbered_along_the_line(X, data):
    k = data.draw(st.integers(1, len(X)))
    order = np.array(data.draw(st.permutations(range(len(X)))))
    labels = cut(X, order, k)
    along = labels[order]
    assert labels.dtype == np.int64
    assert along[0] == 0
    assert np.isin(np.diff(along), [0, 1]).all()
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


@given(st.lists(st.integers(-1000, 1000), min_size=4, max_size=60, unique=True), st.randoms(use_true_random=False))
def test_permutation_of_the_records_permutes_the_labels(values, random):
    x = np.array(values, dtype=np.float64)
    p = np.array(random.sample(range(len(x)), len(x)))
    assert np.array_equal(univariate(x[p][:, None], 3), univariate(x[:, None], 3)[p])


@pytest.mark.parametrize("k", [1, 2, 3, 10])
@pytest.mark.parametrize("d", [1, 2])
def test_fewer_than_2k_records_make_one_group_and_2k_make_two(k, d):
    X = np.random.default_rng(k).normal(size=(2 * k, d))
    assert in_line(X[:k], k).tolist() == [0] * k
    assert in_line(X[: 2 * k - 1], k).tolist() == [0] * (2 * k - 1)
    assert in_line(X, k).tolist() == [0] * k + [1] * k


@pytest.mark.parametrize("d", [1, 2])
def test_among_equal_cuts_the_one_with_the_smallest_last_groups_is_taken(d):
    """Constant data: every cut costs nothing."""
    assert np.bincount(in_line(np.full((11, d), 0.1), 3)).tolist() == [5, 3, 3]


def test_cut_of_one_sorted_attribute_equals_the_univariate_cut():
    X = np.random.default_rng(5).normal(size=(1000, 1))
    assert np.array_equal(cut(X, np.argsort(X[:, 0]), 5), univariate(X, 5))


def test_descending_order_costs_the_same():
    X = np.random.default_rng(6).normal(size=(1000, 1))
    down = cut(X, np.argsort(-X[:, 0]), 5)
    assert cost(X[:, 0], down) == pytest.approx(cost(X[:, 0], univariate(X, 5)), rel=1e-12)


def test_both_kernels_agree_for_every_k():
    line = np.sort(np.random.default_rng(8).lognormal(size=2000))[:, None]
    for k in [1, 2, 3, 4, 5, 8, 13, 50, 99, 100, 101, 500, 999, 1000, 1001, 2000]:
        assert np.array_equal(by_queue(line, k), by_scan(line, k))


def test_any_memory_layout_is_taken():
    X = np.random.default_rng(9).normal(size=(50, 4))
    columns = X[:, ::2]
    assert np.array_equal(in_line(columns, 3), in_line(columns.copy(), 3))
    assert np.array_equal(in_line(np.asfortranarray(X), 3), in_line(X, 3))
    assert np.array_equal(univariate(X[:, 1:2], 3), univariate(X[:, 1:2].copy(), 3))


# Progress


@pytest.mark.parametrize("d", [1, 2])
def test_watch_ends_at_the_number_of_records(d):
    watch = np.zeros(2, np.int64)
    X = np.random.default_rng(0).normal(size=(100, d))
    cut(X, np.argsort(X[:, 0]), 3, watch)
    assert watch.tolist() == [100, 0]


@pytest.mark.parametrize("d", [1, 2])
def test_watch_stops_a_cut_from_another_thread(d):
    X = np.sort(np.random.default_rng(0).normal(size=(3_000_000 if d == 1 else 300_000, d)), axis=0)
    in_line(X[:10], 2)
    watch = np.zeros(2, np.int64)
    labels = []
    worker = threading.Thread(target=lambda: labels.append(cut(X, np.arange(len(X)), 1000, watch)))
    worker.start()
    seen = [0]
    while len(seen) < 4 and worker.is_alive():
        if watch[0] > seen[-1]:
            seen.append(int(watch[0]))
    watch[1] = 1
    worker.join(timeout=300)
    assert not worker.is_alive()
    assert all(a < b for a, b in pairwise(seen))
    assert watch[0] < len(X)
    assert (labels[0] == -1).all()

"""Lower bounds: below the best of all partitions, in exact arithmetic; the search behind them misses no group."""

import sys
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from bench.samples import distributed
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from samples import diagonal, loss, matrices
from shoal.kernels.pricing import price
from shoal.kernels.standardize import standardize
from shoal.partitioning.certificate import lower_bound, nearest_neighbour_bound, quick_bound
from shoal.partitioning.column_generation import column_generation, nearest_sums, search
from shoal.partitioning.mdav import mdav
from shoal.partitioning.neighbours import neighbours
from shoal.partitioning.potentials import matched_shares, raised
from shoal.plan import Effort

STILL = np.zeros(2, np.int64)


def optimum(X: np.ndarray, k: int) -> Fraction:
    """The least SSE of any partition into groups of at least k, of any size: brute force over sets of records."""
    sse = {}

    @cache
    def best(left: frozenset) -> Fraction | None:
        if not left:
            return Fraction(0)
        first, *others = sorted(left)
        costs = []
        for size in range(k, len(left) + 1):
            for chosen in combinations(others, size - 1):
                group = (first, *chosen)
                rest = best(left - set(group))
                if rest is not None:
                    if group not in sse:
                        sse[group] = naive.exact_sse(X[list(group)])
                    costs.append(sse[group] + rest)
        return min(costs, default=None)

    return best(frozenset(range(len(X))))


def small(kind: str, n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if kind == "ties":
        X = rng.integers(0, 3, (n, d)) * 1.0
    elif kind == "duplicates":
        X = X[rng.integers(0, 3, n)]
    elif kind == "constant column":
        X[:, 0] = 7.0
    elif kind == "outliers":
        X[rng.random(n) < 0.3] *= 1e6
    elif kind == "far from zero":
        X = 1e9 + rng.integers(0, 50, (n, d)) * 2.0**-20
    elif kind == "huge":
        X *= 1e150
    elif kind == "tiny":
        X *= 1e-150
    return X


KINDS = ["random", "ties", "duplicates", "constant column", "outliers", "far from zero", "huge", "tiny"]


@pytest.mark.parametrize(("kind", "size"), diagonal(KINDS, [(5, 2), (8, 2), (8, 3), (9, 4), (10, 3)]))
def test_bounds_are_below_the_best_of_all_partitions(kind, size):
    n, k = size
    X = small(kind, n, 3, n * k)
    best = optimum(X, k)
    assert Fraction(lower_bound(X, k).value) <= best
    if kind not in ("huge", "tiny"):  # which only `lower_bound` scales
        assert Fraction(nearest_neighbour_bound(X, k)) <= best
        assert Fraction(column_generation(X, k, mdav(X, k)).bound) <= best


@settings(max_examples=30)
@given(matrices(most=9).filter(lambda X: len(X) >= 4), st.integers(2, 4))
def test_no_group_has_more_than_its_squared_error_in_shares(X, k):
    k = min(k, len(X) // 2)
    matched = matched_shares(X, k, STILL.copy())
    shares = matched.values
    for size in range(k, min(2 * k, len(X) + 1)):
        for group in combinations(range(len(X)), size):
            error = naive.exact_sse(X[list(group)])
            spare = Fraction(1e-9 * np.abs(shares).sum())
            assert sum(Fraction(share) for share in shares[list(group)]) <= error * Fraction(1 + 1e-9) + spare
            pairs = 2 * size * float(error)  # the squared distances of all pairs, counted from both sides
            assert matched.sums[list(group), size - 1].sum() <= pairs + 1e-9 * np.abs(matched.sums).sum()


def test_potentials_are_above_shares_and_these_above_nearest_neighbours():
    X = distributed("clustered", 100, 4)
    for k in (3, 7):
        shares = matched_shares(X, k, STILL.copy())
        assert nearest_neighbour_bound(X, k) < shares.values.sum() < raised(X, k, shares, STILL.copy(), 1e6).bound


@pytest.mark.filterwarnings("error")
def test_potentials_are_finite_for_k_above_the_number_of_neighbours_that_are_usually_listed():
    X = distributed("uniform", 70, 2)
    shares = matched_shares(X, 30, STILL.copy())
    found = raised(X, 30, shares, STILL.copy(), 1)
    assert np.isfinite(found.values).all()
    assert shares.values.sum() * (1 - 1e-8) <= found.bound <= loss(X, mdav(X, 30))


def test_the_bound_of_groups_of_equal_records_is_exactly_zero():
    for one, other in np.random.default_rng(0).random((100, 2)):  # the mean of three is often a rounding error away
        assert lower_bound(np.array([[one], [other], [other], [other], [one]]), 2, Effort(600)).value == 0


def least(X: np.ndarray, k: int) -> float:
    """The least SSE of any partition into groups of at least k, in floating point: brute force over sets of records."""
    n = len(X)
    sets = np.arange(1 << n)
    inside = (sets[:, None] >> np.arange(n)) & 1
    apart = ((X[:, None] - X) ** 2).sum(axis=2)
    sizes = inside.sum(axis=1)
    errors = np.einsum("si,ij,sj->s", inside, apart, inside, optimize=True) / (2 * np.maximum(sizes, 1))
    best = np.where(sizes >= k, errors, np.inf)
    for mask in sets[sizes >= 2 * k]:  # a smaller number is done before: every part of a set is
        first = mask & -mask
        rest = mask ^ first
        parts = sets[: rest + 1][(sets[: rest + 1] & ~rest) == 0] | first
        parts = parts[parts != mask]
        best[mask] = min(best[mask], (np.where(sizes[parts] >= k, errors[parts], np.inf) + best[mask ^ parts]).min())
    return float(best[-1])


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 60))])
def test_bounds_are_below_the_best_of_all_partitions_of_fifty_tables(seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        kind = rng.choice(["random", "ties", "duplicates", "constant column", "outliers"])
        k = int(rng.choice([2, 3, 4, 5, 7]))
        n = int(rng.integers(2 * k, max(10, 2 * k + 1)))
        X = small(kind, n, int(rng.integers(2, 4)), int(rng.integers(1 << 30)))
        best = least(X, k) if n < 3 * k or n <= 9 else None
        if best is not None:
            steps = Effort(int(rng.choice([1, 10**5, 10**7])))
            assert lower_bound(X, k, steps).value <= best * (1 + 1e-12)
            assert quick_bound(X, k).value <= best * (1 + 1e-12)


@settings(max_examples=30)
@given(matrices(most=9), st.integers(2, 3))
def test_bounds_are_below_the_best_of_all_partitions_on_any_data(X, k):
    k = min(k, len(X))
    assert Fraction(lower_bound(X, k).value) <= optimum(X, k)


def test_the_relaxation_is_close_to_the_best_partition():
    for seed in range(5):
        X = small("random", 10, 2, seed)
        assert lower_bound(X, 3).value >= 0.9 * float(optimum(X, 3))


def test_a_search_that_had_no_time_leaves_a_valid_bound():
    X = small("random", 10, 2, 0)
    bound = lower_bound(X, 3, Effort(None, 0.0))
    assert bound.how == "nearest neighbours"
    assert not bound.complete
    assert 0 < Fraction(bound.value) <= optimum(X, 3)


@pytest.mark.parametrize(("limit", "seed", "listed"), diagonal([0, 1, 5, 50], range(5), [0, 4, 9]))
def test_pricing_that_is_given_up_bounds_what_it_has_not_seen(limit, seed, listed):
    X, duals, near, lists, rank = problem(10, 3, seed, listed=listed)
    _, lowest = price(X, 3, duals, near, lists, rank, np.arange(10), 0.0, True, limit, 1000, STILL)
    for reduced, group in every_group(X, 3, duals):
        assert reduced >= lowest[min(group, key=lambda i: rank[i])] - 1e-9


@pytest.mark.parametrize(
    ("k", "kind", "threshold", "listed"),
    diagonal([2, 3, 4], ["random", "ties", "duplicates", "outliers"], [0.0, 0.7, -0.5], [0, 3, 5, 10]),
)
@pytest.mark.parametrize("matched", [False, True])
def test_pricing_finds_every_group_below_the_threshold_once(k, kind, threshold, listed, matched):
    X, duals, near, lists, rank = problem(11, k, 3, kind, listed)
    near = matched_shares(X, k, STILL.copy()).sums if matched else near
    found, lowest = price(X, k, duals, near, lists, rank, np.arange(11), threshold, False, 10**9, 10**9, STILL)
    expected = [group for reduced, group in every_group(X, k, duals) if reduced < threshold]
    assert sorted(tuple(sorted(row[row >= 0].tolist())) for row in found) == sorted(expected)
    assert (lowest == threshold).all()


@pytest.mark.parametrize("k", [2, 3])
def test_pricing_finds_the_best_group_of_every_anchor(k):
    X, duals, near, lists, rank = problem(11, k, 5)
    _, lowest = price(X, k, duals, near, lists, rank, np.arange(11), 0.0, True, 10**9, 10**9, STILL)
    best = np.zeros(11)
    for reduced, group in every_group(X, k, duals):
        anchor = min(group, key=lambda i: rank[i])
        best[anchor] = min(best[anchor], reduced)
    assert (best < 0).any()
    assert np.allclose(lowest, best, atol=1e-12)


@pytest.mark.parametrize(("kind", "k"), diagonal(["uniform", "clustered", "skewed"], [3, 4, 5]))
def test_pricing_from_lists_of_neighbours_finds_as_much_as_from_all_records(kind, k):
    X = standardize(distributed(kind, 200, 2))
    shares = matched_shares(X, k, STILL.copy())
    duals = 1.15 * shares.values
    groups, lowest = search(X, k, duals, shares.sums, -1e-9, 10**6, STILL)
    _, again = search(X, k, duals, shares.sums, -1e-9, 10**6, STILL, lists=neighbours(X, 30))
    assert len(groups) > 0
    assert np.allclose(lowest, again, rtol=1e-9, atol=1e-12)


def problem(n: int, k: int, seed: int, kind: str = "random", listed: int = 0):
    """Records, duals of both signs that leave some groups with a negative reduced cost, neighbours and ranks."""
    X = small(kind, n, 2, seed)
    rng = np.random.default_rng(seed)
    duals = rng.normal(0.5, 0.5, n) * loss(X, np.zeros(n, np.int64)) / n
    return X, duals, nearest_sums(X, 2 * k - 2), neighbours(X, listed), rng.permutation(n)


def every_group(X: np.ndarray, k: int, duals: np.ndarray):
    for size in range(k, 2 * k):
        for group in combinations(range(len(X)), size):
            yield float(naive.exact_sse(X[list(group)])) - duals[list(group)].sum(), group


def test_one_attribute_has_the_optimum_itself_as_its_bound():
    x = np.random.default_rng(1).lognormal(size=200)
    for X in (x[:, None], np.c_[np.full(200, 3.0), x]):
        bound = lower_bound(X, 4)
        assert bound.how == "univariate cut"
        assert bound.complete
        assert bound.value == pytest.approx(float(naive.exact_cut_cost(np.sort(x)[:, None], 4)), rel=1e-8)


def test_fewer_than_2k_records_are_one_group():
    X = small("random", 5, 2, 0)
    bound = lower_bound(X, 3)
    assert bound.how == "one group"
    assert bound.value == pytest.approx(loss(X, np.zeros(5, np.int64)), rel=1e-8)
    assert Fraction(bound.value) <= naive.exact_sse(X)


def test_equal_records_cost_nothing():
    assert lower_bound(np.ones((30, 2)), 3).value == 0.0
    X = np.repeat(small("random", 5, 2, 0), 7, axis=0)
    assert lower_bound(X, 3).value == 0.0


def test_a_request_to_stop_is_obeyed_and_the_bound_stays_valid():
    X = distributed("uniform", 500, 3)
    bound = lower_bound(X, 3, watch=np.array([0, 1]))
    assert not bound.complete
    assert 0 <= bound.value <= loss(X, mdav(X, 3))


def test_column_generation_is_the_same_every_time():
    X = distributed("clustered", 120, 2)
    first, again = (column_generation(X, 3, mdav(X, 3)) for _ in range(2))
    assert first.complete
    assert first.bound == again.bound
    assert np.array_equal(first.groups.members, again.groups.members)
    assert np.array_equal(first.duals, again.duals)


def test_a_bound_limited_by_steps_is_the_same_every_time_and_rises_with_them():
    X = distributed("uniform", 120, 2)
    few, more = (lower_bound(X, 3, Effort(steps)) for steps in (1, 12_000_000))
    assert few == lower_bound(X, 3, Effort(1))
    assert not few.complete
    assert few.value <= more.value <= lower_bound(X, 3).value


def test_bound_of_many_records_needs_no_pricing(monkeypatch):
    X = distributed("uniform", 2_000, 2)
    monkeypatch.setattr("shoal.partitioning.certificate.PRICED", 1_000)
    bound = lower_bound(X, 3)
    assert bound.how == "matched pairs"
    assert 1.05 * nearest_neighbour_bound(X, 3) < bound.value < loss_of(X, mdav(X, 3))


def test_a_budget_in_which_pairs_could_not_be_listed_leaves_the_bound_of_nearest_neighbours(monkeypatch):
    monkeypatch.setattr("shoal.partitioning.certificate.LISTING", 1.0)
    X = distributed("uniform", 200, 3)
    assert lower_bound(X, 3, Effort(None, 500.0)).how == "nearest neighbours"
    assert lower_bound(X, 3, Effort(1)).how != "nearest neighbours"


def test_bound_of_records_with_too_many_pairs_to_list_is_that_of_nearest_neighbours(monkeypatch):
    monkeypatch.setattr("shoal.partitioning.potentials.PAIRS", 1000)
    X = distributed("uniform", 500, 3)
    bound = lower_bound(X, 3)
    assert bound.how == "nearest neighbours"
    assert bound.value == pytest.approx(nearest_neighbour_bound(X, 3))


def loss_of(X: np.ndarray, labels: np.ndarray) -> float:
    means = np.stack([np.bincount(labels, x) / np.bincount(labels) for x in X.T], axis=1)
    return float(((X - means[labels]) ** 2).sum())


def test_no_solver_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert lower_bound(small("random", 10, 2, 0), 3).how == "potentials"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k", "loss"), [("census", 3, 4.646), ("tarragona", 3, 13.857), ("eia", 3, 0.3233)])
def test_relaxation_over_all_groups_of_the_reference_data(reference, name, k, loss):
    """In percent of the total; found before by another column generation with complete pricing."""
    X = standardize(reference(name))
    bound = lower_bound(X, k)
    assert bound.how == "potentials"
    assert 100 * bound.value / X.size == pytest.approx(loss, rel=2e-3)
    assert 100 * bound.value / X.size < loss * (1 + 1e-3)
    exact = column_generation(X, k, mdav(X, k))
    assert exact.complete
    assert 100 * exact.bound / X.size == pytest.approx(loss, abs=6e-4 if loss > 1 else 6e-5)

"""The optimal assignment of known records to published ones: exact, and independent of the order of the rows."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from tests.measures.test_linkage_by_types import mixed_files

import naive
import shoal
from shoal.kernels.assignment import assign_to_groups
from shoal.kernels.encoded import EncodedMatrix
from shoal.measures import assignment
from shoal.measures.assignment import _squared_distances
from shoal.measures.linkage_spaces import numeric


def least_cost(points: EncodedMatrix, rows: np.ndarray, size: np.ndarray) -> float:
    """The cost by scipy's solver, every record of a group for itself."""
    every = np.repeat(rows, size, axis=0)
    costs = np.array([[naive.mixed_distance(points, x, y) for y in every.tolist()] for x in points.values.tolist()])
    return float(costs[linear_sum_assignment(costs)].sum())


def drawn_case(seed: int) -> tuple[EncodedMatrix, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 30)), int(rng.integers(1, 4))
    groups = int(rng.integers(1, n + 1))
    size = np.bincount(np.r_[np.arange(groups), rng.integers(0, groups, n - groups)])
    draws = [
        rng.normal,
        lambda size: rng.integers(0, 4, size).astype(float),
        rng.standard_cauchy,
        lambda size: rng.choice([0.0, 1e3, 1e5], size) + rng.normal(size=size),
        lambda size: np.exp(3 * rng.normal(size=size)),
    ]
    draw = draws[seed % len(draws)]
    return numeric(draw(size=(n, d))), draw(size=(groups, d)), size


def check(points: EncodedMatrix, rows: np.ndarray, size: np.ndarray, cost: float) -> None:
    n = len(points.values)
    found = assign_to_groups(points, np.ones(n, np.int64), rows, size, 10**9)
    assert found is not None
    assert np.bincount(found.group, found.amount, len(size)).tolist() == size.tolist()
    assert np.bincount(found.record, found.amount, n).tolist() == [1] * n
    assert found.cost == pytest.approx(cost, rel=1e-9, abs=1e-12)
    assert found.gap <= 1e-9 * found.cost + 1e-12


@pytest.mark.usefixtures("instruction_set")
def test_cost_equals_that_of_scipy_in_200_random_cases():
    for seed in range(200):
        case = drawn_case(seed)
        check(*case, least_cost(*case))


@settings(max_examples=40, deadline=None)
@given(mixed_files(most=25))
def test_cost_equals_that_of_scipy_for_every_type_with_missing_values(pair):
    points, masked = pair
    rows = np.ascontiguousarray(masked.values)
    size = np.ones(len(rows), np.int64)
    check(points, rows, size, least_cost(points, rows, size))


@settings(max_examples=30, deadline=None)
@given(mixed_files(), st.integers(0, 2**32))
def test_hits_do_not_depend_on_the_order_of_rows(pair, seed):
    order = np.random.default_rng(seed).permutation(len(pair[0].values))
    assert assignment(*pair) == pytest.approx(assignment(*(space.rows(order) for space in pair)))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(1000, 3), (5000, 1), (5000, 3)])
def test_cost_equals_that_of_scipy_for_thousands_of_records(n, k):
    rng = np.random.default_rng(n)
    X = np.exp(rng.normal(size=(n, 3)))
    rows = X[rng.permutation(n)].reshape(-1, k, 3).mean(axis=1) if n % k == 0 else X[: n // k].copy()
    rows = rows + 0.1 * rng.normal(size=rows.shape)
    size = np.bincount(np.arange(n) % len(rows))
    every = np.repeat(rows, size, axis=0)
    costs = ((X[:, None] - every) ** 2).sum(axis=2)
    check(numeric(X), np.ascontiguousarray(rows), size, float(costs[linear_sum_assignment(costs)].sum()))


def test_a_file_published_unchanged_is_found_entirely():
    X = np.random.default_rng(0).normal(size=(50, 2))
    found = assignment(numeric(X), numeric(X))
    assert (found["hits"], found["most"], found["blind"]) == (100.0, 100.0, 2.0)


def test_people_who_are_alike_and_one_group_are_blind_guesses():
    X, Y = np.ones((20, 2)), np.random.default_rng(0).normal(size=(20, 2))
    assert assignment(numeric(X), numeric(Y))["hits"] == pytest.approx(5.0)
    found = assignment(numeric(Y), numeric(X))
    assert found["hits"] == pytest.approx(5.0)
    assert found["groups"] == 1


def test_a_record_in_the_right_group_of_m_counts_one_in_m():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [12.0], [5.0]])
    Y = np.array([[0.5], [0.5], [11.0], [11.0], [0.5], [11.0]])
    # 12 is in the first group and 5 in the second; the assignment exchanges them.
    assert assignment(numeric(X), numeric(Y))["hits"] == pytest.approx(100 * 4 / 3 / 6)


@pytest.mark.parametrize("limits", [{"records": 59}, {"steps": 10}])
def test_what_takes_too_many_steps_or_records_is_estimated_and_said_so(limits):
    X = np.random.default_rng(0).normal(size=(60, 2))
    found = assignment(numeric(X), numeric(X[::-1].copy()), **limits)
    exact = assignment(numeric(X), numeric(X[::-1].copy()))
    assert found["sampled"]
    assert found["gap"] is None
    assert found["interval"][0] <= exact["hits"] <= found["interval"][1]
    assert not exact["sampled"]
    assert exact["interval"] is None


def test_estimates_from_neighbourhoods_are_near_the_exact_hits_and_rather_above(monkeypatch):
    monkeypatch.setattr(sys.modules["shoal.measures.assignment"], "GROUPS_AROUND", 100)
    X = np.random.default_rng(1).random((1_200, 2))
    order = np.argsort(np.floor(15 * X[:, 0]) + X[:, 1] * 0.9)
    Y = np.empty_like(X)
    Y[order] = np.repeat(X[order].reshape(-1, 4, 2).mean(axis=1), 4, axis=0)
    exact, found = assignment(numeric(X), numeric(Y)), assignment(numeric(X), numeric(Y), records=100)
    assert 0 < exact["hits"] < exact["most"]
    assert 0.95 * exact["hits"] < found["hits"] < 1.15 * exact["hits"]  # nobody competes across borders
    assert found["interval"][1] >= exact["hits"]


def test_a_neighbourhood_that_is_not_solved_counts_as_found_and_many_are_no_figure(monkeypatch):
    module = sys.modules["shoal.measures.assignment"]
    X = np.random.default_rng(0).normal(size=(60, 2))
    pair = numeric(X), numeric(X[::-1].copy())
    solved, calls = module._solved, []
    monkeypatch.setattr(
        module, "_solved", lambda *given: calls.append(1) or (solved(*given) if len(calls) > 50 else None)
    )
    assert assignment(*pair, records=59)["hits"] == pytest.approx(25.0)  # 50 of the 200 that are drawn
    monkeypatch.setattr(module, "STEPS_AROUND", 0)
    assert assignment(*pair, records=59)["hits"] is None


def test_a_file_that_is_hardly_changed_is_solved_exactly_though_distances_are_rounded():
    rng = np.random.default_rng(0)
    X = 30 * rng.normal(size=(100, 4))
    X[1] = X[0]
    Y = X + 1e-5 * rng.normal(size=X.shape)
    found = assignment(numeric(X), numeric(Y))
    assert not found["sampled"]
    assert found["hits"] == pytest.approx(99.0)  # of two people who are alike either may be either


def test_neighbourhoods_are_by_the_distance_of_every_type():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 3, (20, 3)).astype(float)
        values[rng.random((20, 3)) < 0.2] = np.nan
        apart = np.array([0.7, 1.5, 2.0])
        rows = EncodedMatrix(values, np.array([0, 3, 1]), apart, np.ones(3), np.array([0, 3, 3]))
        expected = [naive.mixed_distance(rows, x, values[0].tolist()) for x in values.tolist()]
        np.testing.assert_allclose(_squared_distances(rows, values[0]), expected)


def test_assess_measures_the_assignment(reference_file):
    import pandas as pd

    frame = pd.read_csv(reference_file("census")).iloc[:300, :4]
    masked = shoal.protect(frame, k=5, method="mdav", quasi=list(frame.columns)).table
    found = shoal.assess(frame, masked)["risk"]["assignment"]
    assert 0 < found["hits"] <= found["most"] <= 20
    assert found["gap"] <= 1e-9

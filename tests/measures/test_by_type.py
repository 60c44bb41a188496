"""Loss by the type of an attribute."""

import numpy as np
import pyarrow as pa
import pytest
from by_type import missing_shares, nominal_loss, ordinal_loss, squared_loss, total
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, EncodedMatrix
from shoal.kernels.standardize import standardize
from shoal.measures import loss
from shoal.pipeline.loss import costs
from shoal.tables.attributes import Attribute

LEVELS = 5
KINDS = np.array([MEAN, MEDIAN, CONVEX_MEDIAN, MODE])
COLUMN_WEIGHTS = np.array([1.0, 4.0, 1.0, 2.0])
STEPS = np.array([1.0, 2 / LEVELS, 1 / LEVELS, 1.0])
OF_LEVELS = np.array([0, LEVELS, LEVELS, LEVELS])

codes = st.one_of(st.integers(0, LEVELS - 1).map(float), st.just(np.nan))
row = st.tuples(codes, codes, codes, codes)
files = st.lists(st.tuples(row, row, st.integers(1, 3).map(float)), min_size=1, max_size=15).map(
    lambda drawn: tuple(np.array(part) for part in zip(*drawn, strict=True))
)


def space_of(rows):
    return EncodedMatrix(rows * STEPS, KINDS, COLUMN_WEIGHTS, STEPS, OF_LEVELS)


def plain(Z):
    d = Z.shape[1]
    return EncodedMatrix(Z, np.full(d, MEAN), np.ones(d), np.ones(d), np.zeros(d, dtype=np.int64))


def squared_distance(x, y, j):
    """Of two codes of column j."""
    if np.isnan(x) or np.isnan(y):
        return 0.0 if np.isnan(x) and np.isnan(y) else COLUMN_WEIGHTS[j]
    if KINDS[j] == MODE:
        return 0.0 if x == y else COLUMN_WEIGHTS[j]
    return (x * STEPS[j] - y * STEPS[j]) ** 2


def average(column, kind):
    there = sorted(x for x in column if not np.isnan(x))
    if len(column) > 2 * len(there):
        return np.nan
    if kind == MEAN:
        return sum(there) / len(there)
    f = [there.count(level) for level in range(LEVELS)]
    if kind == MODE:
        return float(f.index(max(f)))
    if kind == CONVEX_MEDIAN:
        f = [min(max(f[: i + 1]), max(f[i:])) for i in range(LEVELS)]
    return float(next(i for i in range(LEVELS) if 2 * sum(f[: i + 1]) >= sum(f)))


@given(files)
def test_squared_loss_and_total_equal_their_definitions(drawn):
    X, Y, weights = drawn
    original, masked = space_of(X), space_of(Y)
    for j, kind in enumerate(KINDS):
        errors = [squared_distance(x, y, j) for x, y in zip(X[:, j], Y[:, j], strict=True)]
        assert squared_loss(original, masked)[j] == pytest.approx(sum(errors))
        assert squared_loss(original, masked, weights)[j] == pytest.approx(np.dot(weights, errors))
        centre = average(X[:, j], kind)
        assert total(original)[j] == pytest.approx(sum(squared_distance(x, centre, j) for x in X[:, j]))


@given(files)
def test_a_weight_counts_as_so_many_records(drawn):
    X, Y, weights = drawn
    many = np.repeat(np.arange(len(X)), weights.astype(int))
    np.testing.assert_allclose(total(space_of(X), weights), total(space_of(X[many])), atol=1e-12)
    np.testing.assert_allclose(
        squared_loss(space_of(X), space_of(Y), weights), squared_loss(space_of(X[many]), space_of(Y[many])), atol=1e-12
    )
    for x, y in zip(X.T, Y.T, strict=True):
        assert ordinal_loss(x, y, LEVELS, weights) == pytest.approx(ordinal_loss(x[many], y[many], LEVELS))
        assert nominal_loss(x, y, weights) == pytest.approx(nominal_loss(x[many], y[many]))


def test_records_without_weight_do_not_count():
    X, Y = np.array([[0.0] * 4, [1.0] * 4, [4.0] * 4]), np.array([[1.0] * 4, [1.0] * 4, [np.nan] * 4])
    weights = np.array([1.0, 2, 0])
    np.testing.assert_allclose(total(space_of(X), weights), total(space_of(X[[0, 1, 1]])))
    np.testing.assert_allclose(
        squared_loss(space_of(X), space_of(Y), weights), squared_loss(space_of(X[[0, 1, 1]]), space_of(Y[[0, 1, 1]]))
    )


@given(files)
def test_an_unchanged_file_costs_nothing(drawn):
    X, _, _ = drawn
    np.testing.assert_array_equal(squared_loss(space_of(X), space_of(X)), np.zeros(4))
    for x in X.T:
        assert ordinal_loss(x, x, LEVELS)["changed"] == 0
        assert ordinal_loss(x, x, LEVELS)["levels_moved"] in (0, None)
        assert nominal_loss(x, x)["total_variation"] in (0, None)
        assert nominal_loss(x, x)["categories_vanished"] == 0


@pytest.mark.parametrize("name", ["census", "tarragona"])
def test_among_numbers_the_loss_is_the_classical_one(reference, name):
    X = reference(name)
    Z = standardize(X)
    groups = np.argsort(np.argsort(Z.sum(axis=1))) // 3  # threes along a line: not good, but a partition
    means = np.array([X[groups == g].mean(axis=0) for g in range(groups.max() + 1)])[groups]
    names = [str(j) for j in range(X.shape[1])]
    classical = loss(X, means, names)
    errors = squared_loss(plain(Z), plain((means - X.mean(axis=0)) / X.std(axis=0)))
    deviations = total(plain(Z))
    assert errors.sum() == pytest.approx(classical["SSE"], rel=1e-9)
    assert deviations.sum() == pytest.approx(classical["SST"], rel=1e-9)
    assert 100 * errors / deviations == pytest.approx([classical["attributes"][j]["IL"] for j in names], rel=1e-9)


def test_an_attribute_without_weight_costs_nothing():
    rows = np.array([[0.0], [3.0], [np.nan]])
    for kind in (MEDIAN, CONVEX_MEDIAN):
        nothing = EncodedMatrix(rows * 0, np.array([kind]), np.zeros(1), np.zeros(1), np.array([4]))
        assert total(nothing).tolist() == [0]


def test_ordinal_loss_counts_levels():
    original = np.array([0.0, 1, 2, 3, np.nan, 4])
    masked = np.array([0.0, 3, 2, 2, 1, np.nan])
    assert ordinal_loss(original, masked, 5) == pytest.approx(
        {
            "changed": 100 * 4 / 6,
            "levels_moved": 3 / 4,
            "distance": 3 / 20,
            "missing_before": 100 / 6,
            "missing_after": 100 / 6,
        }
    )


def test_nominal_loss_counts_categories():
    original = np.array([0.0, 0, 1, 2, np.nan])
    masked = np.array([0.0, 0, 0, 2, 2])
    assert nominal_loss(original, masked) == pytest.approx(
        {
            "changed": 40,
            "total_variation": (abs(2 / 4 - 3 / 5) + 1 / 4 + abs(1 / 4 - 2 / 5)) / 2,
            "categories_before": 3,
            "categories_after": 2,
            "categories_vanished": 1,
            "missing_before": 20,
            "missing_after": 0,
        }
    )


def test_what_has_no_meaning_is_none():
    nobody, somebody = np.full(3, np.nan), np.zeros(3)
    assert ordinal_loss(nobody, somebody, 2)["levels_moved"] is None
    assert ordinal_loss(nobody, somebody, 2)["distance"] is None
    assert nominal_loss(somebody, nobody)["total_variation"] is None
    assert nominal_loss(somebody, nobody)["changed"] == 100
    assert missing_shares(somebody, nobody) == {"missing_before": 0, "missing_after": 100}


@given(files)
def test_the_pipeline_measures_ordinal_and_nominal_attributes_as_defined_here(drawn):
    X, Y, weights = drawn
    levels = pa.array([str(level) for level in range(LEVELS)])
    attributes = [
        Attribute(type_, type_, X[:, j], pa.string(), levels) for j, type_ in enumerate(("ordinal", "nominal"))
    ]
    rows = costs(attributes, [Y[:, 0], Y[:, 1]], weights)["attributes"]
    ordinal, nominal = ordinal_loss(X[:, 0], Y[:, 0], LEVELS, weights), nominal_loss(X[:, 1], Y[:, 1], weights)
    assert {name: rows["ordinal"][name] for name in ordinal} == pytest.approx(ordinal)
    assert {name: rows["nominal"][name] for name in nominal} == pytest.approx(nominal)

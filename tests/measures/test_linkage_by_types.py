"""Linkage, interval disclosure and PIL on attributes of every type, with missing values."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import shoal
from shoal.kernels.encoded import MEAN, MEDIAN, MODE, EncodedMatrix
from shoal.kernels.linkage_by_types import nearest_by_types
from shoal.measures import interval_disclosure_rank, interval_disclosure_sd, linkage, pil
from shoal.measures.fellegi_sunter import agreement_values, probabilistic_linkage_by_types
from shoal.measures.linkage_spaces import neutral
from shoal.pipeline.linkage_spaces import linkage_spaces
from shoal.plan import Plan
from shoal.tables.attributes import encode, without_declared
from shoal.tables.files import open_table

KINDS = np.array([MEAN, MEDIAN, MODE, MODE])
APART = np.array([2.0, 1.5, 2.25, 0.0])


@st.composite
def mixed_files(draw: st.DrawFn, most: int = 60) -> tuple[EncodedMatrix, EncodedMatrix]:
    """Records of four types with many ties and missing values, and what could be published of them."""
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    levels = draw(st.integers(1, 9))
    X = rng.integers(0, levels, (n, 4)).astype(float)
    X[:, 0] = np.round(rng.normal(size=n), draw(st.integers(0, 6)))
    Y = np.where(rng.random(X.shape) < draw(st.sampled_from([0.0, 0.3, 1.0])), X[rng.permutation(n)], X)
    if draw(st.booleans()):
        Y = Y[rng.integers(0, max(1, n // 5), n)]
    for matrix in (X, Y):
        matrix[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.2, 1.0]))] = np.nan
    columns = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True))
    space = EncodedMatrix(X, KINDS, APART, np.ones(4), np.full(4, 9))
    return space.columns(columns), space._replace(values=Y).columns(columns)


@pytest.mark.usefixtures("instruction_set")
@settings(max_examples=60, deadline=None)
@given(mixed_files())
def test_linkage_by_tree_equals_comparing_all_with_all(pair):
    found = linkage(*pair)
    linked, expected = naive.linked_by_types(*pair)
    assert found["linked"] == pytest.approx(linked, abs=1e-9)
    assert found["expected"] == pytest.approx(expected, abs=1e-9)
    assert found["interval"][0] <= found["linked"] + 1e-9
    assert found["linked"] <= found["interval"][1] + 1e-9


@pytest.mark.usefixtures("instruction_set")
@settings(max_examples=30, deadline=None)
@given(mixed_files())
def test_all_rows_at_the_least_distance_are_found(pair):
    points, rows = pair
    ends, found = nearest_by_types(points, np.ascontiguousarray(rows.values))
    for i, start in enumerate([0, *ends[:-1].tolist()]):
        distances = [naive.mixed_distance(points, points.values[i].tolist(), y) for y in rows.values.tolist()]
        tied = [row for row, distance in enumerate(distances) if distance == min(distances)]
        assert found[start : ends[i]].tolist() == tied


def real_table(reference_file, name):
    """A table of several types, with what masks it."""
    if name == "survey":
        return pd.read_csv(reference_file("sdcmicro/testdata")).head(400), {
            "quasi": ["urbrur", "roof", "relat", "age", "income", "hhcivil"],
            "types": {"urbrur": "nominal", "roof": "nominal", "relat": "nominal", "hhcivil": "ordinal"},
        }
    if name == "water":
        frame = pd.read_csv(reference_file("water-treatment"), na_values="?").iloc[:400, 1:8]
        return frame, {"quasi": list(frame.columns), "missing": "group"}
    frame = pd.read_csv(reference_file("eia")).sample(400, random_state=1)
    frame.loc[frame.index[::9], "COMSALES"] = np.nan
    quasi = ["STATE", "MONTH", "RESREVENUE", "COMSALES", "TOTSALES"]
    return frame[quasi], {"quasi": quasi, "types": {"MONTH": "ordinal"}, "missing": "group"}


@pytest.mark.parametrize("name", ["survey", "water", "eia"])
def test_linkage_on_real_tables_equals_comparing_all_with_all(reference_file, name):
    frame, asked = real_table(reference_file, name)
    frame = frame.reset_index(drop=True)
    masked = shoal.protect(frame, k=4, method="mdav", publish="rest", **asked).table
    types = asked.get("types", {})
    found = shoal.assess(frame, masked, asked["quasi"], types=types)["risk"]
    table, after = open_table(frame), open_table(masked)
    plan = Plan(k=4, quasi=asked["quasi"], types=types)
    attributes = [encode(table, each, types.get(each) or infer(frame[each])) for each in asked["quasi"]]
    codes = [each.read(without_declared(after, each.name)) for each in attributes]
    spaces = linkage_spaces(attributes, codes, plan)
    for measure, pair in (("DLD", spaces.own), ("DLD_masking", spaces.masking), ("DLD_neutral", spaces.neutral)):
        linked, expected = naive.linked_by_types(*pair)
        assert found[measure]["linked"] == pytest.approx(linked)
        assert found[measure]["expected"] == pytest.approx(expected)
        assert expected <= 25


def infer(column):
    return "continuous" if pd.api.types.is_numeric_dtype(column) else "nominal"


@settings(max_examples=25, deadline=None)
@given(mixed_files(most=20))
def test_probabilistic_linkage_equals_its_weights(pair):
    Z, Y = (agreement_values(space) for space in pair)
    found = probabilistic_linkage_by_types(Z, Y, within=[0.1])
    expected = naive.linked_by_weight(Z, Y, 0.1, found["m"], found["u"])
    assert found["linked"] == pytest.approx(expected, abs=1e-6)


def test_neutral_distances_depend_on_the_order_of_values_alone():
    rng = np.random.default_rng(0)
    X, Y = rng.lognormal(size=(50, 2)), rng.lognormal(size=(50, 2))
    X[3, 0] = np.nan
    nominal = np.zeros(2, dtype=bool)
    one, two = neutral(X, Y, nominal), neutral(np.log(X), np.exp(Y), nominal)
    for before, after in zip(one, two, strict=True):
        np.testing.assert_array_equal(before.values, after.values)
    assert np.nanmax(one[0].values) < 1
    assert np.isnan(one[0].values[3, 0])


def test_a_category_is_disclosed_where_it_is_published_as_it_is():
    x = np.array([[0.0], [1], [1], [np.nan], [2]])
    y = np.array([[0.0], [1], [0], [1], [np.nan]])
    for measure in (interval_disclosure_rank, interval_disclosure_sd):
        assert measure(x, y, np.array([True]))["percent"] == 50


def test_missing_values_are_no_interval_and_no_number_without_them_changes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 1))
    Y = X + 0.05 * rng.normal(size=X.shape)
    more = np.concatenate([X, np.full((60, 1), np.nan)]), np.concatenate([Y, np.full((60, 1), np.nan)])
    for measure in (interval_disclosure_rank, interval_disclosure_sd):
        assert measure(*more) == measure(X, Y)
        gone = np.where(np.arange(300)[:, None] < 150, np.nan, Y)
        assert measure(X, gone)["percent"] < 60
        assert measure(X, np.full_like(Y, np.nan))["percent"] == 0


def test_pil_of_shares_is_that_of_the_mean_of_zero_and_one():
    rng = np.random.default_rng(2)
    x, y = rng.random(400) < 0.3, rng.random(400) < 0.4
    numbers = pil(x[:, None].astype(float), y[:, None].astype(float))
    categories = pil(x[:, None] + 5.0, y[:, None] + 5.0, np.array([True]))
    assert categories["means"] == pytest.approx(numbers["means"])
    assert categories["variances"] is None
    assert categories["PIL"] == categories["means"]


def test_pil_sampling_errors_of_every_type_are_those_of_samples():
    rng = np.random.default_rng(3)
    n = 800
    number = rng.normal(size=n)
    population = np.column_stack(
        [number, np.floor(2 * number + rng.normal(size=n)), rng.integers(0, 3, n) + 3.0 * (number > 0)]
    )
    population[rng.random(population.shape) < 0.15] = np.nan
    nominal = np.array([False, False, True])
    drawn = [pil(population, population[rng.integers(0, n, n)], nominal) for _ in range(60)]
    for part in ("means", "variances", "covariances", "correlations"):
        assert np.mean([each[part] for each in drawn]) == pytest.approx(50, abs=8)
    assert pil(population, population, nominal)["PIL"] == 0


def test_pil_counts_values_that_became_missing_and_vanished_columns():
    X = np.random.default_rng(4).normal(size=(500, 2))
    gone = X.copy()
    gone[:, 1] = np.nan
    found = pil(X, gone)
    assert found["means"] == pytest.approx(200 / 3)  # one mean stays, one is gone, and so is that of what is known
    assert found["covariances"] == found["variances"] == 50
    assert pil(np.zeros((9, 1)), np.zeros((9, 1)), np.array([True]))["PIL"] is None

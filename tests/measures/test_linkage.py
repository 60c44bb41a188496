"""Record linkage: by distance and by probability."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from linkage_samples import MIC1D_COLUMNS, masked_pairs
from tests.expect import refused

import naive
from shoal.errors import DataError
from shoal.kernels.standardize import standardize
from shoal.masking.mic1d import mic1d
from shoal.measures import distance_linkage, distance_linkage_average, probabilistic_linkage


@given(masked_pairs())
def test_linkage_by_tree_equals_comparing_all_with_all(pair):
    X, Y = pair
    found = distance_linkage(X, Y)
    linked, expected = naive.linked_by_distance(standardize(X), standardize(Y))
    assert found["linked"] == pytest.approx(linked, abs=1e-9)
    assert found["expected"] == pytest.approx(expected, abs=1e-9)
    assert not found["sampled"]


@given(masked_pairs(most=25))
def test_the_average_is_over_the_subsets_of_each_size_then_over_sizes(pair):
    X, Y = pair
    d = X.shape[1]
    by_size = []
    for size in range(1, d + 1):
        each = [
            naive.linked_by_distance(standardize(X)[:, s], standardize(Y)[:, s])
            for s in map(list, combinations(range(d), size))
        ]
        by_size.append(np.mean(each, axis=0))
    found = distance_linkage_average(X, Y)
    assert [found["linked"], found["expected"]] == pytest.approx(np.mean(by_size, axis=0).tolist(), abs=1e-9)
    assert found["subsets"] == 2**d - 1
    assert not found["sampled"]


def test_some_columns_are_what_the_intruder_knows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    Y = np.round(X, 1)
    assert distance_linkage(X, Y, [3, 1]) == distance_linkage(X[:, [3, 1]], Y[:, [3, 1]])
    assert distance_linkage(X, Y, [2])["linked"] < distance_linkage(X, Y)["linked"]


def test_an_outlier_that_makes_all_others_equal_costs_no_time():
    X = np.random.default_rng(0).normal(size=(30_000, 2))
    X[0] = 1e40
    found = distance_linkage(X, X)
    assert found["linked"] == pytest.approx(100 * 2 / 30_000)
    assert found["expected"] == pytest.approx(100 * 2 / 30_000)


def test_groups_larger_than_a_few_blocks_of_the_tree():
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(900, 3))
    Y = np.round(X * 2) / 2
    found = distance_linkage(X, Y)
    linked, expected = naive.linked_by_distance(standardize(X), standardize(Y))
    assert found["linked"] == pytest.approx(linked)
    assert found["expected"] == pytest.approx(expected)


@pytest.mark.parametrize(("k", "published"), [(3000, 35.95), (4000, 16.91), (5000, 4.94)])
def test_mic1d_on_census_is_linked_as_often_as_published(reference, k, published):
    X = reference("census")[:, MIC1D_COLUMNS]
    found = distance_linkage_average(X, mic1d(X, k))
    assert found["subsets"] == 511
    assert found["linked"] == pytest.approx(published, abs=0.03)
    assert found["linked"] == pytest.approx({3000: 35.93, 4000: 16.93, 5000: 4.94}[k], abs=0.01)


def test_a_sample_of_records_and_of_subsets_says_so_and_is_near():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    Y = X + 0.1 * rng.normal(size=X.shape)
    every, some = distance_linkage(X, Y), distance_linkage(X, Y, records=2000)
    assert some["sampled"]
    assert some["linked"] == pytest.approx(every["linked"], abs=4)
    average = distance_linkage_average(X, Y, limit=6, records=500)
    assert average["sampled"]
    assert average["subsets"] <= 6
    assert average == distance_linkage_average(X, Y, limit=6, records=500)


@given(masked_pairs(most=30))
def test_probabilistic_linkage_equals_its_weights(pair):
    X, Y = pair
    found = probabilistic_linkage(X, Y, within=[0.1])
    assert 0 <= found["linked"] <= 100 + 1e-9
    assert np.isfinite(found["m"]).all()
    assert np.isfinite(found["u"]).all()
    expected = naive.linked_by_weight(standardize(X), standardize(Y), 0.1, found["m"], found["u"])
    assert found["linked"] == pytest.approx(expected, abs=1e-6)


def test_em_finds_how_often_attributes_agree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    Y = X.copy()
    wrong = rng.random(X.shape) < [0.05, 0.1, 0.2, 0.3, 0.4]
    Y[wrong] = rng.normal(size=wrong.sum())
    found = probabilistic_linkage(X, Y, within=[0.1])
    agree = (np.abs(standardize(X) - standardize(Y)) <= 0.1).mean(axis=0)
    assert found["m"] == pytest.approx(agree.tolist(), abs=0.03)
    assert not found["sampled"]


def test_probabilistic_linkage_of_an_unchanged_and_of_an_empty_publication():
    X = np.random.default_rng(0).normal(size=(300, 5))
    assert probabilistic_linkage(X, X)["linked"] > 95
    assert probabilistic_linkage(X, np.zeros_like(X))["linked"] == pytest.approx(100 / 300)


def test_probabilistic_linkage_of_a_sample_is_near_that_of_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    Y = X + 0.02 * rng.normal(size=X.shape)
    every, some = probabilistic_linkage(X, Y), probabilistic_linkage(X, Y, pairs=3_000_000)
    assert some["sampled"]
    assert some["linked"] == pytest.approx(every["linked"], abs=4)


def test_many_attributes_use_those_that_vary_most():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 20))
    X[:, :6] = np.round(X[:, :6])
    found = probabilistic_linkage(X, X)
    assert found["attributes"] == list(range(6, 20))
    assert found["sampled"]


def test_the_intruder_gets_the_limit_that_links_most():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    Y = X + 1e-3 * rng.normal(size=X.shape)
    found = probabilistic_linkage(X, Y)
    each = [
        probabilistic_linkage(X, Y, within=[limit])["linked"]
        for limit in (0.5, 0.3, 0.2, 0.1, 0.03, 0.01, 0.003, 0.001)
    ]
    assert found["linked"] == max(each)
    assert found["within"] == 0.003


def test_no_attribute_to_link_by_is_an_error():
    X = np.random.default_rng(1).normal(size=(40, 3))
    with pytest.raises(ValueError, match="column"):
        distance_linkage(X, X.round(), columns=[])


@pytest.mark.parametrize("gap", [np.nan, np.inf])
def test_a_gap_is_an_error_and_no_record_that_nobody_links(gap):
    X = np.random.default_rng(1).normal(size=(40, 3))
    broken = X.copy()
    broken[3, 1] = gap
    for original, masked in ((broken, X), (X, broken)):
        with refused(DataError, "linkage-needs-numbers"):
            distance_linkage(original, masked)

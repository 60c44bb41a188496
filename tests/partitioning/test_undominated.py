"""Dominance: the fast measure is the obvious one, and groups that fail are re-formed so that none does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from shoal import measures
from shoal.kernels.encoded import MEAN, MODE, EncodedMatrix
from shoal.partitioning.dominance import Cells, Magnitudes, Rules, dominated
from shoal.partitioning.undominated import undominated

RULES = [(10.0, None, None), (None, 1, 60.0), (None, 2, 85.0), (15.0, 3, 90.0)]


def space(X: np.ndarray, *, nominal: bool = False) -> EncodedMatrix:
    d = X.shape[1]
    kinds = np.full(d, MEAN)
    kinds[-1:] = MODE if nominal else MEAN
    levels = np.where(kinds == MODE, 5, 0)
    return EncodedMatrix(X, kinds, np.ones(d), np.ones(d), levels)


@st.composite
def contributions(draw):
    n = draw(st.integers(1, 25))
    # The measure scales by 2^-64, so that no sum overflows: smaller amounts would lose digits.
    amounts = st.one_of(st.integers(0, 50).map(float), st.floats(1e-280, 1e6), st.just(float("nan")))
    values = np.array(draw(st.lists(amounts, min_size=n, max_size=n)))
    labels = np.unique(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), return_inverse=True)[1]
    units = np.array(draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))) if draw(st.booleans()) else None
    weights = np.array(draw(st.lists(st.floats(0.25, 9), min_size=n, max_size=n))) if draw(st.booleans()) else None
    return labels.astype(np.int64), values, units, weights


@given(contributions(), st.sampled_from(RULES))
def test_the_measure_is_that_of_contributors_counted_one_by_one(drawn, rule):
    labels, values, units, weights = drawn
    p, n, share = rule
    who = np.arange(len(labels)) if units is None else units
    often = np.ones(len(labels)) if weights is None else weights
    expected = [
        naive.breaks_dominance(values[labels == g], who[labels == g], often[labels == g], p, n, share)
        for g in range(labels.max() + 1)
    ]
    found = measures.dominance(labels, values, p, None if n is None else (n, share), units, weights)
    assert found == {"cells": len(expected), "failing": sum(expected), "share": pytest.approx(100 * np.mean(expected))}


@given(contributions(), st.sampled_from(RULES), st.integers(0, 25))
def test_contributions_add_up_over_pieces_of_a_file(drawn, rule, cut):
    labels, values, units, weights = drawn
    rules = Rules(rule[0], rule[1] or 1, rule[2])
    everyone, cells = Magnitudes(values[:, None], units, weights), int(labels.max()) + 1
    places = np.arange(len(labels))
    one, two = (
        Cells.of(labels[some], everyone.rows(some), 0, cells, rules.most) for some in (places[:cut], places[cut:])
    )
    whole = Cells.of(labels, everyone, 0, cells, rules.most).margins(rules)
    np.testing.assert_allclose(one.plus(two, rules.most).margins(rules), whole, rtol=1e-9, atol=1e-12)


def test_p_percent_by_hand():
    cell = np.zeros(3, np.int64)
    assert measures.dominance(cell, np.array([100.0, 50, 10]), p=10)["failing"] == 0
    assert measures.dominance(cell, np.array([100.0, 50, 9]), p=10)["failing"] == 1
    # Two plants of one enterprise are one contributor.
    plants = np.array([0, 0, 1, 2])
    assert measures.dominance(np.zeros(4, np.int64), np.array([50.0, 50, 50, 9]), p=10, contributors=plants)["failing"]
    # tau-ARGUS: 100 with weight 4 and 10 with weight 7 make 470, of which the two largest have 200.
    weights = np.array([4.0, 7.0])
    two = measures.dominance(cell[:2], np.array([100.0, 10.0]), largest=(2, 43), weights=weights)
    assert two["failing"] == 0
    assert measures.dominance(cell[:2], np.array([100.0, 10.0]), largest=(2, 42), weights=weights)["failing"] == 1


@settings(max_examples=40)
@given(
    st.integers(0, 1000),
    st.integers(2, 4),
    st.sampled_from(RULES),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_re_formed_groups_satisfy_the_rules_and_have_k(seed, k, rule, nominal, with_units, with_weights):
    rng = np.random.default_rng(seed)
    n = 60
    X = np.column_stack([rng.lognormal(0, 1.5, n), rng.normal(size=n), rng.integers(0, 5, n)])
    units = rng.integers(0, 25, n) if with_units else None
    weights = np.full(n, 2.5) if with_weights else None
    magnitudes = Magnitudes(np.column_stack([np.exp(2 * rng.normal(size=n)), X[:, 0]]), units, weights)
    rules = Rules(rule[0], rule[1] or 1, rule[2])
    labels = np.arange(n) // (2 * k)
    found = undominated(space(X, nominal=nominal), k, labels, magnitudes, rules)
    assert np.bincount(found).min() >= k
    if not dominated(np.zeros(n, np.int64), magnitudes, rules).any():
        assert not dominated(found, magnitudes, rules).any()
    if not dominated(labels, magnitudes, rules).any():
        assert np.array_equal(found, labels)  # nothing had to be done


def test_groups_keep_their_units_when_records_move():
    rng = np.random.default_rng(3)
    n, k = 120, 3
    X, units = rng.normal(size=(n, 2)), np.repeat(np.arange(60), 2)
    magnitudes = Magnitudes(np.exp(2 * rng.normal(size=(n, 1))), units)
    labels = np.arange(n) // 6  # three units each
    found = undominated(space(X), k, labels, magnitudes, Rules(p=20))
    assert min(len(set(units[found == g])) for g in range(found.max() + 1)) >= k
    assert not dominated(found, magnitudes, Rules(p=20)).any()


def test_if_one_contributor_dominates_everything_one_group_is_left():
    labels = np.arange(12) // 3
    magnitudes = Magnitudes(np.append(np.ones(11), 1000.0)[:, None])
    assert undominated(space(np.arange(24.0).reshape(12, 2)), 3, labels, magnitudes, Rules(n=1, share=60)).max() == 0

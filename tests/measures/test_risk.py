"""Real k', interval disclosure, the score, and the measures gathered."""

import json
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from linkage_samples import MIC1D_COLUMNS, masked_pairs

import naive
from samples import matrices
from shoal.masking.mic1d import mic1d
from shoal.measures import (
    diversity_book,
    interval_disclosure_rank,
    interval_disclosure_sd,
    real_k,
    real_k_by_subset,
    risk_book,
    score,
)
from shoal.measures.equivalence_classes import intruder_subsets, published_classes
from shoal.measures.linkage_spaces import of_numbers


@given(matrices())
def test_real_k_of_every_subset_equals_counting(Y):
    n, d = Y.shape
    found = real_k_by_subset(Y)
    for size in range(1, d + 1):
        counts = {s: naive.published_alike(Y, s) for s in combinations(range(d), size)}
        ks = [n / len(c) for c in counts.values()]
        assert found["sizes"][size]["mean"] == pytest.approx(np.mean(ks))
        assert found["sizes"][size]["least"] == min(ks)
        assert found["sizes"][size]["smallest"] == min(min(c) for c in counts.values())
        assert found["sizes"][size]["subsets"] == comb(d, size)
        for s, c in counts.items():
            assert real_k(Y, s) == {"real_k": n / len(c), "smallest": min(c), "groups": len(c)}
    assert not found["sampled"]
    assert real_k(Y, found["worst"])["real_k"] == min(size["least"] for size in found["sizes"].values())


def test_classes_are_numbered_by_their_first_record():
    classes = published_classes(np.array([[3.0, 1], [2, 1], [3, 1], [2, 0], [-0.0, 1], [0.0, 1]]))
    assert classes.labels.tolist() == [0, 1, 0, 2, 3, 3]
    assert classes.first.tolist() == [0, 1, 3, 4]
    assert classes.size.tolist() == [2, 1, 1, 2]


def test_mic1d_on_census_has_the_published_real_k(reference):
    Y = mic1d(reference("census")[:, MIC1D_COLUMNS], 5000)
    within = [real_k(Y, block)["real_k"] for block in ([0, 1, 2], [3, 4, 5], [6, 7, 8])]
    assert np.mean(within) == pytest.approx(72.83, abs=0.005)


@pytest.mark.parametrize(("d", "limit"), [(11, 1023), (5, 30), (30, 200), (8, 3), (200, 1023)])
def test_a_sample_of_subsets_has_every_size_and_no_subset_twice(d, limit):
    subsets, sampled = intruder_subsets(d, limit, seed=3)
    assert sampled
    assert len(subsets) == len(set(subsets)) <= max(limit, d)
    assert subsets == sorted(subsets)
    assert {len(s) for s in subsets} == set(range(1, d + 1))
    assert all(s == tuple(sorted(set(s))) and s[0] >= 0 and s[-1] < d for s in subsets)
    assert (subsets, True) == intruder_subsets(d, limit, seed=3)
    if d == 11:
        assert len(subsets) > 0.9 * limit


def test_all_subsets_while_they_fit():
    assert intruder_subsets(3) == ([(0,), (0, 1), (0, 1, 2), (0, 2), (1,), (1, 2), (2,)], False)
    assert len(intruder_subsets(10)[0]) == 1023
    assert intruder_subsets(1, limit=0) == ([(0,)], False)


@given(masked_pairs())
def test_interval_disclosure_by_rank_equals_its_definition(pair):
    X, Y = pair
    found = interval_disclosure_rank(X, Y)
    assert found["percent"] == pytest.approx(naive.inside_ranks(X, Y), abs=1e-9)
    assert np.mean(found["attributes"]) == pytest.approx(found["percent"])


def test_interval_disclosure_by_deviation_equals_its_definition():
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e6):
        X = rng.lognormal(size=(200, 3)) * scale
        for Y in (X + 0.05 * scale * rng.normal(size=X.shape), np.round(X / scale) * scale, X):
            found = interval_disclosure_sd(X, Y)["percent"]
            assert found == pytest.approx(naive.inside_deviations(X, Y), abs=1e-9)


def test_interval_disclosure_is_total_for_an_unchanged_file_and_small_for_a_constant_one():
    X = np.random.default_rng(0).normal(size=(50, 2))
    for measure in (interval_disclosure_rank, interval_disclosure_sd):
        assert measure(X, X)["percent"] == 100
        assert measure(X, np.zeros_like(X))["percent"] == 0
        assert measure(X * 1e-200, X * 1e-200)["percent"] == 100
    assert interval_disclosure_sd(X * 1e-200, X * 1.05e-200) == interval_disclosure_sd(X, X * 1.05)


@pytest.mark.parametrize(
    ("il", "dld", "id_", "published"),
    [
        (31.67, 34.11, 69.70, 41.79),
        (22.17, 35.95, 54.16, 33.61),
        (82.44, 4.94, 32.22, 50.51),
        (44.11, 3.26, 43.87, 33.84),
    ],
)
def test_the_score_is_that_of_the_published_table(il, dld, id_, published):
    assert score(il, dld, id_) == pytest.approx(published, abs=0.0051)


def test_probabilistic_linkage_takes_half_the_place_of_distance_linkage():
    assert score(8, 16, 4, pld=32) == 0.5 * 8 + 0.125 * 16 + 0.125 * 32 + 0.25 * 4
    assert score(8, 16, 4, pld=16) == score(8, 16, 4)


def no_gap(value) -> bool:
    """Whether there is no NaN or infinity, and nothing that JSON does not know."""
    json.dumps(value, allow_nan=False)
    return True


@given(masked_pairs(most=30))
def test_the_book_is_complete_whatever_is_published(pair):
    X, Y = pair
    rng = np.random.default_rng(0)
    book = risk_book(of_numbers(X, Y))
    linkages = ["DLD", "DLD_average", "DLD_masking", "DLD_neutral", "assignment", "PLD"]
    assert list(book) == ["real_k", "real_k_by_subset", *linkages, "ID_rank", "ID_sd"]
    assert no_gap(book)
    classes, known = published_classes(Y).labels, np.zeros(len(X), bool)
    confidential = {
        "illness": (rng.integers(0, 3, len(X)), rng.random(len(X)) < 0.2, False),
        "town": (np.zeros(len(X), np.int64), known, True),
    }
    diversity = diversity_book(classes, confidential)
    assert no_gap(diversity)
    alike = {"distinct": 1, "entropy": 1, "recursive": 1, "dominated": len(set(classes)), "t": 0, "ordered": True}
    assert diversity["town"] == alike

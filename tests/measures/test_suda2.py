"""SUDA2: minimal sample uniques, scores, data intrusion simulation, contributions."""

from math import factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.measures.test_population_risk import KEYS, combinations_of

import naive
from shoal.measures.suda2 import dis_scores, key_contributions, level_contributions, suda2

pytestmark = pytest.mark.usefixtures("instruction_set")


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Codes of keys with few and many values side by side, often with twins, some missing."""
    n, d = draw(st.integers(1, 60)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    levels = [draw(st.sampled_from([1, 2, 3, 6, 40])) for _ in range(d)]
    found = np.column_stack([rng.integers(1, level + 1, n) for level in levels])
    found[rng.random((n, d)) < draw(st.sampled_from([0.0, 0.0, 0.1, 0.5]))] = 0
    return found[rng.integers(0, n, n)] if draw(st.booleans()) else found


@given(tables())
def test_scores_are_those_of_looking_at_every_set_of_keys(codes):
    d = codes.shape[1]
    expected = naive.minimal_sample_uniques(codes.tolist())
    keys = combinations_of(codes)
    found = suda2(keys, 0.1)
    assert found.score.tolist() == [sum(factorial(d - len(each)) for each in sets) for sets in expected]
    for i, sets in enumerate(expected):
        parts = [sum(factorial(d - len(each)) for each in sets if j in each) for j in range(d)]
        assert found.contribution[keys.of[i]].tolist() == parts
    assert found.sizes.tolist() == [sum(len(each) == m for sets in expected for each in sets) for m in range(1, d + 1)]


def test_all_figures_are_those_of_sdcmicro(reference_file):
    table, theirs = (pd.read_csv(reference_file(f"sdcmicro/{each}")) for each in ("testdata", "testdata_suda2"))
    keys = combinations_of(table[KEYS].to_numpy())
    found = suda2(keys, 0.01)
    assert found.score.tolist() == theirs["score"].tolist()
    assert np.abs(found.dis - theirs["dis"]).max() < 1e-6
    expected = [12.04499, 33.86503, 18.09816, 53.41513, 22.51534, 92.59714, 24.94888]
    assert key_contributions(found) == pytest.approx(expected, abs=1e-5)
    roof = pd.Series(found.contribution[keys.of, 1] * (found.score > 0)).groupby(table["roof"]).sum()
    by_level = level_contributions(found, keys, 1, int(table["roof"].max()))
    assert by_level[roof.index - 1] == pytest.approx(100 * roof / roof.sum())
    assert by_level.sum() == pytest.approx(100)


def test_a_census_without_uniques_has_no_scores():
    found = suda2(combinations_of(np.array([[1, 2], [1, 2], [2, 1], [2, 1]])), 0.01)
    assert found.score.tolist() == found.dis.tolist() == [0] * 4
    assert key_contributions(found).tolist() == [0, 0]


def test_a_match_is_certain_where_no_two_records_are_alike_or_everybody_is_in_the_sample():
    score = np.array([2.0, 1.0, 0.0])
    assert dis_scores(score, 3, pairs=0, fraction=0.01).tolist() == [1, 1, 0]
    assert dis_scores(score, 3, pairs=8, fraction=1.0).tolist() == [1, 1, 0]


def test_a_key_that_is_different_in_every_record_is_the_one_minimal_sample_unique_of_each():
    codes = np.column_stack([np.ones(50, int), np.arange(50) + 1, np.arange(50) % 3 + 1])
    found = suda2(combinations_of(codes), 0.5)
    assert found.sizes.tolist() == [50, 0, 0]
    assert found.score.tolist() == [2.0] * 50
    assert key_contributions(found).tolist() == [0, 100, 0]

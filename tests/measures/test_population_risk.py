"""Risk in the population: frequencies, individual and household risk, k-map."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from shoal.measures.population_risk import (
    frequencies,
    frequencies_in,
    household_risk,
    individual_risk,
    k_map,
    key_combinations,
)

FRANCDAT = ("francdat", "francdat_individual_risk")
KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


@st.composite
def keys(draw: st.DrawFn, d: int | None = None) -> np.ndarray:
    """Codes of keys, from 1, in few or many values; some are missing."""
    n, d = draw(st.integers(1, 40)), d or draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    found = rng.integers(1, draw(st.sampled_from([1, 2, 3, 50])) + 1, (n, d))
    found[rng.random((n, d)) < draw(st.sampled_from([0.0, 0.1, 0.6, 1.0]))] = 0
    return found


def combinations_of(codes: np.ndarray):
    return key_combinations([np.ascontiguousarray(codes[:, j]) for j in range(codes.shape[1])])


@given(keys(), st.integers(0, 99))
def test_frequencies_are_those_of_comparing_all_pairs(codes, seed):
    weights = np.random.default_rng(seed).integers(1, 400, len(codes)) / 4
    f, F = frequencies(combinations_of(codes), weights)
    for i, record in enumerate(codes.tolist()):
        alike = [j for j, other in enumerate(codes.tolist()) if naive.matches(record, other)]
        assert f[i] == len(alike)
        assert F[i] == sum(weights[alike])


@given(keys(d=3), keys(d=3))
def test_frequencies_in_a_population_are_those_of_comparing_all_pairs(codes, population):
    found = frequencies_in(combinations_of(codes), combinations_of(population))
    expected = [sum(naive.matches(one, other) for other in population.tolist()) for one in codes.tolist()]
    assert found.tolist() == expected


def test_without_weights_the_sample_is_the_population():
    f, F = frequencies(combinations_of(np.array([[1], [1], [2]])))
    assert f.tolist() == F.tolist() == [2, 2, 1]
    assert individual_risk(f, F).tolist() == [0.5, 0.5, 1.0]


@given(st.sampled_from([1, 2, 3, 10, 5000]), st.floats(1e-15, 1e9))
def test_individual_risk_is_the_formula_in_exact_arithmetic(f, more):
    F = f * (1 + more)
    assert individual_risk(np.array([f]), np.array([F]))[0] == pytest.approx(naive.individual_risk(f, F), rel=1e-9)


@given(st.integers(1, 50), st.floats(0.01, 1e12))
def test_individual_risk_is_a_probability_and_at_most_that_of_a_sample_that_is_everybody(f, F):
    risk = individual_risk(np.array([f]), np.array([F]))[0]
    assert 0 <= risk <= 1 / f + 1e-12


def test_weights_below_one_do_not_make_a_risk_above_one():
    # sdcMicro has 1.39 for one record with a weight of 0.5
    assert individual_risk(np.array([1, 2]), np.array([0.5, 1.5])).tolist() == [1.0, 0.5]


def test_francdat_by_hand(reference_file):
    table, theirs = (pd.read_csv(reference_file(f"sdcmicro/{each}")) for each in FRANCDAT)
    codes = table[["Key1", "Key2", "Key3", "Key4"]].to_numpy()
    f, F = frequencies(combinations_of(codes), table["w"].to_numpy())
    assert f.tolist() == [2, 2, 2, 1, 1, 1, 1, 2]  # 1 and 8 have key 1-2-5-1, 2 and 3 have 1-2-1-1
    assert F.tolist() == [18 + 92, 45.5 + 39, 45.5 + 39, 17, 541, 8, 5, 18 + 92]
    p = 2 / 110
    by_hand = {0: p / (1 - p) - (p / (1 - p)) ** 2 * np.log(1 / p), 6: 0.2 / 0.8 * np.log(5)}
    risk = individual_risk(f, F)
    for record, expected in by_hand.items():
        assert risk[record] == pytest.approx(expected, rel=1e-12)
    assert np.abs(np.column_stack([risk, f, F]) - theirs.to_numpy()).max() < 1e-12


def test_a_household_of_one_has_the_risk_of_its_member_and_one_sure_member_gives_all_away():
    risk = household_risk(np.array([0.1, 0.5, 0.5, 1.0, 0.2]), np.array([0, 1, 1, 2, 2]))
    assert risk == pytest.approx([0.1, 0.75, 0.75, 1.0, 1.0])


def test_all_figures_are_those_of_sdcmicro(reference_file):
    table = pd.read_csv(reference_file("sdcmicro/testdata"))
    theirs = pd.read_csv(reference_file("sdcmicro/testdata_individual_risk"))
    f, F = frequencies(combinations_of(table[KEYS].to_numpy()), table["sampling_weight"].to_numpy(float))
    risk = individual_risk(f, F)
    together = household_risk(risk, table["ori_hid"].to_numpy())
    assert np.abs(np.column_stack([risk, f, F, together]) - theirs.to_numpy()).max() < 1e-9
    assert risk.sum() == pytest.approx(10.7783, abs=1e-4)
    assert risk.mean() == pytest.approx(0.00235334, abs=1e-8)
    assert together.sum() == pytest.approx(51.81293, abs=1e-5)
    assert together.mean() == pytest.approx(0.01131287, abs=1e-8)


def test_missing_values_stand_for_any_as_in_sdcmicros_own_example(reference_file):
    # ?freqCalc: francdat with Key3 of 3, Key1 and Key2 of 4, Key4 of 5 and Key1 of 6 missing
    table = pd.read_csv(reference_file("sdcmicro/francdat"))
    codes = table[["Key1", "Key2", "Key3", "Key4"]].to_numpy()
    codes[[2, 3, 3, 4, 5], [2, 0, 1, 3, 0]] = 0
    f, F = frequencies(combinations_of(codes), table["w"].to_numpy())
    for i in range(8):
        alike = [j for j in range(8) if naive.matches(codes[i].tolist(), codes[j].tolist())]
        assert (f[i], F[i]) == (len(alike), table["w"][alike].sum())
    assert f.tolist() == [3, 2, 4, 3, 3, 2, 2, 3]


def test_k_map_counts_people_who_share_a_key():
    found = k_map(np.array([1, 1, 2, 2, 1]), np.array([1, 4, 2, 1, 0]))
    assert found == {"k": 0, "uniques": 2, "expected": 1 + 0.25 + 0.5 + 1 + 1, "absent": 1, "fewer": 2}

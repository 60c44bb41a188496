"""l-diversity and t-closeness."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from shoal.measures import l_diversity, t_closeness


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Classes, not numbered without gaps, and a confidential attribute with few or many values."""
    n = draw(st.integers(1, 80))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    classes = 7 * rng.integers(0, draw(st.integers(1, 12)), n) - 5
    return classes, rng.integers(0, draw(st.sampled_from([1, 2, 3, 10, 1000])), n)


@given(tables(), st.sampled_from([0.3, 1.0, 2.0, 3.5]), st.sampled_from([0.0, 0.3, 1.0]), st.integers(0, 99))
def test_l_diversity_equals_counting_known_values(table, c, share, seed):
    classes, values = table
    missing = np.random.default_rng(seed).random(len(values)) < share
    known = [None if gone else value for value, gone in zip(values.tolist(), missing, strict=True)]
    found = l_diversity(classes, values, missing, c)
    assert found == pytest.approx(naive.diversity(classes.tolist(), known, c))


def test_the_three_forms_of_a_class_counted_by_hand():
    # Heart disease 3, flu 1, viral infection 1: entropy 3^(-0.6) 5; r_1 = 3 < 2 (r_2 + r_3) = 4, but not 2 r_3.
    one, values = np.zeros(5, np.int64), np.array(["heart", "heart", "heart", "flu", "viral"])
    found = l_diversity(one, values)
    assert found == {"distinct": 3, "entropy": pytest.approx(5 * 3**-0.6), "recursive": 2, "dominated": 0}
    assert l_diversity(one, values, c=4.0)["recursive"] == 3


def test_all_three_forms_are_those_of_sdcmicro_in_every_class(reference_file):
    table, theirs = (pd.read_csv(reference_file(f"sdcmicro/{name}")) for name in ("testdata", "testdata_ldiversity"))
    keys = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
    for records in table.groupby(keys).indices.values():
        found = l_diversity(np.zeros(len(records), np.int64), table["age"].to_numpy()[records], c=2.0)
        ours = [found["distinct"], found["entropy"], found["recursive"]]
        assert (np.abs(theirs.to_numpy()[records, :3] - ours) < 1e-6).all()


def test_more_than_80_percent_of_the_known_values_dominate_a_class():
    classes = np.repeat([0, 1], 5)
    values, missing = np.array([1, 1, 1, 1, 2, 1, 1, 1, 1, 2]), np.arange(10) == 9
    assert l_diversity(classes, values)["dominated"] == 0
    assert l_diversity(classes, values, missing)["dominated"] == 1


@pytest.mark.parametrize("ordered", [True, False])
@given(tables())
def test_t_closeness_equals_its_definition(ordered, table):
    classes, values = table
    expected = naive.closeness(classes.tolist(), values.tolist(), ordered)
    assert t_closeness(classes, values, ordered=ordered) == pytest.approx(expected, abs=1e-12)


def test_the_example_of_li_et_al():
    # Salaries 3k .. 11k, three classes; the first has 3k, 4k, 5k, the second 6k, 11k, 8k: 0.375 and 0.167.
    classes = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    salary = np.array([3.0, 4, 5, 6, 11, 8, 7, 9, 10]) * 1000
    assert t_closeness(classes, salary) == pytest.approx(0.375)
    second = t_closeness(np.where(classes == 1, 1, [0, 0, 2, 0, 0, 0, 0, 2, 2]), salary)
    assert second == pytest.approx(naive.closeness([0, 0, 2, 1, 1, 1, 0, 2, 2], salary.tolist(), True))


def test_one_class_is_as_the_file_and_a_constant_attribute_has_one_value():
    one, values = np.zeros(6, dtype=np.int64), np.array(["a", "b", "b", "c", "c", "c"])
    assert t_closeness(one, values, ordered=False) == 0
    assert t_closeness(one, np.arange(6.0)) == 0
    assert l_diversity(one, values)["distinct"] == 3
    assert t_closeness(np.arange(6), np.ones(6)) == 0
    assert l_diversity(np.arange(6), values) == {"distinct": 1, "entropy": 1.0, "recursive": 1, "dominated": 6}

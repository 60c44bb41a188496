"""l-diversity and t-closeness."""

import numpy as np
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


@given(tables())
def test_l_diversity_equals_counting(table):
    classes, values = table
    found = l_diversity(classes, values)
    assert [found["distinct"], found["entropy"]] == pytest.approx(naive.diversity(classes.tolist(), values.tolist()))


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
    assert l_diversity(np.arange(6), values) == {"distinct": 1, "entropy": 1.0}

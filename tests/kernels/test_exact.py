"""Sums that are exact: fsum is the oracle."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels._native import add_record, digit_range, mean_of
from shoal.kernels.exact_sum import sum_of

pytestmark = pytest.mark.usefixtures("instruction_set")

doubles = st.floats(min_value=-1e300, max_value=1e300)


def mean_after_removing(values: list[float], removed: int) -> float:
    X = np.array(values).reshape(-1, 1)
    bits = X.view(np.int64)
    first, digits = digit_range(bits[:, 0].copy())
    total = sum_of(bits, first, digits)
    for i in range(removed):
        add_record(total, first, bits[i], -1)
    mean = np.empty(1)
    mean_of(total, first, len(values) - removed, mean)
    return mean[0]


@given(st.lists(doubles, min_size=1, max_size=60))
def test_the_mean_is_the_correctly_rounded_sum_over_the_count(values):
    assert mean_after_removing(values, 0) == math.fsum(values) / len(values)


@given(st.lists(doubles, min_size=1, max_size=30), st.lists(doubles, min_size=1, max_size=30))
def test_removed_records_leave_no_trace(gone, left):
    assert mean_after_removing(gone + left, len(gone)) == math.fsum(left) / len(left)


@given(st.lists(st.floats(-1e-300, 1e-300), min_size=1, max_size=30))
def test_subnormal_values_are_summed_exactly(values):
    assert mean_after_removing(values, 0) == math.fsum(values) / len(values)


def test_half_way_cases_round_to_even_unless_something_lies_below():
    half = 2.0**-53
    assert mean_after_removing([1.0, half], 0) * 2 == 1.0
    assert mean_after_removing([1.0, half, 2.0**-300], 0) * 3 == math.fsum([1.0, half, 2.0**-300])
    assert mean_after_removing([1.0, half, 2.0**-1074], 0) == (1.0 + 2.0**-52) / 3


def test_a_value_beyond_the_digits_of_a_sum_is_refused():
    with pytest.raises(ValueError, match="digits"):
        sum_of(np.array([[1e300]]).view(np.int64), 0, 36)

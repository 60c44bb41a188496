"""The leaves of a k-d tree are groups of k to 2k - 1 records that lie near each other."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.samples import loss, matrices

from shoal.kernels.kd_groups import kd_groups

pytestmark = pytest.mark.usefixtures("instruction_set")


@given(matrices(most=80), st.integers(2, 9))
def test_every_group_has_k_to_2k_minus_1_records(X, k):
    assume(len(X) >= k)
    labels = kd_groups(np.ascontiguousarray(X), k, np.zeros(2, np.int64))
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


def test_one_attribute_is_cut_in_its_order():
    X = np.random.default_rng(0).random((100, 1))
    labels = kd_groups(X, 3, np.zeros(2, np.int64))
    assert (np.diff(labels[np.argsort(X[:, 0])]) >= 0).all()


def test_groups_are_far_better_than_records_in_their_order():
    X = np.random.default_rng(0).random((2000, 3))
    assert loss(X, kd_groups(X, 5, np.zeros(2, np.int64))) < 0.1 * loss(X, np.arange(2000) // 5)


def test_once_stopped_records_have_no_group():
    assert (kd_groups(np.zeros((10, 1)), 2, np.array([0, 1])) == -1).all()

"""Standardisation is exact, and harmless where there is nothing to scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.standardize import standardize


def test_zscores_have_mean_zero_and_variance_one():
    Z = standardize(np.random.default_rng(1).lognormal(size=(1000, 3)))
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose((Z**2).sum(axis=0), 1000)


def test_minmax_maps_the_range_to_zero_and_one():
    Z = standardize(np.array([[5.0], [-5], [0]]), "minmax")
    np.testing.assert_array_equal(Z, [[1], [0], [0.5]])


@pytest.mark.parametrize("how", ["zscore", "minmax"])
def test_a_constant_column_becomes_zero(how):
    X = np.column_stack([np.full(7, 0.1), np.arange(7)])
    assert (standardize(X, how)[:, 0] == 0).all()


@pytest.mark.parametrize("how", ["zscore", "minmax"])
@given(exponent=st.integers(-1000, 1000))
def test_the_unit_of_measurement_does_not_matter(how, exponent):
    X = np.array([[1.0, 4], [2, 5], [7, 9]])
    np.testing.assert_array_equal(standardize(np.ldexp(X, exponent), how), standardize(X, how))


def test_none_leaves_the_values_and_the_callers_matrix_alone():
    X = np.array([[1.0, 2], [3, 4]])
    np.testing.assert_array_equal(standardize(X, "none"), [[1, 2], [3, 4]])
    standardize(X)
    np.testing.assert_array_equal(X, [[1, 2], [3, 4]])

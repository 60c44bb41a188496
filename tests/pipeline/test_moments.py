"""Constants among the records that are published: their variance is zero, not what rounding makes of it."""

import numpy as np
import pyarrow as pa
import pytest
from tests.expect import refused

import shoal
from shoal.errors import DataError
from shoal.pipeline.moments import Extent, moments


@pytest.mark.parametrize("value", [3.3, 0.7, 100_000.1])
def test_a_column_that_is_constant_once_records_are_suppressed_can_be_masked(value):
    table = pa.table({"x": [0.0] + [value] * 7, "y": [None, *range(7)]})
    release = shoal.protect(table, k=3, quasi=["x", "y"], missing="suppress", restore_variance=True)
    assert release.table["x"].to_pylist() == [value] * 7
    assert release.loss()["attributes"]["x"]["IL"] is None


@pytest.mark.parametrize("seed", range(6))
def test_one_group_cannot_have_its_variance_restored(seed):
    x = np.random.default_rng(seed).normal(size=(5, 2))
    with refused(DataError, "variance-of-one-value", column="x"):
        shoal.protect(pa.table({"x": x[:, 0], "y": x[:, 1]}), k=5, restore_variance=True)


def test_pieces_of_a_constant_add_up_to_a_constant():
    extent = [Extent(0.0, 5.0)]
    pieces = [moments(np.full((n, 1), 3.3), extent, np.full(n, 0.3)) for n in (3, 0, 4)]
    assert (pieces[0] + pieces[1] + pieces[2]).scales()[0].spread == 0


def test_values_a_hair_apart_are_no_constant():
    column = np.array([3.3, 3.3, np.nextafter(3.3, 4)])[:, None]
    assert moments(column, [Extent(0.0, 5.0)]).scales()[0].spread > 0

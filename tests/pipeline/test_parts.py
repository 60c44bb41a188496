"""Strata that are equal, or are not, against appearances."""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

import shoal


def test_zeros_that_a_file_tells_apart_are_two_strata():
    stratum = np.r_[np.zeros(6), np.full(2, -0.0), np.ones(6)]
    table = pa.table({"x": np.arange(14.0) ** 2, "s": stratum})
    release = shoal.protect(table, k=3, quasi=["x"], strata=["s"], small_strata="suppress")
    assert (release.records, release.suppressed, len(release.table)) == (12, 2, 12)


def test_an_hour_that_comes_twice_is_two_strata():
    hours = [datetime(2020, 10, 25, 0, 30, tzinfo=UTC), datetime(2020, 10, 25, 1, 30, tzinfo=UTC)]
    stratum = pa.array([hours[i % 2] for i in range(12)], pa.timestamp("us", "Europe/Berlin"))
    release = shoal.protect(pa.table({"x": np.arange(12.0) ** 2, "s": stratum}), k=3, quasi=["x"], strata=["s"])
    assert release.risk()["strata"]["smallest"] >= 3


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e280])
@pytest.mark.parametrize("seed", range(4))
def test_small_strata_join_the_nearest_where_sums_are_large(seed, unit):
    rng = np.random.default_rng(seed)
    near, sizes = int(rng.integers(2)), rng.integers(600, 1500, 2)
    means = [2e9, 7e9]
    x = [rng.normal(mean, 1e6, size) for mean, size in zip(means, sizes, strict=True)]
    values = np.concatenate([*x, [means[near], means[near] + 1.0]]) * unit
    table = pa.table({"x": values, "s": ["a"] * sizes[0] + ["b"] * sizes[1] + ["c"] * 2})
    release = shoal.protect(table, k=3, quasi=["x"], strata=["s"], small_strata="merge", standardize="none")
    assert np.abs(release.table["x"].to_numpy()[-2:] / unit - means[near]).max() < 1e8

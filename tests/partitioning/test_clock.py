"""Seconds are shared so that their sum is kept, and a search that has too few says so."""

import numpy as np
import pyarrow as pa
import pytest
from tests.expect import reports
from tests.samples import loss

import shoal
from shoal.kernels.kd_groups import kd_groups
from shoal.partitioning import best as best_module
from shoal.partitioning import clock as clock_module
from shoal.partitioning import refinement
from shoal.partitioning.best import best
from shoal.partitioning.clock import Clock
from shoal.partitioning.refinement import refine
from shoal.plan import Effort


@pytest.fixture
def now(monkeypatch):
    time = [100.0]
    monkeypatch.setattr(clock_module, "monotonic", lambda: time[0])
    return time


def test_pieces_have_their_part_of_what_is_left(now):
    clock = Clock(10.0, 100, threads=1)
    now[0] += 50  # it starts with the first piece
    assert clock.take(20) == pytest.approx(2.0)
    now[0] += 6  # the first took longer: the others have less
    assert clock.take(40) == pytest.approx(2.0)
    now[0] += 1  # the second was quick: the last has all that is left
    assert clock.take(40) == pytest.approx(3.0)


def test_threads_work_at_the_same_time(now):
    clock = Clock(10.0, 100, threads=2)
    assert clock.take(25) == pytest.approx(5.0)
    assert clock.take(75) == pytest.approx(10.0)


def test_a_piece_begins_even_when_time_is_over(now):
    clock = Clock(1.0, 10, threads=1)
    assert clock.take(5) == pytest.approx(0.5)
    now[0] += 9
    assert 0 < clock.take(5) < 0.01


def test_without_time_for_mdav_groups_are_cells_and_the_release_says_so(monkeypatch):
    monkeypatch.setattr(best_module, "HOPELESS", np.inf)
    X = np.random.default_rng(0).normal(size=(60, 2))
    told = []
    labels = best(X, 3, effort=Effort(None, 5.0), hurried=lambda: told.append(1))
    assert told == [1]
    assert loss(X, labels) == pytest.approx(loss(X, kd_groups(X, 3, np.zeros(2, np.int64))))
    table = pa.table({"x": X[:, 0], "y": X[:, 1]})
    short = shoal.protect(table, k=3, method="best", budget="5s")
    assert reports(short.notes, "budget-too-short")
    steps = shoal.protect(table, k=3, method="best", budget=5000)
    assert not reports(steps.notes, "budget-too-short")


def test_without_time_for_all_neighbours_regions_find_their_own(monkeypatch):
    monkeypatch.setattr(refinement, "LISTED", 0.0)
    monkeypatch.setattr(refinement, "LOCAL", 100)
    X = np.random.default_rng(0).normal(size=(400, 2))
    start = kd_groups(X, 3, np.zeros(2, np.int64))
    found = refine(X, 3, start, seconds=0.5, searches=2)
    sizes = np.bincount(found.labels)
    assert 3 <= sizes.min() <= sizes.max() <= 5
    assert found.sse <= loss(X, start) * (1 + 1e-9)


@pytest.mark.parametrize("limits", [{"l": 3}, {"t": 0.3}, {"l": 2, "t": 0.4}])
def test_without_time_to_repair_groups_larger_cells_keep_l_and_t(monkeypatch, limits):
    monkeypatch.setattr(best_module, "MERGED", 0.0)
    monkeypatch.setattr(best_module, "REPAIRED_BY", 0.0)
    rng = np.random.default_rng(1)
    n = 240
    table = pa.table({"x": rng.normal(size=n), "y": rng.normal(size=n), "ill": rng.choice(["a", "b", "c", "d"], n)})
    options = {"k": 3, "quasi": ["x", "y"], "confidential": ["ill"], "method": "best"}
    short = shoal.protect(table, **options, **limits, budget="1s")
    assert reports(short.notes, "budget-too-short")
    assert short.loss()["IL"] < 100
    steps = shoal.protect(table, **options, **limits, budget=2000)
    assert not reports(steps.notes, "budget-too-short")

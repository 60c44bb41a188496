"""Kernels and searches stop when asked: told by what they leave undone, not by a clock."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.kernels.test_border import CALLS, Watch, fitting, run

from shoal.backends.file.blocks import _watched
from shoal.blocking.partition import _in_turn
from shoal.kernels import stop
from shoal.kernels.diversity import EncodedMatrix
from shoal.kernels.hilbert import hilbert_places
from shoal.kernels.mdav import mdav_generic, mdav_scan, mdav_tree
from shoal.kernels.standardize import standardize
from shoal.kernels.vmdav import vmdav_tree
from shoal.parallel import interruptible, quiet
from shoal.partitioning import neighbours, refinement
from shoal.partitioning.best import best
from shoal.partitioning.mdav import mdav
from shoal.partitioning.methods import order_of_rows, partition
from shoal.plan import Effort

WATCHED = [name for name in CALLS if any(isinstance(value, Watch) for value in CALLS[name]())]
X = np.random.default_rng(0).normal(size=(3000, 3))


def stopped() -> np.ndarray:
    return np.array([0, 1, 0])


def outcome(name: str, flag: int) -> list[object]:
    """Return all arrays and the value that a call leaves."""
    arguments = fitting(name)
    for value in arguments:
        if isinstance(value, Watch):
            value[1] = flag
    returned = run(name, arguments)
    left = [member for value in arguments for member in (value if isinstance(value, tuple) else [value])]
    arrays = [value.tolist() for value in left if isinstance(value, np.ndarray) and not isinstance(value, Watch)]
    return [repr(arrays), repr(returned)]


@pytest.mark.parametrize("name", WATCHED)
def test_a_kernel_that_is_stopped_at_once_leaves_its_work_undone(name):
    assert outcome(name, 1) != outcome(name, 0)


def test_searches_that_take_long_are_watched():
    for family in ("mdav", "vmdav", "cut", "link", "near", "join", "price", "synth", "shorten", "merge", "groups_ac"):
        assert any(name.startswith(family) for name in WATCHED), family


@pytest.mark.parametrize("method", ["mdav", "vmdav", "univariate", "pca", "zscores", "tour", "best"])
def test_a_partition_that_is_stopped_at_once_has_no_groups(method):
    rows = X[:, :1] if method == "univariate" else X
    assert (partition(rows, 3, method, watch=stopped()) == -1).all()


def test_refinement_that_is_stopped_while_neighbours_are_looked_for_keeps_the_groups(monkeypatch):
    watch, search = np.zeros(3, np.int64), neighbours.nearest_points

    def interrupted(*arguments):
        watch[1] = 1
        return search(*arguments)

    monkeypatch.setattr(neighbours, "nearest_points", interrupted)
    labels = mdav(X, 3)
    found = refinement.refine(X, 3, labels, steps=10**9, watch=watch)
    assert found.steps == 0
    assert found.labels.tolist() == labels.tolist()


def test_neighbours_not_looked_for_are_none():
    assert (neighbours.neighbours(X, 5, stopped()) == -1).all()


def test_best_that_is_stopped_in_its_tour_returns_the_groups_of_mdav(monkeypatch):
    from shoal.partitioning import tours

    watch = np.zeros(3, np.int64)

    def interrupted(points, flag, how):
        flag[1] = 1
        return np.arange(len(points))

    monkeypatch.setattr(tours, "short_cycle", interrupted)
    found = best(X, 3, effort=Effort(10**9, None), watch=watch)
    assert len(np.unique(np.c_[found, mdav(X, 3)], axis=0)) == len(np.unique(found))


def test_standardising_is_the_same_under_watch():
    assert standardize(X, "zscore", np.zeros(2, np.int64)).tolist() == standardize(X).tolist()


def test_an_interrupt_stops_a_kernel_that_no_one_watches():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    cells = np.random.default_rng(0).integers(0, 1024, (2000, 3))

    def work(progress):
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            hilbert_places(cells, 10)

    try:
        with pytest.raises(KeyboardInterrupt):
            interruptible(work, quiet)
    finally:
        signal.signal(signal.SIGINT, before)


def test_threads_that_no_run_listens_in_are_not_stopped():
    def asked(flag: int) -> int:
        stop.listen(np.array([0, flag]))
        with stop.stoppable() as watch:
            return int(watch[1])

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(asked, 0).result() == 0
        with pytest.raises(KeyboardInterrupt):
            pool.submit(asked, 1).result()
    with stop.stoppable() as watch:
        assert watch.tolist() == [0, 0]


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("values", [2, 10**9])
def test_the_order_of_rows_is_that_of_lexsort(d, values):
    rows = np.random.default_rng(0).integers(-values, values, (500, d)).astype(float)
    assert order_of_rows(rows).tolist() == np.lexsort(rows.T[::-1]).tolist()


def mixed(rows: np.ndarray, k: int, watch: np.ndarray) -> np.ndarray:
    """MDAV-generic, with a column of levels."""
    space = EncodedMatrix(rows, np.array([0, 0, 1]), np.ones(3), np.ones(3), np.array([0, 0, 5]))
    return mdav_generic(space, k, watch)


@pytest.mark.parametrize("search", [mdav_scan, mdav_tree, mixed, lambda *given: vmdav_tree(*given[:2], 0.2, given[2])])
def test_values_that_another_thread_changes_crash_nothing(search):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.random((4000, 2)), rng.integers(0, 5, 4000).astype(float)])
    with ThreadPoolExecutor(1) as pool:
        for value in (np.nan, np.inf, -7.0, 1e300, 5e-324, 1e9):
            running = pool.submit(search, rows.copy(), 3, np.zeros(2, np.int64))
            running.result()
            shared = rows.copy()
            running = pool.submit(search, shared, 3, np.zeros(2, np.int64))
            while not running.done():
                shared[rng.integers(0, 4000, 50)] = value
            assert running.exception() is None or isinstance(running.exception(), ValueError)


def test_blocks_in_turn_share_the_watch_and_end_with_the_block_in_which_it_is_set():
    seen = []

    def search(rows, k, *, watch):
        seen.append(len(rows))
        watch[:2] = 3, len(seen) == 2
        return np.zeros(len(rows), np.int64)

    watch = np.zeros(3, np.int64)
    found = _in_turn(X, 3, search, [np.arange(10), np.arange(10, 30), np.arange(30, 60)], watch=watch)
    assert seen == [10, 20]
    assert len(found) == 2
    assert watch[0] == 30


def test_a_block_of_a_file_whose_search_is_stopped_is_not_masked():
    def search(*, watch):
        watch[1] = 1
        return np.full(5, -1)

    with pytest.raises(KeyboardInterrupt):
        _watched(np.zeros(3, np.int64))([search], 5)


def test_no_limit_of_time_leaves_the_flag_as_it_is():
    watch = np.zeros(3, np.int64)
    with stop.until(np.inf, watch) as flag:
        assert flag is watch


def test_when_time_is_over_the_flag_is_set_and_that_of_the_caller_is_not():
    watch = np.array([0, 0, 0])
    with stop.until(0.0, watch) as flag:
        assert flag[1] == 1
        flag[0] = 7
    assert watch.tolist() == [7, 0, 0]


def test_a_stop_is_passed_on_long_before_time_is_over():
    watch = np.zeros(2, np.int64)
    with stop.until(stop.monotonic() + 10**6, watch) as flag:
        watch[1] = 1
        while flag[1] == 0:
            pass

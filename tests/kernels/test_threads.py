"""Kernels release the interpreter's lock, share nothing but what is read, report progress and stop when asked."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from bench.samples import distributed

from shoal.kernels.anneal import anneal
from shoal.kernels.mdav import mdav_scan, mdav_tree
from shoal.kernels.refine import grouped
from shoal.partitioning.neighbours import neighbours

pytestmark = pytest.mark.usefixtures("instruction_set")
X = distributed("clustered", 3000, 3)


def searched(seed: int, steps: int, watch: np.ndarray) -> list[int]:
    """The labels of MDAV after so many steps of annealing."""
    labels = mdav_tree(X, 4, np.zeros(2, np.int64))
    s = grouped(X, labels, 4, int(labels.max()) + 1)
    near = neighbours(X, 8).astype(np.int32)
    anneal(s, near, np.ones(len(X)), 0.1, steps, np.array([seed], np.uint64), watch)
    return s.label.tolist()


def test_four_threads_give_what_one_gives():
    seeds = [1, 2, 3, 4]
    alone = [searched(seed, 20_000, np.zeros(2, np.int64)) for seed in seeds]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda seed: searched(seed, 20_000, np.zeros(2, np.int64)), seeds)) == alone


def test_a_running_search_stops_when_the_flag_is_set():
    watch = np.zeros(2, np.int64)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(searched, 1, 10**15, watch)
        assert not running.done()
        watch[1] = 1
        assert len(running.result()) == len(X)


@pytest.mark.parametrize("search", [mdav_scan, mdav_tree])
def test_progress_grows_to_the_number_of_records(search):
    watch, seen = np.zeros(2, np.int64), [0]
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(search, X, 4, watch)
        while not running.done():
            seen.append(int(watch[0]))
    assert seen == sorted(seen)
    assert watch[0] == len(X)

"""Work side by side: results in order, progress on the way, and a stop when asked."""

import os
import signal
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.parallel import interruptible, quiet, side_by_side


def test_results_come_in_the_order_of_the_tasks():
    ended = threading.Event()

    def slow(*, watch):
        ended.wait(1)  # for the other; with one core only, that one has not begun
        watch[0] = 1
        return "slow"

    def fast(*, watch):
        watch[0] = 1
        ended.set()
        return "fast"

    reports = []
    results = side_by_side([slow, fast], 2, lambda step, done, total: reports.append((step, done, total)))
    assert results == ["slow", "fast"]
    assert reports[-1] == ("partition", 2, 2)


def test_an_interruption_stops_the_tasks():
    stopped = threading.Event()

    def task(*, watch):
        while not watch[1]:
            time.sleep(0.01)
        stopped.set()

    def interrupt(step, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        side_by_side([task], 1, interrupt)
    assert stopped.is_set()


def test_an_error_in_one_task_stops_the_others():
    def failing(*, watch):
        raise ValueError

    def waiting(*, watch):
        while not watch[1]:
            time.sleep(0.01)

    with pytest.raises(ValueError):
        side_by_side([waiting, failing], 1, lambda step, done, total: None)


@pytest.mark.parametrize("d", [1, 3])
def test_a_running_partition_gives_up_when_interrupted(d):
    rng = np.random.default_rng(0)
    table = pa.table({f"x{j}": rng.normal(size=200_000) for j in range(d)})

    def interrupt(step, done, total):
        if step == "partition" and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shoal.protect(table, k=3, progress=interrupt)


@pytest.fixture
def interrupts():
    """Interrupts as Python answers them, even if the tests were started in the background, where they are ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_meets_no_kernel_but_stops_work_at_its_next_progress(interrupts):
    cleaned = threading.Event()

    def work(progress):
        try:
            progress("partition", 0, 1)
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                progress("partition", 0, 1)
                time.sleep(0.01)
        finally:
            cleaned.set()

    with pytest.raises(KeyboardInterrupt):
        interruptible(work, quiet)
    assert cleaned.is_set()
    assert interruptible(lambda progress: 7, quiet) == 7

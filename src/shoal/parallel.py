"""Running pieces of work side by side, while the caller's thread shows progress and listens for Ctrl-C."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.stop import listen, raise_if_set

T = TypeVar("T")
Result = TypeVar("Result", covariant=True)
Watch = NDArray[np.int64]


class Task(Protocol[Result]):
    """A piece of work that can be followed and stopped from outside."""

    def __call__(self, *, watch: Watch) -> Result:
        """Do it, writing how much is done to ``watch[0]`` and giving up when ``watch[1]`` is set."""


# Called with the name of a step, how much of it is done and how much there is.
Progress = Callable[[str, int, int], None]


# The steps that progress names, in the words that people read.
STEPS = {
    "read": "reading",
    "scan": "scanning all records",
    "summary": "scanning all records",
    "measure": "measuring attributes",
    "divide": "dividing records into blocks",
    "cells": "dividing records into blocks",
    "sort": "sorting records by block",
    "cost": "measuring the loss of blocks",
    "partition": "forming groups",
    "bound": "computing the lower bound",
    "sweep": "trying every k",
    "verify": "verifying",
    "write": "writing and verifying the file",
    "report": "writing the report",
    "risk": "measuring the risk",
    "loss": "measuring the loss",
}


class _Quiet:
    """Progress that shows nothing; its name is what signatures print as a default."""

    def __call__(self, step: str, done: int, total: int) -> None:
        pass

    def __repr__(self) -> str:
        return "quiet"


quiet: Progress = _Quiet()


def interruptible(work: Callable[[Progress], T], progress: Progress) -> T:
    """Do work in a thread of its own, which an interrupt stops where it shows progress next, or in a kernel.

    Ctrl-C in the midst of a kernel, or of what loads one, can leave the interpreter in pieces; here it meets nothing
    but a thread that waits.
    """
    flag = np.zeros(2, np.int64)

    def ask_to_stop(number: int, frame: object) -> None:
        flag[1] = 1

    def watched(step: str, done: int, total: int) -> None:
        raise_if_set(flag)
        progress(step, done, total)

    with ThreadPoolExecutor(1, initializer=listen, initargs=(flag,)) as pool, _answered(ask_to_stop):
        future = pool.submit(work, watched)
        while not future.done():
            wait([future], timeout=0.1)  # Python answers signals between two waits
    if flag[1] != 0 and isinstance(future.exception(), Exception):
        raise KeyboardInterrupt  # a process of ours was interrupted too, and its end is no news
    return future.result()


@contextlib.contextmanager
def _answered(answer: Callable[[int, object], None]) -> Iterator[None]:
    """Answer signals that would raise KeyboardInterrupt; only the main thread gets any."""
    interrupting = []
    if threading.current_thread() is threading.main_thread():
        interrupting = [each for each in signal.valid_signals() if signal.getsignal(each) is signal.default_int_handler]
    try:
        for number in interrupting:
            signal.signal(number, answer)
        yield
    finally:
        for number in interrupting:
            signal.signal(number, signal.default_int_handler)


def side_by_side(tasks: Sequence[Task[T]], total: int, progress: Progress, *, keep: bool = False) -> list[T]:
    """Run all tasks on the machine's cores and return their results in the order of the tasks.

    An interrupt stops them all; with `keep`, what they return when they are stopped is returned. The kernels release
    Python's lock, so threads do run at once. `progress` is called ten times a second, in the caller's thread, with what
    is done in all.
    """
    watches = [np.zeros(3, dtype=np.int64) for _ in tasks]
    reached = 0  # what is done never seems to fall, although a task counts every piece of its work from 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = [pool.submit(task, watch=watch) for task, watch in zip(tasks, watches, strict=True)]
        try:
            waiting = set(futures)
            while waiting:
                done, waiting = wait(waiting, timeout=0.1, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                try:
                    reached = max(reached, int(sum(watch[0] for watch in watches)))
                    progress("partition", reached, total)
                    if len(watches) == 1 and watches[0][2] > 0:
                        progress("loss so far", int(watches[0][2]), 10**6)
                except KeyboardInterrupt:
                    if not keep:
                        raise
                    keep = False  # once; who interrupts again wants to stop
                    for watch in watches:
                        watch[1] = 1
        except BaseException:
            for watch, future in zip(watches, futures, strict=True):
                watch[1] = 1
                future.cancel()
            raise
    return [future.result() for future in futures]

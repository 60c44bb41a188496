"""Set partitioning: of many groups, those that cover every record once at the least cost, by HiGHS.

With x_T = 1 if group T is taken, minimize the sum of SSE(T) x_T such that the groups taken cover each record once. The
linear relaxation gives every record a dual value; see `columns`.

References
----------
Q. Huangfu and J. A. J. Hall, "Parallelizing the dual revised simplex method", Mathematical Programming Computation 10
(2018) 119-142 (HiGHS).
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import MissingExtra
from shoal.kernels.pricing import group_costs
from shoal.kernels.types import Floats, Integers


@dataclass(frozen=True)
class Groups:
    """Distinct groups: one a row of `members`, in the order of the records, that ends in -1; and their SSE."""

    members: Integers
    costs: Floats

    def __len__(self) -> int:
        return len(self.costs)

    def take(self, which: Any) -> "Groups":
        """Return some of the groups."""
        return Groups(self.members[which], self.costs[which])


def groups_of(X: Floats, k: int, labels: Integers) -> Groups:
    """Return the groups of one partition, those of k to 2k - 1 records."""
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    kept = order[(sizes[labels] >= k)[order] & (sizes[labels] < 2 * k)[order]]
    first = np.r_[True, labels[kept][1:] != labels[kept][:-1]] if len(kept) else np.zeros(0, bool)
    row = np.cumsum(first) - 1
    members = np.full((int(first.sum()), 2 * k - 1), -1, np.int64)
    members[row, np.arange(len(kept)) - np.flatnonzero(first)[row]] = kept
    return Groups(members, group_costs(X, members))


def joined(parts: list[Groups]) -> Groups:
    """Return the groups of several sets in one."""
    return Groups(np.concatenate([part.members for part in parts]), np.concatenate([part.costs for part in parts]))


def pooled(parts: list[Groups]) -> tuple[Groups, list[Integers]]:
    """Return all groups of several sets, each once, the first met first; and where in it those of each set are."""
    everything = joined(parts)
    _, first, same = np.unique(everything.members, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return everything.take(first[order]), np.split(rank[same], np.cumsum([len(part) for part in parts])[:-1])


@contextmanager
def stopping(seconds: float, watch: Integers | None) -> Iterator[Integers]:
    """Yield an array for kernels and HiGHS to poll: its second element is set when time is up, or when watch's is."""
    stop = np.zeros(2, np.int64) if watch is None else np.array([watch[0], watch[1]])
    over = threading.Event()
    end = time.monotonic() + seconds

    def look() -> None:
        while not over.wait(min(0.05, max(end - time.monotonic(), 0.0))):
            if time.monotonic() >= end or (watch is not None and watch[1] != 0):
                stop[1] = 1
                return

    if seconds <= 0:
        stop[1] = 1
    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield stop
    finally:
        over.set()
        thread.join()


def solver(stop: Integers, seconds: float | None = None) -> Any:
    """Return a silent HiGHS, which gives up after so many seconds or, if there is no limit, when ``stop[1]`` is set.

    Being asked whether to stop takes longer than a small model.
    """
    try:
        import highspy
    except ImportError:
        raise MissingExtra("recombining partitions or bounding their loss", "bounds") from None
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    # One thread: the course of several is not the same from run to run, and the other cores have searches of their own.
    highs.setOptionValue("threads", 1)
    if seconds is not None:
        highs.setOptionValue("time_limit", seconds)
        return highs

    def interrupt(event: Any) -> None:
        if stop[1] != 0:
            event.interrupt()

    highs.cbMipInterrupt += interrupt
    highs.cbSimplexInterrupt += interrupt
    return highs


class Cover:
    """The set-partitioning model of n records, to which groups are added as they are found."""

    def __init__(self, n: int, stop: Integers, seconds: float | None = None) -> None:
        self._highs = solver(stop, seconds)
        self._groups = 0
        none = np.zeros(0)
        self._highs.addRows(n, np.ones(n), np.ones(n), 0, np.zeros(n, np.int32), none.astype(np.int32), none)

    def add(self, groups: Groups) -> None:
        """Add groups: columns of the model."""
        listed = groups.members >= 0
        sizes = listed.sum(axis=1)
        number, total = len(groups), int(sizes.sum())
        start = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        index = groups.members[listed].astype(np.int32)
        upper = np.full(number, self._highs.getInfinity())
        self._highs.addCols(number, groups.costs, np.zeros(number), upper, total, start, index, np.ones(total))
        self._groups += number

    def relax(self) -> tuple[float, Floats] | None:
        """Solve the linear relaxation; return its value and the dual value of every record, or None if stopped."""
        self._highs.setOptionValue("simplex_strategy", 4)  # primal: what was optimal stays feasible as groups are added
        self._highs.setOptionValue("presolve", "off")  # as it would forget where the last solve had ended
        self._highs.run()
        if self._highs.modelStatusToString(self._highs.getModelStatus()) != "Optimal":
            return None
        return self._highs.getInfo().objective_function_value, np.array(self._highs.getSolution().row_dual)

    def solve(self, start: Integers) -> tuple[Integers, float]:
        """Choose groups, and bound the cost of any choice from below; `start` is returned if none are better."""
        import highspy

        integer = np.full(self._groups, highspy.HighsVarType.kInteger)
        self._highs.changeColsIntegrality(self._groups, np.arange(self._groups, dtype=np.int32), integer)
        self._highs.setOptionValue("mip_rel_gap", 0.0)
        self._highs.setOptionValue("mip_abs_gap", 0.0)
        self._highs.setSolution(len(start), start.astype(np.int32), np.ones(len(start)))
        self._highs.run()
        info = self._highs.getInfo()
        chosen = np.flatnonzero(np.array(self._highs.getSolution().col_value) > 0.5)
        return (chosen if len(chosen) else start), float(info.mip_dual_bound)

"""Partitions for several k of the same records: what one k has found serves the others."""

import hashlib
from collections.abc import Sequence

import numpy as np

from shoal.kernels.types import Floats, Integers
from shoal.partitioning.methods import Partitioner
from shoal.plan import Plan

_ONE_LINE = ("tour", "npn-mhm")  # whose line is the same for every k


class KnownPartitions:
    """The partitions of a run over several k; of a line that serves every k, all at once.

    They are told by the method, whether they are refined, k, and the values of the records: those of a stratum or
    record block that is the same for two k share a line.
    """

    def __init__(self, ks: Sequence[int]) -> None:
        self._ks = tuple(ks)
        self._found: dict[tuple[str, bool, bytes, int], Integers] = {}

    def partition(self, X: Floats, plan: Plan, search: Partitioner, watch: Integers) -> Integers:
        """Return the labels that `search` finds by the plan's method and k, or has found before."""
        records = hashlib.blake2b(np.ascontiguousarray(X).data, digest_size=16).digest()
        which = plan.method, plan.refine is not False, records
        known = self._found.get((*which, plan.k))
        if known is not None:
            return known
        if plan.method in _ONE_LINE and plan.refine is False:
            found = _of_one_line(X, [k for k in self._ks if k <= len(X)], plan, watch)
        else:
            found = {plan.k: search(X, plan.k, watch=watch)}
        if watch[1] == 0:
            self._found |= {(*which, k): labels for k, labels in found.items()}
        return found[plan.k]


def _of_one_line(X: Floats, ks: Sequence[int], plan: Plan, watch: Integers) -> dict[int, Integers]:
    """Cut one line for every k."""
    from shoal.partitioning.orderings import nearest_next_order
    from shoal.partitioning.tours import sweep_cuts

    if plan.method == "tour":
        return sweep_cuts(X, ks, watch=watch, how=plan.tour or "refined")
    return sweep_cuts(X, ks, nearest_next_order(X, watch), watch)

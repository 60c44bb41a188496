"""Certificates: how far from the optimum the groups of a table are at most."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix, exponent_of
from shoal.parallel import Progress, Watch, side_by_side
from shoal.pipeline.masker import BlockMasker
from shoal.plan import Effort

Labels = NDArray[np.int64]
T = TypeVar("T")

_BOUND_SECONDS = 60.0  # where no budget is given


class Certificate(NamedTuple):
    """How far from the optimum a partition is at most: its sum of squared errors, and a lower bound for that of any."""

    sse: float
    bound: float
    gap: float  # by how many percent the partition is above the optimum at most
    how: str

    def summary(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {"SSE": self.sse, "lower_bound": self.bound, "at_most_above_optimum": self.gap, "how": self.how}


def certified(
    masker: BlockMasker, rows: Matrix, found: Sequence[Labels], progress: Progress, *, keep: bool
) -> tuple[Certificate | None, list[str]]:
    """Bound the error of any such partition from below, home by home of every attribute block, where that is possible.

    Parameters
    ----------
    masker, rows
        All records, in one block.
    found
        Their groups, for every attribute block.
    progress
        Called with the step 'bound'.
    keep
        Whether an interrupt ends the search for the bound alone.
    """
    plan, space = masker.plan, masker.space(rows)
    from shoal.partitioning.certificate import Bound, lower_bound, squared_error

    pieces = [
        (space.columns(columns).values[home], np.unique(labels[home], return_inverse=True)[1])
        for columns, labels, homes in zip(masker.columns, found, masker.homes(rows), strict=True)
        for home in homes
    ]
    peak = max(exponent_of(values) for values, _ in pieces)
    pieces = [(np.ldexp(values, -peak), labels) for values, labels in pieces]
    total = sum(len(values) for values, _ in pieces)
    effort = Effort(None, _BOUND_SECONDS) if plan.effort == Effort() else plan.effort
    bounds: list[Bound] = []
    for values, _ in pieces:
        share = effort.of(len(values) / total)
        task = partial(_bounded, lower_bound, values, plan.k, share)
        try:
            bounds += side_by_side([task], 1, _only("bound", progress))
        except KeyboardInterrupt:
            if not keep:
                raise
            return None, ["no bound: the search for it was interrupted"]
    error = sum(squared_error(values, labels) for values, labels in pieces)
    proved = sum(bound.value for bound in bounds)
    if not 0 < proved <= error * (1 + 1e-6):
        if error > 0:
            return None, ["no bound could be proved in the budget; give it more time"]
        proved = error
    how = ", ".join(dict.fromkeys(bound.how for bound in bounds))
    gap = 0.0 if error <= proved else 100 * (error - proved) / proved
    with np.errstate(over="ignore", under="ignore"):
        proof = Certificate(float(np.ldexp(error, 2 * peak)), float(np.ldexp(min(proved, error), 2 * peak)), gap, how)
    weighted = " (of unweighted records)" if plan.weights is not None else ""
    return proof, [f"the partition{weighted} is at most {gap:.2f} % above the optimum, as proved by {how}"]


def _bounded(bound: Callable[..., T], values: Matrix, k: int, effort: Effort, *, watch: Watch) -> T:
    return bound(values, k, effort, watch)


def _only(step: str, progress: Progress) -> Progress:
    """Show a step under another name, without a share that it does not tell."""
    return lambda _, done, total: progress(step, 0, 1)

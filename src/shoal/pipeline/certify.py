"""Certificates: how far above the lowest possible loss a release is at most."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.standardize import Matrix
from shoal.messages import Message
from shoal.parallel import Progress, Watch, quiet, side_by_side
from shoal.partitioning.certificate import Bound, is_affordable, lower_bound, quick_bound, spread, weighted_bound
from shoal.pipeline.loss import Losses, Sums
from shoal.pipeline.loss_space import points
from shoal.pipeline.masker import BlockMasker
from shoal.plan import Effort

_BOUND_SECONDS = 60.0  # where no budget is given
_GATHERED = 10_000_000  # numbers that a backend whose records lie in pieces puts together for a bound
_ROUNDING = 1e-6  # by which the loss may seem to be below its bound


class Certificate(NamedTuple):
    """How far above the lowest possible loss a release is at most: its SSE, and a lower bound for that of any groups.

    There is no bound where the neighbours of all records would take too long to find; `how` says so.
    """

    sse: float
    bound: float | None
    gap: float | None  # by how many percent the SSE is above the lowest possible at most; None for any number
    how: str

    def summary(self) -> dict[str, Any]:
        """Return it as plain values, ready for JSON."""
        return {"SSE": self.sse, "lower_bound": self.bound, "at_most_above_optimum": self.gap, "how": self.how}


# What a plan may ask of groups beyond their size, in the words of its options; a bound is one of all groups, and holds.
_LIMITS = {"l": "l", "t": "t", "unit": "units", "edits": "rules"}


def bounded_groups(plan: Mapping[str, Any]) -> str:
    """Return of which groups a bound is one, after 'groups of at least k'."""
    within = " within the strata" if "strata" in plan else ""
    limits = [word for option, word in _LIMITS.items() if plan.get(option)]
    if not limits:
        return within
    *first, last = limits
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"{within}, with or without {listed},"


def is_bounded(masker: BlockMasker) -> bool:
    """Whether the loss comes from groups of at least k, each of which publishes one record."""
    plan = masker.plan
    groups = plan.epsilon is None and plan.method not in ("mic1d", "ms", "hybrid")
    return groups and bool(plan.masked) and not plan.keep_totals


def certified(
    masker: BlockMasker,
    rows: Matrix,
    losses: Losses,
    sums: Sums,
    *,
    progress: Progress = quiet,
    keep: bool = False,
) -> Certificate:
    """Bound the loss of any groups of at least k from below.

    Records of different strata share no group, and attribute blocks are grouped each by itself: their bounds add up.
    Those of record blocks do not, so that all records are bounded together. Limits on groups (l, t, units, rules) only
    raise the loss. The bound is quick, or as close as the budget allows where the plan asks for that.

    Parameters
    ----------
    masker, rows
        All records.
    losses, sums
        What was lost.
    progress
        Called with the steps 'bound' and 'bound so far', if the plan asks for it.
    keep
        Whether an interrupt ends the search for a closer bound alone.
    """
    error = float(losses.summary(sums)["SSE"])
    pieces = _pieces(masker, rows, losses, sums)
    weights = masker.weights(rows)
    if not masker.plan.bound and not all(is_affordable(each) for each, _ in pieces):
        return Certificate(error, None, None, Message("bound-not-asked-for"))
    quick = [_quick(each, home, masker.plan.k, weights) for each, home in pieces]
    bounds = quick
    if masker.plan.bound and weights is None:
        bounds = _closer(masker, [each for each, _ in pieces], quick, error, progress, keep)
    return _certificate(error, bounds)


@dataclass(frozen=True)
class Gathered:
    """Encoded rows, put together."""

    rows: tuple[Matrix, ...]

    @classmethod
    def of(cls, rows: Matrix) -> "Gathered":
        """Take some rows."""
        return cls((rows,))

    def __add__(self, other: "Gathered") -> "Gathered":
        return Gathered((*self.rows, *other.rows))


def certified_together(
    masker: BlockMasker, gather: Callable[[], Gathered] | None, losses: Losses, sums: Sums, memory: float = np.inf
) -> Certificate | None:
    """Bound the loss of records that lie in pieces, if they can be put together; `gather` is None if they cannot."""
    if not is_bounded(masker):
        return None
    numbers = masker.records * masker.width
    if gather is None or numbers > _GATHERED or 64 * numbers > memory:
        error = float(losses.summary(sums)["SSE"])
        return Certificate(error, None, None, Message("bound-needs-memory"))
    return certified(masker, np.concatenate(gather().rows), losses, sums)


def _pieces(masker: BlockMasker, rows: Matrix, losses: Losses, sums: Sums) -> list[tuple[Matrix, Any]]:
    """Return the points of each stratum of each attribute block, and which rows they are of.

    What rules keep apart is put together again: other groups could obey them too. So are households, and records that
    are not at risk, which others may join.
    """
    places = {each.name: j for j, each in enumerate(losses.attributes)}
    whole = [[np.arange(len(rows))]] * len(masker.columns)
    k, weighted = masker.plan.k, masker.plan.weights is not None
    found = []
    together = masker.edits is not None or masker.plan.only is not None or masker.plan.household is not None
    for block, homes in zip(masker.columns, whole if together else masker.homes(rows), strict=True):
        names = [masker.plan.used[j] for j in block]
        which = [places[name] for name in names if name in places]
        codes = np.empty((len(rows), len(losses.attributes)))
        codes[:, which] = rows[:, [j for j, name in zip(block, names, strict=True) if name in places]]
        space = points(losses, sums, codes, which, k, weighted=weighted)
        found += [(np.ascontiguousarray(space[home]), home) for home in homes]
    return found


def _quick(values: Matrix, home: Any, k: int, weights: Any) -> Bound:
    if weights is not None:
        return weighted_bound(values, k, weights[home])
    return quick_bound(values, k)


def _closer(
    masker: BlockMasker, pieces: Sequence[Matrix], quick: list[Bound], error: float, progress: Progress, keep: bool
) -> list[Bound]:
    """Raise quick bounds for as long as the plan allows; return the better ones of pieces done if interrupted."""
    plan = masker.plan
    effort = Effort(None, _BOUND_SECONDS) if plan.effort == Effort() else plan.effort
    total = sum(len(values) for values in pieces)
    bounds = list(quick)
    began = monotonic()
    for at, values in enumerate(pieces):
        task = partial(_bounded, lower_bound, values, plan.k, effort.of(len(values) / total))
        shown = _shown(progress, effort.seconds, began, bounds, at, spread(values), error)
        try:
            found = side_by_side([task], 1, shown)[0]
        except KeyboardInterrupt:
            if not keep:
                raise
            return bounds
        bounds[at] = max(bounds[at], found, key=lambda bound: bound.value)
    return bounds


def _shown(
    progress: Progress, seconds: float | None, began: float, bounds: list[Bound], at: int, total: float, error: float
) -> Progress:
    """Show the step 'bound' by the seconds that it may take, and what is proved so far as a share of what was lost.

    Of the piece under way, that is told in millionths of the SSE of all its records in one group.
    """
    others = sum(bound.value for place, bound in enumerate(bounds) if place != at)

    def show(step: str, done: int, parts: int) -> None:
        if step == "loss so far":
            proved = others + max(bounds[at].value, total * done / parts)
            if error > 0:
                progress("bound so far", round(1e6 * min(proved / error, 1.0)), 10**6)
        elif seconds is None:
            progress("bound", 0, 1)
        else:
            progress("bound", round(10 * min(monotonic() - began, seconds)), max(round(10 * seconds), 2))

    return show


def _certificate(error: float, bounds: Sequence[Bound]) -> Certificate:
    """Compare what was lost with what must be lost."""
    proved = sum(bound.value for bound in bounds)
    how = ", ".join(dict.fromkeys(bound.how for bound in bounds))
    if proved > error * (1 + _ROUNDING):
        return Certificate(error, None, None, Message("bound-not-proved"))
    proved = min(proved, error)
    gap = None if proved <= 0 < error else 0.0 if error <= 0 else 100 * (error - proved) / proved
    return Certificate(error, proved, gap, how)


def _bounded(bound: Callable[..., Bound], values: Matrix, k: int, effort: Effort, *, watch: Watch) -> Bound:
    return bound(values, k, effort, watch)

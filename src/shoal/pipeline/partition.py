"""Step 1 for records that may share groups: a partition by the plan's method, whatever is missing or sensitive."""

from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.aggregation import aggregate
from shoal.errors import DataError
from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, NO_WEIGHTS, EncodedMatrix
from shoal.kernels.l_diversity import FORMS, LDiversity
from shoal.kernels.nearest_average import nearest_average
from shoal.kernels.standardize import Matrix
from shoal.parallel import Watch
from shoal.partitioning.clock import Clock
from shoal.partitioning.diversity import NO_LIMITS, Limits, Units, diverse
from shoal.partitioning.known import KnownPartitions
from shoal.partitioning.methods import by_first_record, ignore, partitioner
from shoal.plan import Effort, Plan
from shoal.tables.attributes import Codes

Labels = NDArray[np.int64]

_AVERAGES: dict[int, Literal["mean", "median", "mode"]] = {
    MEAN: "mean",
    MEDIAN: "median",
    CONVEX_MEDIAN: "median",
    MODE: "mode",
}


def l_diversity_of(plan: Plan) -> LDiversity | None:
    """Return the l-diversity that a plan asks for."""
    if plan.l is None:
        return None
    usual = LDiversity(float(plan.l), FORMS.index(plan.l_form))
    return usual if plan.c is None else usual._replace(c=plan.c)


def grouped(
    space: EncodedMatrix,
    plan: Plan,
    limits: Limits,
    *,
    weights: Codes | None = None,
    share: float = 1.0,
    clock: Clock | None = None,
    known: KnownPartitions | None = None,
    watch: Watch,
) -> Labels:
    """Partition the records of one block in one stratum, with its share of the budget; `known` are earlier ones.

    A budget in seconds is shared by the `clock`. With survey weights, records count by them in the loss that a search
    lowers, as in the one that is reported.
    """
    if weights is not None and _searches(plan):
        space = _weighted(space, weights)
    filled = plan.missing == "impute" and bool(np.isnan(space.values).any())
    effort = plan.effort.of(share) if clock is None else Effort(None, clock.take(len(space.values)))
    hurried = ignore if clock is None else clock.hurry
    if limits.any and _searches(plan) and not filled:
        return _within_limits(space, plan, limits, effort, known, watch, hurried)
    labels = (_filled if filled else _partitioned)(space, plan, effort, known, watch, hurried, limits.units)
    if not limits.any or (labels < 0).any():
        return labels
    if watch[1] != 0:
        watch = np.zeros(3, np.int64)  # the search was ended early; its groups are made diverse all the same
    labels = diverse(space, plan.k, labels, *limits, watch=watch)
    return _with_complete_records(space, labels) if filled else labels


def _weighted(space: EncodedMatrix, weights: Codes) -> EncodedMatrix:
    """Return the weights by which records count; not if all weights are the same, so that nothing changes.

    They are divided by a power of two, as in `shoal.aggregation`: no sum overflows, and their digits stay.
    """
    if (weights == weights[0]).all():
        return space
    counts = np.ldexp(weights, 1 - np.frexp(weights.max())[1])
    return space._replace(weights=np.maximum(counts, np.finfo(float).tiny))


def _searches(plan: Plan) -> bool:
    """Whether groups are improved by a search."""
    return plan.method == "best" or plan.refine is not False


def _partitioned(
    space: EncodedMatrix,
    plan: Plan,
    effort: Effort,
    known: KnownPartitions | None,
    watch: Watch,
    hurried: Callable[[], None],
    units: Units | None = None,
) -> Labels:
    """Partition by the plan's method; where types or missing values ask for it, in its form for every type.

    MDAV gives groups enough units; those of other methods are merged until they have them.
    """
    if len(space.weights):
        return _within_limits(space, plan, NO_LIMITS, effort, known, watch, hurried)
    if units is not None and plan.method == "mdav" and not _searches(plan):
        from shoal.partitioning.units import mdav_units

        return mdav_units(space, units, watch)
    if space.plain:
        search = partitioner(
            plan.method,
            plan.gain,
            tour=plan.tour,
            effort=effort,
            refine=plan.refine is not False,
            seed=plan.seed,
            hurried=hurried,
        )
        if known is not None:
            return known.partition(space.values, plan, search, watch)
        return search(space.values, plan.k, watch=watch)
    if _searches(plan):
        from shoal.partitioning.best import best_mixed

        return best_mixed(space, plan.k, effort=effort, seed=plan.seed or 0, watch=watch, hurried=hurried)
    from shoal.partitioning.mdav import mdav_mixed

    return mdav_mixed(space, plan.k, watch)


def _within_limits(
    space: EncodedMatrix,
    plan: Plan,
    limits: Limits,
    effort: Effort,
    known: KnownPartitions | None,
    watch: Watch,
    hurried: Callable[[], None],
) -> Labels:
    """Search for groups within limits, or by weights, from those of the plan's method without a search."""
    from shoal.partitioning.best import best_within_limits, cells, within_time

    method = "mdav" if plan.method == "best" else plan.method
    begun, alike = monotonic(), space._replace(weights=NO_WEIGHTS)
    alone = plan.model_copy(update={"method": method, "refine": False})
    end = inf if effort.seconds is None else begun + effort.seconds

    def find(flag: Watch) -> Labels:
        return _partitioned(alike, alone, effort, known, flag, hurried, limits.units)

    start = within_time(end, len(space.values), find, lambda: cells(alike, plan.k), watch, hurried)
    if (start < 0).any():
        return start

    def search(own: Effort) -> Labels:
        return _partitioned(alike, plan, own, None, watch, hurried)

    if effort.seconds is not None:
        effort = Effort(None, max(end - monotonic(), 1e-3))
    return best_within_limits(
        space, plan.k, start, search, limits, effort=effort, seed=plan.seed or 0, watch=watch, hurried=hurried
    )


def _filled(
    space: EncodedMatrix,
    plan: Plan,
    effort: Effort,
    known: KnownPartitions | None,
    watch: Watch,
    hurried: Callable[[], None],
    units: Units | None = None,
) -> Labels:
    """Partition the records that miss nothing; each of the others joins the nearest group."""
    incomplete = np.asarray(np.isnan(space.values).any(axis=1))
    own = None if units is None else units.rows(np.flatnonzero(~incomplete))
    count = int((~incomplete).sum())
    if (enough := count if own is None else own.number) < plan.k:
        counts = "record" if own is None else "unit"
        raise DataError("too-few-complete", number=enough, counts=counts, k=plan.k, part=True)
    complete = space.rows(np.flatnonzero(~incomplete))
    labels = np.empty(len(incomplete), dtype=np.int64)
    labels[~incomplete] = _partitioned(complete, plan, effort, known, watch, hurried, own)
    averages = _averages(complete, labels[~incomplete])
    centre = _averages(complete, np.zeros(count, np.int64))[0]
    labels[incomplete] = nearest_average(space.values[incomplete], averages, centre, space.kinds, space.apart)
    return labels


def _with_complete_records(space: EncodedMatrix, labels: Labels) -> Labels:
    """Merge each group in which every record misses something with the nearest group to fill it from.

    Groups formed across a confidential attribute know nothing of gaps. Merged groups stay l-diverse and t-close.
    """
    lacking = np.bincount(labels, ~np.isnan(space.values).any(axis=1)) == 0
    if not lacking.any():
        return labels
    averages = _averages(space, labels)
    centre = _averages(space, np.zeros(len(labels), np.int64))[0]
    home = np.arange(len(lacking))
    nearest = nearest_average(averages[lacking], averages[~lacking], centre, space.kinds, space.apart)
    home[lacking] = np.flatnonzero(~lacking)[nearest]
    return by_first_record(home[labels])


def _averages(space: EncodedMatrix, labels: Labels) -> Matrix:
    """Return the average record of each group."""
    _, first = np.unique(labels, return_index=True)
    columns = [
        aggregate(space.values[:, j], labels, _AVERAGES[int(kind)], levels=int(space.levels[j]))[first]
        for j, kind in enumerate(space.kinds)
    ]
    return np.column_stack(columns)

"""Step 1 for records that may share groups: a partition by the plan's method, whatever is missing or sensitive."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.aggregation import aggregate
from shoal.errors import DataError
from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, EncodedMatrix
from shoal.kernels.l_diversity import FORMS, LDiversity
from shoal.kernels.nearest_average import nearest_average
from shoal.kernels.standardize import Matrix
from shoal.parallel import Watch
from shoal.partitioning.diversity import Secret, diverse
from shoal.partitioning.methods import Partitioner, partitioner
from shoal.plan import Plan

Labels = NDArray[np.int64]

_AVERAGES: dict[int, Literal["mean", "median", "mode"]] = {
    MEAN: "mean",
    MEDIAN: "median",
    CONVEX_MEDIAN: "median",
    MODE: "mode",
}


class Confidential(NamedTuple):
    """What groups must not give away: the confidential attributes, and how far they are to be protected."""

    secrets: list[Secret]
    l: LDiversity | None  # noqa: E741 - the literature's own name
    t: float | None
    whole: list[NDArray[np.int64]]  # how often each value of a secret occurs in the whole file


def l_diversity_of(plan: Plan) -> LDiversity | None:
    """Return the l-diversity that a plan asks for."""
    if plan.l is None:
        return None
    usual = LDiversity(float(plan.l), FORMS.index(plan.l_form))
    return usual if plan.c is None else usual._replace(c=plan.c)


def grouped(
    space: EncodedMatrix, plan: Plan, confidential: Confidential, *, share: float = 1.0, watch: Watch
) -> Labels:
    """Partition the records of one block in one stratum, with its share of the budget."""
    if plan.missing == "impute" and np.isnan(space.values).any():
        labels = _filled(space, plan, share, watch)
    else:
        labels = _search(space, plan, share, watch)
    if (confidential.l is None and confidential.t is None) or (labels < 0).any():
        return labels
    if watch[1] != 0:
        watch = np.zeros(3, np.int64)  # the search was ended early; its groups are made diverse all the same
    return diverse(space, plan.k, labels, *confidential, watch=watch)


def _search(space: EncodedMatrix, plan: Plan, share: float, watch: Watch) -> Labels:
    """Search by the plan's method; where types or missing values ask for it, by MDAV's mixed form."""
    if space.plain:
        return partitioner_of(plan, share)(space.values, plan.k, watch=watch)
    from shoal.partitioning.mdav import mdav_mixed

    return mdav_mixed(space, plan.k, watch)


def partitioner_of(plan: Plan, share: float = 1.0) -> Partitioner:
    """Load the method that a plan asks for, with its options and a share of its budget."""
    effort = plan.effort.of(share)
    return partitioner(plan.method, plan.gain, effort=effort, refine=plan.refine is not False, seed=plan.seed)


def _filled(space: EncodedMatrix, plan: Plan, share: float, watch: Watch) -> Labels:
    """Partition the records that miss nothing; each of the others joins the nearest group."""
    incomplete = np.asarray(np.isnan(space.values).any(axis=1))
    if (count := int((~incomplete).sum())) < plan.k:
        raise DataError(
            f"only {count} records miss nothing where k = {plan.k} are needed to fill the others from (in a stratum or "
            "record block, if there are several); leave out the attribute that is missing most, take larger blocks, or "
            "use missing = 'group'"
        )
    complete = space.rows(np.flatnonzero(~incomplete))
    labels = np.empty(len(incomplete), dtype=np.int64)
    labels[~incomplete] = _search(complete, plan, share, watch)
    averages = _averages(complete, labels[~incomplete])
    centre = _averages(complete, np.zeros(count, np.int64))[0]
    labels[incomplete] = nearest_average(space.values[incomplete], averages, centre, space.kinds, space.apart)
    return labels


def _averages(space: EncodedMatrix, labels: Labels) -> Matrix:
    """Give the average record of each group."""
    _, first = np.unique(labels, return_index=True)
    columns = [
        aggregate(space.values[:, j], labels, _AVERAGES[int(kind)], levels=int(space.levels[j]))[first]
        for j, kind in enumerate(space.kinds)
    ]
    return np.column_stack(columns)

"""Step 1 for a table: who shares a group, block by block, stratum by stratum, whatever is missing or confidential."""

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.aggregation import aggregate
from shoal.errors import DataError
from shoal.kernels.nearest import nearest_average
from shoal.partitioning import partitioner
from shoal.partitioning.diversity import Secret, diverse
from shoal.plan import Plan
from shoal.record_blocks import Blocking, described, divided, repaired
from shoal.scaling import Matrix
from shoal.space import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, Space
from shoal.work import Progress, Task, Watch, side_by_side

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
    l: int | None  # noqa: E741 - the literature's own name
    t: float | None
    whole: list[NDArray[np.int64]]  # how often each value of a secret occurs in the whole file


class Partitions(NamedTuple):
    """The group of each record, for every attribute block; and the record blocks, where there are any."""

    labels: list[Labels]
    blocking: Blocking | None


def partitions(
    space: Space,
    strata: Sequence[Sequence[NDArray[np.int64]]],
    plan: Plan,
    confidential: Confidential,
    progress: Progress,
) -> Partitions:
    """Partition every attribute block within each of its strata, large ones divided into record blocks."""
    parts = [space.columns([plan.masked.index(name) for name in block]) for block in plan.in_blocks]
    homes = [_homes(part, block, rows, plan) for part, block, rows in zip(parts, plan.in_blocks, strata, strict=True)]
    tasks: list[Task[Labels]] = []
    for part, home in zip(parts, homes, strict=True):
        tasks += [partial(grouped, part.rows(rows), plan, _of(confidential, rows)) for rows in split(home)]
    results = iter(side_by_side(tasks, len(space.values) * len(parts), progress))
    found = []
    for part, home, apart in zip(parts, homes, strata, strict=True):
        labels = np.empty(len(home), dtype=np.int64)
        groups = 0
        for rows in split(home):
            labels[rows] = next(results) + groups
            groups = int(labels[rows].max()) + 1
        found.append(_mended(part, labels, home, apart, plan, progress))
    extra = [int(home.max()) + 1 - len(apart) for home, apart in zip(homes, strata, strict=True)]
    if max(extra) == 0:
        return Partitions(found, None)
    most = extra.index(max(extra))
    return Partitions(found, described(parts[most], plan, homes[most], progress))


def _homes(space: Space, names: list[str], strata: Sequence[NDArray[np.int64]], plan: Plan) -> Labels:
    """Give what is partitioned on its own a number: each stratum, or each record block of a large one."""
    home = np.empty(len(space.values), dtype=np.int64)
    count = 0
    for rows in strata:
        blocks = divided(space.rows(rows), names, plan)
        home[rows] = count if blocks is None else count + blocks
        count = int(home[rows].max()) + 1
    return home


def _mended(
    space: Space,
    labels: Labels,
    home: Labels,
    strata: Sequence[NDArray[np.int64]],
    plan: Plan,
    progress: Progress,
) -> Labels:
    """Repair the seams of record blocks, within each stratum that has several."""
    mended = labels.copy()
    for rows in strata:
        if home[rows].min() < home[rows].max():
            first = int(labels[rows].min())  # the groups of a stratum are numbered one after the other
            own = repaired(space.rows(rows), plan, labels[rows] - first, home[rows], progress)
            mended[rows] = own + first
    return np.asarray(np.unique(mended, return_inverse=True)[1], dtype=np.int64)  # some groups may be gone


def split(home: Labels) -> list[NDArray[np.int64]]:
    """Give the records of each part, in their order."""
    order = np.argsort(home, kind="stable")
    return np.split(order, np.cumsum(np.bincount(home))[:-1])


def _of(confidential: Confidential, rows: NDArray[np.int64]) -> Confidential:
    secrets = [secret._replace(codes=secret.codes[rows]) for secret in confidential.secrets]
    return confidential._replace(secrets=secrets)


def grouped(space: Space, plan: Plan, confidential: Confidential, *, watch: Watch) -> Labels:
    """Partition the records of one block in one stratum."""
    if plan.missing == "impute" and np.isnan(space.values).any():
        labels = _filled(space, plan, watch)
    else:
        labels = _search(space, plan, watch)
    if confidential.l is None and confidential.t is None:
        return labels
    return diverse(space, plan.k, labels, *confidential, watch=watch)


def _search(space: Space, plan: Plan, watch: Watch) -> Labels:
    """Search by the plan's method; where types or missing values ask for it, by MDAV's mixed form."""
    if space.plain:
        return partitioner(plan.method, plan.gain)(space.values, plan.k, watch=watch)
    from shoal.partitioning.mixed import mdav_mixed

    return mdav_mixed(space, plan.k, watch)


def _filled(space: Space, plan: Plan, watch: Watch) -> Labels:
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
    labels[~incomplete] = _search(complete, plan, watch)
    averages = _averages(complete, labels[~incomplete])
    centre = _averages(complete, np.zeros(count, np.int64))[0]
    labels[incomplete] = nearest_average(space.values[incomplete], averages, centre, space.kinds, space.weights)
    return labels


def _averages(space: Space, labels: Labels) -> Matrix:
    """Give the average record of each group."""
    _, first = np.unique(labels, return_index=True)
    columns = [
        aggregate(space.values[:, j], labels, _AVERAGES[int(kind)], levels=int(space.levels[j]))[first]
        for j, kind in enumerate(space.kinds)
    ]
    return np.column_stack(columns)

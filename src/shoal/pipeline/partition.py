"""Step 1 for a table: who shares a group, block by block, stratum by stratum, whatever is missing or confidential."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.aggregation import aggregate
from shoal.blocking.record_blocks import Blocking, described, divided, repaired
from shoal.errors import DataError, MissingExtra, PlanError
from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, EncodedMatrix
from shoal.kernels.nearest_average import nearest_average
from shoal.kernels.standardize import Matrix, exponent_of
from shoal.parallel import Progress, Task, Watch, side_by_side
from shoal.partitioning.diversity import Secret, diverse
from shoal.partitioning.methods import Partitioner, partitioner
from shoal.plan import Plan

Labels = NDArray[np.int64]
T = TypeVar("T")

_BOUND_SECONDS = 60.0  # for a certificate, where no budget is given
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


class Certificate(NamedTuple):
    """How far from the optimum a partition is at most: its sum of squared errors, and a lower bound for that of any."""

    sse: float
    bound: float
    gap: float  # by how many percent the partition is above the optimum at most
    how: str

    def summary(self) -> dict[str, Any]:
        """Give it as plain values, ready for JSON."""
        return {"SSE": self.sse, "lower_bound": self.bound, "at_most_above_optimum": self.gap, "how": self.how}


class Partitions(NamedTuple):
    """The group of each record, for every attribute block; and the record blocks, where there are any."""

    labels: list[Labels]
    blocking: Blocking | None
    certificate: Certificate | None = None
    notes: tuple[str, ...] = ()


def partitions(
    space: EncodedMatrix,
    strata: Sequence[Sequence[NDArray[np.int64]]],
    plan: Plan,
    confidential: Confidential,
    progress: Progress,
    *,
    keep: bool = False,
) -> Partitions:
    """Partition every attribute block within each of its strata, large ones divided into record blocks.

    With `keep`, an interrupt ends the search, and the best groups so far are kept.
    """
    if keep and plan.method != "best" and plan.refine is False:
        raise PlanError([("on_interrupt", f"'keep' does not apply to method '{plan.method}'; it goes with 'best'")])
    if plan.bound and find_spec("highspy") is None:
        raise MissingExtra("bound", "bounds")
    parts = [space.columns([plan.masked.index(name) for name in block]) for block in plan.in_blocks]
    homes = [_homes(part, block, rows, plan) for part, block, rows in zip(parts, plan.in_blocks, strata, strict=True)]
    tasks: list[Task[Labels]] = []
    records = len(space.values) * len(parts)
    for part, home in zip(parts, homes, strict=True):
        tasks += [
            partial(grouped, part.rows(rows), plan, _of(confidential, rows), share=len(rows) / records)
            for rows in split(home)
        ]
    everything = side_by_side(tasks, records, progress, keep=keep)
    if any((labels < 0).any() for labels in everything):
        raise KeyboardInterrupt  # so early that there is nothing to keep
    results = iter(everything)
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
        proof, notes = _certified(parts, found, strata, plan, progress, keep) if plan.bound else (None, [])
        return Partitions(found, None, proof, tuple(notes))
    most = extra.index(max(extra))
    return Partitions(found, described(parts[most], plan, homes[most], progress))


def _certified(
    parts: Sequence[EncodedMatrix],
    found: Sequence[Labels],
    strata: Sequence[Sequence[NDArray[np.int64]]],
    plan: Plan,
    progress: Progress,
    keep: bool,
) -> tuple[Certificate | None, list[str]]:
    """Bound the error of any such partition from below, stratum by stratum of every block, and say if it cannot be."""
    if not all(part.plain for part in parts):
        return None, ["no bound: it is for numbers and dates without missing values"]
    from shoal.partitioning.certificate import Bound, lower_bound, squared_error

    pieces = [
        (part.values[rows], np.unique(labels[rows], return_inverse=True)[1])
        for part, labels, apart in zip(parts, found, strata, strict=True)
        for rows in apart
    ]
    peak = max(exponent_of(values) for values, _ in pieces)
    pieces = [(np.ldexp(values, -peak), labels) for values, labels in pieces]
    total = sum(len(values) for values, _ in pieces)
    seconds = _BOUND_SECONDS if plan.effort.seconds is None else plan.effort.seconds
    diverse_too = plan.l is not None or plan.t is not None  # then groups may be larger, and no start for the bound
    bounds: list[Bound] = []
    for values, labels in pieces:
        share = seconds * len(values) / total
        task = partial(_bounded, lower_bound, values, plan.k, share, None if diverse_too else labels)
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


def _bounded(
    bound: Callable[..., T], values: Matrix, k: int, seconds: float, labels: Labels | None, *, watch: Watch
) -> T:
    return bound(values, k, seconds, labels, watch)


def _only(step: str, progress: Progress) -> Progress:
    """Show a step under another name, without a share that it does not tell."""
    return lambda _, done, total: progress(step, 0, 1)


def _homes(space: EncodedMatrix, names: list[str], strata: Sequence[NDArray[np.int64]], plan: Plan) -> Labels:
    """Give what is partitioned on its own a number: each stratum, or each record block of a large one."""
    home = np.empty(len(space.values), dtype=np.int64)
    count = 0
    for rows in strata:
        blocks = divided(space.rows(rows), names, plan)
        home[rows] = count if blocks is None else count + blocks
        count = int(home[rows].max()) + 1
    return home


def _mended(
    space: EncodedMatrix,
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
    from shoal.partitioning.mixed import mdav_mixed

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
    labels[incomplete] = nearest_average(space.values[incomplete], averages, centre, space.kinds, space.weights)
    return labels


def _averages(space: EncodedMatrix, labels: Labels) -> Matrix:
    """Give the average record of each group."""
    _, first = np.unique(labels, return_index=True)
    columns = [
        aggregate(space.values[:, j], labels, _AVERAGES[int(kind)], levels=int(space.levels[j]))[first]
        for j, kind in enumerate(space.kinds)
    ]
    return np.column_stack(columns)

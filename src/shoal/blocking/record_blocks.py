"""Record blocks of a table in memory: when it is divided, how, and what that cost."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.blocking import (
    BlockCost,
    Gather,
    RecordBlocks,
    block_records,
    in_memory,
    kd_blocks,
    repair_seams,
    sampled_cost,
    two_d_tree,
)
from shoal.errors import PlanError
from shoal.kernels.encoded import MODE, EncodedMatrix
from shoal.kernels.standardize import Matrix
from shoal.parallel import Progress
from shoal.partitioning import partitioner
from shoal.plan import Plan, Scale

Labels = NDArray[np.int64]

# The search among other types than numbers takes time with the square of the records: 100,000 take some seconds.
MIXED_FROM = 200_000
MIXED_BLOCK = 100_000


@dataclass(frozen=True)
class Blocking:
    """What is worth knowing of record blocks: how many, how large, what they cost.

    `cost` is the loss with blocks against the loss without, measured on `sampled` records; None where it was not.
    """

    blocks: int
    smallest: int
    largest: int
    cost: float | None = None
    sampled: int = 0

    @classmethod
    def of(cls, sizes: NDArray[np.int64], cost: BlockCost | None = None) -> "Blocking":
        """Describe blocks of these sizes."""
        found = cls(len(sizes), int(sizes.min()), int(sizes.max()))
        return found if cost is None else replace(found, cost=cost.ratio, sampled=cost.records)

    def summary(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def most_records(space: EncodedMatrix, plan: Plan) -> int | None:
    """How many records a block may have; None if the table is not to be divided."""
    n, d = space.values.shape
    scale = plan.scale or Scale()
    if scale.block_size is not None:
        return scale.block_size
    most = None if scale.memory_bytes is None else block_records(scale.memory_bytes, d, n)
    if n > MIXED_FROM and not space.plain:
        return min(most or n, MIXED_BLOCK)
    return most


def divided(space: EncodedMatrix, names: list[str], plan: Plan) -> Labels | None:
    """Give the block of each record in a space of the attributes named; None if there is but one."""
    most = most_records(space, plan)
    if most is None or len(space.values) <= most:
        return None
    outline = outline_of(space, names, plan)
    found = record_blocks(in_memory(outline), outline.shape[1], plan, most)
    return found.assign(outline) if len(found.sizes) > 1 else None


def record_blocks(gather: Gather, dimensions: int, plan: Plan, most: int) -> RecordBlocks:
    """Divide records, wherever they are, by an outline of so many dimensions, as the plan's scale says."""
    if not dimensions:
        raise PlanError(
            [("scale", "cannot divide records by nominal attributes alone; add a number, a date or an ordinal one")]
        )
    divide = two_d_tree if plan.scale is not None and plan.scale.blocking == "2^d" else kd_blocks
    return divide(gather, plan.k, most)


def outline_of(space: EncodedMatrix, names: Sequence[str], plan: Plan) -> Matrix:
    """Give what blocks are made from: numbers and levels on one scale, a missing value in the middle.

    `names` are the attributes of the space.
    """
    across = None if plan.scale is None else plan.scale.dimensions
    chosen = [across is None or name in across for name in names]
    columns = np.flatnonzero((space.kinds != MODE) & chosen)
    return np.ascontiguousarray(np.nan_to_num(space.values[:, columns], nan=0.0))


def repaired(space: EncodedMatrix, plan: Plan, labels: Labels, blocks: Labels, progress: Progress) -> Labels:
    """Let records cross the borders of blocks, where the plan asks for it."""
    if plan.scale is None or not plan.scale.seams:
        return labels
    if not space.plain:
        raise PlanError([("scale.seams", "applies to numbers and dates only, on which a move can be weighed")])
    return repair_seams(space.values, plan.k, labels, blocks, progress)


def described(space: EncodedMatrix, plan: Plan, blocks: Labels, progress: Progress) -> Blocking:
    """Describe blocks, with what they cost where that can be measured: on numbers, by mdav."""
    sizes = np.bincount(blocks)
    if not space.plain or plan.method != "mdav":
        return Blocking.of(sizes)
    seams = plan.scale is not None and plan.scale.seams
    cost = sampled_cost(space.values, plan.k, partitioner("mdav"), blocks, seams, progress=progress)
    return Blocking.of(sizes, cost)

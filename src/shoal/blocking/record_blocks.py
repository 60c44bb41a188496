"""Record blocks of a table: how it is divided, and what is worth knowing of that."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.blocking import BlockCost, Gather, RecordBlocks, kd_blocks, two_d_tree
from shoal.errors import PlanError
from shoal.kernels.encoded import MODE, EncodedMatrix
from shoal.kernels.standardize import Matrix
from shoal.plan import Plan

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


def record_blocks(gather: Gather, dimensions: int, plan: Plan, most: int) -> RecordBlocks:
    """Divide records, wherever they are, by an outline of so many dimensions, as the plan's scale says."""
    if not dimensions:
        raise PlanError(
            [("scale", "cannot divide records by nominal attributes alone; add a number, a date or an ordinal one")]
        )
    divide = two_d_tree if plan.scale is not None and plan.scale.blocking == "2^d" else kd_blocks
    return divide(gather, plan.k or 1, most)


def outline_of(space: EncodedMatrix, names: Sequence[str], plan: Plan) -> Matrix:
    """Return what blocks are made from: numbers and levels on one scale, a missing value in the middle.

    `names` are the attributes of the space.
    """
    across = None if plan.scale is None else plan.scale.dimensions
    chosen = [across is None or name in across for name in names]
    columns = np.flatnonzero((space.kinds != MODE) & chosen)
    return np.ascontiguousarray(np.nan_to_num(space.values[:, columns], nan=0.0))

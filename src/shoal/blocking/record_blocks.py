"""Record blocks of a table: how it is divided, and what is worth knowing of that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from shoal.blocking import BlockCost, Gather, RecordBlocks, interval_blocks, kd_blocks, sorted_blocks, two_d_tree
from shoal.blocking.blocks import PartBlocks
from shoal.blocking.categories import Digits
from shoal.errors import PlanError
from shoal.kernels.encoded import MODE, EncodedMatrix
from shoal.kernels.standardize import Matrix
from shoal.plan import Plan

# The search among other types than numbers takes time with the square of the records: 100,000 take some seconds.
MIXED_FROM = 200_000
MIXED_BLOCK = 100_000

DIVIDE: dict[str, Callable[[Gather, int, int], RecordBlocks]] = {
    "kd": kd_blocks,
    "2^d": two_d_tree,
    "interval": interval_blocks,
    "sorted": sorted_blocks,
}


@dataclass(frozen=True)
class Blocking:
    """What is worth knowing of record blocks: how many have records, how large they are, what they cost.

    `fused` is how many had fewer than k records and were fused with another. `cost` is the loss with blocks against
    the loss without, measured on `sampled` records; None where it was not.
    """

    blocks: int
    smallest: int
    largest: int
    fused: int = 0
    cost: float | None = None
    sampled: int = 0

    @classmethod
    def of(cls, blocks: RecordBlocks | PartBlocks | None, cost: BlockCost | None = None) -> "Blocking | None":
        """Describe blocks; None if all records are in one."""
        if blocks is None or len(sizes := blocks.sizes) == 1:
            return None
        found = cls(len(sizes), int(sizes.min()), int(sizes.max()), blocks.fused)
        return found if cost is None else replace(found, cost=cost.ratio, sampled=cost.records)

    def summary(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def blocking_of(plan: Plan) -> str:
    """Return how a plan divides records."""
    return "kd" if plan.scale is None else plan.scale.blocking


def record_blocks(gather: Gather, dimensions: int, plan: Plan, most: int) -> RecordBlocks:
    """Divide records, wherever they are, by an outline of so many dimensions, as the plan's scale says."""
    if not dimensions:
        raise PlanError("blocking-needs-order", field="scale.blocking")
    return DIVIDE[blocking_of(plan)](gather, plan.k or 1, most)


def outline_of(space: EncodedMatrix, names: Sequence[str], plan: Plan, digits: Mapping[str, Digits]) -> Matrix:
    """Return what blocks are made from: numbers and levels on one scale, a missing value in the middle.

    `names` are the attributes of the space. Of nominal ones those take part that have `digits`, the last row of which
    is for missing values.
    """
    across = None if plan.scale is None else plan.scale.dimensions
    chosen = [across is None or name in across for name in names]
    columns = np.flatnonzero((space.kinds != MODE) & chosen)
    outline = np.nan_to_num(space.values[:, columns], nan=0.0)
    for j, name in enumerate(names):
        if name not in digits:
            continue
        codes = np.where(np.isnan(space.values[:, j]), space.levels[j], space.values[:, j]).astype(np.int64)
        outline = np.column_stack([outline, np.sqrt(space.apart[j]) * digits[name][codes]])
    return np.ascontiguousarray(outline)

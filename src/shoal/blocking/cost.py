"""What blocking cost: the loss with blocks against the loss without."""

from dataclasses import dataclass

import numpy as np

from shoal.blocking.cells import Integers
from shoal.blocking.partition import partition_blocks
from shoal.blocking.seams import repair_seams
from shoal.kernels.standardize import Matrix
from shoal.parallel import Progress, quiet
from shoal.partitioning.methods import Partitioner, group_errors


@dataclass(frozen=True)
class BlockCost:
    """The sum of squared errors of some records, partitioned in their blocks and without; `records` is how many."""

    records: int
    blocked: float
    whole: float

    @property
    def ratio(self) -> float:
        """How many times the loss without blocks."""
        return self.blocked / self.whole if self.whole > 0 else 1.0


def cost_of_blocks(
    X: Matrix, k: int, search: Partitioner, blocks: Integers, repair: bool = False, progress: Progress = quiet
) -> BlockCost:
    """Partition records twice, by block and as if there were none; seams are repaired if `repair` says so."""
    labels = partition_blocks(X, k, search, blocks, progress)
    if repair:
        labels = repair_seams(X, k, labels)
    whole = partition_blocks(X, k, search, np.zeros(len(X), np.int64), progress)
    return BlockCost(len(X), sse(X, labels), sse(X, whole))


def sse(X: Matrix, labels: Integers) -> float:
    """Return the sum of squared errors within groups."""
    return float(group_errors(X, labels).sum())

"""What record blocks cost: some regions of neighbouring blocks are partitioned with blocks and without."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.blocking import BlockCost, RecordBlocks, cost_of_blocks
from shoal.kernels.standardize import Matrix
from shoal.parallel import Progress
from shoal.partitioning.methods import partitioner
from shoal.pipeline.masker import BlockMasker, in_order

_REGIONS, _SAMPLE = 3, 200_000  # where blocking is tried with and without, and on how many records


def block_cost(read: Callable[[int], Matrix], masker: BlockMasker, progress: Progress) -> BlockCost | None:
    """Estimate what blocking cost; None if nothing can be said: it is measured on numbers without gaps, by mdav.

    Three regions of neighbouring blocks are partitioned with blocks and without. The borders between a region and the
    rest are borders in both, so that they hide part of the cost. Where strata or rules part the records, blocks that
    are near are no neighbours.

    Parameters
    ----------
    read
        Returns the rows of a block by its number.
    masker
        Of the records.
    progress
        Called with the step 'cost'.
    """
    plan, sizes, divided = masker.plan, masker.sizes, masker.blocks
    if len(sizes) == 1 or not isinstance(divided, RecordBlocks) or len(plan.in_blocks) > 1:
        return None
    if not masker.plain or plan.missing == "impute" or plan.method != "mdav":
        return None

    def show(step: str, done: int, total: int) -> None:
        progress("cost" if step == "partition" else step, done, total)

    seams = plan.scale is not None and plan.scale.seams
    search, centroids = partitioner("mdav"), divided.centroids
    records, blocked, whole = 0, 0.0, 0.0
    regions = 1 if sizes.sum() <= _SAMPLE // _REGIONS else _REGIONS  # one holds all records, which count once
    for start in np.unique(np.linspace(0, len(sizes) - 1, regions + 2)[1:-1].astype(np.int64)):
        near = np.argsort(((centroids - centroids[start]) ** 2).sum(axis=1), kind="stable")
        X, blocks = _region(read, masker, near, _SAMPLE // _REGIONS)
        found = cost_of_blocks(X, plan.k, search, blocks, seams, show)
        records, blocked, whole = records + found.records, blocked + found.blocked, whole + found.whole
    return BlockCost(records, blocked, whole)


def _region(
    read: Callable[[int], Matrix], masker: BlockMasker, near: NDArray[np.int64], most: int
) -> tuple[Matrix, NDArray[np.int64]]:
    """Read the nearest blocks, as many as fit and at least two; if two do not fit, they are thinned."""
    sizes = masker.sizes[near]
    chosen = near[: max(2, int(np.searchsorted(np.cumsum(sizes), most, side="right")))]
    step = -(-int(sizes[: len(chosen)].sum()) // most)
    pieces = []
    for block in chosen:
        rows = read(int(block))
        rows = rows[in_order(rows)]
        every = max(1, min(step, len(rows) // masker.plan.k))
        pieces.append(masker.space(np.ascontiguousarray(rows[::every])).values)
    lengths = [len(piece) for piece in pieces]
    return np.concatenate(pieces), np.repeat(np.arange(len(lengths)), lengths)

"""What record blocks cost: some regions of neighbouring blocks are partitioned with blocks and without."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shoal.blocking import BlockCost, sampled_cost
from shoal.blocking.blocks import PartBlocks
from shoal.kernels.standardize import Matrix
from shoal.parallel import Progress
from shoal.partitioning.methods import partitioner
from shoal.pipeline.masker import BlockMasker, in_order

_REGIONS, _SAMPLE = 3, 200_000  # where blocking is tried with and without, and on how many records


def block_cost(read: Callable[[int], Matrix], masker: BlockMasker, progress: Progress) -> BlockCost | None:
    """Estimate what blocking cost; None if nothing can be said: it is measured on numbers without gaps, by mdav.

    Blocks are numbered along a curve that fills the space, so that the next one is a neighbour; not so where strata or
    rules part the records.

    Parameters
    ----------
    read
        Returns the rows of a block by its number.
    masker
        Of the records.
    progress
        Called with the step 'cost'.
    """
    plan, sizes = masker.plan, masker.sizes
    parted = isinstance(masker.blocks, PartBlocks) or len(plan.in_blocks) > 1
    if len(sizes) == 1 or parted or not masker.plain or plan.missing == "impute" or plan.method != "mdav":
        return None

    def show(step: str, done: int, total: int) -> None:
        progress("cost" if step == "partition" else step, done, total)

    seams = plan.scale is not None and plan.scale.seams
    search = partitioner("mdav")
    records, blocked, whole = 0, 0.0, 0.0
    for first in np.unique(np.linspace(0, len(sizes) - 2, _REGIONS).astype(np.int64)):
        X, blocks = _region(read, masker, int(first), _SAMPLE // _REGIONS)
        found = sampled_cost(X, plan.k, search, blocks, seams, most=len(X), progress=show)
        records, blocked, whole = records + found.records, blocked + found.blocked, whole + found.whole
    return BlockCost(records, blocked, whole)


def _region(
    read: Callable[[int], Matrix], masker: BlockMasker, first: int, most: int
) -> tuple[Matrix, NDArray[np.int64]]:
    """Read a block and those after it, as many as fit and at least one; if two do not fit, they are thinned."""
    sizes = masker.sizes
    fit = int(np.searchsorted(np.cumsum(sizes[first:]), most, side="right"))
    chosen = range(first, min(first + max(2, fit), len(sizes)))
    step = -(-int(sizes[chosen.start : chosen.stop].sum()) // most)
    pieces = []
    for block in chosen:
        rows = read(block)
        rows = rows[in_order(rows)]
        every = max(1, min(step, len(rows) // masker.plan.k))
        pieces.append(masker.space(np.ascontiguousarray(rows[::every])).values)
    lengths = [len(piece) for piece in pieces]
    return np.concatenate(pieces), np.repeat(np.arange(len(lengths)), lengths)

"""Balanced k-d blocks: the default, as large as memory allows."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.blocking.blocks import RecordBlocks, united
from shoal.blocking.cells import Gather, Integers, contents, grow, refuse_small

_OFF_CENTRE = (3, 8)
_CELLS_A_BLOCK = 64  # a block's size is within a 64th of the half that was aimed at


def kd_blocks(gather: Gather, k: int, most: int, off_centre: bool = False) -> RecordBlocks:
    """Halve standardised records across their widest attribute until no block has more than `most`, nor fewer than k.

    As in a k-d tree [1]_ a block is divided at the median of the attribute in which its records vary most, so blocks
    are compact and of about the same size. An exact median would need the records of a block in order. Here the
    records are first counted in small cells, none with more than a 64th of a block, and a median is taken over the
    cells, each of which goes to one side as a whole, according to its centroid. The cells are known from a few passes
    that add integers, so the blocks are the same whether the records lie in memory, in a file or on a cluster. Equal
    records share a cell, and so a block.

    Where too many records lie in one place a block may stay larger: see `RecordBlocks.crowded`. With `off_centre`, cuts
    are at 3/8 of the records in place of the median: the borders lie elsewhere.

    References
    ----------
    .. [1] J. L. Bentley, "Multidimensional binary search trees used for associative searching", Communications of the
       ACM 18 (1975) 509-517.
    """
    refuse_small(k, most)
    most = max(most, 2 * k - 1)  # fewer cannot be halved
    tree = grow(gather, max(1, most // _CELLS_A_BLOCK), whole_levels=False)
    inside = gather(partial(contents, tree))
    centroids = inside.centroids(tree)
    block = np.empty(len(inside.counts), np.int64)
    pieces, formed, crowded = [np.arange(len(block))], 0, 0
    while pieces:
        cells = pieces.pop()
        records = int(inside.counts[cells].sum())
        # A 64th is kept free for what medians over whole cells are off, or a block just above `most` would be halved.
        parts = -(-records * _CELLS_A_BLOCK // (most * (_CELLS_A_BLOCK - 1)))
        aim = _OFF_CENTRE if off_centre else (parts // 2, parts)
        halves = _halves(inside.counts[cells], centroids[cells], k, aim) if records > most else None
        if halves is None:
            crowded += records > most
            block[cells] = formed
            formed += 1
        else:
            pieces += [cells[half] for half in halves]
    return united(tree, inside, block, crowded=crowded)


def _halves(
    counts: Integers, centroids: NDArray[np.float64], least: int, aim: tuple[int, int]
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Divide cells across their widest attribute, so that about a share of the records, `aim`, lies below.

    None if no cut leaves `least` records on both sides.
    """
    weights = counts / counts.sum()
    spread = weights @ (centroids - weights @ centroids) ** 2
    order = np.argsort(centroids[:, np.argmax(spread)], kind="stable")
    below = np.cumsum(counts[order])[:-1]
    possible = np.flatnonzero((below >= least) & (counts.sum() - below >= least))
    if len(possible) == 0:
        return None
    cut = possible[np.argmin(np.abs(aim[1] * below[possible] - aim[0] * counts.sum()))] + 1
    return order[:cut], order[cut:]

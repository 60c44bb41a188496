"""2^d-tree blocking, and univariate blocking beside it for comparison."""

from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from shoal.errors import PlanError
from shoal.kernels.scale_nearest import nearest_points
from shoal.scale.blocks import RecordBlocks, united
from shoal.scale.cells import CellTree, Contents, Gather, Integers, contents, grow
from shoal.scaling import Matrix


def two_d_tree(gather: Gather, k: int, L: int) -> RecordBlocks:
    """Divide records by a 2^d-tree [1]_ into blocks of at most L, and fuse those with fewer than k.

    The root is the box of all records. A node with more than L records has its range halved in each of the d attributes
    at a time; of the 2^d children only those that have records exist. Then every leaf with fewer than k records is
    fused with the leaf of the nearest centroid, all at once, and this is repeated until there is none: so blocks may
    have more than L records. The paper leaves ties open: here, among equally near centroids the one wins whose leaf has
    the lowest path from the root. Records that differ by less than a billionth of the range in every attribute are not
    divided; see `RecordBlocks.crowded`.

    The number of leaves grows quickly with d: a few attributes that tell records apart do better than all.

    Parameters
    ----------
    gather
        The records: the d attributes by which to divide, standardised.
    k
        The least number of records in a block.
    L
        The most records in a leaf.

    References
    ----------
    .. [1] J. Domingo-Ferrer, "Blocking methods for microdata protection", ESSnet-SDC deliverable, 2008; A. Solanas,
       A. Martínez-Ballesté, J. Domingo-Ferrer and J. M. Mateo-Sanz, "A 2^d-tree-based blocking method for
       microaggregating very large data sets", ARES 2006, 922-928.
    """
    if L < 2 * k:
        raise PlanError([("block_size", f"must be at least 2k = {2 * k}")])
    tree = grow(gather, L, whole_levels=True)
    inside = gather(partial(contents, tree))
    return united(tree, inside.counts, fuse(tree, inside, k), int((inside.counts > L).sum()))


def fuse(tree: CellTree, inside: Contents, k: int) -> Integers:
    """Fuse leaves with fewer than k records with the one of the nearest centroid until there is none.

    Return the block of each leaf. Every round leaves at most half as many small ones.
    """
    block = np.arange(len(inside.counts))
    while (inside.counts < k).any() and len(inside.counts) > 1:
        small = np.flatnonzero(inside.counts < k)
        nearest = _nearest_other(inside.centroids(tree), small)
        size = len(inside.counts)
        links = coo_array((np.ones(len(small)), (small, nearest)), shape=(size, size))
        count, together = connected_components(links, directed=False)
        counts, sums = np.zeros(count, np.int64), np.zeros((count, inside.sums.shape[1]), np.int64)
        np.add.at(counts, together, inside.counts)
        np.add.at(sums, together, inside.sums)
        inside, block = Contents(counts, sums), together[block]
    return block.astype(np.int64)


def _nearest_other(points: Matrix, asked: Integers) -> Integers:
    """Return the point nearest to each of those asked, which are points themselves; the lowest on ties."""
    near = nearest_points(points, points[asked], asked, 2, np.zeros(2, np.int64))
    other: Integers = np.where(near[:, 0] == asked, near[:, 1], near[:, 0])
    return other


def univariate_blocks(x: NDArray[np.float64], L: int) -> Integers:
    """Divide records, sorted by one attribute, into n / L blocks of equal count: plain blocking, for comparison.

    Records of equal value stand in the order of the rows.
    """
    blocks = np.empty(len(x), np.int64)
    parts = np.array_split(np.argsort(x, kind="stable"), max(1, len(x) // L))
    for number, part in enumerate(parts):
        blocks[part] = number
    return blocks

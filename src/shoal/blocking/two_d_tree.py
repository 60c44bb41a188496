"""2^d-tree blocking."""

from functools import partial

from shoal.blocking.blocks import RecordBlocks, united
from shoal.blocking.cells import Gather, contents, grow, refuse_small
from shoal.kernels.kd_nearest import fuse_small


def two_d_tree(gather: Gather, k: int, L: int) -> RecordBlocks:
    """Divide standardised records by a 2^d-tree [1]_ into blocks of at most L, and fuse those with fewer than k.

    The root is the box of all records. A node with more than L records has its range halved in each of the d attributes
    at a time; of the 2^d children only those that have records exist. Then every leaf with fewer than k records is
    fused with the one of the nearest centroid, so blocks may have more than L records. Records that differ by less than
    a billionth of the range in every attribute are not divided; see `RecordBlocks.crowded`.

    The paper does not say in which order leaves are fused, nor whether a fused leaf gets a new centroid. Here they are
    taken along their paths from the root (the first attribute's half first), a fused leaf keeps the centroid of the one
    that took it in, and on ties the first leaf wins: so all is found in one tree of centroids. Of fifteen orders tried
    on EIA it is the one nearest to the paper's results: up to 0.6 % below; others reach 3.4 % below and 9.7 % above.

    The number of leaves grows quickly with d: a few attributes that tell records apart do better than all.

    References
    ----------
    .. [1] J. Domingo-Ferrer, "Blocking methods for microdata protection", ESSnet-SDC deliverable, 2008; A. Solanas,
       A. Martínez-Ballesté, J. Domingo-Ferrer and J. M. Mateo-Sanz, "A 2^d-tree-based blocking method for
       microaggregating very large data sets", ARES 2006, 922-928.
    """
    refuse_small(k, L)
    tree = grow(gather, L, whole_levels=True)
    inside = gather(partial(contents, tree))
    fused = fuse_small(inside.centroids(tree), inside.counts, k)
    return united(tree, inside, fused, fusing=True, crowded=int((inside.counts > L).sum()))

"""Connected components of a graph, without loading a library of sparse matrices for them."""

import numpy as np

from shoal.kernels.types import Integers


def connected(n: int, one: Integers, other: Integers) -> Integers:
    """Return for each of n vertices the number of its component, by first vertex; edges join `one` and `other`.

    Every vertex points to the lowest one that is known to be in its component. In each round the trees at both ends of
    an edge are hooked onto the lower root, and all pointers are followed to their roots.
    """
    lowest = np.arange(n)
    while True:
        ends = lowest[one], lowest[other]
        if np.array_equal(*ends):
            return np.unique(lowest, return_inverse=True)[1]
        root = np.minimum(*ends)
        for end in ends:
            np.minimum.at(lowest, end, root)
        while not np.array_equal(following := lowest[lowest], lowest):
            lowest = following

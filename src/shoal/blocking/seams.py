"""Seam repair: after blocks were partitioned on their own, records may cross their borders."""

import numpy as np

from shoal.blocking.cells import Integers
from shoal.kernels.standardize import Matrix
from shoal.partitioning.methods import by_first_record
from shoal.partitioning.refinement import cooling_steps, refine

SEARCH = 20.0  # proposals a record: a quarter of them lowers the loss nearly as much, in nearly the same time


def repair_seams(X: Matrix, k: int, labels: Integers) -> Integers:
    """Let records cross the borders of blocks by one cooling of the search that refines partitions.

    Near the borders of a block, records have neighbours on the other side that they cannot join. And the last records
    that MDAV finds in a block, left over from everywhere, share a group although they are far apart. The search mends
    both: see `shoal.partitioning.refinement.refine`. The sum of squared errors never rises, no group leaves
    k .. 2k - 1, and the outcome depends on nothing but the arguments. Groups are
    numbered by their first records.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    found = refine(X, k, labels, steps=cooling_steps(len(X), k, SEARCH), first=SEARCH)
    return by_first_record(found.labels)

"""V-MDAV on the tree: groups that grow while their next record is much nearer to them than to the others."""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.types import Floats, Integers


def vmdav_tree(X: Floats, k: int, gain: float, watch: Integers) -> Integers:
    """Return the labels of V-MDAV; see `shoal.partitioning.vmdav`."""
    labels = np.empty(len(X), np.int64)
    _native.vmdav_tree(X, k, gain, watch, labels)
    return labels

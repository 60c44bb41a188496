"""The leaves of a k-d tree as groups: the partition that takes least time."""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.types import Floats, Integers


def kd_groups(X: Floats, k: int, watch: Integers) -> Integers:
    """Halve records across their widest attribute while there are 2k, and label them by what is left: k to 2k - 1 each.

    Once stopped, labels that are missing are -1. O(n d log n).
    """
    labels = np.full(len(X), -1)
    _native.kd_groups(X, k, watch, labels)
    return labels

"""Records that are published alike: labels of classes, numbered in the order of their first record."""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.types import Integers


def combine(a: Integers, b: Integers) -> tuple[Integers, int]:
    """Return the classes of records that are alike in both a and b, labels from 0, and how many classes there are."""
    labels = np.empty(len(a), np.int64)
    return labels, _native.combine(a, b, labels)


def first_and_size(labels: Integers, count: int) -> tuple[Integers, Integers]:
    """Return the first record of each class, and how many it has."""
    first, size = np.empty(count, np.int64), np.empty(count, np.int64)
    _native.first_and_size(labels, first, size)
    return first, size

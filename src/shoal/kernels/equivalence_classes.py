"""Records that are published alike: labels of classes, numbered in the order of their first record."""

import numpy as np
from numba import njit

from shoal.kernels.types import Integers

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: a multiplication spreads neighbouring keys


@njit(cache=True, nogil=True)
def combine(a: Integers, b: Integers) -> tuple[Integers, int]:
    """Return the classes of records that are alike in both a and b, labels from 0, and how many classes there are."""
    n = a.shape[0]
    width = 1
    for i in range(n):
        width = max(width, b[i] + 1)
    bits = 1
    while 1 << bits < 2 * n:
        bits += 1
    shift, last = np.uint64(64 - bits), (1 << bits) - 1
    keys = np.full(1 << bits, -1)
    label_of = np.empty(1 << bits, np.int64)
    labels = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        key = a[i] * width + b[i]  # below n^2: exact for any file that fits in memory
        at = np.int64((np.uint64(key) * _GOLDEN) >> shift)
        while keys[at] != key and keys[at] >= 0:
            at = (at + 1) & last
        if keys[at] < 0:
            keys[at] = key
            label_of[at] = count
            count += 1
        labels[i] = label_of[at]
    return labels, count


@njit(cache=True, nogil=True)
def first_and_size(labels: Integers, count: int) -> tuple[Integers, Integers]:
    """Return the first record of each class, and how many it has."""
    first = np.empty(count, np.int64)
    size = np.zeros(count, np.int64)
    for i in range(labels.shape[0]):
        if size[labels[i]] == 0:
            first[labels[i]] = i
        size[labels[i]] += 1
    return first, size

"""The optimal cut of a line of records into groups of k to 2k-1: the dynamic programme of Hansen and Mukherjee.

How costs are computed without cancellation is explained in ``cpp/optimal_cut.cpp``.
"""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.types import Floats, Integers


def cut_by_scan(line: Floats, k: int, watch: Integers) -> Integers:
    """Size of the last group in the best cut of the first i records, at place i - 1; any line. O(n k d).

    f(i) = min over m in k..2k-1 of f(i - m) + SSE(i - m .. i - 1); the smallest m wins ties.
    """
    sizes = np.empty(len(line), np.int64)
    _native.cut_by_scan(line, k, watch, sizes)
    return sizes


def cut_sorted(line: Floats, k: int, watch: Integers) -> Integers:
    """As `cut_by_scan`, for one attribute in sorted order: about O(n) for any k, O(n log k) at the very worst."""
    sizes = np.empty(len(line), np.int64)
    _native.cut_sorted(line, k, watch, sizes)
    return sizes


def number_groups(sizes: Integers, order: Integers) -> Integers:
    """Walk back over the last groups, and label the records, in record order, with groups counted along the line."""
    labels = np.empty(len(sizes), np.int64)
    _native.number_groups(sizes, order, labels)
    return labels


def cut_for_each(line: Floats, n: int, ks: Integers, openings: Integers, watch: Integers) -> Integers:
    """As `cut_by_scan`, for every k of a range at once, from the same group costs: a row of sizes for each. O(n k d).

    The line for the q-th k is the n records from ``openings[q]`` on.
    """
    sizes = np.empty((len(ks), n), np.int64)
    _native.cut_for_each(line, ks, openings, watch, sizes)
    return sizes


def closing_costs(line: Floats, n: int, ks: Integers, watch: Integers) -> Floats:
    """Cost of the best cut of a cycle of n records opened at s, for every k (a row each) and s = 0 .. 2k-2.

    `line` is the cycle with its first 2k - 2 records, of the largest k, once more at its end. A group's cost is the
    same however the cycle is opened, so that another opening takes one more addition a group, not d. Costs are plain
    sums here: to choose an opening, their last digits do not matter.
    """
    closing = np.empty((len(ks), 2 * int(ks.max()) - 1))
    _native.closing_costs(line, n, ks, watch, closing)
    return closing

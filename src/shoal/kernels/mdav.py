"""MDAV-generic, three searches for the same groups: a scan, a k-d tree, and a scan of attributes of every type; CBFS.

A scan measures eight records at once and finds, in one pass, the nearest records of a centre and the farthest one: the
quickest way while records are few, or their attributes many. The record farthest from the mean needs no scan
(`farthest_from_mean`), so that a group costs one pass. A tree finds the same groups in about n log n while the
attributes are few. Where values are missing, a missing one is as far from every value, so that distances have no
triangle inequality that a tree could use, and all is scanned.
"""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.types import Floats, Integers


def mdav_scan(X: Floats, k: int, watch: Integers) -> Integers:
    """Return the labels of MDAV-generic; see `shoal.partitioning.mdav`."""
    labels = np.empty(len(X), np.int64)
    _native.mdav_scan(X, k, watch, labels)
    return labels


def mdav_tree(X: Floats, k: int, watch: Integers) -> Integers:
    """Return the labels of MDAV-generic; see `shoal.partitioning.mdav`."""
    labels = np.empty(len(X), np.int64)
    _native.mdav_tree(X, k, watch, labels)
    return labels


def cbfs_tree(X: Floats, k: int, watch: Integers) -> Integers:
    """Return the labels of CBFS; see `shoal.partitioning.cbfs`. Fewer than k records are left with the label -1."""
    labels = np.empty(len(X), np.int64)
    _native.cbfs_tree(X, k, watch, labels)
    return labels


def mdav_generic(space: EncodedMatrix, k: int, watch: Integers) -> Integers:
    """Return the labels of MDAV-generic; see `shoal.partitioning.mdav`. No squared distance may overflow."""
    labels = np.empty(len(space.values), np.int64)
    _native.mdav_generic(space, k, watch, labels)
    return labels


def mdav_units_tree(X: Floats, k: int, unit: Integers, watch: Integers) -> Integers:
    """Return the labels of `shoal.partitioning.units.mdav_units`; -1 for records of fewer than k units, at the end."""
    labels = np.empty(len(X), np.int64)
    _native.mdav_units_tree(X, k, unit, watch, labels)
    return labels


def mdav_units_generic(space: EncodedMatrix, k: int, unit: Integers, watch: Integers) -> Integers:
    """Return the same for attributes of every type. No squared distance may overflow."""
    labels = np.empty(len(space.values), np.int64)
    _native.mdav_units_generic(space, k, unit, watch, labels)
    return labels

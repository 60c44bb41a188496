"""Seam repair: after blocks were partitioned on their own, records may cross their borders."""

import os
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.blocking.cells import Integers
from shoal.kernels.kd_nearest import nearest_points
from shoal.kernels.seam_moves import dissolve, improve_pairs
from shoal.kernels.standardize import Matrix
from shoal.parallel import Progress, Task, quiet, side_by_side

# With these, blocks of 2,000 records end at 0.87 to 0.98 times the SSE of MDAV on the whole (2,000,000 records, k = 3,
# d = 2 and 5, uniform and clustered: bench/scale.py). Without dissolving, clustered data of 2 attributes stay at 1.07.
NEIGHBOURS = 16
SWEEPS = 3


@dataclass(frozen=True)
class _Groups:
    """Groups that can change: members and size of each (room for 2k - 1), and its centroid."""

    members: Integers
    size: Integers
    centroids: NDArray[np.float64]


def repair_seams(X: Matrix, k: int, labels: Integers, blocks: Integers, progress: Progress = quiet) -> Integers:
    """Move records between groups near the borders of blocks, wherever that lowers the sum of squared errors.

    Two things go wrong in a block that is partitioned on its own. Near its borders, records have neighbours on the
    other side that they cannot join. And the last records that MDAV finds in it, left over from everywhere, share a
    group although they are far apart. So

    1. groups with more than twice the mean error are dissolved if their members, each joining the best of the nearest
       groups, cost less there;
    2. groups that have a group of another block among their 16 nearest swap records with these 16, or move one to them,
       for as long as that lowers the sum of squared errors; several times over.

    Every step lowers the sum, and no group leaves k .. 2k - 1. Steps are taken one after the other in the order of the
    labels: the outcome depends on nothing but the arguments. The time is that of finding neighbours, n log n.
    Labels come back numbered from 0 in the order of the old ones.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    groups = _gathered(X, k, labels)
    home = blocks[groups.members[:, 0]]
    _dissolve_worst(X, groups, progress)
    left = np.flatnonzero(groups.size)
    near = left[_nearest(groups.centroids[left], groups.centroids[left], np.arange(len(left)), progress)]
    at_seam = (home[near] != home[left, None]).any(axis=1)
    for _ in range(SWEEPS):
        improve_pairs(X, groups.members, groups.size, groups.centroids, k, left[at_seam], near[at_seam])
    return _labels(groups, len(X))


def _gathered(X: Matrix, k: int, labels: Integers) -> _Groups:
    size = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    starts = np.cumsum(size) - size
    members = np.full((len(size), 2 * k - 1), -1)
    members[labels[order], np.arange(len(X)) - np.repeat(starts, size)] = order
    return _Groups(members, size, np.add.reduceat(X[order], starts, axis=0) / size[:, None])


def _labels(groups: _Groups, n: int) -> Integers:
    number = np.cumsum(groups.size > 0) - 1
    labels = np.empty(n, np.int64)
    for p in range(groups.members.shape[1]):
        there = groups.size > p
        labels[groups.members[there, p]] = number[there]
    return labels


def _dissolve_worst(X: Matrix, groups: _Groups, progress: Progress) -> None:
    labels = _labels(groups, len(X))
    errors = np.bincount(labels, ((X - groups.centroids[labels]) ** 2).sum(axis=1))
    worst = np.flatnonzero(errors > 2 * errors.mean())
    worst = worst[np.argsort(-errors[worst], kind="stable")]
    asked = groups.members[worst].ravel()
    there = asked >= 0
    near = np.full((len(asked), NEIGHBOURS), -1)
    near[there] = _nearest(groups.centroids, X[asked[there]], labels[asked[there]], progress)
    dissolve(X, groups.members, groups.size, groups.centroids, worst, near)


def _nearest(points: Matrix, asked: Matrix, begin: Integers, progress: Progress) -> Integers:
    """Find the points nearest to each row asked, on all cores."""
    parts = np.array_split(np.arange(len(asked)), os.cpu_count() or 1)
    m = min(NEIGHBOURS, len(points))
    tasks: list[Task[Integers]] = [partial(nearest_points, points, asked[part], begin[part], m) for part in parts]
    near = np.concatenate(side_by_side(tasks, len(asked), progress))
    return np.pad(near, ((0, 0), (0, NEIGHBOURS - m)), constant_values=-1)

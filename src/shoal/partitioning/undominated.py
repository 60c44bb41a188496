"""Groups that a contributor dominates are re-formed: merged with others, and made smaller again by moving records."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from shoal.kernels.encoded import MODE, EncodedMatrix
from shoal.kernels.types import Floats, Integers
from shoal.partitioning.dominance import SLACK, Magnitudes, Rules, margins
from shoal.partitioning.mdav import space_within_range
from shoal.partitioning.methods import by_first_record

_PARTNERS = 12  # of the nearest groups are tried for one that fails
_TARGETS = 8  # of the nearest groups are tried for a record
_ROUNDS = 100  # of moves, at most
_SAME = 8  # rounds in which the same groups are the nearest of a record
_CHUNK = 1 << 22  # distances that are computed at a time


def undominated(
    space: EncodedMatrix, k: int, labels: Integers, magnitudes: Magnitudes, rules: Rules, *, move: bool = True
) -> Integers:
    """Re-form the groups that break a rule, so that none does.

    Two groups that satisfy the rules satisfy them together: the largest contributions to both are at most the largest
    to the one and to the other. So one group of all records satisfies them if any partition does, and merging ends.

    The worst group first, each is merged with one of its nearest: with the one that raises the sum of squared errors
    least among those with which it satisfies the rules, or else with the one that leaves it nearest to them. Then
    records of groups with more than k move to groups whose centroid is nearer, where that lowers the sum of squared
    errors, both groups satisfy the rules and k contributors are left: in spaces of numbers, with `move`, which other
    promises of groups may forbid.

    Tarragona, k = 3, MDAV, p = 10 %, four magnitudes: IL 16.9 % before, 19.8 % merged, 16.1 % after moves.
    """
    labels, space = by_first_record(labels), space_within_range(space)
    failed = False
    while (worst := margins(labels, magnitudes, rules).min(axis=1)).min() < -SLACK and len(worst) > 1:
        labels, failed = _merged(space, labels, magnitudes, rules, worst), True
    return _moved(space.values, k, labels, magnitudes, rules) if move and failed and space.plain else labels


def _merged(space: EncodedMatrix, labels: Integers, magnitudes: Magnitudes, rules: Rules, worst: Floats) -> Integers:
    """Merge every group that fails with another, if there is one left that no other was merged with."""
    sizes, failing = np.bincount(labels), np.flatnonzero(worst < -SLACK)
    failing = failing[np.argsort(worst[failing], kind="stable")]
    distances, near = _nearest(space, labels, failing, min(_PARTNERS, len(worst) - 1))
    cost = distances * sizes[failing, None] * sizes[near] / (sizes[failing, None] + sizes[near])
    after = _after(labels, np.repeat(failing, near.shape[1]), near.ravel(), magnitudes, rules).reshape(near.shape)
    preferred = np.lexsort((cost, np.where(after >= -SLACK, 0.0, -after)), axis=1)
    home, free = np.arange(len(worst)), np.ones(len(worst), np.bool_)
    for i, group in enumerate(failing):
        partners = near[i, preferred[i]]
        if free[group] and (open_ := partners[free[partners]]).size:
            home[open_[0]] = group
            free[[group, open_[0]]] = False
    return by_first_record(home[labels])


def _after(labels: Integers, one: Integers, two: Integers, magnitudes: Magnitudes, rules: Rules) -> Floats:
    """Return the margins of pairs of groups once merged."""
    rows, pair = _members(labels, np.column_stack([one, two]).ravel())
    return np.asarray(margins(pair // 2, magnitudes.rows(rows), rules).min(axis=1))


def _members(labels: Integers, groups: Integers) -> tuple[Integers, Integers]:
    """Return the records of some groups one after the other, and which of the groups each is of."""
    order = np.argsort(labels, kind="stable")
    start = np.searchsorted(labels[order], np.arange(int(labels.max()) + 2))
    sizes = start[groups + 1] - start[groups]
    ends = np.cumsum(sizes)
    places = np.arange(ends[-1]) - np.repeat(ends - sizes, sizes) + np.repeat(start[groups], sizes)
    return order[places], np.repeat(np.arange(len(groups)), sizes)


def _nearest(space: EncodedMatrix, labels: Integers, groups: Integers, count: int) -> tuple[Floats, Integers]:
    """Return the groups whose centroids are nearest to those of some, with squared distances."""
    centroids = _centroids(space, labels)
    if space.plain:
        distances, near = cKDTree(centroids).query(centroids[groups], count + 1)
        distances = distances**2
    else:
        distances, near = _nearest_of_any_type(space, centroids, groups, count + 1)
    own = near == groups[:, None]
    own[~own.any(axis=1), -1] = True  # it is among many in one place
    return distances[~own].reshape(-1, count), near[~own].reshape(-1, count)


def _nearest_of_any_type(
    space: EncodedMatrix, centroids: Floats, groups: Integers, count: int
) -> tuple[Floats, Integers]:
    found, near = np.empty((len(groups), count)), np.empty((len(groups), count), np.int64)
    step = max(1, _CHUNK // len(centroids))
    for start in range(0, len(groups), step):
        some = groups[start : start + step]
        distances = np.zeros((len(some), len(centroids)))
        for j, column in enumerate(centroids.T):
            apart = column[some, None] - column
            missing = np.isnan(column[some, None]) != np.isnan(column)
            numbers = np.where(apart != 0, space.apart[j], 0.0) if space.kinds[j] == MODE else apart**2
            distances += np.where(missing, space.apart[j], np.nan_to_num(numbers, nan=0.0))
        near[start : start + step] = np.argsort(distances, axis=1, kind="stable")[:, :count]
        found[start : start + step] = np.take_along_axis(distances, near[start : start + step], axis=1)
    return found, near


def _centroids(space: EncodedMatrix, labels: Integers) -> Floats:
    """Return the mean of numbers and levels, and the mode of categories, of the values that a group has."""
    groups = int(labels.max()) + 1
    found = np.full((groups, space.values.shape[1]), np.nan)
    for j, column in enumerate(space.values.T):
        there = ~np.isnan(column)
        if space.kinds[j] != MODE:
            known = np.bincount(labels[there], minlength=groups)
            total = np.bincount(labels[there], column[there], minlength=groups)
            np.divide(total, known, out=found[:, j], where=known > 0)
            continue
        pairs, count = np.unique(np.column_stack([labels[there], column[there]]), axis=0, return_counts=True)
        order = np.lexsort((-pairs[:, 1], count))  # the last one written is the most frequent, the lowest of several
        found[pairs[order, 0].astype(np.int64), j] = pairs[order, 1]
    return found


def _moved(X: Floats, k: int, labels: Integers, magnitudes: Magnitudes, rules: Rules) -> Integers:
    """Move records to nearer groups, round by round; in one round a group loses or gains one record at most.

    A move that would break a rule is not tried again.
    """
    labels, broken = labels.copy(), np.empty(0, np.int64)
    records = near = np.empty(0, np.int64)
    for turn in range(_ROUNDS):
        sizes = np.bincount(labels)
        centroids = np.column_stack([np.bincount(labels, column) / sizes for column in X.T])
        if turn % _SAME == 0:
            records = np.flatnonzero(sizes[labels] > k)
            near = cKDTree(centroids).query(X[records], min(_TARGETS, len(sizes)))[1].reshape(len(records), -1)
        record, target, gain = _gains(X, k, labels, centroids, sizes, records, near)
        allowed = ~np.isin(record * len(sizes) + target, broken)
        record, target, gain = record[allowed], target[allowed], gain[allowed]
        chosen = _apart(labels[record], target, np.argsort(-gain, kind="stable"), len(sizes))
        if not len(chosen):
            if turn % _SAME == 0:
                break
            continue
        record, target = record[chosen], target[chosen]
        fine = _stay_fine(k, labels, record, target, magnitudes, rules)
        labels[record[fine]] = target[fine]
        broken = np.append(broken, record[~fine] * len(sizes) + target[~fine])
    return by_first_record(labels)


def _gains(
    X: Floats, k: int, labels: Integers, centroids: Floats, sizes: Integers, records: Integers, near: Integers
) -> tuple[Integers, Integers, Floats]:
    """Return the moves that lower the sum of squared errors, and by how much."""
    spare = sizes[labels[records]] > k
    records, near = records[spare], near[spare]
    own = labels[records]
    away = ((X[records] - centroids[own]) ** 2).sum(axis=1) * sizes[own] / (sizes[own] - 1)
    distances = ((X[records, None] - centroids[near]) ** 2).sum(axis=2)
    gain = away[:, None] - distances * sizes[near] / (sizes[near] + 1)
    i, j = np.nonzero((gain > 1e-12 * away[:, None]) & (near != own[:, None]))
    return records[i], near[i, j], gain[i, j]


def _apart(one: Integers, two: Integers, order: Integers, groups: int) -> Integers:
    """Choose moves in an order, of which no two touch the same group."""
    free, chosen = np.ones(groups, np.bool_), []
    for i in order:
        if free[one[i]] and free[two[i]]:
            free[one[i]] = free[two[i]] = False
            chosen.append(i)
    return np.array(chosen, np.int64)


def _stay_fine(
    k: int, labels: Integers, record: Integers, target: Integers, magnitudes: Magnitudes, rules: Rules
) -> NDArray[np.bool_]:
    """Return which moves leave two groups that satisfy the rules, of k contributors or more."""
    rows, group = _members(labels, np.column_stack([labels[record], target]).ravel())
    leaves = rows == record[group // 2]
    group = group + (leaves & (group % 2 == 0))
    fine = margins(group, magnitudes.rows(rows), rules).min(axis=1) >= -SLACK
    if magnitudes.contributors is not None:
        pairs = np.unique(np.column_stack([group, magnitudes.contributors[rows]]), axis=0)
        fine &= np.bincount(pairs[:, 0]) >= k
    return np.asarray(fine.reshape(-1, 2).all(axis=1))

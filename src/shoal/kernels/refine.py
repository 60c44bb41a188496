"""A partition that changes record by record, and what each change does to its sum of squared errors.

The members of group g are ``members[g, : size[g]]``; there is room for 2k - 1. With centroids c_A, c_B of groups of a
and b members, the sum of squared errors changes by

    b/(b + 1) |x_i - c_B|^2 - a/(a - 1) |x_i - c_A|^2                      if x_i moves from A to B,
    -2 (x_j - x_i).(c_A - c_B) - |x_j - x_i|^2 (1/a + 1/b)                 if x_i of A and x_j of B change places,

so that a change costs O(d) to weigh and O(d) to make. Whatever takes several steps (dissolving a group, forming one)
is made step by step, with a journal from which it can be taken back.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.types import Floats, Integers

WORTHWHILE = 1e-9  # of the squared distances involved: less may be rounding
STRIDE = 4  # attributes added at once


class Grouping(NamedTuple):
    """A partition of the rows of X: all arrays are changed in place.

    ``X`` has zero columns added up to a multiple of `STRIDE`. ``place[i]`` is where record i stands among the members
    of its group, ``label[i]``. Numbers of groups that are not in use are ``free[1 : free[0] + 1]``; their size is 0.
    """

    X: Floats
    label: Integers
    place: Integers
    size: Integers
    members: Integers
    centroid: Floats
    free: Integers


class Journal(NamedTuple):
    """Moves made, in order, so that they can be taken back: their number in ``length[0]``, the records, whence."""

    length: Integers
    record: Integers
    origin: Integers


@njit(cache=True, nogil=True)
def new_journal(room: int) -> Journal:
    """Return an empty journal for up to `room` moves."""
    return Journal(np.zeros(1, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))


@njit(cache=True, nogil=True)
def grouped(X: Floats, labels: Integers, k: int, groups: int) -> Grouping:
    """Return the partition of the labels 0 .. groups - 1, each of k to 2k - 1 records."""
    n, d = X.shape
    room = max(n // k, groups) + 1  # one to spare, so that a group can be formed before others are dissolved
    rows = np.zeros((n, (d + STRIDE - 1) // STRIDE * STRIDE))
    rows[:, :d] = X
    size = np.zeros(room, np.int64)
    members = np.full((room, 2 * k - 1), -1)
    place = np.empty(n, np.int64)
    for i in range(n):
        g = labels[i]
        place[i] = size[g]
        members[g, size[g]] = i
        size[g] += 1
    free = np.zeros(room + 1, np.int64)
    for g in range(room - 1, groups - 1, -1):
        free[0] += 1
        free[free[0]] = g
    s = Grouping(rows, labels.copy(), place, size, members, np.zeros((room, rows.shape[1])), free)
    recentre(s)
    return s


@njit(cache=True, nogil=True)
def recentre(s: Grouping) -> None:
    """Compute all centroids afresh."""
    for g in range(s.size.shape[0]):
        if s.size[g] == 0:
            continue
        for j in range(s.X.shape[1]):
            total = 0.0
            for p in range(s.size[g]):
                total += s.X[s.members[g, p], j]
            s.centroid[g, j] = total / s.size[g]


@njit(cache=True, nogil=True)
def squared(A: Floats, a: int, B: Floats, b: int) -> float:
    """Return the squared distance of row a of A from row b of B; four sums, which become one vector."""
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    for j in range(0, A.shape[1], STRIDE):
        e0 = A[a, j] - B[b, j]
        e1 = A[a, j + 1] - B[b, j + 1]
        e2 = A[a, j + 2] - B[b, j + 2]
        e3 = A[a, j + 3] - B[b, j + 3]
        t0 += e0 * e0
        t1 += e1 * e1
        t2 += e2 * e2
        t3 += e3 * e3
    return (t0 + t1) + (t2 + t3)


@njit(cache=True, nogil=True)
def joining(s: Grouping, i: int, b: int) -> float:
    """Return what the error rises by if record i joins group b."""
    return float(squared(s.X, i, s.centroid, b) * s.size[b] / (s.size[b] + 1))


@njit(cache=True, nogil=True)
def leaving(s: Grouping, i: int) -> float:
    """Return what the error falls by if record i leaves its group of two or more."""
    a = s.label[i]
    return float(squared(s.X, i, s.centroid, a) * s.size[a] / (s.size[a] - 1))


@njit(cache=True, nogil=True)
def swapping(s: Grouping, i: int, m: int) -> float:
    """Return what the error changes by if records i and m of different groups change places."""
    X, C, a, b = s.X, s.centroid, s.label[i], s.label[m]
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    w = 1.0 / s.size[a] + 1.0 / s.size[b]
    for j in range(0, X.shape[1], STRIDE):
        e0 = X[m, j] - X[i, j]
        e1 = X[m, j + 1] - X[i, j + 1]
        e2 = X[m, j + 2] - X[i, j + 2]
        e3 = X[m, j + 3] - X[i, j + 3]
        t0 += e0 * (2.0 * (C[a, j] - C[b, j]) + w * e0)
        t1 += e1 * (2.0 * (C[a, j + 1] - C[b, j + 1]) + w * e1)
        t2 += e2 * (2.0 * (C[a, j + 2] - C[b, j + 2]) + w * e2)
        t3 += e3 * (2.0 * (C[a, j + 3] - C[b, j + 3]) + w * e3)
    return -((t0 + t1) + (t2 + t3))


@njit(cache=True, nogil=True)
def move(s: Grouping, i: int, b: int) -> None:
    """Move record i to group b, which may be empty, from a group, which may become so."""
    X, C, a = s.X, s.centroid, s.label[i]
    last = s.members[a, s.size[a] - 1]
    s.members[a, s.place[i]] = last
    s.place[last] = s.place[i]
    s.size[a] -= 1
    s.members[b, s.size[b]] = i
    s.place[i] = s.size[b]
    s.size[b] += 1
    s.label[i] = b
    out, into = 1.0 / max(s.size[a], 1), 1.0 / s.size[b]
    for j in range(X.shape[1]):
        C[a, j] += (C[a, j] - X[i, j]) * out
        C[b, j] += (X[i, j] - C[b, j]) * into
    if s.size[a] == 0:
        s.free[0] += 1
        s.free[s.free[0]] = a


@njit(cache=True, nogil=True)
def swap(s: Grouping, i: int, m: int) -> None:
    """Let records i and m of different groups change places."""
    X, C, a, b = s.X, s.centroid, s.label[i], s.label[m]
    s.members[a, s.place[i]] = m
    s.members[b, s.place[m]] = i
    s.place[i], s.place[m] = s.place[m], s.place[i]
    s.label[i], s.label[m] = b, a
    wa, wb = 1.0 / s.size[a], 1.0 / s.size[b]
    for j in range(X.shape[1]):
        e = X[m, j] - X[i, j]
        C[a, j] += e * wa
        C[b, j] -= e * wb


@njit(cache=True, nogil=True)
def moved(s: Grouping, journal: Journal, i: int, b: int) -> None:
    """Move record i to group b and note it."""
    at = journal.length[0]
    journal.record[at], journal.origin[at] = i, s.label[i]
    journal.length[0] += 1
    move(s, i, b)


@njit(cache=True, nogil=True)
def take_back(s: Grouping, journal: Journal) -> None:
    """Undo all moves of the journal, the last first."""
    for at in range(journal.length[0] - 1, -1, -1):
        b = journal.origin[at]
        if s.size[b] == 0:
            s.free[0] -= 1  # emptied in this journal, and so the last that was put there
        move(s, journal.record[at], b)
    journal.length[0] = 0


@njit(cache=True, nogil=True)
def dissolve(s: Grouping, near: NDArray[np.int32], g: int, journal: Journal) -> float:
    """Send each member of group g to the best other group of its neighbours; return the change of the error.

    Infinity says that a member had nowhere to go; what the journal notes must then be taken back.
    """
    most = s.members.shape[1]
    change = 0.0
    while s.size[g] > 0:
        i = s.members[g, s.size[g] - 1]
        best, target = np.inf, -1
        before = g
        for j in near[i]:
            b = s.label[j]
            if b in (before, g) or s.size[b] == most:
                continue
            before = b
            cost = joining(s, i, b)
            if cost < best:
                best, target = cost, b
        if target < 0:
            return np.inf
        if s.size[g] > 1:
            change -= leaving(s, i)
        change += best
        moved(s, journal, i, target)
    return change


@njit(cache=True, nogil=True)
def form(s: Grouping, near: NDArray[np.int32], i: int, journal: Journal) -> float:
    """Form a group of record i and its nearest that their groups can spare; return the change of the error.

    Infinity says that there were too few; what the journal notes must then be taken back.
    """
    k = (s.members.shape[1] + 1) // 2
    if s.free[0] == 0 or s.size[s.label[i]] == k:
        return np.inf
    g = s.free[s.free[0]]
    s.free[0] -= 1
    change = -leaving(s, i)
    moved(s, journal, i, g)
    for j in near[i]:
        b = s.label[j]
        if b == g or s.size[b] == k:
            continue
        change += joining(s, j, g) - leaving(s, j)
        moved(s, journal, j, g)
        if s.size[g] == k:
            return change
    return np.inf


@njit(cache=True, nogil=True)
def regroup(s: Grouping, near: NDArray[np.int32], i: int, journal: Journal) -> float:
    """Form a group of record i and its k - 1 nearest; return the change of the error.

    Groups that fall below k by it are dissolved, the smallest first: its members may fill up the next. Infinity says
    that a record had nowhere to go; what the journal notes must then be taken back.
    """
    k = (s.members.shape[1] + 1) // 2
    if s.free[0] == 0:
        return np.inf
    g = s.free[s.free[0]]
    s.free[0] -= 1
    change = -leaving(s, i)
    moved(s, journal, i, g)
    for j in near[i]:
        if s.label[j] == g:
            continue
        if s.size[s.label[j]] > 1:
            change -= leaving(s, j)
        change += joining(s, j, g)
        moved(s, journal, j, g)
        if s.size[g] == k:
            break
    taken = journal.length[0]
    while s.size[g] >= k:
        least, short = k, -1
        for at in range(taken):
            b = journal.origin[at]
            if 0 < s.size[b] < least:
                least, short = s.size[b], b
        if short < 0:
            return change
        change += dissolve(s, near, short, journal)
        if s.size[short] > 0:
            break
    return np.inf


@njit(cache=True, nogil=True)
def resplit(s: Grouping, near: NDArray[np.int32], i: int, journal: Journal) -> float:
    """Merge the group of record i with that of its nearest outside and split them again; return the change of error.

    A group grows from record i, by the member of the two that is nearest to its centroid, to the size that i's group
    had; the rest is the other. Infinity says that all neighbours of i are in its group; nothing is done then.
    """
    a, b = s.label[i], -1
    for j in near[i]:
        if s.label[j] != a:
            b = s.label[j]
            break
    if b < 0 or s.free[0] == 0:
        return np.inf
    size = s.size[a]
    g = s.free[s.free[0]]
    s.free[0] -= 1
    change = -leaving(s, i)
    moved(s, journal, i, g)
    while s.size[g] < size:
        best, nearest = np.inf, -1
        for group in (a, b):
            for p in range(s.size[group]):
                cost = joining(s, s.members[group, p], g)
                if cost < best:
                    best, nearest = cost, s.members[group, p]
        change += best - (leaving(s, nearest) if s.size[s.label[nearest]] > 1 else 0.0)
        moved(s, journal, nearest, g)
    while s.size[a] > 0 and s.size[b] > 0:
        j = s.members[a, s.size[a] - 1]
        change += joining(s, j, b) - (leaving(s, j) if s.size[a] > 1 else 0.0)
        moved(s, journal, j, b)
    return change

"""Records that change their group: swaps, moves and dissolved groups, each with its gain in constant time.

The members of group g are ``members[g, : size[g]]``; it has room for 2k - 1. With centroids c_A, c_B of groups of a and
b members, the sum of squared errors falls by

    2 (x_j - x_i).(c_A - c_B) + |x_j - x_i|^2 (1/a + 1/b)             if x_i of A and x_j of B change places,
    a/(a - 1) |x_i - c_A|^2 - b/(b + 1) |x_i - c_B|^2                 if x_i moves from A to B.
"""

import numpy as np
from numba import njit

from shoal.kernels.types import Floats, Integers

_WORTHWHILE = 1e-9  # of the squared distances involved: less may be rounding


@njit(cache=True, nogil=True)
def squared(a: Floats, b: Floats) -> float:
    """Return the squared distance of two points."""
    total = 0.0
    for j in range(a.shape[0]):
        total += (a[j] - b[j]) * (a[j] - b[j])
    return total


@njit(cache=True, nogil=True)
def recentre(X: Floats, members: Integers, size: Integers, centroids: Floats, g: int) -> None:
    """Compute the centroid of a group afresh."""
    for j in range(X.shape[1]):
        total = 0.0
        for p in range(size[g]):
            total += X[members[g, p], j]
        centroids[g, j] = total / size[g]


@njit(cache=True, nogil=True)
def improve_pair(X: Floats, members: Integers, size: Integers, centroids: Floats, k: int, a: int, b: int) -> bool:
    """Make the best swap between groups a and b, or move from a to b; return whether there was one."""
    best, give, take = 0.0, -1, -1
    weight = 1.0 / size[a] + 1.0 / size[b]
    may_move = size[a] > k and size[b] < members.shape[1]
    for p in range(size[a]):
        x = X[members[a, p]]
        for q in range(size[b]):
            y = X[members[b, q]]
            slope, apart = 0.0, 0.0
            for j in range(x.shape[0]):
                slope += (y[j] - x[j]) * (centroids[a, j] - centroids[b, j])
                apart += (y[j] - x[j]) * (y[j] - x[j])
            gain = 2.0 * slope + apart * weight
            if gain > best and gain > _WORTHWHILE * apart:
                best, give, take = gain, p, q
        if may_move:
            left = squared(x, centroids[a]) * size[a] / (size[a] - 1)
            gain = left - squared(x, centroids[b]) * size[b] / (size[b] + 1)
            if gain > best and gain > _WORTHWHILE * left:
                best, give, take = gain, p, -1
    if give < 0:
        return False
    if take >= 0:
        members[a, give], members[b, take] = members[b, take], members[a, give]
    else:
        members[b, size[b]] = members[a, give]
        size[b] += 1
        size[a] -= 1
        members[a, give] = members[a, size[a]]
    recentre(X, members, size, centroids, a)
    recentre(X, members, size, centroids, b)
    return True


@njit(cache=True, nogil=True)
def improve_pairs(
    X: Floats, members: Integers, size: Integers, centroids: Floats, k: int, groups: Integers, near: Integers
) -> int:
    """Improve each of the groups with each of those near it, in their order; return how many changes were made."""
    changes = 0
    for at in range(groups.shape[0]):
        for b in near[at]:
            a = groups[at]
            if b < 0 or b == a or size[a] == 0 or size[b] == 0:
                continue
            # At most as many as there are members: among records a rounding error apart, gains never end.
            for _ in range(2 * k):
                if not improve_pair(X, members, size, centroids, k, a, b):
                    break
                changes += 1
    return changes


@njit(cache=True, nogil=True)
def dissolve(X: Floats, members: Integers, size: Integers, centroids: Floats, groups: Integers, near: Integers) -> int:
    """Dissolve groups whose members fit better elsewhere; return how many.

    ``near[at * most + p]`` are the groups near to member p of the group at this place of `groups`.
    """
    most = members.shape[1]
    target = np.empty(most, np.int64)
    dissolved = 0
    for at in range(groups.shape[0]):
        g = groups[at]
        gain = 0.0
        for p in range(size[g]):
            x = X[members[g, p]]
            best = np.inf
            for b in near[at * most + p]:
                free = b >= 0 and b != g and 0 < size[b] < most
                for other in range(p):  # a group that takes in another member changes, and so would the cost
                    free = free and target[other] != b
                if not free:
                    continue
                cost = squared(x, centroids[b]) * size[b] / (size[b] + 1)
                if cost < best:
                    best, target[p] = cost, b
            gain += squared(x, centroids[g]) - best
        if not gain > 0.0:
            continue
        for p in range(size[g]):
            b = target[p]
            members[b, size[b]] = members[g, p]
            size[b] += 1
            recentre(X, members, size, centroids, b)
        size[g] = 0
        dissolved += 1
    return dissolved

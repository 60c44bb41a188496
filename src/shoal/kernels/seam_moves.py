"""Records that change their group: swaps, moves and dissolved groups, each with its gain in constant time.

The members of group g are ``members[g, : size[g]]``; it has room for 2k - 1. With centroids c_A, c_B of groups of a and
b members, the sum of squared errors falls by

    2 (x_j - x_i).(c_A - c_B) + |x_j - x_i|^2 (1/a + 1/b)             if x_i of A and x_j of B change places,
    a/(a - 1) |x_i - c_A|^2 - b/(b + 1) |x_i - c_B|^2                 if x_i moves from A to B.
"""

from shoal.kernels import _native
from shoal.kernels.stop import stoppable
from shoal.kernels.types import Floats, Integers


def improve_pairs(
    X: Floats, members: Integers, size: Integers, centroids: Floats, k: int, groups: Integers, near: Integers
) -> int:
    """Improve each of the groups with each of those near it, in their order; return how many changes were made."""
    with stoppable() as watch:
        return _native.improve_pairs(X, members, size, centroids, k, groups, near, watch)


def dissolve(X: Floats, members: Integers, size: Integers, centroids: Floats, groups: Integers, near: Integers) -> int:
    """Dissolve groups whose members fit better elsewhere; return how many.

    ``near[at * most + p]`` are the groups near to member p of the group at this place of `groups`.
    """
    with stoppable() as watch:
        return _native.dissolve_groups(X, members, size, centroids, groups, near, watch)

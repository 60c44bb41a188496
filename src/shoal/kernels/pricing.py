"""Groups of negative reduced cost, found by a depth-first search that covers all of them.

In the set-partitioning model of microaggregation a column is a group T of m = k..2k-1 records. It costs its SSE, which
is the sum of the squared distances of its pairs divided by m. Given a dual value for every record, its reduced cost is
its SSE less the duals of its members.
"""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.types import Floats, Integers


def group_costs(X: Floats, members: Integers) -> Floats:
    """Return the SSE of each group, a row of `members` that ends in -1 where it is shorter than the longest."""
    costs = np.empty(len(members))
    _native.group_costs(X, members, costs)
    return costs


def price(
    X: Floats, k: int, duals: Floats, near: Floats, lists: Integers, rank: Integers, anchors: Integers,
    threshold: float, only_better: bool, limit: int, room: int, watch: Integers,
) -> tuple[Integers, Floats]:  # fmt: skip
    """Find groups whose reduced cost is below a threshold, each from the member of the lowest rank: its anchor.

    Members are added one by one, the most promising candidate first; once all groups with it have been seen, it is no
    candidate any more. What a candidate is for the group so far is kept by the size of that group.

    ``near[x, q]`` is the sum of the q smallest squared distances from x to others, q = 0..2k-2, or any other numbers
    such that the pairs of q + 1 records are together no nearer than half the sum of theirs. ``lists[x]`` has neighbours
    of x, nearest first; records beyond are looked at where these cannot be all that matter. With `only_better`,
    groups of an anchor must have a lower reduced cost than those found before. The search from an anchor is given up
    after `limit` groups and parts of groups, all searches after `room` groups. Return the groups, one a row that ends
    in -1, and for every anchor a lower bound on the reduced cost of its groups.
    """
    lowest = np.empty(len(anchors))
    found = _native.price(X, k, duals, near, lists, rank, anchors, threshold, only_better, limit, room, watch, lowest)
    return found.reshape(-1, 2 * k - 1), lowest

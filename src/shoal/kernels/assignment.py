"""Optimal assignment of records to groups: the transportation problem with squared distances as costs."""

from typing import NamedTuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.stop import stoppable
from shoal.kernels.types import Floats, Integers


class Assigned(NamedTuple):
    """An optimal assignment in parts, each so many of a record in a group."""

    record: Integers
    group: Integers
    amount: Integers
    cost: float  # the sum of squared distances
    gap: float  # no assignment has a cost below `cost` - `gap`


def assign_to_groups(
    records: EncodedMatrix, supply: Integers, rows: Floats, size: Integers, most: int
) -> Assigned | None:
    """Assign ``supply[i]`` of each record to groups that are at `rows` and take ``size[g]`` each, at the least cost.

    None if that takes more than `most` steps, each a look at a group, or at a node of the search tree.

    Notes
    -----
    With squared distances c_ig and prices p_g, the sum over the assigned pairs of c_ig + p_g - min over h of
    (c_ih + p_h) is at most the gap to the optimum, by the duality of linear programming. Where records fit at their
    nearest groups, that is all. Otherwise an auction with smaller and smaller bids finds prices by which nearly all
    records fit; then groups with too many give them away along shortest paths to groups with room, found by Dijkstra's
    algorithm among the groups, until all fit. Of each record a list of groups, from a search tree, is looked at; it is
    made again as soon as a group beyond it might matter. At the end the gap is measured over all pairs, by the tree.

    References
    ----------
    Jonker & Volgenant (1987), A shortest augmenting path algorithm for dense and sparse linear assignment problems,
    Computing 38, 325-340. Bertsekas & Castañón (1989), The auction algorithm for the transportation problem, Annals of
    Operations Research 20, 67-96. Ahuja, Magnanti & Orlin (1993), Network flows, section 9.7.
    """
    values = np.ascontiguousarray(records.values)
    with stoppable() as watch:
        found = _native.assign_to_groups(values, supply, rows, size, records.kinds, records.apart, most, watch)
    assigned = Assigned(*found)
    return None if assigned.gap < 0 else assigned

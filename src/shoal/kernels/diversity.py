"""Groups that must hold enough different values, or the distribution of the file, of confidential attributes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.l_diversity import SLACK, LDiversity
from shoal.kernels.stop import stoppable
from shoal.kernels.types import Integers


class Attributes(NamedTuple):
    """Confidential attributes; arrays only, so that kernels can take it apart."""

    codes: Integers  # (attributes, records): the rank of the value among all different ones in the file
    below: Integers  # how many records of the file have a value up to each, one attribute after the other
    first: Integers  # (attributes + 1,): where each begins in `below`
    known: Integers  # (attributes,): how many values are known; ranks from there on are missing values
    ordered: NDArray[np.bool_]
    unit: Integers = np.empty(0, np.int64)  # (records,): the unit of each, from 0; empty if k counts records
    units: int = 0  # that every group has at least


class Parts(NamedTuple):
    """The records in the order of a confidential attribute, cut into parts; arrays only, for kernels.

    Which of the records with one value are in which part is left open where a cut goes through them. So records are in
    pools, one for each value that is cut, and one for all others of a part; a part has shares in up to three pools.
    """

    pool: Integers  # (records,)
    start: Integers  # (parts + 1,): where the shares of a part begin
    shares: Integers  # the pool of each share
    left: Integers  # how many records of that pool the part has still to give
    extra: Integers  # (parts,): how many records more than there are groups it has


def merge_groups(
    space: EncodedMatrix,
    attributes: Attributes,
    order: Integers,
    start: Integers,
    wanted: LDiversity,
    t: float,
    watch: Integers,
) -> Integers:
    """Return for each group the lowest of those it is merged with; see `shoal.partitioning.diversity.merge_until`.

    Group g has the records order[start[g]] .. order[start[g + 1]].
    """
    home = np.empty(len(start) - 1, np.int64)
    _native.merge_groups(space, attributes, order, start, wanted, SLACK, t, watch, home)
    return home


def squared_error(space: EncodedMatrix, order: Integers, start: Integers) -> float:
    """Return the sum of the squared distances of the records to the average record of their group."""
    with stoppable() as watch:
        return _native.squared_error(space, order, start, watch)


def groups_across(space: EncodedMatrix, parts: Parts, watch: Integers) -> Integers:
    """Return the labels of groups with one record of each part; see `shoal.partitioning.diversity.t_first`.

    `parts` is used up. No squared distance may overflow.
    """
    labels = np.empty(len(space.values), np.int64)
    _native.groups_across(space, parts, watch, labels)
    return labels

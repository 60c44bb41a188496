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

from shoal.kernels import _native
from shoal.kernels.types import Floats, Integers

STRIDE = 4  # attributes added at once


class Grouping(NamedTuple):
    """A partition of the rows of X: all arrays but X are changed in place.

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


def new_journal(room: int) -> Journal:
    """Return an empty journal for up to `room` moves."""
    return Journal(np.zeros(1, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))


def grouped(X: Floats, labels: Integers, k: int, groups: int) -> Grouping:
    """Return the partition of the labels 0 .. groups - 1, each of k to 2k - 1 records."""
    n, d = X.shape
    room = max(n // k, groups) + 1  # one to spare, so that a group can be formed before others are dissolved
    rows = np.zeros((n, -(-d // STRIDE) * STRIDE))
    rows[:, :d] = X
    s = Grouping(
        X=rows,
        label=labels.copy(),
        place=np.empty(n, np.int64),
        size=np.zeros(room, np.int64),
        members=np.full((room, 2 * k - 1), -1),
        centroid=np.zeros((room, rows.shape[1])),
        free=np.zeros(room + 1, np.int64),
    )
    _native.fill_groups(s, groups)
    return s


def recentre(s: Grouping) -> None:
    """Compute all centroids afresh."""
    _native.recentre(s)

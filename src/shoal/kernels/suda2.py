"""Minimal sample uniques: the smallest sets of attributes on which a record is like no other.

A record that is unique on a set of attributes is unique on every larger one, so the search divides records that are
alike by one attribute after another and goes no further where a record is alone, nor where every record has a twin that
is like it in all attributes. Sets are visited after their subsets, so that a set is minimal if no subset was found
before (after A. M. Manning, D. J. Haglin & J. A. Keane, "A recursive search algorithm for statistical disclosure
assessment", Data Mining and Knowledge Discovery 16, 2008, who search item by item).
"""

import numpy as np
from numpy.typing import NDArray

from shoal.kernels import _native
from shoal.kernels.stop import stoppable
from shoal.kernels.types import Floats, Integers


def suda2(codes: NDArray[np.int32], single: NDArray[np.bool_], points: Floats) -> tuple[Floats, Floats, Integers]:
    """Find the minimal sample uniques of records that all differ.

    `codes` has the number of each value, from 1, or 0 where it is missing: such a value is in no set. `single` records
    are those that no other record of the file is like; only they can be unique. ``points[m - 1]`` is what a minimal
    sample unique of m attributes counts. Return the points of each record, (n, d) how many of them are from sets with
    each attribute, and how many sets of 1, 2, ... attributes there are.
    """
    n, d = codes.shape
    score, contribution, sizes = np.zeros(n), np.zeros((n, d)), np.zeros(d, np.int64)
    with stoppable() as watch:
        _native.suda2(codes, single, points, watch, score, contribution, sizes)
    return score, contribution, sizes

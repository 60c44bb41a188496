"""The space of the loss: points whose squared errors are no more than what any groups of the records must lose.

Whatever a group publishes, its records lose at least the sum of squared distances to the mean of their points. So what
bounds the squared error of points from below bounds the loss that is reported. A and u stand for the squared distance
of two categories and for that of a step of one of a number, as the loss has them.

- *Numbers and levels*: the mean loses least, sqrt(u) x is the point.
- *Categories*: a group of m, of whom a share the mode, loses A (m - a). Corners of a simplex, A apart in the square,
  have a squared error of A (m - sum of squared counts / m) / 2. The other m - a may all differ, so that this is at most
  A (m - a) (m + a - 1) / 2m, and no more than (m - 1) / m of the loss, as a < m. Groups of 2k records or more can be
  split without a loss, so that the squared distance can be A (2k - 1) / (2k - 2). A missing value is a category.
- *Missing numbers*: of m records a know the number. The group publishes a number and loses A for each of the m - a
  others, beside the squared error V of the a; or it publishes none and loses A a. Both are at least half the sum over
  all pairs of their squared distance, divided by m, if that is at most A for a known and an unknown number, and at most
  both the true one and 2 A for two that are known. So numbers are cut off at a distance h from the middle of their
  range, h^2 = A / 2 at most, and those that are unknown are put beside it, at a squared distance of A - h^2.
"""

import math
from collections.abc import Sequence

import numpy as np

from shoal.kernels.standardize import Matrix
from shoal.pipeline.loss import Losses, Sums
from shoal.tables.attributes import CATEGORIES, Codes

FREQUENT = 32  # categories of an attribute that have a coordinate; the others share one, which makes them equal


def points(losses: Losses, sums: Sums, codes: Matrix, which: Sequence[int], k: int, *, weighted: bool) -> Matrix:
    """Return the points of records, of some of their attributes.

    Parameters
    ----------
    losses, sums
        What adds up losses, and what was lost by all records of the file.
    codes
        The original values of these attributes.
    which
        The places of the attributes among those of `losses`.
    k
        The least number of records in a group.
    weighted
        Whether records count by weights, so that categories keep their squared distance A.
    """
    unit, apart = losses.units(sums)
    split = 1.0 if weighted or k < 2 else (2 * k - 1) / (2 * k - 2)
    columns: list[Codes] = []
    for j in which:
        if losses.attributes[j].type in CATEGORIES:
            columns += _corners(codes[:, j], split * apart[j])
        else:
            columns += _on_a_line(losses.scaled(codes[:, [j]], [j])[:, 0] * math.sqrt(unit[j]), apart[j])
    return np.column_stack(columns)


def _corners(codes: Codes, apart: float) -> list[Codes]:
    """Return a coordinate for each frequent category, so that two of them are `apart` in the square."""
    categories, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    corner = np.minimum(rank, FREQUENT)[place]
    side = math.sqrt(apart / 2)
    if len(categories) == 2:  # a line is enough
        return [np.where(corner == 0, 0.0, math.sqrt(apart))]
    return [np.where(corner == each, side, 0.0) for each in range(min(len(categories), FREQUENT + 1))]


def _on_a_line(values: Codes, apart: float) -> list[Codes]:
    """Return the coordinate of numbers, and a second one that tells those that are missing."""
    missing = np.isnan(values)
    if not missing.any():
        return [values]
    if missing.all():
        return [np.zeros(len(values))]
    low, high, median = (float(each(values)) for each in (np.nanmin, np.nanmax, np.nanmedian))
    half = min((high - low) / 2, math.sqrt(apart / 2))
    middle = min(max(median, low + half), high - half)
    known = np.where(missing, 0.0, np.clip(values - middle, -half, half))
    return [known, np.where(missing, math.sqrt(apart - half**2), 0.0)]

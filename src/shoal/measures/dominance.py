"""Dominance: the classes of records published alike in which the largest contributors to a total stand out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.partitioning.dominance import Magnitudes, Rules, dominated


def dominance(
    classes: NDArray[np.int64],
    values: NDArray[np.float64],
    p: float | None = None,
    largest: tuple[int, float] | None = None,
    contributors: NDArray[np.int64] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """Count the cells of a magnitude that break the p % rule, or that the n largest contributors dominate.

    A cell is a class of records that are published alike. With its contributions x_1 >= x_2 >= ... and their total T it
    breaks the p % rule if ``T - x_1 - x_2 < p/100 x_1``, and (n, k)-dominance if ``x_1 + ... + x_n > k/100 T``. A
    cell of zeros breaks neither.

    Parameters
    ----------
    classes
        One integer a record.
    values
        From zero up; NaN is no contribution.
    p, largest
        The percentage, and n with k: at least one of the two.
    contributors
        The unit of each record, whose contributions to a cell are added up; each record by itself if left out.
    weights
        Survey weights: T is the weighted total, and a contribution counts as often as its weight tells, at least once.

    Returns
    -------
    dict
        ``cells`` (int), how many there are, ``failing`` (int), how many break a rule, and ``share`` of them in percent.

    References
    ----------
    Hundepool et al. (2012), Statistical disclosure control, Wiley, section 4.2.
    """
    labels = np.unique(classes, return_inverse=True)[1].astype(np.int64)
    n, share = largest or (1, None)
    found = dominated(labels, Magnitudes(values[:, None], contributors, weights), Rules(p, n, share))
    return {"cells": len(found), "failing": int(found.sum()), "share": 100 * float(found.mean())}

"""What a reader still knows of a record once its group is published alike: the group's ranges."""

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix, standardize


def gcp(original: Matrix, classes: NDArray[np.integer]) -> float | None:
    """Global certainty penalty: the average range of a record's group, as a fraction of the whole range.

    GCP = (sum over the groups of |G| NCP(G)) / (n d), with the normalised certainty penalty NCP(G) = sum over the
    attributes of (max in G - min in G) / (max - min in the file); d counts the attributes that vary. 0 if records of a
    group are equal, 1 if all records are published alike.

    None if no attribute varies.

    References
    ----------
    Xu, Wang, Pei, Wang, Shi & Fu (2006), Utility-based anonymization using local recoding, KDD, 785-790.
    Ghinita, Karras, Kalnis & Mamoulis (2007), Fast data anonymization with low information loss, VLDB, 758-769.
    Mortazavi & Jalili (2014), Fast data-oriented microaggregation algorithm for large numerical datasets,
    Knowledge-Based Systems 67.
    """
    n = len(original)
    d = int(np.count_nonzero(original.min(axis=0) < original.max(axis=0)))
    if d == 0:
        return None
    found, sizes = penalties(original, classes)
    return float(sizes @ found / (n * d))


def penalties(original: Matrix, classes: NDArray[np.integer]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return NCP and size of each group, in the order of their labels."""
    order = np.argsort(classes, kind="stable")
    ordered = classes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    Z = standardize(original, "minmax")[order]
    found = (np.maximum.reduceat(Z, starts) - np.minimum.reduceat(Z, starts)).sum(axis=1)
    return found, np.diff(starts, append=len(classes))

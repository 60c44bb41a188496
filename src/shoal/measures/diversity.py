"""What the confidential attributes give away within a class of records that are published alike."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.l_diversity import FORMS, C, diversities, dominated
from shoal.kernels.t_closeness import ordered_distances


def l_diversity(
    classes: NDArray[np.int64],
    values: NDArray[Any],
    missing: NDArray[np.bool_] | None = None,
    c: float = C,
) -> dict[str, float]:
    """How many values a confidential attribute has in the class that is worst, in three forms.

    With r_1 >= ... >= r_m how often the m different values occur in a class of n records:

    - distinct l is m;
    - entropy l is ``exp(-sum over i of r_i/n ln(r_i/n))``: as many values, all equally frequent, would be as uncertain.
      pyCANON reports its whole part;
    - recursive l is the largest l for which ``r_1 < c (r_l + ... + r_m)``, and 0 if there is none: the most frequent
      value is not too frequent, even if an intruder can rule out l - 2 others. sdcMicro has c = 2.

    A missing value is no value: only records whose value is known count. A class without any has diversity 0.

    Returns ``distinct`` (int), ``entropy`` and ``recursive`` (int) of the worst class, and ``dominated`` (int), how
    many classes there are in which one value has more than 80 % of the records.

    References
    ----------
    Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam (2007), l-diversity: privacy beyond k-anonymity, ACM TKDD 1.
    """
    _, label, size = _numbered(classes)
    known, codes = _codes(values)
    if missing is not None:
        codes = np.where(missing, known, codes)
    in_classes = codes[np.lexsort((codes, label))]
    start = np.concatenate([[0], np.cumsum(size)])
    worst = {form: float(diversities(start, in_classes, known, i, c).min()) for i, form in enumerate(FORMS)}
    return {
        "distinct": int(worst["distinct"]),
        "entropy": worst["entropy"],
        "recursive": int(worst["recursive"]),
        "dominated": int(dominated(start, in_classes, known)),
    }


def t_closeness(classes: NDArray[np.int64], values: NDArray[Any], ordered: bool = True) -> float:
    """How far the distribution of a confidential attribute in a class can be from that in the file, from 0 to 1.

    The largest earth mover's distance over the classes. With p_i and q_i the shares, in the class and in the file, of
    the i-th of the m different values in the file:

    - ordered: ``1/(m - 1) sum over i of |sum over j <= i of (p_j - q_j)|``, as far as values are apart in rank;
    - not ordered: ``1/2 sum over i of |p_i - q_i|``, all values being equally far apart.

    It is 0 if the attribute is constant.

    References
    ----------
    Li, Li & Venkatasubramanian (2007), t-closeness: privacy beyond k-anonymity and l-diversity, ICDE.
    """
    different, codes = _codes(values)
    return closeness_to(classes, codes, np.bincount(codes, minlength=different), ordered=ordered)


def closeness_to(
    classes: NDArray[np.int64], codes: NDArray[np.int64], frequency: NDArray[np.int64], *, ordered: bool
) -> float:
    """How far an attribute in a class can be from its distribution in the file, of which these may be some records.

    All records of a class are among them. `codes` number their values 0, 1, ... in order; `frequency` counts the
    records of the file with each value.
    """
    groups, label, size = _numbered(classes)
    different, n = len(frequency), int(frequency.sum())
    if different == 1:
        return 0.0
    if ordered:
        order = np.lexsort((codes, label))
        start = np.concatenate([[0], np.cumsum(size)])
        return float(ordered_distances(start, codes[order], np.cumsum(frequency)).max() / (different - 1))
    of, value, count = _cells(label, codes)
    p, q = count / size[of], frequency[value] / n
    # What the class has more of than the file; what it has less of is as much.
    return float(np.bincount(of, np.maximum(p - q, 0.0), groups).max())


def _numbered(classes: NDArray[np.int64]) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    groups, label = _codes(classes)
    return groups, label, np.bincount(label, minlength=groups)


def _codes(values: NDArray[Any]) -> tuple[int, NDArray[np.int64]]:
    """Return how many different values there are, and the rank of each record's among them."""
    different, codes = np.unique(np.asarray(values), return_inverse=True)
    return len(different), codes.astype(np.int64, copy=False)


def _cells(
    label: NDArray[np.int64], codes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the class, the value and the count of each combination of the two that occurs."""
    width = int(codes.max()) + 1
    cells, count = np.unique(label * width + codes, return_counts=True)
    return cells // width, cells % width, count

"""Categories as numbers, so that nominal attributes take part in k-d blocks."""

import numpy as np
from numpy.typing import NDArray

from shoal.blocking.cells import Integers

Digits = NDArray[np.float64]  # (c, b) array: the binary digits of each category

_MOST = 6  # digits: rarer categories than one in 2^6 hardly tell blocks apart


def category_digits(counts: Integers) -> Digits:
    """Return binary digits for categories, each of which divides the records into halves as equal as can be.

    This is the code of Shannon [1]_ and Fano: categories, the most frequent first, are divided where the sums of their
    counts differ least, and so on within both parts. Two records that differ in a digit differ in their category, so
    that a digit times the root of the squared distance of two categories is an attribute like any other to a k-d tree:
    its variance is what that division takes from the squared distances.

    References
    ----------
    .. [1] C. E. Shannon, "A mathematical theory of communication", Bell System Technical Journal 27 (1948) 379-423.
    """
    digits = np.zeros((len(counts), _MOST))
    parts = [(np.argsort(-counts, kind="stable"), 0)]
    while parts:
        part, place = parts.pop()
        if len(part) < 2 or place == _MOST or counts[part].sum() == 0:
            continue
        below = np.cumsum(counts[part])[:-1]
        cut = int(np.argmin(np.abs(2 * below - counts[part].sum()))) + 1
        digits[part[cut:], place] = 1.0
        parts += [(part[:cut], place + 1), (part[cut:], place + 1)]
    return digits[:, digits.any(axis=0)]

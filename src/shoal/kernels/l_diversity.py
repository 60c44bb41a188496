"""How diverse the values of a confidential attribute are in a class, in the three forms of l-diversity."""

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.types import Floats, Integers

FORMS = ("distinct", "entropy", "recursive")
_DISTINCT, _ENTROPY = 0, 1
# The c of recursive diversity where none is asked for, as sdcMicro has it.
C = 2.0
# The exponential of an entropy is rounded: a class may be this much below l.
SLACK = 1e-9
# A value that a larger share of a class has dominates it.
DOMINANT = 0.8


class LDiversity(NamedTuple):
    """The l that every class must reach, the place of its form in `FORMS`, and the c of the recursive form."""

    l: float  # noqa: E741 - the literature's own name
    form: int = _DISTINCT
    c: float = C


@njit(cache=True, nogil=True)
def known_counts(code: Integers, known: int) -> Integers:
    """Return how many records of a class have each value, the rarest first.

    The class is sorted by `code`, the rank of a value; ranks from `known` on are missing values, which do not count.
    """
    counts = np.empty(code.shape[0], np.int64)
    different = 0
    for i in range(code.shape[0]):
        if code[i] >= known:
            break
        if i == 0 or code[i] != code[i - 1]:
            counts[different] = 0
            different += 1
        counts[different - 1] += 1
    return np.sort(counts[:different])


@njit(cache=True, nogil=True)
def diversity_of(counts: Integers, form: int, c: float) -> float:
    """Return the largest l for which a class is l-diverse; 0 if there is none, as where no value is known.

    With r_1 >= ... >= r_m the counts: m if distinct, the exponential of their entropy, or the last l for which
    r_1 < c (r_l + ... + r_m) if recursive.
    """
    m = counts.shape[0]
    if m == 0 or form == _DISTINCT:
        return float(m)
    if form == _ENTROPY:
        n, entropy = counts.sum(), 0.0
        for count in counts:
            entropy -= count / n * np.log(count / n)
        return float(np.exp(entropy))
    tail = 0
    for i in range(m):
        tail += counts[i]
        if counts[m - 1] < c * tail:
            return float(m - i)
    return 0.0


@njit(cache=True, nogil=True)
def diversities(start: Integers, code: Integers, known: int, form: int, c: float) -> Floats:
    """Return `diversity_of` each class; class i has the records start[i] .. start[i + 1], sorted by `code`."""
    found = np.empty(start.shape[0] - 1)
    for i in range(found.shape[0]):
        found[i] = diversity_of(known_counts(code[start[i] : start[i + 1]], known), form, c)
    return found


@njit(cache=True, nogil=True)
def dominated(start: Integers, code: Integers, known: int) -> int:
    """Count the classes in which one value has more than 80 % of the records whose value is known."""
    found = 0
    for i in range(start.shape[0] - 1):
        counts = known_counts(code[start[i] : start[i + 1]], known)
        if counts.shape[0] > 0 and counts[-1] > DOMINANT * counts.sum():
            found += 1
    return found

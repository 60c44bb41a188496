"""How diverse the values of a confidential attribute are in a class, in the three forms of l-diversity."""

from typing import NamedTuple

import numpy as np

from shoal.kernels import _native
from shoal.kernels.types import Floats, Integers

FORMS = ("distinct", "entropy", "recursive")
# The c of recursive diversity where none is asked for, as sdcMicro has it.
C = 2.0
# The exponential of an entropy is rounded: a class may be this much below l.
SLACK = 1e-9
# A value that a larger share of a class has dominates it.
DOMINANT = 0.8


class LDiversity(NamedTuple):
    """The l that every class must reach, the place of its form in `FORMS`, and the c of the recursive form."""

    l: float  # noqa: E741 - the literature's own name
    form: int = 0
    c: float = C


def diversity_of(counts: Integers, form: int, c: float) -> float:
    """Return the largest l for which a class is l-diverse; 0 if there is none, as where no value is known.

    With r_1 >= ... >= r_m the counts, given from the rarest value on: m if distinct, the exponential of their entropy,
    or the last l for which r_1 < c (r_l + ... + r_m) if recursive.
    """
    return _native.diversity_of(counts, form, c)


def diversities(start: Integers, code: Integers, known: int, form: int, c: float) -> Floats:
    """Return `diversity_of` each class; class i has the records start[i] .. start[i + 1], sorted by `code`.

    A code is the rank of a value; ranks from `known` on are missing values, which do not count.
    """
    found = np.empty(len(start) - 1)
    _native.diversities(start, code, known, form, c, found)
    return found


def dominated(start: Integers, code: Integers, known: int) -> int:
    """Count the classes in which one value has more than 80 % of the records whose value is known."""
    return _native.dominated(start, code, known, DOMINANT)

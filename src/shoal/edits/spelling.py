"""Numbers that every reader reads alike, so that a product is exact for a validator as it is in memory.

The shortest text of a double reads back as that double only where the reader rounds correctly. Many do not: libxml2,
on which most Schematron validators stand, adds up digit by digit and is off in the last bit of one number in ten. Sums
on a lattice of few digits are safe from it. A product is made so: its factors are rounded to numbers that both kinds
of reader agree on, and moved by the smallest steps until they agree on the product as well.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.float64]

_BITS = 12  # behind the point: as many decimal digits, which are exact in every reader
_DIGITS = 15  # of a number below one: as many as a double holds for certain
_STEPS = 64  # a step fails for one number in ten, so that sixty-four all do is not going to happen


def read_by_digits(text: str) -> float:
    """Read a number as libxml2 does: whole part and fraction are added up digit by digit, then put together."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    number = 0.0
    for digit in whole:
        number = number * 10 + float(digit)
    if fraction:
        zeros = len(fraction) - len(fraction.lstrip("0"))
        digits = fraction[zeros : zeros + 20]
        below = 0.0
        for digit in digits:
            below = below * 10 + float(digit)
        number += below / math.pow(10.0, zeros + len(digits))
    if exponent:
        number *= math.pow(10.0, float(exponent))
    return -number if mantissa.startswith("-") else number


def is_plain(values: Codes) -> NDArray[np.bool_]:
    """Tell which numbers are the same to a reader that adds up digits; missing ones are."""
    return np.array([value != value or read_by_digits(repr(value)) == value for value in values.tolist()], dtype=bool)


def plain(values: Codes, step: int = 0) -> Codes:
    """Round numbers to what every reader reads alike, and move them by so many of the steps that this leaves them."""
    large = np.abs(values) >= 1
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        on_lattice = np.ldexp(np.rint(np.ldexp(values, _BITS)) + step, -_BITS)
        places = _DIGITS - 1 - np.floor(np.log10(np.where(values == 0, 1.0, np.abs(values))))
        shift = np.minimum(places, 300)
        in_digits = (np.rint(values * 10.0**shift) + step) / 10.0**shift
    exact = large & (np.abs(values) < 2.0 ** (52 - _BITS))
    return np.where(exact, on_lattice, np.where(large | (values == 0), values, in_digits))


def computed_plainly(
    compute: Callable[[Mapping[str, Codes]], Codes], sources: Mapping[str, Codes], free: Sequence[str]
) -> tuple[dict[str, Codes], Codes]:
    """Compute an attribute from others such that every reader computes the same.

    Parameters
    ----------
    compute
        The attribute, as a function of the others.
    sources
        What it is computed from, one number a group.
    free
        Those of them that may move by their smallest steps.

    Returns
    -------
    sources, computed
        As they are to be published.
    """
    values = {**sources, **{name: plain(sources[name]) for name in free}}
    found = np.array(compute(values))
    odd = np.flatnonzero(~is_plain(found))
    for step in range(1, _STEPS):
        if not len(odd) or not free:
            break
        name = free[0]
        moved = {each: column[odd] for each, column in values.items()}
        moved[name] = plain(sources[name][odd], (step + 1) // 2 * (-1) ** step)
        again = compute(moved)
        right = is_plain(again) & is_plain(moved[name])
        values[name][odd[right]], found[odd[right]] = moved[name][right], again[right]
        odd = odd[~right]
    return values, found

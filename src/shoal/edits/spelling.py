"""Numbers that every reader reads alike, so that a product is exact for a validator as it is in memory.

The shortest text of a double reads back as that double only where the reader rounds correctly. Many do not: libxml2,
on which most Schematron validators stand, adds up digit by digit and is off in the last bit of one number in ten. Sums
on a lattice of few digits are safe from it. A product is made so: its factors are rounded to numbers that both kinds
of reader agree on, and moved by the smallest steps until they agree on the product as well.
"""

import math
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.float64]
Places = NDArray[np.int64]

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
    found: NDArray[np.bool_] = np.isnan(values) | (as_read_by_digits(values) == values)
    return found


def as_read_by_digits(values: Codes) -> Codes:
    """Give numbers as a reader has them that adds up digits."""
    with np.errstate(over="ignore", invalid="ignore"):
        ticks = np.ldexp(values, _BITS)
        on_lattice = (np.abs(ticks) < 2.0**52) & (np.rint(ticks) == ticks)
    read = values.copy()
    for place in np.flatnonzero(~on_lattice & np.isfinite(values)).tolist():
        read[place] = read_by_digits(repr(float(values[place])))
    return read


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


Compute: TypeAlias = Callable[[Mapping[str, Codes], Places], dict[str, Codes]]


def computed_plainly(
    compute: Compute,
    sources: Mapping[str, Codes],
    free: Mapping[str, tuple[Codes, Codes]],
    moved: Collection[str],
) -> dict[str, Codes]:
    """Compute attributes from others such that every reader computes the same.

    Parameters
    ----------
    compute
        What is computed of sources in some groups; NaN where it need not be plain.
    sources
        What it is computed from, one number a group.
    free
        Those of them that may be rounded, with the range that they stay in.
    moved
        Those of the free ones that may move by their smallest steps, all together.

    Returns
    -------
    dict
        The free ones as they are to be published: as they were where no step serves.
    """
    values = {**sources, **{name: _within(plain(sources[name]), sources[name], free[name]) for name in free}}
    odd = np.arange(len(next(iter(sources.values()))))
    odd = odd[~_all_plain(compute(values, odd), values, free)]
    for step in range(1, _STEPS):
        if not len(odd) or not moved:
            break
        trial = {name: column[odd] for name, column in values.items()}
        for name in moved:
            by = (step + 1) // 2 * (-1) ** step
            low, high = free[name]
            trial[name] = _within(plain(sources[name][odd], by), trial[name], (low[odd], high[odd]))
        right = _all_plain(compute(trial, odd), trial, free)
        for name in moved:
            values[name][odd[right]] = trial[name][right]
        odd = odd[~right]
    return {name: values[name] for name in free}


def _within(values: Codes, otherwise: Codes, range_: tuple[Codes, Codes]) -> Codes:
    low, high = range_
    return np.where((values >= low) & (values <= high), values, otherwise)


def _all_plain(computed: Mapping[str, Codes], values: Mapping[str, Codes], free: Collection[str]) -> NDArray[np.bool_]:
    columns = [*computed.values(), *(values[name] for name in free)]
    found: NDArray[np.bool_] = np.logical_and.reduce([is_plain(column) for column in columns])
    return found

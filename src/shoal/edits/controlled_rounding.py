"""Sums that hold exactly as written: representatives are put on a lattice, and what is left over is apportioned.

A mean keeps a sum of attributes up to the last bit, and a validator that compares doubles sees that bit. If the tied
attributes are whole multiples of one rounding base and their sums stay below 2^53 times that base, then no addition
rounds, in any order, as long as the base is a power of two. So each representative is rounded to the multiple below or
above it, whichever makes the sums exact at the least distance: this is the controlled rounding of tables [1]_, and how
seats of a parliament are apportioned by the largest remainder.

A number must also survive being written and read. libxml2, on which most Schematron validators stand, does not round
correctly when it reads one: its `xmlXPathStringEvalNumber` adds up the digits one by one in doubles, those of the whole
part, then at most twenty of the fraction, which it divides by a power of ten, and is off in the last bit of one number
in ten. Sums on a lattice of few digits are safe from it. A product is made so: its factors are rounded to numbers that
both kinds of reader agree on, and moved by the smallest steps until they agree on the product as well.

References
----------
.. [1] L. H. Cox and L. R. Ernst, "Controlled rounding", INFOR 20 (1982) 423-432.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from shoal.edits.apportionment import Column, Mask, Places, System, solve_block, total
from shoal.errors import DataError

_EXACT = 52  # bits: sums stay below 2^52 rounding bases, and rounding by a few does not bring them to 2^53
_READABLE = 15  # digits behind the point are exact for every reader
_ENOUGH = 20  # bits of a value that has no resolution of its own: a millionth
_FREE = 44  # bits of a value that has no resolution of its own
_GUARD = 10  # bits by which the rounding base is finer than the values, so that means of groups lose little
_GUARD_DIGITS = 3
_BITS, _DIGITS = 20, 9  # the most binary and decimal digits that count as a resolution of the data
_COEFFICIENT = 2**26  # beyond it, neither numerator nor denominator of a coefficient is one that a person wrote
_FEW = 64  # values that are looked at first
_FINEST = 1074  # all doubles are multiples of 2^-1074
_BLOCK = 1 << 15  # groups at a time: what is computed of them stays in the cache
_PLAIN_BITS = 12  # behind the point of a number that every reader reads alike: as many decimal digits
_PLAIN_DIGITS = 15  # of a number below one: as many as a double holds for certain
_LAST_DIGITS = 13  # of a number that may leave the range of its group by its last digits, and by no more
_PLAIN_STEPS = 64  # a step fails for one number in ten, so that sixty-four all do is not going to happen


@dataclass(frozen=True)
class Equality:
    """What must hold in every record: the sum of coefficient times attribute equals the constant."""

    coefficients: Mapping[str, float]
    constant: float = 0.0


@dataclass(frozen=True)
class RoundingBase:
    """The rounding base of a lattice, radix^-digits."""

    radix: Literal[2, 10]
    digits: int

    def to_multiples(self, values: Column) -> Column:
        """Divide values by the rounding base, not rounded; values on the lattice yield whole numbers."""
        if self.radix == 2:
            return np.ldexp(values, self.digits)
        multiples = values * 10.0**self.digits
        whole = np.rint(multiples)
        near = np.abs(multiples - whole) <= 2.0**-50 * np.abs(multiples)  # the product may be off in the last bits
        return np.where(near, whole, multiples)

    def from_multiples(self, multiples: Column | Places) -> Column:
        """Return the values of whole multiples: exact where the radix is 2, the nearest doubles where it is 10."""
        values = np.ldexp(multiples, -self.digits) if self.radix == 2 else multiples / 10.0**self.digits
        return np.asarray(values + 0.0)  # no negative zero, which would be written with its sign

    @property
    def text(self) -> str:
        """The step as people write it."""
        if self.digits == 0:
            return "1"
        return f"2^{-self.digits}" if self.radix == 2 else f"{10.0**-self.digits:.{self.digits}f}"


def rounding_base_of(
    columns: Mapping[str, Column],
    equalities: Sequence[Equality] = (),
    *,
    binary: bool,
    whole: bool = False,
    fine: bool = False,
) -> RoundingBase:
    """Choose the rounding base of attributes that equalities tie together.

    It is a thousand times finer than the resolution of the data, so that means lose next to nothing, and coarser only
    where sums would not be exact otherwise. Constants of equalities share the lattice, and their coefficients bound how
    large sums become; an attribute without a column (what a sum leaves over) is taken to be as large as all others of
    its equality together. With `binary` the base is a power of two, so that sums are exact in double arithmetic; with
    `whole` it is 1. With `fine` values keep as many digits as sums allow; otherwise no more digits behind the point
    than any reader of numbers gets right, as long as that leaves a millionth of the largest.
    """
    resolutions = {name: resolution_of(column) for name, column in columns.items()}
    return rounding_base_for(resolutions, equalities, binary=binary, whole=whole, fine=fine)


@dataclass(frozen=True)
class Resolution:
    """The size and the resolution of some values, from which a rounding base is chosen."""

    largest: float = 0.0  # of their sizes
    bits: int | None = 0  # how many binary digits behind the point they need; None if these are too many
    digits: int | None = 0  # likewise decimal digits

    def __add__(self, other: "Resolution") -> "Resolution":
        return Resolution(
            max(self.largest, other.largest), _more(self.bits, other.bits), _more(self.digits, other.digits)
        )


def resolution_of(column: Column) -> Resolution:
    """Return the resolution of some values; NaN and infinite ones are left out."""
    numbers = column[np.isfinite(column)]
    digits = (_digits_needed(numbers, 2, _BITS), _digits_needed(numbers, 10, _DIGITS))
    return Resolution(float(np.abs(numbers).max(initial=0)), *digits)


def _more(one: int | None, two: int | None) -> int | None:
    return None if one is None or two is None else max(one, two)


def rounding_base_for(
    resolutions: Mapping[str, Resolution],
    equalities: Sequence[Equality] = (),
    *,
    binary: bool,
    whole: bool = False,
    fine: bool = False,
) -> RoundingBase:
    """Choose the rounding base by the resolutions of the tied attributes alone; see `rounding_base_of`."""
    rows = [row for each in equalities if (row := _whole(each)) is not None]
    every = sum(resolutions.values(), resolution_of(np.array([row.constant for row in rows])))
    largest = {name: resolution.largest for name, resolution in resolutions.items()}
    exponent = _exponent(largest, rows)
    finest = min(_EXACT - exponent, _FINEST)
    if whole:
        if finest < 0:
            raise DataError("sums-too-large", columns=list(resolutions))
        return RoundingBase(2, 0)
    bits = every.bits
    digits = every.digits if bits is None else None
    if digits is not None and not binary:
        decimals = min(digits + _GUARD_DIGITS, math.floor(finest * math.log10(2)))
        if decimals >= digits:
            return RoundingBase(10, decimals)
    if digits is not None:
        bits = math.ceil(digits * math.log2(10))
    power = _power(max(largest.values(), default=0.0))
    wanted = _FREE - power if bits is None else bits + _GUARD
    if not fine:
        wanted = min(wanted, max(_READABLE, _ENOUGH - power if bits is None else bits))
    base = RoundingBase(2, min(wanted, finest))
    if bits is None or base.digits < bits:
        _refuse_coarse(base, largest)
    return base


def round_controlled(
    values: Mapping[str, Column],
    low: Mapping[str, Column],
    high: Mapping[str, Column],
    equalities: Sequence[Equality],
    base: RoundingBase,
    fixed: Collection[str] = (),
) -> dict[str, Column]:
    """Round representatives to the lattice so that equalities hold exactly, by small adjustments.

    `low` and `high` are the ranges of the groups. An equality is not imposed where one of its attributes is missing
    (NaN), nor if no lattice can hold it: a coefficient such as 0.1, or a constant off the lattice. Where `fixed`
    attributes are not on the lattice their equalities may remain unsolved. Each group is rounded on its own, and ties
    go to the attribute that comes first in `values`.

    1. Where an equality is off by more than half a rounding base, the difference is spread by least squares over the
       attributes that may move, within the ranges of the groups as far as they allow.
    2. Every attribute is rounded to the nearest multiple in its range, and the equalities are gone through in an order
       in which each finds an attribute that is not settled yet. What it then lacks is made up by multiples of such
       attributes, those with the largest remainder first. If rounding up instead of down and the other way round is
       not enough, the rest goes to those with the widest range; outside of it only where nothing else is left.

    A single equality, and equalities that form a tree (totals of totals), never need more than rounding up or down if
    their coefficients are 1 and -1: every value stays less than a rounding base away from where it was, and within its
    range. Where equalities form loops (a table with margins) totals may be some multiples away, and leave their range
    by as much.
    """
    rows = [row for each in equalities if (row := _in_multiples(each, base)) is not None]
    tied = {name for coefficients, _ in rows for name in coefficients}
    names = [name for name in values if name in tied]
    rounded = {name: values[name].copy() for name in names}
    system = System(
        np.array([[coefficients.get(name, 0) for name in names] for coefficients, _ in rows], dtype=np.float64),
        np.array([constant for _, constant in rows]),
        np.array([name in fixed for name in names], dtype=np.bool_),
    )
    orders: dict[bytes, list[int]] = {}
    for start in range(0, rounded[names[0]].size if names else 0, _BLOCK):
        block = slice(start, start + _BLOCK)
        x, lowest, highest = (
            np.array([base.to_multiples(of[name][block]) for name in names]) for of in (values, low, high)
        )
        if any((total(np.abs(a), np.abs(x)) >= 2.0**_EXACT).any() for a in system.a):
            raise DataError("sums-too-large", columns=names, step=base.text)
        n = solve_block(system, x, lowest, highest, orders)
        for name, multiples, must_stay in zip(names, n, system.fixed, strict=True):
            if not must_stay:
                rounded[name][block] = base.from_multiples(multiples)
    return {**values, **rounded}


def is_on_lattice(equality: Equality, base: RoundingBase) -> bool:
    """Return whether values on a lattice can make an equality exact."""
    return _in_multiples(equality, base) is not None


class _Whole(NamedTuple):
    """An equality times a power of two, its factor, that makes the coefficients whole."""

    coefficients: dict[str, int]
    constant: float  # without the factor
    factor: int


def _whole(equality: Equality) -> _Whole | None:
    ratios = {name: float(value).as_integer_ratio() for name, value in equality.coefficients.items() if value != 0}
    factor = max((denominator for _, denominator in ratios.values()), default=1)  # all are powers of two
    coefficients = {name: numerator * (factor // denominator) for name, (numerator, denominator) in ratios.items()}
    if max(factor, *map(abs, coefficients.values()), 1) > _COEFFICIENT:
        return None
    return _Whole(coefficients, equality.constant, factor)


def _in_multiples(equality: Equality, base: RoundingBase) -> tuple[dict[str, int], float] | None:
    """Write an equality in whole numbers: of multiples, and with coefficients that have no common divisor."""
    whole = _whole(equality)
    if whole is None:
        return None
    divisor = math.gcd(*whole.coefficients.values()) or 1
    multiples = float(base.to_multiples(np.array([whole.constant]))[0])
    if not multiples.is_integer() or int(multiples) * whole.factor % divisor:
        return None
    coefficients = {name: value // divisor for name, value in whole.coefficients.items()}
    return coefficients, float(int(multiples) * whole.factor // divisor)


def _exponent(largest: Mapping[str, float], rows: Sequence[_Whole]) -> int:
    """Bound all sums by a power of two, given the largest value of each attribute."""
    unit = _power(max((*largest.values(), *(abs(row.constant) for row in rows)), default=0.0))
    near_one = {name: math.ldexp(value, -unit) for name, value in largest.items()}  # no sum of them overflows
    sums = []
    for row in rows:
        known = math.ldexp(abs(row.constant), -unit) * row.factor
        known += sum(abs(value) * near_one[name] for name, value in row.coefficients.items() if name in near_one)
        sums.append(known if row.coefficients.keys() <= near_one.keys() else 2 * known)
    return unit + _power(max(sums, default=sum(near_one.values())))


def _power(value: float) -> int:
    """Return the smallest power of two that is larger than a value, as an exponent."""
    return math.frexp(value)[1]


def _digits_needed(numbers: Column, base: Literal[2, 10], most: int) -> int | None:
    """Count the digits behind the point that all numbers can do with, if they are not too many."""
    digits = 0
    for rest in (numbers[:_FEW], numbers):  # a few tell that there are too many
        digits = 0
        while (rest := _off(RoundingBase(base, digits), rest)).size:
            digits += 1
            if digits > most:
                return None
    return digits


def _off(lattice: RoundingBase, values: Column) -> Column:
    """Return the values that are not on a lattice."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not on it
        off: Column = values[lattice.from_multiples(np.rint(lattice.to_multiples(values))) != values]
    return off


def _refuse_coarse(base: RoundingBase, largest: Mapping[str, float]) -> None:
    """Refuse a rounding base beside which some attribute has hardly any values left."""
    small = [name for name, value in largest.items() if 0 < math.ldexp(value, base.digits) < 2**_GUARD]
    if small:
        large = [name for name, value in largest.items() if value == max(largest.values())]
        raise DataError("sizes-too-different", small=small, large=large)


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


def is_plain(values: Column) -> Mask:
    """Return which numbers are the same to a reader that adds up digits; missing ones are."""
    found: Mask = np.isnan(values) | (as_read_by_digits(values) == values)
    return found


def as_read_by_digits(values: Column) -> Column:
    """Return numbers as a reader that adds up digits has them."""
    with np.errstate(over="ignore", invalid="ignore"):
        multiples = np.ldexp(values, _PLAIN_BITS)
        on_lattice = (np.abs(multiples) < 2.0**52) & (np.rint(multiples) == multiples)
    read = values.copy()
    for place in np.flatnonzero(~on_lattice & np.isfinite(values)).tolist():
        read[place] = read_by_digits(repr(float(values[place])))
    return read


def plain(values: Column, step: int = 0) -> Column:
    """Round numbers to what every reader reads alike, and move them by so many of the steps that this leaves them."""
    large = np.abs(values) >= 1
    with np.errstate(over="ignore", invalid="ignore"):
        on_lattice = np.ldexp(np.rint(np.ldexp(values, _PLAIN_BITS)) + step, -_PLAIN_BITS)
    exact = large & (np.abs(values) < 2.0 ** (52 - _PLAIN_BITS))
    return np.where(exact, on_lattice, np.where(large, values, _in_digits(values, _PLAIN_DIGITS, step)))


def _in_digits(values: Column, digits: int, step: int) -> Column:
    """Round numbers to so many digits, and move them by so many units of the last one; zeros stay."""
    with np.errstate(over="ignore", invalid="ignore"):
        places = digits - 1 - np.floor(np.log10(np.where(values == 0, 1.0, np.abs(values))))
        up, down = 10.0 ** np.clip(places, 0, 300), 10.0 ** np.clip(-places, 0, 300)  # a power of ten is a whole number
        rounded = (np.rint(values * up / down) + step) / up * down
    return np.where(values == 0, values, rounded)


Compute: TypeAlias = Callable[[Mapping[str, Column], Places], dict[str, Column]]


def computed_plainly(
    compute: Compute,
    sources: Mapping[str, Column],
    free: Mapping[str, tuple[Column, Column]],
    moved: Collection[str],
) -> dict[str, Column]:
    """Return the free sources of attributes that are computed, such that every reader computes the same.

    `compute` returns the computed attributes of some groups, NaN where they need not be plain. `free` sources may be
    rounded within their ranges; those `moved` may also move by their smallest steps, all together. Where no step
    serves, as in a group whose range is a single number, sources may leave their ranges by their last digits.
    """
    values = {**sources, **{name: _within(plain(sources[name]), sources[name], free[name]) for name in free}}
    odd = np.arange(len(next(iter(sources.values()))))
    odd = odd[~_all_plain(compute(values, odd), values, free)]
    for step in range(1, _PLAIN_STEPS):
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
    for step in range(_PLAIN_STEPS if free else 0):
        if not len(odd):
            break
        trial = {name: column[odd] for name, column in values.items()}
        *others, last = free
        trial |= {name: _plain_at_last(trial[name]) for name in others}
        trial[last] = _in_digits(trial[last], _LAST_DIGITS, (step + 1) // 2 * (-1) ** step)
        right = _all_plain(compute(trial, odd), trial, free)
        for name in free:
            values[name][odd[right]] = trial[name][right]
        odd = odd[~right]
    return {name: values[name] for name in free}


def _plain_at_last(values: Column) -> Column:
    return np.where(is_plain(values), values, _in_digits(values, _LAST_DIGITS, 0))


def _within(values: Column, otherwise: Column, range_: tuple[Column, Column]) -> Column:
    low, high = range_
    return np.where((values >= low) & (values <= high), values, otherwise)


def _all_plain(computed: Mapping[str, Column], values: Mapping[str, Column], free: Collection[str]) -> Mask:
    columns = [*computed.values(), *(values[name] for name in free)]
    found: Mask = np.logical_and.reduce([is_plain(column) for column in columns])
    return found

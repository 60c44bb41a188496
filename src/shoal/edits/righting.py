"""What groups publish, put right: sums exact as written, whole numbers whole, and what follows from others computed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.edits.demands import Recomputed, Sum
from shoal.edits.evaluation import Records, holds, value
from shoal.edits.expressions import attributes_of
from shoal.edits.forms import dependent
from shoal.edits.keeping import Keeping
from shoal.edits.lattice import Equality, Grain, Tick, grain_of, put_right, tick_for
from shoal.edits.spelling import computed_plainly

Codes = NDArray[np.float64]
Labels = NDArray[np.int64]

_NEAR = 1e-9  # sums that differ by so much of their largest term differ by rounding only


@dataclass(frozen=True)
class Righted:
    """What is published, and by how much each attribute may lie outside the range of its group."""

    values: dict[str, Codes]
    slack: dict[str, float]


@dataclass(frozen=True)
class Grounds:
    """What the ticks of sums are chosen from, of some records.

    Attributes
    ----------
    grains
        Of the attributes that sums tie.
    over
        For the sums that are tied together, whether each leaves something over in some record.
    """

    grains: Mapping[str, Grain]
    over: list[list[bool]]

    def __add__(self, other: "Grounds") -> "Grounds":
        pairs = zip(self.over, other.over, strict=True)
        over = [[a or b for a, b in zip(one, two, strict=True)] for one, two in pairs]
        return Grounds({name: grain + other.grains[name] for name, grain in self.grains.items()}, over)


def grounds_of(keeping: Keeping, original: Mapping[str, Codes]) -> Grounds:
    """Look at some records of the original."""
    names = {name: None for each in keeping.sums for name in each.form.coefficients}
    over = [[_is_over(_rest(each, original)) for each in sums] for sums in _tied(keeping.sums)]
    return Grounds({name: grain_of(original[name]) for name in names}, over)


def ticks_of(keeping: Keeping, grounds: Grounds, whole: Collection[str] = ()) -> list[Tick]:
    """Choose a tick for each set of sums that are tied together, the same for all records of a file.

    `whole` are the attributes that are published as whole numbers, rules or not.
    """
    ticks = []
    for sums, over in zip(_tied(keeping.sums), grounds.over, strict=True):
        names = _names(sums)
        grains = {name: grounds.grains[name] for name in names}
        binary = any(each.comparison.exact for each in sums)
        is_whole = bool({*whole, *keeping.whole} & {*names})
        ticks.append(tick_for(grains, _equalities(sums, over), binary=binary, whole=is_whole))
    return ticks


def righted(
    keeping: Keeping,
    original: Mapping[str, Codes],
    published: Mapping[str, Codes],
    labels: Mapping[str, Labels],
    whole: Collection[str] = (),
    ticks: Sequence[Tick] | None = None,
) -> Righted:
    """Put right what groups publish, so that the rules hold exactly.

    Parameters
    ----------
    keeping
        How the rules are kept.
    original, published
        The numbers of each masked attribute, before and after: one a record, NaN where there is none.
    labels
        The group of each record, for every attribute.
    whole
        Attributes that are published as whole numbers, rules or not.
    ticks
        Of the sums that are tied together, where these are but some records of a file: see `ticks_of`.
    """
    values, slack = dict(published), {}
    if ticks is None:
        ticks = ticks_of(keeping, grounds_of(keeping, original), whole)
    whole = {*whole, *keeping.whole}
    settled: set[str] = set()
    for sums, tick in zip(_tied(keeping.sums), ticks, strict=True):
        names = _names(sums)
        settled |= {*names}
        groups = _Groups(labels[names[0]])
        for name in (keeping.fixed - keeping.members) & {*names}:  # it stays, but may well stay on the lattice
            values[name] = tick.from_ticks(np.rint(tick.to_ticks(values[name])))
        changed = _with_orders(sums, groups, original, values, keeping.fixed, tick)
        for name, codes in changed.items():
            slack[name] = float(np.nanmax(np.abs(codes - values[name]), initial=0.0))
            values[name] = codes
    for name in whole - settled:
        if name in values:
            values[name] = np.rint(values[name])
    held = {*settled, *whole, *keeping.fixed, *(each.name for each in keeping.recomputed), *keeping.members}
    for each in keeping.recomputed:
        for name, codes in _recomputed(each, _Groups(labels[each.name]), original, values, held).items():
            slack[name] = max(slack.get(name, 0.0), float(np.nanmax(np.abs(codes - values[name]), initial=0.0)))
            values[name] = codes
        held |= {*attributes_of(each.value)}
        slack[each.name] = np.inf
    return Righted(values, slack)


class _Groups:
    """The groups of a partition: a record of each, and the range of a column within each."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self._order = np.argsort(labels, kind="stable")
        self._starts = np.flatnonzero(np.diff(labels[self._order], prepend=-1))
        self.first = self._order[self._starts]

    def low(self, codes: Codes) -> Codes:
        return np.fmin.reduceat(codes[self._order], self._starts)

    def high(self, codes: Codes) -> Codes:
        return np.fmax.reduceat(codes[self._order], self._starts)

    def mean(self, codes: Codes) -> Codes:
        present = ~np.isnan(codes)
        sums = np.add.reduceat(np.where(present, codes, 0.0)[self._order], self._starts)
        with np.errstate(invalid="ignore"):  # a group in which nobody has it has no mean
            return sums / np.add.reduceat(present[self._order].astype(np.float64), self._starts)

    def all(self, holds: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.logical_and.reduceat(holds[self._order], self._starts)


def _tied(sums: Sequence[Sum]) -> Iterator[list[Sum]]:
    """Gather sums that share attributes, directly or through others."""
    home: dict[str, str] = {}  # of each attribute another one that it is tied to, in the end always the same

    def root(name: str) -> str:
        while home.setdefault(name, name) != name:
            home[name] = home[home[name]]
            name = home[name]
        return name

    for each in sums:
        first, *others = each.form.coefficients
        for other in others:
            home[root(other)] = root(first)
    gathered: dict[str, list[Sum]] = {}
    for each in sums:
        gathered.setdefault(root(next(iter(each.form.coefficients))), []).append(each)
    yield from gathered.values()


def _names(sums: Sequence[Sum]) -> list[str]:
    return list(dict.fromkeys(name for each in sums for name in each.form.coefficients))


def _equalities(sums: Sequence[Sum], over: Sequence[bool]) -> list[Equality]:
    """Write sums as equalities: what one leaves over is carried along like an attribute of its own."""
    left = [{_over(number): -1.0} if leaves else {} for number, leaves in enumerate(over)]
    return [
        Equality({**each.form.coefficients, **rest}, each.form.constant) for each, rest in zip(sums, left, strict=True)
    ]


def _over(number: int) -> str:
    return f"left over in sum {number}"


def _with_orders(
    sums: Sequence[Sum],
    groups: _Groups,
    original: Mapping[str, Codes],
    published: Mapping[str, Codes],
    fixed: Collection[str],
    tick: Tick,
) -> dict[str, Codes]:
    """Put equalities right; of the inequalities only those that do not hold of themselves, which are few."""
    taken = [each for each in sums if each.comparison.sign == "=="]
    waiting = [(each, *_outcomes(each, groups, original)) for each in sums if each.comparison.sign != "=="]
    while True:
        changed = _put_right(taken, groups, original, published, fixed, tick) if taken else {}
        now = _records({name: {**published, **changed}[name][groups.first] for name in _names(sums)}, slice(None))
        broken, left = [], []
        for each, always, never in waiting:
            outcome = holds(each.comparison, now)
            (broken if (always & ~outcome | never & outcome).any() else left).append((each, always, never))
        if not broken:
            return changed
        taken, waiting = [*taken, *(each for each, _, _ in broken)], left


def _outcomes(each: Sum, groups: _Groups, original: Mapping[str, Codes]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell the groups all of whose records obey a comparison, and those of which none does."""
    held = holds(each.comparison, _records({name: original[name] for name in each.form.coefficients}, slice(None)))
    return groups.all(held), groups.all(~held)


def _put_right(
    sums: Sequence[Sum],
    groups: _Groups,
    original: Mapping[str, Codes],
    published: Mapping[str, Codes],
    fixed: Collection[str],
    tick: Tick,
) -> dict[str, Codes]:
    """Put the attributes of tied sums on a lattice on which the sums are exact.

    What a sum leaves over in the records (nothing for an equality, what it falls short of for an inequality) stays
    within the range that it has in each group.
    """
    names = _names(sums)
    values = {name: published[name][groups.first] for name in names}
    low = {name: groups.low(original[name]) for name in names}
    high = {name: groups.high(original[name]) for name in names}
    rests = [_rest(each, original) for each in sums]
    for number, rest in enumerate(rests):
        if _is_over(rest):
            over = _over(number)
            values[over], low[over], high[over] = groups.mean(rest), groups.low(rest), groups.high(rest)
    equalities = _equalities(sums, [_is_over(rest) for rest in rests])
    right = put_right(values, low, high, equalities, tick, fixed)
    changed = {name: right.values[name][groups.labels] for name in names}
    for number in right.inexact:  # no lattice holds it: what the rule itself says one attribute is must do
        if sums[number].comparison.sign == "==" and (ways := dependent(sums[number].comparison)):
            name, expression = ways[0]
            anew = Recomputed(name, expression, sums[number].comparison)
            changed |= _recomputed(anew, groups, original, {**published, **changed}, {*published})
    return changed


def _rest(each: Sum, original: Mapping[str, Codes]) -> Codes:
    """Give what is left of a sum in every record when its constant is taken off; rounding errors are nothing."""
    terms: list[Codes] = [factor * original[name] for name, factor in each.form.coefficients.items()]
    total = np.sum(terms, axis=0) - each.form.constant
    size = np.max(np.abs(terms), axis=0)
    return np.where(np.abs(total) <= _NEAR * np.maximum(size, abs(each.form.constant)), 0.0, total)


def _is_over(rest: Codes) -> bool:
    return bool(np.nanmax(np.abs(rest), initial=0.0) > 0)


def _recomputed(
    each: Recomputed,
    groups: _Groups,
    original: Mapping[str, Codes],
    published: Mapping[str, Codes],
    held: Collection[str],
) -> dict[str, Codes]:
    """Compute an attribute from what is published of others, in the groups whose records all obey the equality.

    Where it must be exact to a validator, those others that are not held may move by their last digits.
    """
    obeyed = groups.all(holds(replace(each.comparison, exact=False), _records(original, slice(None))))
    names = attributes_of(each.value)
    sources = {name: published[name][groups.first] for name in names}
    free = [name for name in names if name not in held] if each.comparison.exact else []
    values, found = computed_plainly(lambda of: value(each.value, _records(of, slice(None))), sources, free)
    values[each.name] = found
    return {
        name: np.where(obeyed, column, published[name][groups.first])[groups.labels]
        for name, column in values.items()
        if name in (*free, each.name)
    }


def _records(columns: Mapping[str, Codes], rows: NDArray[np.int64] | slice) -> Records:
    return Records({name: pa.array(codes[rows], mask=np.isnan(codes[rows])) for name, codes in columns.items()})

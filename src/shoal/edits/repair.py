"""What groups publish, repaired: sums exact as written, whole numbers whole, and what follows from others computed."""

import operator
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np

from shoal.edits.apportionment import Places
from shoal.edits.controlled_rounding import (
    Equality,
    Resolution,
    RoundingBase,
    computed_plainly,
    is_on_lattice,
    resolution_of,
    round_controlled,
    rounding_base_for,
)
from shoal.edits.evaluate import TOLERANCE, value
from shoal.edits.expressions import Condition, attributes_of
from shoal.edits.fallback import fall_back
from shoal.edits.groups import Codes, Groups, Labels, Outcome, Truths, as_records, complete, gathered, holds_in, outcome
from shoal.edits.normal_forms import dependent
from shoal.edits.requirements import Recomputed, Sum
from shoal.edits.strategy import Strategy
from shoal.errors import DataError

_ROUNDING = 2.0**-20  # of a day: what a mean that is a whole day may be off by


@dataclass(frozen=True)
class Repaired:
    """Published values of each record, and how far the repair went."""

    values: dict[str, Codes]  # one number a record
    slack: dict[str, float]  # by how much each attribute may lie outside the range of its group
    own: int = 0  # how many groups publish one of their own records, as no adjustment of aggregates keeps all rules
    misread: int = 0  # in how many groups an equality holds, but not to a reader that adds up the digits of numbers


@dataclass(frozen=True)
class RoundingInputs:
    """What the rounding bases of sums are chosen from, of some records."""

    resolutions: Mapping[str, Resolution]  # of the attributes that sums tie
    over: list[list[bool]]  # for the sums that are tied together, whether each leaves something over in some record

    def __add__(self, other: "RoundingInputs") -> "RoundingInputs":
        pairs = zip(self.over, other.over, strict=True)
        over = [[a or b for a, b in zip(one, two, strict=True)] for one, two in pairs]
        return RoundingInputs(
            {name: resolution + other.resolutions[name] for name, resolution in self.resolutions.items()}, over
        )


def rounding_inputs_of(strategy: Strategy, original: Mapping[str, Codes]) -> RoundingInputs:
    """Collect what rounding bases are chosen from in some records of the original."""
    names = {name: None for each in strategy.sums for name in each.form.coefficients}
    over = [[_is_over(_rest(each, original)) for each in sums] for sums in _tied(strategy.sums)]
    return RoundingInputs({name: resolution_of(original[name]) for name in names}, over)


def rounding_bases_of(
    strategy: Strategy, rounding_inputs: RoundingInputs, whole: Collection[str] = ()
) -> list[RoundingBase]:
    """Choose a rounding base for each set of sums that are tied together, the same for all records of a file.

    `whole` are the attributes that are published as whole numbers, rules or not.
    """
    rounding_bases = []
    for sums, over in zip(_tied(strategy.sums), rounding_inputs.over, strict=True):
        names = _names(sums)
        resolutions = {name: rounding_inputs.resolutions[name] for name in names}
        wholes = [name for name in names if name in {*whole, *strategy.whole}]
        others = [name for name in names if resolutions[name].bits != 0]
        is_equal = any(each.comparison.sign == "==" and not rest for each, rest in zip(sums, over, strict=True))
        if wholes and others and is_equal:
            raise DataError("whole-tied-to-fractions", columns=wholes, others=others)
        exact = any(each.comparison.exact for each in sums)
        fine = not exact and bool(strategy.members & {*names})  # what occurs is not on a lattice, but may be near one
        is_whole = bool(wholes) and not others
        rounding_bases.append(
            rounding_base_for(resolutions, _equalities(sums, over), binary=exact, whole=is_whole, fine=fine)
        )
    return rounding_bases


def repaired(
    strategy: Strategy,
    original: Mapping[str, Codes],
    published: Mapping[str, Codes],
    labels: Mapping[str, Labels],
    whole: Collection[str] = (),
    rounding_bases: Sequence[RoundingBase] | None = None,
) -> Repaired:
    """Repair what groups publish, so that the rules hold exactly.

    `original` and `published` have one number a record, NaN where there is none; `labels` the groups of every
    attribute; `whole` the attributes that are published as whole numbers, rules or not. `rounding_bases` are those of
    the whole file where these are some of its records.
    """
    if rounding_bases is None:
        rounding_bases = rounding_bases_of(strategy, rounding_inputs_of(strategy, original), whole)
    values, slack = dict(published), dict.fromkeys((each.name for each in strategy.recomputed), np.inf)
    own = misread = 0
    for partition in {id(each): each for each in labels.values()}.values():
        names = [name for name, each in labels.items() if each is partition and name in published]
        groups = Groups(partition)
        block = _Block(
            strategy,
            groups,
            {name: original[name] for name in names},
            {*whole, *strategy.whole} & {*names},
            {name: published[name][groups.first] for name in names},
        )
        block.repair(list(zip(_tied(strategy.sums), rounding_bases, strict=True)))
        slack = {**block.slack, **slack}
        values |= {name: block.values[name][partition] for name in block.changed}
        own, misread = own + block.own, misread + block.misread
    return Repaired(values, slack, own, misread)


@dataclass
class _Block:
    """The attributes of one partition: what its groups publish, one number each, is repaired step by step."""

    strategy: Strategy
    groups: Groups
    original: Mapping[str, Codes]
    whole: set[str]
    values: dict[str, Codes]
    slack: dict[str, float] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    own: int = 0
    misread: int = 0

    def repair(self, tied: Sequence[tuple[Sequence[Sum], RoundingBase]]) -> None:
        """Repair sums, then what must be whole, then what is computed from others; fall back on records at last."""
        tied = [(sums, base) for sums, base in tied if {*_names(sums)} <= self.values.keys()]
        outcomes = self._outcomes()
        computed: list[Recomputed] = []
        settled: set[str] = set()
        rounded: set[str] = set()
        for sums, base in tied:
            is_on = [is_on_lattice(_equality(each), base) for each in sums]
            on_lattice = list(compress(sums, is_on))
            off_lattice = list(compress(sums, map(operator.not_, is_on)))
            moved = self._sums(on_lattice, base, outcomes)
            settled |= {*_names(on_lattice)}
            rounded |= moved if base.digits <= 0 else set()
            computed += _computed(off_lattice, {*settled, *self.strategy.fixed})
        unrounded = self._whole(rounded)
        computed += [each for each in self.strategy.recomputed if each.name in self.values]
        self._compute(computed, settled)
        promised = {each.name for each in self.strategy.requirements if each.promised}
        found = fall_back(list(outcomes.values()), self.groups, self.original, self.values, unrounded, promised)
        self.values |= found.values
        self.changed |= found.values.keys()
        self.own, self.misread = found.own, found.misread

    def _outcomes(self) -> dict[Condition, Outcome]:
        ties = [tie for tie in self.strategy.ties if {*attributes_of(tie.condition)} <= self.values.keys()]
        return {tie.condition: outcome(tie, self.groups, self.original) for tie in ties}

    def _take(self, name: str, codes: Codes) -> None:
        """Publish other numbers, and remember how far they are from the aggregates."""
        moved = float(np.nanmax(np.abs(codes - self.values[name]), initial=0.0))
        self.slack[name] = max(self.slack.get(name, 0.0), moved)
        self.values[name] = codes
        self.changed.add(name)

    def _sums(self, sums: Sequence[Sum], base: RoundingBase, outcomes: Mapping[Condition, Outcome]) -> set[str]:
        """Repair equalities; of the inequalities only those that do not hold of themselves, which are few.

        Return the attributes that are on the lattice now.
        """
        names = _names(sums)
        for name in (self.strategy.fixed - self.strategy.members) & {*names}:  # it stays, but may stay on the lattice
            self._take(name, base.from_multiples(np.rint(base.to_multiples(self.values[name]))))
        taken = [each for each in sums if each.comparison.sign == "=="]
        waiting = [each for each in sums if each.comparison.sign != "=="]
        while True:
            found = self._on_lattice(taken, base) if taken else {}
            now = {**self.values, **found}
            is_broken = [bool(outcomes[each.comparison].broken(now).any()) for each in waiting]
            if not any(is_broken):
                break
            taken += compress(waiting, is_broken)
            waiting = list(compress(waiting, map(operator.not_, is_broken)))
        for name, codes in found.items():
            self._take(name, codes)
        return {*found}

    def _on_lattice(self, sums: Sequence[Sum], base: RoundingBase) -> dict[str, Codes]:
        """Round the attributes of tied sums to a lattice on which the sums are exact.

        What a sum leaves over in the records (nothing for an equality, what it falls short of for an inequality) stays
        within the range that it has in each group.
        """
        names = _names(sums)
        values = {name: self.values[name] for name in names}
        low = {name: self.groups.low(self.original[name]) for name in names}
        high = {name: self.groups.high(self.original[name]) for name in names}
        rests = [_rest(each, self.original) for each in sums]
        for number, rest in enumerate(rests):
            if _is_over(rest):
                over = _over(number)
                values[over] = self.groups.mean(rest)
                low[over], high[over] = self.groups.low(rest), self.groups.high(rest)
        equalities = _equalities(sums, [_is_over(rest) for rest in rests])
        rounded = round_controlled(values, low, high, equalities, base, self.strategy.fixed)
        return {name: rounded[name] for name in names}

    def _whole(self, rounded: set[str]) -> dict[str, Codes]:
        """Round what must be whole, and return it as it was; dates whose order counts are rounded down."""
        unrounded = {name: self.values[name] for name in sorted(self.whole - rounded)}
        for name, codes in unrounded.items():
            low, high = self.groups.low(self.original[name]), self.groups.high(self.original[name])
            self.values[name] = np.rint(codes)
            outside = np.fmax(low - self.values[name], self.values[name] - high)
            self.slack[name] = float(np.nanmax(outside, initial=0.0))
        for name in sorted(self.strategy.earlier & self.values.keys()):
            self.values[name] = np.floor(self.values[name] + _ROUNDING)
        self.changed |= unrounded.keys() | (self.strategy.earlier & self.values.keys())
        return unrounded

    def _compute(self, computed: Sequence[Recomputed], settled: set[str]) -> None:
        """Compute attributes from what is published of others, in the groups whose records all obey the equality.

        Where it must be exact to a validator, those others that are not held may move by their last digits.
        """
        if not computed:
            return
        held = {*settled, *self.whole, *self.strategy.fixed, *self.strategy.members, *(each.name for each in computed)}
        obeyed = [self._obeyed(each) for each in computed]
        exact = [[n for n in attributes_of(each.value) if n not in held] for each in computed if each.comparison.exact]
        free = {name: self._range(name) for names in exact for name in names}

        def compute(values: Mapping[str, Codes], places: Places) -> dict[str, Codes]:
            there = [each[places] for each in obeyed]
            found = _computed_from(values, computed, there)
            pairs = zip(computed, there, strict=True)
            return {each.name: np.where(is_, found[each.name], np.nan) for each, is_ in pairs if each.comparison.exact}

        sources = {name: self.values[name] for each in computed for name in attributes_of(each.comparison)}
        moved = dict.fromkeys(names[0] for names in exact if names)
        somewhere = np.logical_or.reduce(obeyed)
        for name, codes in computed_plainly(compute, sources, free, moved).items():
            self._take(name, np.where(somewhere, codes, self.values[name]))
        for name, codes in _computed_from(self.values, computed, obeyed).items():
            self._take(name, codes)

    def _obeyed(self, each: Recomputed) -> Truths:
        names = attributes_of(each.comparison)
        full = complete(names, self.original)
        held = holds_in(replace(each.comparison, exact=False), self.original)
        known = self.groups.any(full) & complete(names, self.values)
        return self.groups.all(held | ~full) & known

    def _range(self, name: str) -> tuple[Codes, Codes]:
        return self.groups.low(self.original[name]), self.groups.high(self.original[name])


def _tied(sums: Sequence[Sum]) -> Iterator[list[Sum]]:
    """Gather sums that share attributes, directly or through others."""
    for places in gathered([list(each.form.coefficients) for each in sums]):
        yield [sums[place] for place in places]


def _names(sums: Sequence[Sum]) -> list[str]:
    return list(dict.fromkeys(name for each in sums for name in each.form.coefficients))


def _equality(each: Sum) -> Equality:
    """Write a sum as an equality; the constant of an inequality goes with what it leaves over."""
    return Equality(each.form.coefficients, each.form.constant if each.comparison.sign == "==" else 0.0)


def _equalities(sums: Sequence[Sum], over: Sequence[bool]) -> list[Equality]:
    """Write sums as equalities: what one leaves over is carried along like an attribute of its own."""
    return [
        replace(_equality(each), coefficients={**each.form.coefficients, **({_over(number): -1.0} if leaves else {})})
        for number, (each, leaves) in enumerate(zip(sums, over, strict=True))
    ]


def _over(number: int) -> str:
    return f"left over in sum {number}"


def _rest(each: Sum, original: Mapping[str, Codes]) -> Codes:
    """Compute what a sum, less its constant, leaves over in every record; rounding errors count as zero."""
    terms: list[Codes] = [factor * original[name] for name, factor in each.form.coefficients.items()]
    constant = _equality(each).constant
    total = np.sum(terms, axis=0) - constant
    size = np.max(np.abs(terms), axis=0)
    return np.where(np.abs(total) <= TOLERANCE * np.maximum(size, abs(constant)), 0.0, total)


def _is_over(rest: Codes) -> bool:
    return bool(np.nanmax(np.abs(rest), initial=0.0) > 0)


def _computed(sums: Sequence[Sum], held: Collection[str]) -> list[Recomputed]:
    """Compute one attribute from each equality of no lattice, if there is one that no other equality holds."""
    found: list[Recomputed] = []
    uses = Counter(name for each in sums for name in each.form.coefficients)
    for each in sums:
        ways = [(name, value) for name, value in dependent(each.comparison) if name not in held and uses[name] == 1]
        found += [Recomputed(name, value, each.comparison) for name, value in ways[:1]]
    return found


def _computed_from(
    values: Mapping[str, Codes], computed: Sequence[Recomputed], obeyed: Sequence[Truths]
) -> dict[str, Codes]:
    """Compute one attribute after the other, in the groups where all records obey."""
    now = dict(values)
    for each, there in zip(computed, obeyed, strict=True):
        found = value(each.value, as_records(attributes_of(each.value), now))
        if not np.isfinite(found[there]).all():
            raise DataError("not-computable", column=each.name, columns=attributes_of(each.value))
        now[each.name] = np.where(there, found, now[each.name])
    return {each.name: now[each.name] for each in computed}

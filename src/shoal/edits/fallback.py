"""Groups that publish one of their own records, where no adjustment of their aggregates keeps all rules.

What all records of a group obey, each of them obeys: so where rounding to a base, to whole numbers or to what every
reader reads alike brings a rule and a bound into conflict, the record that is nearest to the representative takes its
place, in the attributes that rules tie together.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from shoal.edits.controlled_rounding import as_read_by_digits
from shoal.edits.expressions import Comparison
from shoal.edits.groups import Codes, Groups, Labels, Outcome, Truths, complete, gathered
from shoal.errors import DataError


@dataclass(frozen=True)
class Fallback:
    """What groups publish after all."""

    values: dict[str, Codes]  # of the attributes that changed, one number a group
    own: int = 0  # how many groups publish one of their own records
    misread: int = 0  # in how many an equality holds, but not to a reader that adds up the digits of numbers


def fall_back(
    outcomes: Sequence[Outcome],
    groups: Groups,
    original: Mapping[str, Codes],
    published: Mapping[str, Codes],
    unrounded: Mapping[str, Codes],
    promised: Collection[str],
) -> Fallback:
    """Publish for a group what comes out alike in all its records.

    `published` has one number a group. `unrounded` are attributes before they were rounded to whole numbers: they may
    be rounded down or up instead. A group without a record that obeys a rule of `promised` is refused.
    """
    values = dict(published)
    changed: set[str] = set()
    own, misread = np.zeros((2, len(groups)), dtype=bool)
    for places in gathered([each.names for each in outcomes]):
        own_outcomes = [outcomes[place] for place in places]
        names = list(dict.fromkeys(name for each in own_outcomes for name in each.names))
        part = _Part(own_outcomes, names, groups, original, promised)
        wrong = part.broken(values)
        if wrong.any() and (loose := [name for name in part.names if name in unrounded]):
            wrong = _rounded_otherwise(part, loose, unrounded, values, wrong)
            changed |= {*loose}
        asked = np.flatnonzero(wrong | part.misread(values))
        if len(asked):
            chosen, left = part.nearest(values, asked)
            for name in part.names:
                values[name] = values[name].copy()
                values[name][groups.labels[chosen]] = original[name][chosen]
            changed |= {*part.names}
            own[groups.labels[chosen]] = True
            misread[left] = True
    return Fallback({name: values[name] for name in changed}, int(own.sum()), int(misread.sum()))


def _rounded_otherwise(
    part: "_Part", loose: Sequence[str], unrounded: Mapping[str, Codes], values: dict[str, Codes], wrong: Truths
) -> Truths:
    """Round whole numbers down, or else up, in groups where the nearest ones change places; return those left."""
    for rounding in (np.floor, np.ceil):
        trial = {name: values[name] for name in part.names} | {name: rounding(unrounded[name]) for name in loose}
        better = wrong & ~part.broken(trial)
        for name in loose:
            values[name] = np.where(better, trial[name], values[name])
        wrong = wrong & ~better
    return wrong


@dataclass(frozen=True)
class _Part:
    """Attributes that are tied together, and how their ties must come out."""

    outcomes: Sequence[Outcome]
    names: Sequence[str]
    groups: Groups
    original: Mapping[str, Codes]
    promised: Collection[str]

    def broken(self, published: Mapping[str, Codes], groups: Labels | slice = slice(None)) -> Truths:
        return _any(published, [each.broken(published, groups) for each in self.outcomes])

    def misread(self, published: Mapping[str, Codes], groups: Labels | slice = slice(None)) -> Truths:
        """Return where an equality does not hold to a reader that adds up digits."""
        equal = [each for each in self.outcomes if _is_exact(each)]
        names = dict.fromkeys(name for each in equal for name in each.names)
        read = {name: as_read_by_digits(published[name]) for name in names}
        return _any(published, [each.broken(read, groups) for each in equal])

    def nearest(self, published: Mapping[str, Codes], asked: Labels) -> tuple[Labels, Labels]:
        """Find the record of some groups that is nearest to what they publish, and obeys.

        Also return the groups where a reader that adds up digits will still not see an equality hold.
        """
        is_asked = np.zeros(len(self.groups), dtype=bool)
        is_asked[asked] = True
        rows = np.flatnonzero(is_asked[self.groups.labels])
        own = self.groups.labels[rows]
        records = {name: self.original[name][rows] for name in self.names}
        there = {name: published[name][own] for name in self.names}
        lacking = ~complete(self.names, {n: np.where(np.isnan(there[n]), 0.0, records[n]) for n in self.names})
        bad = self.broken(records, own) | lacking
        odd = self.misread(records, own)
        distance = np.zeros(len(rows))
        for name in self.names:
            spread = (self.groups.high(self.original[name]) - self.groups.low(self.original[name]))[own]
            with np.errstate(invalid="ignore", divide="ignore"):
                distance += np.where(spread > 0, ((records[name] - there[name]) / spread) ** 2, 0.0)
        order = np.lexsort((*(records[name] for name in reversed(self.names)), distance, odd, bad, own))
        first = order[np.flatnonzero(np.diff(own[order], prepend=-1))]
        wrong = self.broken({name: published[name][asked] for name in self.names}, asked)
        if (stuck := wrong & bad[first]).any():
            self._refuse({name: published[name][asked] for name in self.names}, asked, stuck)
        better = ~bad[first] & (wrong | ~odd[first])
        return rows[first[better]], asked[~better & ~wrong | better & odd[first]]

    def _refuse(self, published: Mapping[str, Codes], asked: Labels, stuck: Truths) -> None:
        for each in self.outcomes:
            broken = each.broken(published, asked) & stuck
            if each.tie.rule in self.promised and broken.any():
                raise DataError("no-record-obeys", rule=each.tie.rule, groups=int(broken.sum()))


def _any(published: Mapping[str, Codes], found: Sequence[Truths]) -> Truths:
    nothing = np.zeros(len(next(iter(published.values()))), dtype=bool)
    return reduce(np.logical_or, found, nothing)


def _is_exact(outcome: Outcome) -> bool:
    condition = outcome.tie.condition
    return len(outcome.names) > 1 and isinstance(condition, Comparison) and condition.exact and condition.sign == "=="

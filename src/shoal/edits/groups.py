"""The groups of a partition, and how conditions of rules come out in them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.edits.evaluate import Records, holds
from shoal.edits.expressions import Comparison, Condition, attributes_of
from shoal.edits.requirements import Tie

Codes = NDArray[np.float64]
Labels = NDArray[np.int64]
Truths = NDArray[np.bool_]


class Groups:
    """The groups of a partition: a record of each, and what they have in common."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self._order = np.argsort(labels, kind="stable")
        self._starts = np.flatnonzero(np.diff(labels[self._order], prepend=-1))
        self.first = self._order[self._starts]

    def __len__(self) -> int:
        return len(self.first)

    def low(self, codes: Codes) -> Codes:
        """Return the least of each group."""
        return np.fmin.reduceat(codes[self._order], self._starts)

    def high(self, codes: Codes) -> Codes:
        """Return the largest of each group."""
        return np.fmax.reduceat(codes[self._order], self._starts)

    def mean(self, codes: Codes) -> Codes:
        """Return the mean of each group."""
        present = ~np.isnan(codes)
        sums = np.add.reduceat(np.where(present, codes, 0.0)[self._order], self._starts)
        with np.errstate(invalid="ignore"):  # a group without any value has no mean
            return sums / np.add.reduceat(present[self._order].astype(np.float64), self._starts)

    def all(self, truths: Truths) -> Truths:
        """Return in which groups it holds for all records."""
        return np.logical_and.reduceat(truths[self._order], self._starts)

    def any(self, truths: Truths) -> Truths:
        """Return in which groups it holds for some record."""
        return np.logical_or.reduceat(truths[self._order], self._starts)


def holds_in(condition: Condition, columns: Mapping[str, Codes]) -> Truths:
    """Return in which of some records a condition holds, given their numbers."""
    return holds(condition, as_records(attributes_of(condition), columns))


def as_records(names: Iterable[str], columns: Mapping[str, Codes]) -> Records:
    """Wrap the numbers of some attributes as records that rules can read."""
    return Records({name: pa.array(columns[name], mask=np.isnan(columns[name])) for name in names})


def complete(names: Iterable[str], columns: Mapping[str, Codes]) -> Truths:
    """Return which records miss none of some attributes."""
    found: Truths = np.logical_and.reduce([~np.isnan(columns[name]) for name in names])
    return found


@dataclass(frozen=True)
class Outcome:
    """How a tie must come out in what groups publish: true in some, false in some, either way in the others."""

    tie: Tie
    true: Truths
    false: Truths

    @property
    def names(self) -> list[str]:
        """The attributes that are tied."""
        return attributes_of(self.tie.condition)

    def broken(self, published: Mapping[str, Codes], groups: Labels | slice = slice(None)) -> Truths:
        """Return where what is published comes out otherwise; what misses a value is not looked at."""
        found = holds_in(self.tie.condition, published)
        wrong = self.true[groups] & ~found | self.false[groups] & found
        return wrong & complete(self.names, published)


def outcome(tie: Tie, groups: Groups, original: Mapping[str, Codes]) -> Outcome:
    """Find how a tie comes out in all records of each group that miss no value.

    What a rule wants to hold holds in a record also if it is off by rounding. Of a single number, whose condition has
    one side of a constant, the least and the largest of a group tell.
    """
    names, condition = attributes_of(tie.condition), tie.condition
    if len(names) == 1:
        ends = [{name: of(original[name]) for name in names} for of in (groups.low, groups.high)]
        true = np.logical_and.reduce([holds_in(_wanted(tie), end) for end in ends])
        false = np.logical_and.reduce([~holds_in(condition, end) for end in ends])
        known = complete(names, ends[0])
    else:
        full = complete(names, original)
        true = groups.all(holds_in(_wanted(tie), original) | ~full)
        false = groups.all(~holds_in(condition, original) | ~full)
        known = groups.any(full)
    return Outcome(tie, true & known & (tie.wanted is not False), false & known & (tie.wanted is not True))


def _wanted(tie: Tie) -> Condition:
    if tie.wanted and isinstance(tie.condition, Comparison):
        return replace(tie.condition, exact=False)
    return tie.condition


def gathered(names: Sequence[Sequence[str]]) -> Iterator[list[int]]:
    """Gather what shares attributes, directly or through others: the places of what belongs together."""
    home: dict[str, str] = {}  # of each attribute another one that it is tied to, in the end always the same

    def root(name: str) -> str:
        while home.setdefault(name, name) != name:
            home[name] = home[home[name]]
            name = home[name]
        return name

    for first, *others in names:
        for other in others:
            home[root(other)] = root(first)
    together: dict[str, list[int]] = {}
    for place, each in enumerate(names):
        together.setdefault(root(each[0]), []).append(place)
    yield from together.values()

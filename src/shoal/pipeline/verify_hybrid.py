"""Are hybrid data what they claim to be? Independent of the code that made them: it reads both tables and computes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CheckFailed
from shoal.measures.hybrid import SAME, Grouped
from shoal.measures.loss import near_one
from shoal.messages import Message
from shoal.plan import AttributeType, Constraint
from shoal.tables import Table
from shoal.tables.attributes import Codes, Level, encode

Labels = NDArray[np.int64]

EXACT = 1e-9  # the largest relative deviation of a moment that is kept
ROUNDING = 64 * np.finfo(np.float64).eps  # of a published value, relative to the largest of its group


@dataclass(frozen=True, eq=False)
class Claim:
    """What hybrid data claim about themselves."""

    labels: Labels  # the groups, numbered from 0 without gaps; one for all records where no groups were formed
    kept: Sequence[str]  # confidential numbers whose means and covariances are kept, and nobody's own value
    others: Sequence[str]  # numbers published as they are, with which the covariances are kept
    dealt: Sequence[str]  # confidential categories of which every group keeps how often each occurs
    rules: Mapping[str, Sequence[Constraint]]
    types: Mapping[str, AttributeType]
    levels: Mapping[str, Sequence[Level]]

    @property
    def names(self) -> list[str]:
        """The attributes of which it speaks."""
        return list(dict.fromkeys([*self.kept, *self.others, *self.dealt, *self.rules]))


Pairs = Mapping[str, tuple[Codes, Codes]]  # attributes before and after


def verify_hybrid(published: Table, original: Table, claim: Claim) -> None:
    """Compare hybrid data that are about to be published with the records that they come from.

    Raises
    ------
    CheckFailed
        Naming everything that does not hold.
    """
    pairs = {name: _both(published, original, name, claim) for name in claim.names}
    failures = [
        *failures_in(pairs, claim),
        *_moments(pairs, claim, np.zeros_like(claim.labels), group=False),
    ]
    if failures:
        raise CheckFailed(failures)


def failures_in(pairs: Pairs, claim: Claim) -> Iterator[Message]:
    """Yield everything that does not hold of the records of some groups, all of whose members are there."""
    yield from _rules(pairs, claim)
    yield from _marginals(pairs, claim)
    yield from _moments(pairs, claim, claim.labels, group=True)
    yield from _own_values(pairs, claim)


def _both(published: Table, original: Table, name: str, claim: Claim) -> tuple[Codes, Codes]:
    """Return an attribute before and after."""
    attribute = encode(original, name, claim.types[name], claim.levels.get(name))
    return attribute.codes, attribute.read(published.column(name))


def _rules(pairs: Pairs, claim: Claim) -> Iterator[Message]:
    for name, rules in claim.rules.items():
        for rule in rules:
            if count := breaking(rule, pairs[name][1]):
                yield Message("constraint-broken", column=name, rule=rule, records=count)


def breaking(rule: Constraint, values: Codes) -> int:
    """Count the values that do not keep to a rule."""
    return int((values < 0 if rule == "non-negative" else values != np.rint(values)).sum())


def _marginals(pairs: Pairs, claim: Claim) -> Iterator[Message]:
    for name in claim.dealt:
        before, after = (codes[np.lexsort((codes, claim.labels))] for codes in pairs[name])
        if (before != after).any():
            yield Message("marginals-not-kept", column=name)


def _moments(pairs: Pairs, claim: Claim, labels: Labels, *, group: bool) -> Iterator[Message]:
    """Yield the attributes whose mean, or covariance with another, has moved."""
    if not claim.kept:
        return
    names = [*claim.kept, *claim.others]
    values = near_one(*(np.column_stack([pairs[name][when] for name in names]) for when in (0, 1)))
    before, after = (Grouped(each, labels) for each in values)
    for j, name in enumerate(claim.kept):
        slack = EXACT * np.maximum(np.abs(before.means[:, j]), before.deviations[:, j])
        if not (np.abs(after.means[:, j] - before.means[:, j]) <= slack).all():
            yield Message("mean-not-kept", column=name, group=group)
        for i, other in enumerate((*claim.kept, *claim.others)):
            moved = np.abs(after.covariances(j, i) - before.covariances(j, i))
            size = before.deviations[:, j] * before.deviations[:, i]
            # What rounding the published values may do, if they are large beside their differences.
            coarse = before.largest[:, j] * before.deviations[:, i] + before.largest[:, i] * before.deviations[:, j]
            coarse += ROUNDING * before.largest[:, j] * before.largest[:, i]
            if not (moved <= EXACT * size + ROUNDING * coarse).all():
                yield Message("covariance-not-kept", column=name, other=other, group=group)


def _own_values(pairs: Pairs, claim: Claim) -> Iterator[Message]:
    """Yield the attributes of which someone publishes their own value, where the group has others to choose from."""
    for name in claim.kept:
        before, after = pairs[name]
        own = same(before, after) & ~all_equal(before, claim.labels)
        if own.any():
            yield Message("own-values-published", column=name, values=int(own.sum()))


def same(before: Codes, after: Codes) -> NDArray[np.bool_]:
    """Return for each value whether it is still its own, to 12 digits."""
    own: NDArray[np.bool_] = np.abs(after - before) <= SAME * np.abs(before)
    return own


def all_equal(x: Codes, labels: Labels) -> NDArray[np.bool_]:
    """Return for each record whether all members of its group have the very same value."""
    low, high = np.full(int(labels.max()) + 1, np.inf), np.full(int(labels.max()) + 1, -np.inf)
    np.minimum.at(low, labels, x)
    np.maximum.at(high, labels, x)
    equal: NDArray[np.bool_] = (high == low)[labels]
    return equal

"""Are hybrid data what they claim to be? Independent of the code that made them: it reads both tables and computes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CheckFailed, DataError
from shoal.measures.hybrid import SAME, Grouped
from shoal.measures.loss import near_one
from shoal.plan import AttributeType, Constraint
from shoal.tables import Table
from shoal.tables.attributes import Attribute, Codes, Level, encode
from shoal.text import counted

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


def verify_hybrid(published: Table, original: Table, claim: Claim) -> None:
    """Compare hybrid data that are about to be published with the records that they come from.

    Raises
    ------
    CheckFailed
        Naming everything that does not hold.
    """
    failures = list(_rules(published, original, claim))
    failures += _marginals(published, original, claim)
    for labels, where in ((np.zeros_like(claim.labels), "in the file"), (claim.labels, "in some group")):
        failures += _moments(published, original, claim, labels, where)
    failures += _own_values(published, original, claim)
    if failures:
        raise CheckFailed(failures)


def _both(published: Table, original: Table, name: str, claim: Claim) -> tuple[Codes, Codes]:
    """Give an attribute before and after."""
    attribute = encode(original, name, claim.types[name], claim.levels.get(name))
    return attribute.codes, attribute.read(published.column(name))


def _rules(published: Table, original: Table, claim: Claim) -> Iterator[str]:
    for name, rules in claim.rules.items():
        _, after = _both(published, original, name, claim)
        for rule in rules:
            if count := _breaking(rule, after):
                yield f"column '{name}' is not {rule} in {counted(count, 'record')}"


def _breaking(rule: Constraint, values: Codes) -> int:
    """Count the values that do not keep to a rule."""
    return int((values < 0 if rule == "non-negative" else values != np.rint(values)).sum())


def refuse_broken(attribute: Attribute, rules: Sequence[Constraint]) -> None:
    """Refuse a constraint that the original values do not keep to."""
    for rule in rules:
        if count := _breaking(rule, attribute.codes):
            raise DataError(
                f"column '{attribute.name}' is itself not {rule} in {counted(count, 'record')}, so that it cannot be "
                "asked to be; leave the constraint out"
            )


def _marginals(published: Table, original: Table, claim: Claim) -> Iterator[str]:
    for name in claim.dealt:
        before, after = (codes[np.lexsort((codes, claim.labels))] for codes in _both(published, original, name, claim))
        if (before != after).any():
            yield f"column '{name}' does not keep its marginals in some group"


def _moments(published: Table, original: Table, claim: Claim, labels: Labels, where: str) -> Iterator[str]:
    """Yield the attributes whose mean, or covariance with another, has moved."""
    if not claim.kept:
        return
    pairs = [_both(published, original, name, claim) for name in (*claim.kept, *claim.others)]
    values = near_one(np.column_stack([x for x, _ in pairs]), np.column_stack([y for _, y in pairs]))
    before, after = (Grouped(each, labels) for each in values)
    for j, name in enumerate(claim.kept):
        slack = EXACT * np.maximum(np.abs(before.means[:, j]), before.deviations[:, j])
        if not (np.abs(after.means[:, j] - before.means[:, j]) <= slack).all():
            yield f"column '{name}' does not keep its mean {where}"
        for i, other in enumerate((*claim.kept, *claim.others)):
            moved = np.abs(after.covariances(j, i) - before.covariances(j, i))
            size = before.deviations[:, j] * before.deviations[:, i]
            # What rounding the published values may do, if they are large beside their differences.
            coarse = before.largest[:, j] * before.deviations[:, i] + before.largest[:, i] * before.deviations[:, j]
            coarse += ROUNDING * before.largest[:, j] * before.largest[:, i]
            if not (moved <= EXACT * size + ROUNDING * coarse).all():
                yield f"column '{name}' does not keep its covariance with '{other}' {where}"


def _own_values(published: Table, original: Table, claim: Claim) -> Iterator[str]:
    """Yield the attributes of which somebody publishes the own value, where the group has others to choose from."""
    for name in claim.kept:
        before, after = _both(published, original, name, claim)
        own = same(before, after) & ~all_equal(before, claim.labels)
        if own.any():
            yield f"column '{name}' publishes {counted(int(own.sum()), 'value')} as they were"


def same(before: Codes, after: Codes) -> NDArray[np.bool_]:
    """Say of each value whether it is still its own, to 12 digits."""
    own: NDArray[np.bool_] = np.abs(after - before) <= SAME * np.abs(before)
    return own


def all_equal(x: Codes, labels: Labels) -> NDArray[np.bool_]:
    """Say of each record whether all members of its group have the very same value."""
    low, high = np.full(int(labels.max()) + 1, np.inf), np.full(int(labels.max()) + 1, -np.inf)
    np.minimum.at(low, labels, x)
    np.maximum.at(high, labels, x)
    equal: NDArray[np.bool_] = (high == low)[labels]
    return equal

"""Are hybrid data what they claim to be? Independent of the code that made them: it reads both tables and computes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CheckFailed
from shoal.plan import AttributeType, Constraint
from shoal.scaling import Matrix
from shoal.tables import Table
from shoal.tables.attributes import Codes, Level, encode
from shoal.words import counted

Labels = NDArray[np.int64]

EXACT = 1e-9  # the largest relative deviation of a moment that is kept
SAME = 1e-12  # a value that moved by no more, relative to itself, is the original
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
            wrong = after < 0 if rule == "non-negative" else after != np.rint(after)
            if wrong.any():
                yield f"column '{name}' is not {rule} in {counted(int(wrong.sum()), 'record')}"


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
    units = [np.abs(x).max() or 1.0 for x, _ in pairs]  # or squares of the very large and small could not be held
    before = _Grouped(np.column_stack([x for x, _ in pairs]) / units, labels)
    after = _Grouped(np.column_stack([y for _, y in pairs]) / units, labels)
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


class _Grouped:
    """Means, standard deviations, covariances and largest values in groups."""

    def __init__(self, X: Matrix, labels: Labels) -> None:
        self._order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels)
        self._starts = np.cumsum(sizes) - sizes
        self._sizes = sizes[:, None]
        X = X[self._order]
        group = labels[self._order]
        first = X[self._starts]  # differences from any member lose less than sums of large numbers
        shift = self._sums(X - first[group]) / self._sizes
        self._centred = X - first[group] - shift[group]
        self.means = first + shift
        self.deviations = np.sqrt(self._sums(self._centred**2) / self._sizes)
        self.largest = np.maximum.reduceat(np.abs(X), self._starts)
        self.ranges = np.maximum.reduceat(X, self._starts) - np.minimum.reduceat(X, self._starts)

    def _sums(self, X: Matrix) -> Matrix:
        sums: Matrix = np.add.reduceat(X, self._starts)
        return sums

    def covariances(self, j: int, i: int) -> Codes:
        """Give the covariance of two attributes in every group."""
        product = self._centred[:, [j]] * self._centred[:, [i]]
        covariances: Codes = (self._sums(product) / self._sizes)[:, 0]
        return covariances


def _own_values(published: Table, original: Table, claim: Claim) -> Iterator[str]:
    """Yield the attributes of which somebody publishes the own value, where the group has others to choose from."""
    for name in claim.kept:
        before, after = _both(published, original, name, claim)
        grouped = _Grouped(before[:, None], claim.labels)
        differ = (grouped.ranges > SAME * grouped.largest)[claim.labels, 0]
        own = differ & (np.abs(after - before) <= SAME * np.abs(before))
        if own.any():
            yield f"column '{name}' publishes {counted(int(own.sum()), 'value')} as they were"

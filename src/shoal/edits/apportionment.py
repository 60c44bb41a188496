"""Equalities solved in multiples of a rounding base, many groups at a time: spread, round, apportion the rest.

The numbers are doubles that hold whole numbers below 2^53, so that no sum of them rounds.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Column: TypeAlias = npt.NDArray[np.float64]
Matrix: TypeAlias = npt.NDArray[np.float64]  # a row per attribute, a column per group; or equalities by attributes
Mask: TypeAlias = npt.NDArray[np.bool_]
Places: TypeAlias = npt.NDArray[np.int64]

_ROUNDS = 30  # of projections onto the equalities and the ranges in turn


class System(NamedTuple):
    """Equalities in multiples: the sum over j of a_ij n_j is c_i, for every i; some n_j must stay as they are."""

    a: Matrix
    c: Column
    fixed: Mask

    def only(self, some: Sequence[int]) -> "System":
        """Take some of the equalities, in the order given."""
        return self._replace(a=self.a[some], c=self.c[some])

    def lacking(self, x: Matrix) -> Matrix:
        """Compute what each equality lacks in each group."""
        return np.array([c - total(a, x) for a, c in zip(self.a, self.c, strict=True)])


def solve_block(system: System, x: Matrix, low: Matrix, high: Matrix, orders: dict[bytes, list[int]]) -> Matrix:
    """Solve a block of groups; orders are kept for other blocks."""
    uses = system.a != 0
    imposed = np.array([~np.isnan(x[terms]).any(axis=0) for terms in uses])
    n = np.empty_like(x)
    # Of what stays off the lattice, the nearest multiple counts.
    on_lattice = np.where(system.fixed[:, None], np.rint(x), x)
    for pattern, groups in _patterns(imposed):
        if pattern.tobytes() not in orders:
            there = np.flatnonzero(pattern)
            orders[pattern.tobytes()] = [int(there[each]) for each in _order(system.a[there], system.fixed)]
        part = system.only(orders[pattern.tobytes()])
        n[:, groups] = _settle(part, on_lattice[:, groups], low[:, groups], high[:, groups])
    n[system.fixed] = x[system.fixed]
    return n


def _patterns(imposed: Mask) -> Iterator[tuple[Mask, Places | slice]]:
    """Go through the groups by which equalities they have all attributes for."""
    if imposed.all():
        yield imposed[:, 0], slice(None)
        return
    patterns, pattern_of, counts = np.unique(imposed, axis=1, return_inverse=True, return_counts=True)
    groups = np.split(np.argsort(pattern_of.ravel(), kind="stable"), np.cumsum(counts)[:-1])
    yield from zip(patterns.T, groups, strict=True)


def _settle(system: System, x: Matrix, low: Matrix, high: Matrix) -> Matrix:
    x = _spread(system, x, low, high)
    low, high = np.ceil(low), np.floor(high)
    low, high = np.minimum(low, high), np.maximum(low, high)  # a range between two multiples widens to both
    n = np.where(system.fixed[:, None], np.rint(x), np.clip(np.rint(x), low, high))
    settled = system.fixed.copy()
    for a, c in zip(system.a, system.c, strict=True):
        _apportion(a, c - total(a, n), np.flatnonzero((np.abs(a) == 1) & ~settled), x, n, low, high)
        settled |= a != 0
    return n


def _spread(system: System, x: Matrix, low: Matrix, high: Matrix) -> Matrix:
    """Move values onto the equalities: the least squares of movement, within the ranges.

    Projections onto the equalities and onto the ranges take turns, which leads to a point of both if there is one.
    """
    movable = np.flatnonzero((system.a != 0).any(axis=0) & ~system.fixed)
    if movable.size == 0:
        return x
    inverse = np.linalg.pinv(system.a[:, movable])
    x = x.copy()
    off: Places = np.arange(x.shape[1])
    lacking = system.lacking(x)
    for _ in range(_ROUNDS):
        far = (np.abs(lacking) > 0.5).any(axis=0)
        off, lacking = off[far], lacking[:, far]
        if off.size == 0:
            break
        for attribute, shares in zip(movable, inverse, strict=True):
            moved = x[attribute, off] + total(shares, lacking)
            x[attribute, off] = np.clip(moved, low[attribute, off], high[attribute, off])
        lacking = system.lacking(x[:, off])
    return x


def _apportion(a: Column, lacking: Column, free: Places, x: Matrix, n: Matrix, low: Matrix, high: Matrix) -> None:
    """Make up for the multiples that an equality lacks by its free terms, in place; their coefficients are 1 and -1."""
    open_ = np.flatnonzero(lacking)
    if free.size == 0 or open_.size == 0:
        return
    at = np.ix_(free, open_)
    multiples, least, most = n[at], low[at], high[at]
    left = np.abs(lacking[open_])
    step = a[free][:, None] * np.sign(lacking[open_])
    remainder = step * (x[at] - multiples)
    remainder[(multiples + step < least) | (multiples + step > most)] = 0
    _take_largest_remainders(multiples, step, left, remainder)
    _give_rest_to_widest(multiples, step, left, least, most)
    n[at] = multiples


def _take_largest_remainders(multiples: Matrix, step: Matrix, left: Column, remainder: Matrix) -> None:
    """Round the other way the terms that lose the least by it."""
    groups: Places = np.arange(left.size)
    while groups.size:
        best = remainder[:, groups].argmax(axis=0)
        able = remainder[best, groups] > 0
        best, groups = best[able], groups[able]
        multiples[best, groups] += step[best, groups]
        remainder[best, groups] = 0
        left[groups] -= 1
        groups = groups[left[groups] > 0]


def _give_rest_to_widest(multiples: Matrix, step: Matrix, left: Column, least: Matrix, most: Matrix) -> None:
    """Move the terms as far as their ranges allow, the widest first, and it alone beyond."""
    groups = np.flatnonzero(left)
    if groups.size == 0:
        return
    by_width = np.argsort((least - most)[:, groups], axis=0, kind="stable")
    for term in by_width:
        at = term, groups
        room = np.where(step[at] > 0, most[at] - multiples[at], multiples[at] - least[at])
        given = np.clip(room, 0, left[groups])
        multiples[at] += step[at] * given
        left[groups] -= given
    widest = by_width[0]
    multiples[widest, groups] += step[widest, groups] * left[groups]


def _order(a: Matrix, fixed: Mask) -> list[int]:
    """Order equalities, without those that follow from others, so that each finds an attribute to settle.

    The order is found from its end: the last is an equality with a term that no other has. It is best one that shares
    a single attribute, because then rounding up or down is enough; then one whose total is its own, because a sum
    of what is not negative is not negative either.
    """
    waiting = _independent(a)
    one, totals = np.abs(a) == 1, np.array([_totals(row) for row in a], dtype=np.bool_).reshape(a.shape)
    backwards = []
    while waiting:
        uses = a[waiting] != 0
        shared = uses & (uses.sum(axis=0) + fixed > 1)
        own = one[waiting] & uses & ~shared
        has_own, has_total = own.any(axis=1), (own & totals[waiting]).any(axis=1)
        rank = np.select([has_own & (shared.sum(axis=1) <= 1), has_total, has_own], [0, 1, 2], 3)
        backwards.append(waiting.pop(int(rank.argmin())))
    return backwards[::-1]


def _independent(a: Matrix) -> list[int]:
    """Choose equalities from which all others follow; of totals of totals the lowest first."""
    levels = _levels(a)
    chosen: list[int] = []
    basis = np.empty((0, a.shape[1]))
    for each in sorted(range(len(a)), key=lambda each: levels[each]):
        rest = a[each] / max(np.linalg.norm(a[each]), 1)
        for _ in range(2):  # the second time removes what rounding left
            rest = rest - (basis @ rest) @ basis
        if (length := np.linalg.norm(rest)) > 1e-9:
            chosen.append(each)
            basis = np.vstack([basis, rest / length])
    return sorted(chosen)


def _levels(a: Matrix) -> list[int]:
    """Count how many times totals were added up before each equality."""
    level = np.zeros(a.shape[1], dtype=np.int64)
    sums = [(np.flatnonzero(above)[0], (row != 0) & ~above) for row in a if (above := _totals(row)).sum() == 1]
    for _ in range(a.shape[1]):  # a longer way than through all attributes goes in circles
        before = level.copy()
        for above, parts in sums:
            level[above] = max(level[above], 1 + level[parts].max(initial=0))
        if (level == before).all():
            break
    return [int(level[row != 0].max(initial=0)) for row in a]


def _totals(row: Column) -> Mask:
    """Find the terms that the others add up to: alone with their sign."""
    up, down = row > 0, row < 0
    alone = up & (up.sum() == 1) | down & (down.sum() == 1)
    return np.asarray(alone & (np.abs(row) == 1))


def total(coefficients: Column, x: Matrix) -> Column:
    """Add up terms one by one: the same bits wherever a group stands, and no attribute that is not a term."""
    added = np.zeros(x.shape[1])
    for term in np.flatnonzero(coefficients):
        added += coefficients[term] * x[term]
    return added

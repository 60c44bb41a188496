"""Two ways down from a partition: straight to the next local optimum, and by annealing.

Both weigh the same changes: a record moves to the group of a neighbour, or changes places with a member of it; a group
is dissolved; a group is formed of what others can spare, or of a record and its nearest with all that follows; two
groups are merged and split again.
``near[i]`` are the neighbours of record i; the record itself fills up a list that is too short.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.refine import (
    WORTHWHILE,
    Grouping,
    Journal,
    dissolve,
    form,
    joining,
    leaving,
    move,
    new_journal,
    regroup,
    resplit,
    swap,
    swapping,
    take_back,
)
from shoal.kernels.types import Floats, Integers

NOISE = 1e-20  # attributes are at most 1 in size: a gain below may come from rounding alone
_TABLE = 4096
_DISSOLVE, _FORM, _REGROUP, _RESPLIT = range(4)
# How often in 1024 proposals, times k, since each weighs some k records.
_RUINS = 30, 30, 50, 30


@njit(cache=True, nogil=True)
def draw(state: NDArray[np.uint64]) -> np.uint64:
    """Return the next of a sequence of random 64-bit integers (xorshift64*, Vigna 2016); the state is not zero."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.uint64(x * np.uint64(0x2545F4914F6CDD1D))


@njit(cache=True, nogil=True)
def share(bits: np.uint64, n: int) -> int:
    """Return a number below n by the upper half of random bits."""
    return int(((bits >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def best_swap(s: Grouping, i: int, b: int) -> tuple[float, int]:
    """Return the member of group b with which record i had best change places, and what the error changes by."""
    least, other = np.inf, -1
    for p in range(s.size[b]):
        change = swapping(s, i, s.members[b, p])
        if change < least:
            least, other = change, s.members[b, p]
    return least, other


@njit(cache=True, nogil=True)
def ruin(s: Grouping, near: NDArray[np.int32], i: int, kind: int, journal: Journal, below: float) -> float:
    """Dissolve the group of record i, form one around it, or split it and another again; return the change made.

    It is made if the error changes by less than `below`; if not, 0 is returned. The journal is left with the moves.
    """
    journal.length[0] = 0
    if kind == _DISSOLVE:
        change = dissolve(s, near, s.label[i], journal)
    elif kind == _FORM:
        change = form(s, near, i, journal)
    elif kind == _REGROUP:
        change = regroup(s, near, i, journal)
    else:
        change = resplit(s, near, i, journal)
    if change < below:
        return change
    take_back(s, journal)
    return 0.0


@njit(cache=True, nogil=True)
def anneal(
    s: Grouping,
    near: NDArray[np.int32],
    local: Floats,
    temperature: float,
    steps: int,
    state: NDArray[np.uint64],
    watch: Integers,
) -> float:
    """Propose as many changes as there are steps and accept each by the rule of Metropolis; return the error's change.

    A rise of the error by h is accepted with probability exp(-h / temperature), the temperature in units of
    ``local[i]``, a squared distance that is usual around record i.
    """
    n, m = near.shape
    most = s.members.shape[1]
    k = (most + 1) // 2
    journal = new_journal(most * (k + 1))
    heights = -np.log((np.arange(_TABLE) + 0.5) / _TABLE)
    bars = np.cumsum(np.array([max(2, round(chance / k)) for chance in _RUINS]))
    total = 0.0
    for step in range(steps):
        if step % 1024 == 0 and watch[1] != 0:
            break
        bits = draw(state)
        i = share(bits, n)
        below = temperature * local[i] * heights[np.int64(bits & np.uint64(_TABLE - 1))]
        chance = np.int64((bits >> np.uint64(12)) & np.uint64(1023))
        if chance < bars[-1]:
            kind = 0
            while chance >= bars[kind]:
                kind += 1
            total += ruin(s, near, i, kind, journal, below)
            continue
        bits = draw(state)
        a, b = s.label[i], s.label[near[i, share(bits, m)]]
        if a == b:
            continue
        if s.size[a] > k and s.size[b] < most:
            change = joining(s, i, b) - leaving(s, i)
            if change < below:
                move(s, i, b)
                total += change
                continue
        if chance & 1:  # the best partner or any one, in turn: neither alone was clearly better for its time
            change, other = best_swap(s, i, b)
        else:
            other = s.members[b, share(bits << np.uint64(32), s.size[b])]
            change = swapping(s, i, other)
        if change < below:
            swap(s, i, other)
            total += change
    return total


@njit(cache=True, nogil=True)
def improve(s: Grouping, near: NDArray[np.int32], i: int, usual: float, journal: Journal) -> float:
    """Make the first change around record i that lowers the error; return by how much it changes, 0 if none does.

    A gain must stand out from the rounding of what leaving costs and of a squared distance that is `usual` here. The
    journal is left with a record of each group that was changed.
    """
    most = s.members.shape[1]
    k = (most + 1) // 2
    a = s.label[i]
    before = a
    left = leaving(s, i)
    below = -WORTHWHILE * (left + usual) - NOISE
    for j in near[i]:
        b = s.label[j]
        if b in (a, before):
            continue
        before = b
        change, other = best_swap(s, i, b)
        if s.size[a] > k and s.size[b] < most and joining(s, i, b) - left < min(change, below):
            change = joining(s, i, b) - left
            other = s.members[a, 0] if s.members[a, 0] != i else s.members[a, 1]
            move(s, i, b)
        elif change < below:
            swap(s, i, other)
        else:
            continue
        journal.record[0], journal.record[1] = i, other
        journal.length[0] = 2
        return change
    for kind in range(len(_RUINS)):
        change = ruin(s, near, i, kind, journal, below)
        if change < 0.0:
            return change
    return 0.0


@njit(cache=True, nogil=True)
def descend(s: Grouping, near: NDArray[np.int32], local: Floats, awake: NDArray[np.bool_], watch: Integers) -> float:
    """Improve around every record that is awake, and so on; return what the error changes by.

    A record falls asleep where nothing around it lowers the error, and wakes when its group is changed (the don't-look
    bits of Bentley 1992).
    """
    most = s.members.shape[1]
    journal = new_journal(most * (most + 1))
    total = 0.0
    for _ in range(100):  # among records a rounding error apart, gains need never end
        changed = False
        for i in range(near.shape[0]):
            if not awake[i]:
                continue
            if watch[1] != 0:
                return total
            change = improve(s, near, i, local[i], journal)
            if change == 0.0:
                awake[i] = False
                continue
            total += change
            changed = True
            for at in range(journal.length[0]):
                g = s.label[journal.record[at]]
                for p in range(s.size[g]):
                    awake[s.members[g, p]] = True
        if not changed:
            break
    return total

"""A tour through all records, shortened by 2-opt and Or-opt moves and by kicks.

The tour is an array of records, with the position of each beside it. All changes are made by turning stretches of the
array round: of the two sides of the cycle, the shorter. Candidates for a new edge are near neighbours only, and a
record is looked at again only after an edge at it has changed (J. L. Bentley, "Fast algorithms for geometric traveling
salesman problems", ORSA Journal on Computing 4, 1992).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.paths import distance
from shoal.kernels.types import Floats, Integers

LONGEST_SEGMENT = 3  # that an Or-opt move carries
LONGEST_KICK = 50  # records in each of the two stretches that a kick exchanges
KICK_REACH = 1000  # records that a move after a kick may turn round
MOST_TURNS = 1000  # before a kick is judged, whatever is left to look at
# A move must gain more than the rounding of the edges that go: each one shortens the tour, so that they come to an end.
WORTH = 1e-12


class Tour(NamedTuple):
    """A cycle of records that remembers how it was changed."""

    order: Integers
    position: Integers  # of each record in the order
    turns: Integers  # (MOST_TURNS, 2): position and length of each stretch turned round since the last was forgotten
    made: Integers  # (1,): how many these are
    gone: Floats  # scratch of `best_or_opt`: for segments of each length, the edges that go at its ends,
    freed: Floats  # and these less the one that comes


class Queue(NamedTuple):
    """Records to look at, in a ring, none of them twice."""

    record: Integers
    waiting: Integers  # whether each record is in the queue
    span: Integers  # (2,): where the queue begins in the ring, and how many wait


class Move(NamedTuple):
    """A change of the tour: edges at `a` and `c` go, and the edge between them comes.

    ``segment`` is 0 for a 2-opt move, the number of records carried for an Or-opt move; ``ahead`` whether the edge that
    goes at `a` (2-opt), or the segment that begins at `a` (Or-opt), lies ahead in the tour; ``after`` whether the edge
    that goes at `c` does.
    """

    gain: float
    a: int
    c: int
    segment: int
    ahead: bool
    after: bool


@njit(cache=True, nogil=True)
def new_tour(order: Integers) -> Tour:
    """Return a tour in the given order."""
    n = order.shape[0]
    position, turns = np.empty(n, np.int64), np.empty((MOST_TURNS + 4, 2), np.int64)
    for i in range(n):
        position[order[i]] = i
    scratch = np.empty((2, LONGEST_SEGMENT + 1))
    return Tour(order.copy(), position, turns, np.zeros(1, np.int64), scratch[0], scratch[1])


@njit(cache=True, nogil=True)
def new_queue(order: Integers) -> Queue:
    """Return a queue of all records, in the given order."""
    return Queue(order.copy(), np.ones(order.shape[0], np.int64), np.array([0, order.shape[0]]))


@njit(cache=True, nogil=True)
def wrapped(position: int, n: int) -> int:
    """Return a position that may have left the array, by up to n, as one in it."""
    if position < 0:
        return position + n
    return position - n if position >= n else position


@njit(cache=True, nogil=True)
def turn_round(tour: Tour, start: int, length: int) -> None:
    """Reverse a stretch of the tour."""
    order, position, n = tour.order, tour.position, tour.order.shape[0]
    tour.turns[tour.made[0], 0], tour.turns[tour.made[0], 1] = start, length
    tour.made[0] += 1
    i, j = start, wrapped(start + length - 1, n)
    for _ in range(length // 2):
        a, b = order[i], order[j]
        order[i], order[j] = b, a
        position[b], position[a] = i, j
        i, j = wrapped(i + 1, n), wrapped(j - 1, n)


@njit(cache=True, nogil=True)
def undo(tour: Tour) -> None:
    """Take back all turns that are remembered: each is its own inverse."""
    while tour.made[0] > 0:
        tour.made[0] -= 1
        turn_round(tour, tour.turns[tour.made[0], 0], tour.turns[tour.made[0], 1])
        tour.made[0] -= 1  # which this turn has added


@njit(cache=True, nogil=True)
def exchange(tour: Tour, start: int, first: int, second: int) -> None:
    """Exchange two stretches, of `first` and `second` records, that lie one after the other."""
    turn_round(tour, start, first + second)
    turn_round(tour, start, second)
    turn_round(tour, wrapped(start + second, tour.order.shape[0]), first)


@njit(cache=True, nogil=True)
def look_at(queue: Queue, x: int) -> None:
    """Put a record at the end of the queue, if it is not in it."""
    if not queue.waiting[x]:
        queue.waiting[x] = 1
        queue.record[wrapped(queue.span[0] + queue.span[1], queue.record.shape[0])] = x
        queue.span[1] += 1


@njit(cache=True, nogil=True)
def best_two_opt(X: Floats, near: Integers, tour: Tour, a: int, reach: int, best: Move) -> Move:
    """Return the best 2-opt move that gives record a a nearer neighbour, if it gains more than `best`.

    Edges (a, b) and (c, d) go, (a, c) and (b, d) come, where b and d both follow, or both precede, a and c.
    """
    order, position = tour.order, tour.position
    n = order.shape[0]
    for ahead in (True, False):
        step = 1 if ahead else -1
        b = order[wrapped(position[a] + step, n)]
        ab = distance(X, a, b)
        for c in near[a]:
            ac = distance(X, a, c)
            if ac >= ab:
                break
            d = order[wrapped(position[c] + step, n)]
            cd = distance(X, c, d)
            gain = ab + cd - ac - distance(X, b, d)
            if gain > best.gain and gain > WORTH * (ab + cd):
                between = wrapped(position[c] - position[a], n)
                if min(between, n - between) <= reach:
                    best = Move(gain, a, c, 0, ahead, ahead)
    return best


@njit(cache=True, nogil=True)
def best_or_opt(X: Floats, near: Integers, tour: Tour, a: int, reach: int, best: Move) -> Move:
    """Return the best Or-opt move that gives record a a nearer neighbour, if it gains more than `best`.

    A segment a..e of one to three records between p and q is carried to between c and f: edges (p, a), (e, q), (c, f)
    go, (p, q), (a, c), (e, f) come.
    """
    order, position = tour.order, tour.position
    n = order.shape[0]
    at = position[a]
    longest = min(LONGEST_SEGMENT, n - 2)
    gone, freed = tour.gone, tour.freed
    for ahead in (True, False):
        step = 1 if ahead else -1
        p = order[wrapped(at - step, n)]
        pa = distance(X, p, a)
        if distance(X, a, near[a, 0]) >= pa:
            continue
        for length in range(1, longest + 1):
            e, q = order[wrapped(at + step * (length - 1), n)], order[wrapped(at + step * length, n)]
            gone[length] = pa + distance(X, e, q)
            freed[length] = gone[length] - distance(X, p, q)
        for c in near[a]:
            ac = distance(X, a, c)
            if ac >= pa:
                break
            c_at = wrapped(step * (position[c] - at), n)  # from a towards e
            if min(c_at, n - c_at) > reach:
                continue
            for after in (True, False):
                f = order[wrapped(position[c] + (1 if after else -1), n)]
                f_at = wrapped(step * (position[f] - at), n)
                cf = distance(X, c, f)
                for length in range(1, min(longest, c_at, f_at) + 1):  # c and f are not in the segment
                    e = order[wrapped(at + step * (length - 1), n)]
                    gain = freed[length] + cf - ac - distance(X, e, f)
                    if gain > best.gain and gain > WORTH * (gone[length] + cf):
                        best = Move(gain, a, c, length, ahead, after)
    return best


@njit(cache=True, nogil=True)
def make(move: Move, tour: Tour, queue: Queue) -> None:
    """Make a move, and look again at the records whose edges it changes."""
    order, position, n = tour.order, tour.position, tour.order.shape[0]
    a, c, length = move.a, move.c, move.segment
    at, step, side = position[a], 1 if move.ahead else -1, 1 if move.after else -1
    f = order[wrapped(position[c] + side, n)]
    for x in (a, c, f, order[wrapped(at + step * max(length, 1), n)]):
        look_at(queue, x)
    if length == 0:
        start, between = wrapped(at + 1, n) if move.ahead else at, wrapped(position[c] - at, n)
        if 2 * between > n:
            start, between = wrapped(start + between, n), n - between
        turn_round(tour, start, between)
        return
    look_at(queue, order[wrapped(at - step, n)])
    look_at(queue, order[wrapped(at + step * (length - 1), n)])
    first = at if move.ahead else wrapped(at - length + 1, n)
    gap = wrapped(position[f if move.after else c] - first, n) - length  # up to where the segment is to go
    if 2 * gap <= n - length:
        exchange(tour, first, length, gap)
        first = wrapped(first + gap, n)
    else:
        gap = n - length - gap
        first = wrapped(first - gap, n)
        exchange(tour, first, gap, length)
    if move.ahead != move.after:
        turn_round(tour, first, length)


@njit(cache=True, nogil=True)
def shorten(X: Floats, near: Integers, tour: Tour, queue: Queue, reach: int) -> float:
    """Look at one record of the queue, and make the best move that gives it a nearer neighbour; return the gain.

    Moves of more than `reach` records are not made.
    """
    a = queue.record[queue.span[0]]
    queue.span[0], queue.span[1] = wrapped(queue.span[0] + 1, queue.record.shape[0]), queue.span[1] - 1
    queue.waiting[a] = 0
    move = best_two_opt(X, near, tour, a, reach, Move(0.0, 0, 0, 0, False, False))
    move = best_or_opt(X, near, tour, a, reach, move)
    if move.gain > 0.0:
        make(move, tour, queue)
    return move.gain


@njit(cache=True, nogil=True)
def drawn(state: Integers, below: int) -> int:
    """Return the next number of a linear congruential generator (Knuth's MMIX), from 0 to below - 1."""
    state[0] = state[0] * 6364136223846793005 + 1442695040888963407
    return int(((state[0] >> 33) & 0x7FFFFFFF) % below)


@njit(cache=True, nogil=True)
def kick(X: Floats, tour: Tour, queue: Queue, start: int, first: int, second: int) -> tuple[float, float]:
    """Exchange two stretches and look at the records at their ends; return the gain and the length of the new edges."""
    order, n = tour.order, tour.order.shape[0]
    old, new = 0.0, 0.0
    for at in (start, start + first, start + first + second):
        old += distance(X, order[wrapped(at - 1, n)], order[wrapped(at, n)])
    exchange(tour, start, first, second)
    for at in (start, start + second, start + first + second):
        a, b = order[wrapped(at - 1, n)], order[wrapped(at, n)]
        new += distance(X, a, b)
        look_at(queue, a)
        look_at(queue, b)
    return old - new, new


@njit(cache=True, nogil=True)
def shortened(X: Floats, near: Integers, order: Integers, reach: int, kicks: int, watch: Integers) -> Integers:
    """Shorten a tour until no 2-opt or Or-opt move that joins near neighbours does; then by so many kicks.

    Records are looked at in the order of the tour; those whose edges have changed go to the end of the queue. A kick
    exchanges two short stretches anywhere, drawn by a generator with a fixed seed; if the moves that follow do not make
    the tour shorter than it was, all is undone.
    """
    n = order.shape[0]
    tour, queue = new_tour(order), new_queue(order)
    while queue.span[1] > 0 and watch[1] == 0:
        watch[0] = n - queue.span[1]
        shorten(X, near, tour, queue, reach)
        tour.made[0] = 0
    state, most = np.zeros(1, np.int64), min(LONGEST_KICK, (n - 2) // 2)
    for at in range(kicks):
        if watch[1] != 0:
            break
        watch[0] = at * n // kicks
        start = drawn(state, n)
        gain, length = kick(X, tour, queue, start, 1 + drawn(state, most), 1 + drawn(state, most))
        while queue.span[1] > 0 and tour.made[0] < MOST_TURNS:
            gain += shorten(X, near, tour, queue, min(reach, KICK_REACH))
        for i in range(queue.span[1]):
            queue.waiting[queue.record[wrapped(queue.span[0] + i, n)]] = 0
        queue.span[1] = 0
        if gain > WORTH * length:
            tour.made[0] = 0
        else:
            undo(tour)
    return tour.order

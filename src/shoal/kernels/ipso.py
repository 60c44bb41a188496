"""Kernels of hybrid data: synthetic values for the records of one group after the other.

Attributes lie in rows here, so that a row is one attribute of all members of a group and sums run over memory as it
lies. Nothing is inverted and nothing is factored by Cholesky: whatever is constant or collinear inside a group only
makes a basis shorter.
"""

import math

import numpy as np
from numba import njit

from shoal.kernels.types import Floats, Integers

# A row (of length one) of which less than this is left, beside a basis, is a combination of that basis. Leaving it out
# moves a correlation by no more, and it is far above what rounding leaves of a true combination.
LEAST = 1e-11

# At a record with less room than this, a residual is less than a thousandth of what it is in all.
LEAST_ROOM = 1e-6


@njit(cache=True, nogil=True)
def _dot(a: Floats, b: Floats) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True)
def _remove(row: Floats, basis: Floats, rank: int) -> None:
    """Take from a row its projection on the first `rank` rows of an orthonormal basis."""
    for b in range(rank):
        share = _dot(basis[b], row)
        for i in range(row.size):
            row[i] -= share * basis[b, i]


@njit(cache=True, nogil=True)
def _orthonormal(rows: Floats) -> int:
    """Turn the first rows into an orthonormal basis of all, and return how many: the rank.

    Gram-Schmidt, with the longest of what is left as the next row. Its projection on those before it is removed once
    more before it is brought to length one: twice is enough.
    """
    rank = 0
    for _ in range(rows.shape[0]):
        longest, square = rank, 0.0
        for r in range(rank, rows.shape[0]):
            length = _dot(rows[r], rows[r])
            if length > square:
                longest, square = r, length
        if square <= LEAST * LEAST:
            break
        row = rows[longest].copy()
        rows[longest] = rows[rank]
        _remove(row, rows, rank)
        rows[rank] = row / math.sqrt(_dot(row, row))
        rank += 1
        for r in range(rank, rows.shape[0]):
            _remove(rows[r], rows[rank - 1 : rank], 1)
    return rank


@njit(cache=True, nogil=True)
def _standardised(X: Floats, members: Integers, rows: Floats, centre: Floats, length: Floats) -> None:
    """Write each attribute of the members as a row of mean 0 and length 1, or of zeros if it is constant."""
    for j in range(X.shape[1]):
        # Differences from a member, not from 0: equal values give exact zeros, and their centre is their own value.
        origin, mean, widest = X[members[0], j], 0.0, 0.0
        for i in range(members.size):
            rows[j, i] = X[members[i], j] - origin
            mean += rows[j, i]
        mean /= members.size
        for i in range(members.size):
            rows[j, i] -= mean
            widest = max(widest, abs(rows[j, i]))
        centre[j], length[j] = origin + mean, widest
        if widest > 0:
            for i in range(members.size):
                rows[j, i] /= widest
            short = math.sqrt(_dot(rows[j], rows[j]))
            for i in range(members.size):
                rows[j, i] /= short
            length[j] *= short


@njit(cache=True, nogil=True)
def _explaining(Y: Floats, members: Integers) -> tuple[Floats, int]:
    """Return an orthonormal basis of span(1, Y) and its rank."""
    rows = np.empty((Y.shape[1] + 1, members.size))
    rows[-1] = 1 / math.sqrt(members.size)
    _standardised(Y, members, rows, np.empty(Y.shape[1]), np.empty(Y.shape[1]))
    return rows, _orthonormal(rows)


@njit(cache=True, nogil=True)
def _take_room(room: Floats, basis: Floats, rank: int) -> None:
    """Subtract from the room of each member its leverage in a regression on the basis."""
    for b in range(rank):
        for i in range(room.size):
            room[i] -= basis[b, i] * basis[b, i]


@njit(cache=True, nogil=True)
def _orthonormal_noise(noise: Floats, basis: Floats, rank: int) -> Floats:
    """Return orthonormal rows of noise, orthogonal to (1, Y), drawn once.

    Whatever is chosen among several draws by how unlike the original it is avoids the original's direction, which shows
    in repeated releases; noise regressed on X avoids it altogether.
    """
    V = noise.copy()
    for v in range(V.shape[0]):
        _remove(V[v], basis, rank)
        _remove(V[v], basis, rank)
    if _orthonormal(V) < V.shape[0]:
        raise ValueError("the random numbers are a combination of the data: take another seed")
    return V


@njit(cache=True, nogil=True)
def _replace_residuals(E: Floats, noise: Floats, basis: Floats, rank: int) -> None:
    """Replace the residuals E by synthetic ones, made of noise.

    E = T'U with U an orthonormal basis of the residuals; U is replaced by as many orthonormal rows V of noise, which
    leaves E E' as it was (variant C of Burridge).
    """
    U = E.copy()
    count = _orthonormal(U)
    T = np.empty((count, E.shape[0]))
    for u in range(count):
        for j in range(E.shape[0]):
            T[u, j] = _dot(U[u], E[j])
    V = _orthonormal_noise(noise[:count], basis, rank)
    E[:] = 0.0
    for j in range(E.shape[0]):
        for u in range(count):
            for i in range(E.shape[1]):
                E[j, i] += T[u, j] * V[u, i]


@njit(cache=True, nogil=True)
def synthesise(X: Floats, Y: Floats, noise: Floats, order: Integers, starts: Integers) -> tuple[Floats, Floats, Floats]:
    """IPSO group by group: return X', the room of each record, and what Y leaves of the variance of its group.

    ``order[starts[g]:starts[g + 1]]`` are the members of group g; all records are in a group. Each record brings its
    own row of `noise`, so that the result for a group depends on nothing but its members. The room of a record is 1
    less its leverage in the regression on Y: the share of a residual's variance that a synthetic one can have there.
    What Y leaves is 1 less R squared, for each attribute; NaN if it is constant in the group.
    """
    values = X.copy()
    room, left = np.empty(X.shape[0]), np.empty(X.shape)
    centre, length = np.empty(X.shape[1]), np.empty(X.shape[1])
    for g in range(starts.size - 1):
        members = order[starts[g] : starts[g + 1]]
        basis, rank = _explaining(Y, members)
        fitted = np.empty((X.shape[1], members.size))
        _standardised(X, members, fitted, centre, length)
        E = fitted.copy()
        for j in range(X.shape[1]):
            _remove(E[j], basis, rank)
            _remove(E[j], basis, rank)
            left[members, j] = _dot(E[j], E[j]) if length[j] > 0 else np.nan
        fitted -= E
        space = np.ones(members.size)
        _take_room(space, basis, rank)
        room[members] = space
        _replace_residuals(E, noise[members].T.copy(), basis, rank)
        for j in range(X.shape[1]):
            for i in range(members.size):
                values[members[i], j] = centre[j] + length[j] * (fitted[j, i] + E[j, i])
    return values, room, left

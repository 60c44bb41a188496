"""Records that are released unchanged because k share their combination: what a block must know to tell them.

k counts records, or units where they are named.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix
from shoal.pipeline.parts import Parts

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

_MIXERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # of splitmix64


def combinations_of(codes: Matrix, homes: Integers) -> Hashes:
    """Return a number for each combination of values within a home: the same for equal ones, 64 bits.

    Two combinations share one with a probability of 3 in 10^8 among a million; what is published is counted by values.
    """
    found = _mixed(homes.astype(np.uint64))
    for column in codes.T:
        plain = np.where(np.isnan(column), np.nan, column + 0.0)  # one zero, and one missing value
        found = _mixed(found ^ np.ascontiguousarray(plain).view(np.uint64))
    return found


def _mixed(x: Hashes) -> Hashes:
    x = x + np.uint64(_MIXERS[0])
    x = (x ^ (x >> np.uint64(30))) * np.uint64(_MIXERS[1])
    x = (x ^ (x >> np.uint64(27))) * np.uint64(_MIXERS[2])
    return x ^ (x >> np.uint64(31))


@dataclass(frozen=True)
class Safe:
    """The combinations that k records, or units where they are named, share.

    Attributes
    ----------
    hashes
        Of these combinations, in order.
    known
        The parts, before records that are not at risk became parts of their own.
    joined, taken
        Combinations of the few records at risk that take on another, in order, and the codes of the other.
    moved
        How many records that are.
    numbers
        For each part, the number of that of its records at risk and of that of the others; -1 where there are none.
    """

    hashes: Hashes
    known: Parts
    joined: Hashes = field(default_factory=lambda: np.empty(0, np.uint64))
    taken: Matrix = field(default_factory=lambda: np.empty((0, 0)))
    moved: int = 0
    numbers: Integers = field(default_factory=lambda: np.empty((0, 2), np.int64))

    @property
    def homes(self) -> Integers:
        """The home of each part."""
        return self.known.homes[0]

    def flags(self, codes: Matrix, part: Integers) -> NDArray[np.bool_]:
        """Return which records are not at risk, or take on a combination that is not."""
        own = combinations_of(codes, self.homes[part])
        return _among(own, self.hashes) | _among(own, self.joined)

    def parts(self, codes: Matrix, part: Integers) -> Integers:
        """Return the part of each record, by its part before; -1 if it is left out."""
        found, there = part.copy(), part >= 0
        found[there] = self.numbers[part[there], self.flags(codes[there], part[there]).astype(np.int64)]
        return found

    def published(self, codes: Matrix, part: Integers) -> Matrix:
        """Return what records that are not at risk publish, by their parts: their own values, or those taken on."""
        if not len(self.joined):
            return codes
        home = np.full(int(self.numbers.max()) + 1, -1, dtype=np.int64)
        known = self.numbers[:, 1] >= 0
        home[self.numbers[known, 1]] = self.homes[known]
        own = combinations_of(codes, home[part])
        moved, found = _among(own, self.joined), codes.copy()
        found[moved] = self.taken[np.searchsorted(self.joined, own[moved])]
        return found


def _among(some: Hashes, known: Hashes) -> NDArray[np.bool_]:
    """Return which of some numbers are among others, which are in order."""
    if not len(known):
        return np.zeros(len(some), dtype=bool)
    at = np.minimum(np.searchsorted(known, some), len(known) - 1)
    return np.asarray(known[at] == some)

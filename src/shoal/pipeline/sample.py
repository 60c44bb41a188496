"""A sample of records before and after masking that is the same on every backend: those whose hashes are least."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix

MOST = 200_000  # records; fewer are all there


@dataclass(frozen=True)
class Sample:
    """Some records, with the hashes that they were chosen by."""

    rows: Matrix
    published: Matrix
    hashes: NDArray[np.uint64]

    @classmethod
    def of(cls, rows: Matrix, published: Matrix) -> "Sample":
        """Choose among some records."""
        return cls(rows, published, _hashes(np.column_stack([rows, published])))._least()

    def __add__(self, other: "Sample") -> "Sample":
        rows, published = np.concatenate([self.rows, other.rows]), np.concatenate([self.published, other.published])
        return Sample(rows, published, np.concatenate([self.hashes, other.hashes]))._least()

    def _least(self) -> "Sample":
        if len(self.hashes) <= MOST:
            return self
        chosen = np.sort(np.argpartition(self.hashes, MOST)[:MOST])
        return Sample(self.rows[chosen], self.published[chosen], self.hashes[chosen])


def _hashes(rows: Matrix) -> NDArray[np.uint64]:
    """Mix the bits of each row (the finaliser of splitmix64 after every column)."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # zero has no sign
    mixed = np.zeros(len(rows), dtype=np.uint64)
    for column in bits.T:
        mixed += column + np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(30)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(27)
        mixed *= np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed

"""Totals of domains: the smallest change of what groups publish with which domains keep their totals.

A domain is a set of records, such as the enterprises of a branch and a size, that a group may hold some of. With g what
group g publishes of an attribute, n_g its records and a_gc the (weighted) number of its records in domain c, the new
values g' minimise the sum over groups of n_g (g' - g)^2 such that every domain keeps its total, sum over groups of
a_gc g' = b_c, and no value that cannot be negative is. By the conditions of Karush, Kuhn and Tucker they are

    g' = max(0, g + sum over c of a_gc l_c / n_g)

with one multiplier l_c a domain, which Newton's method finds [1]_: without values at zero in one step. All that is
needed are sums over groups, so that they may lie in any number of pieces.

References
----------
.. [1] L. Qi and J. Sun, "A nonsmooth version of Newton's method", Mathematical Programming 58 (1993) 353-367.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.types import Floats, Integers

STEPS = 40  # of Newton's method, at most
PRECISION = 1e-10  # of a sum of absolute values, to which totals are kept


@dataclass(frozen=True)
class DomainSums:
    """Sums over groups, for one attribute.

    Attributes
    ----------
    total, size
        Of each domain: the total of the original, and the sum of absolute values.
    kept
        The total of what groups publish.
    slopes
        How the totals change with the multipliers: the Jacobian matrix.
    groups
        How many there are.
    """

    total: Floats
    size: Floats
    kept: Floats
    slopes: Floats
    groups: int

    def __add__(self, other: "DomainSums") -> "DomainSums":
        return DomainSums(
            self.total + other.total,
            self.size + other.size,
            self.kept + other.kept,
            self.slopes + other.slopes,
            self.groups + other.groups,
        )

    @property
    def missed(self) -> float:
        """By how much the worst domain misses its total, as a share of the sum of absolute values."""
        size = np.where(self.size > 0, self.size, 1.0)
        return float((np.abs(self.total - self.kept) / size).max(initial=0.0))

    def step(self) -> Floats:
        """Return by how much Newton's method changes the multipliers."""
        scale = 1 / np.sqrt(np.maximum(np.diag(self.slopes), np.finfo(float).tiny))
        scale[np.diag(self.slopes) == 0] = 0.0  # no value can change a total
        slopes = self.slopes * scale * scale[:, None]
        step = np.linalg.lstsq(slopes, scale * (self.total - self.kept), rcond=1e-11)[0]
        return np.asarray(scale * step)


@dataclass(frozen=True)
class Domains:
    """Groups and domains of some records.

    Attributes
    ----------
    labels, domain
        The group and the domain of each record, without gaps and up to `count`.
    count
        How many domains there are.
    weights
        Of the records; None if all count alike.
    """

    labels: Integers
    domain: Integers
    count: int
    weights: Floats | None = None

    def values(self, published: Floats, multipliers: Floats, least: float) -> Floats:
        """Return what every group publishes with some multipliers."""
        group, domain, weight = self._cells()
        sizes = np.bincount(self.labels)
        value = np.empty(len(sizes))
        value[self.labels] = published
        return np.maximum(least, value + np.bincount(group, weight * multipliers[domain], len(sizes)) / sizes)

    def sums(self, original: Floats, published: Floats, multipliers: Floats, least: float) -> DomainSums:
        """Add up totals, and how they change with the multipliers."""
        from scipy.sparse import csr_array

        group, domain, weight = self._cells()
        values, sizes = self.values(published, multipliers, least), np.bincount(self.labels)
        weights = np.ones(len(original)) if self.weights is None else self.weights
        cells = csr_array((weight, (group, domain)), shape=(len(sizes), self.count))
        moving = csr_array((weight * (values > least)[group] / sizes[group], (group, domain)), shape=cells.shape)
        totals = [weights * original, weights * np.abs(original)]
        had, size = (np.bincount(self.domain, each, self.count).astype(np.float64) for each in totals)
        kept = np.bincount(domain, weight * values[group], self.count).astype(np.float64)
        return DomainSums(had, size, kept, np.asarray((cells.T @ moving).toarray()), len(sizes))

    def _cells(self) -> tuple[Integers, Integers, Floats]:
        """Return the groups and domains that share records, with their (weighted) number."""
        pairs, place = np.unique(self.labels * self.count + self.domain, return_inverse=True)
        weight: NDArray[np.float64] = np.bincount(place, self.weights).astype(np.float64)
        return pairs // self.count, pairs % self.count, weight

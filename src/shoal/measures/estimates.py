"""Estimates from a file with their confidence intervals, and distances between two distributions."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.measures.regression import interval_overlap, quantile

Vector = NDArray[np.float64]


class Estimate(NamedTuple):
    """A statistic and its confidence interval."""

    value: float
    low: float
    high: float

    def overlap(self, other: "Estimate") -> float:
        """Return the overlap of both intervals (`interval_overlap`)."""
        return interval_overlap(self.low, self.high, other.low, other.high)


def mean(values: Vector, weights: Vector | None = None, confidence: float = 0.95) -> Estimate:
    """Mean of some records with its interval; weighted ones by linearization, for records drawn independently."""
    n = len(values)
    w = np.ones(n) if weights is None else weights / weights.mean()
    centre = float(w @ values / n)
    return _around(centre, w * (values - centre) / n, confidence)


def total(values: Vector, weights: Vector | None = None, confidence: float = 0.95) -> Estimate:
    """Sum of values times weights with its interval, for records drawn independently."""
    parts = values if weights is None else values * weights
    return _around(float(parts.sum()), parts - parts.mean(), confidence)


def _around(value: float, parts: Vector, confidence: float) -> Estimate:
    """Return the interval of a sum of independent parts, here without their mean."""
    n = len(parts)
    if n < 2:
        return Estimate(value, value, value)
    reach = quantile(confidence, n - 1) * float(np.sqrt(parts @ parts * n / (n - 1)))
    return Estimate(value, value - reach, value + reach)


def share(part: float, whole: float, records: float, confidence: float = 0.95) -> Estimate:
    """Share of a category with Wilson's interval, which is right for rare categories too.

    `part` and `whole` are sums of weights, `records` the effective number of records (`effective_records`).

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference, Journal of the American
    Statistical Association 22, 209-212.
    """
    p, z = part / whole, quantile(confidence)
    middle = (p + z * z / (2 * records)) / (1 + z * z / records)
    reach = z / (1 + z * z / records) * np.sqrt(p * (1 - p) / records + z * z / (4 * records * records))
    return Estimate(p, max(0.0, float(middle - reach)), min(1.0, float(middle + reach)))


def effective_records(weights: Vector) -> float:
    """Return the number of records that estimate as precisely as these do with their weights (Kish 1965)."""
    return float(weights.sum() ** 2 / (weights @ weights))


def wasserstein(before: Vector, after: Vector, weights: tuple[Vector, Vector] | None = None) -> float | None:
    """Wasserstein distance of order 1 between two samples, in standard deviations of the first.

    The area between the distribution functions: by how much values must move on average for one to become the other.
    None if the first is constant and the second is another.
    """
    w, v = weights or (np.ones(len(before)), np.ones(len(after)))
    middle = w @ before / w.sum()
    deviation = float(np.sqrt(w @ (before - middle) ** 2 / w.sum()))
    every = np.sort(np.concatenate([before, after]))
    gaps = np.diff(every)
    apart = np.abs(_distribution(before, w, every[:-1]) - _distribution(after, v, every[:-1]))
    area = float(apart @ gaps)
    if deviation == 0:
        return 0.0 if area == 0 else None
    return area / deviation


def _distribution(values: Vector, weights: Vector, at: Vector) -> Vector:
    order = np.argsort(values)
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    return np.asarray(sums[np.searchsorted(values[order], at, side="right")] / sums[-1])


def hellinger(before: Vector, after: Vector) -> float:
    """Hellinger distance between two lists of frequencies of the same categories: 0 equal, 1 without a common one."""
    p, q = before / before.sum(), after / after.sum()
    return float(np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2))

"""Giving a masked attribute its mean and variance back."""

import math
from typing import NamedTuple

import numpy as np

from shoal.aggregation.representatives import Column
from shoal.kernels.standardize import exponent_of


class Rescaling(NamedTuple):
    """The map x'' = (x' - m1) * slope + mu1 that gives a masked attribute the mean and variance of the original."""

    m1: float
    slope: float
    mu1: float

    def apply(self, masked: Column) -> Column:
        """Rescale; equal values stay equal, missing ones missing."""
        return (masked - self.m1) * self.slope + self.mu1

    def undo(self, restored: Column) -> Column:
        """Return to the representatives, up to rounding."""
        return (restored - self.mu1) / self.slope + self.m1


def restore_variance(masked: Column, original: Column, weights: Column | None = None) -> Rescaling:
    """Find the rescaling after which a masked attribute has the mean and the variance of the original.

    x'' = (x' - m1) * sqrt(mu2 / m2) + mu1, with mean m1 and variance m2 of the masked attribute, mu1 and mu2 of the
    original. Records that were published alike still are. Representatives may leave the range of their group.

    Moments are those of the values that are there, in either file: anyone who computes the mean and the variance of the
    published attribute, leaving out what is missing, finds what the original gives in the same way. With survey weights
    they are the weighted ones. An attribute whose values (of records with weight) are all the same stays as it is.

    References
    ----------
    Domingo-Ferrer & Torra (2005), Ordinal, continuous and heterogeneous k-anonymity through microaggregation, Data
    Mining and Knowledge Discovery 11.
    """
    x, of_x = _counting(original, weights)
    y, of_y = _counting(masked, weights)
    if x.size == 0 or y.size == 0 or x.min() == x.max():
        return Rescaling(0.0, 1.0, 0.0)
    exponent = exponent_of(x)
    m1, deviation = _mean_and_deviation(np.ldexp(y, -exponent), of_y)
    mu1, wanted = _mean_and_deviation(np.ldexp(x, -exponent), of_x)
    return Rescaling(float(np.ldexp(m1, exponent)), float(wanted / deviation), float(np.ldexp(mu1, exponent)))


def _counting(column: Column, weights: Column | None) -> tuple[Column, Column | None]:
    """Take the values that are there and have weight."""
    counting = ~np.isnan(column)
    if weights is None:
        return column[counting], None
    counting &= weights > 0
    return column[counting], weights[counting]


def _mean_and_deviation(x: Column, weights: Column | None) -> tuple[float, float]:
    """Compute them from sums that are rounded once, at their end: the order of the records plays no part."""
    shares = np.ones(len(x)) if weights is None else weights / weights.max()  # no sum of them overflows
    total = math.fsum(shares.tolist())
    mean = math.fsum((x * shares).tolist()) / total
    return mean, math.sqrt(math.fsum(((x - mean) ** 2 * shares).tolist()) / total)

"""What a group publishes: one value for all of its records."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.groups import trimmed_means
from shoal.scaling import Matrix

Labels = NDArray[np.int64]
Column = NDArray[np.float64]


def aggregate(X: Matrix, labels: Labels, how: Literal["mean", "median", "trimmed_mean"], trim: int = 0) -> Matrix:
    """Replace each record by its group's representative, attribute by attribute.

    Parameters
    ----------
    X : (n, d) matrix
        The attributes, in their own units.
    labels : (n,) array of int
        The group of each record, numbered from 0 without gaps.
    how : {"mean", "median", "trimmed_mean"}
        ``mean`` preserves the sum of every group, hence the attribute's mean, and is the representative of least
        squared error; ``median`` (the middle value, or the mean of the two middle ones) is the one of least absolute
        error and resists outliers; ``trimmed_mean`` lies between them. Only ``mean`` preserves means.
    trim : int
        How many records ``trimmed_mean`` leaves out at each end of a group.

    Returns
    -------
    (n, d) matrix
        The same bits for every record of a group, whatever the order of the records.
    """
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    skip = {"mean": 0, "median": -1, "trimmed_mean": trim}[how]
    return np.stack([trimmed_means(column[order], starts, skip)[labels] for column in X.T], axis=1)


class Rescaling(NamedTuple):
    """The map x'' = (x' - m1) * slope + mu1 that gives a masked attribute the mean and variance of the original."""

    m1: float
    slope: float
    mu1: float

    def apply(self, masked: Column) -> Column:
        """Rescale; equal values stay equal."""
        return (masked - self.m1) * self.slope + self.mu1

    def undo(self, restored: Column) -> Column:
        """Return to the representatives, up to rounding."""
        return (restored - self.mu1) / self.slope + self.m1


def restore_variance(masked: Column, original: Column) -> Rescaling:
    """Find the rescaling after which a masked attribute has the mean and the variance of the original.

    x'' = (x' - m1) * sqrt(mu2 / m2) + mu1, with mean m1 and variance m2 of the masked attribute, mu1 and mu2 of the
    original. Records that were published alike still are. Representatives may leave the range of their group.

    References
    ----------
    Domingo-Ferrer & Torra (2005), Ordinal, continuous and heterogeneous k-anonymity through microaggregation, Data
    Mining and Knowledge Discovery 11.
    """
    if original.min() == original.max():
        return Rescaling(0.0, 1.0, 0.0)
    # Near one, squares neither overflow nor vanish; a power of two changes no digit.
    _, exponent = np.frexp(np.abs(original).max())
    x, y = np.ldexp(original, -exponent), np.ldexp(masked, -exponent)
    return Rescaling(float(masked.mean()), float(x.std() / y.std()), float(original.mean()))

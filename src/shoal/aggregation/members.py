"""The members of groups that take part in what their group publishes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
Column = NDArray[np.float64]


class Members(NamedTuple):
    """Values and weights as `shoal.kernels.groups` takes them, of those groups that have any."""

    values: Column
    weights: Column
    starts: NDArray[np.int64]
    groups: Labels  # which groups these are; no member of the others takes part


def members(codes: Column, labels: Labels, weights: Column | None) -> Members:
    """Sort the members that have a value and a weight, group by group."""
    present = ~np.isnan(codes)
    counts = counted(None if weights is None else np.where(present, weights, 0.0), labels)
    takes_part = present & (counts > 0)
    x = codes[takes_part] + 0.0  # zeros of either sign are one value, of which 0.0 is published
    w, g = counts[takes_part], labels[takes_part]
    order = np.lexsort((w, x, g))
    sizes = np.bincount(g)
    groups = np.flatnonzero(sizes)
    return Members(x[order], w[order], starts_of(sizes[groups]), groups)


def starts_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Say where groups of these sizes begin that lie one after the other, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)])


def counted(weights: Column | None, labels: Labels) -> Column:
    """Say by how much each record counts: by its weight, or by one.

    Weights are divided by the power of two that brings the largest to between one and two: no sum of them overflows,
    and weights of one stay as they are. The members of a group count alike if none of them has weight.
    """
    if weights is None:
        return np.ones(labels.size)
    counts: Column = np.ldexp(weights, 1 - np.frexp(weights.max())[1])
    weightless = np.bincount(labels, counts) == 0
    counts[weightless[labels]] = 1.0
    return counts


def outweighed(present: NDArray[np.bool_], labels: Labels, weights: Column | None) -> NDArray[np.bool_]:
    """Say of each group whether the members that miss the value outweigh those that have it."""
    counts = counted(weights, labels)
    order = np.lexsort((counts, labels))  # the order of the records must not decide by a rounding error
    counts, present, labels = counts[order], present[order], labels[order]
    missing = np.bincount(labels, np.where(present, 0.0, counts))
    more: NDArray[np.bool_] = missing > np.bincount(labels, np.where(present, counts, 0.0))
    return more

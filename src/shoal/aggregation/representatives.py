"""What a group publishes: one value for all of its records, attribute by attribute."""

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.encoded import MODE, EncodedMatrix
from shoal.kernels.groups import convex_medians, gathered, least_distant, means, middle

Labels = NDArray[np.int64]
Column = NDArray[np.float64]
Places = NDArray[np.int64]
Aggregate = Literal[
    "mean", "geometric_mean", "median", "lower_median", "order_statistic", "trimmed_mean", "convex_median", "mode"
]


_SMALL = 64  # members of groups that are sorted by insertion


class Members(NamedTuple):
    """Values and weights as `shoal.kernels.groups` takes them, of those groups that have any."""

    values: Column
    weights: Column
    starts: NDArray[np.int64]
    groups: Labels  # which groups these are; no member of the others takes part


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


def aggregate(
    codes: Column,
    labels: Labels,
    how: Aggregate,
    *,
    trim: int = 0,
    rank: float = 0.5,
    weights: Column | None = None,
    levels: int = 0,
    fill: bool = False,
) -> Column:
    """Replace each value of an attribute by its group's representative.

    - ``mean`` keeps the (weighted) sum of every group, hence the attribute's mean, and costs the least squared error.
    - ``geometric_mean`` keeps the product of every group; values must be positive.
    - ``median`` costs the least absolute error and resists outliers: the first value at which the running weight
      reaches half of the group's, or the mean of this and the next if it is exactly half. Of levels it is always
      the lower one, which occurs in the group.
    - ``lower_median`` is that one, of numbers too: what is published occurs in the group.
    - ``order_statistic``: the value at `rank`, 1 for the least, or at a share of the group below 1: of N members the
      one at ceil(rank * N), which is the lower median at 0.5. It occurs in the group; without weights only.
    - ``trimmed_mean`` lies between mean and median; without weights only.
    - ``convex_median``, of levels: the lower median after the frequencies f were made convex,
      f_c(i) = min(max of f(j) over j <= i, max of f(j) over j >= i) [1]_. Like a mean, it may be a level between
      those that occur in the group [2]_.
    - ``mode``: the most frequent value (plurality rule). Of several it is the one that is rarest in the whole
      column, because modes tend to wipe out what is rare; then the lowest.

    All records of a group get the same bits, whatever the order of the records, within the range of the group. A record
    of weight 2 counts as two, one of weight zero does not count (but if no record with a value has weight, they count
    alike). ``trimmed_mean`` leaves out `trim` members with a value at each end, fewer if nothing would be left. With
    `fill`, a group publishes a value as soon as one member has one; otherwise a missing value (NaN) if the members that
    miss it outweigh those that have it. Ordinal attributes have so many `levels`; others 0.

    References
    ----------
    .. [1] J. Domingo-Ferrer and V. Torra, "Median-based aggregation operators for prototype construction in ordinal
       scales", International Journal of Intelligent Systems 18 (2003) 633-655.
    .. [2] J. Domingo-Ferrer and V. Torra, "Ordinal, continuous and heterogeneous k-anonymity through
       microaggregation", Data Mining and Knowledge Discovery 11 (2005) 195-212.
    """
    if how == "trimmed_mean" and weights is not None:
        raise ValueError("the trimmed mean has no weighted version")
    if how == "order_statistic" and weights is not None:
        raise ValueError("order statistics have no weighted version")
    if how == "convex_median" and levels == 0:
        raise ValueError("the convex median is one of levels")
    published = np.full(int(labels.max()) + 1, np.nan)
    taking_part = members(codes, labels, weights)
    published[taking_part.groups] = _representatives(taking_part, how, trim, rank, levels)
    missing = np.isnan(codes)
    if missing.any() and not fill:
        published[outweighed(~missing, labels, weights)] = np.nan
    return published[labels]


def _representatives(of: Members, how: Aggregate, trim: int, rank: float, levels: int) -> Column:
    match how:
        case "mean":
            return _means(of, of.starts[:-1], of.starts[1:])
        case "geometric_mean":
            return _geometric_means(of)
        case "median":
            return _lower_medians(of) if levels > 0 else _medians(of)
        case "lower_median":
            return _lower_medians(of)
        case "order_statistic":
            return _order_statistics(of, rank)
        case "trimmed_mean":
            skip = np.minimum(trim, (np.diff(of.starts) - 1) // 2)
            return _means(of, of.starts[:-1] + skip, of.starts[1:] - skip)
        case "convex_median":
            return np.asarray(convex_medians(of.values.astype(np.int64), of.weights, of.starts), dtype=np.float64)
        case "mode":
            return _modes(of)


def _means(of: Members, first: Places, last: Places) -> Column:
    return _between(means(of.values, of.weights, first, last), of.values[first], of.values[last - 1])


def _medians(of: Members) -> Column:
    lower, upper = middle(of.weights, of.starts)
    return _means(of._replace(weights=np.ones(of.values.size)), lower, upper + 1)


def _lower_medians(of: Members) -> Column:
    lower, _ = middle(of.weights, of.starts)
    return of.values[lower]


def _order_statistics(of: Members, rank: float) -> Column:
    """Return the value at a rank, the last one in groups that have fewer; a share is rounded up to a rank."""
    sizes = np.diff(of.starts)
    # a share such as 0.07 of a hundred is seven, whatever doubles make of it
    ranks = np.ceil(np.round(rank * sizes, 9)) if rank < 1 else np.minimum(rank, sizes)
    return of.values[of.starts[:-1] + ranks.astype(np.int64) - 1]


def _geometric_means(of: Members) -> Column:
    """Exponentiate mean logarithms; significands and exponents are averaged apart, which keeps all digits."""
    significands, exponents = np.frexp(of.values)
    first, last = of.starts[:-1], of.starts[1:]
    log = means(np.log(significands), of.weights, first, last)
    exponent = means(exponents.astype(np.float64), of.weights, first, last)
    whole = np.rint(exponent)
    with np.errstate(over="ignore", under="ignore"):  # by a rounding error at either end of the range of doubles
        product = np.ldexp(np.exp(log + (exponent - whole) * math.log(2)), whole.astype(np.int32))
    return _between(product, of.values[first], of.values[last - 1])


def _between(mean: Column, low: Column, high: Column) -> Column:
    """Keep rounding from pushing a mean outside its group: equal members publish their own value, to the bit."""
    return np.clip(mean, low, high)


def _modes(of: Members) -> Column:
    categories, code = np.unique(of.values, return_inverse=True)
    by_weight = np.lexsort((of.weights, code))  # a sum must not depend on how the groups are numbered
    in_column = np.bincount(code[by_weight], of.weights[by_weight])
    group = np.repeat(np.arange(of.groups.size), np.diff(of.starts))
    begins = (np.diff(group, prepend=-1) != 0) | (np.diff(code, prepend=-1) != 0)  # a run of equal values
    frequency = np.bincount(np.cumsum(begins) - 1, of.weights)
    group, code = group[begins], code[begins]
    best_first = np.lexsort((code, in_column[code], -frequency, group))
    _, best = np.unique(group[best_first], return_index=True)
    modes: Column = categories[code[best_first][best]]
    return modes


def members(codes: Column, labels: Labels, weights: Column | None) -> Members:
    """Sort the members that have a value and a weight, group by group."""
    present = ~np.isnan(codes)
    counts = counted(None if weights is None else np.where(present, weights, 0.0), labels)
    takes_part = present & (counts > 0)
    x = codes[takes_part] + 0.0  # zeros of either sign are one value, of which 0.0 is published
    w, g = counts[takes_part], labels[takes_part]
    sizes = np.bincount(g)
    groups = np.flatnonzero(sizes)
    starts = starts_of(sizes[groups])
    if sizes.max(initial=0) <= _SMALL:
        number = np.cumsum(sizes > 0) - 1
        return Members(*gathered(x, w, number[g], starts), starts, groups)
    order = np.lexsort((w, x, g))
    return Members(x[order], w[order], starts, groups)


def starts_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where consecutive groups of these sizes begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)])


def counted(weights: Column | None, labels: Labels) -> Column:
    """Return by how much each record counts: by its weight, or by one.

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
    """Return for each group whether the members that miss the value outweigh those that have it."""
    counts = counted(weights, labels)
    order = np.lexsort((counts, labels))  # the order of the records must not decide by a rounding error
    counts, present, labels = counts[order], present[order], labels[order]
    missing = np.bincount(labels, np.where(present, 0.0, counts))
    more: NDArray[np.bool_] = missing > np.bincount(labels, np.where(present, counts, 0.0))
    return more


def medoids(space: EncodedMatrix, labels: Labels, weights: Column | None = None) -> NDArray[np.int64]:
    """Find in each group the record with the least sum of squared distances to the members.

    Published in place of all members, no record of the group costs less squared error: that is why distances are
    squared here, where others take them as they are. Unlike what is aggregated attribute by attribute, a medoid is a
    combination of values that exists. Of equals it is the one with the lowest value in the first column that tells them
    apart (missing ones last), so that the order of the records does not matter; then the one of least weight, then the
    first. Time grows with the sum of the squared group sizes.
    """
    counts = counted(weights, labels)
    order = np.lexsort((counts, *space.values.T[::-1], labels))
    starts = starts_of(np.bincount(labels))
    places = least_distant(space.values[order], space.kinds != MODE, space.apart, counts[order], starts)
    return order[places]

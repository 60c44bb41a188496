"""R-microhybrid: groups that publish synthetic records instead of one average."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.aggregation.representatives import Column, Labels, starts_of
from shoal.kernels.ipso import LEAST_ROOM, synthesise
from shoal.kernels.standardize import Matrix, standardize
from shoal.masking.ipso import Seed, checked, noise, refuse_fewer, stream
from shoal.partitioning.connected import connected
from shoal.partitioning.methods import by_first_record

if TYPE_CHECKING:
    from scipy.spatial import KDTree

# Standard normal numbers for the records of groups, one a value.
DrawForGroups = Callable[[Labels], Matrix]

# What moved by no more than this share of its group's range, or of itself, was not changed.
OF_THE_RANGE, OF_ITSELF = 1e-9, 1e-12


class HybridResult(NamedTuple):
    """Hybrid values and how much could be changed."""

    values: Matrix
    labels: Labels  # the groups in which means and covariances are kept, numbered by their first records
    room: Column  # of each record: 1 less its leverage in the regression of noise; near 0, there is hardly any noise
    left: Column  # of each attribute: 1 less R squared of the regression on Y, the mean of groups where it varies
    unchanged: NDArray[np.bool_]  # the values that are still their own, for what is published gives them away
    fused: int  # how many groups went into others, because a record of theirs had no room


class Rule(NamedTuple):
    """What the values of an attribute must be."""

    low: float = -np.inf
    high: float = np.inf
    whole: bool = False


def microhybrid(
    X: Matrix, Y: Matrix, labels: Labels, rng: Seed | Matrix | DrawForGroups = None, *, orthogonal: bool = False
) -> HybridResult:
    """Replace the confidential attributes of each group by synthetic ones with the same means and covariances.

    R-microhybrid [1]_: X is regressed on Y in every group, and the residuals are replaced by synthetic ones of the same
    covariance matrix, orthogonal to 1 and Y (IPSO, variant C of [2]_). Means, covariances of X and covariances of X
    with Y are kept exactly in every group, hence in the file (Lemma 1), however the groups were formed; groups of
    similar records, partitioned by X and Y, keep much else besides. One group of all records makes a synthetic file.
    Each group needs `least_k` records. The result does not depend on how groups are numbered. Anyone who knows the
    seed can remove the noise, so it must not be published; `rng` may be standard normal numbers too, one a value, or
    return them for labels.

    Synthetic residuals are drawn once, and not regressed on X as in [1]_: residuals that are uncorrelated with the
    original ones are an equation for every pair of attributes, which can be solved for values that are whole numbers;
    and repeated releases of the same records, with fresh noise, would all avoid one direction, that of the original.
    So would the best of several draws. `orthogonal` regresses noise on X all the same, as [1]_ prints it. The same
    noise in other groups would then give the original away in two releases, so draw it for groups.

    Two things can leave a value as it was:

    - Y singles a record out: its leverage in the regression on Y is 1, as that of the only member with anything but
      zero in an attribute of Y. Its group is fused with that of the record nearest in Y until it has room. If Y singles
      it out in the whole file, nothing helps: its values are reported. `orthogonal` noise is regressed on Y and X, and
      what is said of Y here holds for both: where X singles a record out, its values can be computed.
    - The attribute is constant in the group, or a linear combination of Y there. Its values follow from what is
      published anyway, and covariances with Y could not be kept otherwise. They are reported.

    References
    ----------
    .. [1] J. Domingo-Ferrer, "Microaggregation-based numerical hybrid data", Joint UNECE/Eurostat work session on
       statistical data confidentiality, Bilbao 2009; J. Domingo-Ferrer and Ú. González-Nicolás, "Hybrid microdata using
       microaggregation", Information Sciences 180 (2010) 2834-2844.
    .. [2] J. Burridge, "Information preserving statistical obfuscation", Statistics and Computing 13 (2003) 321-327.
    """
    X, Y, unit = checked(X, Y)
    labels = by_first_record(labels)
    refuse_fewer(int(np.bincount(labels, minlength=1).min()), X.shape[1], Y.shape[1], orthogonal=orthogonal)
    groups = int(labels.max()) + 1
    drawn = rng(labels) if callable(rng) else noise(X, rng)
    values, room, left = _in_groups(X, Y, drawn, labels, orthogonal)
    explaining = np.hstack([Y, X]) if orthogonal else Y
    tight = _tight(explaining, room)
    tree = _tree(explaining) if tight.any() else None
    while tree is not None and tight.any():
        labels, grown = _fused(tree, labels, np.where(tight, room, 1.0))
        drawn = rng(labels) if callable(rng) else drawn
        part = _in_groups(X[grown], Y[grown], drawn[grown], by_first_record(labels[grown]), orthogonal)
        values[grown], room[grown], left[grown] = part
        tight &= room < LEAST_ROOM
    unchanged = _unchanged(X, values, labels) | (room < LEAST_ROOM)[:, None]
    values = np.ldexp(values, unit)
    return HybridResult(values, labels, room, _mean_of_varying(left), unchanged, groups - int(labels.max()) - 1)


def redraw(codes: Matrix, labels: Labels, rng: Seed | Matrix = None) -> Matrix:
    """Re-draw nominal and ordinal attributes within groups, so that the marginals of every group are kept exactly.

    In each group the values of an attribute are dealt out to the members again, every way being equally likely. Each
    attribute is dealt on its own: dealing whole combinations would keep the associations inside a group as well, but
    would publish the combinations of real people, and who knows one confidential value of a person could read off
    the others. What attributes have in common from group to group is kept, and similar records, which groups are made
    of, leave little beyond. As with numbers, neither the values of a group nor how often they occur are hidden:
    l-diversity and t-closeness look after these. NaN, a missing value, is dealt out like a value. A member may be dealt
    its own value again: a rule against this would reveal what it is not. `rng` may be random numbers, one a value.

    References
    ----------
    J. Domingo-Ferrer and Ú. González-Nicolás, "Hybrid microdata using microaggregation", Information Sciences 180
    (2010) 2834-2844, for hybrid data that are not numbers.
    """
    drawn = rng if isinstance(rng, np.ndarray) else stream(rng).random(codes.shape)
    members = np.argsort(labels, kind="stable")
    dealt = np.empty_like(codes)
    for j in range(codes.shape[1]):
        dealt[members, j] = codes[np.lexsort((drawn[:, j], labels)), j]
    return dealt


def kept_to(rule: Rule, column: Column) -> Column:
    """Move each value to the nearest one that a rule allows."""
    if not rule.whole:
        return np.clip(column, rule.low, rule.high)
    return np.clip(np.rint(column), np.ceil(rule.low), np.floor(rule.high))


def _in_groups(X: Matrix, Y: Matrix, drawn: Matrix, labels: Labels, orthogonal: bool) -> tuple[Matrix, Column, Matrix]:
    """IPSO in every group: return the values, the room of every record, and what Y leaves of variances in its group."""
    order = np.argsort(labels, kind="stable")
    return synthesise(X, Y, drawn, order, starts_of(np.bincount(labels)), orthogonal)


def _mean_of_varying(left: Matrix) -> Column:
    """Average over the records in whose group an attribute is not constant; 1 if there are none."""
    varies = ~np.isnan(left)
    total = np.where(varies, left, 0.0).sum(axis=0)
    mean: Column = np.divide(total, varies.sum(axis=0), out=np.ones(left.shape[1]), where=varies.any(axis=0))
    return mean


def _tight(Y: Matrix, room: Column) -> NDArray[np.bool_]:
    """Return for each record whether it has no room in its group, but would have some in a larger one."""
    tight: NDArray[np.bool_] = room < LEAST_ROOM
    if tight.any():
        no_values, one_group = np.empty((len(Y), 0)), np.zeros(len(Y), dtype=np.int64)
        tight &= _in_groups(no_values, Y, no_values, one_group, False)[1] >= LEAST_ROOM
    return tight


def _tree(Y: Matrix) -> "KDTree":
    from scipy.spatial import KDTree  # slow to load, and rarely needed

    return KDTree(standardize(Y))


def _fused(tree: "KDTree", labels: Labels, room: Column) -> tuple[Labels, NDArray[np.bool_]]:
    """Fuse each group that has a record without room with another; return the labels, and who is in a group that grew.

    It is the group of the record that is, in Y, nearest to the one with the least room: it is likely to differ from the
    others in the same attributes.
    """
    by_room = np.lexsort((room, labels))
    tightest = by_room[np.diff(labels[by_room], prepend=-1) != 0]  # one record a group
    singled_out = tightest[room[tightest] < LEAST_ROOM]
    other = _nearest_elsewhere(tree, labels, singled_out)
    joined = connected(int(labels.max()) + 1, labels[singled_out], labels[other])
    fused = by_first_record(joined[labels])
    return fused, np.isin(fused, fused[singled_out])


def _nearest_elsewhere(tree: "KDTree", labels: Labels, records: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find for each of the records the nearest one in another group."""
    found = np.empty_like(records)
    waiting, count = np.arange(records.size), 8
    while waiting.size:
        asked = records[waiting]
        near = tree.query(tree.data[asked], k=min(count, labels.size))[1]
        elsewhere = labels[near] != labels[asked][:, None]
        found[waiting] = near[np.arange(waiting.size), elsewhere.argmax(axis=1)]
        waiting, count = waiting[~elsewhere.any(axis=1)], 8 * count
    return found


def _unchanged(X: Matrix, values: Matrix, labels: Labels) -> NDArray[np.bool_]:
    """Return for each value whether it is its own original, as all in its group are; a single one is so by chance."""
    order = np.argsort(labels, kind="stable")
    first = starts_of(np.bincount(labels))[:-1]
    spread = np.maximum.reduceat(X[order], first) - np.minimum.reduceat(X[order], first)
    still = np.abs(values - X) <= np.maximum(OF_THE_RANGE * spread[labels], OF_ITSELF * np.abs(X))
    all_of_them: NDArray[np.bool_] = np.logical_and.reduceat(still[order], first)[labels]
    return all_of_them

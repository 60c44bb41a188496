"""Linkability: whether two sources about a person lead to the same published record."""

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.linkage_by_types import nearest_by_types
from shoal.measures.equivalence_classes import Classes, published_classes

Split = tuple[list[int], list[int]]
MOST_SPLITS = 5


def halves(d: int, seed: int) -> list[Split]:
    """Draw ways to divide d attributes between two sources, halves as nearly as possible; none of one attribute."""
    rng = np.random.default_rng(seed)
    drawn = (np.sort(rng.permutation(d)[: d // 2]).tolist() for _ in range(4 * MOST_SPLITS if d > 1 else 0))
    found = [(one, [j for j in range(d) if j not in one]) for one in dict.fromkeys(map(tuple, drawn))]
    return [(list(one), other) for one, other in found[:MOST_SPLITS]]


def linkable(targets: EncodedMatrix, published: EncodedMatrix, splits: list[Split]) -> NDArray[np.float64]:
    """Return for each target the probability that two sources lead to the same published record.

    One source has some attributes of the target, the other the rest. In each, one of the published records nearest to
    the target, which in a microaggregated file are at least k, is drawn. Targets take the `splits` in turn.

    References
    ----------
    Giomi et al. (2022), see `shoal.measures.attack_rates.excess`; there the nearest record is one, as records differ.
    """
    found = np.zeros(len(targets.values))
    for at, (one, other) in enumerate(splits):
        mine = np.arange(at, len(found), len(splits))
        if len(mine):
            found[mine] = _agreeing(targets.rows(mine), published, one, other)
    return found


def _agreeing(
    targets: EncodedMatrix, published: EncodedMatrix, one: list[int], other: list[int]
) -> NDArray[np.float64]:
    classes = [published_classes(published.values, columns) for columns in (one, other)]
    nearest = [
        _nearest(targets.columns(columns), published, columns, each)
        for columns, each in zip((one, other), classes, strict=True)
    ]
    both = classes[0].labels * len(classes[1].size) + classes[1].labels
    cells, counts = np.unique(both, return_counts=True)
    rows, columns = np.divmod(cells, len(classes[1].size))
    starts = np.searchsorted(rows, np.arange(len(classes[0].size) + 1))
    found = []
    for near, others in zip(*nearest, strict=True):
        shared = _ranges(starts[near], starts[near + 1])
        records = counts[shared][np.isin(columns[shared], others)].sum()
        drawn = classes[0].size[near].sum() * classes[1].size[others].sum()
        found.append(records / drawn if drawn else 0.0)
    return np.array(found)


def _ranges(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return start, ..., end - 1 of each range, one after the other."""
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    ranges: NDArray[np.int64] = np.repeat(starts - before, lengths) + np.arange(lengths.sum())
    return ranges


def _nearest(
    points: EncodedMatrix, published: EncodedMatrix, columns: list[int], classes: Classes
) -> list[NDArray[np.int64]]:
    rows = np.ascontiguousarray(published.values[classes.first][:, columns])
    ends, found = nearest_by_types(points, rows)
    return np.split(found, ends)[:-1]

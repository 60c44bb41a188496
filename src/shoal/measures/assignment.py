"""Optimal assignment: the intruder who knows everybody in the file, and links all of them at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.assignment import Assigned, assign_to_groups
from shoal.kernels.encoded import MODE, EncodedMatrix
from shoal.measures.equivalence_classes import Classes, published_classes
from shoal.measures.estimates import mean

# What is spent on an exact solution: records, and steps of the search.
MOST_RECORDS = 200_000
MOST_STEPS = 2_000_000_000  # 100,000 skewed records x 5 reach it after 45 s
# With more attributes than these, or other types than numbers, searches look at nearly all pairs: no more than these.
FEW_ATTRIBUTES = 8
MOST_PAIRS = 4_000_000_000
# A solution whose cost is so near to the bound of its prices is optimal: relative to the cost, or what rounding may
# explain, relative to the sum of squares of the file.
TOLERANCE = 1e-9
ROUNDING = 1e-15
# Otherwise: so many groups are drawn, and each is solved with so many groups around it, of so many records at most.
NEIGHBOURHOODS = 200
GROUPS_AROUND = 300
RECORDS_AROUND = 5_000
STEPS_AROUND = 50_000_000  # a second for each; most take a few hundredths


def assignment(
    original: EncodedMatrix,
    masked: EncodedMatrix,
    records: int = MOST_RECORDS,
    steps: int = MOST_STEPS,
    seed: int = 0,
) -> dict[str, Any]:
    """Percentage of records that an intruder finds who assigns all known records to the published ones at once.

    The intruder knows all the people in the file. Of all ways to give each of them a published record of their own,
    the one with the least sum of squared distances is taken: where two people are nearest to the same record, one has
    to be another. Records published alike are one group of m; a person in the right group counts 1 / m.

    Parameters
    ----------
    original, masked : EncodedMatrix
        The same records in the same order, on the scales by which they are compared: see `LinkageSpaces`.
    records, steps : int
        With more records than this, or after so many steps, it is estimated in neighbourhoods (also above four thousand
        million pairs of a record and a group, with more than 8 attributes or other types than numbers).
    seed : int
        Of the neighbourhoods that are drawn.

    Returns
    -------
    dict
        ``hits``, in percent of the records, with its 95 % ``interval`` if it is ``sampled`` (None if it is exact);
        ``blind``, what an assignment at random is expected to hit, 100 / n; ``most``, what one without a mistake hits,
        100 times the groups over n; ``records`` and ``groups``; ``gap``, the proven distance of the cost from the
        optimum, relative to the cost: at most 1e-9 or what rounding explains, and None if it is sampled.

    Notes
    -----
    Of people who are alike, any may be in the place of any other, so that hits are the mean over these exchanges. If
    other assignments cost the same, one is taken that does not depend on the order of the rows: records and groups are
    sorted by their values before.

    A sample of people who are anywhere in the file would compete less for the published records than all do. So groups
    are drawn, each as likely as it has records; the people of a group and of the 300 groups around it are assigned to
    these groups exactly, and the hits in the group that was drawn count. Nobody competes across the border, so that
    the figure errs to the side of too many hits, by more the longer the groups are; the interval is that of the draw
    alone. In a neighbourhood that is not solved within its steps, all people of the drawn group count as found; if
    these are more than half of all, ``hits`` is None.

    References
    ----------
    Domingo-Ferrer, Ricci & Soria-Comas (2015), Disclosure risk assessment via record linkage by a maximum-knowledge
    attacker, PST. Jaro (1989), Advances in record-linkage methodology as applied to matching the 1985 census of Tampa,
    Florida, Journal of the American Statistical Association 84, 414-420.
    """
    n = len(original.values)
    groups = _by_value(masked)
    count = len(groups.size)
    found = {"blind": 100 / n, "most": 100 * count / n, "records": n, "groups": count}
    easy = original.plain and masked.plain and original.values.shape[1] <= FEW_ATTRIBUTES
    if n <= records and (easy or n * count <= MOST_PAIRS):
        people = _by_value(original)
        solved = _solved(original.rows(people.first), people, masked.values[groups.first], groups, steps)
        if solved is not None:
            gap = solved.gap / solved.cost if solved.cost > 0 else 0.0
            exact = 100 * float(_hits(people, groups, solved).sum()) / n
            return {"hits": exact, "interval": None, **found, "sampled": False, "gap": gap}
    hits, interval = _in_neighbourhoods(original, masked, groups, seed)
    if hits is not None and interval is not None:  # no assignment hits more than one without a mistake
        hits, interval = min(hits, found["most"]), [min(end, found["most"]) for end in interval]
    return {"hits": hits, "interval": interval, **found, "sampled": True, "gap": None}


def _solved(
    points: EncodedMatrix, people: Classes, rows: NDArray[np.float64], groups: Classes, steps: int
) -> Assigned | None:
    """Assign classes of people to groups; None if that is not proven to be optimal."""
    solved = assign_to_groups(points, people.size, np.ascontiguousarray(rows), groups.size, steps)
    if solved is None:
        return None
    rounding = ROUNDING * float(people.size @ np.nansum(points.values**2, axis=1))
    return solved if solved.gap <= max(TOLERANCE * solved.cost, rounding) else None


def _hits(people: Classes, groups: Classes, solved: Assigned) -> NDArray[np.float64]:
    """Return how many people are found in each group, each in the right group of m as 1 / m."""
    right = _right(people, groups, solved.record, solved.group)
    found = solved.amount / people.size[solved.record] * right / groups.size[solved.group]
    return np.bincount(solved.group, found, len(groups.size)).astype(np.float64)


def _in_neighbourhoods(
    original: EncodedMatrix, masked: EncodedMatrix, groups: Classes, seed: int
) -> tuple[float | None, list[float] | None]:
    """Estimate hits and their 95 % interval from groups that are drawn with their records; None if few are solved."""
    drawn = np.random.default_rng(seed).integers(0, len(groups.labels), NEIGHBOURHOODS)
    order, ends = np.argsort(groups.labels, kind="stable"), np.cumsum(groups.size)
    rows = masked.rows(groups.first)
    shares, unsolved = [], 0
    for record in drawn:
        centre = groups.labels[record]
        near = _around(rows, centre, groups.size)
        members = np.concatenate([order[ends[g] - groups.size[g] : ends[g]] for g in near])
        points, some = original.rows(members), masked.rows(members)
        own, people = _by_value(some), _by_value(points)
        solved = _solved(points.rows(people.first), people, some.values[own.first], own, STEPS_AROUND)
        here = own.labels[np.flatnonzero(members == record)[0]]
        hits = 1.0 if solved is None else float(_hits(people, own, solved)[here])
        unsolved += solved is None
        shares.append(hits / groups.size[centre])
    if 2 * unsolved > len(shares):
        return None, None
    low, high = mean(np.array(shares))[1:]
    return 100 * float(np.mean(shares)), [100 * max(0.0, low), 100 * min(1.0, high)]


def _around(rows: EncodedMatrix, centre: int, size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a group and the groups nearest to it by what is published, up to a number of groups and of records."""
    far = _squared_distances(rows, rows.values[centre])
    far[centre] = -1.0
    near = np.argpartition(far, GROUPS_AROUND)[: GROUPS_AROUND + 1] if len(far) > GROUPS_AROUND else np.arange(len(far))
    near = near[np.argsort(far[near], kind="stable")]
    return near[: max(2, int(np.searchsorted(np.cumsum(size[near]), RECORDS_AROUND)))]


def _squared_distances(rows: EncodedMatrix, point: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distance of each row from a point, as `EncodedMatrix` defines it."""
    total = np.zeros(len(rows.values))
    for column, x, kind, apart in zip(rows.values.T, point, rows.kinds, rows.apart, strict=True):
        step = np.where(column == x, 0.0, apart) if kind == MODE else (column - x) ** 2
        one_missing = np.isnan(column) != np.isnan(x)
        total += np.where(one_missing, apart, 0.0 if np.isnan(x) else step)
    return total


def _by_value(space: EncodedMatrix) -> Classes:
    """Find the records that are alike, classes numbered in the order of their values; missing ones come last."""
    classes = published_classes(space.values)
    order = np.lexsort(space.values[classes.first].T[::-1])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return Classes(place[classes.labels], classes.first[order], classes.size[order])


def _right(people: Classes, groups: Classes, record: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count, for pairs of a class of people and a group, the people who are in fact in that group."""
    pairs, counts = np.unique(people.labels * len(groups.size) + groups.labels, return_counts=True)
    asked = record * len(groups.size) + group
    places = np.minimum(np.searchsorted(pairs, asked), len(pairs) - 1)
    return np.where(pairs[places] == asked, counts[places], 0)

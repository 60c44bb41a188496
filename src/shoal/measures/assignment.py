"""Optimal assignment: the intruder who knows everybody in the file, and links all of them at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.assignment import assign_to_groups
from shoal.kernels.encoded import EncodedMatrix
from shoal.measures.equivalence_classes import Classes, published_classes

# What is spent: records, pairs of a record and a group that are looked at while paths are sought.
MOST_RECORDS = 200_000
MOST_STEPS = 50_000_000  # some seconds
# With more attributes than these, or other types than numbers, searches look at nearly all pairs: no more than these.
FEW_ATTRIBUTES = 8
MOST_PAIRS = 4_000_000_000
# A solution whose cost is so near to the bound of its prices, relative to the cost, is optimal.
TOLERANCE = 1e-9


def assignment(
    original: EncodedMatrix, masked: EncodedMatrix, records: int = MOST_RECORDS, steps: int = MOST_STEPS
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
        With more records than this, or after so many steps, it is not measured (nor above four thousand million
        pairs of a record and a group, with more than 8 attributes or other types than numbers): all people compete
        for the published records, so that a sample of them would be another, easier, attack.

    Returns
    -------
    dict
        ``hits``, in percent of the records, or None if it was not measured; ``blind``, what an assignment at random
        is expected to hit, 100 / n; ``most``, what one without a mistake hits, 100 times the groups over n;
        ``records`` and ``groups``; ``sampled``, always false; ``gap``, the proven distance of the cost from the
        optimum, relative to the cost: at most 1e-9.

    Notes
    -----
    Of people who are alike, any may be in the place of any other, so that hits are the mean over these exchanges. If
    other assignments cost the same, one is taken that does not depend on the order of the rows: records and groups are
    sorted by their values before.

    References
    ----------
    Domingo-Ferrer, Ricci & Soria-Comas (2015), Disclosure risk assessment via record linkage by a maximum-knowledge
    attacker, PST. Jaro (1989), Advances in record-linkage methodology as applied to matching the 1985 census of Tampa,
    Florida, Journal of the American Statistical Association 84, 414-420.
    """
    n = len(original.values)
    people, groups = _by_value(original), _by_value(masked)
    count = len(groups.size)
    found = {"hits": None, "blind": 100 / n, "most": 100 * count / n, "records": n, "groups": count, "sampled": False}
    rows = np.ascontiguousarray(masked.values[groups.first])
    solved = None
    easy = original.plain and masked.plain and original.values.shape[1] <= FEW_ATTRIBUTES
    if n <= records and (easy or len(people.size) * count <= MOST_PAIRS):
        solved = assign_to_groups(original.rows(people.first), people.size, rows, groups.size, steps)
    if solved is None or solved.gap > TOLERANCE * solved.cost:
        return {**found, "gap": None}
    right = _right(people, groups, solved.record, solved.group)
    hits = solved.amount / people.size[solved.record] * right / groups.size[solved.group]
    gap = solved.gap / solved.cost if solved.cost > 0 else 0.0
    return {**found, "hits": 100 * float(hits.sum()) / n, "gap": gap}


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

"""Step 2 for a table: what every group publishes, attribute by attribute."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.aggregation import aggregate, medoids
from shoal.kernels.encoded import EncodedMatrix
from shoal.plan import Plan
from shoal.plan.aggregates import aggregate_of
from shoal.tables.attributes import Attribute, Codes

Labels = NDArray[np.int64]


def representatives(
    attributes: Sequence[Attribute],
    space: Callable[[], EncodedMatrix],
    partitions: list[Labels],
    plan: Plan,
    weights: Codes | None,
    units: Labels | None = None,
    shared: Mapping[str, Codes] | None = None,
) -> list[Codes]:
    """Return each attribute as it will be published: the representative of its group for every record.

    With ``missing = "group"``, what fewer than k records of a group, or units where they are named, have a value of is
    published as missing: the mean or the mode of one value is that value. What members of households have `shared` is
    known.
    """
    found: dict[str, Codes] = dict(shared or {})
    for block, labels in zip(plan.in_blocks, partitions, strict=True):
        if block[0] in found:
            continue
        whole_records = [name for name in block if aggregate_of(name, plan) == "medoid"]
        if whole_records:
            part = space().columns([plan.masked.index(name) for name in whole_records])
            chosen = _medoids(part, labels, weights, fill=plan.missing == "impute")[labels]
            found |= {name: attributes[plan.masked.index(name)].codes[chosen] for name in whole_records}
        for attribute in attributes:
            how = aggregate_of(attribute.name, plan)
            if attribute.name in block and how != "medoid":
                found[attribute.name] = aggregate(
                    attribute.codes,
                    labels,
                    how,
                    trim=plan.trimmed,
                    rank=plan.ranked,
                    weights=weights,
                    levels=0 if attribute.levels is None else len(attribute.levels),
                    fill=plan.missing == "impute",
                )
            if attribute.name in block and plan.missing == "group":
                known = _known(labels, ~np.isnan(attribute.codes), units)
                found[attribute.name] = np.where(known[labels] < plan.k, np.nan, found[attribute.name])
    return [found[attribute.name] for attribute in attributes]


def _known(labels: Labels, known: NDArray[np.bool_], units: Labels | None) -> Labels:
    """Count in each group the records whose value is known, or the units that have any."""
    if units is None:
        return np.bincount(labels, known).astype(np.int64)
    pairs = np.unique(np.stack([labels[known], units[known]]), axis=1)
    return np.bincount(pairs[0], minlength=int(labels.max()) + 1)


def _medoids(space: EncodedMatrix, labels: Labels, weights: Codes | None, *, fill: bool) -> Labels:
    """Find the medoid of each group; where gaps are to be filled, among the records that have none."""
    if not fill:
        return medoids(space, labels, weights)
    whole = np.flatnonzero(~np.isnan(space.values).any(axis=1))
    return whole[medoids(space.rows(whole), labels[whole], None if weights is None else weights[whole])]

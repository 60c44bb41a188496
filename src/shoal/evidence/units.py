"""Units in the groups of a masked file, where a column of it tells them apart."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.messages import Message
from shoal.pipeline.classes import classes, equal_values
from shoal.pipeline.counting import Sizes, added_sizes
from shoal.tables import Table

Integers = NDArray[np.int64]


def units_in_classes(alike: Integers, units: Integers) -> Integers:
    """Count the different units in each class; records that are alike share a number, and so do those of a unit."""
    pairs = np.unique(np.stack([alike, units]), axis=1)
    return np.unique(pairs[0], return_counts=True)[1]


def sizes_in_units(table: Table, names: Sequence[str], unit: str) -> Sizes:
    """Count how many combinations there are that so many units share."""
    return added_sizes(units_in_classes(classes(table, list(names)), equal_values(table, unit)))


def counted_units(alike: Integers, units: Integers, k: int) -> dict[str, int]:
    """Count the groups, the least units in one, the groups with fewer than k, and the records in these."""
    _, group = np.unique(alike, return_inverse=True)
    counts = units_in_classes(group, units)
    return {
        "units": len(np.unique(units)),
        "groups": len(counts),
        "least": int(counts.min()),
        "below_k": int((counts < k).sum()),
        "records": int((counts[group] < k).sum()),
    }


def too_few(table: Table, names: Sequence[str], unit: str, k: int) -> Iterator[Message]:
    """Yield a message if some combination of the attributes has records of fewer than k units."""
    sizes = sizes_in_units(table, names, unit)
    below = {size: groups for size, groups in sizes.items() if size < k}
    if below:
        of: dict[str, Any] = {"below": sum(below.values()), "combinations": sum(sizes.values())}
        yield Message("group-below-k", **of, columns=list(names), k=k, counts="unit", smallest=min(below))

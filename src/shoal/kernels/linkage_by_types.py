"""An intruder's links where attributes have types and values may be missing: distances of `EncodedMatrix`."""

import numpy as np

from shoal.kernels import _native
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.stop import stoppable
from shoal.kernels.types import Floats, Integers


def link_by_types(
    records: EncodedMatrix, rows: Floats, labels: Integers, first: Integers, size: Integers, asked: Integers
) -> tuple[int, float]:
    """Link the records `asked` to the nearest of the published classes, whose values are `rows`.

    Return how many are linked to themselves if the first record of the lowest nearest class is taken, and how many are
    to be expected if one of all the nearest records is drawn; see `shoal.kernels.linkage.link_to_nearest`.
    """
    values = np.ascontiguousarray(records.values)
    with stoppable() as watch:
        return _native.link_by_types(values, rows, labels, first, size, asked, records.kinds, records.apart, watch)


def nearest_by_types(points: EncodedMatrix, rows: Floats) -> tuple[Integers, Integers]:
    """Return the rows nearest to each point, all that are tied: where the list of each point ends, and the lists."""
    values = np.ascontiguousarray(points.values)
    with stoppable() as watch:
        return _native.nearest_by_types(values, rows, points.kinds, points.apart, watch)

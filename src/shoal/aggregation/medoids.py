"""The record that stands for its group as a whole."""

import numpy as np
from numpy.typing import NDArray

from shoal.aggregation.representatives import Column, Labels, counted, starts_of
from shoal.kernels.encoded import MODE, EncodedMatrix
from shoal.kernels.groups import least_distant


def medoids(space: EncodedMatrix, labels: Labels, weights: Column | None = None) -> NDArray[np.int64]:
    """Find in each group the record with the least sum of squared distances to the members.

    Published in place of all members, no record of the group costs less squared error: that is why distances are
    squared here, where others take them as they are. Unlike what is aggregated attribute by attribute, a medoid is a
    combination of values that exists.

    Parameters
    ----------
    space : EncodedMatrix
        The records; distances are its own.
    labels : (n,) array of int
        The group of each record, numbered from 0 without gaps.
    weights : (n,) array, optional
        Survey weights: each member counts in the sum by its weight. Members count alike where none has weight.

    Returns
    -------
    (groups,) array of int
        A record a group. Of equals it is the one with the lowest value in the first column that tells them apart
        (missing ones last), so that the order of the records does not matter; of records alike in every column the one
        of least weight, then the first. Time grows with the sum of the squared group sizes.
    """
    counts = counted(weights, labels)
    order = np.lexsort((counts, *space.values.T[::-1], labels))
    starts = starts_of(np.bincount(labels))
    places = least_distant(space.values[order], space.kinds != MODE, space.weights, counts[order], starts)
    return order[places]

"""The numbers that groups have: 0, 1, ... without a gap."""

import numpy as np
import numpy.typing as npt


def by_first_record(labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Give groups the numbers 0, 1, ... in the order of the lowest record index in each."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]


def contiguous(labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Give groups the numbers 0, 1, ... in the order of their labels."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int64, copy=False)

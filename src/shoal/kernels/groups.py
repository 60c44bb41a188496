"""Kernels over the members of groups."""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def trimmed_means(values: NDArray[np.float64], starts: NDArray[np.int64], trim: int) -> NDArray[np.float64]:
    """Mean of each group without its `trim` smallest and largest values; a negative trim gives the median.

    `values` lies group by group, group g in ``starts[g]:starts[g + 1]``. Members are added from the smallest to the
    largest with compensation, so that the result does not depend on the order of the records.
    """
    means = np.empty(starts.size - 1)
    for g in range(means.size):
        members = np.sort(values[starts[g] : starts[g + 1]])
        skip = trim if trim >= 0 else (members.size - 1) // 2
        kept = members[skip : members.size - skip]
        total, lost = 0.0, 0.0
        for x in kept:
            new = total + x
            lost += (total - new) + x if abs(total) >= abs(x) else (x - new) + total
            total = new
        mean = (total + lost) / kept.size
        if not np.isfinite(mean):  # the sum overflowed, the mean does not
            mean = (kept / kept.size).sum()
        # Rounding must not push a mean outside its group: equal members publish their own value, to the bit.
        means[g] = min(max(mean, kept[0]), kept[-1])
    return means

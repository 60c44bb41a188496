"""What a release gives an intruder: pure functions of how many records share each published combination."""

import numpy as np
from numpy.typing import NDArray

Sizes = NDArray[np.int64]


def exposure(sizes: Sizes) -> dict[str, float]:
    """Describe a table by the number of records that share each combination of quasi-identifiers.

    Parameters
    ----------
    sizes : (g,) array of int
        How often each combination occurs.

    Returns
    -------
    dict
        ``groups``, how many combinations there are; ``smallest`` and ``largest``, their sizes; ``uniques``, records
        that nobody else resembles; ``real_k``, the average size k' = n / groups of Nin, Herranz & Torra (2008); and
        ``reidentification``, the percentage of records that an intruder who knows all the quasi-identifiers links to
        the right person on average, 100 / k'.
    """
    n = int(sizes.sum())
    return {
        "groups": len(sizes),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "uniques": int((sizes == 1).sum()),
        "real_k": n / len(sizes),
        "reidentification": 100 * len(sizes) / n,
    }

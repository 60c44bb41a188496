"""From numbers back to an attribute of the table's own type."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.tables.arrow import Array


def decode(values: NDArray[np.float64], kind: pa.DataType) -> Array:
    """Give masked values the type that the attribute had.

    Integers stay integers where all the values are whole; otherwise, and for decimals, the type becomes float64.
    """
    if pa.types.is_integer(kind):
        whole = np.rint(values)
        # 2**63 itself is a float but no int64, hence the strict bound.
        if np.array_equal(whole, values) and np.abs(whole).max() < 2.0**63:
            return pa.array(whole.astype(np.int64)).cast(kind)
    if pa.types.is_floating(kind):
        return pa.array(values).cast(kind, safe=False)
    return pa.array(values)

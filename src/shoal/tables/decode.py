"""From numbers back to an attribute of the table's own type."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.tables.arrow import Array


def decode(values: NDArray[np.float64], kind: pa.DataType) -> Array:
    """Give masked values the type that the attribute had.

    Integers stay integers where all the values are whole, in a wider type if they leave the range of their own;
    otherwise, and for decimals, the type becomes float64.
    """
    if pa.types.is_integer(kind) and np.array_equal(np.rint(values), values):
        for wide in (kind, pa.int64()):
            try:
                return pa.array(values).cast(wide)
            except pa.ArrowInvalid:
                continue
    if pa.types.is_floating(kind):
        return pa.array(values).cast(kind, safe=False)
    return pa.array(values)

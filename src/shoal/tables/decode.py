"""From numbers back to an attribute of the table's own type."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.tables.arrow import Array


def decode_numbers(values: NDArray[np.float64], kind: pa.DataType) -> Array:
    """Give masked values the type that the attribute had; NaN is a missing value.

    Integers stay integers where all the values are whole, in a wider type if they leave the range of their own;
    otherwise, and for decimals, the type becomes float64.
    """
    floats = pa.array(values, mask=np.isnan(values))
    if pa.types.is_integer(kind) and np.array_equal(np.rint(values), values, equal_nan=True):
        for wide in (kind, pa.int64()):
            try:
                return floats.cast(wide)
            except pa.ArrowInvalid:
                continue
    return floats.cast(kind, safe=False) if pa.types.is_floating(kind) else floats

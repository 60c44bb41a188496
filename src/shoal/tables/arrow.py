"""PyArrow's names as the rest of the room uses them, where its type stubs and its modules differ."""

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute

if TYPE_CHECKING:
    # generic in the stubs only
    Array: TypeAlias = pa.Array[Any]
    ChunkedArray: TypeAlias = pa.ChunkedArray[Any]
else:
    Array = pa.Array
    ChunkedArray = pa.ChunkedArray

# the stubs do not know that Python's own values may stand for scalars, nor that booleans have a sum
pc: Any = pyarrow.compute


@cache
def empty_text() -> Any:
    """Return the empty text as a scalar.

    Arrow looks for pandas, and loads it, each time it infers the type of a text from Python.
    """
    return pa.scalar("", pa.string())

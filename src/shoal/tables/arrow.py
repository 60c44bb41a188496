"""PyArrow's names as the rest of the room uses them, where its type stubs and its modules differ."""

import sys
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
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


def leave_pandas_out() -> None:
    """Keep Arrow from loading pandas; for a process that has no frame of pandas.

    When Arrow first converts a value it loads pandas, where that is installed, to recognise objects of pandas: a
    quarter of a second or more. Arrow looks once; other code can still load pandas.
    """
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _Hiding)
    try:
        pa.array(np.zeros(1)).to_numpy(zero_copy_only=False)  # both of its ways to look
    finally:
        sys.meta_path.remove(_Hiding)


class _Hiding:
    """Where pandas is not found."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)

"""What may be done only where a command is all that a process runs."""

import sys
from typing import Any

_own = False


def declare_own() -> None:
    """Declare that this process runs one command, and no other code of Python."""
    global _own
    _own = True


def leave_pandas_out() -> None:
    """Keep Arrow from loading pandas, in a process of our own.

    When Arrow first converts a value it loads pandas, where that is installed, to recognise objects of pandas: a
    quarter of a second. A command that reads a file has none. Arrow looks once; other code can still load pandas.
    """
    if not _own or "pandas" in sys.modules:
        return
    import numpy as np
    import pyarrow as pa

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

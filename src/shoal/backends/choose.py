"""Which engine a file needs: memory while it fits, this machine in blocks beyond, a cluster where one is named."""

from pathlib import Path
from typing import Literal

import pyarrow.parquet as pq

from shoal.backends.free_memory import free_memory
from shoal.plan import Plan, Scale
from shoal.tables import kind_of

# How many times the bytes of a file its records take while they are protected in memory: read, encoded, published.
_TIMES = {"parquet": 4, "csv": 8, "arrow": 4}
_FIRST = 1000


def engine_for(plan: Plan) -> Literal["memory", "local", "spark"]:
    """Choose by the plan, the size of the input and the memory there is."""
    scale = plan.scale or Scale()
    if scale.engine == "spark":
        return "spark"
    if plan.input is None or plan.epsilon is not None:  # private groups are formed of all records at once
        return "memory"
    path = Path(plan.input)
    if path.is_dir():
        return "local"
    if not path.is_file():
        return "memory"  # which says that it is not there
    kind = kind_of(path)
    if kind not in _TIMES:
        return "memory"
    needed = _TIMES[kind] * _bytes(path, kind)
    return "local" if needed > (scale.memory_bytes or free_memory()) else "memory"


def _bytes(path: Path, kind: str) -> int:
    """Give the size of a table in memory, for Parquet by the width of its first records."""
    if kind != "parquet":
        return path.stat().st_size
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            first = next(file.iter_batches(batch_size=_FIRST), None)
            return 0 if first is None else first.nbytes * file.metadata.num_rows // max(1, first.num_rows)
    except (OSError, ValueError):
        return 0  # damaged: whoever reads it says so

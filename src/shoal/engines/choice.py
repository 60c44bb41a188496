"""Which engine a file needs: memory while it fits, this machine in blocks beyond, a cluster where one is named."""

from pathlib import Path
from typing import Literal

import pyarrow.parquet as pq

from shoal.engines.memory import free_memory
from shoal.plan import Plan, Scale
from shoal.tables import kind_of

# How many times the bytes of a file its records take while they are protected in memory: read, encoded, published.
_TIMES = {"parquet": 5, "csv": 8, "arrow": 4}


def engine_for(plan: Plan) -> Literal["memory", "local", "spark"]:
    """Choose by the plan, the size of the input and the memory there is."""
    scale = plan.scale or Scale()
    if scale.engine == "spark":
        return "spark"
    if plan.input is None:
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
    """Give the size of a table before compression."""
    if kind != "parquet":
        return path.stat().st_size
    try:
        groups = pq.read_metadata(path)
    except (OSError, ValueError):
        return 0  # damaged: whoever reads it says so
    return sum(groups.row_group(i).total_byte_size for i in range(groups.num_row_groups))

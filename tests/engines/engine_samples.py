"""Tables for the engines, and a frame in memory to compare them with."""

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.engines.frame import Frame, frame_of, with_blocks
from shoal.plan import Plan
from shoal.scale import in_chunks


def people(n: int, seed: int = 0, missing: float = 0.0) -> pa.Table:
    """Records with attributes of every type; some values may be missing."""
    rng = np.random.default_rng(seed)

    def gaps() -> np.ndarray:
        return rng.random(n) < missing

    days = np.datetime64("2001-03-01") + rng.integers(0, 4000, n)
    return pa.table(
        {
            "id": [f"p{i}" for i in range(n)],
            "income": pa.array(rng.lognormal(7, 1, n), mask=gaps()),
            "age": pa.array(rng.integers(18, 90, n), mask=gaps()),
            "town": pa.array(rng.choice(["Ulm", "Bonn", "Kiel"], n), mask=gaps()).dictionary_encode(),
            "since": pa.array(days, mask=gaps()),
            "ill": rng.random(n) < 0.2,
            "note": [f"{i % 7:03d}" for i in range(n)],
        }
    )


MASKED = ["income", "age", "town", "since"]


def numbers(n: int, d: int = 3, seed: int = 0) -> pa.Table:
    """Records of numbers only."""
    rng = np.random.default_rng(seed)
    return pa.table({f"x{j}": rng.normal(size=n) for j in range(d)})


def saved(table: pa.Table, path: Path, rows: int = 700) -> Path:
    """Write Parquet in several row groups."""
    pq.write_table(table, path, row_group_size=rows)
    return path


class InMemory:
    """The records of a table, looked at in pieces of so many rows."""

    def __init__(self, table: pa.Table, rows: int) -> None:
        self.pieces = [(start, table.slice(start, rows)) for start in range(0, len(table), rows)]

    def summary(self, look: Callable):
        return reduce(add, (look(piece, start) for start, piece in self.pieces))

    def moments(self, look: Callable, frame: Frame):
        return reduce(add, (look(frame.codes(piece)) for _, piece in self.pieces))

    def gather(self, frame: Frame):
        return in_chunks(lambda: (frame.outline(frame.codes(piece)) for _, piece in self.pieces))


def masked_in_memory(table: pa.Table, plan: Plan, most: int, rows: int = 500) -> dict[str, pa.Array]:
    """Mask a table by its frame, block by block; `plan` is settled."""
    records = InMemory(table, rows)
    frame = frame_of(records, plan, table.schema)
    frame = with_blocks(replace(frame, plan=plan), records.gather(frame), most)
    codes = frame.codes(table)
    blocks = frame.block_of(codes)
    published = np.empty_like(codes)
    for block in np.unique(blocks):
        published[blocks == block] = frame.mask(codes[blocks == block])
    return frame.decode(published)

"""Tables for the backends."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import shoal
from shoal.plan import Plan


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


def masked_in_memory(table: pa.Table, plan: Plan) -> pa.Table:
    """Return what memory publishes of a table for the plan of another backend's release."""
    return shoal.protect(table, plan.updated(engine=None, input=None, output=None, csv=None)).table


def firms(n: int, seed: int = 0) -> pa.Table:
    """Records that obey `RULES`; `region` and `size` are not masked."""
    rng = np.random.default_rng(seed)
    wages, other = rng.integers(1, 5000, n), rng.integers(0, 900, n)
    hours, pay = rng.integers(1, 60, n).astype(float), np.ldexp(rng.integers(50, 4000, n), -4)
    profit = rng.normal(100, 400, n).round(2)
    region = rng.choice(["north", "south", "east"], n, p=[0.6, 0.3, 0.1])
    return pa.table(
        {
            "id": [f"f{i}" for i in range(n)],
            "wages": wages,
            "other": other,
            "costs": wages + other,
            "hours": hours,
            "pay": pay,
            "bill": hours * pay,
            "profit": profit,
            "tax": np.where(profit > 0, np.abs(rng.normal(20, 5, n)).round(2), 0.0),
            "grade": rng.choice([1.5, 2.5, 4.0, 7.0], n),
            "low": (low := rng.integers(0, 50, n)),
            "high": low + rng.integers(0, 50, n),
            "cap": np.where(region == "south", rng.integers(0, 30, n), rng.integers(0, 90, n)),
            "region": region,
            "size": rng.choice(["s", "l"], n),
        }
    )


RULED = ["wages", "other", "costs", "hours", "pay", "bill", "profit", "tax", "grade", "low", "high", "cap"]
RULES = [
    "sum: wages + other == costs",
    "product: hours * pay == bill",
    "loss: if profit <= 0 then tax == 0",
    "domain: grade in original",
    "order: low <= high",
    "capped: if region == 'south' then cap <= 30",
    "range: 1 <= wages <= 5000",
]


def broken_rules(table: pa.Table) -> dict[str, int]:
    """Count by hand how many records break each of `RULES`, which are written out once more."""
    column = {name: table.column(name).to_numpy(zero_copy_only=False) for name in [*RULED, "region"]}
    loss, south = column["profit"] <= 0, column["region"] == "south"
    return {
        "sum": int((column["wages"] + column["other"] != column["costs"]).sum()),
        "product": int((column["hours"] * column["pay"] != column["bill"]).sum()),
        "loss": int((loss & (column["tax"] != 0)).sum()),
        "domain": int((~np.isin(column["grade"], [1.5, 2.5, 4.0, 7.0])).sum()),
        "order": int((column["low"] > column["high"]).sum()),
        "capped": int((south & (column["cap"] > 30)).sum()),
        "range": int(((column["wages"] < 1) | (column["wages"] > 5000)).sum()),
    }

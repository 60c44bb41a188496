"""Records as benchmarks and tests draw them."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

# The reference data sets
DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data"))

DISTRIBUTIONS = ["uniform", "clustered", "skewed"]


def distributed(kind: str, n: int, d: int) -> np.ndarray:
    """Draw records spread evenly, in fifty clusters of different width, or with long tails."""
    rng = np.random.default_rng(0)
    if kind == "uniform":
        return rng.random((n, d))
    if kind == "clustered":
        centres = 10 * rng.random((50, d))
        return centres[rng.integers(0, 50, n)] + rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, -0.5, (n, 1))
    return np.exp(1.5 * rng.normal(size=(n, d)))


def census_with_edits(path: Path) -> pa.Table:
    """Read Census as Torra, Cano and Navarro-Arribas use it: 13 attributes, V1 to V13, and three that depend on them.

    V14 = V9 + V10, V15 = 1 / V11, V16 = V5 V15.
    """
    census = pyarrow.csv.read_csv(path)
    columns = {f"V{j + 1}": census.column(j).to_numpy() for j in range(13)}
    columns["V14"] = columns["V9"] + columns["V10"]
    columns["V15"] = 1 / columns["V11"]
    columns["V16"] = columns["V5"] * columns["V15"]
    return pa.table(columns)


def reference_set(folder: Path, name: str) -> pa.Table:
    """Read census, tarragona or eia as the literature uses them: 13, 13 and 11 attributes, all numbers."""
    table = pyarrow.csv.read_csv(folder / f"{name}.csv")
    if name != "eia":
        return table
    sums = [column for column in table.column_names if column.endswith(("REVENUE", "SALES"))]
    return table.select(["UTILITYID", *sums])

"""Equivalence classes of a table in memory: records with the same combination of values, counted by DuckDB."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import measures
from shoal.pipeline.counting import distinct_cells, known_values
from shoal.tables import Table
from shoal.tables.duck import cursor


def _columns(table: Table, names: Sequence[str]) -> pa.Table:
    """Return columns under numbers, as a reader distinguishes their values: 1.5 is not 1.50 in a CSV file."""
    return pa.table({f"c{j}": distinct_cells(table, name) for j, name in enumerate(names)})


def class_sizes(table: Table, names: Sequence[str]) -> NDArray[np.int64]:
    """How many records share each combination of values that occurs in the columns; missing equals only missing."""
    columns = _columns(table, names)
    query = f"SELECT count(*) AS records FROM published GROUP BY {', '.join(columns.column_names)}"  # noqa: S608 - c0, c1
    with cursor() as connection:
        connection.register("published", columns)
        counts = connection.execute(query).fetchnumpy()
    return np.asarray(counts["records"], dtype=np.int64)


def classes(table: Table, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the number of each record's combination of values."""
    columns = _columns(table, names).append_column("place", pa.array(np.arange(len(table))))
    order = ", ".join(f"c{j}" for j in range(len(names)))
    query = f"SELECT dense_rank() OVER (ORDER BY {order}) AS class FROM published ORDER BY place"  # noqa: S608 - c0, c1
    with cursor() as connection:
        connection.register("published", columns)
        found = connection.execute(query).fetchnumpy()
    return np.asarray(found["class"], dtype=np.int64)


def equal_values(table: Table, name: str) -> NDArray[np.int64]:
    """Return the number of each record's value; records with equal values share one, and so do missing values."""
    encoded: Any = known_values(table, name).dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def exposure(table: Table, names: Sequence[str]) -> dict[str, float]:
    """Describe how well the records hide in a table: see `shoal.measures.exposure`."""
    return measures.exposure(class_sizes(table, names))

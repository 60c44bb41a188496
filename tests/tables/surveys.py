"""A small survey with all that statistics packages say of one, and the way into a file and back."""

import datetime as dt
import math
from pathlib import Path

import pyarrow as pa

from shoal.tables.dataframes import adopt
from shoal.tables.files import kind_of, open_table, write_table
from shoal.tables.stat.labels import Labels, with_labels
from shoal.tables.stat.reading import read_statistics
from shoal.tables.storage import STATISTICS
from shoal.tables.table import Table

KINDS = ["sav", "zsav", "por", "dta", "xpt"]


def labelled(columns, labels):
    """A table with labels by column."""
    table = pa.table(columns)
    fields = [with_labels(field, labels.get(field.name, Labels())) for field in table.schema]
    return pa.table(table.columns, schema=pa.schema(fields))


def opened(path):
    """Read a file in this process: `open_table` starts one for each file, which takes half a second."""
    kind = kind_of(path)
    return Table(adopt(read_statistics(path, kind))) if kind in STATISTICS else open_table(path)


def there_and_back(table, folder, kind, suffix="partial"):
    path = Path(folder, f"t.{suffix}")
    write_table(Table(table), path, kind)
    return opened(path.rename(path.with_suffix(f".{kind}"))).native


SEEN = [dt.datetime(2020, 1, 2, 3, 4, 5, 678000), dt.datetime(1959, 1, 1)]
AGES = {98.0: "refused", 99.0: "unknown"}
LOW = ((-math.inf, -2.0), (-1.0, -1.0))


def survey():
    return labelled(
        {
            "AGE": pa.array([31, 99, None, 54]),
            "INCOME": pa.array([1234.56, -1.0, None, 0.1]),
            "REGION": ["a", None, "b c", "x"],
            "BORN": pa.array([dt.date(1990, 2, 28), None, dt.date(1583, 1, 1), dt.date(2999, 12, 31)]),
            "SEEN": pa.array([*SEEN, None, dt.datetime(1600, 1, 1)], pa.timestamp("ms")),
            "AT": pa.array([dt.time(1, 2, 3, 456789), None, dt.time(0), dt.time(23, 59, 59, 999999)], pa.time64("us")),
        },
        {
            "AGE": Labels("Age in years", AGES, ((98.0, math.inf),), "ordinal", "F4.0", 10, "spss"),
            "INCOME": Labels("Income", {-1.0: "none"}, LOW, "scale", "COMMA10.2", 12, "spss"),
            "REGION": Labels("Region", {"a": "North", "x": "?"}, (("x", "x"),), "nominal", width=8),
            "BORN": Labels("Born", {0.0: "unknown"}, ((0.0, 0.0),), "scale", "EDATE10", 10, "spss"),
        },
    )  # fmt: skip

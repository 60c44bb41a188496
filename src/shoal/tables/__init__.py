"""Files in and out, and any dataframe in memory: what comes in as one kind goes out as the same kind."""

from shoal.tables.csv.dialect import Dialect, dialect_for
from shoal.tables.files import kind_of, open_table, writable_kind, write_table
from shoal.tables.table import Table

__all__ = ["Dialect", "Table", "dialect_for", "kind_of", "open_table", "writable_kind", "write_table"]

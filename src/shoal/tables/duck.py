"""The process's own DuckDB: in memory, with nothing to load from outside."""

import functools

import duckdb


@functools.cache
def _database() -> duckdb.DuckDBPyConnection:
    # Starting a database costs tens of milliseconds; a cursor on a running one costs none. Without a folder for what
    # does not fit in memory, it never writes records to the disk, from where a kill would not remove them.
    return duckdb.connect(
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False, "temp_directory": ""}
    )


def cursor() -> duckdb.DuckDBPyConnection:
    """Open a connection of its own for one piece of work; close it to let go of the tables registered with it."""
    return _database().cursor()

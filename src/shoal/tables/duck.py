"""The process's own DuckDB: in memory, with nothing to load from outside."""

import functools

import duckdb


@functools.cache
def _database(threads: int | None) -> duckdb.DuckDBPyConnection:
    # Starting a database costs tens of milliseconds; a cursor on a running one costs none. Without a folder for what
    # does not fit in memory, it never writes records to the disk, from where a kill would not remove them.
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "temp_directory": "",
    }
    return duckdb.connect(config=config if threads is None else {**config, "threads": threads})


def cursor(*, small: bool = False) -> duckdb.DuckDBPyConnection:
    """Open a connection of its own for one piece of work; close it to let go of the tables registered with it.

    A query on a `small` table is done sooner by one thread than shared out to several.
    """
    return _database(1 if small else None).cursor()

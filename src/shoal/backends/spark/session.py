"""A Spark session to work in, and what Spark says, in plain words."""

import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import shoal.errors
from shoal.errors import DataError, FileError, ShoalError

_LOCAL = "local[*]"
# What Spark says of files that it cannot read.
_UNREADABLE = "FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER|MALFORMED_RECORD|CANNOT_MERGE_SCHEMAS|not a Parquet file"


@contextmanager
def session(master: str | None) -> Iterator[SparkSession]:
    """Yield the session that is active, or start one and stop it at the end.

    Parameters
    ----------
    master
        The address of the cluster; this machine if not given.

    Raises
    ------
    ShoalError
        If there is no Java, or Spark does not start with it.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    refuse_without_java()
    started = _started(master or _LOCAL)
    try:
        yield started
    finally:
        started.stop()


def refuse_without_java() -> None:
    """Raise an error if there is no Java, which Spark needs."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=str(Path(home) / "bin") if home else None) is None:
        where = "at JAVA_HOME" if home else "on this machine"
        raise ShoalError(f"Spark needs Java 17 or later, and there is none {where}. Install it, or set JAVA_HOME.")


def _started(master: str) -> SparkSession:
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    builder = SparkSession.builder.master(master).appName("shoal").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")  # the caller shows its own
    # Parquet's own moments, in place of a kind of Spark's that other programs take for another type.
    builder = builder.config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")  # fewer calls of Python
    if master.startswith("local"):
        builder = builder.config("spark.sql.shuffle.partitions", str(4 * (os.cpu_count() or 1)))
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # A JVM that lives for minutes gains little from optimizing its code; spark.driver.extraJavaOptions comes after.
        builder = builder.config("spark.driver.defaultJavaOptions", "-XX:TieredStopAtLevel=1")
        # What lies in the working folder, where a stranger's data may be, is no code of ours.
        builder = builder.config("spark.executorEnv.PYTHONSAFEPATH", "1")
        # A machine may not know its own name.
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    try:
        with _private_files() as mask:
            started = builder.config("spark.hadoop.fs.permissions.umask-mode", f"{mask:03o}").getOrCreate()
    except (PySparkException, Py4JJavaError):
        raise ShoalError(
            f"Spark did not start on '{master}'. Check the address, and that Java is version 17 or later."
        ) from None
    started.sparkContext.setLogLevel("ERROR")
    return started


@contextmanager
def _private_files() -> Iterator[int]:
    """Make files of processes started here readable by their owner alone: Spark writes records to the system's folder.

    Gives the mask that was set before; what is published follows it.
    """
    mask = os.umask(0o077)
    try:
        yield mask
    finally:
        os.umask(mask)


@contextmanager
def in_plain_words() -> Iterator[None]:
    """Raise what the package raised on a worker as if it had been raised here, without the traces around it."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        told = str(error)
        if re.search(_UNREADABLE, told):  # followed by values of the data
            raise FileError(
                "The input cannot be read completely: a file is damaged, or files have different columns."
            ) from None
        said = re.search(r"shoal\.errors\.(\w+): (.+)", told)
        if said is None:
            raise
        kind = getattr(shoal.errors, said[1])
        raise (kind(said[2]) if issubclass(kind, DataError) else ShoalError(said[2])) from None


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Keep quiet what Spark says of pandas, which plays no part here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield

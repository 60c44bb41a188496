"""A Spark session to work in, and what Spark says, in plain words."""

import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import shoal.errors
from shoal.errors import CheckFailed, FileError, ShoalError
from shoal.messages import Message
from shoal.tables.atomic import in_words
from shoal.tables.private_folder import private_folder

_LOCAL = "local[*]"
_Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
# Ports of this machine are open to all its users: who connects must know a secret, which Java draws for each session
# and keeps in its memory. Records that it puts on disk are encrypted with another.
_PRIVATE = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.saslFallback": "false",
    "spark.io.encryption.enabled": "true",
}
_folders: list[Path] = []  # where the Java of this process puts its files
# What Spark says of files that it cannot read.
_UNREADABLE = "FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER|MALFORMED_RECORD|CANNOT_MERGE_SCHEMAS|not a Parquet file"
# What else it says that users can do something about; the last after all others, which it may go with.
_MEANINGS = {
    r"No space left on device|Disk quota exceeded": "spark-disk-full",
    r"Python worker exited|Python worker failed to connect|ExecutorLostFailure": "spark-worker-lost",
    r"SparkContext was (shut|stopped)|stopped SparkContext|SparkContext is stopped|cancelled because": "java-gone",
}


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
    with _spills():
        started = _started(master or _LOCAL)
        try:
            yield started
        finally:
            with suppress(Py4JError, PySparkException, OSError), warnings.catch_warnings():  # Java may be gone
                warnings.filterwarnings("ignore", message="Unable to cleanly shutdown")
                started.stop()


def refuse_without_java() -> None:
    """Raise an error if there is no Java, which Spark needs."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=str(Path(home) / "bin") if home else None) is None:
        raise ShoalError("no-java", home=bool(home))


def _started(master: str) -> SparkSession:
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("shoal").config(map={**_options(master)})
    try:
        with _private_files() as mask, _environment("SPARK_LOCAL_DIRS", ",".join(map(str, _folders))):
            started = builder.config("spark.hadoop.fs.permissions.umask-mode", f"{mask:03o}").getOrCreate()
    except (PySparkException, Py4JJavaError):
        raise ShoalError("spark-not-started", master=master) from None
    context: Any = started.sparkContext
    context.setLogLevel("ERROR")
    # Both would show tracebacks when Java is gone, objects of Java that are let go of later included.
    context._accumulatorServer.handle_error = lambda *_: None
    logging.getLogger().addFilter(_is_wanted)
    return started


def _options(master: str) -> dict[str, str]:
    """Options of a session that is started here."""
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",  # the caller shows its own
        # Parquet's own moments, in place of a kind of Spark's that other programs take for another type.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",  # fewer calls of Python
    }
    if master.startswith("local"):
        options |= {
            "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),
            # A JVM that lives for minutes gains little from optimizing its code; spark.driver.extraJavaOptions comes
            # after. Its own temporary files go where the spills do, and with them; one that runs already has its own.
            "spark.driver.defaultJavaOptions": " ".join(
                ["-XX:TieredStopAtLevel=1", *(f'"-Djava.io.tmpdir={folder.as_posix()}"' for folder in _folders[:1])]
            ),
            # What lies in the working folder, where a stranger's data may be, is no code of ours.
            "spark.executorEnv.PYTHONSAFEPATH": "1",
            # A machine may not know its own name.
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
        }
    return options | (_PRIVATE if re.fullmatch(r"local(\[.*\])?", master) else {})


@contextmanager
def _spills() -> Iterator[None]:
    """Let Spark write records to private folders; they are erased at the end, or after a kill by the next session.

    They lie where `SPARK_LOCAL_DIRS` says, or in the system's folder for temporary files. A Java that runs already
    keeps the folders that it was started with.
    """
    if SparkContext._gateway is None:
        places = os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()
        wanted: list[tuple[Path, Path | None]] = [(Path(place), None) for place in places.split(",")]
    else:
        wanted = [(folder.parent, folder) for folder in _folders]
    with ExitStack() as stack:
        try:
            found = [stack.enter_context(private_folder("shoal-spark-", *each)) for each in wanted]
        except OSError as error:
            raise ShoalError("no-spark-folder", reason=in_words(error)) from None
        _folders[:] = found
        yield


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


def _is_wanted(record: logging.LogRecord) -> bool:
    """Whether a message is other than what Py4J logs when Java does not answer, with a traceback: an error follows."""
    return record.msg != "Exception while sending command."


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Set a variable for processes started here."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


class WorkerError(Exception):
    """An error of Shoal on a worker, as JSON: Spark passes only its text to the driver."""


def reporting_errors(work: _Work) -> _Work:
    """Wrap a function for workers so that `in_plain_words` raises its errors on the driver."""

    def reporting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from work(batches)
        except ShoalError as error:
            messages = [each.as_json() for each in error.messages]
            raise WorkerError(json.dumps([type(error).__name__, messages])) from None

    return reporting


def _from_worker(report: str) -> ShoalError:
    """Return the error that a worker reported."""
    name, messages = json.loads(report)
    kind = getattr(shoal.errors, name, ShoalError)
    read = [_message(each) for each in messages]
    return CheckFailed(read) if kind is CheckFailed else kind(*read)


def _message(value: Any) -> Any:
    """Return a message, or data of one, that was read from JSON."""
    match value:
        case {"code": code, "data": data}:
            return Message(code, field=value.get("field"), **{name: _message(each) for name, each in data.items()})
        case list():
            return [_message(each) for each in value]
    return value


@contextmanager
def in_plain_words() -> Iterator[None]:
    """Raise what the package raised on a worker as if it had been raised here, without the traces around it."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        if not isinstance(error, PySparkException | Py4JJavaError):  # no answer
            raise ShoalError("java-gone") from None
        told = str(error)
        for words, code in _MEANINGS.items():
            if re.search(words, told):
                raise ShoalError(code) from None
        if re.search(_UNREADABLE, told):  # followed by values of the data
            raise FileError("parts-not-readable") from None
        said = re.search(rf"{WorkerError.__module__}\.{WorkerError.__name__}: (.+)", told)
        if said is None and _is_java_gone():
            raise ShoalError("java-gone") from None
        if said is None:
            raise
        raise _from_worker(said[1]) from None


def _is_java_gone() -> bool:
    """Whether the Java of this process has ended, which may take a moment after it stops answering."""
    process: Any = getattr(SparkContext._gateway, "proc", None)
    with suppress(subprocess.TimeoutExpired):
        return process is not None and process.wait(timeout=2) is not None
    return False


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Keep quiet what Spark says of pandas, which plays no part here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield

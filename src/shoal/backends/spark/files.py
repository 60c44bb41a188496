"""Files on Spark: Parquet and CSV, one file or a folder of them, on any disk that Spark knows."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

import pyspark
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from shoal.backends.spark.dataframe import SparkRelease, protect
from shoal.backends.spark.session import in_plain_words, session
from shoal.backends.spark.verify import promise_of, verified
from shoal.edits.apply import rules_of
from shoal.errors import CheckFailed, FileError, PlanError
from shoal.parallel import Progress, quiet
from shoal.pipeline.manifest import (
    Manifest,
    Part,
    Published,
    manifest_beside,
    manifest_of,
    refuse_others,
    verified_groups,
)
from shoal.pipeline.masker import refuse_whole
from shoal.plan import Csv, Plan

# What Spark must know of a CSV file to read the same again that it wrote: quotes are doubled, blanks are part of cells.
_DIALECT = {
    "header": "true",
    "escape": '"',
    "multiLine": "true",
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}


def protect_files(plan: Plan, overwrite: bool = False, progress: Progress = quiet) -> SparkRelease:
    """Protect the plan's input, and write it to its output: a folder of files, as always with Spark.

    What was written is read back and verified before it gets its final name: under that name is a whole release or
    nothing. A session that is active is used; otherwise one is started, at the plan's ``scale.master``, and stopped at
    the end. The release that comes back can be asked for its summary; its table is gone with the session.

    Parameters
    ----------
    plan
        With ``input`` and ``output``; the kind of file follows from the ending, .parquet or .csv.
    overwrite
        Whether an output that exists is replaced.
    progress
        Called with the name of each step.
    """
    problems = [(part, "is missing; name the file") for part in ("input", "output") if getattr(plan, part) is None]
    if problems:
        raise PlanError(problems)
    source, target = str(plan.input), str(plan.output)
    write_kind = _kind(target)
    refuse_whole(plan)  # before a session is started, which takes seconds
    rules_of(plan)
    with session(plan.scale.master if plan.scale is not None else None) as spark:
        disk = _Disk(spark, target)
        disk.refuse(source, overwrite)
        progress("read", 0, 1)
        original = _read(spark, source, plan)
        release = protect(original, plan, progress)
        try:
            progress("write", 0, 1)
            with disk.private() as folder:
                _write(release.table, f"{folder}/data", write_kind)
                _verify(spark, original, release, f"{folder}/data", write_kind)
                manifest = _manifest(release, disk.parts(f"{folder}/data"), disk.name, write_kind)
                disk.publish(folder, release.plan.to_toml(PurePath(target).parent), manifest.to_json(), overwrite)
            release.summary()
        finally:
            release.table.unpersist()
    return release


def _kind(path: str) -> str:
    ending = PurePath(path).suffix.lower()
    if ending not in (".parquet", ".csv"):
        raise FileError(f"'{path}': on Spark, files are .parquet or .csv, and folders are named so too")
    return ending[1:]


def _read(spark: SparkSession, path: str, plan: Plan) -> DataFrame:
    try:
        with in_plain_words():
            if _kind(path) == "csv":
                return _read_csv(spark, path, plan)
            found = spark.read.parquet(path)
            if spark.read.option("mergeSchema", "true").parquet(path).schema != found.schema:
                raise FileError(f"the files in '{path}' do not have the same columns; protect those that do together")
            return found
    except AnalysisException:
        raise FileError(f"'{path}' cannot be read: there is no such file, or Spark finds no columns in it") from None


def _read_csv(spark: SparkSession, path: str, plan: Plan) -> DataFrame:
    """Read the masked columns as what they are, and all others as text, so that nothing of them changes.

    Rules see such text: they read numbers from it, but no dates.
    """
    if not plan.masked:
        raise PlanError([("quasi", "must be named for CSV files on Spark, where the types of columns are not known")])
    reader = spark.read.options(**_DIALECT, **_options(plan.csv), mode="FAILFAST", columnPruning="false")
    inferred = reader.options(inferSchema="true").csv(path).schema.fields
    typed = {name for name in plan.masked if plan.types.get(name) != "nominal"}
    fields = [StructField(each.name, each.dataType if each.name in typed else StringType()) for each in inferred]
    return reader.options(inferSchema="false").schema(StructType(fields)).csv(path)


def _options(csv: Csv | None) -> dict[str, str]:
    """Say in Spark's words how a CSV file is written."""
    if csv is None:
        return {}
    problems = []
    if csv.decimal == ",":
        problems.append(("csv.decimal", "must be '.' on Spark"))
    if len(csv.missing) > 1:
        problems.append(("csv.missing", "may be one word on Spark"))
    if problems:
        raise PlanError(problems)
    words = {"sep": csv.delimiter, "quote": csv.quote, "encoding": csv.encoding, "nullValue": "".join(csv.missing)}
    return {name: word for name, word in words.items() if word}


def _write(table: DataFrame, path: str, kind: str) -> None:
    try:
        if kind == "parquet":
            table.write.parquet(path)
        else:
            # A file a partition; multi-line cells do not mind, as every file is read as a whole.
            table.write.options(**_DIALECT, quoteAll="false").csv(path)
    except AnalysisException:
        raise FileError("a CSV file has no place for nested columns; write Parquet") from None


def _verify(spark: SparkSession, original: DataFrame, release: SparkRelease, path: str, kind: str) -> None:
    """Read what was written, and count in it once more."""
    promise = promise_of(original, release.frame, release.excused)
    reader = spark.read.schema(StructType(promise.fields))
    written = reader.parquet(path) if kind == "parquet" else reader.options(**_DIALECT, mode="FAILFAST").csv(path)
    try:
        with in_plain_words():
            verified(written, promise)
    except PySparkException:
        raise CheckFailed(["the files cannot be read back as they were to be written"]) from None


def _manifest(release: SparkRelease, parts: list[Part], name: str, kind: str) -> Manifest:
    """Make the manifest of a folder of files."""
    edits, columns = release.frame.edits, release.table.columns
    csv = Csv(delimiter=",", quote='"', decimal=".", encoding="utf-8") if kind == "csv" else None
    verified = verified_groups(release.risk()["after"], 0 if edits is None else len(edits.kept.rules), release.plan)
    size = sum(part.bytes for part in parts)
    published = Published(name=name, bytes=size, parts=parts, records=release.frame.records, columns=columns, csv=csv)
    return manifest_of(published, release.plan, verified, pyspark=pyspark.__version__)


class _Disk:
    """The disk of the output, as Hadoop sees it: a local one, or that of a cluster."""

    def __init__(self, spark: SparkSession, target: str) -> None:
        self._jvm: Any = spark._jvm
        self._target = self._path(os.path.abspath(target) if "://" not in target else target)  # noqa: PTH100 - text
        self._files = self._target.getFileSystem(spark._jsc.hadoopConfiguration())
        self._plan = self._path(f"{self._target}.plan.toml")
        self.name = str(self._target.getName())
        self._manifest = self._path(f"{self._target.getParent()}/{manifest_beside(Path(self.name))}")

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(text)

    def refuse(self, source: str, overwrite: bool) -> None:
        """Say what stands in the way of writing, before any work is done."""
        if not self._files.exists(self._target.getParent()):
            raise FileError(f"the folder '{self._target.getParent()}' does not exist; create it first")
        if self._files.makeQualified(self._path(source)).equals(self._files.makeQualified(self._target)):
            raise FileError(f"'{source}' is what is being protected; write the release to another")
        taken = [path for path in (self._target, self._plan, self._manifest) if self._files.exists(path)]
        if taken and not overwrite:
            raise FileError(f"'{taken[0]}' exists already; choose another name or ask to overwrite it")
        if self._manifest in taken:
            refuse_others(self._manifest, self.name, self._content(self._manifest), self._is_beside)

    def _content(self, path: Any) -> bytes:
        stream = self._files.open(path)
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def _is_beside(self, name: str) -> bool:
        return bool(self._files.exists(self._path(f"{self._target.getParent()}/{name}")))

    def parts(self, folder: str) -> list[Part]:
        """Name the files of a folder that hold records, with their hashes."""
        found = [each for each in self._files.listStatus(self._path(folder)) if each.getPath().getName()[0] not in "._"]
        return sorted((self._part(each) for each in found), key=lambda part: part.name)

    def _part(self, status: Any) -> Part:
        stream = self._files.open(status.getPath())
        try:
            sha256 = self._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream)
        finally:
            stream.close()
        return Part(name=status.getPath().getName(), sha256=sha256, bytes=status.getLen())

    @contextmanager
    def private(self) -> Iterator[str]:
        """Give a folder beside the output that only its owner can read, and that is gone at the end."""
        folder = self._path(f"{self._target.getParent()}/_temporary-shoal-{secrets.token_hex(4)}")
        only_owner = self._jvm.org.apache.hadoop.fs.permission.FsPermission("700")
        try:
            self._files.mkdirs(folder, only_owner)
            yield str(folder)
        finally:
            self._files.delete(folder, True)

    def publish(self, folder: str, plan: str, manifest: str, overwrite: bool) -> None:
        """Give what was written its final name, and put the plan and the manifest beside it."""
        old = self._path(f"{folder}/old")
        if overwrite and self._files.exists(self._target):
            self._rename(self._target, old)
        try:
            self._rename(self._path(f"{folder}/data"), self._target)
        except FileError:
            if self._files.exists(old):
                self._rename(old, self._target)
            raise
        for path, text in ((self._plan, plan), (self._manifest, manifest)):
            stream = self._files.create(path, overwrite)
            try:
                stream.write(bytearray(text.encode()))
            finally:
                stream.close()

    def _rename(self, one: Any, two: Any) -> None:
        # Hadoop moves into a folder that exists instead of replacing it.
        if self._files.exists(two) or not self._files.rename(one, two):
            raise FileError(f"'{two}' cannot be written; it may have been made by somebody else in the meantime")

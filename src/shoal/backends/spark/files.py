"""Files and tables on Spark: Parquet, CSV and any format of the session, on any disk that Spark knows."""

from pathlib import PurePath
from typing import TYPE_CHECKING

import pyspark
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from shoal.backends.spark.disk import Disk
from shoal.backends.spark.formulas import formulas_in, with_apostrophes, without_apostrophes
from shoal.backends.spark.session import in_plain_words
from shoal.backends.spark.verify import traces
from shoal.errors import CheckFailed, FileError, PlanError
from shoal.messages import Message
from shoal.pipeline.manifest import (
    Manifest,
    Part,
    Published,
    manifest_of,
    verified_of,
)
from shoal.pipeline.notes import on_formulas
from shoal.pipeline.verify import Verified
from shoal.plan import Csv, Plan
from shoal.tables.files import KINDS

if TYPE_CHECKING:
    from shoal.backends.spark.dataframe import SparkPublished

# What Spark must know of a CSV file to read the same again that it wrote: quotes are doubled, blanks are part of cells.
_DIALECT = {
    "header": "true",
    "escape": '"',
    "multiLine": "true",
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}


def refuse_output(spark: SparkSession, plan: Plan) -> None:
    """Raise an error, before any work is done, if the plan names no input or an output that cannot be written.

    Whether the output exists is asked later, and a release without one is written by its `save`.
    """
    if plan.input is None:
        raise PlanError("no-input", field="input")
    if plan.output is not None:
        _format(plan.output)
        Disk(spark, plan.output).refuse(plan.input, overwrite=True)


def _format(path: str) -> str:
    """Return the format of a path, which its ending names."""
    ending = PurePath(path).suffix.lower()[1:]
    others = {kind[1:] for kind, of in KINDS.items() if of not in ("csv", "parquet")}  # of other programs
    if not ending.isalnum() or ending in others:
        raise FileError("unknown-extension", path=path, spark=True, extensions=[".parquet", ".csv"])
    return ending


def read(spark: SparkSession, plan: Plan) -> DataFrame:
    """Read the plan's input: a table of the catalog, or a path whose ending names its format."""
    path = str(plan.input)
    try:
        with in_plain_words():
            name = PurePath(path).name
            if not PurePath(path).suffix and spark.catalog.tableExists(name):
                return spark.table(name)
            kind = _format(path)
            if kind == "csv":
                return _read_csv(spark, path, plan)
            found = spark.read.format(kind).load(path)
            several = kind == "parquet" and len(found.inputFiles()) > 1
            if several and spark.read.option("mergeSchema", "true").parquet(path).schema != found.schema:
                raise FileError("files-differ", path=path)
            return found
    except AnalysisException:
        raise FileError("file-not-readable", path=path, reason=Message("no-file-or-columns")) from None


def save(published: "SparkPublished", path: str, overwrite: bool, verified: Verified) -> list[Message]:
    """Write a release to a folder of files; what was written is read back before it gets its final name.

    Returns what there is to note on the files.
    """
    spark = published.table.sparkSession
    kind = _format(path)
    disk = Disk(spark, path)
    disk.refuse(str(published.plan.input), overwrite)
    with disk.private() as folder:
        quotes = published.plan.quote_formulas
        _write(with_apostrophes(published.table) if quotes else published.table, f"{folder}/data", kind)
        _verify(spark, published, f"{folder}/data", kind)
        manifest = _manifest(published, verified, disk.parts(f"{folder}/data"), disk.name, kind)
        plan = published.plan.decided(output=path)
        disk.publish(folder, plan.to_toml(PurePath(path).parent), manifest.to_json(), overwrite)
    if kind != "csv":
        return []
    return on_formulas(formulas_in(published.table), published.table.columns, published.plan)


def _read_csv(spark: SparkSession, path: str, plan: Plan) -> DataFrame:
    """Read the masked columns as what they are, and all others as text, so that nothing of them changes.

    Rules see such text: they read numbers from it, but no dates.
    """
    if not plan.masked:
        raise PlanError("csv-needs-quasi", field="quasi")
    reader = spark.read.options(**_DIALECT, **_options(plan.csv), mode="FAILFAST", columnPruning="false")
    inferred = reader.options(inferSchema="true").csv(path).schema.fields
    typed = {name for name in plan.masked if plan.types.get(name) != "nominal"} | {*plan.classes}
    fields = [StructField(each.name, each.dataType if each.name in typed else StringType()) for each in inferred]
    return reader.options(inferSchema="false").schema(StructType(fields)).csv(path)


def _options(csv: Csv | None) -> dict[str, str]:
    """Return the options of Spark for a CSV file."""
    if csv is None:
        return {}
    problems = []
    if csv.decimal == ",":
        problems.append(Message("decimal-not-on-spark", field="csv.decimal"))
    if len(csv.missing) > 1:
        problems.append(Message("several-words-on-spark", field="csv.missing"))
    if problems:
        raise PlanError(*problems)
    words = {"sep": csv.delimiter, "quote": csv.quote, "encoding": csv.encoding, "nullValue": "".join(csv.missing)}
    return {name: word for name, word in words.items() if word}


def _write(table: DataFrame, path: str, kind: str) -> None:
    try:
        with in_plain_words():
            if kind == "csv":
                # A file a partition; multi-line cells do not mind, as every file is read as a whole.
                table.write.options(**_DIALECT, quoteAll="false").csv(path)
            else:
                table.write.format(kind).save(path)
    except (PySparkException, Py4JJavaError):
        raise FileError("cannot-write-on-spark", format=kind) from None


def _verify(spark: SparkSession, published: "SparkPublished", path: str, kind: str) -> None:
    """Read what was written, and compare it with what was verified by a sum of hashes over all records."""
    reader = spark.read.schema(published.table.schema)
    written = reader.options(**_DIALECT, mode="FAILFAST").csv(path) if kind == "csv" else reader.format(kind).load(path)
    if published.plan.quote_formulas:
        written = without_apostrophes(written)
    try:
        with in_plain_words():
            same = traces(written, written.columns) == published.trace
    except PySparkException:
        same = False
    if not same:
        raise CheckFailed([Message("not-as-released")])


def _manifest(published: "SparkPublished", verified: Verified, parts: list[Part], name: str, kind: str) -> Manifest:
    """Make the manifest of a folder of files."""
    csv = Csv(delimiter=",", quote='"', decimal=".", encoding="utf-8") if kind == "csv" else None
    size, columns = sum(part.bytes for part in parts), published.table.columns
    found = Published(name=name, bytes=size, parts=parts, records=published.records, columns=columns, csv=csv)
    return manifest_of(found, published.plan, verified_of(published.promise, verified), pyspark=pyspark.__version__)

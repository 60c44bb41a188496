"""Is a DataFrame what it claims to be? Spark's own GROUP BY counts in what is published."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import and_

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import LongType, StructField, StructType

from shoal.backends.spark.passes import added_up, in_utc, numbered_names
from shoal.backends.spark.session import without_pandas_warning
from shoal.edits.passes import Broken, Edits, columns_of
from shoal.errors import CheckFailed
from shoal.pipeline.masker import Frame
from shoal.text import counted, listed


@dataclass(frozen=True)
class SparkPromise:
    """What a release claims about itself, to be verified by Spark."""

    k: int
    masked: list[str]
    records: int
    fields: list[StructField]
    untouched: int  # a sum over the records of what stays as it is
    edits: Edits | None = None  # the rules that are obeyed
    excused: DataFrame | None = None  # published records that broke rules in the original


def promise_of(df: DataFrame, frame: Frame, excused: DataFrame | None = None) -> SparkPromise:
    """Put together what is promised; who shares a group with those `excused` may go on breaking rules."""
    names = [name for name in df.columns if name not in {*frame.plan.masked, *frame.plan.identifiers}]
    fields = published_fields(df, frame)
    untouched = _trace(df, names)
    return SparkPromise(frame.plan.k, frame.plan.masked, frame.records, fields, untouched, frame.edits, excused)


def verified(published: DataFrame, promise: SparkPromise) -> dict[str, float]:
    """Count in what is published by a Spark aggregation, and describe the risk that is left.

    Raises
    ------
    CheckFailed
        Naming everything that does not hold.
    """
    found = [(each.name, each.dataType) for each in published.schema.fields]
    if found != [(each.name, each.dataType) for each in promise.fields]:
        raise CheckFailed(["the columns are not those of the original, in their order, with the promised types"])
    risk = exposure(published, promise.masked, promise.k)
    failures = []
    if (records := int(risk.pop("records"))) != promise.records:
        failures.append(f"there are {counted(records, 'record')} where {promise.records:,} were expected")
    if below := int(risk.pop("below")):
        failures.append(
            f"{below} of the {risk['groups']} combinations of {listed(promise.masked)} occur fewer than {promise.k} "
            f"times; the smallest has {counted(int(risk['smallest']), 'record')}"
        )
    others = [each.name for each in promise.fields if each.name not in promise.masked]
    if _trace(published, others) != promise.untouched:
        failures.append("columns that were to stay as they are have changed")
    if promise.edits is not None:
        failures += promise.edits.failures(_broken(published, promise.edits, promise))
    if failures:
        raise CheckFailed(failures)
    return risk


def _broken(published: DataFrame, edits: Edits, promise: SparkPromise) -> Broken:
    """Find the rules that are broken, outside of groups with an original record that broke one."""
    ruled = columns_of(edits.kept.rules)
    names = [name for name in published.columns if name in {*ruled, *promise.masked}]
    table = published.select([column(name) for name in names])
    if promise.excused is None:
        return added_up(table, edits.disobeyed)
    plain = dict(zip(names, numbered_names(names), strict=True))

    def with_rule(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            piece = pa.Table.from_batches([batch]).rename_columns(names)
            columns = [*map(in_utc, batch.columns), edits.first_disobeyed(piece)]
            yield pa.RecordBatch.from_arrays(columns, names=[*plain.values(), "rule"])

    table = table.toDF(*plain.values())
    with without_pandas_warning():
        found = table.mapInArrow(with_rule, StructType([*table.schema.fields, StructField("rule", LongType())]))
    keys = [plain[name] for name in promise.masked]
    excused = promise.excused.select([column(name).alias(f"x{plain[name]}") for name in promise.masked]).distinct()
    same = reduce(and_, (found[key].eqNullSafe(excused[f"x{key}"]) for key in keys))
    wrong = found.filter("rule IS NOT NULL").join(excused, same, "left_anti").groupBy("rule").count().collect()
    return Broken({row["rule"]: (row["count"], None) for row in wrong})


def exposure(table: DataFrame, names: list[str], k: int = 1) -> dict[str, float]:
    """Describe how well the records hide, as `shoal.measures.exposure`, with how many groups are `below` k."""
    one = F.lit(1)
    keys = [column(name).alias(f"c{j}") for j, name in enumerate(names)]
    alike = table.groupBy(keys).agg(F.count(one).alias("n"))
    least = {"uniques": F.col("n") == 1, "below": F.col("n") < k}
    row = alike.agg(
        F.count(one).alias("groups"),
        F.min("n").alias("smallest"),
        F.max("n").alias("largest"),
        F.coalesce(F.sum("n"), F.lit(0)).alias("records"),
        *(F.count_if(condition).alias(name) for name, condition in least.items()),
    ).collect()[0]
    found: dict[str, float] = {name: row[name] or 0 for name in ("groups", "smallest", "largest", "uniques")}
    found["real_k"] = row["records"] / max(row["groups"], 1)
    found["reidentification"] = 100 * row["groups"] / max(row["records"], 1)
    return {**found, "records": row["records"], "below": row["below"]}


def _trace(table: DataFrame, names: list[str]) -> int:
    """Add up a hash of some columns over the records; Spark has none for maps and variants, which are left out."""
    kinds = {each.name: each.dataType.simpleString() for each in table.schema.fields}
    hashed = [column(name) for name in names if not re.search("map<|variant", kinds[name])]
    if not hashed:
        return 0
    total = table.agg(F.sum(F.xxhash64(*hashed).cast("decimal(20,0)"))).collect()[0][0]
    return int(total or 0)


def published_fields(df: DataFrame, frame: Frame) -> list[StructField]:
    """Give the columns of the release: as they were, but for masked ones, which get the promised type."""
    fields = []
    for each in df.schema.fields:
        if each.name in frame.types:
            kind = frame.types[each.name]
            stored = each.dataType if kind == stored_type(frame, each.name) else from_arrow_type(kind)
            fields.append(StructField(each.name, stored, nullable=True))
        elif each.name not in frame.plan.identifiers:
            fields.append(each)
    return fields


def stored_type(frame: Frame, name: str) -> pa.DataType:
    """Give the type that a masked column had."""
    return next(attribute.stored for attribute in frame.attributes if attribute.name == name)


def column(name: str) -> Column:
    """Name a column, whatever characters its name has."""
    return F.col("`" + name.replace("`", "``") + "`")

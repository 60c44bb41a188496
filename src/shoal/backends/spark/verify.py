"""Spark SQL as the judge of a release: the queries of `shoal.pipeline.verify`, and sums over records."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name

if TYPE_CHECKING:
    from shoal.backends.spark.dataframe import SparkPublished


@dataclass(frozen=True)
class SparkPairs:
    """The pairs of a release, which Spark SQL queries."""

    published: "SparkPublished"
    collect: str = "collect_list"  # Spark's name of the aggregate
    hash: str = "xxhash64"

    @property
    def _pairs(self) -> DataFrame:
        """Number the published columns that groups are made of, beside the pairs."""
        published = self.published
        plan, masked = published.plan, published.masked
        left = published.promise.unchanged
        names = published.table.columns
        at = {name: F.col(f"c{names.index(name)}") for name in names}
        keys = [at[each.name].alias(f"k{j}") for j, each in enumerate(published.masker.changed)]
        kinds = {each.name: each.dataType.simpleString() for each in published.table.schema.fields}
        keys += [_distinct(at[each.name], kinds[each.name]).alias(f"u{i}") for i, each in enumerate(left)]
        keys += [_known(at[each.name], kinds[each.name]).alias(f"v{i}") for i, each in enumerate(left) if not each.key]
        keys += [_number(at[each.name], kinds[each.name]).alias(f"n{i}") for i, each in enumerate(left) if each.number]
        if plan.pseudonym is not None:
            keys.append(at[plan.pseudonym].alias("p"))
        if plan.weights is not None:
            keys.append(at[plan.weights].cast("double").alias("w"))
        own = [name for name in masked.columns if re.fullmatch(r"[xyqebi]\d+|h", name)]
        # NaN is what a missing number is in a row
        pairs = [
            F.when(F.isnan(name), None).otherwise(F.col(name)).alias(name) if name[0] in "xy" else F.col(name)
            for name in own
        ]
        return masked.select(*keys, *pairs)

    def rows(self, query: str) -> "list[tuple[Any, ...]]":
        """Return the rows of a small result."""
        return [tuple(row) for row in self._answered(query).collect()]

    def each(self, query: str) -> Iterator[pa.RecordBatch]:
        """Return a large result in pieces."""
        yield from self._answered(query).toArrow().to_batches(100_000)

    def sample(self, columns: Sequence[str], most: int, records: int) -> pa.Table:
        """Return expressions on at most so many of the records."""
        chosen = self._pairs.selectExpr(*(f"{each} AS c{i}" for i, each in enumerate(columns)))
        if records > most:
            chosen = chosen.sample(fraction=min(1.1 * most / records, 1.0), seed=0).limit(most)
        return chosen.toArrow()

    def _answered(self, query: str) -> DataFrame:
        return self._pairs.sparkSession.sql(query.replace(" pairs", " {pairs}"), pairs=self._pairs)


def _countable(values: Column, kind: str) -> Column:
    """Return a column that Spark can group by."""
    return values.cast("string") if _has_no_hash(kind) else values


def _distinct(values: Column, kind: str) -> Column:
    """Return a column in which Spark groups values as `shoal.pipeline.counting.distinct` does."""
    if kind not in ("float", "double"):
        return _countable(values, kind)
    bits = {"float": "floatToRawIntBits", "double": "doubleToRawLongBits"}[kind]
    odd = F.java_method(F.lit(f"java.lang.{kind.capitalize()}"), F.lit(bits), values)
    return F.when(F.isnan(values), odd).otherwise(values.cast("string"))


def _known(values: Column, kind: str) -> Column:
    """Return a column in which NaN is missing."""
    return F.when(~F.isnan(values), values) if kind in ("float", "double") else _countable(values, kind)


def _number(values: Column, kind: str) -> Column:
    """Return a column of numbers or moments as numbers."""
    if kind == "date":
        return F.unix_date(values)
    if kind.startswith("timestamp"):
        return F.unix_micros(values.cast("timestamp"))
    return values.cast("int") if kind == "boolean" else values


def _has_no_hash(kind: str) -> bool:
    """Whether Spark has no hash for values of a type."""
    return re.search("map<|variant", kind) is not None


def exposure(table: DataFrame, names: list[str]) -> dict[str, float]:
    """Describe how well the records hide, as `shoal.measures.exposure`."""
    one = F.lit(1)
    keys = [column(name).alias(f"c{j}") for j, name in enumerate(names)]
    alike = table.groupBy(keys).agg(F.count(one).alias("n"))
    row = alike.agg(
        F.count(one).alias("groups"),
        F.min("n").alias("smallest"),
        F.max("n").alias("largest"),
        F.count_if(F.col("n") == 1).alias("uniques"),
        F.sum("n").alias("records"),
    ).collect()[0]
    found: dict[str, float] = {name: row[name] for name in ("groups", "smallest", "largest", "uniques")}
    found["real_k"] = row["records"] / row["groups"]
    found["reidentification"] = 100 * row["groups"] / row["records"]
    return found


def traces(table: DataFrame, *columns: list[str]) -> list[int]:
    """Count the records, and add up a hash of some columns over them, and of others, all in one pass.

    Spark has no hash of maps and variants, which are left out.
    """
    kinds = {each.name: each.dataType.simpleString() for each in table.schema.fields}
    sums = [F.count(F.lit(1))]
    for names in columns:
        hashed = [column(name) for name in names if not _has_no_hash(kinds[name])]
        sums.append(F.sum(F.xxhash64(*hashed).cast("decimal(20,0)")) if hashed else F.lit(0))
    return [int(total or 0) for total in table.agg(*sums).collect()[0]]


def column(name: str) -> Column:
    """Name a column, whatever characters its name has."""
    return F.col("`" + name.replace("`", "``") + "`")

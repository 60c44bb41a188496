"""The Spark engine: the same frame, the same blocks and the same block function, on a cluster.

Every pass over the records is a `mapInArrow` that adds up what it sees within a partition; the sums are added up as a
tree. Only the tree of cells comes to the driver. Then `groupBy(block).applyInArrow` masks each block where it lies.
"""

import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import ArrayType, BinaryType, DoubleType, LongType, StructField, StructType

import shoal.errors
from shoal.engines.frame import Frame, frame_of, refuse_whole, with_blocks
from shoal.engines.losses import Loss, described, lost
from shoal.engines.summary import Moments, Summary
from shoal.errors import CheckFailed, DataError, PlanError, ShoalError
from shoal.plan import AttributeType, Plan
from shoal.publishing import preserved
from shoal.roles import numeric_attributes, refuse_unknown
from shoal.scale import Gather
from shoal.scaling import Matrix
from shoal.settle import _refuse_aggregates, _with_method
from shoal.tables import Table
from shoal.tables.attributes import Attribute, infer_type
from shoal.tables.cells import one_chunk
from shoal.tables.kinds import is_number, is_text
from shoal.words import counted, listed
from shoal.work import Progress, quiet

Seen = TypeVar("Seen")

BLOCK_SIZE = 250_000  # whatever the cluster: the same plan gives the same release on any
_PIECE = 250_000  # records that a pass looks at together


def protect(df: DataFrame, plan: Plan, progress: Progress = quiet) -> "SparkRelease":
    """Protect a DataFrame: see `shoal.spark.protect`."""
    _refuse_twins(df)
    refuse_whole(plan)
    schema = df.limit(0).toArrow().schema
    plan = settled(plan, schema)
    records = SparkRecords(df.select([column(name) for name in plan.masked]))
    with in_plain_words():
        progress("summary", 0, 1)
        frame = frame_of(records, plan, schema)
        frame, most = _with_size(frame)
        progress("cells", 0, 1)
        frame = with_blocks(frame, records.gather(frame), most)
        progress("partition", 0, 1)
        own = _unused(df.columns)
        masked = _masked(df, frame, most, own).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            loss = _summed(masked, own)
            published = masked.drop(own)
            progress("verify", 0, 1)
            after = verified(published, promise_of(df, frame))
        except BaseException:
            masked.unpersist()
            raise
    return SparkRelease(frame.plan, df, published, frame, described(frame.attributes, loss), after, _notes(df, frame))


def settled(plan: Plan, schema: pa.Schema) -> Plan:
    """Fill in which attributes are masked, their types and by which method, by the types of the columns alone."""
    table = Table(schema.empty_table())
    roles = {role: getattr(plan, role) for role in ("confidential", "identifiers")}
    named = {part: list(getattr(plan, part)) for part in ("types", "levels", "attribute_weights")}
    refuse_unknown(table, {"quasi": plan.masked, **roles, **named})
    names = plan.masked or numeric_attributes(table, {name for each in roles.values() for name in each})
    types = {name: plan.types.get(name) or _type_of(table, name, plan) for name in names}
    plan = plan.updated(quasi=names, types=types)
    attributes = [Attribute(name, types[name], np.empty(0), schema.field(name).type) for name in names]
    _refuse_aggregates(plan, attributes)
    return _with_method(plan, attributes)


def _type_of(table: Table, name: str, plan: Plan) -> AttributeType:
    if name in plan.levels:
        return "ordinal"
    kind = table.column(name).type
    if is_text(kind):
        return "nominal"
    if is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return infer_type(table, name)
    raise DataError(f"column '{name}' is of type {kind}, which cannot be masked; give it another role")


@dataclass(frozen=True)
class SparkRecords:
    """The masked columns of a DataFrame, as `shoal.engines.frame.Records`."""

    table: DataFrame

    def summary(self, look: Callable[..., Summary]) -> Summary:
        """Add up what `look` sees in all records."""
        return _added(self.table, look)

    def moments(self, look: Callable[[Matrix], Moments], frame: Frame) -> Moments:
        """Add up what `look` sees in the codes of all records."""
        return _added(self.table, lambda piece: look(frame.codes(piece)))

    def gather(self, frame: Frame) -> Gather:
        """Give passes over what the blocks are made from."""

        def gather(look: Callable[[Matrix], Seen]) -> Seen:
            return _added(self.table, lambda piece: look(frame.outline(frame.codes(piece))))

        return gather


def _added(table: DataFrame, look: Callable[[pa.Table], Seen]) -> Seen:
    """Look at all records, and add up what was seen: within partitions first, then as a tree."""

    def of_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = [pickle.dumps(reduce(_both, (look(piece) for piece in _pieces(batches)), None))]
        yield pa.RecordBatch.from_pydict({"seen": seen})

    with without_pandas_warning():
        parts = table.mapInArrow(of_partition, "seen binary").rdd
    found = parts.map(lambda row: pickle.loads(row.seen)).treeReduce(_both)  # noqa: S301 - written two lines above
    if found is None:
        raise DataError("the table has no records")
    return found


def _both(one: Any, two: Any) -> Any:
    """Add what was seen in two places; None if there was no record."""
    return two if one is None else one if two is None else one + two


def _pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join Spark's batches, which are small, to pieces that are worth a look."""
    waiting: list[pa.RecordBatch] = []
    records = 0
    for batch in batches:
        waiting.append(batch)
        records += len(batch)
        if records >= _PIECE:
            yield pa.Table.from_batches(waiting)
            waiting, records = [], 0
    if records:
        yield pa.Table.from_batches(waiting)


def _with_size(frame: Frame) -> tuple[Frame, int]:
    """Settle how many records a block has at most, and write it to the plan: there it makes the same blocks anywhere."""
    given = frame.plan.scale.block_size if frame.plan.scale is not None else None
    most = given or BLOCK_SIZE
    return replace(frame, plan=frame.plan.updated(scale={"block_size": most})), most


@dataclass(frozen=True)
class Cut:
    """How blocks are cut where so many records lie in one place that these could not be told apart.

    A block of n records, at most m being asked for, is cut into p = n div m pieces (one, if it has less than 2 m). Its
    records are put in the order of their codes; the one in place r = 0, 1, ... belongs to piece r p div n. Equal
    records are interchangeable, so this does not depend on any order that the records have.
    """

    sizes: np.ndarray
    pieces: np.ndarray
    first: np.ndarray  # the number of the first piece of each block

    @classmethod
    def of(cls, frame: Frame, most: int) -> "Cut":
        """Find the blocks that are to be cut."""
        sizes = np.array([frame.records]) if frame.blocks is None else frame.blocks.sizes
        pieces = np.maximum(1, sizes // most)
        return cls(sizes, pieces, np.cumsum(pieces) - pieces)


def _masked(df: DataFrame, frame: Frame, most: int, own: str) -> DataFrame:
    """Mask every block; the column `own` holds what was lost in a block, in one of its records."""
    kept = [name for name in df.columns if name not in frame.plan.identifiers]
    fields = published_fields(df, frame)
    alone = replace(frame, blocks=None)

    def mask(block: pa.Table) -> pa.Table:
        codes = alone.codes(block)
        published = alone.mask(codes)
        masked = alone.decode(published)
        loss = pickle.dumps(lost(alone.attributes, codes, published))
        columns = [masked[name] if name in masked else one_chunk(block.column(name)) for name in kept]
        return pa.table([*columns, pa.array([loss, *[None] * (len(codes) - 1)], pa.binary())], names=[*kept, own])

    cut = Cut.of(frame, most)
    numbered = _numbered(df.select([column(name) for name in kept]), frame, cut, own)
    # As many partitions as blocks: a task that has two masks one after the other.
    blocks = numbered.repartition(int(cut.pieces.sum()), column(own)).groupBy(column(own))
    with without_pandas_warning():
        return blocks.applyInArrow(mask, StructType([*fields, StructField(own, BinaryType())]))


def _numbered(df: DataFrame, frame: Frame, cut: Cut, own: str) -> DataFrame:
    """Add the number of its block, or piece of a block, to each record."""
    crowded = bool((cut.pieces > 1).any())
    size, pieces, codes = (f"{own}_{what}" for what in ("size", "pieces", "codes"))

    def number(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            matrix = frame.codes(pa.Table.from_batches([batch]))
            block = frame.block_of(matrix)
            columns = [*batch.columns, pa.array(cut.first[block])]
            names = [*batch.schema.names, own]
            if crowded:
                columns += [pa.array(cut.sizes[block]), pa.array(cut.pieces[block]), _in_order(matrix)]
                names += [size, pieces, codes]
            yield pa.RecordBatch.from_arrays(columns, names=names)

    more = [StructField(own, LongType())]
    if crowded:
        more += [StructField(size, LongType()), StructField(pieces, LongType())]
        more += [StructField(codes, ArrayType(DoubleType()))]
    with without_pandas_warning():
        numbered = df.mapInArrow(number, StructType([*df.schema.fields, *more]))
    if not crowded:
        return numbered
    # Spark sorts on disk: a place with a billion records takes time, but no memory.
    place = F.row_number().over(Window.partitionBy(column(own)).orderBy(column(codes))).cast("long") - 1
    several = numbered.filter(column(pieces) > 1).withColumn(f"{own}_place", place)
    piece = F.floor(column(f"{own}_place") * column(pieces) / column(size)).cast("long")
    several = several.withColumn(own, column(own) + piece).drop(f"{own}_place")
    return numbered.filter(column(pieces) == 1).unionAll(several).drop(size, pieces, codes)


def _in_order(codes: Matrix) -> pa.Array:
    """Give the codes of each record as a list, by which Spark sorts as numpy does: NaN last."""
    ends = np.arange(0, codes.size + 1, codes.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(codes.ravel()))


def published_fields(df: DataFrame, frame: Frame) -> list[StructField]:
    """Give the columns of the release: as they were, but for masked ones, which get the promised type."""
    fields = []
    for each in df.schema.fields:
        if each.name in frame.types:
            kind = frame.types[each.name]
            stored = each.dataType if kind == frame_type(frame, each.name) else from_arrow_type(kind)
            fields.append(StructField(each.name, stored, nullable=True))
        elif each.name not in frame.plan.identifiers:
            fields.append(each)
    return fields


def frame_type(frame: Frame, name: str) -> pa.DataType:
    """Give the type that a masked column had."""
    return next(attribute.stored for attribute in frame.attributes if attribute.name == name)


def _summed(masked: DataFrame, own: str) -> Loss:
    """Add up what the blocks lost, always in the same order: floats depend on it."""
    parts = masked.select(column(own)).filter(column(own).isNotNull()).collect()
    return reduce(add, (pickle.loads(part) for part in sorted(bytes(row[0]) for row in parts)))  # noqa: S301 - our own


@dataclass(frozen=True)
class SparkPromise:
    """What a release claims about itself, to be verified by Spark."""

    k: int
    masked: list[str]
    records: int
    fields: list[StructField]
    untouched: int  # a sum over the records of what stays as it is


def promise_of(df: DataFrame, frame: Frame) -> SparkPromise:
    """Put together what is promised."""
    names = [name for name in df.columns if name not in {*frame.plan.masked, *frame.plan.identifiers}]
    fields = published_fields(df, frame)
    return SparkPromise(frame.plan.k, frame.plan.masked, frame.records, fields, _trace(df, names))


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
    if failures:
        raise CheckFailed(failures)
    return risk


def exposure(table: DataFrame, names: list[str], k: int = 1) -> dict[str, float]:
    """Describe how well the records hide, as `shoal.measures.exposure`, with how many groups are `below` k."""
    one = F.lit(1)
    alike = table.groupBy([column(name) for name in names]).agg(F.count(one).alias("n")).select(F.col("n").alias("n"))
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


@dataclass
class SparkRelease:
    """A protected DataFrame, verified.

    Attributes
    ----------
    plan : Plan
        What was done, with the choices it left open filled in.
    table : DataFrame
        The protected records. They are kept (memory and disk) as they were verified; ``table.unpersist()`` lets go.
    notes : list of str
        What a user might not expect, and what the release preserves.
    """

    plan: Plan
    _original: DataFrame = field(repr=False)
    table: DataFrame = field(repr=False)
    frame: Frame = field(repr=False)
    _loss: dict[str, Any] = field(repr=False)
    _after: dict[str, float] = field(repr=False)
    notes: list[str] = field(repr=False)
    _before: dict[str, float] | None = field(default=None, repr=False)

    def loss(self) -> dict[str, Any]:
        """Tell what the release costs its users: see `shoal.engines.losses.described`."""
        return self._loss

    def risk(self) -> dict[str, Any]:
        """Tell what an intruder who knows quasi-identifiers gains, before and after; before is counted when asked."""
        if self._before is None:
            with in_plain_words():
                found = exposure(self._original, self.plan.masked)
            self._before = {name: found[name] for name in self._after}
        return {"before": self._before, "after": self._after}

    def summary(self) -> dict[str, Any]:
        """Everything worth knowing about the release, ready for JSON, as `shoal.Release.summary`."""
        return {
            "records": self.frame.records,
            "suppressed": 0,
            "plan": self.plan.model_dump(exclude_none=True),
            "loss": self.loss(),
            "risk": self.risk(),
            "notes": self.notes,
        }


def _notes(df: DataFrame, frame: Frame) -> list[str]:
    plan, blocks = frame.plan, frame.blocks
    found = [preserved(plan), "the records are in no order, as always with Spark"]
    if blocks is not None:
        most = int(blocks.sizes.max())
        found.append(f"divided into {counted(len(blocks.sizes), 'block')} of at most {counted(most, 'record')}")
    changed = [name for name in plan.masked if frame.types[name] != frame_type(frame, name)]
    if changed:
        found.append(f"now floats, values not being whole (round = true keeps integers): {', '.join(changed)}")
    roles = {*plan.masked, *plan.confidential, *plan.identifiers}
    if others := [name for name in df.columns if name not in roles]:
        found.append(f"published as they are, having no role: {', '.join(others)}")
    return found


def column(name: str) -> Column:
    """Name a column, whatever characters its name has."""
    return F.col("`" + name.replace("`", "``") + "`")


def _unused(names: list[str]) -> str:
    """Find a name for a column of our own; Spark does not tell capitals from small letters."""
    own = "shoal_block"
    while any(name.lower().startswith(own) for name in names):
        own += "_"
    return own


def _refuse_twins(df: DataFrame) -> None:
    names = [name.lower() for name in df.columns]
    twins = sorted({name for name in df.columns if names.count(name.lower()) > 1})
    if twins:
        raise DataError(f"columns share a name, which Spark reads without capitals: {listed(twins)}; rename them")


@contextmanager
def in_plain_words() -> Iterator[None]:
    """Raise what the package raised on a worker as if it had been raised here, without the traces around it."""
    try:
        yield
    except PySparkException as error:
        said = re.search(r"shoal\.errors\.(\w+): (.+)", str(error))
        kind = getattr(shoal.errors, said[1], None) if said else None
        if said is None or kind is None:
            raise
        if kind is PlanError:
            raise PlanError([tuple(said[2].split(": ", 1))]) from None  # type: ignore[list-item]
        raise (kind(said[2]) if issubclass(kind, DataError) else ShoalError(said[2])) from None


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Keep quiet what Spark says of pandas, which plays no part here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield

"""The Spark engine: the same frame, the same blocks and the same block function, on a cluster.

Every pass over the records is a `mapInArrow` that adds up what it sees within a partition; the sums are added up as a
tree. Only the tree of cells comes to the driver. Then `groupBy(block).applyInArrow` masks each block where it lies.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    StructField,
    StructType,
)

from shoal.backends.spark.passes import added_up, in_utc, numbered_names
from shoal.backends.spark.session import in_plain_words, without_pandas_warning
from shoal.backends.spark.verify import column, exposure, promise_of, published_fields, stored_type, verified
from shoal.blocking import Gather, block_records
from shoal.blocking.record_blocks import MIXED_BLOCK, Blocking
from shoal.edits.apply import explained, rules_of, with_rules
from shoal.edits.passes import Originals, columns_of
from shoal.errors import DataError
from shoal.kernels.standardize import Matrix
from shoal.parallel import Progress, quiet
from shoal.pipeline.aggregate import preserved
from shoal.pipeline.loss_sums import Losses
from shoal.pipeline.masker import Frame, frame_of, refuse_whole, with_blocks, with_seen
from shoal.pipeline.resolve import with_method
from shoal.pipeline.roles import numeric_attributes, refuse_unknown
from shoal.pipeline.summary import Moments, Summary
from shoal.plan import AttributeType, Plan, Scale
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.attributes import Attribute, infer_type
from shoal.tables.dtypes import is_number, is_text
from shoal.tables.text_values import one_chunk
from shoal.text import listed

Seen = TypeVar("Seen")

BLOCK_SIZE = 250_000  # whatever the cluster: the same plan gives the same release on any
_BLOCK, _LOST, _BROKE = "block", "lost", "broke"  # columns of our own beside numbered ones


def protect(df: DataFrame, plan: Plan, progress: Progress = quiet) -> "SparkRelease":
    """Protect a DataFrame: see `shoal.spark.protect`."""
    _refuse_twins(df)
    refuse_whole(plan)
    schema = df.limit(0).toArrow().schema
    given = {*plan.types, *plan.levels}
    rules = rules_of(plan)
    plan = settled(plan, schema)
    plan, kept = with_rules(plan, df.columns, rules) if rules else (plan, None)
    used = {*plan.masked, *columns_of(rules)}
    records = SparkRecords(df.select([column(name) for name in df.columns if name in used]))
    with in_plain_words():
        progress("summary", 0, 1)
        frame = frame_of(records, plan, schema, kept)
        inferred = [name for name in plan.masked if name not in given]
        frame, most = _with_size(with_seen(frame, records.seen, inferred))
        progress("cells", 0, 1)
        frame = with_blocks(frame, records, most)
        progress("partition", 0, 1)
        masked = _masked(df, frame, most).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            loss = _lost(masked, frame)
            names = [each.name for each in published_fields(df, frame)]
            published = masked.drop(_LOST, _BROKE).toDF(*names)
            excused = masked.filter(_BROKE).drop(_LOST, _BROKE).toDF(*names) if _BROKE in masked.columns else None
            progress("verify", 0, 1)
            after = verified(published, promise_of(df, frame, excused))
        except BaseException:
            masked.unpersist()
            raise
    return SparkRelease(frame.plan, df, published, frame, loss, after, _notes(df, frame), excused=excused)


def settled(plan: Plan, schema: pa.Schema) -> Plan:
    """Fill in which attributes are masked and of which types, by the types of the columns alone."""
    table = Table(schema.empty_table())
    roles = {role: getattr(plan, role) for role in ("confidential", "identifiers")}
    named = {part: list(getattr(plan, part)) for part in ("types", "levels", "attribute_weights")}
    refuse_unknown(table, {"quasi": plan.masked, **roles, **named})
    names = plan.masked or numeric_attributes(table, {name for each in roles.values() for name in each})
    types = {name: plan.types.get(name) or _type_of(table, name, plan) for name in names}
    plan = plan.updated(quasi=names, types=types)
    attributes = [Attribute(name, types[name], np.empty(0), schema.field(name).type) for name in names]
    with_method(plan, attributes)  # refuses what cannot be before any record is read
    return plan


def _type_of(table: Table, name: str, plan: Plan) -> AttributeType:
    if name in plan.levels:
        return "ordinal"
    kind = table.column(name).type
    if is_text(kind):
        return "nominal"
    if is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return infer_type(table, name)
    raise DataError(f"column '{name}' is of type {kind}, which cannot be masked; give it another role")


@dataclass
class SparkRecords:
    """The columns of a DataFrame that are masked or that rules speak of, as `shoal.pipeline.masker.Records`."""

    table: DataFrame
    seen: Summary = field(default_factory=lambda: Summary({}))

    def summary(self, look: Callable[..., Summary]) -> Summary:
        """Add up what `look` sees in all records."""
        self.seen = added_up(self.table, look)
        return self.seen

    def originals(self, look: Callable[..., Originals]) -> Originals:
        """Add up what `look` sees in all records once more."""
        return added_up(self.table, look)

    def moments(self, look: Callable[[Matrix], Moments], frame: Frame) -> Moments:
        """Add up what `look` sees in the codes of all records."""
        return added_up(self.table, lambda piece: look(frame.codes(piece)))

    def gather(self, frame: Frame, part: int | None = None) -> Gather:
        """Give passes over what the blocks are made from, of all records or of one part."""

        def outline(piece: pa.Table) -> Matrix:
            codes = frame.codes(piece)
            return frame.outline(codes if part is None else codes[frame.part_of(piece) == part])

        def gather(look: Callable[[Matrix], Seen]) -> Seen:
            return added_up(self.table, lambda piece: look(outline(piece)))

        return gather


def _with_size(frame: Frame) -> tuple[Frame, int]:
    """Settle how many records a block has at most, and write it to the plan, which makes the same blocks anywhere."""
    asked = frame.plan.scale or Scale()
    most = asked.block_size or (BLOCK_SIZE if frame.plain else MIXED_BLOCK)
    if asked.block_size is None and asked.memory_bytes is not None:  # of one task, which has one block at a time
        most = block_records(asked.memory_bytes, len(frame.attributes), frame.records, workers=1)
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
        pieces = np.maximum(1, frame.sizes // most)
        return cls(frame.sizes, pieces, np.cumsum(pieces) - pieces)


def _masked(df: DataFrame, frame: Frame, most: int) -> DataFrame:
    """Mask every block; columns of our own hold what was lost, in one record of the block, and who broke rules."""
    kept = [name for name in df.columns if name not in frame.plan.identifiers]
    alone, losses = replace(frame, blocks=None), Losses(frame.attributes, frame.scales)
    edits = frame.edits if frame.edits is not None and frame.edits.broken else None
    own = [StructField(_LOST, BinaryType()), *([StructField(_BROKE, BooleanType())] if edits else [])]

    def mask(block: pa.Table) -> pa.Table:
        block = block.select(range(len(kept))).rename_columns(kept)
        codes = alone.codes(block)
        published, _ = alone.mask(codes)
        masked = alone.decode(published)
        columns = [masked[name] if name in masked else one_chunk(block.column(name)) for name in kept]
        loss = losses.measure(codes, alone.as_read(published)).tobytes()
        columns.append(pa.array([loss, *[None] * (len(codes) - 1)], pa.binary()))
        if edits is not None:
            columns.append(pa.array(edits.breaks(block)))
        names = [*numbered_names(kept), *(each.name for each in own)]
        return pa.table([in_utc(each) for each in columns], names=names)

    cut = Cut.of(frame, most)
    divided = _divided(df.select([column(name) for name in kept]), frame, cut)
    # As many partitions as blocks: a task that has two masks one after the other.
    blocks = divided.repartition(int(cut.pieces.sum()), _BLOCK).groupBy(_BLOCK)
    fields = [
        StructField(plain, each.dataType, each.nullable)
        for plain, each in zip(numbered_names(kept), published_fields(df, frame), strict=True)
    ]
    with without_pandas_warning():
        return blocks.applyInArrow(mask, StructType([*fields, *own]))


def _divided(df: DataFrame, frame: Frame, cut: Cut) -> DataFrame:
    """Add the number of its block, or piece of a block, to each record; other columns are numbered."""
    names, plain = df.columns, numbered_names(df.columns)
    crowded = bool((cut.pieces > 1).any())
    extra: dict[str, DataType] = {_BLOCK: LongType()}
    if crowded:
        extra |= {"size": LongType(), "pieces": LongType(), "codes": ArrayType(DoubleType())}

    def divide(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            piece = pa.Table.from_batches([batch]).rename_columns(names)
            codes = frame.codes(piece)
            block = frame.block_of(codes, frame.part_of(piece))
            columns = [*batch.columns, pa.array(cut.first[block])]
            if crowded:
                columns += [pa.array(cut.sizes[block]), pa.array(cut.pieces[block]), _in_order(codes)]
            yield pa.RecordBatch.from_arrays([in_utc(each) for each in columns], names=[*plain, *extra])

    df = df.toDF(*plain)
    schema = StructType([*df.schema.fields, *(StructField(name, kind) for name, kind in extra.items())])
    with without_pandas_warning():
        divided = df.mapInArrow(divide, schema)
    if not crowded:
        return divided
    # Spark sorts on disk: a place with a billion records takes time, but no memory.
    place = F.row_number().over(Window.partitionBy(_BLOCK).orderBy("codes"))
    several = divided.filter("pieces > 1").withColumn("place", place.cast("long") - 1)
    several = several.withColumn(_BLOCK, F.expr(f"{_BLOCK} + place * pieces div size")).drop("place")
    return divided.filter("pieces = 1").unionAll(several).drop("size", "pieces", "codes")


def _in_order(codes: Matrix) -> Array:
    """Give the codes of each record as a list, by which Spark sorts as numpy does: NaN last."""
    ends = np.arange(0, codes.size + 1, codes.shape[1], dtype=np.int32)
    lists: Any = pa.ListArray
    return cast("Array", lists.from_arrays(pa.array(ends), pa.array(codes.ravel())))


def _lost(masked: DataFrame, frame: Frame) -> dict[str, Any]:
    """Add up what the blocks lost, always in the same order: sums of floats depend on it."""
    rows = masked.select(_LOST).filter(F.col(_LOST).isNotNull()).collect()
    sums = sum(np.frombuffer(part) for part in sorted(bytes(row[0]) for row in rows))
    return Losses(frame.attributes, frame.scales).summary(np.asarray(sums))


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
    excused: DataFrame | None = field(default=None, repr=False)

    def loss(self) -> dict[str, Any]:
        """Tell what the release costs its users: as `shoal.Release.loss`."""
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
        blocks, edits = self.frame.blocks, self.frame.edits
        return {
            "records": self.frame.records,
            "suppressed": 0,
            "plan": self.plan.options(),
            "loss": self.loss(),
            "risk": self.risk(),
            **({} if blocks is None else {"blocking": Blocking.of(blocks.sizes).summary()}),
            **({} if edits is None else {"edits": [*explained(edits.kept)]}),
            "notes": self.notes,
        }


def _notes(df: DataFrame, frame: Frame) -> list[str]:
    plan = frame.plan
    found = [preserved(plan), "the records are in no order, as always with Spark"]
    changed = [name for name in plan.masked if frame.types[name] != stored_type(frame, name)]
    if changed:
        found.append(f"now floats, values not being whole (round = true keeps integers): {', '.join(changed)}")
    roles = {*plan.masked, *plan.confidential, *plan.identifiers}
    if others := [name for name in df.columns if name not in roles]:
        found.append(f"published as they are, having no role: {', '.join(others)}")
    return found if frame.edits is None else [*found, *frame.edits.notes]


def _refuse_twins(df: DataFrame) -> None:
    names = [name.lower() for name in df.columns]
    twins = sorted({name for name in df.columns if names.count(name.lower()) > 1})
    if twins:
        raise DataError(f"columns share a name, which Spark reads without capitals: {listed(twins)}; rename them")

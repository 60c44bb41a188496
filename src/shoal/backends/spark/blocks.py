"""Record blocks on Spark: records are put into a partition for each block, and `mapInArrow` masks it where it lies."""

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import ArrayType, BinaryType, DataType, DoubleType, LongType, StructField, StructType

from shoal.backends.spark.passes import in_utc, numbered_names
from shoal.backends.spark.session import reporting_errors, without_pandas_warning
from shoal.backends.spark.verify import column
from shoal.edits.passes import Broken
from shoal.kernels.standardize import Matrix
from shoal.pipeline.counting import Sizes, added_sizes
from shoal.pipeline.loss import Losses, Sums
from shoal.pipeline.masker import BlockMasker
from shoal.pipeline.records import Seen
from shoal.pipeline.rescale import Restoring, Spreads
from shoal.pipeline.units import Unit
from shoal.pipeline.verify import Pairs, Promise
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.text_values import one_chunk

if TYPE_CHECKING:
    from shoal.pipeline.hybrid_sums import HybridSums

SEEN = "seen"  # the column in which blocks show something of themselves, beside numbered ones
_BLOCK = "block"
_BATCH = 65_536  # records that a worker hands back at a time


@dataclass(frozen=True)
class BlockSeen:
    """What a block shows of itself: losses, what rules moved or broke, classes, spreads, hybrid data, dominance."""

    sums: Sums
    slack: NDArray[np.float64]
    own: int
    misread: int
    broken: Broken
    classes: Sizes
    spreads: Spreads | None
    hybrid: "HybridSums | None" = None
    dominated: int = 0

    def __add__(self, other: "BlockSeen") -> "BlockSeen":
        spreads = self.spreads if other.spreads is None or self.spreads is None else self.spreads + other.spreads
        return BlockSeen(
            self.sums + other.sums,
            np.maximum(self.slack, other.slack),
            self.own + other.own,
            self.misread + other.misread,
            self.broken + other.broken,
            dict(Counter(self.classes) + Counter(other.classes)),
            spreads,
            self.hybrid if other.hybrid is None or self.hybrid is None else self.hybrid + other.hybrid,
            self.dominated + other.dominated,
        )


@dataclass(frozen=True)
class Cut:
    """How blocks are cut where so many records lie in one place that these could not be told apart.

    A block of n records, at most m being asked for, is cut into p = n div m pieces (one, if it has less than 2 m). Its
    records are put in the order of their rows; the one in place r = 0, 1, ... belongs to piece r p div n. Equal
    records are interchangeable, so this does not depend on any order that the records have.
    """

    sizes: NDArray[np.int64]
    pieces: NDArray[np.int64]
    first: NDArray[np.int64]  # the number of the first piece of each block

    @classmethod
    def of(cls, masker: BlockMasker) -> "Cut":
        """Find the blocks that are to be cut."""
        pieces = masker.pieces
        return cls(masker.sizes, pieces, np.cumsum(pieces) - pieces)


def published_fields(df: DataFrame, masker: BlockMasker) -> list[StructField]:
    """List the columns of the release: as they were, but for changed ones, which get the promised type.

    Their metadata, which may list categories, is left out.
    """
    stored = {attribute.name: attribute.stored for attribute in masker.attributes}
    fields = []
    for each in df.schema.fields:
        if each.name in masker.types:
            kind = masker.types[each.name]
            same = kind == stored[each.name]
            fields.append(StructField(each.name, each.dataType if same else from_arrow_type(kind), nullable=True))
        elif each.name == masker.plan.pseudonym:
            fields.append(StructField(each.name, LongType()))
        elif each.name not in masker.plan.dropped:
            fields.append(StructField(each.name, each.dataType, each.nullable))
    return fields


def _pair_fields(promise: Promise, df: DataFrame) -> list[StructField]:
    """List the columns that stand beside the release for its verification."""
    fields = [StructField(f"x{j}", DoubleType()) for j in range(len(promise.attributes))]
    apart = [j for j, each in enumerate(promise.attributes) if not promise.is_key(each)]
    fields += [StructField(f"y{j}", DoubleType()) for j in apart]
    fields += [StructField(f"q{i}", LongType()) for i in range(len(promise.sensitive))]
    fields += [StructField(f"i{i}", df.schema[each.name].dataType) for i, each in enumerate(promise.units)]
    fields += [StructField("h", df.schema[name].dataType) for name in promise.plan.roles["household"]]
    edits = promise.edits
    excusable = [] if edits is None else sorted(edits.fixed | edits.excused)
    return fields + [
        StructField(f"{what}{number}", from_arrow_type(pa.bool_())) for number in excusable for what in "eb"
    ]


def with_groups(df: DataFrame, masker: BlockMasker, units: Sequence[Unit]) -> DataFrame:
    """Add what tells the group of each record, which is formed in its block."""
    kept = _kept(df, masker, units)
    alone, plain = replace(masker, blocks=None), numbered_names(kept)
    beside = masker.outline(np.empty((0, masker.width))).shape[1] + 2
    names = replace(masker, beside=beside).seam_names

    def group(block: pa.Table, number: int) -> pa.Table:
        groups = alone.to_seams(alone.encode(block), number)
        columns = [in_utc(one_chunk(each)) for each in block.columns]
        return pa.table([*columns, *(pa.array(each) for each in groups.T)], names=[*plain, *names])

    stored = df.select([column(name) for name in kept]).schema
    fields = [StructField(name, each.dataType, each.nullable) for name, each in zip(plain, stored, strict=True)]
    own = [StructField(name, DoubleType()) for name in names]
    return _map_blocks(df, kept, masker, group, StructType([*fields, *own])).toDF(*kept, *names)


def _kept(df: DataFrame, masker: BlockMasker, units: Sequence[Unit]) -> list[str]:
    """Name the columns that masking and verifying need."""
    needed = {*masker.names, *(each.name for each in units)}
    return [name for name in df.columns if name not in masker.plan.dropped or name in needed]


def masked_blocks(
    df: DataFrame, masker: BlockMasker, restoring: Restoring | None, units: Sequence[Unit] = ()
) -> DataFrame:
    """Mask every block; columns of our own hold the pairs to verify, and what the block shows of itself."""
    kept = _kept(df, masker, units)
    fields = published_fields(df.drop(*masker.seam_names), masker)
    types = {} if restoring else masker.types  # a variance is restored from what was aggregated
    promise = Promise(
        masker.plan, masker.changed, sensitive=masker.sensitive, edits=masker.edits, types=types, units=units
    )
    pair_fields = _pair_fields(promise, df)
    alone, losses = replace(masker, blocks=None), Losses(masker.changed, masker.scales)
    pair_names = [each.name for each in pair_fields]

    def mask(block: pa.Table, number: int) -> pa.Table:
        rows = alone.encode(block)
        found = alone.mask(rows)
        columns = {**alone.decode(found.published, {}), **alone.pseudonyms(Table(block))}
        at = [alone.plan.used.index(each.name) for each in alone.changed]
        original = Table(block)
        released = Table(_replaced(block, columns, [each.name for each in fields]))
        pairs = Pairs(promise)
        beside = pairs.of(original, released, None)
        read = alone.as_read(columns)
        seen = BlockSeen(
            losses.measure(rows[:, at], read, alone.weights(rows)),
            found.slack,
            found.own,
            found.misread,
            pairs.broken,
            added_sizes(found.classes),
            None if restoring is None else restoring.look(rows, found.published),
            found.hybrid,
            found.dominated,
        )
        shown = pa.array([pickle.dumps(seen), *[None] * (len(rows) - 1)], pa.binary())
        table = released.native
        arrays = [in_utc(one_chunk(table.column(each.name))) for each in fields]
        # Codes as they were aggregated, to restore variances from: a date that is read is a whole day.
        raw = {f"y{j}": pa.array(values) for j, values in enumerate(found.published.T)} if restoring else {}
        arrays += [raw.get(name, beside.column(name)) for name in pair_names]
        names = [*numbered_names([each.name for each in fields]), *pair_names, SEEN]
        return pa.table([*arrays, shown], names=names)

    numbered = [
        StructField(plain, each.dataType, each.nullable)
        for plain, each in zip(numbered_names([each.name for each in fields]), fields, strict=True)
    ]
    own = [*pair_fields, StructField(SEEN, BinaryType())]
    return _map_blocks(df, kept, masker, mask, StructType([*numbered, *own]))


def _map_blocks(
    df: DataFrame,
    names: list[str],
    masker: BlockMasker,
    work: Callable[[pa.Table, int], pa.Table],
    schema: StructType,
) -> DataFrame:
    """Apply a function to the records of every block, or piece of one, in a partition for each."""
    cut = Cut.of(masker)
    divided = _divided(df.select([column(name) for name in names]), masker, cut)
    blocks = divided.repartitionById(int(cut.pieces.sum()), F.col(_BLOCK).cast("int"))

    def of_block(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if pieces := list(batches):
            block = pa.Table.from_batches(pieces).select(range(len(names))).rename_columns(names)
            yield from work(block, pieces[0].column(_BLOCK)[0].as_py()).to_batches(_BATCH)

    with without_pandas_warning():
        return blocks.mapInArrow(reporting_errors(of_block), schema)


def fold_blocks(df: DataFrame, masker: BlockMasker, look: Callable[[Matrix], Seen]) -> Seen:
    """Look at the rows of every block, and add up what is seen."""
    alone = replace(masker, blocks=None)

    def seen(block: pa.Table, number: int) -> pa.Table:
        return pa.table({SEEN: pa.array([pickle.dumps(look(alone.encode(block)))], pa.binary())})

    schema = StructType([StructField(SEEN, BinaryType())])
    shown = _map_blocks(df, masker.names, masker, seen, schema)
    found: Seen = reduce(add, (pickle.loads(bytes(row[0])) for row in shown.collect()))  # noqa: S301 - our own
    return found


def _replaced(block: pa.Table, columns: dict[str, Array], names: list[str]) -> pa.Table:
    """Replace original values by published ones."""
    arrays = [columns[name] if name in columns else one_chunk(block.column(name)) for name in names]
    return pa.Table.from_arrays(arrays, names=names)


def _divided(df: DataFrame, masker: BlockMasker, cut: Cut) -> DataFrame:
    """Add the number of its block, or piece of a block, to each record; other columns are numbered."""
    names, plain = df.columns, numbered_names(df.columns)
    crowded = bool((cut.pieces > 1).any())
    extra: dict[str, DataType] = {_BLOCK: LongType()}
    if crowded:
        extra |= {"size": LongType(), "pieces": LongType(), "codes": ArrayType(DoubleType())}

    def divide(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            piece = pa.Table.from_batches([batch]).rename_columns(names)
            rows = masker.encode(piece)
            there = rows[:, -1] >= 0
            if not there.all():
                rows, batch = rows[there], batch.filter(pa.array(there))
            if not len(rows):
                continue
            block = masker.block_of(rows)
            columns = [*batch.columns, pa.array(cut.first[block])]
            if crowded:
                columns += [pa.array(cut.sizes[block]), pa.array(cut.pieces[block]), _in_order(rows)]
            yield pa.RecordBatch.from_arrays([in_utc(each) for each in columns], names=[*plain, *extra])

    df = df.toDF(*plain)
    schema = StructType([*df.schema.fields, *(StructField(name, kind) for name, kind in extra.items())])
    with without_pandas_warning():
        divided = df.mapInArrow(reporting_errors(divide), schema)
    if not crowded:
        return divided
    # Spark sorts on disk: a place with a billion records takes time, but no memory.
    place = F.row_number().over(Window.partitionBy(_BLOCK).orderBy("codes"))
    several = divided.filter("pieces > 1").withColumn("place", place.cast("long") - 1)
    several = several.withColumn(_BLOCK, F.expr(f"{_BLOCK} + place * pieces div size")).drop("place")
    return divided.filter("pieces = 1").unionAll(several).drop("size", "pieces", "codes")


def _in_order(rows: Matrix) -> Array:
    """Return the row of each record as a list, by which Spark sorts as numpy does: NaN last."""
    ends = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
    lists: Any = pa.ListArray
    return cast("Array", lists.from_arrays(pa.array(ends), pa.array(rows.ravel())))

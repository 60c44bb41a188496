"""Spark: the same masker and the same blocks on a cluster.

Every pass over the records is a `mapInArrow` that adds up what it sees within a partition. The first brings records
that fit to the driver, in place of further passes. `shoal.backends.spark.blocks` masks every block where it lies, and
Spark SQL verifies what came of it.
"""

import pickle
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import (
    StructField,
    StructType,
)

from shoal.aggregation import Rescaling
from shoal.backends.capabilities import Engine
from shoal.backends.file.records import one_record
from shoal.backends.spark.blocks import SEEN, fold_blocks, masked_blocks, published_fields, with_groups
from shoal.backends.spark.passes import added_up, arrow_schema, in_utc, numbered_names, scanned
from shoal.backends.spark.recoding import recoded, without_codes
from shoal.backends.spark.session import in_plain_words, reporting_errors, session, without_pandas_warning
from shoal.backends.spark.verify import SparkPairs, column, exposure, traces
from shoal.blocking.blocks import PartBlocks
from shoal.blocking.record_blocks import Blocking
from shoal.edits.passes import Broken
from shoal.errors import CheckFailed, DataError, PlanError
from shoal.kernels.standardize import Matrix
from shoal.messages import Message
from shoal.parallel import Progress
from shoal.pipeline.certify import Certificate, Gathered, certified_together
from shoal.pipeline.counting import exposure_of
from shoal.pipeline.loss import Losses, Sums
from shoal.pipeline.masker import BlockMasker
from shoal.pipeline.notes import notes as notes_on
from shoal.pipeline.prepare import Prepared, block_size, promise_of, with_seams
from shoal.pipeline.records import Encoder, Look, Seen
from shoal.pipeline.rescale import Restoring
from shoal.pipeline.units import possible_units
from shoal.pipeline.verify import Promise, Verified, verify
from shoal.plan import Plan, Scale
from shoal.plan.resolved import ResolvedPlan
from shoal.tables import Table
from shoal.tables.text_values import one_chunk

if TYPE_CHECKING:
    from shoal.pipeline.hybrid_sums import HybridSums

Labels = NDArray[np.int64]

BLOCK_SIZE = 250_000  # whatever the cluster: the same plan gives the same release on any


@contextmanager
def open_spark(table: Any, plan: Plan, progress: Progress, notes: list[Message]) -> Iterator["SparkBackend"]:
    """Open a DataFrame, or what the plan names as its input, in the session that is active or a new one.

    Parameters
    ----------
    table
        A DataFrame; None if the plan names a catalog table or a path.
    plan
        What is asked for.
    progress
        Called with the name of each step.
    notes
        Why this backend was chosen.
    """
    with ExitStack() as stack, in_plain_words():
        if table is None:
            from shoal.backends.spark.files import read, refuse_output

            master = None if plan.scale is None else plan.scale.master
            spark = stack.enter_context(session(master))
            refuse_output(spark, plan)
            progress("read", 0, 1)
            table = read(spark, plan)
        _refuse_twins(table)
        table = recoded(without_codes(table, plan.missing_codes), plan)
        schema = arrow_schema(table)
        backend = SparkBackend(table, Table(one_record(schema)), schema, progress, [*notes])
        yield backend
        if backend.published is not None:
            backend.published.keep(stack.pop_all())


@dataclass
class SparkBackend:
    """The records of a DataFrame.

    Attributes
    ----------
    table
        The DataFrame.
    outline
        A stand-in with its columns and types.
    schema
        Of the DataFrame in Arrow.
    progress
        Called with the step.
    notes
        Why this backend was chosen.
    published
        What came of it.
    """

    table: DataFrame
    outline: Table
    schema: pa.Schema
    progress: Progress
    notes: list[Message]
    published: "SparkPublished | None" = None
    _near: pa.Table | None = field(default=None, repr=False)  # columns that the driver has
    _rows: tuple[Any, Matrix] | None = field(default=None, repr=False)  # encoded from them, and how

    def _select(self, names: Sequence[str]) -> DataFrame:
        return self.table.select([column(name) for name in names])

    def fold(self, look: Look[Seen], names: Sequence[str], step: str) -> Seen:
        """Look at some columns of all records and add up what is seen."""
        self.progress(step, 0, 1)
        if (near := self._columns(names)) is not None:
            return look(near, None)
        seen, self._near = scanned(self._select(names), lambda piece: look(piece, None))
        return seen

    def _columns(self, names: Sequence[str]) -> pa.Table | None:
        """Return columns of all records, if the driver has them."""
        near = self._near
        return None if near is None or not {*names} <= {*near.column_names} else near.select(list(names))

    def fold_rows(self, encoder: Encoder, look: Callable[[Matrix], Seen], step: str) -> Seen:
        """Look at the encoded rows of all records that are published and add up what is seen."""
        self.progress(step, 0, 1)
        near = self._columns(encoder.names)
        if near is None:
            seen, self._near = scanned(self._select(encoder.names), lambda piece: look(_kept(encoder, piece)))
            return seen
        key = (getattr(encoder, "parts", None), getattr(encoder, "sensitive", None))
        if self._rows is None or any(one is not two for one, two in zip(self._rows[0], key, strict=True)):
            self._rows = (key, _kept(encoder, near))
        return look(self._rows[1])

    def block_size(self, masker: BlockMasker) -> int:
        """Return the most records in a block; with `memory`, that of one task, which has one block at a time."""
        scale = masker.plan.scale
        memory = None if scale is None else scale.memory_bytes
        size = block_size(masker, memory, workers=1)
        given = scale is not None and (scale.most is not None or memory is not None)
        return size if given else min(size, max(BLOCK_SIZE, 2 * (masker.plan.k or 0)))

    def map_blocks(self, masker: BlockMasker, prepared: Prepared) -> "SparkPublished":
        """Mask every block where it lies."""
        self.progress("partition", 0, 1)
        near = self._columns(masker.names)
        gathered = None if near is None else Gathered.of(_kept(masker, near))
        self._near = self._rows = None
        most = self.block_size(masker)
        scale = {} if masker.plan.scale is None else masker.plan.scale.model_dump(exclude_none=True)
        plan = masker.plan.decided(scale=Scale(**{**scale, "block_size": most}))
        masker = replace(masker, plan=plan)
        masker = masker.with_noise(lambda look: fold_blocks(self.table, masker, look))
        restoring = prepared.restoring(masker) if plan.restore_variance else None
        table, at = self._at_seams(masker) if masker.mends_seams else (self.table, masker)
        masked = masked_blocks(table, at, restoring, possible_units(plan, self.outline)).persist(
            StorageLevel.MEMORY_AND_DISK
        )
        try:
            self.published = _published(self, masker, prepared, masked, restoring)
            gather = None if gathered is None else lambda: gathered
            losses, sums = self.published.losses, self.published.sums
            self.published.certificate = certified_together(self.published.masker, gather, losses, sums)
        except BaseException:
            masked.unpersist()
            raise
        finally:
            if table is not self.table:
                table.unpersist()
        return self.published

    def _at_seams(self, masker: BlockMasker) -> tuple[DataFrame, BlockMasker]:
        """Partition the records of each block, and divide the groups into blocks with other borders."""
        table = with_groups(self.table, masker, possible_units(masker.plan, self.outline)).persist(
            StorageLevel.MEMORY_AND_DISK
        )
        return table, with_seams(masker, replace(self, table=table).fold_rows)


def _kept(encoder: Encoder, piece: pa.Table) -> Matrix:
    rows = encoder.encode(piece)
    return rows[rows[:, -1] >= 0]


def _published(
    backend: SparkBackend,
    masker: BlockMasker,
    prepared: Prepared,
    masked: DataFrame,
    restoring: Restoring | None,
) -> "SparkPublished":
    """Add up what the blocks show, and restore variances where the plan asks for it."""
    shown = masked.select(SEEN).filter(F.col(SEEN).isNotNull()).collect()
    # always in the same order: sums of floats depend on it
    seen = reduce(add, (pickle.loads(each) for each in sorted(bytes(row[0]) for row in shown)))  # noqa: S301 - our own
    made = masker.hybrid_notes(seen.hybrid)
    masker = masker.without_secret()
    fields = published_fields(backend.table, masker)
    names = [each.name for each in fields]
    losses, sums = Losses(masker.changed, masker.scales), seen.sums
    if restoring is not None and seen.spreads is not None:
        masked, sums = _rescaled(masked, masker, restoring.rescalings(seen.spreads), fields)
    released = masked.select(numbered_names(names)).toDF(*names)
    slack = dict(zip((each.name for each in masker.changed), seen.slack.tolist(), strict=True))
    promise = promise_of(masker, prepared, backend.outline, {}, slack)
    kept = None if masker.edits is None else masker.edits.kept
    found = notes_on(masker.plan, backend.outline, masker.types, losses.missing(sums), kept)
    return SparkPublished(
        masker.plan,
        masker,
        backend,
        masked,
        released,
        losses,
        sums,
        promise if restoring is None else replace(promise, types={}),
        seen.broken,
        [*made, *found, Message("records-unordered")],
        own=seen.own,
        misread=seen.misread,
        dominated=seen.dominated,
        sums_of_hybrid=seen.hybrid,
        blocking=Blocking.of(masker.blocks),
        everyone=prepared.suppressed == 0,
        _before=exposure_of(seen.classes) if masker.plan.masked and _are_whole(masker, prepared) else None,
    )


def _are_whole(masker: BlockMasker, prepared: Prepared) -> bool:
    """Whether records with the same quasi-identifiers lie in one block each, so that blocks can count them."""
    if masker.blocks is None:
        return not prepared.suppressed
    elsewhere = masker.hybrid is not None or masker.mends_seams
    apart = isinstance(masker.blocks, PartBlocks) or elsewhere or (masker.pieces > 1).any()
    return not prepared.suppressed and not apart


def _rescaled(
    masked: DataFrame, masker: BlockMasker, rescaled: dict[str, Rescaling], fields: list[StructField]
) -> tuple[DataFrame, Sums]:
    """Restore variances in what blocks publish, and measure what was lost after that; the pairs stay beside it."""
    names = [each.name for each in fields]
    plain = numbered_names(names)
    d, losses = len(masker.changed), Losses(masker.changed, masker.scales)
    weights = masker.plan.weights
    own = [name for name in masked.columns if name not in (*plain, SEEN)]

    def restore(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            codes = _codes(batch, "y", d)
            columns = masker.decode(codes, rescaled)
            arrays = [columns[name] if name in columns else batch.column(plain[j]) for j, name in enumerate(names)]
            arrays += [batch.column(name) for name in own]
            yield pa.RecordBatch.from_arrays([in_utc(each) for each in arrays], names=[*plain, *own])

    def measure(piece: pa.Table) -> Sums:
        batch = piece.combine_chunks().to_batches()[0]
        read = masker.as_read(masker.decode(_codes(batch, "y", d), rescaled))
        heavy = None if weights is None else batch.column("w").cast(pa.float64()).to_numpy(zero_copy_only=False)
        return losses.measure(_codes(batch, "x", d), read, heavy)

    numbered = [StructField(p, each.dataType, each.nullable) for p, each in zip(plain, fields, strict=True)]
    ys = [f"{what}{j}" for j in range(d) for what in ("x", "y")]
    others = [each for each in masked.schema.fields if each.name in own]
    with without_pandas_warning():
        restored = masked.select([*plain, *own]).mapInArrow(reporting_errors(restore), StructType([*numbered, *others]))
    restored = restored.persist(StorageLevel.MEMORY_AND_DISK)
    pairs = masked.select([*ys, *([] if weights is None else [F.col(plain[names.index(weights)]).alias("w")])])
    return restored, added_up(pairs, measure)


def _codes(batch: pa.RecordBatch | pa.Table, what: str, count: int) -> Matrix:
    columns = [batch.column(f"{what}{j}").to_numpy(zero_copy_only=False) for j in range(count)]
    return np.column_stack(columns).astype(np.float64)


@dataclass
class SparkPublished:
    """A protected DataFrame, kept (memory and disk) as it was verified.

    Attributes
    ----------
    plan, masker
        What was done, and how.
    backend
        Where the records come from.
    masked
        The release with the pairs to verify; ``masked.unpersist()`` lets go.
    table
        The release.
    losses, sums
        What it costs.
    promise
        What it claims.
    broken
        Rules that were found broken.
    sums_of_hybrid
        What is known of hybrid data; None where there are none.
    everyone
        Whether all records are published.
    kept
        The session, if it was started for this.
    """

    engine: ClassVar[Engine] = "spark"
    plan: ResolvedPlan
    masker: BlockMasker
    backend: SparkBackend
    masked: DataFrame
    table: DataFrame
    losses: Losses
    sums: Sums
    promise: Promise
    broken: Broken
    notes: list[Message]
    own: int
    misread: int
    blocking: Blocking | None
    certificate: Certificate | None = None
    privacy: dict[str, Any] | None = None
    sums_of_hybrid: "HybridSums | None" = None
    everyone: bool = True
    dominated: int = 0
    totals: None = None  # it keeps none: see `shoal.backends.capabilities`
    kept: ExitStack | None = None
    _before: dict[str, float] | None = None

    @property
    def names(self) -> list[str]:
        """The columns of the original."""
        return list(self.backend.table.columns)

    @property
    def records(self) -> int:
        """How many records are published."""
        return self.masker.records

    @property
    def partitions(self) -> list[Labels]:
        """Groups of single records are not kept."""
        raise PlanError("groups-not-kept", field="engine", engine="spark")

    @property
    def groups(self) -> Labels:
        """Groups of single records are not kept."""
        return self.partitions[0]

    @property
    def alike(self) -> Labels:
        """Records have no order."""
        return self.partitions[0]

    def before(self) -> dict[str, float]:
        """Describe how well the original records hide; counted when asked."""
        if self._before is None:
            with in_plain_words():
                self._before = exposure(self.backend.table, self.plan.masked)
        return self._before

    @property
    def _others(self) -> list[str]:
        """The columns that are published as they are."""
        return [name for name in self.table.columns if name not in {*self.masker.types, self.plan.pseudonym}]

    @cached_property
    def _traces(self) -> list[int]:
        return traces(self.table, self.table.columns, self._others)

    @property
    def trace(self) -> list[int]:
        """How many records are published, and a sum over them."""
        return self._traces[:2]

    def verify(self) -> Verified:
        """Verify the release by Spark SQL."""
        self.backend.progress("verify", 0, 1)
        with in_plain_words():
            if failures := self._shape():
                raise CheckFailed(failures)
            return verify(SparkPairs(self), self.promise, lambda: self.broken, self._changed)

    def _shape(self) -> list[Message]:
        fields = published_fields(self.backend.table, self.masker)
        if [(each.name, each.dataType) for each in self.table.schema.fields] != [
            (each.name, each.dataType) for each in fields
        ]:
            return [Message("columns-changed", types=True)]
        return []

    def _changed(self) -> list[Message]:
        """Compare what was to stay as it is, by a sum of hashes over all records."""
        records, _, others = self._traces
        if records != self.records:
            return [Message("number-of-records-differs", records=records, expected=self.records)]
        if self.everyone and self._others and [records, others] != traces(self.backend.table, self._others):
            return [Message("column-changed", column=None)]
        return []

    def hybrid(self) -> dict[str, Any] | None:
        """Describe hybrid data by what blocks show; what needs all records at once is left out."""
        return self.masker.hybrid_summary(self.sums_of_hybrid)

    def save(self, path: str, overwrite: bool, verified: Verified) -> list[Message]:
        """Write the release: a folder of files, as always with Spark, with its plan and its manifest."""
        from shoal.backends.spark.files import save

        if self.plan.masked:
            self.before()  # while there is a session
        with in_plain_words():
            return save(self, path, overwrite, verified)

    def keep(self, stack: ExitStack) -> None:
        """Keep the session until the release is closed or forgotten."""
        self.kept = stack
        weakref.finalize(self, stack.close)

    def close(self) -> None:
        """End the session, if it was started for this release."""
        if self.kept is not None:
            self.kept.close()
            self.kept = None

    def fold(self, look: Callable[[Matrix, Matrix], Seen]) -> Seen:
        """Look at all records, encoded, before and after masking."""
        masker, width = self.masker, self.masker.width
        at = {self.plan.used.index(each.name): each.name for each in masker.changed}
        plain = {name: f"c{self.table.columns.index(name)}" for name in at.values()}

        def both(piece: pa.Table) -> Seen:
            rows = np.zeros((len(piece), width))
            rows[:, list(at)] = _codes(piece, "x", len(at))
            return look(rows, masker.as_read({name: one_chunk(piece.column(plain[name])) for name in plain}))

        return added_up(self.masked.select([*(f"x{j}" for j in range(len(at))), *plain.values()]), both)


def _refuse_twins(df: DataFrame) -> None:
    names = [name.lower() for name in df.columns]
    twins = sorted({name for name in df.columns if names.count(name.lower()) > 1})
    if twins:
        raise DataError("names-differ-in-case", columns=twins)

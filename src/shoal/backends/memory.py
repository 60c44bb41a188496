"""Records in memory: the backend with one piece."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.aggregation import Rescaling
from shoal.backends.capabilities import Engine
from shoal.backends.database import DuckPairs
from shoal.blocking.record_blocks import Blocking
from shoal.errors import CheckFailed
from shoal.kernels.standardize import Matrix
from shoal.messages import Message
from shoal.parallel import Progress, Task, quiet, side_by_side
from shoal.pipeline.block_cost import block_cost
from shoal.pipeline.certify import Certificate, certified, is_bounded
from shoal.pipeline.classes import classes, exposure
from shoal.pipeline.counting import known_values
from shoal.pipeline.loss import Losses, Sums
from shoal.pipeline.masker import BlockMasker
from shoal.pipeline.notes import notes, unchanged
from shoal.pipeline.prepare import Prepared, block_size, promise_of, with_seams
from shoal.pipeline.records import Encoder, Look, Seen
from shoal.pipeline.save import save, wrong_types
from shoal.pipeline.totals import KeptTotals, adjustment
from shoal.pipeline.verify import Pairs, Promise, Verified, verify
from shoal.pipeline.whole_file import unchanged_columns
from shoal.plan.resolved import ResolvedPlan
from shoal.tables import Table
from shoal.tables.arrow import Array

if TYPE_CHECKING:
    from shoal.pipeline.hybrid_sums import HybridSums
    from shoal.pipeline.verify_hybrid import Claim

Labels = NDArray[np.int64]


@dataclass
class MemoryRecords:
    """The records of a table in memory.

    Attributes
    ----------
    outline
        The table.
    progress
        Called with the step.
    keep_best
        Whether an interrupt ends a search and keeps the best groups so far.
    memory
        Bytes that blocks may take.
    notes
        Why this backend was chosen.
    """

    outline: Table
    progress: Progress = quiet
    keep_best: bool = False
    memory: int | None = None
    notes: list[Message] = field(default_factory=list)
    _columns: dict[str, Array] = field(default_factory=dict, repr=False)
    _encoded: tuple[Any, Matrix] | None = field(default=None, repr=False)

    def piece(self, names: Sequence[str]) -> pa.Table:
        """Return some columns as a PyArrow table, with the notes of statistics packages on them."""
        native = self.outline.native
        for name in names:
            if name not in self._columns:
                self._columns[name] = self.outline.column(name)
        arrays = [self._columns[name] for name in names]
        fields = [pa.field(name, array.type) for name, array in zip(names, arrays, strict=True)]
        if isinstance(native, pa.Table):
            fields = [native.schema.field(each.name).with_type(each.type) for each in fields]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def fold(self, look: Look[Seen], names: Sequence[str], step: str) -> Seen:
        """Look at some columns of all records."""
        self.progress(step, 0, 1)
        return look(self.piece(names), 0)

    def rows(self, encoder: Encoder) -> Matrix:
        """Encode all records, those that are left out as well."""
        key = (getattr(encoder, "parts", None), getattr(encoder, "sensitive", None))
        if self._encoded is None or any(one is not two for one, two in zip(self._encoded[0], key, strict=True)):
            self._encoded = (key, encoder.encode(self.piece(encoder.names)))
        return self._encoded[1]

    def fold_rows(self, encoder: Encoder, look: Callable[[Matrix], Seen], step: str) -> Seen:
        """Look at the encoded rows of all records that are published."""
        rows = self.rows(encoder)
        keep = rows[:, -1] >= 0
        return look(rows if keep.all() else rows[keep])

    def block_size(self, masker: BlockMasker) -> int:
        """Return the most records in a block."""
        return block_size(masker, self.memory)

    def map_blocks(self, masker: BlockMasker, prepared: Prepared) -> "MemoryPublished":
        """Mask every block."""
        return publish_in_memory(self, masker, prepared)


@dataclass(frozen=True)
class Masked:
    """What masking all blocks gave.

    Attributes
    ----------
    keep
        Which records are published.
    rows, published
        The published records as rows of numbers, and what is published of the changed attributes.
    partitions
        The group of each published record, for every attribute block.
    slack, own, misread, hybrid, dominated
        As in `shoal.pipeline.masker.MaskedBlock`.
    blocking
        The record blocks, and what they cost; None if there is one.
    """

    keep: NDArray[np.bool_]
    rows: Matrix
    published: Matrix
    partitions: list[Labels]
    slack: NDArray[np.float64]
    own: int
    misread: int
    blocking: Blocking | None
    hybrid: "HybridSums | None" = None
    dominated: int = 0


def mask_in_memory(records: MemoryRecords, masker: BlockMasker, *, keep_best: bool = False) -> Masked:
    """Mask all blocks, on all cores; with `keep_best`, an interrupt ends the search and keeps the best so far."""
    masker = masker if masker.clock is not None else masker.timed()
    everything = records.rows(masker)
    keep = everything[:, -1] >= 0
    rows = everything if keep.all() else np.ascontiguousarray(everything[keep])
    published = np.empty((len(rows), len(masker.changed)))
    labels = np.empty((len(rows), len(masker.plan.partitioned)), dtype=np.int64)
    slack, own, misread, formed = np.zeros(published.shape[1]), 0, 0, 0
    places = _by_block(masker.block_of(rows))
    masker = masker.with_noise(lambda look: reduce(add, (look(rows[place]) for place in places)))
    at, blocked, borders = masker, rows, places
    if masker.mends_seams:
        at, blocked = _at_seams(masker, rows, places, records)
        places = _by_block(at.block_of(blocked))
    if len(places) == 1:
        run = partial(_side_by_side, progress=records.progress, keep=keep_best)
        found = [at.mask(blocked, run)]
    else:
        tasks: list[Task[Any]] = [partial(_in_one, at.mask, blocked, place) for place in places]
        found = side_by_side(tasks, len(rows), records.progress)
    for place, each in zip(places, found, strict=True):
        published[place], labels[place] = each.published, each.labels + formed
        formed = int(labels[place].max()) + 1
        slack, own, misread = np.maximum(slack, each.slack), own + each.own, misread + each.misread
    if masker.plan.method == "ms":
        labels[:] = 0  # it forms no groups
    if masker.households is not None:  # whose groups lie in several blocks
        labels[:, 0] = masker.households.groups(rows[:, masker.household_at])
    partitions = [np.asarray(np.unique(column, return_inverse=True)[1], dtype=np.int64) for column in labels.T]
    cost = block_cost(lambda number: rows[borders[number]], masker, records.progress)
    shown = [each.hybrid for each in found if each.hybrid is not None]
    hybrid = reduce(add, shown) if shown else None
    blocking, dominated = Blocking.of(masker.blocks, cost), sum(each.dominated for each in found)
    return Masked(keep, rows, published, partitions, slack, own, misread, blocking, hybrid, dominated)


def _at_seams(
    masker: BlockMasker, rows: Matrix, places: list[Labels], records: MemoryRecords
) -> tuple[BlockMasker, Matrix]:
    """Partition the records of each block, and divide the groups into blocks with other borders."""
    first = np.cumsum(masker.pieces) - masker.pieces
    tasks: list[Task[Any]] = [
        partial(_in_one, partial(masker.to_seams, number=int(first[block])), rows, place)
        for block, place in enumerate(places)
    ]
    found = side_by_side(tasks, len(rows), records.progress)
    beside = np.concatenate(found)
    beside[np.concatenate(places)] = beside.copy()
    whole = masker.with_groups(rows, beside)
    return with_seams(masker, lambda _, look, step: look(whole)), whole


def _in_one(work: Callable[[Matrix], Any], rows: Matrix, place: Labels, *, watch: NDArray[np.int64]) -> Any:
    if watch[1]:
        return None
    found = work(rows[place])
    watch[0] = len(place)
    return found


def _side_by_side(tasks: Sequence[Task[Labels]], records: int, *, progress: Progress, keep: bool) -> list[Labels]:
    return side_by_side(tasks, records, progress, keep=keep)


def _by_block(blocks: Labels) -> list[Labels]:
    order = np.argsort(blocks, kind="stable")
    return [place for place in np.split(order, np.cumsum(np.bincount(blocks))[:-1]) if len(place)]


@dataclass(frozen=True)
class MemoryPublished:
    """A protected table in memory.

    Attributes
    ----------
    plan, masker
        What was done, and how.
    source, original, released
        The table, the records of it that are published in the order of their rows, and what is published of them.
    rows, codes
        The same two as numbers; what is published as a reader finds it.
    partitions
        The group of each published record, for every attribute block.
    losses, sums
        What it costs.
    promise
        What it claims.
    notes, own, misread, dominated, totals, blocking, privacy
        See `shoal.backends.Published`.
    closer
        The certificate that was asked for; without one, a quick one is made when it is looked at.
    sums_of_hybrid
        What is known of hybrid data; None where there are none.
    determined
        The masked attributes that follow from unchanged columns, where another release of these records told them.
    """

    engine: ClassVar[Engine] = "memory"
    plan: ResolvedPlan
    masker: BlockMasker
    source: Table
    original: Table
    released: Table
    rows: Matrix = field(repr=False)
    codes: Matrix = field(repr=False)
    partitions: list[Labels] = field(repr=False)
    losses: Losses = field(repr=False)
    sums: Sums = field(repr=False)
    promise: Promise = field(repr=False)
    notes: list[Message] = field(repr=False)
    own: int = 0
    misread: int = 0
    dominated: int = 0
    totals: KeptTotals | None = None
    blocking: Blocking | None = None
    closer: Certificate | None = None
    privacy: dict[str, Any] | None = None
    sums_of_hybrid: "HybridSums | None" = None
    determined: Sequence[dict[str, Any]] | None = None
    progress: Progress = quiet

    @property
    def table(self) -> Any:
        """The release as a dataframe of the kind that came in."""
        return self.released.native

    @property
    def names(self) -> list[str]:
        """The columns of the original."""
        return self.source.names

    @property
    def alike(self) -> Labels:
        """Records that are published alike share a number."""
        return classes(self.released, self.plan.masked) - 1

    @property
    def records(self) -> int:
        """How many records are published."""
        return len(self.released)

    @property
    def groups(self) -> Labels:
        """One label a published record; with several attribute blocks, records alike in all of them share one."""
        if len(self.partitions) == 1:
            return self.partitions[0]
        if not self.partitions:  # no groups were formed: those that happen to be alike
            return self.alike
        together = np.unique(np.stack(self.partitions, axis=1), axis=0, return_inverse=True)[1]
        return np.asarray(together, dtype=np.int64).ravel()

    @cached_property
    def certificate(self) -> Certificate | None:
        """How far above the lowest possible loss the release is at most; None where groups are not what loses."""
        if self.closer is not None or not is_bounded(self.masker):
            return self.closer
        return certified(self.masker, self.rows, self.losses, self.sums)

    def before(self) -> dict[str, float]:
        """Describe how well the original records hide: by their values, however a file spells them."""
        values = {name: known_values(self.source, name) for name in self.plan.masked}
        return exposure(Table(pa.table(values)), self.plan.masked)

    def verify(self) -> Verified:
        """Verify what is about to be published against the records it comes from."""
        self.progress("verify", 0, 1)
        found = verify_in_memory(self.original, self.released, self.promise, self.determined)
        if self.sums_of_hybrid is not None:
            from shoal.pipeline.verify_hybrid import verify_hybrid

            verify_hybrid(self.released, self.original, self.claim)
        if self.privacy is not None:
            from shoal.pipeline.private import verify_private

            verify_private(self.released, self.plan)
        return found

    @property
    def claim(self) -> "Claim":
        """What hybrid data claim beyond the promise."""
        from shoal.pipeline.hybrid import claim_of
        from shoal.pipeline.hybrid_parts import parts_of

        return claim_of(parts_of(self.masker.attributes, self.plan), self.partitions[0], self.plan)

    def hybrid(self) -> dict[str, Any] | None:
        """Measure what hybrid data preserve; None where there are none."""
        found = self.masker.hybrid_summary(self.sums_of_hybrid)
        if found is None:
            return None
        from shoal.pipeline.hybrid import evidence

        return {**found, **evidence(self.masker.of(self.rows), self.released, self.partitions[0], self.plan)}

    def save(self, path: str, overwrite: bool, verified: Verified) -> list[Message]:
        """Write the release, its plan and its manifest."""
        return save(self.released, self.promise, verified, Path(path), overwrite)

    def close(self) -> None:
        """Nothing is kept."""

    def fold(self, look: Callable[[Matrix, Matrix], Seen]) -> Seen:
        """Look at all records, encoded, before and after masking."""
        return look(self.rows, self.codes)


def publish_in_memory(records: MemoryRecords, masker: BlockMasker, prepared: Prepared) -> MemoryPublished:
    """Mask all records, and put what is published in the place of what was there."""
    plan = masker.plan
    if plan.epsilon is not None:
        return _private(records, masker)
    if plan.method == "mic1d":
        return _mic1d(records, masker, prepared)
    masker = masker.timed()
    masked = mask_in_memory(records, masker, keep_best=records.keep_best)
    masked, totals = _with_totals(masker, masked, prepared)
    rescaled = _rescaled(masker, masked, prepared)
    original = _only(records.outline, masked.keep)
    columns = masker.decode(masked.published, rescaled)
    pseudonyms = masker.pseudonyms(original)
    slack = dict(zip(plan.changed, masked.slack.tolist(), strict=True))
    promise = promise_of(masker, prepared, records.outline, rescaled, slack)
    made = masker.hybrid_notes(masked.hybrid)
    masker = masker.without_secret()
    published = _published(
        records, masker, original, masked.rows, columns, masked.partitions, promise, pseudonyms=pseudonyms
    )
    closer: Certificate | None = None
    if plan.bound and is_bounded(masker):
        closer = certified(
            masker, masked.rows, published.losses, published.sums, progress=records.progress, keep=records.keep_best
        )
    return replace(
        published,
        notes=[*made, *published.notes],
        sums_of_hybrid=masked.hybrid,
        own=masked.own,
        misread=masked.misread,
        dominated=masked.dominated,
        totals=totals,
        blocking=masked.blocking,
        closer=closer,
    )


def _published(
    records: MemoryRecords,
    masker: BlockMasker,
    original: Table,
    rows: Matrix,
    columns: dict[str, Array],
    partitions: list[Labels],
    promise: Promise,
    also: Sequence[Message] = (),
    pseudonyms: Mapping[str, Array] | None = None,
) -> MemoryPublished:
    released = original.publish({**columns, **(pseudonyms or {})}, drop=masker.plan.dropped)
    codes = masker.as_read(columns)
    at = [masker.plan.used.index(attribute.name) for attribute in masker.changed]
    losses = Losses(masker.changed, masker.scales)
    sums = losses.measure(rows[:, at], codes, masker.weights(rows))
    kept = None if masker.edits is None else masker.edits.kept
    types = {name: column.type for name, column in columns.items()}
    found = notes(masker.plan, records.outline, types, losses.missing(sums), kept)
    return MemoryPublished(
        masker.plan,
        masker,
        records.outline,
        original,
        released,
        rows,
        codes,
        partitions,
        losses,
        sums,
        promise,
        [*found, *also],
        progress=records.progress,
    )


def _only(table: Table, keep: NDArray[np.bool_]) -> Table:
    return table if keep.all() else table.publish({}, keep=keep)


def _with_totals(masker: BlockMasker, masked: Masked, prepared: Prepared) -> tuple[Masked, KeptTotals | None]:
    """Change what groups publish so that domains keep their totals, where the plan asks for it."""
    if masker.domains is None:
        return masked, None
    places = _by_block(masker.block_of(masked.rows))
    blocks = [(masked.rows[place], masked.published[place]) for place in places]
    change = adjustment(masker, prepared.lows, lambda look: reduce(add, (look(*block) for block in blocks)))
    published, largest = np.empty_like(masked.published), np.zeros(masked.published.shape[1])
    for place, block in zip(places, blocks, strict=True):
        published[place], changes = change.apply(*block)
        largest = np.maximum(largest, changes)
    kept = KeptTotals.of(masker, largest)
    return replace(masked, published=published, slack=np.maximum(masked.slack, largest)), kept


def _rescaled(masker: BlockMasker, masked: Masked, prepared: Prepared) -> dict[str, Rescaling]:
    """Find how variances are restored, where the plan asks for it."""
    if not masker.plan.restore_variance:
        return {}
    restoring = prepared.restoring(masker)
    return restoring.rescalings(restoring.look(masked.rows, masked.published))


def _mic1d(records: MemoryRecords, masker: BlockMasker, prepared: Prepared) -> MemoryPublished:
    """Publish Mic1D, which takes all values of the table as one sequence."""
    from shoal.masking import mic1d

    rows, keep = _kept(records, masker)
    attributes = masker.of(rows)
    values = mic1d(rows[:, : len(attributes)], masker.plan.k, optimal=masker.plan.partition == "optimal")
    columns = masker.decode(values, {})
    found = unchanged(masker.plan, list(values.T), attributes)
    left = unchanged_columns(masker.plan, records.outline, prepared.summary.profiles)
    promise = Promise(masker.plan, masker.changed, types=masker.types, unchanged=left)
    return _published(records, masker, _only(records.outline, keep), rows, columns, [], promise, found)


def _private(records: MemoryRecords, masker: BlockMasker) -> MemoryPublished:
    """Publish noisy means in the order of their groups; which record is in which group goes no further than here."""
    from shoal.pipeline.private import in_rows, on_privacy, private_data

    rows, keep = _kept(records, masker)
    made = private_data(masker.of(rows), masker.plan)
    original = in_rows(_only(records.outline, keep), made.order)
    left = unchanged_columns(masker.plan, records.outline)
    promise = Promise(masker.plan, masker.changed, types=masker.types, ranges=False, unchanged=left)
    found = on_privacy(masker.plan, made.figures)
    published = _published(records, masker, original, rows[made.order], made.columns, [made.labels], promise)
    return replace(published, notes=[*found, *published.notes], privacy=made.figures)


def _kept(records: MemoryRecords, masker: BlockMasker) -> tuple[Matrix, NDArray[np.bool_]]:
    rows = records.rows(masker)
    keep = rows[:, -1] >= 0
    return (rows if keep.all() else np.ascontiguousarray(rows[keep])), keep


def verify_in_memory(
    original: Table, published: Table, promise: Promise, determined: Sequence[dict[str, Any]] | None = None
) -> Verified:
    """Verify a table that is about to be published against the records it comes from.

    Raises
    ------
    CheckFailed
        Naming everything that does not hold.
    """
    failures = [
        *_shape(published, original, promise),
        *_untouched(published, original, promise),
        *wrong_types(published, promise.types),
    ]
    if failures:
        raise CheckFailed(failures)
    pairs = Pairs(replace(promise, spelled=bool(published.spelling)))
    batch = pairs.of(original, published, 0, published.spelling)
    with DuckPairs(lambda: iter([batch])).kept() as database:
        return verify(database, pairs.promise, lambda: pairs.broken, determined=determined)


def _shape(published: Table, original: Table, promise: Promise) -> Iterator[Message]:
    identifiers = promise.plan.dropped
    for name in identifiers:
        if name in published.names:
            yield Message("identifier-released", column=name)
    if published.names != [name for name in original.names if name not in identifiers]:
        yield Message("columns-changed")
    if len(published) != len(original):
        yield Message("number-of-records-differs", records=len(published), expected=len(original))


def _untouched(published: Table, original: Table, promise: Promise) -> Iterator[Message]:
    changed = {attribute.name for attribute in promise.attributes} | {promise.plan.pseudonym}
    for name in published.names:
        if name not in changed and not published.same_column(original, name):
            yield Message("column-changed", column=name)

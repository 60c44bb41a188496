"""The frame: what a record block must know of the whole file, and how it is masked. Every engine has the same."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from shoal.blocking import Gather, RecordBlocks
from shoal.blocking.blocks import PartBlocks
from shoal.blocking.record_blocks import outline_of, record_blocks
from shoal.edits.apply import no_product
from shoal.edits.passes import Edits, Labels, Originals, basis_of, edits_of
from shoal.edits.strategy import Keeping
from shoal.errors import DataError, PlanError
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.standardize import Matrix, Scale
from shoal.partitioning.methods import METHODS
from shoal.pipeline.aggregate import representatives
from shoal.pipeline.encode import space_of
from shoal.pipeline.partition import Confidential, grouped
from shoal.pipeline.resolve import identifying, with_method
from shoal.pipeline.summary import MOST_CATEGORIES, Column, Moments, Summary, moments, summarize
from shoal.plan import Plan
from shoal.plan.aggregates import aggregate_of
from shoal.tables.arrow import Array
from shoal.tables.attributes import NUMBERS, Attribute, attribute_of
from shoal.tables.dtypes import inner
from shoal.tables.numbers import misses
from shoal.tables.text_values import one_chunk
from shoal.text import counted

_LARGEST = 1e150
_EXACT = 2.0**53  # up to here every integer is a float64
# Plan fields that need the whole file at once.
_WHOLE = ("epsilon", "blocks", "strata", "weights", "preserve", "l", "t", "restore_variance", "bound")


class Records(Protocol):
    """Where the records are: what an engine must do for a frame to be made."""

    def summary(self, look: Callable[..., Summary]) -> Summary:
        """Add up what `look` sees in all pieces of the table: the masked columns, and those that rules speak of."""

    def originals(self, look: Callable[..., Originals]) -> Originals:
        """Add up what `look` sees in all pieces of the table once more."""

    def moments(self, look: Callable[[Matrix], Moments], frame: "Frame") -> Moments:
        """Add up what `look` sees in the codes of all records."""

    def gather(self, frame: "Frame", part: int | None = None) -> Gather:
        """Give passes over what the blocks are made from, of all records or of one part: see `Frame.outline`."""


class MaskedBlock(NamedTuple):
    """What the records of a block publish, as numbers; and how far rules push each attribute outside its groups."""

    published: Matrix
    slack: np.ndarray


@dataclass(frozen=True)
class Frame:
    """What a block must know of the whole: the plan, attributes without records, their scales, and the blocks.

    Attributes
    ----------
    plan
        Settled for the table.
    attributes
        The masked attributes; their codes are empty.
    scales
        Of numbers and dates.
    types
        Of the published columns.
    records
        How many there are.
    blocks
        How records are divided; None if all are one block.
    edits
        What must be known of rules; None if there are none.
    """

    plan: Plan
    attributes: list[Attribute]
    scales: Mapping[str, Scale]
    types: Mapping[str, pa.DataType]
    records: int
    blocks: RecordBlocks | PartBlocks | None = None
    edits: Edits | None = None

    @property
    def sizes(self) -> np.ndarray:
        """How many records each block has."""
        return np.array([self.records]) if self.blocks is None else self.blocks.sizes

    def codes(self, piece: pa.Table) -> Matrix:
        """Turn the masked columns of some records into numbers."""
        return np.column_stack(
            [attribute.read(one_chunk(piece.column(attribute.name))) for attribute in self.attributes]
        )

    def space(self, codes: Matrix) -> EncodedMatrix:
        """Put some records on the scale of the whole."""
        return space_of(self._of(codes), self.plan, self.scales)

    def outline(self, codes: Matrix) -> Matrix:
        """Give what blocks are made from: numbers and levels on one scale, a missing value in the middle."""
        return outline_of(self.space(codes), self.plan.masked, self.plan)

    def part_of(self, piece: pa.Table) -> Labels:
        """Give the number of each record's part; records of two parts never share a block."""
        return np.zeros(len(piece), dtype=np.int64) if self.edits is None else self.edits.part_of(piece)

    def block_of(self, codes: Matrix, parts: Labels) -> np.ndarray:
        """Give the number of each record's block."""
        if self.blocks is None:
            return np.zeros(len(codes), dtype=np.int64)
        outline = self.outline(codes)
        if isinstance(self.blocks, PartBlocks):
            return self.blocks.assign(outline, parts)
        return self.blocks.assign(outline)

    def mask(self, codes: Matrix, watch: np.ndarray | None = None) -> MaskedBlock:
        """Mask the records of one block.

        Records are put in the order of their values first, so that ties do not depend on the order in which an engine
        has them; records equal in all masked attributes are interchangeable.
        """
        order = np.lexsort(codes.T[::-1])
        published, slack = np.empty_like(codes), np.zeros(codes.shape[1])
        for piece in np.split(order, self._cuts(len(order))):
            found = self._masked(codes[piece], np.zeros(2, np.int64) if watch is None else watch)
            published[piece], slack = found.published, np.maximum(slack, found.slack)
        return MaskedBlock(published, slack)

    def _cuts(self, records: int) -> np.ndarray:
        """Say where a block is cut that has so many more records than asked for because they lie in one place.

        Of n records, where at most m are asked for, n div m pieces are made: the record in place r of the order of
        values belongs to piece r (n div m) div n.
        """
        size = None if self.plan.scale is None else self.plan.scale.block_size
        pieces = 1 if size is None else max(1, records // size)
        return -(-np.arange(1, pieces) * records // pieces)

    def _masked(self, codes: Matrix, watch: np.ndarray) -> MaskedBlock:
        attributes = self._of(codes)
        space = space_of(attributes, self.plan, self.scales)
        labels = grouped(space, self.plan, Confidential([], None, None, []), watch=watch)
        published = representatives(attributes, space, [labels], self.plan, None)
        if self.edits is None:
            return MaskedBlock(np.column_stack(published), np.zeros(len(attributes)))
        right = self.edits.righted(attributes, published, labels, self.plan)
        slack = np.array([right.slack.get(attribute.name, 0.0) for attribute in attributes])
        return MaskedBlock(np.column_stack([right.values[attribute.name] for attribute in attributes]), slack)

    @property
    def plain(self) -> bool:
        """Whether all attributes are numbers or dates that no record misses: what a tree can search."""
        return self.plan.missing != "group" and all(attribute.type in NUMBERS for attribute in self.attributes)

    def decode(self, published: Matrix) -> dict[str, Array]:
        """Turn numbers back into columns of the types that are promised for the whole file."""
        columns = {}
        for j, attribute in enumerate(self.attributes):
            column = attribute.decode(published[:, j], whole=self.plan.round)
            columns[attribute.name] = column.cast(self.types[attribute.name])
        return columns

    def as_read(self, published: Matrix) -> Matrix:
        """Give what is published as a reader will find it: rounded to what the types of the columns can hold."""
        if all(type_ == pa.float64() for type_ in self.types.values()):
            return published
        return self.codes(pa.table(self.decode(published)))

    def _of(self, codes: Matrix) -> list[Attribute]:
        return [replace(attribute, codes=codes[:, j]) for j, attribute in enumerate(self.attributes)]


def frame_of(records: Records, plan: Plan, schema: pa.Schema, kept: Keeping | None = None) -> Frame:
    """Make the frame of a table by two passes over it, and one more for rules, without its blocks.

    Parameters
    ----------
    records
        Of the table.
    plan
        With attributes and their types, and the aggregates that rules need.
    schema
        Of the table.
    kept
        How rules are kept, if there are any.

    Raises
    ------
    PlanError, DataError
        If the plan asks for what needs the whole table in memory, or the table cannot be masked as asked.
    """
    refuse_whole(plan)

    def look(piece: pa.Table, start: int | None = None) -> Summary:
        return replace(summarize(piece, plan.types, start), edits=None if kept is None else basis_of(kept, piece))

    seen = records.summary(look)
    _refuse_gaps(seen, plan)
    _refuse_numbers(seen, plan, schema, kept)
    attributes = [_described(name, schema.field(name).type, seen.columns[name], plan) for name in plan.masked]
    types = {attribute.name: _published_type(attribute, plan) for attribute in attributes}
    count = seen.columns[plan.masked[0]].records
    if plan.k > count:
        raise DataError(f"k = {plan.k} asks for groups larger than the table, which has {counted(count, 'record')}")
    edits = None
    if kept is not None and seen.edits is not None:
        edits = edits_of(kept, seen.edits, records.originals, attributes, plan)
    frame = Frame(plan, attributes, {}, types, count, edits=edits)
    return replace(frame, scales=_scales(records, frame, seen))


def _described(name: str, stored: pa.DataType, column: Column, plan: Plan) -> Attribute:
    """Describe an attribute by what a pass over all records has shown."""
    type_ = plan.types[name]
    if type_ in NUMBERS:
        return attribute_of(name, type_, stored, moments=(int(column.low or 0), int(column.high or 0), column.tick))
    found = pa.array(sorted(column.categories), inner(stored))
    return attribute_of(name, type_, stored, found, plan.levels.get(name))


def with_blocks(frame: Frame, records: Records, most: int) -> Frame:
    """Divide the records, or those of each part, into blocks of at most so many, as the plan's scale says."""
    dimensions = frame.outline(np.empty((0, len(frame.attributes)))).shape[1]

    def divided(count: int, part: int | None = None) -> RecordBlocks | None:
        if count <= most:
            return None
        return record_blocks(records.gather(frame, part), dimensions, frame.plan, most)

    sizes = [] if frame.edits is None else frame.edits.sizes
    if len(sizes) < 2:
        return replace(frame, blocks=divided(frame.records))
    return replace(frame, blocks=PartBlocks([divided(count, part) for part, count in enumerate(sizes)], sizes))


def refuse_whole(plan: Plan) -> None:
    """Report what a plan asks for that needs all records at once."""
    problems = [
        (name, "needs the whole table in memory; it does not apply to record blocks on this engine")
        for name in _WHOLE
        if getattr(plan, name) not in (None, False)
    ]
    if plan.method not in ("auto", *METHODS):
        problems.append(("method", f"'{plan.method}' needs the whole table in memory; use 'mdav'"))
    if plan.effort.seconds is not None:
        problems.append(("budget", "is a time for all records at once; give steps, which each block makes"))
    if plan.missing == "suppress":
        problems.append(("missing", "'suppress' does not apply to this engine; use 'group' or 'impute'"))
    if plan.scale is not None and plan.scale.seams:
        problems.append(("scale.seams", "needs the whole table in memory; it does not apply to this engine"))
    if plan.edits_original == "exclude":
        problems.append(
            ("edits_original", "'exclude' does not apply to this engine, which publishes all records; use 'keep'")
        )
    if plan.strata is None and plan.small_strata != "error":
        problems.append(
            ("small_strata", f"'{plan.small_strata}' needs the whole table in memory; it does not apply to this engine")
        )
    if problems:
        raise PlanError(problems)


def with_seen(frame: Frame, seen: Summary, inferred: Collection[str]) -> Frame:
    """Settle the method once more, knowing where values are missing.

    Attributes that were taken for categories, and have one of its own for every record, are refused.
    """
    for name in inferred:
        column = seen.columns[name]
        if 1 < len(column.categories) == column.records - column.missing:
            raise DataError(identifying(name))
    attributes = [
        replace(attribute, codes=np.array([1.0, np.nan] if seen.columns[attribute.name].missing else [1.0]))
        for attribute in frame.attributes
    ]
    return replace(frame, plan=with_method(frame.plan, attributes))


def _refuse_gaps(seen: Summary, plan: Plan) -> None:
    problems = []
    for name, column in seen.columns.items():
        if column.missing == column.records:
            problems.append(f"column '{name}' is empty: no record has a value; leave it out of what is masked")
        elif column.missing and plan.missing == "error":
            problems.append(misses(name, column.first_missing, column.missing))
        if column.infinite:
            where = "" if column.first_infinite is None else f", first in record {column.first_infinite}"
            problems.append(
                f"column '{name}' is infinite in {counted(column.infinite, 'record')}{where}; replace them by numbers"
            )
        if len(column.categories) > MOST_CATEGORIES:
            problems.append(
                f"column '{name}' has more than {MOST_CATEGORIES:,} categories; if it identifies records, drop it with "
                "identifiers"
            )
    if problems:
        raise DataError("\n".join(problems))


def _refuse_numbers(seen: Summary, plan: Plan, schema: pa.Schema, kept: Keeping | None) -> None:
    """Report numbers that have no exact mean, or no geometric one."""
    problems = []
    for name, column in seen.columns.items():
        if plan.types[name] != "continuous" or column.low is None or column.high is None:
            continue
        if pa.types.is_integer(schema.field(name).type) and max(abs(column.low), abs(column.high)) >= _EXACT:
            problems.append(
                f"column '{name}' holds integers beyond 2^53, which cannot be averaged exactly; divide them or make "
                "them text"
            )
        if max(abs(column.low), abs(column.high)) > _LARGEST:
            problems.append(f"column '{name}' holds numbers beyond 1e150, whose squares overflow; divide them first")
        if aggregate_of(name, plan) == "geometric_mean" and column.low <= 0:
            where = f"column '{name}' is zero or negative in some record"
            ruled = None if kept is None else no_product(name, kept)
            problems.append(f"{where}, {ruled or 'where no geometric mean exists; take another aggregate'}")
    if problems:
        raise DataError("\n".join(problems))


def _published_type(attribute: Attribute, plan: Plan) -> pa.DataType:
    """Fix the type of a published column beforehand: one block must not find whole numbers where another does not."""
    if attribute.type != "continuous" or pa.types.is_floating(attribute.stored):
        return attribute.stored
    return attribute.stored if plan.round and pa.types.is_integer(attribute.stored) else pa.float64()


def _scales(records: Records, frame: Frame, seen: Summary) -> dict[str, Scale]:
    names = [attribute.name for attribute in frame.attributes if attribute.type in NUMBERS]
    at = [j for j, attribute in enumerate(frame.attributes) if attribute.type in NUMBERS]
    low, high = [], []
    for j in at:
        attribute, column = frame.attributes[j], seen.columns[frame.attributes[j].name]
        # In codes: ticks count from the first moment.
        bottom, top = (float(column.low or 0), float(column.high or 0))
        if attribute.type != "continuous":
            bottom, top = 0.0, (top - bottom) / attribute.tick
        low.append(bottom)
        high.append(top)
    if frame.plan.standardize == "none":
        return {name: Scale(0.0, 1.0) for name in names}
    if frame.plan.standardize == "minmax":
        return {name: Scale(b, t - b) for name, b, t in zip(names, low, high, strict=True)}
    found = records.moments(lambda codes: moments(codes[:, at], low, high), frame)
    return dict(zip(names, found.scales(low, high), strict=True))

"""BlockMasker: what a record block must know of the whole, and how it is masked. Every backend runs the same."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.aggregation import Rescaling
from shoal.blocking.blocks import PartBlocks, RecordBlocks
from shoal.blocking.categories import Digits
from shoal.blocking.record_blocks import outline_of
from shoal.blocking.seams import repair_seams
from shoal.edits.passes import Edits, columns_of
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.standardize import Matrix, Scale
from shoal.messages import Message
from shoal.parallel import Task
from shoal.partitioning.clock import Clock
from shoal.partitioning.diversity import Limits, Secret, Units
from shoal.partitioning.known import KnownPartitions
from shoal.pipeline.aggregate import representatives
from shoal.pipeline.dominance import re_formed
from shoal.pipeline.encode import space_of
from shoal.pipeline.households import Households
from shoal.pipeline.partition import grouped, l_diversity_of
from shoal.pipeline.parts import Key, Parts, keys_of
from shoal.pipeline.safe_records import Safe
from shoal.pipeline.sensitive import Sensitive
from shoal.pipeline.totals import domain_codes
from shoal.pipeline.unit_codes import unit_codes
from shoal.plan.resolved import ResolvedPlan
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.attributes import NUMBERS, Attribute, Codes, without_declared
from shoal.tables.numbers import to_floats
from shoal.tables.text_values import one_chunk

if TYPE_CHECKING:
    from shoal.masking.muralidhar_sarathy import Gram
    from shoal.pipeline.hybrid import Hybrid, HybridBlock  # slow to load, and rarely needed
    from shoal.pipeline.hybrid_sums import HybridSums

Labels = NDArray[np.int64]
Run = Callable[[Sequence[Task[Labels]], int], list[Labels]]


class MaskedBlock(NamedTuple):
    """What the records of a block publish.

    Attributes
    ----------
    published
        The changed attributes as numbers, a column each.
    labels
        The groups of the block, a column for each attribute block.
    slack
        How far rules push each changed attribute outside the range of its groups.
    own, misread
        Groups that publish one of their own records because no adjustment keeps all rules; and those in which an
        equality holds, but not to a reader that adds up digits.
    classes
        How many of the block's records share each original combination of quasi-identifiers.
    hybrid
        What the block shows of hybrid data; None if there are none.
    dominated
        Groups that were re-formed because a contributor dominated them.
    """

    published: Matrix
    labels: NDArray[np.int64]
    slack: NDArray[np.float64]
    own: int
    misread: int
    classes: NDArray[np.int64]
    hybrid: "HybridSums | None" = None
    dominated: int = 0


def in_turn(tasks: Sequence[Task[Labels]], records: int) -> list[Labels]:
    """Run tasks one after the other, in a thread that others watch over."""
    return [task(watch=np.zeros(3, np.int64)) for task in tasks]


@dataclass(frozen=True)
class BlockMasker:
    """What a block must know of the whole: the resolved plan, attributes without records, scales, parts and blocks.

    A record is a row of numbers: the codes of the attributes that the method looks at, its survey weight, the numbers
    of its sensitive values, the number of its domain (`shoal.pipeline.totals`), the number of its unit
    (`shoal.pipeline.unit_codes`), and last the number of its part (`shoal.pipeline.parts`), -1 if it is left out.

    Attributes
    ----------
    plan
        Resolved for the table.
    attributes
        Those that the method looks at; their codes are empty.
    types
        Of the columns that are published in place of changed ones.
    records
        How many are published.
    parts
        Which records never share a group.
    scales
        Of the attributes.
    sensitive
        The attributes that l and t protect.
    edits
        What must be known of rules; None if there are none.
    blocks
        How records are divided; None if all are one block.
    digits
        Of the categories of nominal attributes that take part in dividing.
    decimal
        The decimal point of numbers that are written as text.
    hybrid
        How confidential attributes are regenerated; None if they are not.
    beside
        How many numbers stand before the last of a row to tell its group, whose records may cross the seams of blocks:
        see `to_seams`. 0 where groups are not formed yet.
    known
        The partitions that were found for other k of the same table; None if it is masked once.
    key
        The secret of pseudonyms, drawn for this release alone; None if units get none.
    domains
        The numbers of the domains whose totals are kept; None if none are.
    households
        What members of households share; None if records have none. Their number stands after the sensitive values.
    safe
        Which records are released unchanged, because k share their combination; None if all are masked.
    clock
        Of a budget in seconds.
    """

    plan: ResolvedPlan
    attributes: list[Attribute]
    types: Mapping[str, pa.DataType]
    records: int
    parts: Parts
    scales: Mapping[str, Scale] = field(default_factory=dict)
    sensitive: list[Sensitive] = field(default_factory=list)
    edits: Edits | None = None
    blocks: RecordBlocks | PartBlocks | None = None
    digits: Mapping[str, Digits] = field(default_factory=dict)
    decimal: str = "."
    hybrid: "Hybrid | None" = None
    beside: int = 0
    known: KnownPartitions | None = None
    key: bytes | None = field(default=None, repr=False)
    domains: Mapping[Key, int] | None = None
    households: Households | None = None
    safe: Safe | None = None
    clock: Clock | None = None

    def timed(self) -> "BlockMasker":
        """Return the same with a clock that all blocks share, if the budget is in seconds; it starts with the first."""
        if self.plan.effort.seconds is None:
            return self
        records = self.records * len(self.columns)
        return replace(self, clock=Clock(self.plan.effort.seconds, records, os.cpu_count() or 1))

    def without_secret(self) -> "BlockMasker":
        """Return the same for a release, which must not hold the secret of hybrid data or of pseudonyms."""
        return replace(self, key=None, hybrid=None if self.hybrid is None else self.hybrid.without_secret())

    def no_hybrid(self) -> "HybridSums | None":
        """Return what no records show of hybrid data; None if none are made."""
        return None if self.hybrid is None else self.hybrid.nothing(self.attributes, self.plan)

    def hybrid_notes(self, sums: "HybridSums | None") -> list[Message]:
        """List what a user should know of hybrid data, once all blocks are masked: see `Hybrid.notes`."""
        if self.hybrid is None or sums is None:
            return []
        return self.hybrid.notes(self.attributes, sums, self.plan, self.scales)

    def hybrid_summary(self, sums: "HybridSums | None") -> dict[str, Any] | None:
        """Describe hybrid data by what blocks show; None if there are none."""
        return None if self.hybrid is None or sums is None else self.hybrid.summary(self.attributes, sums, self.plan)

    def with_noise(self, fold: "Callable[[Callable[[Matrix], Gram]], Gram]") -> "BlockMasker":
        """Return the masker with the mixture of Muralidhar-Sarathy; `fold` adds up over the rows of each block."""
        if self.hybrid is None or self.hybrid.regression is None:
            return self
        return replace(self, hybrid=self.hybrid.mixed(fold(partial(self._noise_of, self.hybrid))))

    def _noise_of(self, hybrid: "Hybrid", rows: Matrix) -> "Gram":
        """Add up what the noise of a block is made from."""
        return hybrid.noise_of(self.of(rows[in_order(rows)]), self.plan, self.scales)

    # Encoding

    @property
    def names(self) -> list[str]:
        """The columns that it looks at."""
        plan = self.plan
        names = [*plan.used, *(plan.strata or []), *(each.name for each in self.sensitive)]
        names += [*plan.roles["weights"], *plan.roles["household"], *plan.roles["unit"], *(plan.keep_totals or [])]
        if self.edits is not None:
            names += columns_of(self.edits.rules)
        return list(dict.fromkeys([*names, *self.seam_names]))

    @property
    def seam_names(self) -> list[str]:
        """The columns that tell the group of a record."""
        return [f"__shoal_seam_{j}" for j in range(self.beside)]

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        own = (self.households is not None) + (self.domains is not None) + (self.plan.unit is not None)
        return self.household_at + own + self.beside + 1

    @property
    def household_at(self) -> int:
        """Where the number of its household stands in a row, if there are households, or else that of its domain."""
        return len(self.attributes) + (self.plan.weights is not None) + len(self.sensitive)

    def encode(self, piece: pa.Table) -> Matrix:
        """Turn records into rows of numbers."""
        table = Table(piece)
        columns = self.codes(piece)
        if self.plan.weights is not None:
            columns.append(to_floats(without_declared(table, self.plan.weights), self.plan.weights, self.decimal))
        columns += [each.codes(table).astype(np.float64) for each in self.sensitive]
        columns += [] if self.households is None else [self.households.numbers(table)]
        if self.domains is not None:
            columns.append(domain_codes(piece, self.plan.keep_totals or [], self.domains).astype(np.float64))
        columns += [unit_codes(table, name).astype(np.float64) for name in self.plan.roles["unit"]]
        columns += [one_chunk(piece.column(name)).to_numpy(zero_copy_only=False) for name in self.seam_names]
        columns.append(self._part_of(piece, columns[: len(self.attributes)]).astype(np.float64))
        return np.column_stack(columns)

    def codes(self, piece: pa.Table) -> list[Codes]:
        """Turn the attributes of some records into numbers."""
        table = Table(piece)
        return [attribute.read(without_declared(table, attribute.name)) for attribute in self.attributes]

    def _part_of(self, piece: pa.Table, codes: Sequence[Codes]) -> Labels:
        places, keys = self.keys(piece)
        if self.safe is None:
            parts = self.parts.part_of(places, keys)
        else:
            parts = self.safe.parts(np.column_stack(codes), self.safe.known.part_of(places, keys))
        parts[~self.kept(piece, codes)] = -1
        return parts

    def keys(self, piece: pa.Table) -> tuple[Labels, list[Key]]:
        """Return the combination of stratum and outcomes of rules of each record: see `keys_of`."""
        outcomes = np.empty((len(piece), 0), np.uint8) if self.edits is None else self.edits.outcomes(Table(piece))
        return keys_of(piece, self.plan.strata or [], outcomes)

    def kept(self, piece: pa.Table, codes: Sequence[Codes]) -> NDArray[np.bool_]:
        """Return which records are left in: not those that miss a value or break a rule, where the plan drops them."""
        keep = np.ones(len(piece), dtype=bool)
        if self.plan.missing == "suppress":
            for column in codes:
                keep &= ~np.isnan(column)
        if self.edits is not None and self.edits.exclude:
            keep &= ~self.edits.broken(Table(piece), keep, None)[1]
        return keep

    def of(self, rows: Matrix) -> list[Attribute]:
        """Return the attributes with the codes of some rows."""
        return [replace(attribute, codes=rows[:, j]) for j, attribute in enumerate(self.attributes)]

    def space(self, rows: Matrix) -> EncodedMatrix:
        """Scale some rows as the whole table is scaled."""
        return space_of(self.of(rows), self.plan, self.scales)

    def outline(self, rows: Matrix) -> Matrix:
        """Return what blocks are made from: numbers and levels on one scale, a missing value in the middle.

        At seams, that of a record is the centroid of its group, all of whose members share a block so.
        """
        if self.beside:
            return np.ascontiguousarray(rows[:, -1 - self.beside : -3])
        return outline_of(self.space(rows), [each.name for each in self.attributes], self.plan, self.digits)

    @property
    def plain(self) -> bool:
        """Whether all attributes are numbers or dates that no record misses: what a tree can search."""
        return self.plan.missing != "group" and all(attribute.type in NUMBERS for attribute in self.attributes)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many records each block has."""
        return np.array([self.records]) if self.blocks is None else self.blocks.sizes

    def block_of(self, rows: Matrix) -> Labels:
        """Return the number of each record's block."""
        if self.blocks is None:
            return np.zeros(len(rows), dtype=np.int64)
        outline = self.outline(rows)
        if isinstance(self.blocks, PartBlocks):
            return self.blocks.assign(outline, self.parts.finest[rows[:, -1].astype(np.int64)])
        return self.blocks.assign(outline)

    # Masking

    def mask(self, rows: Matrix, run: Run = in_turn) -> MaskedBlock:
        """Mask the records of one block: partition, aggregate, repair.

        Records are put in the order of their values first, so that ties do not depend on the order in which a backend
        has them; records that are equal in all that matters are interchangeable.
        """
        order, pieces, parts, results = self._searched(rows, run)
        published = np.empty((len(rows), len(self.plan.changed)))
        labels = np.empty((len(rows), len(self.columns)), dtype=np.int64)
        slack, own, misread, hybrid = np.zeros(published.shape[1]), 0, 0, None
        formed, dominated = np.zeros(labels.shape[1], dtype=np.int64), 0
        for piece, part in zip(pieces, parts, strict=True):
            found, failed = re_formed(self, part, self._labels(part, results), self.homes(part))
            dominated += failed
            if self.hybrid is None:
                values, outside, counts = self.publish(part, found)
                slack, own, misread = np.maximum(slack, outside), own + counts[0], misread + counts[1]
            else:
                values, made, shown = self._made_anew(self.hybrid, part, found)
                found, hybrid = made[:, None], shown if hybrid is None else hybrid + shown
            published[order[piece]], labels[order[piece]] = values, found + formed
            formed = formed + found.max(axis=0) + 1
        return MaskedBlock(published, labels, slack, own, misread, self._class_sizes(rows[order]), hybrid, dominated)

    def _searched(self, rows: Matrix, run: Run) -> tuple[Labels, list[Labels], list[Matrix], Iterator[Labels]]:
        """Sort the records of a block, divide it if needed, and search for groups."""
        order = in_order(rows)
        ordered = np.ascontiguousarray(rows[order])
        pieces = np.split(np.arange(len(order)), self._cuts(len(order)))
        parts = [ordered] if len(pieces) == 1 else [ordered[piece] for piece in pieces]
        tasks = [task for part in parts for task in self._tasks(part)]
        return order, pieces, parts, iter(run(tasks, len(rows) * len(self.columns)))

    # Seams

    @property
    def mends_seams(self) -> bool:
        """Whether there are seams between blocks, and records may cross them."""
        return self.plan.scale is not None and self.plan.scale.seams and len(self.sizes) > 1

    @property
    def pieces(self) -> NDArray[np.int64]:
        """How many pieces each block is cut into: see `_cuts`."""
        size = None if self.plan.scale is None or self.blocks is None else self.plan.scale.most
        alone = np.ones(len(self.sizes), dtype=np.int64)
        return alone if size is None or self.beside else np.maximum(alone, self.sizes // size)

    def to_seams(self, rows: Matrix, number: int, run: Run = in_turn) -> Matrix:
        """Partition the records of a block into groups; return the labels of the groups.

        That is the centroid of the group, in what blocks are made from; the number of the piece of a block that it lies
        in, of which `number` is the first; and its number there.
        """
        order, _, parts, results = self._searched(rows, run)
        found = []
        for place, part in enumerate(parts):
            labels = self._labels(part, results)[:, 0]
            outline, size = self.outline(part), np.bincount(labels)
            centroids = [(np.bincount(labels, column) / size)[labels] for column in outline.T]
            found.append(np.column_stack([*centroids, np.full(len(part), float(number + place)), labels]))
        beside = np.concatenate(found)
        beside[order] = beside.copy()
        return beside

    def with_groups(self, rows: Matrix, beside: Matrix) -> Matrix:
        """Write the result of `to_seams` into the rows of the records."""
        return np.column_stack([rows[:, :-1], beside, rows[:, -1]])

    def _across_seams(self, rows: Matrix) -> Labels:
        """Move records between groups that were formed in different blocks."""
        _, labels = np.unique(rows[:, -3:-1], axis=0, return_inverse=True)
        X = self.space(rows).columns(self.columns[0]).values
        return repair_seams(X, self.plan.k, labels.ravel().astype(np.int64))[:, None]

    def _made_anew(self, hybrid: "Hybrid", rows: Matrix, labels: Labels) -> "HybridBlock":
        return hybrid.publish(self.of(rows), self.homes(rows)[0], labels[:, 0], self.plan, self.scales, self.records)

    def _cuts(self, records: int) -> NDArray[np.int64]:
        """Return where a block is cut that has so many more records than asked for because they lie in one place.

        Of n records, where at most m are asked for, n div m pieces are made: the record in place r of the order of
        values belongs to piece r (n div m) div n. 'ms' forms no groups, and tells equal records apart by their places.
        """
        whole = self.blocks is None or self.beside or self.plan.method == "ms"
        size = None if whole or self.plan.scale is None else self.plan.scale.most
        pieces = 1 if size is None else max(1, records // size)
        return -(-np.arange(1, pieces) * records // pieces)

    @property
    def columns(self) -> list[list[int]]:
        """The columns of each partition."""
        return [[self.plan.used.index(name) for name in block] for block in self.plan.partitioned]

    def homes(self, rows: Matrix) -> list[list[Labels]]:
        """Return for each partition the rows of each home: records share a group only within one."""
        part = rows[:, -1].astype(np.int64)
        return [_split(homes[part]) for homes in self.parts.homes]

    def _tasks(self, rows: Matrix) -> list[Task[Labels]]:
        if self.plan.method == "ms" or self.beside:
            return []
        plan = self.plan if self.hybrid is None else self.plan.decided(method=self.plan.grouping)
        space, units, weights = self.space(rows), self.units(rows), self.weights(rows)
        limits = Limits(
            self._secrets(rows),
            l_diversity_of(self.plan),
            self.plan.t,
            [each.counts for each in self.sensitive],
            None if units is None else Units(units, self.plan.k),
        )
        total = self.records * len(self.columns)
        return [
            partial(
                grouped,
                space.columns(block).rows(home),
                plan,
                limits.rows(home),
                weights=None if weights is None else weights[home],
                share=len(home) / total,
                clock=self.clock,
                known=self.known,
            )
            for place, (block, homes) in enumerate(zip(self.columns, self.homes(rows), strict=True))
            if place or self.households is None  # households are in groups already
            for home in homes
            if not self._is_safe(rows, home)
        ]

    def _secrets(self, rows: Matrix) -> list[Secret]:
        first = len(self.attributes) + (self.plan.weights is not None)
        return [
            Secret(each.name, rows[:, first + j].astype(np.int64), each.ordered, len(each.values))
            for j, each in enumerate(self.sensitive)
        ]

    def _labels(self, rows: Matrix, results: Iterator[Labels]) -> Labels:
        labels = np.zeros((len(rows), len(self.columns)), dtype=np.int64)
        if self.plan.method == "ms":
            return labels
        if self.beside:
            return self._across_seams(rows)
        for block, homes in enumerate(self.homes(rows)):
            if self.households is not None and not block:
                labels[:, 0] = self.households.groups(rows[:, self.household_at])
                continue
            formed = 0
            for home in homes:
                found = self._alike(rows[home]) if self._is_safe(rows, home) else next(results)
                if (found < 0).any():
                    raise KeyboardInterrupt  # so early that there is nothing to keep
                labels[home, block] = found + formed
                formed += int(found.max()) + 1
        return labels

    def _is_safe(self, rows: Matrix, home: Labels) -> bool:
        """Whether the records of a home are released unchanged."""
        return self.safe is not None and self.parts.keys[int(rows[home[0], -1])].safe

    def _unchanged(self, rows: Matrix) -> Matrix:
        """Return what records that are released unchanged publish; a few of them take on the values of others."""
        codes = rows[:, : len(self.attributes)] + 0.0  # one zero: files of text tell it from -0
        return codes if self.safe is None else self.safe.published(codes, rows[:, -1].astype(np.int64))

    def _alike(self, rows: Matrix) -> Labels:
        """Return the groups of records that are released unchanged: those with the same values."""
        codes = self._unchanged(rows)
        alike = np.unique(np.where(np.isnan(codes), np.inf, codes), axis=0, return_inverse=True)[1]
        return np.asarray(alike, dtype=np.int64).ravel()

    def weights(self, rows: Matrix) -> Codes | None:
        """Return the survey weights of some rows; None if none are named."""
        return None if self.plan.weights is None else rows[:, len(self.attributes)]

    def domain(self, rows: Matrix) -> Labels:
        """Return the numbers of the domains of some rows."""
        return rows[:, self.household_at].astype(np.int64)

    def units(self, rows: Matrix) -> Labels | None:
        """Return the numbers of the units of some rows; None if no unit is named."""
        return None if self.plan.unit is None else rows[:, -2 - self.beside].astype(np.int64)

    def pseudonyms(self, table: Table) -> dict[str, Array]:
        """Return the column of random numbers that stand for the units or households of some records, if any do."""
        if self.households is not None:
            return self.households.replaced(table)
        name = self.plan.pseudonym
        return {} if name is None or self.key is None else {name: pa.array(unit_codes(table, name, self.key))}

    def publish(self, rows: Matrix, labels: Labels) -> tuple[Matrix, NDArray[np.float64], tuple[int, int]]:
        """Aggregate and repair: what groups publish, how far outside their ranges, and two counts of `MaskedBlock`."""
        attributes, partitions = self.of(rows), list(labels.T)
        known = {} if self.households is None else self.households.known(rows[:, self.household_at])
        space = partial(self.space, rows)
        weights, units = self.weights(rows), self.units(rows)
        values = representatives(attributes, space, partitions, self.plan, weights, units, known)
        slack = np.zeros(len(attributes))
        if self.safe is not None:
            unchanged = np.array([key.safe for key in self.parts.keys])[rows[:, -1].astype(np.int64)]
            return np.where(unchanged[:, None], self._unchanged(rows), np.column_stack(values)), slack, (0, 0)
        if self.edits is None:
            return np.column_stack(values), slack, (0, 0)
        by_name = {name: own for block, own in zip(self.plan.in_blocks, partitions, strict=True) for name in block}
        found = self.edits.repaired(attributes, values, by_name, whole_of(self.attributes, self.plan))
        slack = np.array([found.slack.get(attribute.name, 0.0) for attribute in attributes])
        columns = [found.values[attribute.name] for attribute in attributes]
        return np.column_stack(columns), slack, (found.own, found.misread)

    def _class_sizes(self, ordered: Matrix) -> NDArray[np.int64]:
        """Count the records that share each combination of quasi-identifiers, of rows in their order."""
        codes = ordered[:, : len(self.plan.masked)]
        apart = ((codes[1:] != codes[:-1]) & ~(np.isnan(codes[1:]) & np.isnan(codes[:-1]))).any(axis=1)
        ends = np.append(np.flatnonzero(apart) + 1, len(codes))
        return np.diff(ends, prepend=0)

    # Publishing

    @property
    def changed(self) -> list[Attribute]:
        """The attributes whose values the method changes."""
        return [attribute for attribute in self.attributes if attribute.name in self.plan.changed]

    def decode(self, published: Matrix, rescaled: Mapping[str, Rescaling]) -> dict[str, Array]:
        """Turn numbers back into columns of the types that are promised for the whole file."""
        columns = {}
        for j, attribute in enumerate(self.changed):
            codes = published[:, j]
            if attribute.name in rescaled:
                codes = rescaled[attribute.name].apply(codes)
            columns[attribute.name] = attribute.decode(codes, whole=self.plan.publishes_whole(attribute.name))
        return columns

    def as_read(self, columns: Mapping[str, Array]) -> Matrix:
        """Return what is published as a reader will find it: rounded to what the types of the columns can hold."""
        return np.column_stack([attribute.read(one_chunk(columns[attribute.name])) for attribute in self.changed])


def in_order(rows: Matrix) -> Labels:
    """Return the places of rows in the order of their values: by the first column, ties by the next, and so on."""
    order = np.argsort(rows[:, 0], kind="stable")
    first = rows[order, 0]
    same = (first[1:] == first[:-1]) | (np.isnan(first[1:]) & np.isnan(first[:-1]))
    if not same.any():
        return np.asarray(order, dtype=np.int64)
    tied = np.append(same, False) | np.append(False, same)
    order[tied] = order[tied][np.lexsort(rows[order[tied]].T[::-1])]
    return np.asarray(order, dtype=np.int64)


def whole_of(attributes: Sequence[Attribute], plan: ResolvedPlan) -> set[str]:
    """Name the attributes that are published as whole numbers, rules or not."""
    return {each.name for each in attributes if plan.publishes_whole(each.name) and pa.types.is_integer(each.stored)}


def _split(home: Labels) -> list[Labels]:
    """Return the rows of each home, in their order."""
    order = np.argsort(home, kind="stable")
    ends = np.cumsum(np.bincount(home))
    return [rows for rows in np.split(order, ends[:-1]) if len(rows)]

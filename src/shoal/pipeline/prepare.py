"""Preparing: what a block must know of the whole is found in passes over all records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.aggregation import Rescaling
from shoal.blocking import Gather, RecordBlocks, block_records, kd_blocks
from shoal.blocking.blocks import PartBlocks
from shoal.blocking.categories import category_digits
from shoal.blocking.cells import extent
from shoal.blocking.record_blocks import MIXED_BLOCK, MIXED_FROM, blocking_of, record_blocks
from shoal.edits.apply import on_broken, without_promise
from shoal.edits.passes import Broken, columns_of, edits_of, excused_by
from shoal.errors import DataError, PlanError
from shoal.kernels.encoded import MODE
from shoal.kernels.standardize import Matrix, Scale
from shoal.messages import Message
from shoal.partitioning.diversity import refuse_impossible
from shoal.pipeline.at_risk import with_safe_records
from shoal.pipeline.dominance import refuse_dominated
from shoal.pipeline.encode import Counts
from shoal.pipeline.masker import BlockMasker, whole_of
from shoal.pipeline.moments import Extent, Moments, moments
from shoal.pipeline.partition import l_diversity_of
from shoal.pipeline.parts import Key, Parts, Tally, nearest_strata, parts_of, tally
from shoal.pipeline.records import EncodedRecords, Encoder, Records, Seen
from shoal.pipeline.rescale import Restoring
from shoal.pipeline.resolve import Resolved
from shoal.pipeline.sensitive import Frequencies, Sensitive, UnitPairs, frequencies, sensitive_of, values_of
from shoal.pipeline.summary import Summary
from shoal.pipeline.totals import combinations_of, refuse_small_domains
from shoal.pipeline.unit_codes import unit_codes
from shoal.pipeline.units import possible_units
from shoal.pipeline.verify import Promise
from shoal.pipeline.whole_file import unchanged_columns
from shoal.tables import Table
from shoal.tables.attributes import CATEGORIES, NUMBERS, Attribute, published_type

if TYPE_CHECKING:
    from shoal.pipeline.hybrid import Hybrid

Integers = NDArray[np.int64]

SEAM_RECORDS = 50_000  # in a block of groups: small blocks have so many borders that others meet them again


class FoldRows(Protocol):
    """A pass over encoded rows: see `shoal.pipeline.records.Records.fold_rows`."""

    def __call__(self, encoder: Encoder, look: Callable[[Matrix], Seen], step: str, /) -> Seen:
        """Look."""


@dataclass(frozen=True)
class Prepared:
    """What a block must know of the whole, and what was found on the way.

    Attributes
    ----------
    masker
        For every block.
    summary
        What a pass over all records has shown.
    missed, excluded
        Records left out because they miss a value, or break a rule.
    notes
        What to know of records that were left out, kept, or joined.
    """

    masker: BlockMasker
    summary: Summary
    missed: int
    excluded: int
    notes: list[Message]

    @property
    def _extents(self) -> dict[str, Extent]:
        numbers = [attribute for attribute in self.masker.attributes if attribute.type in NUMBERS]
        return dict(zip((each.name for each in numbers), extents_of(numbers, self.summary), strict=True))

    @property
    def largest(self) -> dict[str, float]:
        """The largest absolute value of each number."""
        return {name: max(abs(extent.low), abs(extent.high)) for name, extent in self._extents.items()}

    @property
    def lows(self) -> dict[str, float]:
        """The least value of each number."""
        return {name: extent.low for name, extent in self._extents.items()}

    @property
    def heaviest(self) -> float:
        """The largest survey weight."""
        weights = self.masker.plan.weights
        return 1.0 if weights is None else float(self.summary.columns[weights].high or 1.0)

    def restoring(self, masker: BlockMasker) -> Restoring:
        """Return what looks at variances before and after masking."""
        return Restoring(masker, list(self._extents.values()), self.heaviest)

    @property
    def suppressed(self) -> int:
        """How many records are left out."""
        return self.missed + self.excluded + self.masker.parts.suppressed


def prepare(resolved: Resolved, records: Records) -> Prepared:
    """Find parts, scales and frequencies of sensitive values, without dividing the records: see `with_blocks`.

    Raises
    ------
    DataError
        If too few records are left, or in a stratum, or records break rules.
    """
    plan, attributes = resolved.plan, resolved.attributes
    hybrid = _hybrid(resolved) if plan.draws else None
    if hybrid is not None:
        plan = plan.decided(seed=None)  # it goes no further than here
    types = {
        attribute.name: published_type(attribute, whole=plan.publishes_whole(attribute.name))
        for attribute in attributes
        if attribute.name in plan.changed
    }
    everyone = Parts([Key()], [resolved.summary.records], [np.zeros(1, np.int64)] * len(plan.partitioned))
    decimal = records.outline.decimal
    masker = BlockMasker(plan, attributes, types, resolved.summary.records, everyone, decimal=decimal, hybrid=hybrid)
    if plan.unit_as == "pseudonym":  # neither in the plan nor by the seed: who has these must not find the units
        masker = replace(masker, key=token_bytes(32))
    masker = replace(masker, households=resolved.households)
    if resolved.strategy is not None and resolved.summary.edits is not None:
        edits = edits_of(resolved.strategy, resolved.summary.edits, resolved.levels, whole_of(attributes, plan), plan)
        masker = replace(masker, edits=edits)
    masker = replace(masker, domains=combinations_of(plan, records))
    seen = _looked_through(masker, records)
    notes = _on_left_out(masker, seen)
    if masker.edits is not None:
        excused = excused_by(masker.edits, seen.broken, plan)
        notes += on_broken(seen.broken.named(masker.edits.rules), seen.broken.records, plan)
        masker = replace(masker, edits=replace(masker.edits, excused=excused))
    masker = _with_parts(masker, seen.tally, records, resolved.summary)
    notes += masker.parts.notes
    if plan.l is not None or plan.t is not None:
        masker = replace(masker, sensitive=[_sensitive(masker, name, records) for name in plan.confidential])
    if (wanted := l_diversity_of(plan)) is not None:
        for each in masker.sensitive:
            refuse_impossible(each.name, each.counts[: len(each.values)], wanted)
    if not masker.scales:
        masker = replace(masker, scales=scales_of(masker, records, resolved.summary))
    refuse_dominated(masker, records)
    refuse_small_domains(masker, records)
    masker = with_safe_records(masker, records)
    if plan.method == "ms":
        masker = replace(masker, hybrid=_regressed(masker, records))
    return Prepared(masker, resolved.summary, seen.missed, seen.excluded, notes)


def _hybrid(resolved: Resolved) -> "Hybrid":
    """Prepare hybrid data; refuse what the attributes do not allow the plan to ask for."""
    from shoal.pipeline.hybrid import hybrid_of

    numbers = [attribute for attribute in resolved.attributes if attribute.type in NUMBERS]
    extents = {each.name: extent for each, extent in zip(numbers, extents_of(numbers, resolved.summary), strict=True)}
    return hybrid_of(resolved.plan, resolved.attributes, resolved.rules, extents)


def _regressed(masker: BlockMasker, records: Records) -> "Hybrid | None":
    """Regress confidential attributes on quasi-identifiers, for the noise of Muralidhar-Sarathy."""
    from shoal.pipeline.hybrid_noise import products_of
    from shoal.pipeline.hybrid_parts import parts_of as hybrid_parts_of

    plan, scales = masker.plan, masker.scales
    found = records.fold_rows(
        masker, lambda rows: products_of(hybrid_parts_of(masker.of(rows), plan), scales), "measure"
    )
    return None if masker.hybrid is None else masker.hybrid.regressed(found, masker.attributes, plan, scales)


@dataclass(frozen=True)
class _Seen:
    """What the pass for parts has shown."""

    tally: Tally
    broken: Broken
    missed: int = 0
    excluded: int = 0

    def __add__(self, other: "_Seen") -> "_Seen":
        return _Seen(
            self.tally + other.tally,
            self.broken + other.broken,
            self.missed + other.missed,
            self.excluded + other.excluded,
        )


def _looked_through(masker: BlockMasker, records: Records) -> _Seen:
    """Count strata and parts, records that miss a value and records that break rules, where any of it matters."""
    plan = masker.plan
    if plan.strata is None and masker.edits is None and plan.missing != "suppress":
        return _Seen(Tally({Key(): (masker.records, 1)}), Broken())
    used = plan.used if plan.missing == "suppress" else []
    ruled = [] if masker.edits is None else columns_of(masker.edits.rules)
    names = list(dict.fromkeys([*used, *(plan.strata or []), *ruled, *plan.roles["unit"], *plan.roles["household"]]))
    return records.fold(partial(_look, masker), [name for name in names if name in records.outline.names], "scan")


def _look(masker: BlockMasker, piece: pa.Table, start: int | None) -> _Seen:
    table = Table(piece)
    complete = np.ones(len(piece), dtype=bool)
    if masker.plan.missing == "suppress":
        complete = ~np.logical_or.reduce([np.isnan(codes) for codes in masker.codes(piece)])
    keep, broken = complete, Broken()
    if masker.edits is not None:
        broken, breaks = masker.edits.broken(table, complete, start)
        keep = complete & ~breaks if masker.edits.exclude else complete
    column = masker.plan.unit or masker.plan.household
    units = None if column is None else unit_codes(table, column)
    what = "household" if masker.plan.unit is None else "unit"
    found = tally(*masker.keys(piece), keep, start, units, masker.plan.k or 0, what)
    return _Seen(found, broken, int((~complete).sum()), int((complete & ~keep).sum()))


def _on_left_out(masker: BlockMasker, seen: _Seen) -> list[Message]:
    plan = masker.plan
    left = masker.records - seen.missed
    if seen.missed and left < (plan.k or 0):
        raise DataError("too-few-complete", number=left, counts="record", k=plan.k, grouping=not plan.draws)
    if seen.excluded and (obeying := left - seen.excluded) < (plan.k or 0):
        raise DataError("too-few-obeying", records=obeying, k=plan.k, keeping=not plan.draws)
    if seen.tally.units is not None and (units := seen.tally.protected(seen.tally.keys)) < plan.k:
        raise DataError("too-few-units-left", number=units, counts=seen.tally.counts, k=plan.k)
    return [Message("incomplete-left-out", records=seen.missed)] if seen.missed else []


def _with_parts(masker: BlockMasker, found: Tally, records: Records, summary: Summary) -> BlockMasker:
    """Decide which records never share a group, and which are left out."""
    scales: dict[str, Scale] = {}

    def merge(strata: list[tuple[Any, ...]], sizes: list[int]) -> list[int]:
        everyone = replace(masker, parts=_apart(masker, found, strata))
        scales.update(scales_of(everyone, records, summary))
        profiles = records.fold_rows(
            replace(everyone, scales=scales), partial(_profiles, replace(everyone, scales=scales)), "measure"
        )
        of = np.stack([profiles.sums[j] for j in range(len(strata))]).astype(float)
        return nearest_strata(sizes, of, masker.plan.k, found.units_of(strata))

    strategy = None if masker.edits is None else masker.edits.kept
    parts = parts_of(found, masker.plan, strategy, merge)
    masker = replace(masker, parts=parts, records=sum(parts.sizes), scales=scales)
    if masker.edits is not None:
        kept = without_promise(masker.edits.kept, parts.given_up)
        masker = replace(masker, edits=replace(masker.edits, kept=kept))
    return masker


def _apart(masker: BlockMasker, found: Tally, strata: Sequence[tuple[Any, ...]]) -> Parts:
    """Part records by their strata alone."""
    keys = [key for stratum in strata for key in found.keys if key.stratum == stratum]
    number = {stratum: place for place, stratum in enumerate(strata)}
    homes = np.array([number[key.stratum] for key in keys], dtype=np.int64)
    return Parts(keys, [found.keys[key][0] for key in keys], [homes] * len(masker.plan.partitioned))


@dataclass(frozen=True)
class _Profiles:
    """For each stratum, sums over its records of what describes them, in units so small that sums are exact."""

    sums: NDArray[np.int64]

    def __add__(self, other: "_Profiles") -> "_Profiles":
        return _Profiles(self.sums + other.sums)


_DIGITS = 24  # binary ones after the point, if sums of all records leave room for them


def _units(masker: BlockMasker) -> int:
    """Return how many binary digits after the point a profile counts: sums of all records fit in 64 bits."""
    largest = 1.0  # a sum of absolute z-scores is at most the number of records
    for attribute in masker.attributes:
        weight = np.sqrt(masker.plan.attribute_weights.get(attribute.name, 1.0))
        scale = masker.scales[attribute.name]
        weight *= max(1.0, np.sqrt(scale.apart))
        if attribute.type == "ordinal":
            weight *= len(attribute.levels or []) / (scale.spread or 1.0)
        elif attribute.type in NUMBERS and masker.plan.standardize == "none":
            ends = np.ldexp([scale.shift, scale.shift + scale.spread], scale.exponent)
            weight *= np.abs(ends).max()
        largest = max(largest, float(weight))
    return min(_DIGITS, 61 - int(np.frexp(largest)[1]) - masker.records.bit_length())


def _profiles(masker: BlockMasker, rows: Matrix) -> _Profiles:
    """Describe strata: numbers by their values, a missing one counting as the mean, and categories one by one."""
    space = masker.space(rows)
    stratum = masker.parts.homes[0][rows[:, -1].astype(np.int64)]
    strata = int(masker.parts.homes[0].max()) + 1
    columns: list[NDArray[np.float64]] = []
    for j, values in enumerate(space.values.T):
        if masker.plan.standardize == "none" and masker.attributes[j].type in NUMBERS:
            columns.append(np.nan_to_num(rows[:, j] * np.sqrt(space.apart[j]), nan=0.0))  # the same in every piece
        elif space.kinds[j] != MODE:
            columns.append(np.nan_to_num(values, nan=0.0))
        else:
            codes = np.where(np.isnan(values), space.levels[j], values).astype(np.int64)
            one_each = np.eye(int(space.levels[j]) + 1)[codes]
            columns += list((one_each * np.sqrt(space.apart[j] / 2)).T)  # the distance of two categories
    sums, units = np.zeros((strata, len(columns)), dtype=np.int64), _units(masker)
    for j, column in enumerate(columns):
        np.add.at(sums[:, j], stratum, np.rint(np.ldexp(column, units)).astype(np.int64))
    return _Profiles(sums)


def extents_of(attributes: Sequence[Attribute], summary: Summary) -> list[Extent]:
    """Return the ranges of numbers and dates, in codes: ticks count from the first moment."""
    found = []
    for attribute in attributes:
        column = summary.columns[attribute.name]
        low, high = float(column.low or 0), float(column.high or 0)
        if attribute.type != "continuous":
            low, high = 0.0, (int(column.high or 0) - int(column.low or 0)) / attribute.tick
        found.append(Extent(low, high))
    return found


def scales_of(masker: BlockMasker, records: EncodedRecords, summary: Summary) -> dict[str, Scale]:
    """Find the scale of each attribute among the records that are published.

    Losses of numbers are measured on it too, so there is one where distances have none.
    """
    at = [j for j, attribute in enumerate(masker.attributes) if attribute.type in NUMBERS]
    numbers = [masker.attributes[j] for j in at]
    extents = extents_of(numbers, summary)

    def look(rows: Matrix) -> _Spread:
        spread = moments(rows[:, at], extents) if masker.plan.standardize == "zscore" else _Ranges.of(rows[:, at])
        return _Spread(spread, Counts.of(rows, masker.attributes))

    found = records.fold_rows(masker, look, "measure")
    given = dict(zip((each.name for each in numbers), found.numbers.scales(), strict=True))
    return found.counts.scales(masker.attributes, given, balanced=masker.plan.balanced)


@dataclass(frozen=True)
class _Spread:
    """How numbers vary, and how many records have each level or category."""

    numbers: "Moments | _Ranges"
    counts: Counts

    def __add__(self, other: "_Spread") -> "_Spread":
        return _Spread(self.numbers + other.numbers, self.counts + other.counts)  # type: ignore[operator]


@dataclass(frozen=True)
class _Ranges:
    """The least and the largest value of each attribute."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, columns: Matrix) -> "_Ranges":
        return cls(np.fmin.reduce(columns, axis=0, initial=np.inf), np.fmax.reduce(columns, axis=0, initial=-np.inf))

    def __add__(self, other: "_Ranges") -> "_Ranges":
        return _Ranges(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def scales(self) -> list[Scale]:
        found = []
        for low, high in zip(self.low, self.high, strict=True):
            exponent = Extent(float(low), float(high)).exponent
            bottom = float(np.ldexp(low, -exponent))
            found.append(Scale(bottom, float(np.ldexp(high, -exponent)) - bottom, exponent))
        return found


def _sensitive(masker: BlockMasker, name: str, records: Records) -> Sensitive:
    """Count the values of a sensitive attribute among the records that are published, or the units that have them."""
    plan = masker.plan
    type_, levels = plan.types.get(name), plan.levels.get(name)
    stored = records.outline.column(name).type
    names = list(dict.fromkeys([*masker.names, name]))

    def look(piece: pa.Table, start: int | None) -> Frequencies:
        keep = masker.encode(piece)[:, -1] >= 0
        return frequencies(Table(piece), name, type_, levels, keep)

    def look_at_units(piece: pa.Table, start: int | None) -> UnitPairs:
        rows, table = masker.encode(piece), Table(piece)
        keep = rows[:, -1] >= 0
        found = frequencies(table, name, type_, levels, keep)
        units = masker.units(rows)
        return UnitPairs.of(found, values_of(table, name).filter(pa.array(keep)), np.asarray(units)[keep])

    if plan.unit is None:
        return sensitive_of(records.fold(look, names, "scan"), name, stored, type_, levels)
    pairs = records.fold(look_at_units, names, "scan")
    return pairs.counted_in(sensitive_of(pairs.records, name, stored, type_, levels))


def block_size(masker: BlockMasker, memory: int | None, workers: int | None = None, most: int | None = None) -> int:
    """Return the most records in a block: as asked for, as many as suit the search, or as memory allows.

    Parameters
    ----------
    masker
        Of the records.
    memory
        Bytes for the blocks that are masked at the same time; None if there is no limit.
    workers
        How many blocks are masked at the same time; as many as there are cores if not given.
    most
        The most records in a block where they do not fit in one.
    """
    given = None if masker.plan.scale is None else masker.plan.scale.most
    if given is not None:
        return given
    n, least = masker.records, 2 * (masker.plan.k or 0)
    room = n if memory is None else block_records(memory, masker.width, n, workers)
    if room < min(n, least):
        raise PlanError("memory-below-2k", field="scale.memory", least=least)
    if not masker.plain and n > MIXED_FROM:
        return min(room, max(MIXED_BLOCK, least))
    return room if room >= n or most is None else min(room, max(most, least))


def with_blocks(masker: BlockMasker, records: EncodedRecords, most: int) -> BlockMasker:
    """Divide the records, or those of each part, into blocks of at most so many, as the plan's scale says.

    Raises
    ------
    DataError
        If the parts of several attribute blocks together have too few records for blocks of their own.
    """
    if masker.records <= most:
        return masker
    masker = with_digits(masker, records)
    _refuse_constant(masker, records)
    dimensions = masker.outline(np.empty((0, masker.width))).shape[1]
    finest = masker.parts.finest
    sizes = np.bincount(finest, weights=masker.parts.sizes).astype(np.int64).tolist()

    def divided(part: int | None) -> RecordBlocks:
        return record_blocks(_gather(masker, records.fold_rows, finest, part), dimensions, masker.plan, most)

    if len(sizes) > 1 and min(sizes) < masker.plan.k:
        small = sum(size < masker.plan.k for size in sizes)
        raise DataError("parts-of-blocks-below-k", parts=small, k=masker.plan.k)
    return replace(masker, blocks=_divided(sizes, most, divided))


def with_digits(masker: BlockMasker, records: EncodedRecords) -> BlockMasker:
    """Include nominal attributes in k-d blocks."""
    nominal = [j for j, attribute in enumerate(masker.attributes) if attribute.type in CATEGORIES]
    if not nominal or blocking_of(masker.plan) != "kd":
        return masker
    attributes = [masker.attributes[j] for j in nominal]
    found = records.fold_rows(masker, lambda rows: Counts.of(rows[:, nominal], attributes), "divide")
    digits = [category_digits(counts) for counts in found.counts]
    return replace(masker, digits={each.name: own for each, own in zip(attributes, digits, strict=True)})


def _refuse_constant(masker: BlockMasker, records: EncodedRecords) -> None:
    """Refuse to divide by named attributes of which all records have the same value."""
    scale = masker.plan.scale
    if scale is None or scale.dimensions is None:
        return
    box = records.fold_rows(masker, lambda rows: extent(masker.outline(rows)), "divide")
    if (box.low == box.high).all():
        raise PlanError("constant-dimensions", field="scale.dimensions", columns=scale.dimensions)


def with_seams(masker: BlockMasker, fold: FoldRows) -> BlockMasker:
    """Divide groups that were formed in blocks into others, whose borders lie elsewhere.

    Parameters
    ----------
    masker
        With the blocks in which groups were formed.
    fold
        A pass over the rows of all records, with what `BlockMasker.to_seams` tells of them.
    """
    dimensions = masker.outline(np.empty((0, masker.width))).shape[1]
    masker = replace(masker, beside=dimensions + 2)
    finest = masker.parts.finest
    sizes = np.bincount(finest, weights=masker.parts.sizes).astype(np.int64).tolist()

    def divided(part: int | None) -> RecordBlocks:
        return kd_blocks(_gather(masker, fold, finest, part), masker.plan.k, SEAM_RECORDS, off_centre=True)

    return replace(masker, blocks=_divided(sizes, SEAM_RECORDS, divided))


def _divided(
    sizes: list[int], most: int, divided: Callable[[int | None], RecordBlocks]
) -> RecordBlocks | PartBlocks | None:
    """Divide all records, or those of each part, if there are more than a block may have."""
    if len(sizes) == 1:
        return divided(None) if sizes[0] > most else None
    return PartBlocks([divided(part) if count > most else None for part, count in enumerate(sizes)], sizes)


def _gather(masker: BlockMasker, fold: FoldRows, finest: Integers, part: int | None) -> Gather:
    """Return passes over what the blocks are made from, of all records or of one part."""

    def gather(look: Callable[[Matrix], Seen]) -> Seen:
        def within(rows: Matrix) -> Seen:
            own = rows if part is None else rows[finest[rows[:, -1].astype(np.int64)] == part]
            return look(masker.outline(own))

        return fold(masker, within, "divide")

    return gather


def promise_of(
    masker: BlockMasker,
    prepared: Prepared,
    outline: Table,
    rescaled: Mapping[str, Rescaling],
    slack: Mapping[str, float],
) -> Promise:
    """Collect what a release claims about itself.

    Parameters
    ----------
    masker, prepared
        How it was made.
    outline
        The table, or a stand-in with its columns.
    rescaled
        How variances were restored.
    slack
        How far outside the range of its group rules push each number.
    """
    return Promise(
        masker.plan,
        masker.changed,
        mixed=masker.parts.mixed,
        rescaled=rescaled,
        slack=slack,
        sensitive=masker.sensitive,
        edits=masker.edits,
        largest=prepared.largest,
        types=masker.types,
        heaviest=prepared.heaviest,
        unchanged=unchanged_columns(masker.plan, outline, prepared.summary.profiles),
        units=possible_units(masker.plan, outline),
        joined=0 if masker.safe is None else masker.safe.moved,
    )

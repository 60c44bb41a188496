"""Masking the table of households, one record each, before the records of persons are masked."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.standardize import Matrix
from shoal.parallel import Progress, Task, Watch, side_by_side
from shoal.pipeline.households import Households
from shoal.pipeline.masker import BlockMasker, MaskedBlock
from shoal.pipeline.parts import Parts
from shoal.pipeline.prepare import Prepared, scales_of, with_blocks
from shoal.pipeline.records import Encoder, Records, Seen
from shoal.plan import Plan

Integers = NDArray[np.int64]


def with_masked_households(
    masker: BlockMasker,
    prepared: Prepared,
    records: Records,
    block_size: Callable[[BlockMasker], int],
    progress: Progress,
) -> BlockMasker:
    """Mask every household once, where the plan names their numbers; members then publish what their household does.

    The table of households is held in memory on every backend: one row of numbers for each.

    Parameters
    ----------
    masker, prepared
        Of the records of persons.
    records
        Of the table.
    block_size
        Returns the most records in a block.
    progress
        Called with the step.
    """
    if masker.households is None:
        return masker
    rows, there = _one_each(masker, masker.households, records)
    own = _household_masker(masker, rows)
    table = _Rows(rows)
    own = replace(own, scales=scales_of(own, table, prepared.summary))
    own = with_blocks(own, table, block_size(own))
    masked, labels = _masked(own, rows, progress)
    return replace(masker, households=_published(masker.households, masker.plan.household_as, there, masked, labels))


@dataclass(frozen=True)
class _First:
    """The first row of each household, which of them have one, and whether members differ in weight or stratum."""

    rows: Matrix
    there: NDArray[np.bool_]
    differ: NDArray[np.bool_]

    def __add__(self, other: "_First") -> "_First":
        both = self.there & other.there
        rows = np.where(self.there[:, None], self.rows, other.rows)
        differ = self.differ | other.differ | (self.rows[both] != other.rows[both]).any(axis=0)
        return _First(rows, self.there | other.there, differ)


def _one_each(masker: BlockMasker, households: Households, records: Records) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return a row for each household that is published: its attributes, its survey weight and its part.

    Raises
    ------
    DataError
        If the members of a household have different weights, or are in different strata.
    """
    names = [each.name for each in masker.attributes]
    at = [names.index(name) for name in households.attributes]
    weighted = masker.plan.weights is not None
    own = [*at, *([len(names)] if weighted else []), masker.width - 1]

    def look(rows: Matrix) -> _First:
        number = rows[:, masker.household_at].astype(np.int64)
        first = np.full((len(households), len(own)), np.nan)
        first[number[::-1]] = rows[::-1][:, own]
        there = np.zeros(len(households), dtype=bool)
        there[number] = True
        return _First(first, there, (rows[:, own] != first[number]).any(axis=0))

    found = records.fold_rows(masker, look, "measure")
    if weighted and found.differ[len(at)]:
        raise DataError("weights-within-household", column=masker.plan.weights)
    if found.differ[-1]:
        raise DataError("strata-within-household")
    return np.ascontiguousarray(found.rows[found.there]), found.there


def _household_masker(masker: BlockMasker, rows: Matrix) -> BlockMasker:
    """Return what masks the table of households."""
    names = masker.plan.household_attributes
    part = rows[:, -1].astype(np.int64)
    homes, k = masker.parts.homes[0], masker.plan.k
    sizes = np.bincount(homes[part])
    if (small := sizes[(sizes > 0) & (sizes < k)]).size:
        raise DataError("households-below-k", k=k, strata=len(small) if masker.plan.strata is not None else None)
    given = masker.plan.attribute_weights
    plan = masker.plan.decided(
        quasi=names,
        household=None,
        household_attributes=[],
        attribute_weights={name: weight for name, weight in given.items() if name in names},
        **(_half_the_effort(masker.plan) if len(masker.columns) > 1 else {}),
    )
    counts = np.bincount(part, minlength=len(masker.parts.keys)).tolist()
    return BlockMasker(
        plan,
        [each for each in masker.attributes if each.name in names],
        {name: kind for name, kind in masker.types.items() if name in names},
        len(rows),
        Parts(masker.parts.keys, counts, [homes]),
        decimal=masker.decimal,
        known=masker.known,
    )


def _half_the_effort(plan: Plan) -> dict[str, Any]:
    """Return the fields of a plan for half of its effort: the other half is for persons."""
    half = plan.effort.of(0.5)
    if isinstance(plan.refine, float):
        return {"refine": half.seconds}
    return {"budget": half.steps if half.seconds is None else f"{half.seconds:g}s"}


@dataclass(frozen=True)
class _Rows:
    """The table of households, whose rows are encoded already."""

    rows: Matrix

    def fold_rows(self, encoder: Encoder, look: Callable[[Matrix], Seen], step: str) -> Seen:
        """Look at all rows."""
        return look(self.rows)


def _masked(masker: BlockMasker, rows: Matrix, progress: Progress) -> tuple[Matrix, Integers]:
    """Mask the households of every block; return what they publish, and their groups."""
    blocks = masker.block_of(rows)
    places = [np.flatnonzero(blocks == block) for block in np.unique(blocks)]
    tasks: list[Task[Any]] = [partial(_in_one, masker, rows, place) for place in places]
    published, labels = np.empty((len(rows), len(masker.attributes))), np.empty(len(rows), dtype=np.int64)
    formed = 0
    for place, found in zip(places, side_by_side(tasks, len(rows), progress), strict=True):
        published[place], labels[place] = found.published, found.labels[:, 0] + formed
        formed = int(labels[place].max()) + 1
    return published, labels


def _in_one(masker: BlockMasker, rows: Matrix, place: Integers, *, watch: Watch) -> MaskedBlock:
    def run(tasks: Any, records: int) -> Any:
        found = [task(watch=watch) for task in tasks]
        if watch[1] != 0:
            raise KeyboardInterrupt
        return found

    return masker.mask(np.ascontiguousarray(rows[place]), run)


def _published(
    households: Households, as_what: str, there: NDArray[np.bool_], masked: Matrix, labels: Integers
) -> Households:
    """Return what each household publishes, in order; those that are left out publish nothing."""
    values, groups = np.full((len(there), masked.shape[1]), np.nan), np.full(len(there), -1, dtype=np.int64)
    values[there], groups[there] = masked, labels
    pseudonyms = np.random.default_rng().permutation(len(there)) + 1 if as_what == "pseudonym" else None
    return replace(households, published=values, labels=groups, pseudonyms=pseudonyms)

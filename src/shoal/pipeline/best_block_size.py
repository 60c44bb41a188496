"""The best size of record blocks for some data: sizes are tried on regions of the file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.blocking import kd_blocks
from shoal.blocking.record_blocks import record_blocks
from shoal.kernels.standardize import Matrix
from shoal.messages import Message
from shoal.pipeline.loss import Losses
from shoal.pipeline.masker import BlockMasker
from shoal.pipeline.parts import Key, Parts
from shoal.pipeline.prepare import with_digits
from shoal.pipeline.records import Records, Seen

_REGIONS = 3
_RECORDS, _MIXED_RECORDS = 90_000, 30_000  # in all regions, of numbers and of other types: some seconds
_FEWEST = 30  # groups in a block of the smallest size that is tried
_NEAR = 1.05  # where the time grows with the square of the size, a loss this near to the least is good enough


class Sized(Records, Protocol):
    """Records whose backend limits the size of blocks."""

    def block_size(self, masker: BlockMasker) -> int:
        """Return the most records in a block."""


def with_block_size(masker: BlockMasker, records: Sized) -> tuple[BlockMasker, list[Message]]:
    """Choose the size of record blocks where the plan leaves it to the data; return a note that says why.

    Some sizes are tried. Of numbers, whose groups are found in a tree, larger blocks take little longer: the size of
    the least loss is chosen. Among other types the time grows with the square of the size, so it is the smallest whose
    loss is within 5 % of the least. If that is the largest tried, blocks are as large as memory allows. Files of more
    than 90,000 records (30,000, if not all are numbers) are tried in three regions, in which records lie as close
    together as in the file. Regions, sizes and losses do not depend on the backend or on the clock.
    """
    scale = masker.plan.scale
    if scale is None or scale.block_size != "auto":
        return masker, []
    free = replace(masker, plan=masker.plan.decided(scale=scale.model_copy(update={"block_size": None})))
    outlined = with_digits(free, records)
    regions = _regions(outlined, records)
    tried = losses_by_size(outlined, regions, records.block_size(free))
    least, largest = min(tried, key=lambda size: tried[size]), max(tried)
    chosen = least if masker.plain else min(size for size in tried if tried[size] <= _NEAR * tried[least])
    seen = sum(map(len, regions))
    others = {size: tried[size] for size in sorted(tried) if size != chosen}
    if chosen == largest:
        best = min(others, key=lambda size: others[size], default=None)
        why = Message("too-few-for-sizes")
        if best is not None:
            loss, other = tried[largest], others[best]
            why = Message("largest-block-size-loses-least", loss=loss, other=best, other_loss=other)
        return free, [Message("block-size-as-memory-allows", records=seen, tried=why)]
    beside = [size for size in others if size < chosen][-1:] + [size for size in others if size > chosen][:1]
    note = Message(
        "block-size-chosen",
        records=seen,
        size=chosen,
        loss=tried[chosen],
        why=Message("loses-least") if chosen == least else Message("loses-nearly-least", least=least),
        others=[Message("block-size-loses", size=size, loss=tried[size]) for size in beside],
    )
    return replace(masker, plan=masker.plan.decided(scale=scale.model_copy(update={"block_size": chosen}))), [note]


@dataclass(frozen=True)
class _Rows:
    """The rows of some regions, with the number of each one's region."""

    rows: Matrix
    region: NDArray[np.int64]

    def __add__(self, other: "_Rows") -> "_Rows":
        return _Rows(np.concatenate([self.rows, other.rows]), np.concatenate([self.region, other.region]))


def _regions(masker: BlockMasker, records: Records) -> list[Matrix]:
    """Return the rows of all records, or of three regions of records that lie close together."""
    most = _RECORDS if masker.plain else _MIXED_RECORDS
    if masker.records <= most:
        rows = records.fold_rows(masker, lambda rows: _Rows(rows, np.zeros(len(rows), np.int64)), "divide").rows
        return [_in_one_part(rows)]

    def gather(look: Callable[[Matrix], Seen]) -> Seen:
        return records.fold_rows(masker, lambda rows: look(masker.outline(rows)), "divide")

    blocks = kd_blocks(gather, masker.plan.k, most // _REGIONS)
    chosen = np.unique(np.linspace(0, len(blocks.sizes) - 1, _REGIONS + 2)[1:-1].astype(np.int64))

    def look(rows: Matrix) -> _Rows:
        region = blocks.assign(masker.outline(rows))
        there = np.isin(region, chosen)
        return _Rows(rows[there], region[there])

    found = records.fold_rows(masker, look, "divide")
    return [_in_one_part(found.rows[found.region == number]) for number in chosen]


def _in_one_part(rows: Matrix) -> Matrix:
    """Return rows that strata and rules do not part."""
    return np.column_stack([rows[:, :-1], np.zeros(len(rows))])


def losses_by_size(masker: BlockMasker, regions: Sequence[Matrix], most: int) -> dict[int, float]:
    """Mask regions in blocks of several sizes, the last as large as a region; return the loss of each in percent."""
    masker = _simple(masker, sum(map(len, regions)))
    region = min(map(len, regions))
    sizes = [digit * 10**zeros for zeros in range(1, 5) for digit in (1, 2, 5)]
    sizes = [size for size in sizes if _FEWEST * masker.plan.k <= size <= min(most, region // 2)]
    return {size: _loss(masker, regions, size) for size in [*sizes, min(most, region)]}


def _simple(masker: BlockMasker, records: int) -> BlockMasker:
    """Return a masker that puts records into groups as the plan says, but all in one part, and without a search."""
    plan = masker.plan
    method = "mdav" if plan.method == "best" else plan.method
    plan = plan.decided(method=method, refine=False, budget=None, bound=False, l=None, t=None, edits=None)
    everyone = Parts([Key()], [records], [np.zeros(1, np.int64)] * len(plan.partitioned))
    return replace(masker, plan=plan, records=records, parts=everyone, sensitive=[], edits=None)


def _loss(masker: BlockMasker, regions: Sequence[Matrix], size: int) -> float:
    """Mask regions in blocks of at most so many records; return the loss in percent."""
    losses = Losses(masker.changed, masker.scales)
    at = [masker.plan.used.index(attribute.name) for attribute in masker.changed]
    sums = np.zeros(losses.size)
    for rows in regions:
        read = np.empty((len(rows), len(at)))
        for place in _places(masker, rows, size):
            read[place] = masker.as_read(masker.decode(masker.mask(rows[place]).published, {}))
        sums += losses.measure(rows[:, at], read, masker.weights(rows))
    return float(losses.summary(sums)["IL"] or 0.0)  # none where no attribute varies


def _places(masker: BlockMasker, rows: Matrix, size: int) -> list[NDArray[np.int64]]:
    """Return the places of the rows of each block."""
    if size >= len(rows):
        return [np.arange(len(rows))]
    outline = masker.outline(rows)
    blocks = record_blocks(lambda look: look(outline), outline.shape[1], masker.plan, size).assign(outline)
    return np.split(np.argsort(blocks, kind="stable"), np.cumsum(np.bincount(blocks))[:-1])

"""Blocks masked on all cores: records in, what they publish out, and what is added up on the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.backends.file.spill import Spill
from shoal.backends.file.verify import described
from shoal.blocking import BlockCost, sampled_cost
from shoal.blocking.blocks import PartBlocks
from shoal.kernels.standardize import Matrix
from shoal.parallel import Progress, Task, Watch, side_by_side
from shoal.partitioning.methods import partitioner
from shoal.pipeline.loss_sums import Losses, Sums
from shoal.pipeline.masker import Frame

_BATCHES = 256  # pieces of work: enough to keep all cores busy to the end, few enough to wait for the disk after each
_ROWS = 1 << 16  # records that are measured at a time
_HEAD = 5  # before what a batch has for each attribute and its sums: whether it is done, how its originals hide
_REGIONS, _SAMPLE = 3, 200_000  # where blocking is tried with and without, and on how many records

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Masked:
    """What was added up over all records.

    Attributes
    ----------
    sums
        Of `Losses`.
    before
        How well the original records hide.
    slack
        How far each attribute may lie outside the range of its group, to keep rules.
    """

    sums: Sums
    before: dict[str, float]
    slack: dict[str, float]


@dataclass(frozen=True)
class Masking:
    """The blocks of a file, and where they are.

    Attributes
    ----------
    frame, losses
        How blocks are masked, and what is added up.
    sizes
        Of the blocks.
    records, published
        The records by block, and what they publish.
    done
        A row for each batch of blocks.
    """

    frame: Frame
    losses: Losses
    sizes: Integers
    records: Spill[np.float64]
    published: Spill[np.float64]
    done: Spill[np.float64]

    @staticmethod
    def width(losses: Losses) -> int:
        """Return how wide the rows for batches are."""
        return _HEAD + len(losses.attributes) + losses.size

    @cached_property
    def starts(self) -> Integers:
        """Where the region of each block begins."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def _batches(self) -> list[Integers]:
        """Put small blocks together, so that there is not a piece of work for each."""
        per_batch = max(1, int(self.sizes.sum()) // _BATCHES)
        batch_of = self.starts // per_batch
        return np.split(np.arange(len(self.sizes)), np.flatnonzero(np.diff(batch_of)) + 1)

    def run(self, progress: Progress) -> Masked:
        """Mask all blocks that are not masked yet."""
        batches = self._batches
        if len(self.done) < len(batches):
            self.done.write(0, np.zeros((len(batches), self.done.width)))
        is_done = self.done.read(0, len(batches))[:, 0] == 1
        tasks: list[Task[None]] = [
            partial(self._mask, number, blocks) for number, blocks in enumerate(batches) if not is_done[number]
        ]
        before = sum(int(self.sizes[blocks].sum()) for blocks, done in zip(batches, is_done, strict=True) if done)
        total = int(self.sizes.sum())
        side_by_side(tasks, total, lambda step, done, _: progress(step, before + done, total))
        rows = self.done.read(0, len(batches))
        groups, uniques = (int(column.sum()) for column in rows[:, 1:3].T)
        hidden = described(total, groups, int(rows[:, 3].min()), int(rows[:, 4].max()), uniques)
        names = self.frame.plan.masked
        slack, sums = np.split(rows[:, _HEAD:], [len(names)], axis=1)
        return Masked(sums.sum(axis=0), hidden, dict(zip(names, slack.max(axis=0).tolist(), strict=True)))

    def _mask(self, number: int, blocks: Integers, *, watch: Watch) -> None:
        """Mask some blocks one after the other; then they are done, also if the machine stops."""
        sums, slack, classes = np.zeros(self.losses.size), np.zeros(len(self.frame.attributes)), []
        for block in blocks:
            start, size = int(self.starts[block]), int(self.sizes[block])
            codes = self.records.read(start, size)
            published, outside = self.frame.mask(codes, watch if len(blocks) == 1 else None)
            if watch[1]:
                return
            slack = np.maximum(slack, outside)
            self.published.write(start, published)
            for at in range(0, size, _ROWS):  # in pieces, or it would take more memory than masking
                read = self.frame.as_read(published[at : at + _ROWS])
                sums += self.losses.measure(codes[at : at + _ROWS], read)
            classes.append(_class_sizes(codes))
            watch[0] = max(watch[0], size) if len(blocks) == 1 else watch[0] + size
        alike = np.concatenate(classes)
        head = [len(alike), (alike == 1).sum(), alike.min(), alike.max(), *slack]
        self.published.sync()
        self.done.write(number, np.array([[0.0, *head, *sums]]))
        self.done.write(number, np.array([[1.0, *head, *sums]]))

    def cost(self, progress: Progress) -> BlockCost | None:
        """Estimate what blocking cost, in some regions of neighbouring blocks; None if nothing can be said.

        Blocks are numbered along a curve that fills the space, so that the next one is a neighbour; not so where rules
        part the records.
        """
        space = self.frame.space(np.zeros((1, len(self.frame.attributes))))
        parted = isinstance(self.frame.blocks, PartBlocks)
        if len(self.sizes) == 1 or parted or not space.plain or self.frame.plan.missing != "error":
            return None

        def show(step: str, done: int, total: int) -> None:
            progress("cost" if step == "partition" else step, done, total)

        search = partitioner(self.frame.plan.method, self.frame.plan.gain)
        parts = []
        for first in np.unique(np.linspace(0, len(self.sizes) - 2, _REGIONS).astype(np.int64)):
            X, blocks = self._region(int(first), _SAMPLE // _REGIONS)
            parts.append(sampled_cost(X, self.frame.plan.k, search, blocks, most=len(X), progress=show))
        return _added(parts)

    def _region(self, first: int, most: int) -> tuple[Matrix, Integers]:
        """Read a block and those after it, as many as fit and at least one; if two do not fit, they are thinned."""
        fit = int(np.searchsorted(np.cumsum(self.sizes[first:]), most, side="right"))
        chosen = range(first, min(first + max(2, fit), len(self.sizes)))
        step = -(-int(self.sizes[chosen.start : chosen.stop].sum()) // most)
        pieces = []
        for block in chosen:
            codes = self.records.read(int(self.starts[block]), int(self.sizes[block]))
            least = max(1, min(step, len(codes) // self.frame.plan.k))
            pieces.append(self.frame.space(np.ascontiguousarray(codes[::least])).values)
        sizes = [len(piece) for piece in pieces]
        return np.concatenate(pieces), np.repeat(np.arange(len(sizes)), sizes)


def _added(parts: Sequence[BlockCost]) -> BlockCost:
    def total(of: str) -> Any:
        return sum(getattr(part, of) for part in parts)

    return BlockCost(total("records"), total("blocked"), total("whole"))


def _class_sizes(codes: Matrix) -> Integers:
    """Count how many records share each combination of values; missing equals missing."""
    ordered = codes[np.lexsort(codes.T)]
    apart = ((ordered[1:] != ordered[:-1]) & ~(np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))).any(axis=1)
    ends = np.append(np.flatnonzero(apart) + 1, len(codes))
    return np.diff(ends, prepend=0)

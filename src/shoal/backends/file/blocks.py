"""Blocks of a file masked on all cores: rows in, what they publish out, and what is added up on the way."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.aggregation import Rescaling
from shoal.backends.file.spill import Spill
from shoal.errors import CheckFailed
from shoal.kernels.standardize import Matrix
from shoal.parallel import Progress, Task, Watch, side_by_side
from shoal.pipeline.loss import Losses, Sums
from shoal.pipeline.masker import BlockMasker
from shoal.pipeline.records import Seen

if TYPE_CHECKING:
    from shoal.pipeline.hybrid_sums import HybridSums

_BATCHES = 256  # pieces of work: enough to keep all cores busy to the end, few enough to wait for the disk after each
_ROWS = 1 << 16  # records that are measured at a time
# Of a batch: whether it is done; classes, uniques, smallest, largest; groups of their own, misread, dominated
_HEAD = 8

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Masked:
    """What was added up over all records.

    Attributes
    ----------
    before
        How well the original records hide: classes, uniques, the smallest and the largest.
    slack
        How far each attribute may lie outside the range of its group, to keep rules.
    own, misread, dominated
        As in `shoal.pipeline.masker.MaskedBlock`.
    sums
        Of `Losses`; None where values were not final yet.
    hybrid
        What hybrid data show; None where there are none.
    """

    before: dict[str, int]
    slack: dict[str, float]
    own: int
    misread: int
    sums: Sums | None
    hybrid: "HybridSums | None" = None
    dominated: int = 0


@dataclass(frozen=True)
class Masking:
    """The blocks of a file, and where they are.

    Attributes
    ----------
    masker, losses
        How blocks are masked, and what is added up.
    records, published
        The rows by block, and what they publish.
    done
        A row for each batch of blocks.
    """

    masker: BlockMasker
    losses: Losses
    records: Spill[np.float64]
    published: Spill[np.float64]
    done: Spill[np.float64]

    @staticmethod
    def width(masker: BlockMasker, losses: Losses) -> int:
        """Return how wide the rows for batches are."""
        shown = masker.no_hybrid()
        return _HEAD + len(losses.attributes) + losses.size + (0 if shown is None else len(shown.row()))

    @property
    def sizes(self) -> Integers:
        """How many records each block has."""
        return self.masker.sizes

    @cached_property
    def starts(self) -> Integers:
        """Where the region of each block begins."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def _batches(self) -> list[Integers]:
        """Combine small blocks into fewer pieces of work."""
        per_batch = max(1, int(self.sizes.sum()) // _BATCHES)
        batch_of = self.starts // per_batch
        return np.split(np.arange(len(self.sizes)), np.flatnonzero(np.diff(batch_of)) + 1)

    def run(self, progress: Progress) -> Masked:
        """Mask all blocks that are not masked yet."""
        batches, total = self._batches, int(self.sizes.sum())
        if len(self.done) < len(batches):
            self.done.write(0, np.zeros((len(batches), self.done.width)))
        is_done = self.done.read(0, len(batches))[:, 0] == 1
        if len(batches) == 1 and not is_done[0]:
            self._mask_whole(progress)
        else:
            tasks: list[Task[None]] = [
                partial(self._mask, number, blocks) for number, blocks in enumerate(batches) if not is_done[number]
            ]
            before = sum(int(self.sizes[blocks].sum()) for blocks, done in zip(batches, is_done, strict=True) if done)
            side_by_side(tasks, total, lambda step, done, _: progress(step, before + done, total))
        return self._added(self.done.read(0, len(batches)))

    def _added(self, rows: Matrix) -> Masked:
        names = [attribute.name for attribute in self.losses.attributes]
        slack, sums, shown = np.split(rows[:, _HEAD:], [len(names), len(names) + self.losses.size], axis=1)
        hidden = {
            "groups": int(rows[:, 1].sum()),
            "uniques": int(rows[:, 2].sum()),
            "smallest": int(rows[:, 3].min()),
            "largest": int(rows[:, 4].max()),
        }
        own, misread, dominated = (int(column.sum()) for column in rows[:, 5:8].T)
        final = None if self.masker.plan.restore_variance else sums.sum(axis=0)
        none = self.masker.no_hybrid()
        hybrid = None if none is None else reduce(add, (none.of_row(row) for row in shown))
        most = dict(zip(names, slack.max(axis=0).tolist(), strict=True))
        return Masked(hidden, most, own, misread, final, hybrid, dominated)

    def _mask_whole(self, progress: Progress) -> None:
        """Mask one block that holds all records, its parts side by side."""
        blocks = np.arange(len(self.sizes))

        def run(tasks: Any, records: int) -> Any:
            return side_by_side(tasks, records, progress)

        self._mask(0, blocks, watch=np.zeros(3, np.int64), run=run)

    def _mask(self, number: int, blocks: Integers, *, watch: Watch, run: Any = None) -> None:
        """Mask some blocks one after the other; then they are done, also if the machine stops."""
        changed = len(self.losses.attributes)
        sums, slack, classes = np.zeros(self.losses.size), np.zeros(changed), []
        own, misread, dominated, hybrid = 0, 0, 0, self.masker.no_hybrid()
        for block in blocks:
            start, size = int(self.starts[block]), int(self.sizes[block])
            rows = self.records.read(start, size)
            found = self.masker.mask(rows, _watched(watch) if run is None else run)
            if watch[1]:
                return
            slack, own, misread = np.maximum(slack, found.slack), own + found.own, misread + found.misread
            dominated += found.dominated
            self.published.write(start, found.published)
            if hybrid is not None and found.hybrid is not None:
                hybrid += found.hybrid
                if hybrid.failures:
                    raise CheckFailed(list(hybrid.failures))
            if not self.masker.plan.restore_variance:
                sums += self.measure(rows, found.published, {})
            classes.append(found.classes)
            watch[0] += size
        alike = np.concatenate(classes)
        head = [len(alike), (alike == 1).sum(), alike.min(), alike.max(), own, misread, dominated, *slack]
        self.published.sync()
        shown = np.zeros(0) if hybrid is None else hybrid.row()
        self.done.write(number, np.array([[0.0, *head, *sums, *shown]]))
        self.done.write(number, np.array([[1.0, *head, *sums, *shown]]))

    def to_seams(self, seams: Spill[np.float64], progress: Progress) -> None:
        """Partition the records of all blocks, and write the group of each."""
        first = np.cumsum(self.masker.pieces) - self.masker.pieces
        tasks: list[Task[None]] = [partial(self._to_seams, seams, first, blocks) for blocks in self._batches]
        side_by_side(tasks, int(self.sizes.sum()), progress)

    def _to_seams(self, seams: Spill[np.float64], first: Integers, blocks: Integers, *, watch: Watch) -> None:
        for block in blocks:
            if watch[1]:
                return
            seams.write(int(self.starts[block]), self.masker.to_seams(self.block(int(block)), int(first[block])))
            watch[0] += int(self.sizes[block])

    def measure(self, rows: Matrix, published: Matrix, rescaled: dict[str, Rescaling]) -> Sums:
        """Measure what some records lost, in pieces, or it would take more memory than masking."""
        sums = np.zeros(self.losses.size)
        at = [self.masker.plan.used.index(each.name) for each in self.masker.changed]
        for start in range(0, len(rows), _ROWS):
            piece, codes = rows[start : start + _ROWS], published[start : start + _ROWS]
            read = self.masker.as_read(self.masker.decode(codes, rescaled))
            sums += self.losses.measure(piece[:, at], read, self.masker.weights(piece))
        return sums

    def fold(self, look: Callable[[Matrix, Matrix], Seen], rows: int) -> Seen:
        """Look at all records before and after masking, and add up what is seen."""
        found = None
        for start, piece in self.records.chunks(rows):
            seen = look(piece, self.published.read(start, len(piece)))
            found = seen if found is None else found + seen
        if found is None:
            raise ValueError("there are no records")
        return found

    def fold_published(self, look: Callable[[Matrix, Matrix], Seen]) -> Seen:
        """Look at the rows of every block and what they publish, and add up what is seen."""
        return reduce(add, (look(self.block(number), self._published(number)) for number in range(len(self.sizes))))

    def change(self, by: Callable[[Matrix, Matrix], tuple[Matrix, Floats]], target: Spill[np.float64]) -> Floats:
        """Write what blocks publish to another file, changed; return the largest change of each attribute."""
        largest = np.zeros(len(self.losses.attributes))
        for number in range(len(self.sizes)):
            published, change = by(self.block(number), self._published(number))
            target.write(int(self.starts[number]), published)
            largest = np.maximum(largest, change)
        return largest

    def _published(self, number: int) -> Matrix:
        return self.published.read(int(self.starts[number]), int(self.sizes[number]))

    def fold_blocks(self, look: Callable[[Matrix], Seen], progress: Progress) -> Seen:
        """Look at the rows of every block, on all cores, and add up what is seen."""
        tasks: list[Task[Seen]] = [partial(self._look, look, blocks) for blocks in self._batches]
        return reduce(
            add, side_by_side(tasks, int(self.sizes.sum()), lambda _, *how_far: progress("measure", *how_far))
        )

    def _look(self, look: Callable[[Matrix], Seen], blocks: Integers, *, watch: Watch) -> Seen:
        found = look(self.block(int(blocks[0])))
        for block in blocks[1:]:
            watch[0] += self.sizes[block]
            if watch[1]:
                break
            found = found + look(self.block(int(block)))
        return found

    def block(self, number: int) -> Matrix:
        """Read the rows of a block."""
        return self.records.read(int(self.starts[number]), int(self.sizes[number]))


def _watched(watch: Watch) -> Any:
    """Run the searches of a block one after the other, each of which gives up when the batch is asked to."""

    def run(tasks: Any, records: int) -> Any:
        done = int(watch[0])  # of the batch, which goes on counting after the block
        found = [task(watch=watch) for task in tasks]
        watch[0] = done
        if watch[1] != 0:
            raise KeyboardInterrupt  # what was found is not complete, and no one waits for it
        return found

    return run

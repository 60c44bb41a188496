"""Where the records are: in memory, in files larger than memory, on a cluster. One protocol, one small package each."""

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.backends.capabilities import Engine
from shoal.blocking.record_blocks import Blocking
from shoal.kernels.standardize import Matrix
from shoal.messages import Message
from shoal.pipeline.certify import Certificate
from shoal.pipeline.loss import Losses, Sums
from shoal.pipeline.masker import BlockMasker
from shoal.pipeline.prepare import Prepared
from shoal.pipeline.records import Records, Seen
from shoal.pipeline.totals import KeptTotals
from shoal.pipeline.verify import Verified
from shoal.plan.resolved import ResolvedPlan

Labels = NDArray[np.int64]


class Published(Protocol):
    """What is published, wherever it lies."""

    engine: ClassVar[Engine]  # where it lies

    @property
    def plan(self) -> ResolvedPlan:
        """What was done: the plan with every choice filled in."""

    @property
    def masker(self) -> BlockMasker:
        """How blocks were masked."""

    @property
    def records(self) -> int:
        """How many records are published."""

    @property
    def notes(self) -> list[Message]:
        """What a user might not expect."""

    @property
    def own(self) -> int:
        """Groups that publish one of their own records: see `shoal.pipeline.masker.MaskedBlock`."""

    @property
    def misread(self) -> int:
        """Groups in which an equality holds, but not to every reader."""

    @property
    def dominated(self) -> int:
        """Groups that were re-formed because a contributor dominated them."""

    @property
    def totals(self) -> KeptTotals | None:
        """The totals of domains that are kept; None if none are."""

    @property
    def blocking(self) -> Blocking | None:
        """The record blocks, and what they cost; None if there is one."""

    @property
    def certificate(self) -> Certificate | None:
        """How far from the optimum the groups are at most, where that was proved."""

    @property
    def privacy(self) -> dict[str, Any] | None:
        """The noise of differential privacy."""

    @property
    def losses(self) -> Losses:
        """What adds up losses."""

    @property
    def sums(self) -> Sums:
        """What was lost."""

    @property
    def names(self) -> list[str]:
        """The columns of the original."""

    @property
    def alike(self) -> Labels:
        """Records that are published alike share a number; only where records have an order."""

    @property
    def table(self) -> Any:
        """The release as a dataframe of the kind that came in."""

    @property
    def partitions(self) -> list[Labels]:
        """The group of each published record, for every attribute block."""

    @property
    def groups(self) -> Labels:
        """One label a published record."""

    def before(self) -> dict[str, float]:
        """Describe how well the original records hide: see `shoal.measures.exposure`."""

    def verify(self) -> Verified:
        """Verify the release: see `shoal.pipeline.verify`."""

    def hybrid(self) -> dict[str, Any] | None:
        """Measure what hybrid data preserve; None where there are none."""

    def save(self, path: str, overwrite: bool, verified: Verified) -> list[Message]:
        """Write the release, its plan and its manifest; return what this kind of file cannot keep."""

    def close(self) -> None:
        """Remove private files or end a session kept for this release; its evidence stays available."""

    def fold(self, look: Callable[[Matrix, Matrix], Seen]) -> Seen:
        """Look at all records, encoded, before and after masking, and add up what is seen."""


class Backend(Records, Protocol):
    """Records that can be masked where they are."""

    @property
    def notes(self) -> list[Message]:
        """Why this backend was chosen."""

    def block_size(self, masker: BlockMasker) -> int:
        """Return the most records in a block."""

    def map_blocks(self, masker: BlockMasker, prepared: Prepared) -> Published:
        """Mask every block."""

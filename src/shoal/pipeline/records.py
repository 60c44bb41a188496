"""Records: what a backend must do so that one pipeline serves memory, files and clusters."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeVar

import pyarrow as pa

from shoal.kernels.standardize import Matrix
from shoal.tables import Table


class Mergeable(Protocol):
    """What is seen in some records; adding two gives what is seen in both, in any order."""

    def __add__(self, other: Any, /) -> Self:
        """Add."""


Seen = TypeVar("Seen", bound=Mergeable)
# Looks at a piece of the table; with it comes how many records there are before it, None where they have no order.
Look = Callable[[pa.Table, int | None], Seen]


class Encoder(Protocol):
    """Turns a piece of the table into rows of numbers: see `shoal.pipeline.masker.BlockMasker`."""

    @property
    def names(self) -> list[str]:
        """The columns that it looks at."""

    def encode(self, piece: pa.Table) -> Matrix:
        """Encode."""


class EncodedRecords(Protocol):
    """Records as rows of numbers, wherever they are."""

    def fold_rows(self, encoder: Encoder, look: Callable[[Matrix], Seen], step: str) -> Seen:
        """Look at the encoded rows of all records that are published and add up what is seen."""


class Records(EncodedRecords, Protocol):
    """The records of a table, wherever they are."""

    @property
    def outline(self) -> Table:
        """The table in memory, or a stand-in with its columns, types and labels."""

    def fold(self, look: Look[Seen], names: Sequence[str], step: str) -> Seen:
        """Look at some columns of all records and add up what is seen; `step` names the pass for progress."""

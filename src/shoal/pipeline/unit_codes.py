"""Units as numbers: one for every person or firm, the same in every piece of a file and on every backend.

A unit's number is a hash of its value, so that no pass over the records is needed to give numbers, and no table of
units is kept. Two units that share a number would count as one, which makes groups larger and never smaller than asked;
among a million units there are such with a probability of 0.006 %. What is promised is counted by values, not numbers.
"""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.messages import Message
from shoal.pipeline.summary import Flaw, flaw
from shoal.tables import Table
from shoal.tables.arrow import Array, pc
from shoal.tables.attributes import plain_values, without_declared
from shoal.tables.dtypes import inner, is_text

Integers = NDArray[np.int64]

_BITS = 53  # what a float holds, and any program that reads the file


def unit_codes(table: Table, name: str, key: bytes = b"") -> Integers:
    """Return the number of each record's unit; nobody can tell units by it who does not know the key.

    Parameters
    ----------
    table
        Some records.
    name
        The column of units, of text, numbers or dates.
    key
        A secret; without one, numbers are those of `BlockMasker`, which are not published.
    """
    values = _values(table, name)
    encoded = values.dictionary_encode()
    texts = encoded.dictionary.cast(pa.large_string()).to_pylist()
    hashes = [blake2b(str(text).encode(), digest_size=8, key=key).digest() for text in texts]
    numbers = np.frombuffer(b"".join(hashes), "<u8") >> np.uint64(64 - _BITS)
    places = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers.astype(np.int64)[places] if len(numbers) else np.zeros(len(values), np.int64)


def _values(table: Table, name: str) -> Array:
    """Return a column such that equal units are equal; blank text is missing."""
    column = without_declared(table, name)
    kind = inner(column.type)
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise DataError("type-not-counted", column=name, type=str(kind))
    values = plain_values(column)
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    if is_text(values.type):
        blank = pc.equal(pc.utf8_trim_whitespace(values), pa.scalar("", values.type))
        values = pc.if_else(blank, pa.scalar(None, values.type), values)
    return values


@dataclass(frozen=True)
class UnitSummary:
    """What a pass over the records shows of units: records without one or with blanks around it, and lowest numbers.

    Numbers are kept up to `most`: with k of them, whether there are k units is known for certain, also in the union of
    any records, whatever their number.
    """

    most: int
    missing: Flaw
    blanks: Flaw  # the value begins or ends with blanks
    lowest: Integers

    @classmethod
    def of(cls, table: Table, name: str, most: int, start: int | None) -> "UnitSummary":
        """Look at some records; `start` is the number of records before them, where that is known."""
        values = _values(table, name)
        missing = flaw(values.is_null().to_numpy(zero_copy_only=False), start)
        blanks = Flaw()
        if is_text(values.type):
            around = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(values), values), False)
            blanks = flaw(around.to_numpy(zero_copy_only=False), start)
        return cls(most, missing, blanks, np.unique(unit_codes(table, name))[:most])

    def __add__(self, other: "UnitSummary") -> "UnitSummary":
        lowest = np.union1d(self.lowest, other.lowest)[: self.most]
        return UnitSummary(self.most, self.missing + other.missing, self.blanks + other.blanks, lowest)

    def problem(self, name: str, k: int) -> Message | None:
        """Explain why units cannot be protected."""
        if self.missing.count:
            return Message(
                "missing-unit", column=name, counts="unit", records=self.missing.count, first=self.missing.first
            )
        if len(self.lowest) < k:
            return Message("too-few-units", column=name, number=len(self.lowest), counts="unit", k=k)
        return None

    def notes(self, name: str) -> list[Message]:
        """Warn of spellings that make two units of one."""
        if not self.blanks.count:
            return []
        return [Message("blanks-in-units", column=name, records=self.blanks.count, first=self.blanks.first)]

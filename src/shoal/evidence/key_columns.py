"""Columns as numbers of their values, for counting combinations: keys of a sample and a population, households."""

from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.types import Floats
from shoal.messages import Message
from shoal.tables import Table
from shoal.tables.arrow import Array, pc
from shoal.tables.attributes import has_categories, plain_values, without_declared
from shoal.tables.dtypes import inner, is_number, is_text
from shoal.tables.numbers import to_floats

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KeyColumn:
    """A key variable: its values in order, and the number of each record's value."""

    name: str
    levels: Array
    codes: Integers  # (n,) from 1; 0 where the value is missing

    @property
    def is_number(self) -> bool:
        """Whether values are numbers, codes among them."""
        return is_number(self.levels.type)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which records miss the value."""
        return np.equal(self.codes, 0)

    def codes_in(self, other: Table, what: Message) -> Integers:
        """Return the numbers of these values in a column of the same name of another table.

        Values that do not occur here share one number.
        """
        values = _values(other, self.name, what)
        ours, theirs = self.levels, values
        if _kind(ours.type) != _kind(theirs.type):
            own, another = _kind(ours.type), _kind(theirs.type)
            raise DataError("types-differ", column=self.name, own=own, other=another, table=what)
        if ours.type != theirs.type:
            kinds, common = (ours.type, theirs.type), pa.float64() if self.is_number else ours.type
            try:
                ours, theirs = ours.cast(common, safe=False), theirs.cast(common, safe=False)
            except pa.ArrowException:
                of = {"own": str(kinds[0]), "other": str(kinds[1])}
                raise DataError("types-differ", column=self.name, table=what, **of) from None
        places = pc.index_in(theirs, value_set=ours).fill_null(len(ours)).to_numpy(zero_copy_only=False)
        missing = theirs.is_null().to_numpy(zero_copy_only=False)
        return np.where(missing, 0, places.astype(np.int64) + 1)


def key_column(table: Table, name: str) -> KeyColumn:
    """Return the values of a column numbered in their order; NaN and declared missing codes are missing values."""
    encoded = _values(table, name, Message("the-table")).dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    rank = np.empty(len(order), np.int64)
    rank[order.to_numpy(zero_copy_only=False)] = np.arange(1, len(order) + 1)
    places = encoded.indices.fill_null(len(order)).to_numpy(zero_copy_only=False)
    return KeyColumn(name, encoded.dictionary.take(order), np.append(rank, 0)[places])


def positive_weights(table: Table, name: str) -> Floats:
    """Return the weights of the records; one that is missing, or not above zero, is refused."""
    found = to_floats(without_declared(table, name), name, table.decimal)
    if (wrong := ~(found > 0)).any():
        first, how = int(np.argmax(wrong)) + 1, "missing, zero or negative"
        raise DataError("wrong-weight", column=name, wrong=how, records=int(wrong.sum()), first=first)
    return found


def household_codes(table: Table, name: str) -> Integers:
    """Return the number of each record's household, from 0; a record without one is refused."""
    found = key_column(table, name)
    if (count := int(found.missing.sum())) > 0:
        first = int(np.argmax(found.missing)) + 1
        raise DataError("missing-unit", column=name, counts="household", household=True, records=count, first=first)
    return found.codes - 1


def _values(table: Table, name: str, what: Message) -> Array:
    column = without_declared(table, name)
    kind = inner(column.type)
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if not has_categories(kind):
        raise DataError("type-not-counted", column=name, table=what, type=str(column.type))
    values = plain_values(column)
    return cast("Array", values.cast(pa.large_string()) if is_text(values.type) else values)


def _kind(kind: pa.DataType) -> str:
    if is_text(kind):
        return "text"
    if is_number(kind):
        return "numbers"
    return "true or false" if pa.types.is_boolean(kind) else "dates or times"

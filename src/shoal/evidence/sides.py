"""The two files that a user of the data compares: columns as numbers or categories, and the weights of records."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.measures.estimates import effective_records
from shoal.messages import Message
from shoal.tables import Table
from shoal.tables.attributes import moments_of, plain_values, without_declared
from shoal.tables.dtypes import is_number
from shoal.tables.numbers import to_floats

Vector = NDArray[np.float64]
Label = float | str


class Categories(NamedTuple):
    """The category of each record by its place in `labels`, -1 where it is missing; numbers are told by value."""

    codes: NDArray[np.int64]
    labels: list[Label]


@dataclass(frozen=True)
class Side:
    """A file as its users see it."""

    table: Table
    weights: Vector | None = None

    def numbers(self, name: str, *, moments: bool = False) -> Vector | None:
        """Return a column of numbers, or of 0 and 1 for false and true; NaN is missing. None if it is neither.

        With `moments`, dates are the numbers of their days and so on.
        """
        column = without_declared(self.table, name)
        if moments and (pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)):
            column = moments_of(column)
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.float64())
        return to_floats(column, name, self.table.decimal) if is_number(column.type) else None

    def categories(self, name: str) -> Categories:
        """Return a column of categories."""
        values = plain_values(without_declared(self.table, name))
        if is_number(values.type):
            values = values.cast(pa.float64(), safe=False)
        elif not (pa.types.is_temporal(values.type) or pa.types.is_boolean(values.type)):
            try:
                values = values.cast(pa.large_string())
            except pa.ArrowException:
                raise DataError("type-not-counted", column=name, type=str(values.type)) from None
        encoded = values.dictionary_encode()
        codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        labels = encoded.dictionary.to_pylist()
        return Categories(codes, [each if isinstance(each, float) else str(each) for each in labels])


def records_in(chosen: NDArray[np.bool_], weights: Vector | None) -> float:
    """Return how many records a mean over some of a file rests on: one of a large weight may be all of it."""
    own = None if weights is None else weights[chosen]
    return float(chosen.sum()) if own is None or not own.any() else effective_records(own)


def all_of(reasons: list[Message]) -> Message | None:
    """Return several reasons as one; None if there is none."""
    return Message("several-reasons", reasons=reasons) if len(reasons) > 1 else next(iter(reasons), None)


def written(label: Label) -> str:
    """Write a category: 12 for 12.0."""
    return label if isinstance(label, str) else f"{label:.12g}"


def in_order(labels: "set[Label]") -> list[Label]:
    """Sort categories: numbers by size before texts."""
    return sorted(labels, key=lambda each: (isinstance(each, str), each))

"""Sensitive attributes: their values as numbers, in order where they have one, and how often each occurs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.plan import AttributeType
from shoal.tables import Table
from shoal.tables.arrow import Array, pc
from shoal.tables.attributes import CATEGORIES, Level, encode, has_categories, plain_values, without_declared
from shoal.tables.dtypes import inner, is_number

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Frequencies:
    """How often each value of an attribute occurs; a missing value is one."""

    values: Array
    counts: Integers

    @classmethod
    def of(cls, values: Array) -> "Frequencies":
        """Count the values of some records."""
        found = pc.value_counts(values)
        return cls(found.field("values"), found.field("counts").to_numpy(zero_copy_only=False))

    def __add__(self, other: "Frequencies") -> "Frequencies":
        both = pa.table(
            {
                "value": pa.concat_arrays([self.values, other.values.cast(self.values.type)]),
                "count": pa.array(np.concatenate([self.counts, other.counts])),
            }
        )
        found = both.group_by("value", use_threads=False).aggregate([("count", "sum")])
        counts = found.column("count_sum").combine_chunks().to_numpy(zero_copy_only=False)
        return Frequencies(found.column("value").combine_chunks(), counts.astype(np.int64))


@dataclass(frozen=True)
class Sensitive:
    """A sensitive attribute whose values are numbered 0, 1, ... in their order; missing is the last.

    Attributes
    ----------
    name, type, levels
        As the plan has them.
    values
        The values that occur, sorted; those of an ordinal attribute in the order of its levels.
    counts
        How many records, or units where they are named, have each value; the last count is that of missing values, if
        there are any.
    ordered
        Whether values have an order, as numbers, dates and ordinal levels do, unless one is missing: missing is a
        value of its own, beside the order.
    ordinal
        Whether the column itself is ordinal: an ordered categorical.
    """

    name: str
    type: AttributeType | None
    levels: Sequence[Level] | None
    values: Array
    counts: Integers
    ordered: bool
    ordinal: bool = False

    @property
    def is_ordinal(self) -> bool:
        """Whether its order is that of levels."""
        return self.type == "ordinal" or self.ordinal

    def codes(self, table: Table) -> Integers:
        """Return the number of each record's value."""
        values = plain_values(_column(table, self.name)).cast(self.values.type)
        places = pc.index_in(values, value_set=self.values)
        return np.asarray(places.fill_null(len(self.values)).to_numpy(zero_copy_only=False), dtype=np.int64)


@dataclass(frozen=True)
class UnitPairs:
    """How often each value occurs, and which units have it: a unit counts once for each value that it has."""

    records: Frequencies
    pairs: pa.Table  # of a value and the number of a unit, each combination once

    @classmethod
    def of(cls, records: Frequencies, values: Array, units: Integers) -> "UnitPairs":
        """Look at some records."""
        return cls(records, _distinct(pa.table({"value": values, "unit": pa.array(units)})))

    def __add__(self, other: "UnitPairs") -> "UnitPairs":
        both = pa.concat_tables([self.pairs, other.pairs.cast(self.pairs.schema)])
        return UnitPairs(self.records + other.records, _distinct(both))

    def counted_in(self, sensitive: Sensitive) -> Sensitive:
        """Return a sensitive attribute whose counts are of units."""
        values = self.pairs.column("value").combine_chunks().cast(sensitive.values.type)
        places = pc.index_in(values, value_set=sensitive.values).fill_null(len(sensitive.values))
        counts = np.bincount(places.to_numpy(zero_copy_only=False), minlength=len(sensitive.counts))
        return replace(sensitive, counts=counts.astype(np.int64))


def _distinct(pairs: pa.Table) -> pa.Table:
    return pairs.group_by(pairs.column_names, use_threads=False).aggregate([])


def _column(table: Table, name: str) -> Array:
    column = without_declared(table, name)
    if not has_categories(inner(column.type)):
        raise DataError("type-not-counted", column=name, type=str(column.type))
    return column


def values_of(table: Table, name: str) -> Array:
    """Return the values of a sensitive attribute such that equal ones are equal."""
    return plain_values(_column(table, name))


def frequencies(
    table: Table,
    name: str,
    type_: AttributeType | None,
    levels: Sequence[Level] | None,
    keep: NDArray[np.bool_] | None = None,
) -> Frequencies:
    """Count the values of a sensitive attribute in some records; of an ordinal one, all levels come first, in order."""
    column = _column(table, name)
    values = plain_values(column)
    found = Frequencies.of(values if keep is None else values.filter(pa.array(keep)))
    kind = _ordinal_if_ordered(column.type, type_)
    if kind not in ("ordinal", "date", "datetime") or column.null_count == len(column):
        return found
    order = encode(table, name, kind, levels).levels
    return found if order is None else Frequencies(order, np.zeros(len(order), np.int64)) + found


def _ordinal_if_ordered(kind: pa.DataType, type_: AttributeType | None) -> AttributeType | None:
    return "ordinal" if type_ is None and isinstance(kind, pa.DictionaryType) and kind.ordered else type_


def sensitive_of(
    found: Frequencies, name: str, stored: pa.DataType, type_: AttributeType | None, levels: Sequence[Level] | None
) -> Sensitive:
    """Describe a sensitive attribute whose values are numbered, by how often they occur in all records."""
    kind = _ordinal_if_ordered(stored, type_)
    missing = found.counts[found.values.is_null().to_numpy(zero_copy_only=False)]
    there = found.values.is_valid().to_numpy(zero_copy_only=False) & (found.counts > 0)
    values, counts = found.values.filter(pa.array(there)), found.counts[there]
    if kind != "ordinal" or (levels is None and not isinstance(stored, pa.DictionaryType)):
        order = pc.sort_indices(values)
        values, counts = values.take(order), counts[order.to_numpy(zero_copy_only=False)]
    ordered = kind not in CATEGORIES and (
        kind is not None or is_number(values.type) or pa.types.is_temporal(values.type)
    )
    counts = np.concatenate([counts, missing])
    return Sensitive(
        name,
        type_,
        levels,
        values,
        counts.astype(np.int64),
        ordered and not len(missing),
        kind == "ordinal",
    )


def confidential_codes(
    table: Table, name: str, type_: AttributeType | None = None, levels: Sequence[Level] | None = None
) -> tuple[Integers, NDArray[np.bool_], bool]:
    """Return the numbers of a sensitive attribute's values, which are missing, and whether they have an order."""
    found = frequencies(table, name, type_, levels)
    sensitive = sensitive_of(found, name, table.column(name).type, type_, levels)
    codes = sensitive.codes(table)
    return codes, codes >= len(sensitive.values), sensitive.ordered

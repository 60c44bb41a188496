"""Households: which attributes are constant within them, and what each of them publishes.

Attributes that all members of a household share, such as the region or the rent, are masked once per household, in
groups of at least k households, and stay constant within it. The others are masked per person. The two are attribute
blocks, the first of which has records of its own: a table with one record per household.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, PlanError
from shoal.kernels.standardize import Matrix
from shoal.messages import Message
from shoal.pipeline.records import Records
from shoal.pipeline.summary import Flaw, flaw
from shoal.plan.resolved import ResolvedPlan
from shoal.tables import Table
from shoal.tables.arrow import Array, pc
from shoal.tables.attributes import Attribute, Codes, plain_values, without_declared
from shoal.tables.dtypes import inner, is_text

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_FEW = 0.05  # of the households: an attribute that varies in fewer of them is named, and so is a record of one


@dataclass(frozen=True)
class Households:
    """The households of a table.

    Attributes
    ----------
    column
        Their number in the table.
    ids
        The numbers that occur, in order: household i is the i-th of them.
    attributes
        Those that are masked once per household.
    varying
        For each other quasi-identifier, in how many households members differ.
    published
        What each household publishes of its attributes, as numbers; empty until households are masked.
    labels
        The group of each household.
    pseudonyms
        The random number that stands for each household; empty if the column is dropped.
    """

    column: str
    ids: Array
    attributes: list[str]
    varying: dict[str, int]
    published: Matrix | None = None
    labels: Integers | None = None
    pseudonyms: Integers | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def numbers(self, table: Table) -> Codes:
        """Return the household of each record, as its place among `ids`; NaN where it is missing."""
        places = pc.index_in(numbers_in(table, self.column), value_set=self.ids)
        found: Codes = places.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return found

    def known(self, numbers: Codes) -> dict[str, Codes]:
        """Return what records publish of the attributes of their households."""
        if self.published is None:
            raise ValueError("the households are not masked yet")
        own = self.published[numbers.astype(np.int64)]
        return {name: own[:, j] for j, name in enumerate(self.attributes)}

    def groups(self, numbers: Codes) -> Integers:
        """Return the group of each record's household."""
        if self.labels is None:
            raise ValueError("the households are not masked yet")
        return self.labels[numbers.astype(np.int64)]

    def replaced(self, table: Table) -> dict[str, Array]:
        """Return the pseudonyms of some records' households, in place of their numbers; nothing if these go."""
        if self.pseudonyms is None:
            return {}
        return {self.column: pa.array(self.pseudonyms[self.numbers(table).astype(np.int64)])}

    def summary(self) -> dict[str, Any]:
        """Describe them, ready for JSON."""
        return {
            "column": self.column,
            "households": len(self),
            "attributes": self.attributes,
            "varying": self.varying,
        }


def numbers_in(table: Table, name: str) -> Array:
    """Return the household numbers of some records; NaN and blank text are missing."""
    column = without_declared(table, name)
    if pa.types.is_nested(inner(column.type)):
        raise DataError("type-not-counted", column=name, type=str(column.type))
    column = plain_values(column)
    if pa.types.is_floating(column.type):
        return cast("Array", pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column))
    if not is_text(column.type):
        return column
    blank = pc.equal(pc.utf8_trim_whitespace(column), pa.scalar("", column.type))
    return cast("Array", pc.if_else(blank, pa.scalar(None, column.type), column))


@dataclass(frozen=True)
class _Members:
    """One record for each household that was seen: its first member's codes, and in which of them members differ."""

    ids: Array
    codes: Matrix
    differs: Flags

    def distinct(self) -> "_Members":
        """Return one record for each household."""
        places, first = _places(self.ids)
        own = self.codes[first]
        others = own[places]
        same = (self.codes == others) | (np.isnan(self.codes) & np.isnan(others))
        flags = self.differs | ~same
        differs = [np.bincount(places, column, len(first)) > 0 for column in flags.T]
        return _Members(self.ids.take(first), own, np.stack(differs, axis=1))


def _places(ids: Array) -> tuple[Integers, Integers]:
    """Return the place of each number among the different ones, and where each of these comes first."""
    places = ids.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return places, np.unique(places, return_index=True)[1]


@dataclass(frozen=True)
class _Seen:
    """The households of some records in several tables, which are joined once they have grown to twice their size."""

    tables: list[_Members]
    missing: Flaw
    joined: int = 0  # households in the first table, when it was last joined

    def __add__(self, other: "_Seen") -> "_Seen":
        tables = [*self.tables, *other.tables]
        found = _Seen(tables, self.missing + other.missing, max(self.joined, other.joined))
        if sum(len(each.ids) for each in tables) <= 2 * found.joined:
            return found
        together = found.together()
        return _Seen([together], found.missing, len(together.ids))

    def together(self) -> _Members:
        """Return one record for each household."""
        ids = pa.concat_arrays([each.ids for each in self.tables])
        codes = np.concatenate([each.codes for each in self.tables])
        return _Members(ids, codes, np.concatenate([each.differs for each in self.tables])).distinct()


def with_households(
    plan: ResolvedPlan, attributes: Sequence[Attribute], records: Records
) -> tuple[ResolvedPlan, Households | None, list[Message]]:
    """Find the attributes that are constant within every household, by a pass over all records.

    Raises
    ------
    DataError, PlanError
        A record has no household number, there are fewer than k households, an attribute that was named varies within
        one, or none is constant.
    """
    name = plan.household
    if name is None:
        return plan, None, []
    used = [each.name for each in attributes]
    seen = records.fold(partial(_look, plan=plan, attributes=attributes), list(dict.fromkeys([name, *used])), "scan")
    if seen.missing.count:
        number, first = seen.missing.count, seen.missing.first
        raise DataError("missing-unit", column=name, counts="household", household=True, records=number, first=first)
    found = seen.together()
    order = pc.array_sort_indices(found.ids)
    number = len(found.ids)
    if number < plan.k:
        raise DataError("too-few-units", column=name, number=number, counts="household", household=True, k=plan.k)
    varying = dict(zip(used, found.differs.sum(axis=0).tolist(), strict=True))
    constant = _constant(plan, varying, number)
    others = {each: count for each, count in varying.items() if each not in constant}
    households = Households(name, found.ids.take(order), constant, others)
    return plan.decided(household_attributes=constant), households, _notes(households)


def _look(piece: pa.Table, start: int | None, plan: ResolvedPlan, attributes: Sequence[Attribute]) -> _Seen:
    table = Table(piece)
    ids = numbers_in(table, str(plan.household))
    codes = np.column_stack([each.read(without_declared(table, each.name)) for each in attributes])
    keep = ids.is_valid().to_numpy(zero_copy_only=False)
    missing = flaw(~keep, start)
    if plan.missing == "suppress":
        keep = keep & ~np.isnan(codes).any(axis=1)
    members = _Members(ids.filter(pa.array(keep)), codes[keep], np.zeros((int(keep.sum()), len(attributes)), bool))
    first = members.distinct()
    return _Seen([first], missing, len(first.ids))


def _constant(plan: ResolvedPlan, varying: dict[str, int], households: int) -> list[str]:
    """Return the attributes to mask once per household; refuse those that were named and vary."""
    constant = [name for name, count in varying.items() if not count]
    problems = [
        Message(
            "varies-within-household",
            field="household_attributes",
            column=name,
            varying=varying[name],
            households=households,
        )
        for name in plan.household_attributes
        if name not in constant
    ]
    if problems:
        raise PlanError(*problems)
    if not constant:
        least = min(varying, key=lambda name: varying[name])
        raise PlanError(
            "no-household-attribute",
            field="household",
            column=least,
            varying=varying[least],
            households=households,
            household=plan.household,
        )
    named = {*(plan.household_attributes or constant)}
    return [name for name in constant if name in named]


def _notes(households: Households) -> list[Message]:
    """Explain which attributes are masked per household, and which nearly could have been."""
    number = len(households)
    column, attributes, persons = households.column, households.attributes, [*households.varying]
    found = [Message("masked-per-household", households=number, column=column, attributes=attributes, persons=persons)]
    nearly = [
        Message("column-and-count", column=name, number=count)
        for name, count in households.varying.items()
        if 0 < count <= _FEW * number
    ]
    if nearly:
        found.append(Message("nearly-constant-in-households", households=number, columns=nearly))
    return [*_on_spellings(households), *found]


def _on_spellings(households: Households) -> list[Message]:
    """Warn of household numbers that are one but for blanks."""
    if not is_text(households.ids.type):
        return []
    twice = len(households) - len(pc.utf8_trim_whitespace(households.ids).unique())
    return [Message("blanks-in-households", column=households.column, numbers=twice)] if twice else []

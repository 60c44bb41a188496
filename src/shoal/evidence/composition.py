"""Two releases of the same data: what their combination reveals.

A record hides in its group in each release; anyone who holds both knows that it is in both groups, and looks for it in
their intersection. Groups of k do not protect it there: k-anonymity does not compose (Ganta, Kasiviswanathan & Smith
2008, Composition attacks and auxiliary information in data privacy, KDD).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.evidence.units import units_in_classes
from shoal.messages import Message
from shoal.pipeline.classes import classes, equal_values
from shoal.pipeline.treatment import refuse_unknown
from shoal.tables import Table
from shoal.tables.arrow import Array

_ABSENT = -1  # the group of those who are not in a release, which tells them from those who are


class Earlier(NamedTuple):
    """A release that was published before, and what to call it."""

    name: str
    table: Table


class Intersected(NamedTuple):
    """What releases reveal together, and messages on what is below k."""

    found: list[dict[str, Any]]
    failures: list[Message]


def intersected(
    table: Table,
    blocks: Sequence[Sequence[str]],
    k: int,
    earlier: Sequence[Earlier],
    key: str | None,
    unit: str | None = None,
) -> Intersected:
    """Count the records that hide among fewer than k in all releases together.

    Parameters
    ----------
    table : Table
        The release to be published.
    blocks : list of lists of str
        Quasi-identifiers, as they are partitioned together: usually one list.
    k : int
        The least number of records that must share their groups.
    earlier : list of Earlier
        Other releases of the same data. Each is looked at with the new one, and if there are several, all together.
    key : str, optional
        A column of all releases that tells records apart. Without, the first record is the first in all of them, and
        so on: rows are published in their order.
    unit : str, optional
        The column of the release to be published that tells units apart, of which k must share their groups.

    Returns
    -------
    Intersected
        For each block, and each earlier release or all of them (``against``): how many ``records`` there are, in how
        many intersections (``groups``), the ``smallest`` of these, how many records are in one ``below`` k, and how
        many are alone (``uniques``). By key, those who are in one release only are told apart from those in both.
        With a unit, ``counts`` says so: ``smallest`` is a number of units, and the other figures are of records in
        intersections of fewer than k units, and of one.
    """
    places, records = _by_position(table, earlier) if key is None else _by_key(table, earlier, key)
    _refuse_strangers(blocks, earlier)
    units = None if unit is None else _units(table, unit, places[0], records)
    found = []
    sets = [[each] for each in range(len(earlier))] + ([[*range(len(earlier))]] if len(earlier) > 1 else [])
    for block in blocks:
        tables = [table, *(each.table for each in earlier)]
        groups = [_groups(one, block, place, records) for one, place in zip(tables, places, strict=True)]
        for others in sets:
            figures = _figures(*_sizes([groups[0], *(groups[1 + each] for each in others)], units), k)
            figures |= {} if unit is None else {"counts": "units"}
            found.append({"against": [earlier[each].name for each in others], "attributes": list(block), **figures})
    return Intersected(found, [_below(each, k) for each in found if each["below"]])


def differing(table: Table, earlier: Sequence[Earlier], masked: Sequence[str]) -> list[str]:
    """Name columns, not masked, that differ between releases of as many records.

    Where there are any, the rows may not be in the same order: records are then paired at random, and seem to hide
    worse than they do.
    """
    others = [each.table for each in earlier]
    return [
        name
        for name in table.names
        if name not in masked and not all(table.same_column(each, name) for each in others if name in each.names)
    ]


def record_keys(table: Table, key: str, what: str) -> Array:
    """Return the column that tells records apart, as text."""
    refuse_unknown(table, {"key": [key]}, what)
    try:
        keys = table.column(key).cast(pa.large_string())
    except pa.ArrowException:
        raise DataError("type-not-counted", column=key, table=what, type=str(table.column(key).type)) from None
    if keys.null_count or len(keys.unique()) < len(keys):
        raise DataError("key-not-unique", column=key, table=what)
    return keys


def unpaired(table: str, records: int, other: str, others: int) -> DataError:
    """Return the error that two tables have other numbers of records."""
    return DataError("numbers-of-records-differ", table=table, records=records, other=other, others=others)


def _by_position(table: Table, earlier: Sequence[Earlier]) -> tuple[list[NDArray[np.int64]], int]:
    for each in earlier:
        if len(each.table) != len(table):
            raise unpaired(Message("the-masked-table"), len(table), each.name, len(each.table))
    return [np.arange(len(table))] * (1 + len(earlier)), len(table)


def _by_key(table: Table, earlier: Sequence[Earlier], key: str) -> tuple[list[NDArray[np.int64]], int]:
    """Assign a number to every record of all releases, and return those of each."""
    keys = [record_keys(table, key, Message("the-masked-table"))]
    keys += [record_keys(each.table, key, each.name) for each in earlier]
    everybody = pa.concat_arrays(keys).unique()
    places = [pc.index_in(each, value_set=everybody).to_numpy(zero_copy_only=False) for each in keys]
    return [place.astype(np.int64) for place in places], len(everybody)


def _refuse_strangers(blocks: Sequence[Sequence[str]], earlier: Sequence[Earlier]) -> None:
    names = [name for block in blocks for name in block]
    for each in earlier:
        if not {*names} & {*each.table.names}:
            raise DataError("not-an-earlier-release", columns=names, table=each.name)


def _groups(table: Table, names: Sequence[str], place: NDArray[np.int64], records: int) -> NDArray[np.int64]:
    """Return the group of every record; all are in one where a release has none of the attributes."""
    groups = np.full(records, _ABSENT)
    known = [name for name in names if name in table.names]
    groups[place] = classes(table, known) if known else 1
    return groups


def _units(table: Table, unit: str, place: NDArray[np.int64], records: int) -> NDArray[np.int64]:
    """Return the unit of every record, all of which must be in the release to be published."""
    if records > len(table):
        raise DataError("units-not-known", records=records - len(table))
    units = np.empty(records, dtype=np.int64)
    units[place] = equal_values(table, unit)
    return units


def _sizes(
    groups: list[NDArray[np.int64]], units: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count what k counts, and the records, in each intersection, without those who are in none of these releases."""
    matrix = np.stack(groups, axis=1)
    present = (matrix != _ABSENT).any(axis=1)
    _, alike, records = np.unique(matrix[present], axis=0, return_inverse=True, return_counts=True)
    return records if units is None else units_in_classes(alike.ravel(), units[present]), records


def _figures(sizes: NDArray[np.int64], records: NDArray[np.int64], k: int) -> dict[str, Any]:
    return {
        "records": int(records.sum()),
        "groups": len(sizes),
        "smallest": int(sizes.min()),
        "below": int(records[sizes < k].sum()),
        "uniques": int(records[sizes == 1].sum()),
    }


def _below(figures: dict[str, Any], k: int) -> Message:
    return Message(
        "intersections-below-k",
        releases=figures["against"],
        columns=figures["attributes"],
        below=figures["below"],
        k=k,
        counts="unit" if "counts" in figures else "record",
        smallest=figures["smallest"],
        alone=figures["uniques"],
    )

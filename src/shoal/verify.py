"""Is a table what it claims to be? Independent of the code that masked it: it reads what is published and counts.

Nothing here knows how groups were formed. The counting is DuckDB's GROUP BY.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import measures
from shoal.errors import CheckFailed
from shoal.tables import Table
from shoal.tables.database import cursor


def class_sizes(columns: Mapping[str, Any]) -> NDArray[np.int64]:
    """How many records share each combination of values that occurs in the columns; missing equals only missing."""
    table = pa.table({f"c{j}": column for j, column in enumerate(columns.values())})
    query = f"SELECT count(*) AS records FROM published GROUP BY {', '.join(table.column_names)}"  # noqa: S608 - c0, c1
    with cursor() as connection:
        connection.register("published", table)
        counts = connection.execute(query).fetchnumpy()
    return np.asarray(counts["records"], dtype=np.int64)


def exposure(table: Table, names: Sequence[str]) -> dict[str, float]:
    """Describe how well the records hide in a table: see `shoal.measures.exposure`."""
    return measures.exposure(class_sizes({name: table.column(name) for name in names}))


def too_small(table: Table, names: Sequence[str], k: int) -> Iterator[str]:
    """Yield a sentence if some combination of the attributes occurs fewer than k times."""
    sizes = class_sizes({name: table.column(name) for name in names})
    below = sizes[sizes < k]
    if len(below):
        yield (
            f"{len(below)} of the {len(sizes)} combinations of {_listed(names)} occur fewer than {k} times; "
            f"the smallest has {_records(int(below.min()))}"
        )


@dataclass(frozen=True)
class Promise:
    """What a release claims about itself."""

    k: int
    blocks: list[list[str]]  # within each, every combination occurs at least k times
    masked: Mapping[str, pa.DataType]  # the type that each masked attribute was given
    identifiers: list[str]
    inside: bool  # every published value lies within the range of the records that publish it


def verify(published: Table, original: Table, promise: Promise) -> None:
    """Compare a table that is about to be published with the records it comes from.

    Raises
    ------
    CheckFailed
        Naming everything that does not hold.
    """
    failures = list(_shape(published, original, promise))
    if not failures:  # the columns below are there, and of one length
        failures += _types(published, promise)
        failures += _untouched(published, original, promise)
        for block in promise.blocks:
            failures += too_small(published, block, promise.k)
            if promise.inside:
                failures += _outside(published, original, block)
    if failures:
        raise CheckFailed(failures)


def _shape(published: Table, original: Table, promise: Promise) -> Iterator[str]:
    for name in promise.identifiers:
        if name in published.names:
            yield f"the identifier '{name}' is still there"
    if published.names != [name for name in original.names if name not in promise.identifiers]:
        yield "the columns are not those of the original, in their order, without the identifiers"
    if len(published) != len(original):
        yield f"there are {_records(len(published))} where {len(original)} were expected"


def _types(published: Table, promise: Promise) -> Iterator[str]:
    for name, kind in promise.masked.items():
        if published.column(name).type != kind:
            yield f"column '{name}' is of type {published.column(name).type}, not {kind} as promised"


def _untouched(published: Table, original: Table, promise: Promise) -> Iterator[str]:
    for name in published.names:
        if name not in promise.masked and not published.same_column(original, name):
            yield f"column '{name}' was to stay as it is, and has changed"


def _outside(published: Table, original: Table, block: list[str]) -> Iterator[str]:
    """Yield the columns in which a record publishes something outside the range of those it shares it with.

    This ties the published rows to the original ones: rows out of order do not pass.
    """
    X = original.matrix(block)
    columns = {f"p{j}": published.column(name) for j, name in enumerate(block)}
    columns |= {f"o{j}": pa.array(X[:, j]) for j in range(len(block))}
    outside = ", ".join(
        f"count(*) FILTER (p{j} < least_{j} OR p{j} > most_{j}) AS outside_{j}" for j in range(len(block))
    )
    ranges = ", ".join(f"min(o{j}) AS least_{j}, max(o{j}) AS most_{j}" for j in range(len(block)))
    keys = ", ".join(f"p{j}" for j in range(len(block)))
    with cursor() as connection:
        connection.register("pairs", pa.table(columns))
        query = f"SELECT {outside} FROM (SELECT {keys}, {ranges} FROM pairs GROUP BY {keys})"  # noqa: S608 - no names
        counts = connection.execute(query).fetchone() or ()
    for name, count in zip(block, counts, strict=True):
        if count:
            yield f"column '{name}' publishes {count} values outside the range of the records that share them"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"

"""Is a table what it claims to be? Independent of the code that masked it: it reads what is published and counts.

Nothing here knows how groups were formed. The counting is DuckDB's GROUP BY.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import measures
from shoal.aggregation import Rescaling
from shoal.errors import CheckFailed, DataError
from shoal.scaling import Matrix
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.database import cursor
from shoal.words import counted, listed


def class_sizes(table: Table, names: Sequence[str]) -> NDArray[np.int64]:
    """How many records share each combination of values that occurs in the columns.

    Missing equals only missing, and in a CSV file numbers are what is written: 1.5 and 1.50 can be told apart.
    """
    columns = pa.table(
        {f"c{j}": _countable(table.spelling.get(name, table.column(name))) for j, name in enumerate(names)}
    )
    query = f"SELECT count(*) AS records FROM published GROUP BY {', '.join(columns.column_names)}"  # noqa: S608 - c0, c1
    with cursor() as connection:
        connection.register("published", columns)
        counts = connection.execute(query).fetchnumpy()
    return np.asarray(counts["records"], dtype=np.int64)


def _countable(column: Array) -> Array:
    """Turn the few types that DuckDB does not know into one that tells the same values apart."""
    if pa.types.is_float16(column.type):
        return column.cast(pa.float32())
    return column.cast(pa.string()) if pa.types.is_decimal256(column.type) else column


def exposure(table: Table, names: Sequence[str]) -> dict[str, float]:
    """Describe how well the records hide in a table: see `shoal.measures.exposure`."""
    return measures.exposure(class_sizes(table, names))


def too_small(table: Table, names: Sequence[str], k: int) -> Iterator[str]:
    """Yield a sentence if some combination of the attributes occurs fewer than k times."""
    sizes = class_sizes(table, names)
    below = sizes[sizes < k]
    if len(below):
        yield (
            f"{len(below)} of the {len(sizes)} combinations of {listed(names)} occur fewer than {k} times; "
            f"the smallest has {counted(int(below.min()), 'record')}"
        )


@dataclass(frozen=True)
class Promise:
    """What a release claims about itself."""

    k: int
    blocks: list[list[str]]  # within each, every combination occurs at least k times
    strata: list[str]  # also together with these
    masked: Mapping[str, pa.DataType]  # the type that each masked attribute was given
    identifiers: list[str]
    rescaled: Mapping[str, Rescaling]  # the attributes whose variance was restored


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
            failures += too_small(published, [*block, *promise.strata], promise.k)
            failures += _outside(published, original, block, promise)
    if failures:
        raise CheckFailed(failures)


def _shape(published: Table, original: Table, promise: Promise) -> Iterator[str]:
    for name in promise.identifiers:
        if name in published.names:
            yield f"the identifier '{name}' is still there"
    if published.names != [name for name in original.names if name not in promise.identifiers]:
        yield "the columns are not those of the original, in their order, without the identifiers"
    if len(published) != len(original):
        yield f"there are {counted(len(published), 'record')} where {len(original)} were expected"


def _types(published: Table, promise: Promise) -> Iterator[str]:
    for name, kind in promise.masked.items():
        if published.column(name).type != kind:
            yield f"column '{name}' is of type {published.column(name).type}, not {kind} as promised"


def _untouched(published: Table, original: Table, promise: Promise) -> Iterator[str]:
    for name in published.names:
        if name not in promise.masked and not published.same_column(original, name):
            yield f"column '{name}' was to stay as it is, and has changed"


def _outside(published: Table, original: Table, block: list[str], promise: Promise) -> Iterator[str]:
    """Yield the columns in which a record publishes something outside the range of those it shares it with.

    This ties the published rows to the original ones: rows out of order do not pass. Where a variance was restored,
    the representative before that is looked at, which rounding has moved a little.
    """
    try:
        X, Y = original.matrix(block), published.matrix(block)
    except DataError as error:  # not a number, or not a finite one
        yield from str(error).splitlines()
        return
    slack = np.zeros(len(block))
    for j, name in enumerate(block):
        if rescaling := promise.rescaled.get(name):
            Y[:, j] = rescaling.undo(Y[:, j])
            slack[j] = 1e-9 * np.abs(X[:, j]).max() + pa.types.is_integer(promise.masked[name]) / rescaling.slope
    outside = ", ".join(
        f"count(*) FILTER (y{j} < low{j} - {slack[j]} OR y{j} > high{j} + {slack[j]})" for j in _places(X)
    )
    ranges = ", ".join(f"min(x{j}) AS low{j}, max(x{j}) AS high{j}, any_value(y{j}) AS y{j}" for j in _places(X))
    keys = ", ".join(f"key{j}" for j in _places(X))
    query = f"SELECT {outside} FROM (SELECT {ranges} FROM pairs GROUP BY {keys})"  # noqa: S608 - no names in it
    columns = {f"key{j}": _countable(published.column(name)) for j, name in enumerate(block)}
    columns |= {f"x{j}": pa.array(X[:, j]) for j in _places(X)} | {f"y{j}": pa.array(Y[:, j]) for j in _places(X)}
    with cursor() as connection:
        connection.register("pairs", pa.table(columns))
        counts = connection.execute(query).fetchone() or ()
    for name, count in zip(block, counts, strict=True):
        if count:
            yield f"column '{name}' publishes {counted(count, 'value')} outside the range of the records that share it"


def _places(X: Matrix) -> range:
    return range(X.shape[1])

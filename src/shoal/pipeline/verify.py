"""Is a table what it claims to be? Independent of the code that masked it: it reads what is published and counts.

Nothing here knows how groups were formed. The counting is DuckDB's GROUP BY.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import measures
from shoal.aggregation import Rescaling
from shoal.edits.apply import Obeyed, disobeyed, records_with
from shoal.edits.evaluate import each_broken
from shoal.edits.expressions import attributes_of
from shoal.errors import CheckFailed
from shoal.pipeline.roles import confidential_codes
from shoal.plan import AttributeType
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.attributes import CATEGORIES, Attribute, Codes, Level, encode
from shoal.tables.dtypes import inner, same_type
from shoal.tables.duck import cursor
from shoal.tables.text_values import decoded
from shoal.text import counted, listed

# How exactly a total can be kept in columns of less than 64 bits.
_PRECISION = {"float": 1e-6, "halffloat": 1e-2}


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
    if pa.types.is_float16(inner(column.type)):
        return decoded(column).cast(pa.float32())
    return decoded(column).cast(pa.string()) if pa.types.is_decimal256(inner(column.type)) else column


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
class Diversity:
    """How much the groups may give away of confidential attributes."""

    confidential: Sequence[str]
    l: int | None  # noqa: E741 - the literature's own name
    t: float | None


@dataclass(frozen=True)
class Promise:
    """What a release claims about itself."""

    k: int
    blocks: list[list[str]]  # within each, every combination occurs at least k times
    strata: list[str]  # also together with these
    masked: Mapping[str, pa.DataType]  # the type that each masked attribute was given
    identifiers: list[str]
    types: Mapping[str, AttributeType]  # of the masked attributes, and of confidential ones where known
    levels: Mapping[str, Sequence[Level]] = field(default_factory=dict)  # of ordinal attributes, where given
    rescaled: Mapping[str, Rescaling] = field(default_factory=dict)  # those whose variance was restored
    weights: str | None = None  # the weighted total of every number is kept in each group, if weights are named here
    diversity: Diversity | None = None
    complete: bool = False  # no masked value is missing
    slack: Mapping[str, float] = field(default_factory=dict)  # how far outside its group's range rules push a number
    obeyed: Obeyed = field(default_factory=Obeyed)
    bounds: Mapping[str, Sequence[float]] = field(default_factory=dict)  # of a private release, whose rows are in runs


def verify(published: Table, original: Table, promise: Promise) -> None:
    """Compare a table that is about to be published with the records it comes from.

    Raises
    ------
    CheckFailed
        Naming everything that does not hold.
    """
    failures = list(_shape(published, original, promise))
    if not failures:  # the columns below are there, and of one length
        failures += _types(published, promise.masked)
        failures += _untouched(published, original, promise)
        for block in promise.blocks:
            failures += too_small(published, [*block, *promise.strata], promise.k)
            if promise.bounds:  # means have noise, and rows are no longer those of the original
                failures += _out_of_bounds(published, promise)
                failures += _in_shorter_runs(published, block, promise.k)
            else:
                failures += _outside(published, original, block, promise)
            failures += _missing(published, block, promise)
            failures += _totals(published, original, block, promise)
            failures += _undiverse(published, [*block, *promise.strata], promise)
        failures += _disobeyed(published, promise)
    if failures:
        raise CheckFailed(failures)


def verify_written(written: Table, published: Table, types: Mapping[str, pa.DataType], promise: Promise) -> None:
    """Compare a file that was written with what was verified to be published, and count in it once more.

    Parameters
    ----------
    written
        The file, read again.
    published
        What it must hold, in the form that this kind of file has for it.
    types
        The types that the masked attributes have in this kind of file.
    promise
        What the release claims.

    Raises
    ------
    CheckFailed
        Naming everything that does not hold.
    """
    if written.names != published.names or len(written) != len(published):
        raise CheckFailed(["the file does not have the columns and records that were to be written"])
    failures = [
        f"column '{name}' was not written as it is to be published"
        for name in published.names
        if not written.same_column(published, name)
    ]
    failures += _types(written, types)
    for block in promise.blocks:
        failures += too_small(written, [*block, *promise.strata], promise.k)
    failures += _disobeyed(written, promise)
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


def _types(published: Table, types: Mapping[str, pa.DataType]) -> Iterator[str]:
    for name, kind in types.items():
        column = published.column(name)
        if column.null_count < len(column) and not same_type(column.type, kind):
            yield f"column '{name}' is of type {column.type}, not {kind} as promised"


def _untouched(published: Table, original: Table, promise: Promise) -> Iterator[str]:
    for name in published.names:
        if name not in promise.masked and not published.same_column(original, name):
            yield f"column '{name}' was to stay as it is, and has changed"


def _attribute(original: Table, name: str, promise: Promise) -> Attribute:
    return encode(original, name, promise.types[name], promise.levels.get(name))


def _outside(published: Table, original: Table, block: list[str], promise: Promise) -> Iterator[str]:
    """Yield the columns in which a record publishes what none of those it shares it with could have given.

    A number or a level must lie in the range of theirs, a category be one of theirs, and a value be missing only where
    theirs are. This ties the published rows to the original ones: rows out of order do not pass. Where a variance was
    restored, the representative before that is looked at, which rounding has moved a little.
    """
    columns: dict[str, Array] = {}
    wrong, ranges = [], []
    for j, name in enumerate(block):
        attribute = _attribute(original, name, promise)
        codes, slack = attribute.read(published.column(name)), promise.slack.get(name, 0.0)
        if rescaling := promise.rescaled.get(name):
            codes = rescaling.undo(codes)
            slack = _PRECISION.get(str(attribute.stored), 1e-9) * float(np.nanmax(np.abs(attribute.codes)))
            slack += bool(pa.types.is_integer(promise.masked[name]) or attribute.type != "continuous") / rescaling.slope
        columns |= {f"x{j}": _nullable(attribute.codes), f"y{j}": _nullable(codes)}
        columns[f"key{j}"] = _countable(published.column(name))
        ranges.append(
            f"min(x{j}) AS low{j}, max(x{j}) AS high{j}, any_value(y{j}) AS y{j}, "
            f"count(*) FILTER (x{j} = y{j}) AS same{j}, count(*) FILTER (x{j} IS NULL) AS missing{j}"
        )
        odd = f"same{j} = 0" if attribute.type in CATEGORIES else f"y{j} < low{j} - {slack} OR y{j} > high{j} + {slack}"
        if slack == np.inf:
            odd = "false"  # it was computed from others, and may be anywhere
        wrong.append(f"count(*) FILTER (CASE WHEN y{j} IS NULL THEN missing{j} = 0 ELSE low{j} IS NULL OR {odd} END)")
    keys = ", ".join(f"key{j}" for j in range(len(block)))
    query = f"SELECT {', '.join(wrong)} FROM (SELECT {', '.join(ranges)} FROM pairs GROUP BY {keys})"  # noqa: S608
    with cursor() as connection:
        connection.register("pairs", pa.table(columns))
        counts = connection.execute(query).fetchone() or ()
    for name, count in zip(block, counts, strict=True):
        if count:
            no_range = promise.types[name] in CATEGORIES
            where = (
                "that no record which shares it has" if no_range else "outside the range of the records that share it"
            )
            yield f"column '{name}' publishes {counted(count, 'value')} {where}"


def _out_of_bounds(published: Table, promise: Promise) -> Iterator[str]:
    """Yield the columns with values outside of what a private release may publish."""
    for name, (low, high) in promise.bounds.items():
        values = published.matrix([name])[:, 0]
        slack = _PRECISION.get(str(promise.masked[name]), 0.0) * max(abs(low), abs(high))
        if count := int(((values < low - slack) | (values > high + slack)).sum()):
            yield f"column '{name}' publishes {counted(count, 'value')} outside of its bounds"


def _in_shorter_runs(published: Table, block: list[str], k: int) -> Iterator[str]:
    """Yield a sentence if fewer than k rows that are alike stand together: their order could be the original's."""
    ends = np.flatnonzero(np.diff(classes(published, block), append=-1))
    if (runs := np.diff(ends, prepend=-1)).min() < k:
        yield f"{counted(int((runs < k).sum()), 'run')} of rows that are alike, and stand together, are below {k}"


def _missing(published: Table, block: list[str], promise: Promise) -> Iterator[str]:
    for name in block if promise.complete else []:
        if count := published.column(name).null_count:
            yield f"column '{name}' is missing in {counted(count, 'record')}, where none was promised to be"


def _nullable(codes: Codes) -> Array:
    return pa.array(codes, mask=np.isnan(codes))


def _totals(published: Table, original: Table, block: list[str], promise: Promise) -> Iterator[str]:
    """Yield the columns in which a group does not keep the weighted total of the values that it had."""
    if promise.weights is None:
        return
    weights = original.matrix([promise.weights])[:, 0]
    _, alike = np.unique(classes(published, block), return_inverse=True)
    for name in block:
        attribute = _attribute(original, name, promise)
        if attribute.type != "continuous":
            continue
        x, y = attribute.codes, attribute.read(published.column(name))
        used = ~np.isnan(x) & ~np.isnan(y)
        kept, had, size = (
            np.bincount(alike[used], weights=weights[used] * values[used]) for values in (y, x, np.abs(x))
        )
        if (off := np.abs(kept - had) > _PRECISION.get(str(attribute.stored), 1e-9) * size).any():
            yield f"column '{name}' does not keep the weighted total in {counted(int(off.sum()), 'group')}"


def classes(table: Table, names: Sequence[str]) -> NDArray[np.int64]:
    """Give each combination of values that occurs a number, one a record."""
    columns = pa.table(
        {f"c{j}": _countable(table.spelling.get(name, table.column(name))) for j, name in enumerate(names)}
        | {"place": pa.array(np.arange(len(table)))}
    )
    order = ", ".join(f"c{j}" for j in range(len(names)))
    query = f"SELECT dense_rank() OVER (ORDER BY {order}) AS class FROM published ORDER BY place"  # noqa: S608 - c0, c1
    with cursor() as connection:
        connection.register("published", columns)
        found = connection.execute(query).fetchnumpy()
    return np.asarray(found["class"], dtype=np.int64)


def _disobeyed(published: Table, promise: Promise) -> Iterator[str]:
    """Yield the rules that a table breaks, each outside of groups with an original record that broke this very rule."""
    obeyed = promise.obeyed
    if not obeyed.rules:
        return

    @cache
    def groups(block: int) -> NDArray[np.int64]:
        return classes(published, [*promise.blocks[block], *promise.strata])

    for number, (rule, broken) in enumerate(each_broken(obeyed.rules, records_with(published, obeyed.domains))):
        if broken.any() and number in obeyed.broken:
            excused = obeyed.broken[number]
            names = attributes_of(rule.condition)
            for block in (j for j, block in enumerate(promise.blocks) if {*block} & {*names}):
                excused = np.isin(groups(block), groups(block)[excused])
            broken = broken & ~excused
        if broken.any():
            first = int(np.argmax(broken)) + 1
            yield disobeyed(rule.name, int(broken.sum()), first, by_medoids=rule.name in obeyed.by_medoids)


def _undiverse(published: Table, names: Sequence[str], promise: Promise) -> Iterator[str]:
    """Yield the confidential attributes that some combination of values gives away."""
    asked = promise.diversity
    if asked is None:
        return
    alike = classes(published, names)
    for name in asked.confidential:
        codes, ordered = confidential_codes(published, name, promise.types.get(name), promise.levels.get(name))
        if asked.l is not None and (least := measures.l_diversity(alike, codes)["distinct"]) < asked.l:
            yield f"'{name}' has {counted(int(least), 'value')} in some group, where l = {asked.l} were promised"
        if asked.t is not None and (worst := measures.t_closeness(alike, codes, ordered)) > asked.t:
            yield f"'{name}' is {worst:.4f} from its distribution in some group, where t = {asked.t} was promised"

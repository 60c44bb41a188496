"""Is the file that was written what it claims to be? Both files are read again, side by side, and DuckDB counts.

Nothing here knows how groups were formed: see `shoal.pipeline.verify`, which does the same for tables in memory.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.backends.file.output import originals, published_schema
from shoal.edits.passes import Broken, Edits, columns_of
from shoal.errors import CheckFailed, FileError
from shoal.parallel import Progress
from shoal.pipeline.masker import Frame
from shoal.plan.aggregates import aggregate_of
from shoal.tables.arrow import Array
from shoal.tables.attributes import CATEGORIES
from shoal.tables.csv.dialect import Dialect
from shoal.tables.csv.pieces import CsvSource
from shoal.tables.dtypes import has_text, is_text
from shoal.tables.equality import same_values
from shoal.tables.storage import Kind, plain_dictionaries, stored_type
from shoal.tables.stream_reading import Source, open_source
from shoal.tables.text_values import one_chunk, render
from shoal.text import counted, listed

_ROUNDING = 1e-9  # of the sum of absolute values, by which a sum that is kept may be off


@dataclass
class _Sums:
    """Sums of an attribute's values in the original and in the release, and of what these are made from."""

    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    absolute: list[float] = field(default_factory=list)

    def are_equal(self, slack: float) -> bool:
        """Tell whether they are, but for rounding and so much that keeping rules may have moved them."""
        apart = abs(math.fsum(self.before) - math.fsum(self.after))
        return apart <= _ROUNDING * math.fsum(self.absolute) + slack


@dataclass
class _Seen:
    """What is seen in the two files on the way: columns that have changed, sums, and rules that are broken."""

    sums: dict[str, _Sums]
    changed: dict[str, str] = field(default_factory=dict)
    broken: Broken = field(default_factory=Broken)


@dataclass
class Check:
    """Compares a file that was written with the original.

    Attributes
    ----------
    source, frame
        The original, and what the release claims to be.
    kind, dialect
        Of the file.
    rows
        How many records to compare at a time.
    temporary, memory
        Where DuckDB may put what does not fit in so many bytes.
    slack
        How far each attribute may lie outside the range of its group, to keep rules.
    """

    source: Source
    frame: Frame
    kind: Kind
    dialect: Dialect
    rows: int
    temporary: Path
    memory: int
    slack: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, path: Path, progress: Progress) -> dict[str, float]:
        """Check the file and describe how well its records hide: see `shoal.measures.exposure`.

        Raises
        ------
        CheckFailed
            Naming everything that does not hold.
        """
        release = self._opened(path)
        names = [name for name in self.source.schema.names if name not in self.frame.plan.identifiers]
        if release.schema.names != names:
            raise CheckFailed(["the columns are not those of the original, in their order, without the identifiers"])
        failures = list(self._wrong_types(release))
        seen = _Seen({name: _Sums() for name in self._summed()})
        sizes, wrong = self._counted(self._pairs(release, names, seen, progress))
        failures += seen.changed.values()
        failures += [
            f"the sum of '{name}' is not kept"
            for name, each in seen.sums.items()
            if not each.are_equal(self.frame.records * self.slack.get(name, 0.0))
        ]
        failures += self._too_small(sizes)
        failures += wrong
        if self.frame.edits is not None:
            failures += self.frame.edits.failures(seen.broken)
        if failures:
            raise CheckFailed(failures)
        return exposure_of(sizes)

    @property
    def _ruled(self) -> list[str]:
        """Name the published columns that rules speak of."""
        names = [] if self.frame.edits is None else columns_of(self.frame.edits.kept.rules)
        return [name for name in names if name not in self.frame.plan.identifiers]

    def _opened(self, path: Path) -> Source:
        if self.kind != "csv":
            return open_source(path, None)
        source = open_source(path, self.dialect.as_csv())
        ruled = {name: self.source.schema.field(name).type for name in self._ruled}
        types = {name: stored_type("csv", type_) for name, type_ in {**ruled, **self.frame.types}.items()}
        return replace(source, types={name: type_ for name, type_ in types.items() if not is_text(type_)})  # type: ignore[type-var]

    def _wrong_types(self, release: Source) -> Iterator[str]:
        if self.kind == "csv":
            return  # cells are text, and are read as the types that they must have
        schema = published_schema(self.source, self.frame)
        if self.kind == "parquet":
            schema = plain_dictionaries(schema.empty_table()).schema
        for promised in schema:
            kind = stored_type(self.kind, promised.type)
            if release.schema.field(promised.name).type != kind:
                found = release.schema.field(promised.name).type
                yield f"column '{promised.name}' is of type {found}, not {kind} as promised"

    def _summed(self) -> list[str]:
        """Name the attributes whose sum is kept exactly: means, of numbers that are neither rounded nor missing."""
        plan = self.frame.plan
        rounded = set() if self.frame.edits is None else self.frame.edits.kept.whole
        return [
            attribute.name
            for attribute in self.frame.attributes
            if attribute.type == "continuous"
            and aggregate_of(attribute.name, plan) == "mean"
            and self.frame.types[attribute.name] == pa.float64()
            and plan.missing == "error"
            and attribute.name not in rounded
        ]

    def _pairs(
        self,
        release: Source,
        names: list[str],
        seen: _Seen,
        progress: Progress,
    ) -> Iterator[pa.RecordBatch]:
        """Compare the two files piece by piece, and give the masked columns of both."""
        count = 0
        before = originals(self.source, self.kind, names, self.rows)
        after = originals(release, self.kind, names, self.rows)
        for one, two in zip_longest(before, after):
            if one is None or two is None or len(one) != len(two):
                seen.changed["records"] = "the file does not have as many records as the original"
                return
            for name in names:
                if name not in self.frame.types and not self._same(one.column(name), two.column(name)):
                    seen.changed[name] = f"column '{name}' was to stay as it is, and has changed"
            columns = self._pair(one, two, release, seen.sums)
            if self.frame.edits is not None:
                columns |= self._obeyed(self.frame.edits, one, self._read(release, two), seen, count)
            yield pa.RecordBatch.from_pydict(columns)
            count += len(one)
            progress("verify", count, self.frame.records)
        if count != self.frame.records:
            seen.changed["records"] = f"there are {counted(count, 'record')} where {self.frame.records} were expected"

    def _read(self, source: Source, piece: pa.Table) -> pa.Table:
        """Give the columns of a piece that rules speak of, with their types."""
        columns = {name: _typed(source, one_chunk(piece.column(name)), name) for name in self._ruled}
        fields = [source.schema.field(name).with_type(column.type) for name, column in columns.items()]
        return pa.Table.from_arrays([*columns.values()], schema=pa.schema(fields))

    def _obeyed(self, edits: Edits, one: pa.Table, after: pa.Table, seen: _Seen, start: int) -> dict[str, Array]:
        """See which rules the release breaks; where the original does too, DuckDB must say who shares a group."""
        if not edits.broken:
            seen.broken += edits.disobeyed(after, start)
            return {}
        before = self._read(self.source, one)
        return {"excuses": pa.array(edits.breaks(before)), "rule": edits.first_disobeyed(after)}

    def _same(self, one: pa.ChunkedArray, two: pa.ChunkedArray) -> bool:  # type: ignore[type-arg]
        before, after = one_chunk(one), one_chunk(two)
        if same_values(before, after):
            return True
        if not (self.kind == "csv" and has_text(before.type)):
            return False
        return render(before, self.dialect.decimal).equals(after.cast(pa.large_string()))

    def _pair(self, one: pa.Table, two: pa.Table, release: Source, sums: dict[str, _Sums]) -> dict[str, Array]:
        columns: dict[str, Array] = {}
        for j, attribute in enumerate(self.frame.attributes):
            key = one_chunk(two.column(attribute.name))
            x = attribute.read(_typed(self.source, one_chunk(one.column(attribute.name)), attribute.name))
            y = attribute.read(_typed(release, key, attribute.name))
            if attribute.name in sums:
                for part, values in zip(vars(sums[attribute.name]).values(), (x, y, np.abs(x)), strict=True):
                    part.append(float(values.sum()))
            columns |= {f"key{j}": _countable(key), f"x{j}": _nullable(x)}
            if key.type != pa.float64():  # else it is the key itself
                columns[f"y{j}"] = _nullable(y)
        return columns

    def _counted(self, pairs: Iterator[pa.RecordBatch]) -> tuple[dict[int, int], list[str]]:
        """Count how many combinations occur how often, and those that publish what none of their records has.

        A number or a level must lie in the range of theirs, a category be one of theirs, and a value be missing only
        where theirs are: rows out of order do not pass. Where the original breaks rules, those that the release breaks
        outside of groups with such a record are counted too.
        """
        first = next(pairs)
        attributes = self.frame.attributes
        odd, parts = [], []
        for j, attribute in enumerate(attributes):
            y = f"any_value(y{j})" if f"y{j}" in first.schema.names else f"key{j}"
            parts.append(f"min(x{j}) AS low{j}, max(x{j}) AS high{j}, {y} AS z{j}")
            slack = self.slack.get(attribute.name, 0.0)
            # with an exponent, or DuckDB would take it for a decimal number and round it
            wrong, missing = f"z{j} < low{j} - {slack:.17e} OR z{j} > high{j} + {slack:.17e}", "true"
            if slack == np.inf:
                wrong = "false"  # it was computed from others, and may be anywhere
            if attribute.type in CATEGORIES:
                parts.append(f"count(*) FILTER (x{j} = y{j}) AS same{j}")
                wrong = f"same{j} = 0"
            if self.frame.plan.missing != "error":
                parts.append(f"count(*) FILTER (x{j} IS NULL) AS missing{j}")
                missing = f"missing{j} = 0"
            odd.append(f"count(*) FILTER (CASE WHEN z{j} IS NULL THEN {missing} ELSE low{j} IS NULL OR {wrong} END)")
        if "rule" in first.schema.names:
            parts.append("bool_or(excuses) AS excused, count(rule) AS disobeying, min(rule) AS first_rule")
            odd += ["sum(disobeying) FILTER (NOT excused)", "min(first_rule) FILTER (NOT excused)"]
        keys = ", ".join(f"key{j}" for j in range(len(attributes)))
        groups = f"SELECT count(*) AS size, {', '.join(parts)} FROM pairs GROUP BY {keys}"  # noqa: S608 - no outside text
        rows = self._queried(f"SELECT size, count(*), {', '.join(odd)} FROM ({groups}) GROUP BY size", first, pairs)  # noqa: S608
        found = [int(sum(row[2 + j] for row in rows)) for j in range(len(attributes))]
        outside = [
            f"column '{attribute.name}' publishes {counted(count, 'value')} that no records which share it could give"
            for attribute, count in zip(attributes, found, strict=True)
            if count
        ]
        return {int(row[0]): int(row[1]) for row in rows}, [*outside, *self._unexcused(rows)]

    def _unexcused(self, rows: list[tuple[Any, ...]]) -> Iterator[str]:
        """Say which rules are broken outside of groups with an original record that broke one."""
        breaking = [row[-2:] for row in rows if len(row) > 2 + len(self.frame.attributes) and row[-1] is not None]
        if breaking and self.frame.edits is not None:
            rule = self.frame.edits.kept.rules[min(number for _, number in breaking)]
            records = counted(int(sum(count for count, _ in breaking)), "record")
            yield (
                f"rules are broken by {records} that share no group with an original record that broke one, the first "
                f"of them rule '{rule.name}'; publish whole records (aggregate = 'medoid'), or leave the rules out"
            )

    def _queried(self, query: str, first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> list[tuple[Any, ...]]:
        """Let DuckDB answer a query on all pairs."""
        stopped: list[BaseException] = []

        def all_pairs() -> Iterator[pa.RecordBatch]:
            yield first
            try:
                yield from others
            except BaseException as error:  # DuckDB would say it in its own words
                stopped.append(error)

        rows: list[tuple[Any, ...]] = []
        try:
            with self._database() as connection:
                connection.execute("SET enable_progress_bar = false")
                connection.register("pairs", pa.RecordBatchReader.from_batches(first.schema, all_pairs()))
                rows = connection.execute(query).fetchall()
        except duckdb.Error as error:
            if not stopped:
                raise FileError(f"the release cannot be verified: {type(error).__name__} in DuckDB") from None
        if stopped:
            raise stopped[0]
        return rows

    def _database(self) -> duckdb.DuckDBPyConnection:
        self.temporary.mkdir(mode=0o700, exist_ok=True)
        return duckdb.connect(
            config={
                "memory_limit": f"{self.memory >> 20}MiB",
                "temp_directory": str(self.temporary),
                "preserve_insertion_order": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )

    def _too_small(self, sizes: dict[int, int]) -> Iterator[str]:
        k = self.frame.plan.k
        below = {size: groups for size, groups in sizes.items() if size < k}
        if below:
            names = listed(self.frame.plan.masked)
            yield (
                f"{sum(below.values())} of the {sum(sizes.values())} combinations of {names} occur fewer than {k} "
                f"times; the smallest has {counted(min(below), 'record')}"
            )


def _typed(source: Source, column: Array, name: str) -> Array:
    """Give a column of CSV cells its type; others have theirs."""
    return source.typed(column, name) if isinstance(source, CsvSource) and is_text(column.type) else column


def _countable(column: Array) -> Array:
    """Turn the few types that DuckDB does not know into one that tells the same values apart."""
    if pa.types.is_float16(column.type):
        return column.cast(pa.float32())
    if pa.types.is_dictionary(column.type):
        return column.cast(column.type.value_type)  # pieces have dictionaries of their own
    return column.cast(pa.string()) if pa.types.is_decimal256(column.type) else column


def _nullable(codes: NDArray[np.float64]) -> Array:
    return pa.array(codes, mask=np.isnan(codes))


def exposure_of(sizes: dict[int, int]) -> dict[str, float]:
    """Describe how well records hide by how many groups there are of each size."""
    records = sum(size * groups for size, groups in sizes.items())
    return described(records, sum(sizes.values()), min(sizes), max(sizes), sizes.get(1, 0))


def described(records: int, groups: int, smallest: int, largest: int, uniques: int) -> dict[str, float]:
    """Give what `shoal.measures.exposure` gives."""
    return {
        "groups": groups,
        "smallest": smallest,
        "largest": largest,
        "uniques": uniques,
        "real_k": records / groups,
        "reidentification": 100 * groups / records,
    }

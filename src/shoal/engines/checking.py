"""Is the file that was written what it claims to be? Both files are read again, side by side, and DuckDB counts.

Nothing here knows how groups were formed: see `shoal.verify`, which does the same for tables in memory.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding import aggregate_of
from shoal.engines.csv_source import CsvSource
from shoal.engines.frame import Frame
from shoal.engines.output import originals, published_schema
from shoal.engines.source import Source, open_source
from shoal.errors import CheckFailed, FileError
from shoal.tables.arrow import Array
from shoal.tables.attributes import CATEGORIES
from shoal.tables.cells import one_chunk, render
from shoal.tables.dialect import Dialect
from shoal.tables.kinds import has_text, is_text
from shoal.tables.sameness import same_values
from shoal.tables.stored import Kind, plain_dictionaries, stored_type
from shoal.words import counted, listed
from shoal.work import Progress

_ROUNDING = 1e-9  # of the sum of absolute values, by which a sum that is kept may be off


@dataclass
class _Sums:
    """Sums of an attribute's values in the original and in the release, and of what these are made from."""

    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    absolute: list[float] = field(default_factory=list)

    @property
    def are_equal(self) -> bool:
        apart = abs(math.fsum(self.before) - math.fsum(self.after))
        return apart <= _ROUNDING * math.fsum(self.absolute)


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
    """

    source: Source
    frame: Frame
    kind: Kind
    dialect: Dialect
    rows: int
    temporary: Path
    memory: int

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
        changed: dict[str, str] = {}
        sums = {name: _Sums() for name in self._summed()}
        pairs = self._pairs(release, names, changed, sums, progress)
        sizes, outside = self._counted(pairs)
        failures += changed.values()
        failures += [f"the sum of '{name}' is not kept" for name, each in sums.items() if not each.are_equal]
        failures += self._too_small(sizes)
        failures += outside
        if failures:
            raise CheckFailed(failures)
        return exposure_of(sizes)

    def _opened(self, path: Path) -> Source:
        if self.kind != "csv":
            return open_source(path, None)
        source = open_source(path, self.dialect.as_csv())
        types = {name: stored_type("csv", type_) for name, type_ in self.frame.types.items()}
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
        return [
            attribute.name
            for attribute in self.frame.attributes
            if attribute.type == "continuous"
            and aggregate_of(attribute.name, plan) == "mean"
            and self.frame.types[attribute.name] == pa.float64()
            and plan.missing == "error"
        ]

    def _pairs(
        self,
        release: Source,
        names: list[str],
        changed: dict[str, str],
        sums: dict[str, _Sums],
        progress: Progress,
    ) -> Iterator[pa.RecordBatch]:
        """Compare the two files piece by piece, and give the masked columns of both."""
        count = 0
        before = originals(self.source, self.kind, names, self.rows)
        after = originals(release, self.kind, names, self.rows)
        for one, two in zip_longest(before, after):
            if one is None or two is None or len(one) != len(two):
                changed["records"] = "the file does not have as many records as the original"
                return
            for name in names:
                if name not in self.frame.types and not self._same(one.column(name), two.column(name)):
                    changed[name] = f"column '{name}' was to stay as it is, and has changed"
            yield self._pair(one, two, release, sums)
            count += len(one)
            progress("verify", count, self.frame.records)
        if count != self.frame.records:
            changed["records"] = f"there are {counted(count, 'record')} where {self.frame.records} were expected"

    def _same(self, one: pa.ChunkedArray, two: pa.ChunkedArray) -> bool:  # type: ignore[type-arg]
        before, after = one_chunk(one), one_chunk(two)
        if same_values(before, after):
            return True
        if not (self.kind == "csv" and has_text(before.type)):
            return False
        return render(before, self.dialect.decimal).equals(after.cast(pa.large_string()))

    def _pair(self, one: pa.Table, two: pa.Table, release: Source, sums: dict[str, _Sums]) -> pa.RecordBatch:
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
        return pa.RecordBatch.from_pydict(columns)

    def _counted(self, pairs: Iterator[pa.RecordBatch]) -> tuple[dict[int, int], list[str]]:
        """Count how many combinations occur how often, and those that publish what none of their records has.

        A number or a level must lie in the range of theirs, a category be one of theirs, and a value be missing only
        where theirs are: rows out of order do not pass.
        """
        first = next(pairs)
        stopped: list[BaseException] = []

        def all_pairs() -> Iterator[pa.RecordBatch]:
            yield first
            try:
                yield from pairs
            except BaseException as error:  # DuckDB would say it in its own words
                stopped.append(error)

        reader = pa.RecordBatchReader.from_batches(first.schema, all_pairs())
        attributes = self.frame.attributes
        odd, parts = [], []
        for j, attribute in enumerate(attributes):
            y = f"any_value(y{j})" if f"y{j}" in first.schema.names else f"key{j}"
            parts.append(f"min(x{j}) AS low{j}, max(x{j}) AS high{j}, {y} AS z{j}")
            wrong, missing = f"z{j} < low{j} OR z{j} > high{j}", "true"
            if attribute.type in CATEGORIES:
                parts.append(f"count(*) FILTER (x{j} = y{j}) AS same{j}")
                wrong = f"same{j} = 0"
            if self.frame.plan.missing != "error":
                parts.append(f"count(*) FILTER (x{j} IS NULL) AS missing{j}")
                missing = f"missing{j} = 0"
            odd.append(f"count(*) FILTER (CASE WHEN z{j} IS NULL THEN {missing} ELSE low{j} IS NULL OR {wrong} END)")
        keys = ", ".join(f"key{j}" for j in range(len(attributes)))
        groups = f"SELECT count(*) AS size, {', '.join(parts)} FROM pairs GROUP BY {keys}"  # noqa: S608 - no outside text
        query = f"SELECT size, count(*), {', '.join(odd)} FROM ({groups}) GROUP BY size"  # noqa: S608
        try:
            with self._database() as connection:
                connection.execute("SET enable_progress_bar = false")
                connection.register("pairs", reader)
                rows = connection.execute(query).fetchall()
        except duckdb.Error as error:
            if not stopped:
                raise FileError(f"the release cannot be verified: {type(error).__name__} in DuckDB") from None
        if stopped:
            raise stopped[0]
        found = [int(sum(row[2 + j] for row in rows)) for j in range(len(attributes))]
        outside = [
            f"column '{attribute.name}' publishes {counted(count, 'value')} that no records which share it could give"
            for attribute, count in zip(attributes, found, strict=True)
            if count
        ]
        return {int(row[0]): int(row[1]) for row in rows}, outside

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

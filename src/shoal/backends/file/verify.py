"""The file that was written beside the original, both read again: what `shoal.pipeline.verify` looks at."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.backends.file.free_memory import return_free_memory
from shoal.backends.file.output import originals, published_schema
from shoal.edits.passes import Broken, columns_of
from shoal.kernels.standardize import Matrix
from shoal.messages import Message
from shoal.parallel import Progress
from shoal.pipeline.masker import BlockMasker
from shoal.pipeline.verify import Pairs, Promise
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.csv.dialect import Dialect
from shoal.tables.csv.formulas import unquoted_piece
from shoal.tables.csv.pieces import CsvSource
from shoal.tables.csv.writing import with_word
from shoal.tables.dtypes import has_text, inner, is_text
from shoal.tables.equality import same_values
from shoal.tables.levels import InUse
from shoal.tables.storage import Kind, plain_dictionaries, stored_type
from shoal.tables.stream_reading import Source, open_source
from shoal.tables.text_values import one_chunk, render


@dataclass
class FilePairs:
    """Reads a release and its original side by side.

    Attributes
    ----------
    source
        The original.
    promise, masker
        What the release claims, and how records become rows.
    kind, dialect
        Of the release.
    rows
        How many records to compare at a time.
    progress
        Called with the step 'verify'.
    broken, changed
        What the last reading found: rules that are broken, and columns that have changed.
    """

    source: Source
    promise: Promise
    masker: BlockMasker
    kind: Kind
    dialect: Dialect
    rows: int
    progress: Progress
    broken: Broken = field(default_factory=Broken)
    changed: dict[str, Message] = field(default_factory=dict)

    @property
    def _names(self) -> list[str]:
        return [name for name in self.source.schema.names if name not in self.promise.plan.dropped]

    def failures(self) -> list[Message]:
        """List what has changed and must not have."""
        return list(self.changed.values())

    def wrong_schema(self, path: Path) -> list[Message]:
        """Compare the columns of the file with those that were promised."""
        release = self._opened(path)
        if release.schema.names != self._names:
            return [Message("columns-changed")]
        if self.kind == "csv":
            return []  # cells are text, and are read as the types that they must have
        schema = published_schema(self.source, self.masker)
        if self.kind == "parquet":
            schema = plain_dictionaries(schema.empty_table()).schema
        found = []
        for promised in schema:
            kind, there = stored_type(self.kind, promised.type), release.schema.field(promised.name).type
            if there != kind:
                found.append(Message("wrong-type", column=promised.name, type=str(there), promised=str(kind)))
        return found

    def _opened(self, path: Path) -> Source:
        if self.kind != "csv":
            return open_source(path, None)
        source = open_source(path, self.dialect.as_csv())
        numbers = {each.name for each in self.promise.unchanged if each.number}
        looked_at = {*self.promise.plan.used, *numbers, *self.masker.names}
        if self.promise.edits is not None:
            looked_at |= {*columns_of(self.promise.edits.rules)}
        known = {name: self.source.schema.field(name).type for name in self._names if name in looked_at}
        known |= {name: pa.int64() for name in [self.promise.plan.pseudonym] if name is not None}
        types = {name: _in_cells(type_) for name, type_ in {**known, **self.masker.types}.items()}
        return replace(source, types={name: type_ for name, type_ in types.items() if not is_text(type_)})  # type: ignore[type-var]

    def _side_by_side(self, path: Path) -> Iterator[tuple[int, pa.Table, pa.Table, Source]]:
        """Read both files, without the records that were left out."""
        release = self._opened(path)
        units = [each.name for each in self.promise.units]
        needed = list(dict.fromkeys([*self._names, *self.masker.names, *units]))
        before = self._kept(originals(self.source, self.kind, needed, self.rows))
        after = _InStep(self._published(release))
        count = 0
        for one in before:
            two = after(len(one))
            if two is None or len(two) != len(one):
                self._refuse_number(count + (0 if two is None else len(two)))
                if two is not None:
                    yield count, one.slice(0, len(two)), two, release
                return
            yield count, one, two, release
            count += len(one)
        while (more := after(self.rows)) is not None:
            count += len(more)
        if count != self.masker.records:
            self._refuse_number(count)

    def _refuse_number(self, records: int) -> None:
        expected = self.masker.records
        self.changed["records"] = Message("number-of-records-differs", records=records, expected=expected)

    def _published(self, release: Source) -> Iterator[pa.Table]:
        """Read the release, without the apostrophes before formulas."""
        for piece in originals(release, self.kind, self._names, self.rows):
            yield unquoted_piece(piece, self.dialect.missing) if self.dialect.quotes_formulas else piece

    def _kept(self, pieces: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Leave out the records that are not published."""
        plan = self.promise.plan
        everyone = plan.missing != "suppress" and plan.edits_original != "exclude" and not self.masker.parts.suppressed
        for piece in pieces:
            if everyone:
                yield piece
                continue
            keep = self.masker.encode(self._typed(piece, self.source, self.masker.names))[:, -1] >= 0
            kept = piece.filter(pa.array(keep))
            if len(kept):
                yield kept

    def _typed(self, piece: pa.Table, source: Source, names: list[str]) -> pa.Table:
        """Return columns of a piece with their types: those of a CSV file come as text."""
        columns = {name: _typed(source, one_chunk(piece.column(name)), name) for name in names}
        fields = [source.schema.field(name).with_type(column.type) for name, column in columns.items()]
        return pa.Table.from_arrays([*columns.values()], schema=pa.schema(fields))

    def batches(self, path: Path) -> Iterator[pa.RecordBatch]:
        """Return the pairs of all records."""
        return_free_memory()
        self.changed, pairs = {}, Pairs(self.promise)
        changed = {attribute.name for attribute in self.promise.attributes} | {self.promise.plan.pseudonym}
        unchanged = {each.name for each in self.promise.unchanged} | {self.promise.plan.pseudonym}
        looked_at = [name for name in self._names if name in self._compared() | unchanged]
        originally = [name for name in self.source.schema.names if name in self._compared()]
        in_use = InUse()
        for start, one, two, release in self._side_by_side(path):
            in_use.see(two)
            for name in self._names:
                if name not in changed and not self._same(one.column(name), two.column(name)):
                    self.changed[name] = Message("column-changed", column=name)
            original = Table(self._typed(one, self.source, [name for name in originally if name in one.column_names]))
            published = Table(self._typed(two, release, looked_at))
            cells = self._keys(two, published) if self.kind == "csv" else None
            yield pairs.of(original, published, start, cells)
            self.broken = pairs.broken
            self.progress("verify", start + len(one), self.masker.records)
        self.changed |= {text: text for text in in_use.failures()}

    def _keys(self, release: pa.Table, published: Table) -> dict[str, Array]:
        """Return columns that tell cells of a CSV file apart: numbers, which take less memory than text, by their bits.

        Numbers must be written as `render` writes them, so that there is one text for each.
        """
        cells = {name: one_chunk(release.column(name)) for name in self._names}
        for name in (attribute.name for attribute in self.promise.attributes):
            column = published.column(name)
            if column.type == pa.float64() or pa.types.is_integer(column.type):
                text = render(with_word(column, name, self.dialect), self.dialect.decimal)
                if not text.equals(cells[name].cast(pa.large_string())):
                    self.changed[name] = Message("number-written-otherwise", column=name)
                cells[name] = column if pa.types.is_integer(column.type) else column.view(pa.int64())
        return cells

    def _compared(self) -> set[str]:
        """Name the columns of which the original is looked at beside what is published."""
        names = {*self.promise.plan.used, *(each.name for each in self.promise.sensitive)}
        names |= {*self.promise.plan.roles["household"], *(each.name for each in self.promise.units)}
        return names | (set() if self.promise.edits is None else {*columns_of(self.promise.edits.rules)})

    def encoded(self, path: Path) -> Iterator[tuple[Matrix, Matrix]]:
        """Return the rows of all published records, and what is published of them as a reader finds it."""
        changed = [attribute.name for attribute in self.masker.changed]
        for _, one, two, release in self._side_by_side(path):
            rows = self.masker.encode(self._typed(one, self.source, self.masker.names))
            columns = self._typed(two, release, changed)
            yield rows, self.masker.as_read({name: one_chunk(columns.column(name)) for name in changed})

    def _same(self, one: pa.ChunkedArray, two: pa.ChunkedArray) -> bool:  # type: ignore[type-arg]
        before, after = one_chunk(one), one_chunk(two)
        if same_values(before, after):
            return True
        if not (self.kind == "csv" and has_text(before.type)):
            return False
        return render(before, self.dialect.decimal).equals(after.cast(pa.large_string()))


def _in_cells(type_: pa.DataType) -> pa.DataType:
    """Return the type that the cells of a CSV file are read as: moments are written with all digits of their unit."""
    kind: Any = inner(type_)
    found = stored_type("csv", kind)
    return pa.timestamp("ns", found.tz) if pa.types.is_timestamp(found) and kind.unit == "ns" else found


def _typed(source: Source, column: Array, name: str) -> Array:
    """Return a column of CSV cells with its type; others have theirs."""
    return source.typed(column, name) if isinstance(source, CsvSource) and is_text(column.type) else column


class _InStep:
    """Reads so many records at a time from pieces of other sizes."""

    def __init__(self, pieces: Iterator[pa.Table]) -> None:
        self._pieces = pieces
        self._left: pa.Table | None = None

    def __call__(self, count: int) -> pa.Table | None:
        parts: list[pa.Table] = [] if self._left is None else [self._left]
        have = sum(len(part) for part in parts)
        while have < count:
            piece = next(self._pieces, None)
            if piece is None:
                break
            parts.append(piece)
            have += len(piece)
        if not have:
            self._left = None
            return None
        joined = parts[0] if len(parts) == 1 else pa.concat_tables(parts)
        self._left = joined.slice(count) if have > count else None
        return joined.slice(0, count)

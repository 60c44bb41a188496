"""The records of a file that may be larger than memory, read in pieces again and again."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add

import numpy as np
import pyarrow as pa

from shoal.backends.file.checkpoint import WorkFolder
from shoal.backends.file.spill import Spill
from shoal.edits.apply import rules_of
from shoal.edits.passes import columns_of
from shoal.errors import DataError
from shoal.kernels.standardize import Matrix
from shoal.messages import Message
from shoal.parallel import Progress
from shoal.pipeline.records import Encoder, Look, Seen
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.csv.inference import Look as TextLook
from shoal.tables.csv.inference import look as look_at_text
from shoal.tables.csv.pieces import CsvSource
from shoal.tables.dtypes import inner, is_number, is_text
from shoal.tables.numbers import not_a_number, stored_as_text
from shoal.tables.recoding import refuse_unsuited
from shoal.tables.storage import Kind
from shoal.tables.stream_reading import Source, counted_off, recoded_source
from shoal.tables.text_values import one_chunk, without_words


@dataclass
class FileRecords:
    """The records of a source; their rows of numbers are in a spill file once a pass has gone over them.

    Attributes
    ----------
    source
        Where they come from.
    outline
        A stand-in with the columns, types and labels of the table.
    rows
        How many records to read at a time.
    folder
        Where spill files lie.
    progress
        Called with the step.
    """

    source: Source
    outline: Table
    rows: int
    folder: WorkFolder
    progress: Progress
    _key: tuple[object, object] | None = field(default=None, repr=False)

    def pieces(self, names: Sequence[str], step: str) -> Iterator[tuple[int, pa.Table]]:
        """Read some columns in pieces, each with the number of records before it."""
        pieces = self.source.pieces(list(names), self.rows)
        return counted_off(pieces, lambda done: self.progress(step, done, max(done, self.source.records)))

    def fold(self, look: Look[Seen], names: Sequence[str], step: str) -> Seen:
        """Look at some columns of all records and add up what is seen."""
        return reduce(add, (look(piece, start) for start, piece in self.pieces(names, step)))

    def fold_rows(self, encoder: Encoder, look: Callable[[Matrix], Seen], step: str) -> Seen:
        """Look at the encoded rows of all records that are published and add up what is seen."""
        found = None
        for rows in self.encoded(encoder, step):
            kept = rows if (rows[:, -1] >= 0).all() else rows[rows[:, -1] >= 0]
            seen = look(kept)
            found = seen if found is None else found + seen
        if found is None:
            raise ValueError("there are no records")
        return found

    def encoded(self, encoder: Encoder, step: str) -> Iterator[Matrix]:
        """Return the rows of all records in pieces; the first time they are written to the spill file."""
        key = (getattr(encoder, "parts", None), getattr(encoder, "sensitive", None))
        width = len(encoder.encode(self.outline_piece(encoder.names))[0])
        path = self.folder.spill("codes")
        if self._key is not None and all(one is two for one, two in zip(self._key, key, strict=True)):
            with Spill(path, width, np.float64) as codes:
                for start, rows in codes.chunks(self.rows):
                    self.progress(step, start + len(rows), len(codes))
                    yield rows
            return
        path.unlink(missing_ok=True)
        with Spill(path, width, np.float64, self.source.records if self.source.kind != "csv" else 0) as codes:
            for start, piece in self.pieces(encoder.names, step):
                rows = encoder.encode(piece)
                codes.write(start, rows)
                yield rows
        self._key = key

    def outline_piece(self, names: Sequence[str]) -> pa.Table:
        """Return a piece of one record without values."""
        schema = pa.schema([self.source.schema.field(name) for name in names])
        return pa.Table.from_arrays([pa.nulls(1, each.type) for each in schema], schema=schema)


def typed_source(source: Source, plan: Plan, kind: Kind, rows: int, progress: Progress) -> tuple[Source, Table]:
    """Find the types of text columns by a pass over those that matter, and return a stand-in for the table.

    Parameters
    ----------
    source
        The table; of a CSV file, the one that is returned knows the types of the columns that matter.
    plan
        What is asked for.
    kind
        Of the output: a column of CSV gets a type if the plan or a rule speaks of it, or it goes to another kind.
    rows
        How many records to read at a time.
    progress
        Called with the step 'scan'.
    """
    looks = _looks(source, _texts(source, plan, kind), rows, progress)
    disguised: list[str] = []
    if isinstance(source, CsvSource):
        types = {name: each.type for name, each in looks.items() if each.type is not None and not is_text(each.type)}
        source = replace(source, types=types, strata=plan.strata or [])
    else:
        disguised = [name for name, each in looks.items() if each.is_disguised]
    spoiled = {name: each.first_text or 1 for name, each in looks.items() if each.is_spoiled}
    _refuse_odd(source, plan, spoiled, disguised)
    dialect = source.dialect if isinstance(source, CsvSource) else None
    if plan.recode:
        refuse_unsuited(Table(one_record(source.schema), dialect, {}, spoiled, disguised), plan)
        source = recoded_source(source, plan.recode)
        spoiled = {name: record for name, record in spoiled.items() if name not in plan.recode}
        disguised = [name for name in disguised if name not in plan.recode]
    return source, Table(one_record(source.schema), dialect, {}, spoiled, disguised)


def _spoken_of(plan: Plan) -> list[str]:
    """List the columns other than the masked ones whose values the plan or its rules look at."""
    return [
        *columns_of(rules_of(plan)),
        *plan.missing_codes,
        *plan.recode,
        *(plan.strata or []),
        *plan.roles["weights"],
        *plan.roles["unit"],
        *plan.roles["household"],
        *plan.confidential,
    ]


def _texts(source: Source, plan: Plan, kind: Kind) -> list[str]:
    """List the text columns that must be looked at: those that are masked, or would be if they are numbers."""
    taken = {*plan.confidential, *plan.dropped}
    texts = [each.name for each in source.schema if is_text(inner(each.type))]
    if isinstance(source, CsvSource) and kind != "csv":
        return texts
    typed: Collection[str] = _spoken_of(plan) if isinstance(source, CsvSource) else ()
    if plan.masked:
        return [name for name in texts if name in plan.masked or name in typed]
    return [name for name in texts if name not in taken or name in typed]


def _looks(source: Source, names: list[str], rows: int, progress: Progress) -> dict[str, TextLook]:
    found = dict.fromkeys(names, TextLook())
    if not names:
        return found
    decimal, words = (source.dialect.decimal, source.dialect.missing) if isinstance(source, CsvSource) else (".", ())
    pieces = source.pieces(names, rows)
    for start, piece in counted_off(pieces, lambda done: progress("scan", done, max(done, source.records))):
        for name in names:
            cells = one_chunk(piece.column(name)).cast(pa.large_string())
            found[name] += look_at_text(without_words(cells, words), decimal, start)
    return found


def _refuse_odd(source: Source, plan: Plan, spoiled: dict[str, int], disguised: list[str]) -> None:
    """Refuse what should not be taken for categories without a word, and what cannot be masked at all."""
    problems: list[str] = []
    for name in plan.masked:
        if name not in source.schema.names or name in plan.recode:
            continue  # reported with all other names, or by recoding
        kind, given = inner(source.schema.field(name).type), plan.types.get(name)
        if name in spoiled and given in (None, "continuous") and name not in plan.levels:
            problems.append(not_a_number(name, spoiled[name]))
        elif name in disguised and given is None and name not in plan.levels:
            problems.append(stored_as_text(name))
        elif not (is_number(kind) or is_text(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind)):
            problems.append(Message("type-not-masked", column=name, type=str(kind)))
    if problems:
        raise DataError(*problems)


def one_record(schema: pa.Schema) -> pa.Table:
    """Return a table of one record that has nothing but the types of the columns."""
    columns = []
    for each in schema:
        if is_text(each.type):
            columns.append(pa.array(["x"], each.type))
        elif pa.types.is_dictionary(each.type):
            columns.append(
                pa.DictionaryArray.from_arrays(
                    pa.array([None], each.type.index_type),
                    pa.array([], each.type.value_type),
                    ordered=each.type.ordered,
                )
            )
        elif pa.types.is_nested(each.type):  # which is told from what is empty
            columns.append(pa.array([{} if pa.types.is_struct(each.type) else []], each.type))
        else:
            columns.append(pa.nulls(1, each.type))
    return pa.Table.from_arrays(columns, schema=schema)

"""The records of a file, for a frame: what the plan leaves open is filled in, and every record becomes numbers once."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add

import numpy as np
import pyarrow as pa

from shoal.backends.file.spill import Spill
from shoal.blocking import Gather, in_chunks
from shoal.edits.passes import Originals
from shoal.edits.strategy import Keeping
from shoal.errors import DataError
from shoal.kernels.standardize import Matrix
from shoal.parallel import Progress
from shoal.pipeline.masker import Frame, frame_of, refuse_whole, with_seen
from shoal.pipeline.resolve import with_attributes, with_method
from shoal.pipeline.summary import Moments, Summary
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.attributes import Attribute
from shoal.tables.csv.inference import Look, look
from shoal.tables.csv.pieces import CsvSource
from shoal.tables.dtypes import inner, is_number, is_text
from shoal.tables.stat.labels import labels_of
from shoal.tables.storage import Kind
from shoal.tables.stream_reading import Source, counted_off
from shoal.tables.text_values import one_chunk, without_words


@dataclass
class FileRecords:
    """The records of a source; their codes are in a spill file once a pass has gone over them.

    Attributes
    ----------
    source, names
        Where they come from, and the columns that are masked or that rules speak of.
    rows
        How many to read at a time.
    codes
        A row for each record; behind its codes, where rules may part records, the number of its part.
    progress
        Called with the step.
    seen, is_spilled
        What a pass has shown, and whether the spill file is complete.
    """

    source: Source
    names: list[str]
    rows: int
    codes: Spill[np.float64]
    progress: Progress
    seen: Summary = field(default_factory=lambda: Summary({}))
    is_spilled: bool = False

    def summary(self, look: Callable[..., Summary]) -> Summary:
        """Add up what `look` sees in all pieces of the table."""
        self.seen = reduce(add, (look(piece, start) for start, piece in self._pieces("scan")))
        return self.seen

    def originals(self, look: Callable[..., Originals]) -> Originals:
        """Add up what `look` sees in all pieces of the table once more."""
        return reduce(add, (look(piece, start) for start, piece in self._pieces("scan")))

    def moments(self, look: Callable[[Matrix], Moments], frame: Frame) -> Moments:
        """Add up what `look` sees in the codes of all records."""
        return reduce(add, (look(codes) for codes in self.spilled(frame)))

    def spilled(self, frame: Frame) -> Iterator[Matrix]:
        """Give the codes of all records in pieces, each of which is in the spill file then."""
        self.codes.reserve(frame.records)
        for start, piece in self._pieces("measure"):
            codes = frame.codes(piece)
            parts = [frame.part_of(piece)] if self.codes.width > codes.shape[1] else []
            self.codes.write(start, np.column_stack([codes, *parts]))
            yield codes
        self.is_spilled = True

    def gather(self, frame: Frame, part: int | None = None) -> Gather:
        """Give passes over what the blocks are made from, of all records or of one part: see `Frame.outline`."""
        d = len(frame.attributes)

        def outlines() -> Iterator[Matrix]:
            for start, rows in self.codes.chunks(self.rows):
                yield frame.outline(rows[:, :d] if part is None else rows[rows[:, d] == part, :d])
                self.progress("divide", start + len(rows), frame.records)

        return in_chunks(outlines)

    def _pieces(self, step: str) -> Iterator[tuple[int, pa.Table]]:
        pieces = self.source.pieces(self.names, self.rows)
        return counted_off(pieces, lambda done: self.progress(step, done, max(done, self.source.records)))


def frame_of_file(records: FileRecords, plan: Plan, inferred: list[str], kept: Keeping | None = None) -> Frame:
    """Make the frame of a file, with a settled plan and without blocks; the codes are in the spill file then.

    Parameters
    ----------
    records
        Of the file.
    plan
        With attributes and their types.
    inferred
        The attributes whose type was not given.
    kept
        How rules are kept, if there are any.
    """
    refuse_whole(plan)
    schema = records.source.schema
    # Once without the records, so that what cannot be is refused before they are read.
    with_method(plan, [Attribute(name, plan.types[name], np.empty(0), schema.field(name).type) for name in plan.masked])
    frame = frame_of(records, plan, schema, kept)
    frame = with_seen(frame, records.seen, inferred)
    if not records.is_spilled:  # the scale needed no pass over the values
        for _ in records.spilled(frame):
            pass
    return frame


def settled_attributes(
    source: Source, plan: Plan, kind: Kind, rows: int, progress: Progress, ruled: Collection[str] = ()
) -> tuple[Source, Plan]:
    """Fill in which attributes are masked and of which types, by a pass over text columns if there are any to look at.

    Parameters
    ----------
    source
        The table; of a CSV file, the one that is returned knows the types of the columns that matter.
    plan
        What is asked for.
    kind
        Of the output: a column of CSV gets a type if it is masked or goes to another kind of file.
    rows
        How many records to read at a time.
    progress
        Called with the step 'scan'.
    ruled
        The columns that rules speak of: in a CSV file, they get their types too.
    """
    looks = _looks(source, _texts(source, plan, kind, ruled), rows, progress)
    if isinstance(source, CsvSource):
        types = {name: each.type for name, each in looks.items() if each.type is not None and not is_text(each.type)}
        source = replace(source, types=types)
        disguised = []
    else:
        disguised = [name for name, each in looks.items() if each.is_disguised]
    spoiled = {name: each.first_text or 1 for name, each in looks.items() if each.is_spoiled}
    _refuse_odd(source, plan, spoiled, disguised)
    decimal_signs = source.dialect if isinstance(source, CsvSource) else None
    return source, with_attributes(plan, Table(_one_record(source.schema), decimal_signs, {}, spoiled, disguised))


def _texts(source: Source, plan: Plan, kind: Kind, ruled: Collection[str]) -> list[str]:
    """Name the text columns that must be looked at: those that are masked, or would be if they are numbers."""
    taken = {*plan.confidential, *plan.identifiers}
    texts = [field.name for field in source.schema if is_text(inner(field.type))]
    if isinstance(source, CsvSource) and kind != "csv":
        return texts
    typed = ruled if isinstance(source, CsvSource) else ()
    if plan.masked:
        return [name for name in texts if name in plan.masked or name in typed]
    return [name for name in texts if name not in taken or name in typed]


def _looks(source: Source, names: list[str], rows: int, progress: Progress) -> dict[str, Look]:
    found = dict.fromkeys(names, Look())
    if not names:
        return found
    decimal, words = (source.dialect.decimal, source.dialect.missing) if isinstance(source, CsvSource) else (".", ())
    pieces = source.pieces(names, rows)
    for start, piece in counted_off(pieces, lambda done: progress("scan", done, max(done, source.records))):
        for name in names:
            cells = one_chunk(piece.column(name)).cast(pa.large_string())
            found[name] += look(without_words(cells, words), decimal, start)
    return found


def _refuse_odd(source: Source, plan: Plan, spoiled: dict[str, int], disguised: list[str]) -> None:
    """Refuse what should not be taken for categories without a word, and what cannot be masked at all."""
    problems = []
    for name in plan.masked:
        if name not in source.schema.names:
            continue  # reported with all other names
        kind, given = inner(source.schema.field(name).type), plan.types.get(name)
        if name in spoiled and given in (None, "continuous") and name not in plan.levels:
            problems.append(
                f"column '{name}' is not a number in record {spoiled[name]}; put that right, say which words mean a "
                "missing value with missing in the csv options (--missing-word), or say its type"
            )
        elif name in disguised and given is None and name not in plan.levels:
            problems.append(
                f"column '{name}' holds numbers that are stored as text; turn them into numbers, or say its type"
            )
        elif not (is_number(kind) or is_text(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind)):
            problems.append(f"column '{name}' is of type {kind}, which cannot be masked; give it another role")
        elif labels_of(source.schema.field(name)).missing:
            problems.append(
                f"column '{name}' declares codes to be missing, which files in pieces cannot keep apart; make them "
                "missing first"
            )
    if problems:
        raise DataError("\n".join(problems))


def _one_record(schema: pa.Schema) -> pa.Table:
    """Give a table of one record that has nothing but the types of the columns."""
    columns = [pa.array(["x"], each.type) if is_text(each.type) else pa.nulls(1, each.type) for each in schema]
    return pa.Table.from_arrays(columns, schema=schema)

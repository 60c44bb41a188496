"""Files larger than memory on this machine: the plan of `shoal.protect`, in passes over the file.

The records become numbers in a private file; these are divided into blocks, sorted by block, masked on all cores,
written in the order of the original, and verified. Only then does the output get its name.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.backends.file.blocks import Masked, Masking
from shoal.backends.file.checkpoint import WorkFolder, was_placing, work_folder
from shoal.backends.file.output import originals, published_schema, release_pieces, written
from shoal.backends.file.records import FileRecords, frame_of_file, settled_attributes
from shoal.backends.file.sorting import in_file_order, sort_by_block
from shoal.backends.file.spill import Spill
from shoal.backends.file.verify import Check
from shoal.backends.free_memory import free_memory
from shoal.blocking import BlockCost, block_records
from shoal.blocking.record_blocks import MIXED_BLOCK, MIXED_FROM, Blocking
from shoal.edits.apply import explained, rules_of, with_rules
from shoal.edits.expressions import Rule
from shoal.edits.passes import columns_of
from shoal.edits.strategy import Keeping
from shoal.errors import FileError, PlanError
from shoal.kernels.standardize import Matrix
from shoal.parallel import Progress, quiet
from shoal.pipeline.aggregate import notes
from shoal.pipeline.loss_sums import Losses
from shoal.pipeline.manifest import Manifest, manifest_beside, manifest_of_file, verified_groups
from shoal.pipeline.masker import Frame, refuse_whole, with_blocks
from shoal.pipeline.save import plan_beside, refuse_output
from shoal.plan import Plan
from shoal.tables import Table, dialect_for, writable_kind
from shoal.tables.atomic import in_words, put_in_place
from shoal.tables.csv.dialect import Dialect
from shoal.tables.csv.pieces import CsvSource
from shoal.tables.storage import Kind
from shoal.tables.stream_reading import STREAMED, Source, open_source, readable_kind
from shoal.tables.unchanged import steady
from shoal.text import counted

_MEGA = 10**6
_ROWS = 1 << 17  # the most records in a piece that is read or written
_PIECES = 32  # a piece takes at most so much of the memory, as a fraction
_BLOCKS = 0.8  # of the memory is for blocks; the rest is for the program and its libraries
_DATABASE = 0.4  # of the memory is for DuckDB, when the blocks are gone
# Records in a block, where not all fit in one: MDAV takes 4 us a record among 300,000, 6 among a million, 9 among 2.5
# million (d = 5), and the loss hardly falls any more.
_LARGEST = 1_000_000
_FIRST, _FEWEST = 1000, 256  # records that are looked at for their width, and in a piece at least
_LEAST = 1 << 28  # bytes: below, DuckDB does not work


@dataclass(frozen=True)
class FileRelease:
    """A release that was written to a file, with the evidence that it is what it claims to be.

    Attributes
    ----------
    plan
        What was done: the plan that was asked for, with the choices it left open filled in.
    records
        How many were published: all of them.
    block_sizes
        How many records each block has.
    groups
        How well the published records hide, counted in the file: see `shoal.measures.exposure`.
    block_cost
        The loss with blocks and without, where both were measured; None if there is one block, or not only numbers.
    notes
        What a user might not expect, and what the release preserves.
    edits
        How each rule was kept; None if there are none.
    """

    plan: Plan
    records: int
    block_sizes: np.ndarray = field(repr=False)
    groups: dict[str, float]
    block_cost: BlockCost | None
    _before: dict[str, float] = field(repr=False)
    _loss: dict[str, Any] = field(repr=False)
    notes: list[str] = field(repr=False)
    edits: list[dict[str, Any]] | None = field(default=None, repr=False)

    def loss(self) -> dict[str, Any]:
        """Say what the release costs its users: see `shoal.pipeline.loss.costs`."""
        return self._loss

    def risk(self) -> dict[str, Any]:
        """Say how well records hide among those with the same quasi-identifiers, before and after masking."""
        return {"before": self._before, "after": self.groups}

    def summary(self) -> dict[str, Any]:
        """Everything worth knowing about the release, ready for JSON; no value of a single record is in it."""
        return {
            "records": self.records,
            "suppressed": 0,
            "plan": self.plan.options(),
            "loss": self.loss(),
            "risk": self.risk(),
            **({} if len(self.block_sizes) == 1 else {"blocking": self._blocking.summary()}),
            **({} if self.edits is None else {"edits": self.edits}),
            "notes": self.notes,
        }

    @property
    def _blocking(self) -> Blocking:
        return Blocking.of(self.block_sizes, self.block_cost)


def protect_file(
    plan: Plan, *, overwrite: bool = False, resume: bool = False, progress: Progress = quiet
) -> FileRelease:
    """Protect a file that may be larger than memory, and write the release.

    Parameters
    ----------
    plan
        What is asked for; ``input`` is a Parquet file, a folder of them, an Arrow file or a CSV file, and ``output`` a
        file of one of these kinds. ``scale.memory`` limits what is held in memory.
    overwrite
        Whether files that exist already are replaced.
    resume
        Whether to go on from where a run with the same plan and input was killed.
    progress
        Called with the step (scan, measure, divide, sort, partition, cost, write, verify), what is done of it and what
        there is.

    Raises
    ------
    PlanError
        What is asked for is wrong, or needs the whole file in memory.
    DataError, FileError
        The file cannot be used as asked, not be read, or the output not be written. Nothing is left behind then.
    CheckFailed
        What was written is not what was to be written; it is gone again.
    """
    refuse_whole(plan)
    path, output = _paths(plan)
    kind = _output_kind(output)
    overwrite = overwrite or (resume and was_placing(output))
    refuse_output(str(path), output, overwrite)
    rules = rules_of(plan)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    with _in_plain_words(output), steady(files) as refuse_changed:
        source = open_source(path, plan.csv)
        with work_folder(output, plan, source.files, rules, resume) as folder:
            return _Run(plan, rules, source, output, kind, folder, progress, refuse_changed).release(overwrite)


def _paths(plan: Plan) -> tuple[Path, Path]:
    missing = [(name, "is missing; name the file") for name in ("input", "output") if getattr(plan, name) is None]
    if missing:
        raise PlanError(missing)
    path, output = Path(_absolute(plan.input)), Path(_absolute(plan.output))
    readable_kind(path)
    if path.is_dir() and output.parent == path:
        raise FileError(f"'{output}' lies in the folder that is being protected; write the release to another")
    return path, output


def _output_kind(output: Path) -> Kind:
    kind = writable_kind(output)
    if kind not in STREAMED:
        raise FileError(f"'{output}' is of a kind that is written as a whole; take .parquet, .arrow or .csv")
    return kind


@contextlib.contextmanager
def _in_plain_words(output: Path) -> Iterator[None]:
    """Say why the disk does not take what is written."""
    try:
        yield
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"'{output}' cannot be written: {in_words(error)}") from None


@dataclass
class _Run:
    """One run, from the plan to the release."""

    asked: Plan
    rules: list[Rule]
    source: Source
    output: Path
    kind: Kind
    folder: WorkFolder
    progress: Progress
    refuse_changed: Callable[[], None]
    memory: int = field(init=False)
    rows: int = field(init=False)

    def release(self, overwrite: bool) -> FileRelease:
        """Do it."""
        if "memory" not in self.folder.state:  # a run that resumes has what it had before
            given = self.asked.scale.memory_bytes if self.asked.scale is not None else None
            self.folder.note(memory=free_memory() // _MEGA * _MEGA if given is None else given)
        self.memory = self.folder.state["memory"]
        self.rows = self._piece()
        ruled = columns_of(self.rules)
        self.source, plan = settled_attributes(self.source, self.asked, self.kind, self.rows, self.progress, ruled)
        with contextlib.ExitStack() as files:
            if not self.folder.state.get("sorted"):
                self._sort(*self._with_rules(plan))
            frame = self.folder.kept()
            masking = self._masking(frame, files)
            masked = masking.run(self.progress)
            cost = masking.cost(self.progress)
            partial = self.folder.partial(self.output)
            self._write(partial, masking, masked)
            check = Check(
                self.source,
                frame,
                self.kind,
                self._dialect,
                self.rows,
                self.folder.temporary,
                self._database_memory,
                masked.slack,
            )
            groups = check(partial, self.progress)
        self.refuse_changed()
        self._place(partial, frame, groups, overwrite)
        loss = masking.losses.summary(masked.sums)
        found = self._notes(frame, masked, masking)
        edits = None if frame.edits is None else [*explained(frame.edits.kept)]
        return FileRelease(frame.plan, frame.records, masking.sizes, groups, cost, masked.before, loss, found, edits)

    def _with_rules(self, plan: Plan) -> tuple[Plan, Keeping | None]:
        return with_rules(plan, self.source.schema.names, self.rules) if self.rules else (plan, None)

    def _piece(self) -> int:
        """Choose how many records a piece has, by how wide the first are: few enough that texts do not fill memory."""
        first = next(self.source.pieces(self.source.schema.names, _FIRST))
        width = max(1, first.nbytes // max(1, len(first)))
        return min(_ROWS, max(_FEWEST, self.memory // _PIECES // width))

    @property
    def _database_memory(self) -> int:
        return max(_LEAST, int(_DATABASE * self.memory))

    @property
    def _dialect(self) -> Dialect:
        return dialect_for(self.output, self.source.dialect if isinstance(self.source, CsvSource) else None)

    def _sort(self, plan: Plan, kept: Keeping | None) -> None:
        """Make the frame, divide the records into blocks, and put those of a block together."""
        inferred = [name for name in plan.masked if name not in {**self.asked.types, **self.asked.levels}]
        names = [name for name in self.source.schema.names if name in {*plan.masked, *columns_of(self.rules)}]
        width = len(plan.masked) + bool(kept is not None and kept.splits)
        with Spill(self.folder.spill("codes"), width, np.float64) as codes:
            records = FileRecords(self.source, names, self.rows, codes, self.progress)
            frame = frame_of_file(records, plan, inferred, kept)
            most = self._block_size(frame)
            frame = with_blocks(frame, records, most)
            # With these in it, the plan gives the same bytes again wherever it runs.
            asked = {} if frame.plan.scale is None else frame.plan.scale.model_dump(exclude_none=True)
            scale = {"memory": f"{self.memory // _MEGA}MB", **asked, "block_size": most}
            frame = replace(frame, plan=frame.plan.updated(scale=scale))
            self._by_block(frame, codes)
        codes.path.unlink()
        self.folder.keep(frame)
        self.folder.note(sorted=True)

    def _block_size(self, frame: Frame) -> int:
        """Give the most records in a block: as asked for, or as memory allows."""
        given = frame.plan.scale.block_size if frame.plan.scale is not None else None
        if given is not None:
            return given
        most = block_records(int(_BLOCKS * self.memory), len(frame.attributes), frame.records)
        if most < min(frame.records, 2 * frame.plan.k):
            raise PlanError([("scale.memory", f"is too little for blocks of 2k = {2 * frame.plan.k} records")])
        largest = max(_LARGEST if frame.plain else MIXED_BLOCK, 2 * frame.plan.k)
        fits = most >= frame.records and (frame.plain or frame.records <= MIXED_FROM)
        return most if fits else min(most, largest)

    def _by_block(self, frame: Frame, codes: Spill[np.float64]) -> None:
        d, n = len(frame.attributes), frame.records
        starts = np.cumsum(frame.sizes) - frame.sizes

        def number(rows: Matrix) -> np.ndarray:
            parts = rows[:, d] if rows.shape[1] > d else np.zeros(len(rows))
            return frame.block_of(rows[:, :d], parts.astype(np.int64))

        with (
            Spill(self.folder.spill("records"), d, np.float64, n) as sorted_records,
            Spill(self.folder.spill("block_of"), 1, np.int32, n) as block_of,
        ):
            for done in sort_by_block(codes, number, starts, sorted_records, block_of, self.rows):
                self.progress("sort", done, n)
            sorted_records.sync()
            block_of.sync()

    def _masking(self, frame: Frame, files: contextlib.ExitStack) -> Masking:
        d, n = len(frame.attributes), frame.records
        losses = Losses(frame.attributes, frame.scales)
        spills = [
            files.enter_context(Spill(self.folder.spill(name), width, np.float64, rows))
            for name, width, rows in (("records", d, n), ("published", d, n), ("sums", Masking.width(losses), 0))
        ]
        return Masking(frame, losses, frame.sizes, *spills)

    def _write(self, path: Path, masking: Masking, masked: Masked) -> None:
        """Write the release in the order of the original."""
        frame = masking.frame
        schema = published_schema(self.source, frame)
        with (
            Spill(self.folder.spill("block_of"), 1, np.int32) as block_of,
            written(path, self.kind, schema, frame.plan.masked, self._dialect) as write,
        ):
            pieces = originals(self.source, self.kind, schema.names, self.rows)
            published = in_file_order(masking.published, block_of, masking.starts, self.rows)
            done = 0
            for piece in release_pieces(pieces, published, frame, schema, masking.losses.used(masked.sums)):
                write(piece)
                done += len(piece)
                self.progress("write", done, frame.records)

    def _place(self, partial: Path, frame: Frame, groups: dict[str, float], overwrite: bool) -> None:
        """Give the output its name, and write the plan and the manifest beside it."""
        plan = frame.plan
        manifest = self._manifest(partial, frame, groups)
        self.folder.note(placing=True)
        manifest_file = self.folder.partial(manifest_beside(self.output))
        manifest_file.write_text(manifest.to_json(), encoding="utf-8")
        plan_file = self.folder.partial(plan_beside(self.output))
        text = plan.updated(input=_absolute(plan.input), output=str(self.output)).to_toml(self.output.parent)
        plan_file.write_text(text, encoding="utf-8")
        beside = [(plan_file, plan_beside(self.output)), (manifest_file, manifest_beside(self.output))]
        put_in_place([(partial, self.output), *beside], overwrite)

    def _manifest(self, partial: Path, frame: Frame, groups: dict[str, float]) -> Manifest:
        columns = [name for name in self.source.schema.names if name not in frame.plan.identifiers]
        csv = self._dialect.as_csv() if self.kind == "csv" else None
        verified = verified_groups(groups, len(self.rules), frame.plan)
        return manifest_of_file(partial, self.output.name, columns, frame.records, csv, frame.plan, verified)

    def _notes(self, frame: Frame, masked: Masked, masking: Masking) -> list[str]:
        columns: dict[str, Any] = {name: pa.array([], type_) for name, type_ in frame.types.items()}
        found = notes(frame.plan, Table(self.source.schema.empty_table()), [], columns)
        for name, (before, after) in masking.losses.missing(masked.sums).items():
            if before or after:
                found.append(f"'{name}' is missing in {counted(after, 'record')}, where it was in {before:,}")
        if frame.blocks is not None and frame.blocks.crowded:
            found.append(
                f"{counted(frame.blocks.crowded, 'block')} of more records than asked for: too many lie in one place "
                "to be divided"
            )
        return found if frame.edits is None else [*found, *frame.edits.notes]


def _absolute(path: str | None) -> str:
    return os.path.abspath(str(path))  # noqa: PTH100 - keeps links

"""Files larger than memory on this machine: the pipeline in passes over the file.

The records become rows of numbers in a private file; these are divided into blocks, sorted by block, masked on all
cores, written in the order of the original, and verified. Only then does the output get its name.
"""

import contextlib
import os
import shutil
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.aggregation import Rescaling
from shoal.backends.capabilities import Engine
from shoal.backends.choose import free_memory
from shoal.backends.database import DuckPairs
from shoal.backends.file.blocks import Masked, Masking
from shoal.backends.file.checkpoint import WorkFolder, was_placing, work_folder
from shoal.backends.file.free_memory import return_free_memory
from shoal.backends.file.output import originals, published_schema, release_pieces, write_release
from shoal.backends.file.records import FileRecords, typed_source
from shoal.backends.file.sorting import in_file_order, sort_by_block
from shoal.backends.file.spill import Spill
from shoal.backends.file.verify import FilePairs
from shoal.blocking.blocks import PartBlocks
from shoal.blocking.record_blocks import Blocking
from shoal.edits.apply import rules_of
from shoal.errors import CheckFailed, FileError, PlanError
from shoal.kernels.standardize import Matrix
from shoal.messages import Message
from shoal.parallel import Progress, quiet
from shoal.pipeline.block_cost import block_cost
from shoal.pipeline.certify import Certificate, Gathered, certified_together
from shoal.pipeline.counting import exposure_of, known_values, sizes_of
from shoal.pipeline.loss import Losses, Sums
from shoal.pipeline.manifest import manifest_beside, manifest_of_file, verified_of
from shoal.pipeline.masker import BlockMasker
from shoal.pipeline.notes import notes, on_formulas
from shoal.pipeline.prepare import Prepared, block_size, promise_of, with_seams
from shoal.pipeline.records import Seen
from shoal.pipeline.save import plan_beside, refuse_output
from shoal.pipeline.totals import KeptTotals, adjustment
from shoal.pipeline.verify import Promise, Verified, verify
from shoal.plan import Plan, Scale
from shoal.plan.resolved import ResolvedPlan
from shoal.tables import Table, dialect_for, open_table, writable_kind
from shoal.tables.atomic import in_words, put_in_place, written_together
from shoal.tables.csv.dialect import Dialect
from shoal.tables.csv.formulas import unquoted
from shoal.tables.csv.pieces import CsvSource
from shoal.tables.storage import Kind
from shoal.tables.stream_reading import STREAMED, Source, open_source, readable_kind
from shoal.tables.unchanged import steady

if TYPE_CHECKING:
    from shoal.pipeline.hybrid_sums import HybridSums

Labels = NDArray[np.int64]

_MEGA = 10**6
_ROWS = 1 << 17  # the most records in a piece that is read or written
_PIECES = 32  # a piece takes at most so much of the memory, as a fraction
_BLOCKS = 0.8  # of the memory is for blocks; the rest is for the program and its libraries
_DATABASE = 0.25  # of the memory is for DuckDB, when the blocks are gone
# Records in a block, where not all fit in one: MDAV takes 4 us a record among 300,000, 6 among a million, 9 among 2.5
# million (d = 5), and the loss hardly falls any more.
_LARGEST = 1_000_000
_FIRST, _FEWEST = 1000, 256  # records that are looked at for their width, and in a piece at least
_LEAST = 100 * _MEGA  # bytes: below, DuckDB does not work


@contextlib.contextmanager
def open_file(plan: Plan, progress: Progress, notes: list[Message], *, resume: bool = False) -> Iterator["FileBackend"]:
    """Open the plan's input, with a private folder beside its output for what does not fit in memory.

    What is published keeps the folder until it is saved, or forgotten.

    Parameters
    ----------
    plan
        With ``input``, a Parquet file, a folder of them, an Arrow file or a CSV file, and ``output``, a file of one of
        these kinds.
    progress
        Called with the step, what is done of it and what there is.
    notes
        Why this backend was chosen.
    resume
        Whether to go on from where a run with the same plan and input was killed.
    """
    path, output = _paths(plan)
    kind = _output_kind(output)
    refuse_output(str(path), output, overwrite=True)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    with contextlib.ExitStack() as stack, _in_plain_words(output), steady(files) as refuse_changed:
        source = open_source(path, plan.csv, plan.missing_codes)
        folder = stack.enter_context(work_folder(output, plan, source.files, rules_of(plan), resume))
        memory = _memory(plan, folder)
        rows = _piece(source, memory)
        source, outline = typed_source(source, plan, kind, rows, progress)
        backend = FileBackend(
            source, outline, rows, folder, progress, output=output, kind=kind, memory=memory, notes=notes
        )
        backend.quotes_formulas = plan.quote_formulas
        backend.refuse_changed = refuse_changed
        yield backend
        if backend.published is not None:
            backend.published.keep(stack.pop_all())
            backend.published = None  # no cycle: a release that is let go of leaves no folder behind


def _paths(plan: Plan) -> tuple[Path, Path]:
    codes = {"input": "no-input", "output": "no-output"}
    missing = [Message(code, field=name) for name, code in codes.items() if getattr(plan, name) is None]
    if missing:
        raise PlanError(*missing)
    path, output = Path(_absolute(plan.input)), Path(_absolute(plan.output))
    readable_kind(path)
    if path.is_dir() and output.parent == path:
        raise FileError("output-is-input", path=output, kind="folder", folder=True)
    return path, output


def _output_kind(output: Path) -> Kind:
    kind = writable_kind(output)
    if kind not in STREAMED:
        raise FileError("not-written-in-pieces", path=output)
    return kind


@contextlib.contextmanager
def _in_plain_words(output: Path) -> Iterator[None]:
    """Explain why the disk does not take what is written."""
    try:
        yield
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError("file-not-writable", path=output, reason=in_words(error)) from None


def _memory(plan: Plan, folder: WorkFolder) -> int:
    """Return the bytes to work with; a run that resumes has what it had before."""
    if "memory" not in folder.state:
        given = None if plan.scale is None else plan.scale.memory_bytes
        folder.note(memory=free_memory() // _MEGA * _MEGA if given is None else given)
    return int(folder.state["memory"])


def _piece(source: Source, memory: int) -> int:
    """Choose how many records a piece has, by how wide the first are: few enough that texts do not fill memory."""
    first = next(source.pieces(source.schema.names, _FIRST))
    width = max(1, first.nbytes // max(1, len(first)))
    return min(_ROWS, max(_FEWEST, memory // _PIECES // width))


@dataclass
class FileBackend(FileRecords):
    """The records of a file, and where their release goes.

    Attributes
    ----------
    output, kind
        The file to write, and of which kind.
    memory
        Bytes to work with.
    notes
        Why this backend was chosen.
    quotes_formulas
        Whether an apostrophe is written before text that looks like a formula.
    published
        What came of it.
    """

    output: Path = field(default_factory=Path)
    kind: Kind = "parquet"
    memory: int = 0
    notes: list[Message] = field(default_factory=list)
    quotes_formulas: bool = False
    published: "FilePublished | None" = None
    refuse_changed: Callable[[], None] = lambda: None

    def block_size(self, masker: BlockMasker) -> int:
        """Return the most records in a block: as asked for, or as memory allows."""
        return block_size(masker, int(_BLOCKS * self.memory), most=_LARGEST)

    @property
    def dialect(self) -> Dialect:
        """How a CSV file is written."""
        source = self.source.dialect if isinstance(self.source, CsvSource) else None
        return dialect_for(self.output, source, self.quotes_formulas)

    @property
    def database_memory(self) -> int:
        """Bytes for DuckDB."""
        return max(_LEAST, int(_DATABASE * self.memory))

    def map_blocks(self, masker: BlockMasker, prepared: Prepared) -> "FilePublished":
        """Sort records by block, and mask every block."""
        # With the size of blocks in it, the plan gives the same bytes again wherever it runs.
        asked = {} if masker.plan.scale is None else masker.plan.scale.model_dump(exclude_none=True)
        scale = {**asked, "block_size": self.block_size(masker)}
        plan = masker.plan.decided(scale=Scale(**scale))
        masker = replace(masker, plan=plan).timed()
        if not self.folder.state.get("sorted"):
            self._sort(masker)
        return_free_memory()
        with contextlib.ExitStack() as files:
            masking = self._masking(masker, files)
            masker = masker.with_noise(lambda look: masking.fold_blocks(look, self.progress))
            blocked = masking = replace(masking, masker=masker)
            if masker.mends_seams:
                masking = self._masking(self._at_seams(blocked), files)
            masked = masking.run(self.progress)
            made = masker.hybrid_notes(masked.hybrid)
            cost = block_cost(blocked.block, masker, self.progress)
            masking, masked, totals = self._with_totals(masking, masked, prepared, files)
            rescaled, sums = self._restored(masking, masked, prepared)
            gather = partial(masking.fold_blocks, Gathered.of, quiet)
            certificate = certified_together(masker, gather, masking.losses, sums, self.memory)
            partial_file = self.folder.partial(self.output)
            formulas = self._write(partial_file, masking, rescaled)
        headed = published_schema(self.source, masker).names if self.kind == "csv" else []
        missing = masking.losses.missing(sums)
        # Blocks of hybrid data are made from confidential attributes too, and those at seams from groups: records that
        # are alike may lie apart.
        elsewhere = masker.hybrid is not None or masker.mends_seams
        apart = isinstance(masker.blocks, PartBlocks) or (elsewhere and masker.blocks is not None)
        whole = not prepared.suppressed and not apart
        masker = masker.without_secret()
        kept = None if masker.edits is None else masker.edits.kept
        self.published = FilePublished(
            plan,
            masker,
            self,
            partial_file,
            masking.losses,
            sums,
            replace(promise_of(masker, prepared, self.outline, rescaled, masked.slack), spelled=self.kind == "csv"),
            [*made, *notes(plan, self.outline, masker.types, missing, kept), *on_formulas(formulas, headed, plan)],
            sums_of_hybrid=masked.hybrid,
            hidden=masked.before if whole else None,
            own=masked.own,
            misread=masked.misread,
            dominated=masked.dominated,
            totals=totals,
            blocking=Blocking.of(masker.blocks, cost),
            certificate=certificate,
        )
        return self.published

    def _at_seams(self, blocked: Masking) -> BlockMasker:
        """Partition records, and sort them so that nearby groups are together."""
        masker, spill = blocked.masker, self.folder.spill
        beside = masker.outline(np.empty((0, masker.width))).shape[1] + 2
        width = masker.width + beside
        done = bool(self.folder.state.get("seamed"))
        if not done:
            with (
                Spill(spill("seams"), beside, np.float64, masker.records) as seams,
                Spill(spill("block_of"), 1, np.int32) as block_of,
                Spill(spill("wide"), width, np.float64, len(block_of)) as wide,
            ):
                blocked.to_seams(seams, self.progress)
                ordered = (
                    in_file_order(each, block_of, blocked.starts, self.rows) for each in (blocked.records, seams)
                )
                start = 0
                for (rows, there), (groups, _) in zip(*ordered, strict=True):
                    every = np.full((len(there), width), -1.0)
                    every[there] = masker.with_groups(rows, groups)
                    wide.write(start, every)
                    start += len(there)
        with Spill(spill("seam_records" if done else "wide"), width, np.float64) as records:

            def fold(_: Any, look: Callable[[Matrix], Seen], step: str) -> Seen:
                return reduce(add, (look(rows[rows[:, -1] >= 0]) for _, rows in records.chunks(self.rows)))

            at = with_seams(masker, fold)
        if not done:
            self._put_together(at, "wide")
            self.folder.note(seamed=True)
        return at

    def _sort(self, masker: BlockMasker) -> None:
        """Sort records by block."""
        for _ in self.encoded(masker, "measure"):  # so that the spill file is complete
            if self._is_encoded(masker):
                break
        self._put_together(masker, "codes")
        self._key = None
        self.folder.note(sorted=True)

    def _put_together(self, masker: BlockMasker, name: str) -> None:
        """Sort rows by block, and remove those that are in the order of the file."""
        starts = np.cumsum(masker.sizes) - masker.sizes

        def number(rows: Matrix) -> Labels:
            blocks = np.full(len(rows), -1, dtype=np.int64)
            there = rows[:, -1] >= 0
            blocks[there] = masker.block_of(rows if there.all() else rows[there])
            return blocks

        with (
            Spill(self.folder.spill(name), masker.width, np.float64) as codes,
            Spill(self._spill("records", masker), masker.width, np.float64, masker.records) as records,
            Spill(self._spill("block_of", masker), 1, np.int32, len(codes)) as block_of,
        ):
            for done in sort_by_block(codes, number, starts, records, block_of, self.rows):
                self.progress("sort", done, len(codes))
            records.sync()
            block_of.sync()
        self.folder.spill(name).unlink()

    def _spill(self, name: str, masker: BlockMasker) -> Path:
        """Name the file of rows by block, of the blocks in which groups are formed or of those at seams."""
        return self.folder.spill(f"seam_{name}" if masker.beside else name)

    def _is_encoded(self, masker: BlockMasker) -> bool:
        key = (masker.parts, masker.sensitive)
        return self._key is not None and all(one is two for one, two in zip(self._key, key, strict=True))

    def _masking(self, masker: BlockMasker, files: contextlib.ExitStack) -> Masking:
        losses = Losses(masker.changed, masker.scales)
        n = masker.records
        widths = (
            (self._spill("records", masker), masker.width, n),
            (self.folder.spill("published"), len(masker.changed), n),
            (self.folder.spill("sums"), Masking.width(masker, losses), 0),
        )
        spills = [files.enter_context(Spill(path, width, np.float64, rows)) for path, width, rows in widths]
        return Masking(masker, losses, *spills)

    def _with_totals(
        self, masking: Masking, masked: Masked, prepared: Prepared, files: contextlib.ExitStack
    ) -> tuple[Masking, Masked, KeptTotals | None]:
        """Change what groups publish so that domains keep their totals, in a file of its own: a run may be resumed."""
        masker = masking.masker
        if masker.domains is None:
            return masking, masked, None
        change = adjustment(masker, prepared.lows, masking.fold_published)
        columns = len(masker.changed)
        target = files.enter_context(Spill(self.folder.spill("totals"), columns, np.float64, masker.records))
        largest = masking.change(change.apply, target)
        masking = replace(masking, published=target)
        slack = {name: max(masked.slack[name], by) for name, by in zip(masked.slack, largest.tolist(), strict=True)}
        sums = masking.fold(partial(masking.measure, rescaled={}), self.rows)
        return masking, replace(masked, slack=slack, sums=sums), KeptTotals.of(masker, largest)

    def _restored(self, masking: Masking, masked: Masked, prepared: Prepared) -> tuple[dict[str, Rescaling], Sums]:
        """Find how variances are restored, and measure what was lost."""
        if masked.sums is not None:
            return {}, masked.sums
        restoring = prepared.restoring(masking.masker)
        rescaled = restoring.rescalings(masking.fold(restoring.look, self.rows))
        return rescaled, masking.fold(partial(masking.measure, rescaled=rescaled), self.rows)

    def _write(self, path: Path, masking: Masking, rescaled: dict[str, Rescaling]) -> dict[str, int]:
        """Write the release in the order of the original; returns how many cells of a CSV file look like formulas."""
        return_free_memory()
        masker = masking.masker
        with Spill(self._spill("block_of", masker), 1, np.int32) as block_of:

            def pieces(schema: pa.Schema) -> Iterator[pa.Table]:
                found = originals(self.source, self.kind, schema.names, self.rows)
                published = in_file_order(masking.published, block_of, masking.starts, self.rows)
                done = 0
                for piece in release_pieces(found, published, masker, rescaled, schema, self.source):
                    yield piece
                    done += len(piece)
                    self.progress("write", done, masker.records)

            return write_release(path, self.kind, self.dialect, self.source, masker, pieces)


@dataclass
class FilePublished:
    """A release that was written to a private file, beside the name that it will have.

    Attributes
    ----------
    plan, masker
        What was done, and how.
    backend, partial
        Where the records come from, and the private file.
    losses, sums
        What it costs.
    promise
        What it claims.
    hidden
        How well original records hide, where that was counted on the way.
    sums_of_hybrid
        What is known of hybrid data; None where there are none.
    """

    engine: ClassVar[Engine] = "file"
    plan: ResolvedPlan
    masker: BlockMasker
    backend: FileBackend
    partial: Path
    losses: Losses
    sums: Sums
    promise: Promise
    notes: list[Message]
    hidden: dict[str, int] | None
    own: int
    misread: int
    blocking: Blocking | None
    certificate: Certificate | None = None
    privacy: dict[str, Any] | None = None
    sums_of_hybrid: "HybridSums | None" = None
    dominated: int = 0
    totals: KeptTotals | None = None
    _before: dict[str, float] | None = None
    _kept: contextlib.ExitStack | None = field(default=None, repr=False)

    def keep(self, stack: contextlib.ExitStack) -> None:
        """Keep the private folder until the release is saved or forgotten."""
        self._kept = stack
        weakref.finalize(self, stack.close)

    @property
    def names(self) -> list[str]:
        """The columns of the original."""
        return list(self.backend.source.schema.names)

    @property
    def records(self) -> int:
        """How many records are published."""
        return self.masker.records

    @property
    def table(self) -> Any:
        """The release as a PyArrow table."""
        csv = self.backend.dialect.as_csv() if self.backend.kind == "csv" else None
        table = open_table(self.partial, csv)
        return (unquoted(table) if self.plan.quote_formulas else table).native

    @property
    def partitions(self) -> list[Labels]:
        """The group of each record is not kept for files."""
        raise PlanError("groups-not-kept", field="engine", engine="file")

    @property
    def groups(self) -> Labels:
        """One label a published record: those that are published alike share one."""
        return self.alike

    @property
    def alike(self) -> Labels:
        """Records that are published alike share a number."""
        from shoal.pipeline.classes import classes

        return classes(Table(self.table), self.plan.masked) - 1

    def before(self) -> dict[str, float]:
        """Describe how well the original records hide."""
        if self._before is None:
            found = self.hidden
            if found is None:
                raise ValueError("the original records were not counted")
            n = self.records
            self._before = {
                "groups": found["groups"],
                "smallest": found["smallest"],
                "largest": found["largest"],
                "uniques": found["uniques"],
                "real_k": n / found["groups"],
                "reidentification": 100 * found["groups"] / n,
            }
        return self._before

    def verify(self) -> Verified:
        """Verify the private file against the original, both read again."""
        backend = self.backend
        pairs = self._pairs()
        failures = pairs.wrong_schema(self.partial)
        database = DuckPairs(partial(pairs.batches, self.partial), backend.database_memory, backend.folder.temporary)
        if failures:
            raise CheckFailed(failures)
        with database.kept() as database:
            found = verify(database, self.promise, lambda: pairs.broken, pairs.failures)
        if self.hidden is None and self.plan.masked:
            self._before = self._exposed()
        backend.refuse_changed()
        return found

    def _pairs(self) -> FilePairs:
        """Read the original and the release side by side: each has half of what a piece may take."""
        backend = self.backend
        rows = max(1, backend.rows // 2)
        return FilePairs(
            backend.source, self.promise, self.masker, backend.kind, backend.dialect, rows, backend.progress
        )

    def _exposed(self) -> dict[str, float]:
        """Count the original combinations of quasi-identifiers by DuckDB."""
        backend, names = self.backend, self.plan.masked
        plain = [f"c{j}" for j in range(len(names))]

        def batches() -> Iterator[pa.RecordBatch]:
            for piece in backend.source.pieces(names, backend.rows):
                columns = [known_values(Table(piece), name) for name in names]
                yield pa.RecordBatch.from_arrays(columns, names=plain)

        database = DuckPairs(batches, backend.database_memory, backend.folder.temporary)
        return exposure_of(sizes_of(database, plain))

    def hybrid(self) -> dict[str, Any] | None:
        """Describe hybrid data by what blocks show; what needs all records at once is left out."""
        return self.masker.hybrid_summary(self.sums_of_hybrid)

    def save(self, path: str, overwrite: bool, verified: Verified) -> list[Message]:
        """Rename the release to its final name, and write the plan and the manifest beside it."""
        target = Path(_absolute(path))
        if self._kept is None:
            raise FileError("release-gone")
        if writable_kind(target) != self.backend.kind:
            raise PlanError("format-differs", field="output", path=target)
        output = self.backend.output
        overwrite = overwrite or (target == output and was_placing(output))
        refuse_output(self.plan.input, target, overwrite)
        with contextlib.ExitStack() as private, _in_plain_words(target):
            private.push(self._kept.pop_all())  # gone after errors too
            self._kept = None
            if target == output:
                self._place(target, overwrite, verified)
            else:  # maybe on another disk
                names = [target, plan_beside(target), manifest_beside(target)]
                with written_together(names, overwrite) as (copied, plan, manifest):
                    shutil.copyfile(self.partial, copied)
                    self._describe(target, copied, plan, manifest, verified)
        self.partial = target
        return []

    def close(self) -> None:
        """Remove the private folder; what was not saved is gone."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _place(self, target: Path, overwrite: bool, verified: Verified) -> None:
        """Rename the private file; a run killed meanwhile may replace its own file when resumed."""
        folder = self.backend.folder
        plan, manifest = folder.partial(plan_beside(target)), folder.partial(manifest_beside(target))
        self._describe(target, self.partial, plan, manifest, verified)
        folder.note(placing=True)
        files = [(self.partial, target), (plan, plan_beside(target)), (manifest, manifest_beside(target))]
        put_in_place(files, overwrite)

    def _describe(self, target: Path, file: Path, plan: Path, manifest: Path, verified: Verified) -> None:
        """Write the plan and the manifest of a file that will be `target`."""
        columns = [name for name in self.names if name not in self.plan.dropped]
        csv = self.backend.dialect.as_csv() if self.backend.kind == "csv" else None
        described = manifest_of_file(
            file, target.name, columns, self.records, csv, self.plan, verified_of(self.promise, verified)
        )
        manifest.write_text(described.to_json(), encoding="utf-8")
        text = self.plan.decided(input=_absolute(self.plan.input), output=str(target)).to_toml(target.parent)
        plan.write_text(text, encoding="utf-8")

    def fold(self, look: Callable[[Matrix, Matrix], Seen]) -> Seen:
        """Look at all records, encoded, before and after masking: both files are read again."""
        backend = self.backend
        pairs = self._pairs()
        found = None
        for rows, codes in pairs.encoded(self.partial):
            seen = look(rows, codes)
            found = seen if found is None else found + seen
        if found is None:
            raise ValueError("there are no records")
        try:
            backend.refuse_changed()
        except FileError:
            raise FileError("input-changed-later", path=self.plan.input) from None
        return found


def _absolute(path: str | os.PathLike[str] | None) -> str:
    return os.path.abspath(str(path))  # noqa: PTH100 - keeps links

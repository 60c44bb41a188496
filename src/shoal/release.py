"""protect(): a table and a plan become a release. The pipeline, readable top to bottom."""

import inspect
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.aggregation import Rescaling
from shoal.backends.choose import engine_for
from shoal.backends.file.checkpoint import forget
from shoal.blocking.record_blocks import Blocking
from shoal.edits.apply import explained
from shoal.errors import FileError, MissingExtra, PlanError
from shoal.parallel import Progress, quiet
from shoal.pipeline.aggregate import notes, on_seed, put_right, representatives, restored, unchanged
from shoal.pipeline.encode import encode_all, numbers
from shoal.pipeline.loss import costs
from shoal.pipeline.partition import Certificate, Partitions
from shoal.pipeline.prepare import AnyPath, Prepared, asked, prepared
from shoal.pipeline.roles import survey_weights
from shoal.pipeline.save import save
from shoal.pipeline.strata import Strata
from shoal.pipeline.verify import Diversity, Promise, exposure, verify
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.attributes import Codes
from shoal.tables.unchanged import steady

if TYPE_CHECKING:
    from altair import LayerChart

    from shoal.pipeline.hybrid import Hybrid

Labels = NDArray[np.int64]


def protect(
    table: Any = None,
    plan: Plan | AnyPath | None = None,
    *,
    progress: Progress = quiet,
    on_interrupt: Literal["stop", "keep"] = "stop",
    **options: Any,
) -> "Release":
    """Protect a table: put its records into groups of at least k, publish one representative per group.

    Parameters
    ----------
    table : dataframe or path, optional
        pandas, Polars, PyArrow, anything with ``__arrow_c_stream__``, or a CSV, Parquet or Arrow file. Left out, the
        plan's ``input`` is read.
    plan : Plan or path of a plan file, optional
        What is asked for; single `options` take precedence.
    progress : callable, optional
        Called with the name of the step, what is done and what there is, ten times a second.
    on_interrupt : {"stop", "keep"}
        Whether Ctrl-C stops a search for the best groups, or ends it early and goes on with the best so far.
    **options
        The fields of `Plan`: ``k``, ``quasi``, ``confidential``, ``identifiers``, ``method``, ``aggregate``, ...

    Returns
    -------
    Release
        The protected table, verified, with the evidence of what it costs and what it risks. Nothing is written until
        its ``save`` is called.

    Raises
    ------
    PlanError
        What is asked for is wrong; every mistake is named.
    DataError, FileError
        The table cannot be used as asked, or not be read.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> people = pa.table({"name": ["Ann", "Bob", "Cyd", "Dee"], "age": [31, 72, 33, 70], "ill": [0, 1, 1, 0]})
    >>> release = shoal.protect(people, k=2, quasi=["age"], confidential=["ill"], identifiers=["name"])
    >>> release.table["age"].to_pylist()
    [32, 71, 32, 71]
    """
    if on_interrupt not in ("stop", "keep"):
        raise PlanError([("on_interrupt", "must be 'stop' or 'keep'")])
    settled = asked(table, plan, options)
    with steady([] if settled.input is None else [Path(settled.input)]) as refuse_changed:
        release = released(prepared(table, settled, progress), progress, keep=on_interrupt == "keep")
        refuse_changed()
    return release


def released(ready: Prepared, progress: Progress, *, keep: bool = False) -> "Release":
    """Mask a table that is ready, verify what is to be published, and say what it is."""
    plan, original, attributes = ready.plan, ready.original, ready.attributes
    if plan.draws:
        return _hybrid_release(ready, progress)
    if plan.epsilon is not None:
        return _private_release(ready, progress)
    masked, found, rescaled, slack = _masked(ready, progress, keep)
    columns = {
        attribute.name: attribute.decode(codes, whole=plan.round)
        for attribute, codes in zip(attributes, masked, strict=True)
    }
    published = original.publish(columns, drop=plan.identifiers)
    promise = replace(_promise(plan, columns, ready.strata, rescaled), slack=slack, obeyed=ready.obeyed)
    progress("verify", 0, 1)
    verify(published, original, promise)
    said = [*notes(plan, original, attributes, columns, ready.edits), *unchanged(plan, masked, attributes)]
    kept = None if ready.edits is None else [*explained(ready.edits)]
    return Release(
        plan,
        ready.source,
        original,
        published,
        found.labels,
        promise,
        [*said, *found.notes, *ready.notes],
        found.blocking,
        edits=kept,
        certificate=found.certificate,
    )


def _masked(
    ready: Prepared, progress: Progress, keep: bool
) -> tuple[list[Codes], Partitions, dict[str, Rescaling], dict[str, float]]:
    """Return what is published, the groups it comes from (none for mic1d), how variances were restored, and slack."""
    plan, attributes = ready.plan, ready.attributes
    if plan.method == "mic1d":
        from shoal.masking import mic1d

        return list(mic1d(numbers(attributes), plan.k).T), Partitions([], None), {}, {}
    found = ready.partitioned(progress, keep=keep)
    published = representatives(attributes, ready.space, found.labels, plan, ready.weights)
    if ready.edits is not None:
        published, slack, said = put_right(published, attributes, found.labels, plan, ready.edits)
        return published, found._replace(notes=(*found.notes, *said)), {}, slack
    masked, rescaled = restored(published, attributes, plan, ready.weights)
    return masked, found, rescaled, {}


def _hybrid_release(ready: Prepared, progress: Progress) -> "Release":
    """Publish the confidential attributes as hybrid data; the seed goes no further than here."""
    from shoal.pipeline.hybrid import hybrid_data, random_numbers
    from shoal.pipeline.verify_hybrid import verify_hybrid

    plan, original, attributes, strata = ready.plan, ready.original, ready.attributes, ready.strata
    rng = random_numbers(attributes, plan)
    secret = on_seed(plan.seed is not None)
    plan = plan.updated(seed=None)
    hybrid = hybrid_data(attributes, strata, plan, ready.obeyed.rules, rng, progress)
    published = original.publish(hybrid.columns, drop=plan.identifiers)
    promise = replace(_promise(plan, hybrid.columns, strata, {}), obeyed=ready.obeyed)
    progress("verify", 0, 1)
    verify(published, original, promise)
    verify_hybrid(published, original, hybrid.claim)
    changed = [attribute for attribute in attributes if attribute.name in plan.changed]
    said = [*hybrid.notes, secret, *notes(plan, original, changed, hybrid.columns), *ready.notes]
    kept = None if ready.edits is None else [*explained(ready.edits)]
    groups = [hybrid.labels]
    return Release(plan, ready.source, original, published, groups, promise, said, hybrid.blocking, hybrid, kept)


def _private_release(ready: Prepared, progress: Progress) -> "Release":
    """Publish noisy means in the order of their groups; which record is in which group goes no further than here."""
    from shoal.pipeline.private import in_rows, on_privacy, private_data

    plan, original = ready.plan, ready.original
    private = private_data(ready.attributes, plan)
    published = original.publish(private.columns, drop=plan.identifiers)
    promise = replace(_promise(plan, private.columns, ready.strata, {}), bounds=plan.bounds)
    progress("verify", 0, 1)
    verify(published, original, promise)
    said = [*on_privacy(plan, private.figures), *notes(plan, original, ready.attributes, private.columns), *ready.notes]
    own = in_rows(original, private.order)
    return Release(plan, ready.source, own, published, [private.labels], promise, said, privacy=private.figures)


def _promise(plan: Plan, columns: dict[str, Array], strata: Strata, rescaled: dict[str, Rescaling]) -> Promise:
    asked = plan.l is not None or plan.t is not None
    return Promise(
        k=plan.k,
        blocks=[] if plan.method == "mic1d" or (plan.draws and not plan.mask_quasi) else plan.in_blocks,
        strata=[] if strata.mixed else plan.strata or [],
        masked={name: column.type for name, column in columns.items()},
        identifiers=plan.identifiers,
        types=plan.types,
        levels=plan.levels,
        rescaled=rescaled,
        weights=plan.weights if plan.preserve == "weighted_mean" else None,
        diversity=Diversity(plan.confidential, plan.l, plan.t) if asked else None,
        complete=plan.missing == "impute",
    )


def protect_to_file(
    plan: Plan,
    target: Path,
    overwrite: bool,
    resume: bool,
    on_interrupt: Literal["stop", "keep"],
    page: Path | None,
    progress: Progress,
) -> dict[str, Any]:
    """Protect the plan's input, write the release to `target` and its report to `page`, and return the summary."""
    engine = engine_for(plan)
    if resume and engine != "local":
        raise PlanError([("resume", "applies to files that are too large for memory; this one is not")])
    if on_interrupt != "stop" and engine in ("local", "spark"):
        raise PlanError([("on_interrupt", "does not apply to files that are too large for memory; --resume goes on")])
    if page is not None and engine in ("local", "spark"):
        raise PlanError([("report", "is made of files that fit into memory; this one does not")])
    if engine == "spark":
        from shoal.backends.spark.files import protect_files

        return protect_files(plan, overwrite=overwrite, progress=progress).summary()
    if engine == "local":
        from shoal.backends.file.run import protect_file

        return protect_file(plan, overwrite=overwrite, resume=resume, progress=progress).summary()
    return protect_in_memory(plan, target, overwrite, on_interrupt, page, progress).summary()


def protect_in_memory(
    plan: Plan,
    target: Path,
    overwrite: bool,
    on_interrupt: Literal["stop", "keep"],
    page: Path | None,
    progress: Progress,
) -> "Release":
    """Protect a file that fits into memory: release, file, report."""
    forget(target)
    release = protect(plan=plan, progress=progress, on_interrupt=on_interrupt)
    progress("write", 0, 1)
    release.save(target, overwrite)
    if page is not None:
        try:
            release.report(page, overwrite)
        except FileError as error:
            raise FileError(f"{error}; the masked file is complete, '{target}'") from None
    return release


@dataclass(frozen=True)
class Release:
    """A protected table with the evidence that it is what it claims to be.

    Attributes
    ----------
    plan : Plan
        What was done: the plan that was asked for, with the choices it left open filled in.
    partitions : list of (n,) arrays
        For each attribute block, the group of each published record.
    notes : list of str
        What a user might not expect, and what the release preserves.
    blocking : Blocking, optional
        The record blocks that a large table was divided into, and what they cost.
    edits : list of dict, optional
        The rules that the release obeys: their class, the attributes they tie together, and how they were kept.
    certificate : Certificate, optional
        How far from the optimum the partition is at most, where that was asked for and could be proved.
    privacy : dict, optional
        With epsilon: the sensitivity and the noise, all public (see `shoal.pipeline.private.figures`).
    """

    plan: Plan
    _source: Table = field(repr=False)
    _original: Table = field(repr=False)  # the records of the source that are published, in the order of their rows
    _published: Table = field(repr=False)
    partitions: list[Labels] = field(repr=False)
    _promise: Promise = field(repr=False)
    notes: list[str] = field(repr=False)
    blocking: Blocking | None = None
    _hybrid: "Hybrid | None" = field(default=None, repr=False)
    edits: list[dict[str, Any]] | None = field(default=None, repr=False)
    certificate: Certificate | None = None
    privacy: dict[str, Any] | None = field(default=None, repr=False)
    _saved: list[Path] = field(default_factory=list, repr=False)  # the files that it was written to

    @property
    def table(self) -> Any:
        """The protected table: the same kind of dataframe as came in, with its rows and columns in their order.

        With epsilon, rows are in the order of groups: which row was whose would tell of single records.
        """
        return self._published.native

    @property
    def groups(self) -> Labels:
        """One label a published record; with several attribute blocks, records alike in all of them share one."""
        if len(self.partitions) == 1:
            return self.partitions[0]
        if not self.partitions:  # no groups were formed: those that happen to be alike
            X = self._published.matrix(self.plan.masked)
            return np.asarray(np.unique(X, axis=0, return_inverse=True)[1], dtype=np.int64)
        groups: Labels = np.unique(np.stack(self.partitions, axis=1), axis=0, return_inverse=True)[1]
        return groups

    @property
    def suppressed(self) -> int:
        """How many records were left out."""
        return len(self._source) - len(self._published)

    def loss(self) -> dict[str, Any]:
        """Measure what the release costs its users: see `shoal.pipeline.loss.costs`."""
        attributes = [each for each in encode_all(self._original, self.plan) if each.name in self.plan.changed]
        published = [attribute.read(self._published.column(attribute.name)) for attribute in attributes]
        return costs(attributes, published, survey_weights(self._original, self.plan.weights))

    def risk(self) -> dict[str, Any]:
        """Measure what an intruder who knows quasi-identifiers gains, before and after masking.

        ``before`` and ``after`` describe all quasi-identifiers together (see `shoal.measures.exposure`); ``blocks``
        and ``strata`` are there when the plan has them: each block by itself, and all with the strata added. Hybrid
        data without quasi-identifiers have nothing to tell here; see ``hybrid`` in the summary.
        """
        names = self.plan.masked
        if not names:
            return {}
        risk: dict[str, Any] = {"before": exposure(self._source, names), "after": exposure(self._published, names)}
        if self.plan.given_blocks:
            blocks = self.plan.given_blocks
            risk["blocks"] = [{"attributes": block, **exposure(self._published, block)} for block in blocks]
        if self.plan.strata:
            risk["strata"] = exposure(self._published, [*names, *self.plan.strata])
        return risk

    def summary(self) -> dict[str, Any]:
        """Everything worth knowing about the release, ready for JSON; no value of a single record is in it.

        What it says of ``hybrid`` data was computed from the original records, and is for their keeper alone.
        """
        return {
            "records": len(self._published),
            "suppressed": self.suppressed,
            "plan": self.plan.options(),
            "loss": self.loss(),
            "risk": self.risk(),
            **({} if self.blocking is None else {"blocking": self.blocking.summary()}),
            **({} if self.edits is None else {"edits": self.edits}),
            **({} if self.certificate is None else {"certificate": self.certificate.summary()}),
            **({} if self.privacy is None else {"privacy": self.privacy}),
            **({} if self._hybrid is None else {"hybrid": self._evidence(self._hybrid)}),
            "notes": self.notes,
        }

    def _evidence(self, hybrid: "Hybrid") -> dict[str, Any]:
        from shoal.pipeline.hybrid import evidence

        return evidence(self._original, self._published, self.plan, hybrid)

    def save(self, path: AnyPath | None = None, overwrite: bool = False) -> None:
        """Write the protected table, its manifest and its plan.

        The plan gives the same bytes again (not of hybrid data, nor with epsilon, nor after a budget in time). What
        was written is read back and verified before it gets its final name; a file under that name is complete or
        does not exist. What this kind of file cannot keep is added to the notes.

        Parameters
        ----------
        path : path, optional
            The file; its ending says of which kind. The plan's ``output`` if left out. The plan itself is written
            under the same name with .plan.toml added, the manifest, which may be published too, under its name with
            .manifest.json in place of the ending.
        overwrite : bool
            Whether files that exist already are replaced.
        """
        path = path if path is not None else self.plan.output
        if path is None:
            raise PlanError([("output", "is missing; name the file to write")])
        path = Path(path)
        unkept = save(self._published, self.plan, self._promise, path, overwrite)
        self.notes.extend(note for note in unkept if note not in self.notes)
        self._saved.append(path)

    def report(self, path: AnyPath, overwrite: bool = False, records_at_risk: bool = False) -> None:
        """Write the report of the release: one HTML file that needs nothing else, for the screen and for paper.

        No original value of an identifying or confidential attribute is in it, and of the others nothing but shares
        of at least max(k, 10) records.

        Parameters
        ----------
        path : path
            The file; its name ends in .html.
        overwrite : bool
            Whether a file that exists already is replaced.
        records_at_risk : bool
            Whether the records at most risk are named, by their positions in the published file.
        """
        from shoal.report import release_report, write_report
        from shoal.report.writing import refuse_report

        refuse_report(Path(path), overwrite)
        saved = self._saved[-1] if self._saved else None
        write_report(release_report(self, records_at_risk=records_at_risk, saved=saved), path, overwrite)

    def plot_sizes(self, block: int = 1) -> "LayerChart":
        """Draw how many groups of each size there are, of one of the attribute blocks, counted from 1."""
        from shoal.report.plots import plot_sizes

        return plot_sizes(self, block)

    def plot_distribution(self, name: str) -> "LayerChart":
        """Draw a masked attribute before and after, in bars of at least max(k, 10) original records."""
        from shoal.report.plots import plot_distribution

        return plot_distribution(self, name)

    def plot_correlations(self) -> "LayerChart":
        """Draw by how much the correlation of every pair of changed numbers moved."""
        from shoal.report.plots import plot_correlations

        return plot_correlations(self)

    def _repr_html_(self) -> str | None:
        """Show the release in a notebook; as text where the extra for reports is not installed."""
        try:
            from shoal.report import release_html
        except MissingExtra:
            return None
        return release_html(self)


# `help(protect)` and a notebook's tooltip show the plan's fields as the keywords that they are.
_own = [p for p in inspect.signature(protect).parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
protect.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [*_own, *(p for p in inspect.signature(Plan).parameters.values())], return_annotation=Release
)

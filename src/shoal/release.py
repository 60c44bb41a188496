"""protect(): a table and a plan become a release. The pipeline, readable top to bottom."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.backends import Backend, Published
from shoal.backends.choose import open_records
from shoal.backends.file.checkpoint import forget, was_placing
from shoal.blocking.record_blocks import Blocking
from shoal.edits.apply import explained
from shoal.errors import FileError, MissingExtra, PlanError
from shoal.evidence.verdict import Verdict, refuse_formulas, release_verdict
from shoal.messages import Message, by_severity
from shoal.parallel import Progress, quiet
from shoal.pipeline.best_block_size import with_block_size
from shoal.pipeline.certify import Certificate
from shoal.pipeline.counting import exposure_of
from shoal.pipeline.dominance import on_dominance
from shoal.pipeline.mask_households import with_masked_households
from shoal.pipeline.notes import (
    on_blocks,
    on_budget,
    on_change,
    on_headline,
    on_one_group,
    on_only,
    on_order,
    on_repair,
    on_suppressed,
)
from shoal.pipeline.prepare import Prepared, prepare, with_blocks
from shoal.pipeline.resolve import Resolved, resolve
from shoal.pipeline.save import refuse_output, refuse_quoting
from shoal.pipeline.verify import Verified
from shoal.plan import Plan
from shoal.plan.asking import AnyPath, asked
from shoal.plan.policy import Policy, as_policy
from shoal.plan.resolved import ResolvedPlan
from shoal.plan.signature import with_plan_fields

if TYPE_CHECKING:
    from shoal.report.charts import StaticChart

Labels = NDArray[np.int64]


def protect(
    table: Any = None,
    plan: Plan | AnyPath | None = None,
    *,
    progress: Progress = quiet,
    on_interrupt: Literal["stop", "keep"] = "stop",
    resume: bool = False,
    policy: Policy | AnyPath | None = None,
    **options: Any,
) -> "Release":
    """Protect a table: put its records into groups of at least k, publish one representative per group.

    Parameters
    ----------
    table : dataframe or path, optional
        pandas, Polars, PyArrow, anything with ``__arrow_c_stream__``, a Spark DataFrame, or the path of a file. Left
        out, the plan's ``input`` is read.
    plan : Plan or path of a plan file, optional
        What is asked for; single `options` take precedence.
    progress : callable, optional
        Called with the name of the step, what is done and what there is, ten times a second.
    on_interrupt : {"stop", "keep"}
        Whether Ctrl-C stops a search for the best groups, or ends it early and goes on with the best so far.
    resume : bool
        Whether to go on from where a run with the same plan and input was killed, for files larger than memory.
    policy : Policy or path of a policy file, optional
        The limits of an office: the release has a ``verdict``, and one that fails cannot be saved.
    **options
        The fields of `Plan`: ``k``, ``quasi``, ``confidential``, ``identifiers``, ``method``, ``aggregate``, ...
        ``help(shoal.Plan)`` describes each.

    Returns
    -------
    Release
        The protected table, verified, with the evidence of what it costs and what it risks. Nothing gets a name on
        the disk until its ``save`` is called.

    Raises
    ------
    PlanError
        What is asked for is wrong; every mistake is named.
    DataError, FileError
        The table cannot be used as asked, or not be read.
    CheckFailed
        What would be published is not what it claims to be.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> people = pa.table({"name": ["Ann", "Bob", "Cyd", "Dee"], "age": [31, 72, 33, 70], "ill": [0, 1, 1, 0]})
    >>> release = shoal.protect(people, k=2, quasi=["age"], confidential=["ill"], identifiers=["name"])
    >>> release.table["age"].to_pylist()
    [32, 71, 32, 71]
    """
    if on_interrupt not in ("stop", "keep"):
        raise PlanError("not-a-choice", field="on_interrupt", choices=["stop", "keep"])
    wanted = asked(table, plan, options)
    limits = as_policy(policy)
    with open_records(table, wanted, progress, keep=on_interrupt == "keep", resume=resume) as records:
        refuse_formulas(limits, records.outline)
        resolved = resolve(wanted, records)  # every choice made once
        prepared = prepare(resolved, records)  # what a block must know of the whole: scales, strata, rules
        masker, sized = with_block_size(prepared.masker, records)  # where it is left to the data
        masker = with_blocks(masker, records, records.block_size(masker))
        masker = with_masked_households(masker, prepared, records, records.block_size, progress)
        published = records.map_blocks(masker, prepared)  # partition, aggregate, repair
        verified = published.verify()  # counted on what will be written, by SQL that knows nothing of masking
        return release_of(records, resolved, prepared, published, verified, sized, limits)


def release_of(
    records: Backend,
    resolved: Resolved,
    prepared: Prepared,
    published: Published,
    verified: Verified,
    sized: Sequence[Message] = (),
    policy: Policy | None = None,
) -> "Release":
    """Return the release, from the results of each step."""
    masker = published.masker
    return Release(
        published.plan,
        published,
        verified,
        suppressed=prepared.suppressed,
        notes=by_severity(
            [
                *on_headline(verified.file),
                *on_suppressed(prepared.suppressed, published.records),
                *(each["text"] for each in verified.file["findings"][1:]),
                *published.notes,
                *on_change(published.losses.summary(published.sums)["attributes"]),
                *on_repair(published.own, published.misread),
                *on_dominance(published.plan, published.dominated),
                *([] if published.totals is None else [published.totals.note()]),
                *on_order(published.plan),
                *on_only(verified.only, published.plan),
                *on_budget(0 if masker.clock is None else masker.clock.hurried),
                *resolved.notes,
                *records.notes,
                *prepared.notes,
                *on_one_group(published.plan, verified.together),
                *sized,
                *on_blocks(published.plan, masker.blocks, by_data=bool(sized)),
            ]
        ),
        edits=None if masker.edits is None else [*explained(masker.edits.kept)],
        policy=policy,
    )


def protect_file(plan: Plan, *, overwrite: bool = False, resume: bool = False, progress: Progress = quiet) -> "Release":
    """Protect a file that may be larger than memory, and write the release: `protect` with engine 'file', and `save`.

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
        Called with the step, what is done of it and what there is.
    """
    if plan.output is not None:  # before hours of work
        target = Path(plan.output)
        refuse_output(plan.input, target, overwrite or (resume and was_placing(target)))
    release = protect(plan=plan.updated(engine="file"), progress=progress, resume=resume)
    release.save(overwrite=overwrite)
    return release


def protect_to_file(
    plan: Plan,
    target: Path,
    overwrite: bool = False,
    resume: bool = False,
    on_interrupt: Literal["stop", "keep"] = "stop",
    page: Path | None = None,
    progress: Progress = quiet,
    policy: Policy | None = None,
    **of_report: Any,
) -> "Release":
    """Protect the plan's input, write the release to `target` and its report to `page`: what every front end runs.

    Of a release that fails the policy there is an internal report, and no file. `of_report` are options of
    `Release.report`.
    """
    if resume:  # before hours of work
        refuse_output(plan.input, target, overwrite or was_placing(target))
    forget(target, keep=resume)
    release = protect(plan=plan, progress=progress, on_interrupt=on_interrupt, resume=resume, policy=policy)
    try:
        if policy is not None:
            progress("risk", 0, 1)
        if not release.refused:
            progress("write", 0, 1)
            release.save(target, overwrite)
        if page is not None and not (release.refused and of_report.get("external")):
            try:
                progress("report", 0, 1)
                release.report(page, overwrite, **of_report)
            except FileError as error:
                if release.refused:
                    raise
                raise FileError("only-report-failed", reason=error.messages[0], path=target) from None
    finally:
        release.published.close()
    return release


@dataclass(frozen=True)
class Release:
    """A protected table with the evidence that it is what it claims to be; the same wherever its records are.

    Attributes
    ----------
    plan : Plan
        What was done: the plan that was asked for, with the choices it left open filled in.
    suppressed : int
        How many records were left out.
    notes : list of Message
        What a user might not expect, and what the release preserves: texts with a ``severity``, warnings first.
    edits : list of dict, optional
        The rules that the release obeys: their class, the attributes they tie together, and how they were kept.
    policy : Policy, optional
        The limits that the release must meet: see `verdict`.
    """

    plan: ResolvedPlan
    published: Published = field(repr=False)
    verified: Verified = field(repr=False)
    suppressed: int
    notes: list[Message] = field(repr=False)
    edits: list[dict[str, Any]] | None = field(default=None, repr=False)
    policy: Policy | None = field(default=None, repr=False)
    _saved: list[Path] = field(default_factory=list, repr=False)  # the files that it was written to

    @property
    def table(self) -> Any:
        """The protected table: the same kind of dataframe as came in, with its rows and columns in their order.

        With epsilon, rows are in the order of groups: which row was whose would tell of single records. A Spark
        DataFrame has no order. Of a file larger than memory, this reads the whole release.
        """
        return self.published.table

    @property
    def records(self) -> int:
        """How many records are published."""
        return self.published.records

    @property
    def partitions(self) -> list[Labels]:
        """For each attribute block, the group of each published record; only of tables in memory."""
        return self.published.partitions

    @property
    def groups(self) -> Labels:
        """One label a published record; with several attribute blocks, records alike in all of them share one."""
        return self.published.groups

    @property
    def blocking(self) -> Blocking | None:
        """The record blocks that a large table was divided into, and what they cost."""
        return self.published.blocking

    @property
    def certificate(self) -> Certificate | None:
        """How far from the optimum the partition is at most, where that was asked for and could be proved."""
        return self.published.certificate

    @property
    def privacy(self) -> dict[str, Any] | None:
        """With epsilon: the sensitivity and the noise, all public."""
        return self.published.privacy

    @cached_property
    def verdict(self) -> Verdict | None:
        """Whether the release meets the policy, limit by limit; None without one.

        ``verdict.result`` is passed, failed or incomplete. What the release does not measure by itself is measured as
        `shoal.assess` does, if the table is in memory and the policy asks for it.
        """
        return None if self.policy is None else release_verdict(self, self.policy)

    @property
    def refused(self) -> bool:
        """Whether a limit of the policy failed, so that the release cannot be saved."""
        return self.verdict is not None and self.verdict.result == "failed"

    @property
    def may_go_out(self) -> bool | None:
        """Whether the release passed the policy: every limit was measured and met. None without a policy."""
        return None if self.verdict is None else self.verdict.result == "passed"

    def loss(self) -> dict[str, Any]:
        """Measure what the release costs its users: see `shoal.pipeline.loss.costs`.

        With epsilon it is for the keeper of the data alone: it is measured on the original, within the bounds, without
        noise. Neither `summary` nor a report holds it.
        """
        return self._loss

    @cached_property
    def _loss(self) -> dict[str, Any]:
        return self.published.losses.summary(self.published.sums)

    @cached_property
    def _risk(self) -> dict[str, Any]:
        after = self.verified.together
        risk: dict[str, Any] = {"file": self.verified.file}
        if after is None:
            return risk
        units = self.verified.before
        before = {}
        if self.plan.epsilon is None:
            before = {"before": self.published.before() if units is None else exposure_of(units)}
        risk |= {**before, "after": exposure_of(after)}
        if self.verified.apart:
            pairs = zip(self.plan.given_blocks, self.verified.apart, strict=True)
            risk["blocks"] = [{"attributes": block, **exposure_of(sizes)} for block, sizes in pairs]
        if self.verified.dominance:
            risk["dominance"] = self.verified.dominance
        if self.verified.households is not None:
            risk["households"] = exposure_of(self.verified.households)
        if self.verified.strata is not None:
            risk["strata"] = exposure_of(self.verified.strata)
        return risk

    def risk(self) -> dict[str, Any]:
        """Measure what an intruder gains, from the quasi-identifiers and from the whole file.

        ``file`` is the risk of all published columns, with the worst of it in ``file["headline"]``: see
        `shoal.pipeline.whole_file.file_risk`. ``before`` and ``after`` describe the quasi-identifiers alone (see
        `shoal.measures.exposure`); ``blocks`` and ``strata`` are there when the plan has them: each block by itself,
        and all with the strata added; ``households`` counts households, by the attributes that are masked once for
        each; ``dominance`` counts for each magnitude the cells that a contributor dominates. Without quasi-identifiers
        there is nothing but ``file``. With epsilon there is no ``before``. Where the plan names a unit, sizes of groups
        are numbers of units.
        """
        return self._risk

    def summary(self) -> dict[str, Any]:
        """Everything worth knowing about the release, ready for JSON; no value of a single record is in it.

        What it says of ``hybrid`` data was computed from the original records, and is for their keeper alone. With
        epsilon, all of it may be published, and there is no ``loss``.
        """
        hybrid, households, only = self.published.hybrid(), self.published.masker.households, self.verified.only
        return {
            "records": self.records,
            "suppressed": self.suppressed,
            "plan": self.plan.options(),
            **({} if self.plan.epsilon is not None else {"loss": self.loss()}),
            "risk": self.risk(),
            **({} if only is None else {"only": {name: only[name] for name in ("at_risk", "changed", "joined")}}),
            **({} if households is None else {"households": households.summary()}),
            **({} if self.blocking is None else {"blocking": self.blocking.summary()}),
            **({} if self.edits is None else {"edits": self.edits}),
            **({} if self.published.totals is None else {"totals": self.published.totals.summary()}),
            **({} if self.certificate is None else {"certificate": self.certificate.summary()}),
            **({} if self.privacy is None else {"privacy": self.privacy}),
            **({} if hybrid is None else {"hybrid": hybrid}),
            **({} if self.verdict is None else {"verdict": self.verdict.as_json()}),
            "notes": [message.as_json() for message in self.notes_below_headline],
        }

    @property
    def notes_below_headline(self) -> list[Message]:
        """The notes but for a warning that is the headline of the file's risk, which is shown above them."""
        return [note for note in self.notes if note not in on_headline(self.verified.file)]

    def save(self, path: AnyPath | None = None, overwrite: bool = False) -> None:
        """Write the protected table, its manifest and its plan.

        The plan gives the same bytes again (not of hybrid data, nor with epsilon, nor after a budget in time). What
        was written is read back and verified before it gets its final name; a file under that name is complete or
        does not exist. What this kind of file cannot keep, and how many texts in it look like formulas, is added to the
        notes. A release that fails its policy is not written (`CheckFailed`).

        Parameters
        ----------
        path : path, optional
            The file; its ending says of which kind. The plan's ``output`` if left out. The plan itself is written
            under the same name with .plan.toml added, the manifest, which may be published too, with
            .manifest.json added.
        overwrite : bool
            Whether files that exist already are replaced.
        """
        path = path if path is not None else self.plan.output
        if path is None:
            raise PlanError("no-output", field="output")
        refuse_quoting(self.plan, path)
        if self.verdict is not None:
            self.verdict.refuse()
        found = self.published.save(str(path), overwrite, self.verified)
        self.notes[:] = by_severity([*self.notes, *(note for note in by_severity(found) if note not in self.notes)])
        self._saved.append(Path(path))

    def report(
        self,
        path: AnyPath,
        overwrite: bool = False,
        records_at_risk: bool = False,
        external: bool = False,
        against: Any = None,
        key: str | None = None,
    ) -> None:
        """Write a report of the release: one HTML file that needs nothing else, for the screen and for paper.

        No original value of an identifying or confidential attribute is in it, and of the others nothing but shares
        of at least max(k, 10) records. The internal report has all that was measured, and is for the keeper of the
        data. The external one is for those who use them, and says nothing about risks. Of a release that fails its
        policy there is none (`CheckFailed`).

        Parameters
        ----------
        path : path
            The file; its name ends in .html.
        overwrite : bool
            Whether a file that exists already is replaced.
        records_at_risk : bool
            Whether the records at most risk are named, by their positions in the published file.
        external : bool
            Whether the report is for users of the data.
        against : dataframe, path or list of these, optional
            Earlier releases of the same data, to count what they reveal together with this one.
        key : str, optional
            With `against`, a column of all releases that tells records apart; rows are paired by position without.
        """
        from shoal.evidence.check import compared
        from shoal.report import external_report, release_report, write_report
        from shoal.report.pages import refuse_report

        internal = {"records_at_risk": records_at_risk, "against": against is not None, "key": key is not None}
        if external and any(internal.values()):
            with_it = {"other": "--external", "why": Message("says-nothing-of-risks")}
            wrong = (name for name, given in internal.items() if given)
            raise PlanError(*(Message("does-not-apply-with", field=name, **with_it) for name in wrong))
        if key is not None and against is None:
            raise PlanError("does-not-apply-without", field="key", needed="earlier releases", option="--against")
        refuse_report(Path(path), overwrite)
        saved, made = self._saved[-1] if self._saved else None, datetime.now(UTC).date()
        if external:
            if self.verdict is not None:
                self.verdict.refuse()
            text = external_report(self, saved=saved, made=made)
        else:
            earlier = None if against is None else compared(self, against, key)
            text = release_report(self, records_at_risk=records_at_risk, saved=saved, made=made, earlier=earlier)
        write_report(text, path, overwrite)

    def plot_sizes(self, block: int = 1) -> "StaticChart":
        """Draw how many groups of each size there are, of one of the attribute blocks, counted from 1."""
        from shoal.report.charts import plot_sizes

        return plot_sizes(self, block)

    def plot_distribution(self, name: str) -> "StaticChart":
        """Draw a masked attribute before and after, in bars of at least max(k, 10) original records."""
        from shoal.report.charts import plot_distribution

        return plot_distribution(self, name)

    def plot_correlations(self) -> "StaticChart":
        """Draw by how much the correlation of every pair of changed numbers moved."""
        from shoal.report.charts import plot_correlations

        return plot_correlations(self)

    def _repr_html_(self) -> str | None:
        """Show the release in a notebook; as text where the extra for reports is not installed."""
        try:
            from shoal.report import release_html
        except MissingExtra:
            return None
        return release_html(self)


# `help(protect)` and a notebook's tooltip show the plan's fields as the keywords that they are.
protect.__signature__ = with_plan_fields(protect, Release)  # type: ignore[attr-defined]

"""Every k in one run: what each would cost and risk, and the protected file of each."""

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.backends.choose import is_spark, open_records
from shoal.backends.memory import MemoryPublished, MemoryRecords
from shoal.errors import DataError, MissingExtra, PlanError
from shoal.evidence.limits import Limits
from shoal.evidence.outputs import output_paths, refuse_outputs
from shoal.evidence.units import units_in_classes
from shoal.kernels.standardize import Matrix
from shoal.measures import exposure
from shoal.measures.distance_linkage import linkage
from shoal.measures.equivalence_classes import published_classes
from shoal.messages import Message
from shoal.parallel import Progress, quiet
from shoal.partitioning.known import KnownPartitions
from shoal.pipeline.best_block_size import with_block_size
from shoal.pipeline.classes import classes
from shoal.pipeline.mask_households import with_masked_households
from shoal.pipeline.masker import BlockMasker
from shoal.pipeline.prepare import Prepared, prepare, with_blocks
from shoal.pipeline.resolve import Resolved, resolve
from shoal.pipeline.whole_file import unchanged_columns
from shoal.plan import Plan
from shoal.plan.asking import AnyPath, asked
from shoal.plan.signature import with_plan_fields
from shoal.release import Release, release_of
from shoal.tables.attributes import NUMBERS

if TYPE_CHECKING:
    from shoal.report.charts import StaticChart

Labels = NDArray[np.int64]

_LINKED = 2_000  # records that are linked to their masked selves: of more, a sample, the same for every k
COLUMNS = ("method", "k", "groups", "smallest", "largest", "IL", "SSE", "linked", "unique", "risk")


@dataclass(frozen=True)
class Saved:
    """A file that a sweep has written.

    Attributes
    ----------
    method, k
        As they were asked for.
    path
        The file; its plan and its manifest are beside it.
    headline
        The worst of the risk of the whole file: see `shoal.pipeline.whole_file.file_risk`.
    notes
        Those of the release, warnings first.
    """

    method: str
    k: int
    path: Path
    headline: dict[str, Any]
    notes: list[Message]

    def as_json(self) -> dict[str, Any]:
        """Return the same, ready for JSON."""
        notes = [message.as_json() for message in self.notes]
        return {"method": self.method, "k": self.k, "file": str(self.path), "headline": self.headline, "notes": notes}


@dataclass(frozen=True)
class Sweep:
    """What every k would cost and risk, and the release of each.

    Attributes
    ----------
    rows : list of dict
        For every method and k: ``groups``, the sizes of the ``smallest`` and the ``largest``, the loss (``IL``, in
        percent, and ``SSE``), and measured risks in percent. ``linked`` are the records (of at most 2,000) that an
        intruder links rightly who knows all quasi-identifiers as they were, by the distance that masked. ``unique``
        are the records that no other equals in all published columns but the sensitive ones. ``risk`` is the higher of
        the two. With k = 1 nothing is changed, and nothing protected.
    limits : Limits
        What the choice must meet.
    notes : list of Message
        What to know of the comparison, and of files that were written.
    saved : list of Saved
        The files that `save` has written.
    """

    plan: Plan
    rows: list[dict[str, Any]]
    limits: Limits = field(default_factory=Limits)
    notes: list[Message] = field(default_factory=list)
    saved: list[Saved] = field(default_factory=list, repr=False)
    _runs: "list[_Run]" = field(default_factory=list, repr=False)  # of each row

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def chosen(self) -> dict[str, Any] | None:
        """The row that meets the limits with the least loss; None if no row does, or there are no limits."""
        return self.limits.chosen(self.rows)

    @property
    def nearest(self) -> dict[str, Any] | None:
        """If no row meets the limits, the one that misses them by the fewest percentage points in all."""
        return self.limits.nearest(self.rows)

    @property
    def verdict(self) -> Message:
        """Which k meets the limits, in words."""
        return self.limits.verdict(self.rows)

    @property
    def methods(self) -> list[str]:
        """The methods that were compared, as they were carried out."""
        return list(dict.fromkeys(row["method"] for row in self.rows))

    @property
    def best(self) -> dict[int, dict[str, Any]]:
        """For each k, the row of the method that loses least; of several that lose as little, the first."""
        found: dict[int, dict[str, Any]] = {}
        for row in self.rows:
            if row["k"] not in found or (row["IL"] or 0.0) < (found[row["k"]]["IL"] or 0.0):
                found[row["k"]] = row
        return found

    @property
    def labels(self) -> dict[int, Labels]:
        """For each k, the group of each published record; with several methods, of the one that loses least."""
        return {k: self._run(k).groups for k in self.best}

    def release(self, k: int, method: str | None = None) -> Release:
        """Return the release of a k, verified, as `shoal.protect` returns it, from the groups that were compared.

        Parameters
        ----------
        k : int
            One of those that were compared, and more than 1.
        method : str, optional
            One of those that were compared; if left out, the one that loses least.
        """
        if k == 1:
            raise PlanError("no-release-of-1", field="k")
        return self._run(k, method).release()

    def _run(self, k: int, method: str | None = None) -> "_Run":
        """Return what was done for a k, by a method or by the one that loses least."""
        pairs = [(row, run) for row, run in zip(self.rows, self._runs, strict=True) if row["k"] == k]
        if not pairs:
            raise PlanError("not-compared", field="k", value=k, known=[*self.best])
        named = [(row, run) for row, run in pairs if method in (None, row["method"], run.method)]
        if not named:
            raise PlanError("not-compared", field="method", value=method, known=[row["method"] for row, _ in pairs])
        return min(named, key=lambda pair: pair[0]["IL"] or 0.0)[1]

    def save(
        self, pattern: AnyPath | None = None, overwrite: bool = False, *, progress: Progress = quiet
    ) -> list[Saved]:
        """Write a protected file for every method and k, verified, each with its plan and its manifest.

        Each is what `shoal.protect` and `Release.save` write. All names are looked at before the first file is
        written. What stops in between leaves the files that are complete, and they are in `saved`.

        Parameters
        ----------
        pattern : path, optional
            The names of the files, such as ``masked-{k}.csv`` or ``{method}-{k}.parquet``. The plan's ``output`` if
            left out. k = 1 is not written.
        overwrite : bool
            Whether files that exist already are replaced.
        progress : callable, optional
            As for `shoal.protect`.
        """
        pattern = self.plan.output if pattern is None else pattern
        if pattern is None:
            raise PlanError("no-output", field="output", example="masked-{k}.csv")
        runs = {(run.method, run.k): run for run in self._runs}
        methods, sizes = (list(dict.fromkeys(each)) for each in zip(*runs, strict=True))
        paths = output_paths(str(pattern), methods, sizes)
        refuse_outputs(self.plan.input, list(paths.values()), overwrite)
        for place, (of, path) in enumerate(paths.items()):
            progress("write", place, len(paths))
            release = runs[of].release()
            release.save(path, overwrite)
            self.saved.append(Saved(*of, path, release.verified.file["headline"], release.notes_below_headline))
        one_only = Message("publish-one-only")
        if len(paths) > 1 and one_only not in self.notes:
            self.notes.append(one_only)
        return self.saved

    def to_dict(self) -> dict[str, Any]:
        """Return rows, limits, the row that meets them or is nearest, the best of each k and files, ready for JSON."""
        near = self.nearest
        missed = None if near is None else self.limits.missed(near)
        return {
            "rows": self.rows,
            "limits": asdict(self.limits),
            "chosen": self.chosen,
            "nearest": near,
            "missed": missed,
            "best": {str(k): row["method"] for k, row in self.best.items()},
            "notes": [message.as_json() for message in self.notes],
            "files": [each.as_json() for each in self.saved],
        }

    def to_csv(self) -> str:
        """Return the rows as the text of a CSV file."""
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return text.getvalue()

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def report(self, path: AnyPath, overwrite: bool = False, external: bool = False) -> None:
        """Write the risk-utility map as one HTML file that needs nothing else.

        The external one, for users of the data, has the loss alone. It takes numbers and dates: the loss of levels and
        categories tells how many records changed, however few.
        """
        from shoal.report import external_sweep_report, sweep_report, write_report
        from shoal.report.pages import refuse_report

        if external and any(each.type not in NUMBERS for each in self._runs[0].ready.masker.changed):
            raise PlanError("external-of-categories", field="external")
        refuse_report(Path(path), overwrite)
        write_report(external_sweep_report(self) if external else sweep_report(self), path, overwrite)

    def plot_map(self, risk: str = "risk") -> "StaticChart":
        """Draw loss against ``risk``, or against one of its parts, ``linked`` or ``unique``."""
        from shoal.report.charts import plot_map

        return plot_map(self, risk)

    def _repr_html_(self) -> str | None:
        """Show the sweep in a notebook; as text where the extra for reports is not installed."""
        try:
            from shoal.report import sweep_html
        except MissingExtra:
            return None
        return sweep_html(self)


def sweep(
    table: Any = None,
    k: int | Iterable[int] = range(3, 11),
    method: str | Sequence[str] = "auto",
    plan: Plan | AnyPath | None = None,
    *,
    max_risk: float | None = None,
    max_loss: float | None = None,
    min_k: int | None = None,
    progress: Progress = quiet,
    **options: Any,
) -> Sweep:
    """Measure what every k would cost and risk, in one run, and keep the release of each at hand.

    Parameters
    ----------
    table : dataframe or path, optional
        As for `shoal.protect`.
    k : int or iterable of int
        The group sizes to compare, from 1 (nothing is changed) to the number of records (one group).
    method : str or list of str
        One or several methods; ``auto`` is what `shoal.protect` takes. ``mdav`` is quicker, and never loses less. With
        ``tour`` all k share one tour, and take little more than one; where it is the only method, `Sweep.notes` name
        the k at which MDAV loses less.
    plan : Plan or path of a plan file, optional
        What else is asked for; single `options` take precedence.
    max_risk, max_loss : float, optional
        The highest measured risk and the highest loss (IL) to accept, in percent.
    min_k : int, optional
        The least k to accept.
    progress : callable, optional
        Called with the name of the step, what is done and what there is.
    **options
        The fields of `Plan` but for ``k`` and ``method``.

    Returns
    -------
    Sweep
        A row for every method and k, the groups in `Sweep.labels`, and the release of each by `Sweep.release`;
        `Sweep.save` writes them all. With limits, `Sweep.chosen` meets them with the least loss; if no row does,
        `Sweep.nearest` misses them by the least.

    Examples
    --------
    >>> import shoal
    >>> people = {"age": [31, 72, 33, 70, 50, 52, 29, 68], "income": [20, 31, 22, 30, 45, 44, 19, 29]}
    >>> import pyarrow as pa
    >>> [(row["k"], row["groups"]) for row in shoal.sweep(pa.table(people), k=[2, 3, 4])]
    [(2, 3), (3, 2), (4, 2)]
    """
    sizes, methods = _asked_for(k, method)
    limits = Limits(max_risk, max_loss, min_k)
    if limits.min_k is not None and limits.min_k > sizes[-1]:
        raise PlanError("min-k-above-all", field="min_k", first=sizes[0], least=limits.min_k)
    plans = _plans(table, plan, options, sizes, methods)
    with open_records(table, plans[methods[0]].updated(engine="memory"), progress) as records:
        if not isinstance(records, MemoryRecords):
            raise TypeError("a sweep works in memory")
        runs = _runs(records, plans, sizes, progress)
        notes = _beside_mdav(runs) if methods == ["tour"] else []
    return Sweep(runs[0].ready.asked, [run.row for run in runs], limits, notes, [], runs)


sweep.__signature__ = with_plan_fields(sweep, Sweep)  # type: ignore[attr-defined] # shown by help() and notebooks

# Fields that go with some methods only; in a sweep with one of these, the others do without.
_OWN = {"budget": ("best", "auto"), "tour": ("tour",)}
_NOT_SWEPT = {
    "mic1d": "it-forms-no-groups",
    "ms": "it-forms-no-groups",
    "hybrid": "draws-new-values",
    "insensitive": "uses-an-epsilon-each",
}


def _plans(
    table: Any, plan: Plan | AnyPath | None, options: dict[str, Any], sizes: Sequence[int], methods: Sequence[str]
) -> dict[str, Plan]:
    """Return the plan of each method, at the least k that is protected; refuse what does not apply to a sweep."""
    if isinstance(plan, str | os.PathLike):
        plan = Plan.load(plan, **{**options, "k": max(2, sizes[0])})
    given = {**({} if plan is None else {name: getattr(plan, name) for name in (*_OWN, "refine")}), **options}
    _refuse_own(given, methods)
    plans = {}
    for name in methods:
        others = [
            field
            for field, takers in _OWN.items()
            if given.get(field) is not None and name not in takers and {*takers} & {*methods}
            if field != "budget" or not given.get("refine")  # which any method may be
        ]
        plans[name] = asked(table, plan, {**options, **dict.fromkeys(others), "k": max(2, sizes[0]), "method": name})
    first = plans[methods[0]]
    if first.bound:
        raise PlanError("not-in-a-sweep", field="bound")
    if first.epsilon is not None:
        raise PlanError("not-in-a-sweep", field="epsilon", why=Message("uses-an-epsilon-each"))
    engine = "spark" if is_spark(table) else first.engine
    if engine not in (None, "memory"):
        raise PlanError("not-in-a-sweep", field="engine", value=engine, why=Message("works-in-memory"))
    return plans


def _refuse_own(given: dict[str, Any], methods: Sequence[str]) -> None:
    """Refuse fields that go with none of the methods that are compared."""
    problems = [
        Message("not-for-any-method", field=field, methods=methods, method=takers[0])
        for field, takers in _OWN.items()
        if given.get(field) is not None and not {*takers} & {*methods}
        if field != "budget" or not given.get("refine")
    ]
    if problems:
        raise PlanError(*problems)


@dataclass(frozen=True)
class _Ready:
    """A table that is ready to be masked by a plan, which was asked for.

    `determined` are the masked attributes that follow from unchanged columns, once a release has told them: a list in a
    list, which all k of the same records share.
    """

    asked: Plan
    resolved: Resolved
    prepared: Prepared
    masker: BlockMasker
    records: MemoryRecords
    determined: list[Sequence[dict[str, Any]]] = field(default_factory=list)
    sized: Sequence[Message] = ()  # how the size of record blocks was chosen

    def published(self) -> MemoryPublished:
        """Mask the table."""
        return self.records.map_blocks(self.masker, self.prepared)

    def again(self, plan: Plan) -> "_Ready | None":
        """Return the same for another k, where k decides nothing but the size of groups; None where it does."""
        parts = plan.strata is not None or plan.edits is not None or plan.missing == "suppress" or plan.unit is not None
        parts = parts or plan.household is not None or plan.only is not None
        if parts or plan.method != self.asked.method or plan.scale is not None or self.masker.blocks is not None:
            return None
        masker = replace(self.masker, plan=self.masker.plan.decided(k=plan.k))
        resolved = replace(self.resolved, plan=self.resolved.plan.decided(k=plan.k))
        return _Ready(plan, resolved, replace(self.prepared, masker=masker), masker, self.records, self.determined)

    def by_mdav(self) -> "_Ready":
        """Return the same for MDAV."""
        return replace(self, masker=replace(self.masker, plan=self.masker.plan.decided(method="mdav", tour=None)))


def _ready(ready: _Ready | None, records: MemoryRecords, plan: Plan, known: KnownPartitions | None) -> _Ready:
    """Make a table ready for a k and a method; where it is so already, for another k."""
    again = None if ready is None else ready.again(plan)
    if again is not None:
        return again
    resolved = resolve(plan, records)
    prepared = prepare(resolved, records)
    masker, sized = with_block_size(prepared.masker, records)
    masker = replace(with_blocks(masker, records, records.block_size(masker)), known=known)
    masker = with_masked_households(masker, prepared, records, records.block_size, records.progress)
    return _Ready(plan, resolved, prepared, masker, records, sized=sized)


@dataclass(frozen=True)
class _Run:
    """One method and one k: how it was done, what it costs and risks, and the groups."""

    method: str  # as it was asked for
    k: int
    ready: _Ready
    row: dict[str, Any]
    groups: Labels

    def release(self) -> Release:
        """Mask the table with the groups that are known, verify it, and return the release."""
        ready = self.ready
        published = replace(ready.published(), determined=ready.determined[0] if ready.determined else None)
        verified = published.verify()
        ready.determined[:] = [verified.file["determined"]]
        return release_of(ready.records, ready.resolved, ready.prepared, published, verified, ready.sized)


def _runs(records: MemoryRecords, plans: dict[str, Plan], sizes: Sequence[int], progress: Progress) -> list[_Run]:
    """Mask the table by every method and k, and measure what that costs and risks."""
    every = {(name, k): plan.updated(k=max(2, k)) for name, plan in plans.items() for k in sizes}  # all mistakes first
    known = KnownPartitions([k for k in sizes if k > 1])
    runs: list[_Run] = []
    ready: _Ready | None = None
    unchanged: Labels | None = None
    for (name, k), plan in every.items():
        progress("sweep", len(runs), len(every))
        try:
            ready = _ready(ready, records, plan, known)
            _refuse_large(ready.masker.records, sizes)
            unchanged = _unchanged(ready) if unchanged is None else unchanged
            runs.append(_run(name, k, ready, unchanged))
        except DataError as error:
            fine = [run.k for run in runs if run.method == name and run.k > 1]
            if not fine or k == fine[-1]:
                raise
            smaller = Message("smaller-k-possible", first=fine[0], last=fine[-1] if fine[1:] else None)
            raise DataError(*error.messages, smaller) from None
    return runs


def _refuse_large(records: int, sizes: Sequence[int]) -> None:
    if records < sizes[-1]:
        first = sizes[0] if sizes[0] <= records else None
        k = sizes[0] if first is None else sizes[-1]
        raise DataError("k-too-large", k=k, number=records, counts="record", first=first)


def _beside_mdav(runs: Sequence[_Run]) -> list[Message]:
    """Note at which k MDAV loses less than the tour; nothing where both would be refined."""
    if runs[0].ready.asked.refine is not False:
        return []
    lower = []
    for run in runs:
        if run.k == 1:
            continue
        published = run.ready.by_mdav().published()
        loss, ours = published.losses.summary(published.sums)["IL"] or 0.0, run.row["IL"] or 0.0
        if loss < ours:
            lower.append(Message("size-and-losses", k=run.k, loss=loss, tour=ours))
    return [Message("mdav-loses-less", sizes=lower) if lower else Message("mdav-loses-no-less")]


def _asked_for(k: int | Iterable[int], method: str | Sequence[str]) -> tuple[list[int], list[str]]:
    if isinstance(k, str) or not isinstance(k, Iterable | int | np.integer):
        raise PlanError("group-sizes-unreadable", field="k")
    if not isinstance(method, str | Sequence):
        raise PlanError("methods-not-names", field="method")
    each = [k] if isinstance(k, int | np.integer) else list(k)
    sizes = [1 if size == 1 and not isinstance(size, bool) else Plan(k=size).k for size in each]
    methods = [method] if isinstance(method, str) else list(method)
    for name in methods:
        if name not in _NOT_SWEPT:
            Plan(k=2, method=name)  # says what is wrong with it
    if not sizes:
        raise PlanError("names-none", field="k", what="group size")
    if not methods:
        raise PlanError("names-none", field="method", what="method")
    if others := [name for name in methods if name in _NOT_SWEPT]:
        not_swept = partial(Message, "not-in-a-sweep", field="method")
        raise PlanError(*(not_swept(value=name, why=Message(_NOT_SWEPT[name])) for name in others))
    return sorted(dict.fromkeys(sizes)), list(dict.fromkeys(methods))


def _unchanged(ready: _Ready) -> Labels:
    """Return for each record the number of its combination of columns that are released unchanged and not sensitive."""
    table = ready.records.outline
    names = [column.name for column in unchanged_columns(ready.masker.plan, table) if column.key]
    return classes(table, names) if names else np.zeros(len(table), dtype=np.int64)


def _run(name: str, k: int, ready: _Ready, unchanged: Labels) -> _Run:
    """Mask the table for one k, and measure what that costs and risks; k = 1 changes nothing."""
    masker, everything = ready.masker, ready.records.rows(ready.masker)
    keep = everything[:, -1] >= 0
    if k == 1:
        rows = everything[keep]
        codes, groups = rows[:, : len(masker.attributes)], np.arange(len(rows))
        cost: dict[str, Any] = {"IL": 0.0, "SSE": 0.0}
    else:
        published = ready.published()
        rows, codes, groups = published.rows, published.codes, published.groups
        cost = published.losses.summary(published.sums)
    units = masker.units(rows)
    hidden = exposure(np.bincount(groups) if units is None else units_in_classes(groups, units))
    linked = _linked(masker, rows, codes)
    alike = published_classes(np.column_stack([codes, unchanged[keep]]))
    sizes = alike.size if units is None else units_in_classes(alike.labels, units)[alike.labels]
    unique = 100 * float((sizes == 1).sum()) / len(rows)
    row = {
        "method": masker.plan.method,
        "k": k,
        "groups": hidden["groups"],
        "smallest": hidden["smallest"],
        "largest": hidden["largest"],
        "IL": cost["IL"],
        "SSE": cost["SSE"],
        "linked": linked,
        "unique": unique,
        "risk": max(linked, unique),
    }
    return _Run(name, k, ready, row, groups)


def _linked(masker: BlockMasker, rows: Matrix, published: Matrix) -> float:
    """Link records to what is published of them, by the distance that masked."""
    after = rows.copy()
    after[:, : published.shape[1]] = published
    both = masker.space(np.concatenate([rows, after]))  # on one scale
    records = np.arange(len(rows))
    found: float = linkage(both.rows(records), both.rows(records + len(rows)), records=_LINKED)["expected"]
    return found

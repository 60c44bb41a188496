"""Every k in one run: what each would cost and risk, before one is chosen."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.backends.choose import open_records
from shoal.backends.memory import MemoryRecords, mask_in_memory
from shoal.errors import DataError, MissingExtra, PlanError
from shoal.evidence.limits import Limits
from shoal.kernels.standardize import Matrix
from shoal.measures import exposure
from shoal.measures.distance_linkage import masking_distance_linkage
from shoal.measures.equivalence_classes import published_classes
from shoal.parallel import Progress, Watch, quiet, side_by_side
from shoal.pipeline.classes import classes
from shoal.pipeline.loss import Losses
from shoal.pipeline.masker import BlockMasker, in_order
from shoal.pipeline.prepare import prepare, with_blocks
from shoal.pipeline.resolve import resolve
from shoal.pipeline.whole_file import unchanged_columns
from shoal.plan import Plan
from shoal.plan.asking import AnyPath, asked
from shoal.text import counted

if TYPE_CHECKING:
    from altair import LayerChart

Labels = NDArray[np.int64]

_LINKED = 2_000  # records that are linked to their masked selves: of more, a sample, the same for every k
COLUMNS = ("method", "k", "groups", "smallest", "largest", "IL", "SSE", "linked", "unique", "risk")


@dataclass(frozen=True)
class Sweep:
    """What every k would cost and risk.

    Attributes
    ----------
    rows : list of dict
        For every method and k: ``groups``, the sizes of the ``smallest`` and the ``largest``, the loss (``IL``, in
        percent, and ``SSE``), and measured risks in percent. ``linked`` are the records (of at most 2,000) that an
        intruder links rightly who knows all quasi-identifiers as they were, by the distance that masked. ``unique``
        are the records that no other equals in all published columns but the sensitive ones. ``risk`` is the higher of
        the two.
    limits : Limits
        What the choice must meet.
    """

    plan: Plan
    rows: list[dict[str, Any]]
    limits: Limits = field(default_factory=Limits)

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
    def verdict(self) -> str:
        """Which k meets the limits, in words."""
        return self.limits.verdict(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the rows, the limits, and the row that meets them or is nearest, ready for JSON."""
        near = self.nearest
        missed = None if near is None else self.limits.missed(near)
        limits = asdict(self.limits)
        return {"rows": self.rows, "limits": limits, "chosen": self.chosen, "nearest": near, "missed": missed}

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

    def report(self, path: AnyPath, overwrite: bool = False) -> None:
        """Write the risk-utility map as one HTML file that needs nothing else."""
        from shoal.report import sweep_report, write_report
        from shoal.report.pages import refuse_report

        refuse_report(Path(path), overwrite)
        write_report(sweep_report(self), path, overwrite)

    def plot_map(self, risk: str = "risk") -> "LayerChart":
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
    """Measure what every k would cost and risk, in one run.

    Parameters
    ----------
    table : dataframe or path, optional
        As for `shoal.protect`.
    k : int or iterable of int
        The group sizes to compare.
    method : str or list of str
        One or several methods; ``auto`` is what `shoal.protect` takes. ``mdav`` is quicker, and never loses less. With
        ``tour`` all k share one tour, and take little more than one.
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
        A row for every method and k. With limits, `Sweep.chosen` meets them with the least loss; if no row does,
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
        raise PlanError([("min_k", f"is above every k that is compared. Use -k {sizes[0]}-{limits.min_k} or more.")])
    if wrong := sorted({"k", "method"} & options.keys()):
        raise PlanError([(name, "is given twice") for name in wrong])
    # a budget is for those that search
    searching = next((name for name in methods if name in ("best", "auto")), methods[0])
    every = asked(table, plan, {**options, "k": sizes[0], "method": searching})
    if every.bound:
        raise PlanError([("bound", "does not apply to a sweep; ask for it when k is chosen")])
    if every.epsilon is not None:
        raise PlanError([("epsilon", "does not apply to a sweep: every release that is compared takes one")])
    plans = {
        name: every if name == searching else every.updated(method=name, **_without_budget(every, name))
        for name in methods
    }
    rows: list[dict[str, Any]] = []
    first = plans[methods[0]]
    with open_records(table, first.updated(engine="memory"), progress) as records:
        ready: _Ready | None = None
        unchanged: Labels | None = None
        for name in methods:
            cuts: dict[int, Labels] = {}
            for size in sizes:
                progress("sweep", len(rows), len(sizes) * len(methods))
                ready = _ready(ready, records, plans[name].updated(k=size))
                if ready.masker.records < sizes[-1]:
                    few = counted(ready.masker.records, "record")
                    raise DataError(f"k = {sizes[-1]} asks for groups larger than the table, which has {few}")
                if size == sizes[0] and name == "tour":
                    cuts = _cuts(ready, sizes, progress)
                unchanged = _unchanged(ready) if unchanged is None else unchanged
                rows.append(_row(ready, cuts.get(size), unchanged))
    return Sweep(first if ready is None else ready.asked, rows, limits)


@dataclass(frozen=True)
class _Ready:
    """A table that is ready to be masked, and its rows."""

    asked: Plan
    masker: BlockMasker
    records: MemoryRecords

    @property
    def rows(self) -> Matrix:
        """The records that are published, as rows of numbers."""
        rows = self.records.rows(self.masker)
        return rows[rows[:, -1] >= 0]


def _ready(ready: _Ready | None, records: Any, plan: Plan) -> _Ready:
    """Make a table ready for a k and a method; where these decide nothing else, it is so already."""
    if ready is not None and plan.method == ready.asked.method and plan.strata is None and plan.edits is None:
        masker = replace(ready.masker, plan=ready.masker.plan.decided(k=plan.k))
        return _Ready(plan, masker, records)
    masker = prepare(resolve(plan, records), records).masker
    return _Ready(plan, with_blocks(masker, records, records.block_size(masker)), records)


def _without_budget(plan: Plan, method: str) -> dict[str, Any]:
    return {"budget": None} if plan.refine is False and method not in ("best", "auto") else {}


def _asked_for(k: int | Iterable[int], method: str | Sequence[str]) -> tuple[list[int], list[str]]:
    if isinstance(k, str) or not isinstance(k, Iterable | int | np.integer):
        raise PlanError([("k", "must be a group size, or several")])
    if not isinstance(method, str | Sequence):
        raise PlanError([("method", "must be the name of a method, or several")])
    sizes = [int(k)] if isinstance(k, int | np.integer) else [Plan(k=size).k for size in k]
    methods = [method] if isinstance(method, str) else list(method)
    for name in methods:
        if name not in ("hybrid", "ms", "insensitive"):
            Plan(k=2, method=name)  # says what is wrong with it
    if not sizes:
        raise PlanError([("k", "names no group size")])
    if not methods:
        raise PlanError([("method", "names no method")])
    if "insensitive" in methods:
        raise PlanError([("method", "'insensitive' cannot be swept: every release that is compared takes an epsilon")])
    if barred := [name for name in methods if name in ("mic1d", "hybrid", "ms")]:
        raise PlanError([("method", f"'{barred[0]}' forms no groups whose size could be compared")])
    return sorted(dict.fromkeys(sizes)), list(dict.fromkeys(methods))


def _cuts(ready: _Ready, sizes: Sequence[int], progress: Progress) -> dict[int, Labels]:
    """Cut one tour for every k, where there is one part of records and one block of attributes."""
    from shoal.partitioning.tours import sweep_cuts

    plan, rows = ready.masker.plan, ready.rows
    alone = len(ready.masker.homes(rows)) == 1 and len(ready.masker.homes(rows)[0]) == 1 and plan.scale is None
    space = ready.masker.space(rows)
    if not alone or not space.plain or plan.refine is not False or plan.l is not None or plan.t is not None:
        return {}
    order = in_order(rows)

    def cuts(*, watch: Watch) -> dict[int, Labels]:
        return sweep_cuts(np.ascontiguousarray(space.values[order]), sizes, watch=watch)

    found = side_by_side([cuts], len(rows), progress)[0]
    back = np.argsort(order)
    return {size: labels[back] for size, labels in found.items()}


def _unchanged(ready: _Ready) -> Labels:
    """Return for each record the number of its combination of columns that are released unchanged and not sensitive."""
    table = ready.records.outline
    names = [column.name for column in unchanged_columns(ready.masker.plan, table) if column.key]
    return classes(table, names) if names else np.zeros(len(table), dtype=np.int64)


def _row(ready: _Ready, labels: Labels | None, unchanged: Labels) -> dict[str, Any]:
    """Measure what these groups would cost and risk."""
    masker, everything = ready.masker, ready.records.rows(ready.masker)
    keep = everything[:, -1] >= 0
    rows = everything[keep]
    if labels is None:
        masked = mask_in_memory(ready.records, masker)
        published, partitions = masked.published, masked.partitions
    else:
        published, partitions = masker.publish(rows, labels[:, None])[0], [labels]
    together = np.unique(np.stack(partitions, axis=1), axis=0, return_inverse=True)[1]
    hidden = exposure(np.bincount(together.ravel()))
    published = masker.as_read(masker.decode(published, {}))  # whole numbers stay whole
    losses = Losses(masker.changed, masker.scales)
    cost = losses.summary(losses.measure(rows[:, : len(masker.attributes)], published, masker.weights(rows)))
    linked = _linked(masker, rows, published)
    alike = published_classes(np.column_stack([published, unchanged[keep]])).size
    unique = 100 * float((alike == 1).sum()) / len(rows)
    return {
        "method": masker.plan.method,
        "k": masker.plan.k,
        "groups": hidden["groups"],
        "smallest": hidden["smallest"],
        "largest": hidden["largest"],
        "IL": cost["IL"],
        "SSE": cost["SSE"],
        "linked": linked,
        "unique": unique,
        "risk": max(linked, unique),
    }


def _linked(masker: BlockMasker, rows: Matrix, published: Matrix) -> float:
    """Link records to what is published of them, by the distance that masked."""
    after = rows.copy()
    after[:, : published.shape[1]] = published
    both = masker.space(np.concatenate([rows, after]))  # on one scale
    records = np.arange(len(rows))
    return masking_distance_linkage(both.rows(records), both.rows(records + len(rows)), records=_LINKED)

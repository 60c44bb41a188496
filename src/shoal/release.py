"""protect(): a table and a plan become a release. The pipeline, readable top to bottom."""

import inspect
import os
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import measures
from shoal.aggregation import aggregate, restore_variance
from shoal.errors import DataError, FileError, PlanError
from shoal.partitioning import choose, partitioner
from shoal.plan import Plan
from shoal.roles import numeric_attributes, refuse_unknown
from shoal.scaling import Matrix, standardize
from shoal.strata import Strata, stratify
from shoal.tables import Table, dialect_for, kind_of, open_table, write_table
from shoal.tables.arrow import Array
from shoal.tables.atomic import refuse_unwritable, written_whole
from shoal.tables.decode import decode
from shoal.verify import Promise, exposure, verify
from shoal.work import Progress, Task, side_by_side

Labels = NDArray[np.int64]
AnyPath = str | os.PathLike[str]


def _quiet(step: str, done: int, total: int) -> None:
    """Show nothing."""


def protect(
    table: Any = None, plan: Plan | AnyPath | None = None, *, progress: Progress = _quiet, **options: Any
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
    **options
        The fields of `Plan`: ``k``, ``quasi``, ``confidential``, ``identifiers``, ``method``, ``aggregate``, ...

    Returns
    -------
    Release
        The protected table, verified, with the evidence of what it costs and what it risks.

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
    if isinstance(table, str | os.PathLike):
        table, options["input"] = None, table
    plan = _asked(plan, options)
    progress("read", 0, 1)
    source = _opened(plan.input if table is None else table, plan)
    plan = _settled(plan, source)
    strata = stratify(source, source.matrix(_quasi(plan)), plan)
    original = source if strata.keep.all() else source.publish({}, keep=strata.keep)
    X = original.matrix(_quasi(plan))
    partitions = _partitions(X, strata, plan, progress)
    masked = _masked(X, partitions, plan)
    columns = {name: _decoded(masked[:, j], original, name, plan) for j, name in enumerate(_quasi(plan))}
    progress("verify", 0, 1)
    published = original.publish(columns, drop=plan.identifiers)
    verify(published, original, _promise(plan, columns))
    notes = [*_notes(plan, original, columns), *strata.notes]
    return Release(plan, original, published, partitions, len(source) - len(original), notes)


def _asked(plan: Plan | AnyPath | None, options: dict[str, Any]) -> Plan:
    if plan is None:
        return Plan(**options)
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    return plan.updated(**options) if options else plan


def _opened(source: Any, plan: Plan) -> Table:
    if source is None:
        raise PlanError([("input", "is missing; give a table or name a file")])
    table = open_table(source, plan.csv)
    if len(table) == 0:
        raise DataError("the table holds no records")
    if plan.k > len(table):
        raise DataError(f"k = {plan.k} asks for groups larger than the table, which has {_count(len(table), 'record')}")
    return table


def _settled(plan: Plan, table: Table) -> Plan:
    """Fill in what the plan leaves to the table: which attributes are masked, and by which method."""
    refuse_unknown(table, _named(plan))
    taken = {*plan.confidential, *plan.identifiers, *(plan.strata or [])}
    quasi = plan.quasi or [name for block in plan.blocks or [] for name in block] or numeric_attributes(table, taken)
    largest = max(len(block) for block in plan.blocks or [quasi])
    if plan.method == "univariate" and largest > 1:
        raise PlanError([("method", "'univariate' takes one attribute; give each a block of its own with blocks")])
    if plan.round and not any(pa.types.is_integer(table.column(name).type) for name in quasi):
        raise PlanError([("round", "does not apply: no quasi-identifier is of an integer type")])
    return plan.updated(quasi=quasi, method=choose(plan.method, largest))


def _named(plan: Plan) -> list[tuple[str, list[str]]]:
    blocks = [name for block in plan.blocks or [] for name in block] if plan.quasi is None else []
    roles = ("quasi", "confidential", "identifiers", "strata")
    return [*((role, getattr(plan, role) or []) for role in roles), ("blocks", blocks)]


def _quasi(plan: Plan) -> list[str]:
    return plan.quasi or []


def _blocks(plan: Plan) -> list[list[str]]:
    return plan.blocks or [_quasi(plan)]


def _partitions(X: Matrix, strata: Strata, plan: Plan, progress: Progress) -> list[Labels]:
    """Partition every attribute block within every stratum; labels count on from one stratum to the next."""
    Z = standardize(X, plan.standardize)
    search = partitioner(plan.method, plan.gain)
    pieces = [np.ascontiguousarray(Z[rows][:, _places(plan, block)]) for block in _blocks(plan) for rows in strata.rows]
    tasks: list[Task[Labels]] = [partial(search, piece, plan.k) for piece in pieces]
    results = iter(side_by_side(tasks, len(X) * len(_blocks(plan)), progress))
    partitions = []
    for _ in _blocks(plan):
        labels = np.empty(len(X), dtype=np.int64)
        groups = 0
        for rows in strata.rows:
            labels[rows] = next(results) + groups
            groups = int(labels[rows].max()) + 1
        partitions.append(labels)
    return partitions


def _masked(X: Matrix, partitions: list[Labels], plan: Plan) -> Matrix:
    masked = np.empty_like(X)
    for block, labels in zip(_blocks(plan), partitions, strict=True):
        columns = _places(plan, block)
        masked[:, columns] = aggregate(X[:, columns], labels, plan.aggregate, plan.trimmed)
    if plan.restore_variance:
        for j, name in enumerate(_quasi(plan)):
            masked[:, j] = _restored(masked[:, j], X[:, j], name)
    return masked


def _places(plan: Plan, block: list[str]) -> list[int]:
    """Which columns of the matrix of quasi-identifiers a block has."""
    return [_quasi(plan).index(name) for name in block]


def _restored(masked: NDArray[np.float64], original: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    if masked.min() == masked.max() and original.min() != original.max():
        raise DataError(f"the variance of '{name}' cannot be restored: all records publish the same value")
    return restore_variance(masked, original)


def _decoded(values: NDArray[np.float64], original: Table, name: str, plan: Plan) -> Array:
    kind = original.column(name).type
    return decode(np.rint(values) if plan.round and pa.types.is_integer(kind) else values, kind)


def _promise(plan: Plan, columns: dict[str, Array]) -> Promise:
    return Promise(
        k=plan.k,
        blocks=_blocks(plan),
        masked={name: column.type for name, column in columns.items()},
        identifiers=plan.identifiers,
        inside=not plan.restore_variance,
    )


def _notes(plan: Plan, original: Table, columns: dict[str, Array]) -> list[str]:
    """Say what a user might not expect, or must know before publishing."""
    notes = [_preserved(plan)]
    changed = [name for name in columns if columns[name].type != original.column(name).type]
    if changed:
        notes.append(f"now of type {pa.float64()}, their representatives not being whole: {', '.join(changed)}")
        if any(pa.types.is_integer(original.column(name).type) for name in changed):
            notes[-1] += " (round = true keeps integers)"
    roles = {*_quasi(plan), *plan.confidential, *plan.identifiers, *(plan.strata or [])}
    if others := [name for name in original.names if name not in roles]:
        notes.append(f"published as they are, having no role: {', '.join(others)}")
    if original.has_index:
        notes.append(
            "the table's index was kept; if it names anybody, drop it before you publish (files never hold it)"
        )
    if "seed" in plan.model_fields_set:
        notes.append(f"the seed was not used: {plan.method} draws no random numbers")
    return notes


def _preserved(plan: Plan) -> str:
    about = " up to rounding" if plan.round else ""
    if plan.restore_variance:
        return f"preserved{about}: the mean and the variance of every masked attribute"
    if plan.aggregate == "mean":
        return f"preserved{about}: the mean of every masked attribute, in the file and in each group"
    return f"preserved: no moment exactly; groups publish their {plan.aggregate.replace('_', ' ')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


@dataclass(frozen=True)
class Release:
    """A protected table with the evidence that it is what it claims to be.

    Attributes
    ----------
    plan : Plan
        What was done: the plan that was asked for, with the choices it left open filled in.
    partitions : list of (n,) arrays
        For each attribute block, the group of each published record.
    suppressed : int
        How many records were left out.
    notes : list of str
        What a user might not expect, and what the release preserves.
    """

    plan: Plan
    _original: Table = field(repr=False)
    _published: Table = field(repr=False)
    partitions: list[Labels] = field(repr=False)
    suppressed: int
    notes: list[str] = field(repr=False)

    @property
    def table(self) -> Any:
        """The protected table: the same kind of dataframe as came in, with its rows and columns in their order."""
        return self._published.native

    @property
    def groups(self) -> Labels:
        """One label a published record; with several attribute blocks, records alike in all of them share one."""
        if len(self.partitions) == 1:
            return self.partitions[0]
        groups: Labels = np.unique(np.stack(self.partitions, axis=1), axis=0, return_inverse=True)[1]
        return groups

    def loss(self) -> dict[str, Any]:
        """Measure what the release costs its users: see `shoal.measures.loss`."""
        names = _quasi(self.plan)
        return measures.loss(self._original.matrix(names), self._published.matrix(names), names)

    def risk(self) -> dict[str, Any]:
        """Measure what an intruder who knows quasi-identifiers gains, before and after masking.

        ``before`` and ``after`` describe all quasi-identifiers together (see `shoal.measures.exposure`); ``blocks``
        and ``strata`` are there when the plan has them: each block by itself, and all with the strata added.
        """
        names = _quasi(self.plan)
        risk: dict[str, Any] = {
            "before": exposure(self._original, names),
            "after": exposure(self._published, names),
        }
        if self.plan.blocks:
            risk["blocks"] = [{"attributes": block, **exposure(self._published, block)} for block in self.plan.blocks]
        if self.plan.strata:
            risk["strata"] = exposure(self._published, [*names, *self.plan.strata])
        return risk

    def summary(self) -> dict[str, Any]:
        """Everything worth knowing about the release, ready for JSON; no value of a single record is in it."""
        return {
            "records": len(self._published),
            "suppressed": self.suppressed,
            "plan": self.plan.model_dump(exclude_none=True),
            "loss": self.loss(),
            "risk": self.risk(),
            "notes": self.notes,
        }

    def save(self, path: AnyPath, overwrite: bool = False) -> None:
        """Write the protected table, and beside it the plan that gives the same bytes again.

        What was written is read back and verified before it gets its final name; a file under that name is complete
        or does not exist. The kind of file follows from the name; the plan is called like it, ending in .plan.toml.
        """
        path = Path(path)
        plan_path = plan_beside(path)
        kind = kind_of(path)
        refuse_output(self.plan.input, path, overwrite)
        with written_whole(path, overwrite) as partial_path:
            dialect = dialect_for(path, self._published.dialect)
            write_table(replace(self._published, dialect=dialect), partial_path, kind)
            written = open_table(partial_path, dialect.as_csv() if kind == "csv" else None)
            verify(written, self._original, self._promise_of(kind))
            with written_whole(plan_path, overwrite) as partial_plan:
                text = self.plan.updated(output=os.fspath(path)).to_toml(path.parent)
                partial_plan.write_text(text, encoding="utf-8")

    def _promise_of(self, kind: str) -> Promise:
        columns = {name: self._published.column(name) for name in _quasi(self.plan)}
        if kind == "csv":  # knows whole numbers and others, but not their width
            wide = {True: pa.int64(), False: pa.float64()}
            columns = {name: column.cast(wide[pa.types.is_integer(column.type)]) for name, column in columns.items()}
        return _promise(self.plan, columns)


def plan_beside(path: Path) -> Path:
    """Name the plan file of a release: masked.csv has masked.plan.toml."""
    return path.with_name(f"{path.stem}.plan.toml")


def refuse_output(source: str | None, path: Path, overwrite: bool) -> None:
    """Say what stands in the way of writing a release to `path`, before any work is done."""
    kind_of(path)
    if source is not None and path.exists() and Path(source).exists() and path.samefile(source):
        raise FileError(f"'{path}' is the file that is being protected; write the release to another")
    refuse_unwritable(path, overwrite)
    refuse_unwritable(plan_beside(path), overwrite)


# `help(protect)` and a notebook's tooltip show the plan's fields as the keywords that they are.
_own = [p for p in inspect.signature(protect).parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
protect.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [*_own, *(p for p in inspect.signature(Plan).parameters.values())], return_annotation=Release
)

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
from shoal.aggregation import Rescaling, aggregate, restore_variance
from shoal.errors import DataError, FileError, PlanError
from shoal.partitioning import choose, partitioner
from shoal.plan import ONE_ATTRIBUTE, Plan
from shoal.roles import numeric_attributes, refuse_unknown
from shoal.scaling import Matrix, standardize
from shoal.strata import Strata, stratify
from shoal.tables import Table, dialect_for, kind_of, open_table, write_table
from shoal.tables.arrow import Array
from shoal.tables.atomic import refuse_unwritable, written_whole
from shoal.tables.decode import decode
from shoal.verify import Promise, exposure, verify
from shoal.words import counted
from shoal.work import Progress, Task, quiet, side_by_side

_BLOCK_SIZE = 3  # attributes in a chosen block, as in the experiments of Nin, Herranz & Torra

Labels = NDArray[np.int64]
AnyPath = str | os.PathLike[str]


def protect(
    table: Any = None, plan: Plan | AnyPath | None = None, *, progress: Progress = quiet, **options: Any
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
    plan = _asked(table, plan, options)
    progress("read", 0, 1)
    source = _opened(plan.input if plan.input is not None else table, plan)
    plan = _settled(plan, source)
    strata = stratify(source, source.matrix(plan.masked), plan)
    original = source if strata.keep.all() else source.publish({}, keep=strata.keep)
    X = original.matrix(plan.masked)
    masked, partitions, rescaled = _masked(X, strata, plan, progress)
    columns = {name: _decoded(masked[:, j], original, name, plan) for j, name in enumerate(plan.masked)}
    published = original.publish(columns, drop=plan.identifiers)
    promise = Promise(
        k=plan.k,
        blocks=plan.in_blocks if partitions else [],
        strata=[] if strata.mixed else plan.strata or [],
        masked={name: column.type for name, column in columns.items()},
        identifiers=plan.identifiers,
        rescaled=rescaled,
    )
    progress("verify", 0, 1)
    verify(published, original, promise)
    notes = [*_notes(plan, original, columns), *strata.notes, *_unchanged(plan, masked, X)]
    return Release(plan, source, original, published, partitions, promise, notes)


def _asked(table: Any, plan: Plan | AnyPath | None, options: dict[str, Any]) -> Plan:
    """Put together what was asked for; afterwards `input` is the absolute path of the table, or None."""
    if isinstance(plan, str | os.PathLike):
        plan = Plan.load(plan)
    if not isinstance(plan, Plan | None):
        raise PlanError([("plan", "must be a Plan or the path of a plan file; options are given by name, as k=3")])
    if isinstance(table, str | os.PathLike):
        options = {**options, "input": table}
    elif table is not None and plan is not None and plan.input is not None:
        plan = plan.updated(input=None, csv=None)  # they describe another table
    plan = Plan(**options) if plan is None else plan.updated(**options)
    return plan if plan.input is None else plan.updated(input=os.path.abspath(plan.input))  # noqa: PTH100 - keeps links


def _opened(source: Any, plan: Plan) -> Table:
    if source is None:
        raise PlanError([("input", "is missing; give a table or name a file")])
    table = open_table(source, plan.csv)
    if plan.method != "mic1d" and plan.k > len(table):
        raise DataError(
            f"k = {plan.k} asks for groups larger than the table, which has {counted(len(table), 'record')}"
        )
    return table


def _settled(plan: Plan, table: Table) -> Plan:
    """Fill in what the plan leaves to the table: which attributes are masked, and by which method."""
    others = {role: getattr(plan, role) or [] for role in ("confidential", "identifiers", "strata")}
    refuse_unknown(table, {"quasi": plan.masked, **others})
    quasi = plan.masked or numeric_attributes(table, {name for names in others.values() for name in names})
    if plan.method == "mic1d" and plan.k > len(table) * len(quasi):
        raise DataError(
            f"k = {plan.k} asks for parts larger than the table, which has {len(table) * len(quasi)} values"
        )
    blocks = plan.blocks if not isinstance(plan.blocks, str) else _chosen_blocks(table.matrix(quasi), quasi, plan)
    widest = max(len(block) for block in blocks or [quasi])
    if plan.method == "univariate" and widest > 1:
        raise PlanError([("method", ONE_ATTRIBUTE)])
    if plan.round and not any(pa.types.is_integer(table.column(name).type) for name in quasi):
        raise PlanError([("round", "does not apply: no quasi-identifier is of an integer type")])
    return plan.updated(quasi=quasi, method=choose(plan.method, widest), blocks=blocks, block_size=None)


def _chosen_blocks(X: Matrix, quasi: list[str], plan: Plan) -> list[list[str]] | None:
    from shoal.partitioning.attribute_blocks import choose_blocks

    size = plan.block_size or min(_BLOCK_SIZE, len(quasi))
    if size > len(quasi):
        raise PlanError([("block_size", f"is more than the {counted(len(quasi), 'attribute')} to mask")])
    blocks = [[quasi[j] for j in block] for block in choose_blocks(X, size, str(plan.blocks))]
    return blocks if len(blocks) > 1 else None  # one block of all is no blocks


def _masked(
    X: Matrix, strata: Strata, plan: Plan, progress: Progress
) -> tuple[Matrix, list[Labels], dict[str, Rescaling]]:
    """Return what is published, the groups it comes from (none for mic1d), and how variances were restored."""
    if plan.method == "mic1d":
        from shoal.masking import mic1d

        return mic1d(X, plan.k), [], {}
    partitions = _partitions(X, strata, plan, progress)
    masked, rescaled = _restored(_aggregated(X, partitions, plan), X, plan)
    return masked, partitions, rescaled


def _partitions(X: Matrix, strata: Strata, plan: Plan, progress: Progress) -> list[Labels]:
    """Partition every attribute block within every stratum; labels count on from one stratum to the next."""
    Z = standardize(X, plan.standardize)
    search = partitioner(plan.method, plan.gain)
    pieces = [
        np.ascontiguousarray(Z[rows][:, _places(plan, block)]) for block in plan.in_blocks for rows in strata.rows
    ]
    tasks: list[Task[Labels]] = [partial(search, piece, plan.k) for piece in pieces]
    results = iter(side_by_side(tasks, len(X) * len(plan.in_blocks), progress))
    partitions = []
    for _ in plan.in_blocks:
        labels = np.empty(len(X), dtype=np.int64)
        groups = 0
        for rows in strata.rows:
            labels[rows] = next(results) + groups
            groups = int(labels[rows].max()) + 1
        partitions.append(labels)
    return partitions


def _places(plan: Plan, block: list[str]) -> list[int]:
    """Which columns of the matrix of quasi-identifiers a block has."""
    return [plan.masked.index(name) for name in block]


def _aggregated(X: Matrix, partitions: list[Labels], plan: Plan) -> Matrix:
    masked = np.empty_like(X)
    for block, labels in zip(plan.in_blocks, partitions, strict=True):
        columns = _places(plan, block)
        masked[:, columns] = aggregate(X[:, columns], labels, plan.aggregate, plan.trimmed)
    return masked


def _restored(masked: Matrix, X: Matrix, plan: Plan) -> tuple[Matrix, dict[str, Rescaling]]:
    if not plan.restore_variance:
        return masked, {}
    rescaled = {}
    for j, name in enumerate(plan.masked):
        if masked[:, j].min() == masked[:, j].max() and X[:, j].min() != X[:, j].max():
            raise DataError(f"the variance of '{name}' cannot be restored: all records publish the same value")
        rescaled[name] = restore_variance(masked[:, j], X[:, j])
        masked[:, j] = rescaled[name].apply(masked[:, j])
    return masked, rescaled


def _decoded(values: NDArray[np.float64], original: Table, name: str, plan: Plan) -> Array:
    kind = original.column(name).type
    return decode(np.rint(values) if plan.round and pa.types.is_integer(kind) else values, kind)


def _notes(plan: Plan, original: Table, columns: dict[str, Array]) -> list[str]:
    """Say what a user might not expect, or must know before publishing."""
    notes = [_preserved(plan)]
    changed: dict[str, list[str]] = {}
    for name, column in columns.items():
        if column.type != original.column(name).type:
            whole = pa.types.is_integer(original.column(name).type) and not plan.round
            hint = ", values not being whole (round = true keeps integers)" if whole else ""
            changed.setdefault(f"now of type {column.type}{hint}", []).append(name)
    notes += [f"{what}: {', '.join(names)}" for what, names in changed.items()]
    roles = {*plan.masked, *plan.confidential, *plan.identifiers, *(plan.strata or [])}
    if others := [name for name in original.names if name not in roles]:
        notes.append(f"published as they are, having no role: {', '.join(others)}")
    if original.has_index:
        notes.append(
            "the table's index was kept; if it names anybody, drop it before you publish (files never hold it)"
        )
    if plan.seed != 0:
        notes.append(f"the seed was not used: {plan.method} draws no random numbers")
    return notes


def _unchanged(plan: Plan, masked: Matrix, X: Matrix) -> list[str]:
    """Count what mic1d publishes as it was: the least and largest values of its parts may return to themselves."""
    if plan.method != "mic1d":
        return []
    same = np.isclose(masked, X, rtol=1e-12, atol=0)
    percent = 100 * float(same.mean())
    if percent > 50:
        raise DataError(f"mic1d with k = {plan.k} leaves {percent:.0f} % of the values as they are; take a larger k")
    whole = counted(int(same.all(axis=1).sum()), "record")
    return [f"mic1d published {percent:.1f} % of the values as they are, and {whole} wholly so"]


def _preserved(plan: Plan) -> str:
    if plan.method == "mic1d":
        return (
            "mic1d guarantees no group of k records: how many share a combination is in the risk, and may be one; "
            "no moment is preserved exactly"
        )
    about = " up to rounding" if plan.round else ""
    if plan.restore_variance:
        return f"preserved{about}: the mean and the variance of every masked attribute"
    if plan.aggregate == "mean":
        return f"preserved{about}: the mean of every masked attribute, in the file and in each group"
    return f"preserved: no moment exactly; groups publish their {plan.aggregate.replace('_', ' ')}"


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
    """

    plan: Plan
    _source: Table = field(repr=False)
    _original: Table = field(repr=False)  # the records of the source that are published
    _published: Table = field(repr=False)
    partitions: list[Labels] = field(repr=False)
    _promise: Promise = field(repr=False)
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
        """Measure what the release costs its users: see `shoal.measures.loss`."""
        names = self.plan.masked
        return measures.loss(self._original.matrix(names), self._published.matrix(names), names)

    def risk(self) -> dict[str, Any]:
        """Measure what an intruder who knows quasi-identifiers gains, before and after masking.

        ``before`` and ``after`` describe all quasi-identifiers together (see `shoal.measures.exposure`); ``blocks``
        and ``strata`` are there when the plan has them: each block by itself, and all with the strata added.
        """
        names = self.plan.masked
        risk: dict[str, Any] = {"before": exposure(self._source, names), "after": exposure(self._published, names)}
        if self.plan.given_blocks:
            blocks = self.plan.given_blocks
            risk["blocks"] = [{"attributes": block, **exposure(self._published, block)} for block in blocks]
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

    def save(self, path: AnyPath | None = None, overwrite: bool = False) -> None:
        """Write the protected table, and beside it the plan that gives the same bytes again.

        What was written is read back and verified before it gets its final name; a file under that name is complete
        or does not exist.

        Parameters
        ----------
        path : path, optional
            The file; its ending says of which kind. The plan's ``output`` if left out. The plan itself is written
            under the same name with .plan.toml added.
        overwrite : bool
            Whether files that exist already are replaced.
        """
        path = path if path is not None else self.plan.output
        if path is None:
            raise PlanError([("output", "is missing; name the file to write")])
        path = Path(path)
        kind = kind_of(path)
        refuse_output(self.plan.input, path, overwrite)
        with written_whole(path, overwrite) as partial_path:
            dialect = dialect_for(path, self._published.dialect)
            write_table(replace(self._published, dialect=dialect), partial_path, kind)
            written = open_table(partial_path, dialect.as_csv() if kind == "csv" else None)
            verify(written, self._original, self._promise_as(kind))
            with written_whole(plan_beside(path), overwrite) as partial_plan:
                text = self.plan.updated(output=os.fspath(path)).to_toml(path.parent)
                partial_plan.write_text(text, encoding="utf-8")

    def _promise_as(self, kind: str) -> Promise:
        """Say what the release claims when it is read from a file: CSV tells whole numbers from others, no more."""
        if kind != "csv":
            return self._promise
        masked = {
            name: pa.int64() if pa.types.is_integer(type_) else pa.float64()
            for name, type_ in self._promise.masked.items()
        }
        return replace(self._promise, masked=masked)


def plan_beside(path: Path) -> Path:
    """Name the plan file of a release: masked.csv has masked.csv.plan.toml."""
    return path.with_name(f"{path.name}.plan.toml")


def refuse_output(source: str | None, path: Path, overwrite: bool) -> None:
    """Say what stands in the way of writing a release to `path`, before any work is done."""
    kind_of(path)
    refuse_unwritable(plan_beside(path), overwrite)
    if source is not None and path.exists() and Path(source).exists() and path.samefile(source):
        raise FileError(f"'{path}' is the file that is being protected; write the release to another")
    refuse_unwritable(path, overwrite)


# `help(protect)` and a notebook's tooltip show the plan's fields as the keywords that they are.
_own = [p for p in inspect.signature(protect).parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
protect.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [*_own, *(p for p in inspect.signature(Plan).parameters.values())], return_annotation=Release
)

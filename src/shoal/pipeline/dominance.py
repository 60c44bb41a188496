"""Dominance in the pipeline: which attributes are magnitudes, what no group can satisfy, re-forming, verification."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, PlanError
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.standardize import Matrix
from shoal.messages import Message
from shoal.partitioning.dominance import SLACK, Cells, Magnitudes, Rules, dominated
from shoal.pipeline.counting import Database
from shoal.pipeline.records import Records
from shoal.pipeline.summary import Flaw, Summary, flaw
from shoal.plan import Plan
from shoal.plan.aggregates import aggregate_of
from shoal.plan.resolved import ResolvedPlan
from shoal.tables import Table
from shoal.tables.attributes import without_declared
from shoal.tables.numbers import to_floats

if TYPE_CHECKING:
    from shoal.pipeline.masker import BlockMasker
    from shoal.pipeline.verify import Promise

Labels = NDArray[np.int64]
_ROUNDING = 1e-9  # of a total, by which sums of a database may differ


def dominance_rules(plan: Plan) -> Rules | None:
    """Return the rules of dominance that a plan asks for; None if there are none."""
    if plan.p_percent is None and plan.dominance is None:
        return None
    n, share = (1, None) if plan.dominance is None else (int(plan.dominance[0]), plan.dominance[1])
    return Rules(plan.p_percent, n, share)


# Resolving


def with_magnitudes(plan: ResolvedPlan) -> ResolvedPlan:
    """Fill in which attributes are magnitudes: all that are continuous, unless some are named."""
    if dominance_rules(plan) is None:
        return plan
    numbers = [name for name in plan.masked if plan.types[name] == "continuous"]
    named = numbers if plan.magnitudes is None else plan.magnitudes
    problems = [
        Message("not-masked", field="magnitudes", column=name)
        if name not in plan.masked
        else Message("magnitude-not-continuous", field="magnitudes", column=name, type=plan.types[name])
        for name in named
        if name not in numbers
    ]
    field = "p_percent" if plan.p_percent is not None else "dominance"
    if not named:
        problems.append(Message("no-number-masked", field=field, totals=True))
    for name in named:
        if name in numbers and aggregate_of(name, plan) != "mean":
            problems.append(Message("needs-the-mean", field=field, column=name))
    if problems:
        raise PlanError(*problems)
    return plan.decided(magnitudes=named)


def refuse_negative(plan: ResolvedPlan, records: Records, summary: Summary) -> None:
    """Refuse magnitudes that are negative: they have no largest contributors."""
    problems = []
    for name in plan.magnitudes or []:
        if (summary.columns[name].low or 0) < 0:
            look = partial(_negative, name=name, decimal=records.outline.decimal)
            found = records.fold(look, [name], "scan")
            problems.append(negative_magnitude(name, found.first, found.count))
    if problems:
        raise DataError(*problems)


def negative_magnitude(name: str, first: int | None, count: int = 1) -> Message:
    """Explain that an attribute is negative in some records, which no rule of dominance is about."""
    return Message("negative-magnitude", column=name, records=count, first=first)


def _negative(piece: pa.Table, start: int | None, name: str, decimal: str) -> Flaw:
    return flaw(to_floats(without_declared(Table(piece), name), name, decimal) < 0, start)


# Masking


def magnitudes_of(masker: "BlockMasker", rows: Matrix, names: Sequence[str]) -> Magnitudes:
    """Return what some records contribute to magnitudes; each is a contributor of its own if no unit is named."""
    at = [masker.plan.used.index(name) for name in names]
    return Magnitudes(rows[:, at], masker.units(rows), masker.weights(rows))


@dataclass(frozen=True)
class _Homes:
    """The largest contributions to the total of each home, whose records may share groups."""

    cells: list[Cells]
    most: int

    def __add__(self, other: "_Homes") -> "_Homes":
        return _Homes([one.plus(two, self.most) for one, two in zip(self.cells, other.cells, strict=True)], self.most)


def refuse_dominated(masker: "BlockMasker", records: Records) -> None:
    """Refuse rules that not even one group of all records satisfies, or of all in a stratum: then no groups do."""
    plan, rules = masker.plan, dominance_rules(masker.plan)
    if rules is None:
        return
    problems: dict[Message, None] = {}
    for names, homes in zip(plan.partitioned, masker.parts.homes, strict=True):
        own = [name for name in plan.magnitudes or [] if name in names]

        def look(rows: Matrix, own: Sequence[str] = own, homes: Labels = homes) -> _Homes:
            magnitudes, home = magnitudes_of(masker, rows, own), homes[rows[:, -1].astype(np.int64)]
            count = int(homes.max()) + 1
            return _Homes([Cells.of(home, magnitudes, j, count, rules.most) for j in range(len(own))], rules.most)

        found = records.fold_rows(masker, look, "measure") if own else _Homes([], rules.most)
        several = len(set(homes.tolist())) > 1
        for name, cells in zip(own, found.cells, strict=True):
            problems |= dict.fromkeys(impossible(name, cells, rules, several=several))
    if problems:
        raise DataError(*problems)


def impossible(name: str, cells: Cells, rules: Rules, *, several: bool) -> Iterator[Message]:
    """Explain which rules no groups of the records can satisfy."""
    if rules.p is not None and cells.margins(Rules(rules.p)).min(initial=0) < -SLACK:
        yield Message("p-percent-impossible", column=name, p=rules.p, part=several)
    if rules.share is not None and cells.margins(rules._replace(p=None)).min(initial=0) < -SLACK:
        yield Message("dominance-impossible", column=name, n=rules.n, share=rules.share, part=several)


def re_formed(
    masker: "BlockMasker", rows: Matrix, labels: Labels, homes: Sequence[Sequence[Labels]]
) -> tuple[Labels, int]:
    """Re-form the groups of a block that break a rule of dominance; return how many did.

    Parameters
    ----------
    masker, rows
        The records, in the order of their values.
    labels
        Their groups, a column for each attribute block.
    homes
        For each attribute block, the rows of each home.
    """
    rules, plan = dominance_rules(masker.plan), masker.plan
    if rules is None:
        return labels, 0
    from shoal.partitioning.undominated import undominated

    labels, failed, space = labels.copy(), 0, masker.space(rows)
    # Other promises hold for merged groups too, but not always for those that records have left.
    move = plan.l is None and plan.t is None and plan.missing not in ("group", "impute")
    for block, names in enumerate(plan.partitioned):
        own = [name for name in plan.magnitudes or [] if name in names]
        formed = 0
        for home in homes[block]:
            magnitudes = magnitudes_of(masker, rows[home], own)
            found = np.unique(labels[home, block], return_inverse=True)[1].astype(np.int64)
            failed += int(dominated(found, magnitudes, rules).any(axis=1).sum())
            part: EncodedMatrix = space.columns(masker.columns[block]).rows(home)
            found = undominated(part, plan.k, found, magnitudes, rules, move=move) if own else found
            _refuse_block(found, magnitudes, own, rules)
            labels[home, block] = found + formed
            formed += int(found.max()) + 1
    return labels, failed


def _refuse_block(labels: Labels, magnitudes: Magnitudes, names: Sequence[str], rules: Rules) -> None:
    """Refuse a record block that one contributor dominates as a whole."""
    for name, fails in zip(names, dominated(labels, magnitudes, rules).T, strict=True):
        if fails.any():
            raise DataError("dominated-block", column=name)


def on_dominance(plan: Plan, failed: int) -> list[Message]:
    """Count the groups that were re-formed."""
    rules = dominance_rules(plan)
    if rules is None:
        return []
    return [Message("dominated-groups-re-formed", groups=failed)]


# Verification


def dominance_in(
    database: Database, promise: "Promise", scaled: Callable[[str], tuple[str, float]]
) -> dict[str, dict[str, int]]:
    """Count the groups of each magnitude, and those that a contributor dominates: ``cells`` and ``failing``.

    `scaled` returns a factor for a number, which lets no sum of it overflow.
    """
    plan, rules = promise.plan, dominance_rules(promise.plan)
    found: dict[str, dict[str, int]] = {}
    for block in promise.blocks if rules is not None else []:
        names = [name for name in plan.magnitudes or [] if name in block]
        columns = [(f"x{promise.place(name)}", scaled(name)[0]) for name in names]
        if rules is not None and names:
            keys = ", ".join(promise.key(name) for name in [*block, *promise.strata])
            also = {"unit": plan.unit is not None, "weighted": plan.weights is not None}
            counts = _dominated_cells(database, rules, columns, keys, **also)
            found |= {name: {"cells": a, "failing": b} for name, (a, b) in zip(names, counts, strict=True)}
    return found


def _dominated_cells(
    database: Database, rules: Rules, columns: Sequence[tuple[str, str]], keys: str, *, unit: bool, weighted: bool
) -> list[tuple[int, int]]:
    """Count cells, and those that break a rule, by SQL: for each magnitude of an attribute block.

    Parameters
    ----------
    database
        Answers queries on `pairs`.
    rules
        To be kept.
    columns
        Of `pairs`: that of each magnitude's original values, and a factor that lets no sum overflow.
    keys
        The columns by which records are published alike.
    unit, weighted
        Whether `pairs` has a unit, i0, whose contributions are added up, and survey weights, w.
    """
    w = "w" if weighted else "1.0"
    x = ", ".join(
        f"coalesce({x} * {unit}, 0.0) AS c{j}, coalesce({w} * ({x} * {unit}), 0.0) AS m{j}"
        for j, (x, unit) in enumerate(columns)
    )
    names = keys.split(", ")
    own = ", ".join(f"{name} AS g{i}" for i, name in enumerate(names))
    cell = ", ".join(f"g{i}" for i in range(len(names)))
    each = f"SELECT {own}, {x}{', i0' if unit else ''} FROM pairs"  # noqa: S608 - no outside text
    if unit:
        added = ", ".join(f"sum(c{j}) AS c{j}, sum(m{j}) AS m{j}" for j in range(len(columns)))
        each = f"SELECT {cell}, {added} FROM ({each}) AS i GROUP BY {cell}, i0"  # noqa: S608
    often = ", ".join(
        f"CASE WHEN c{j} > 0 AND m{j} > c{j} THEN m{j} / c{j} ELSE 1.0 END AS o{j}" for j in range(len(columns))
    )
    before = ", ".join(
        f"coalesce(sum(o{j}) OVER (PARTITION BY {cell} ORDER BY c{j} DESC "
        f"ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0.0) AS b{j}"
        for j in range(len(columns))
    )
    ranked = f"SELECT *, {before} FROM (SELECT *, {often} FROM ({each}) AS a) AS o"  # noqa: S608
    sums = ", ".join(
        f"sum(m{j}) AS t{j}, max(c{j}) AS l{j}, {_largest(j, 2)} AS two{j}, {_largest(j, rules.n)} AS top{j}"
        for j in range(len(columns))
    )
    wrong = ", ".join(f"sum(CASE WHEN {_breaks(j, rules)} THEN 1 ELSE 0 END)" for j in range(len(columns)))
    inside = f"SELECT {sums} FROM ({ranked}) AS r GROUP BY {cell}"  # noqa: S608
    [row] = database.rows(f"SELECT count(*), {wrong} FROM ({inside}) AS g")  # noqa: S608
    return [(int(row[0]), int(count or 0)) for count in row[1:]]


def _largest(j: int, n: int) -> str:
    """Return the sum of the n largest contributions to a cell, each as often as its weight tells."""
    return f"sum(c{j} * greatest(0.0, least(o{j}, {n}.0 - b{j})))"


def _breaks(j: int, rules: Rules) -> str:
    slack = f"{_ROUNDING:.1e} * t{j}"
    found = []
    if rules.p is not None:
        found.append(f"t{j} - two{j} < {rules.p / 100:.17e} * l{j} - {slack}")
    if rules.share is not None:
        found.append(f"top{j} > {rules.share / 100:.17e} * t{j} + {slack}")
    return " OR ".join(found)


def dominance_failures(found: dict[str, dict[str, Any]]) -> list[Message]:
    """Return a message for each magnitude that a contributor dominates in some group."""
    return [
        Message("dominated-groups", column=name, groups=each["failing"])
        for name, each in found.items()
        if each["failing"]
    ]

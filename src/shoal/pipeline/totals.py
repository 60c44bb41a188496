"""Totals of domains in the pipeline: which domains there are, what is refused, the change of values, verification."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.aggregation.totals import PRECISION, STEPS, Domains, DomainSums
from shoal.errors import DataError, PlanError
from shoal.kernels.standardize import Matrix
from shoal.messages import Message
from shoal.partitioning.dominance import Cells
from shoal.pipeline.counting import Database
from shoal.pipeline.dominance import dominance_rules, magnitudes_of
from shoal.pipeline.parts import Key, keys_of
from shoal.pipeline.records import Records, Seen
from shoal.plan.resolved import ResolvedPlan

if TYPE_CHECKING:
    from shoal.pipeline.masker import BlockMasker
    from shoal.pipeline.verify import Promise

_ZERO = 1e-14  # of the largest value
Labels = NDArray[np.int64]
MOST_DOMAINS = 1000  # combinations: their number squared times that of the attributes is held in memory


# Which domains


def misplaced_domains(plan: ResolvedPlan) -> list[Message]:
    """List what is wrong with the attributes whose totals are kept, now that roles and types are known."""
    names = plan.keep_totals or []
    found = []
    for name in names:
        if names.count(name) > 1:
            found.append(Message("names-twice", field="keep_totals", column=name))
        elif name in (*plan.masked, *plan.dropped, *plan.roles["unit"]):
            treatment = "masked" if name in plan.masked else "dropped"
            found.append(Message("not-a-domain", field="keep_totals", column=name, treatment=treatment))
    if names and not numbers_of(plan):
        found.append(Message("no-number-masked", field="keep_totals", totals=True))
    return list(dict.fromkeys(found))


def numbers_of(plan: ResolvedPlan) -> list[str]:
    """Return the attributes whose totals are kept."""
    return [name for name in plan.masked if plan.types[name] == "continuous"] if plan.keep_totals else []


@dataclass(frozen=True)
class Combinations:
    """The combinations of values that occur, numbered in an order that is the same everywhere."""

    keys: frozenset[Key]

    def __add__(self, other: "Combinations") -> "Combinations":
        both = self.keys | other.keys
        return Combinations(frozenset(list(both)[: MOST_DOMAINS + 1]) if len(both) > MOST_DOMAINS else both)


def combinations_of(plan: ResolvedPlan, records: Records) -> dict[Key, int] | None:
    """Return numbers of the combinations of the attributes whose totals are kept; None if there are none."""
    if not plan.keep_totals:
        return None
    found = records.fold(partial(_combinations, names=plan.keep_totals), plan.keep_totals, "scan")
    if len(found.keys) > MOST_DOMAINS:
        raise PlanError("too-many-combinations", field="keep_totals", most=MOST_DOMAINS, columns=plan.keep_totals)
    return {key: place for place, key in enumerate(sorted(found.keys, key=lambda key: key.order))}


def _combinations(piece: pa.Table, start: int | None, names: Sequence[str]) -> Combinations:
    return Combinations(frozenset(_keys(piece, names)[1]))


def _keys(piece: pa.Table, names: Sequence[str]) -> tuple[Labels, list[Key]]:
    return keys_of(piece, names, np.empty((len(piece), 0), np.uint8))


def domain_codes(piece: pa.Table, names: Sequence[str], numbers: Mapping[Key, int]) -> Labels:
    """Return the number of each record's combination; -1 for a stand-in of records, whose combination is none."""
    places, keys = _keys(piece, names)
    return np.array([numbers.get(key, -1) for key in keys], np.int64)[places]


@dataclass(frozen=True)
class _Contributors:
    """How many records every domain has, its units if there are any, and the contributions to its totals."""

    records: Labels
    units: Labels  # (m, 2): domains and units
    cells: list[Cells]
    most: int

    def __add__(self, other: "_Contributors") -> "_Contributors":
        units = np.unique(np.concatenate([self.units, other.units]), axis=0)
        cells = [one.plus(two, self.most) for one, two in zip(self.cells, other.cells, strict=True)]
        return _Contributors(self.records + other.records, units, cells, self.most)


def refuse_small_domains(masker: "BlockMasker", records: Records) -> None:
    """Refuse totals of few units, and such as a contributor dominates: anyone who adds values up has them exactly."""
    plan, count = masker.plan, len(masker.domains or {})
    if masker.domains is None:
        return
    rules = dominance_rules(plan)
    names, most = (plan.magnitudes or [], rules.most) if rules is not None else ([], 1)

    def look(rows: Matrix) -> _Contributors:
        domain, units = masker.domain(rows), masker.units(rows)
        magnitudes = magnitudes_of(masker, rows, names)
        cells = [Cells.of(domain, magnitudes, j, count, most) for j in range(len(names))]
        pairs = np.empty((0, 2), np.int64) if units is None else np.column_stack([domain, units])
        return _Contributors(np.bincount(domain, minlength=count), np.unique(pairs, axis=0), cells, most)

    found = records.fold_rows(masker, look, "measure")
    sizes = found.records if plan.unit is None else np.bincount(found.units[:, 0], minlength=count)
    there, few = int((sizes > 0).sum()), int(((sizes > 0) & (sizes < plan.k)).sum())
    domains = plan.keep_totals or []
    if few:
        raise DataError("small-domains", few=few, combinations=there, domains=domains, k=plan.k, counts=plan.counts)
    for name, cells in zip(names, found.cells, strict=True):
        if rules is not None and (failing := int((cells.margins(rules) < -PRECISION).sum())):
            raise DataError("dominated-total", column=name, failing=failing, combinations=there, domains=domains)


# Masking


class Fold(Protocol):
    """Adds up what is seen over the rows of all blocks and what they publish."""

    def __call__(self, look: Callable[[Matrix, Matrix], Seen], /) -> Seen: ...  # noqa: D102


@dataclass(frozen=True)
class TotalSums:
    """Sums over groups for every attribute whose totals are kept."""

    of: dict[str, DomainSums]

    def __add__(self, other: "TotalSums") -> "TotalSums":
        return TotalSums({name: each + other.of[name] for name, each in self.of.items()})


@dataclass(frozen=True)
class Adjustment:
    """How values change so that domains keep their totals.

    Attributes
    ----------
    masker
        Of the blocks.
    least
        The least value of each attribute: zero, if none was negative.
    multipliers
        For each attribute, one a domain.
    """

    masker: "BlockMasker"
    least: Mapping[str, float]
    multipliers: Mapping[str, NDArray[np.float64]]

    def sums(self, rows: Matrix, published: Matrix) -> TotalSums:
        """Add up totals over the groups of a block."""
        found = {}
        for name, domains in self._domains(rows, published).items():
            x, y = rows[:, self._at(name)], published[:, self._place(name)]
            found[name] = domains.sums(x, y, self.multipliers[name], self.least[name])
        return TotalSums(found)

    def apply(self, rows: Matrix, published: Matrix) -> tuple[Matrix, NDArray[np.float64]]:
        """Return what the records of a block publish, and the largest change of each attribute."""
        published, before = published.copy(), published
        for name, domains in self._domains(rows, before).items():
            j = self._place(name)
            values = domains.values(before[:, j], self.multipliers[name], self.least[name])
            # Zeros stay zeros whatever the last digits of the solver: a total of zero has no slack.
            values[np.abs(values) <= _ZERO * np.abs(values).max(initial=0.0)] = 0.0
            published[:, j] = values[domains.labels]
        return published, np.abs(published - before).max(axis=0, initial=0.0)

    def _domains(self, rows: Matrix, published: Matrix) -> dict[str, Domains]:
        """Return for each attribute the groups of a block: records that are published alike."""
        masker = self.masker
        found: dict[str, Domains] = {}
        domain, weights, count = masker.domain(rows), masker.weights(rows), len(masker.domains or {})
        for block in masker.plan.in_blocks:
            names = [name for name in block if name in self.multipliers]
            if names:
                columns = published[:, [self._place(name) for name in block]]
                found |= dict.fromkeys(names, Domains(_alike(columns), domain, count, weights))
        return found

    def across(self, rows: Matrix, published: Matrix) -> "_Across":
        """Find the records of a block that are in groups not wholly inside their domain."""
        masker, found = self.masker, []
        domain, units, part = masker.domain(rows), masker.units(rows), rows[:, -1].astype(np.int64)
        for block, homes in zip(masker.plan.in_blocks, masker.parts.homes, strict=True):
            if not any(name in self.multipliers for name in block):
                continue
            columns = published[:, [self._place(name) for name in block]]
            labels = _alike(np.column_stack([columns, homes[part]]))
            for names, border in _borders(masker.domains or {}, masker.plan.keep_totals or []).items():
                found.append(_AcrossBorder.of(names, labels, border[domain], int(border.max()) + 1, units))
        return _Across(found)

    def _at(self, name: str) -> int:
        return self.masker.plan.used.index(name)

    def _place(self, name: str) -> int:
        return self.masker.plan.changed.index(name)


def _alike(columns: Matrix) -> Labels:
    """Return the same number for rows that are equal."""
    order = np.lexsort(columns.T)
    apart = np.append(False, (columns[order[1:]] != columns[order[:-1]]).any(axis=1))
    labels = np.empty(len(columns), np.int64)
    labels[order] = np.cumsum(apart)
    return labels


def _borders(domains: Mapping[Key, int], names: Sequence[str]) -> dict[tuple[str, ...], Labels]:
    """Return the domains that each combination belongs to: that of its value of each attribute, and its own."""
    keys = sorted(domains, key=lambda key: domains[key])
    found: dict[tuple[str, ...], Labels] = {}
    for j, name in enumerate(names):
        numbers: dict[Key, int] = {}
        values = [Key((key.stratum[j],)) for key in keys]
        found[(name,)] = np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)
    return found | {tuple(names): np.arange(len(keys))}


@dataclass(frozen=True)
class _AcrossBorder:
    """How many records of each domain are in groups that cross its border, and which units, if there are any."""

    names: tuple[str, ...]
    records: Labels
    units: Labels | None  # (m, 2): domains and units

    @classmethod
    def of(
        cls, names: tuple[str, ...], labels: Labels, domain: Labels, count: int, units: Labels | None
    ) -> "_AcrossBorder":
        one = np.empty(int(labels.max(initial=-1)) + 1, np.int64)
        one[labels] = domain  # that of one record of each group
        crosses = np.zeros(len(one), np.bool_)
        crosses[labels[domain != one[labels]]] = True
        there = crosses[labels]
        pairs = None if units is None else np.unique(np.column_stack([domain, units])[there], axis=0)
        return cls(names, np.bincount(domain[there], minlength=count), pairs)

    def __add__(self, other: "_AcrossBorder") -> "_AcrossBorder":
        units = None
        if self.units is not None and other.units is not None:
            units = np.unique(np.concatenate([self.units, other.units]), axis=0)
        return _AcrossBorder(self.names, self.records + other.records, units)

    def few(self, k: int) -> int:
        """Count the domains of which some, but fewer than k, are in groups that cross their border."""
        sizes = self.records if self.units is None else np.bincount(self.units[:, 0])
        return int(((sizes > 0) & (sizes < k)).sum())


@dataclass(frozen=True)
class _Across:
    """What crosses borders, for each attribute block and each kind of domain."""

    borders: list[_AcrossBorder]

    def __add__(self, other: "_Across") -> "_Across":
        return _Across([one + two for one, two in zip(self.borders, other.borders, strict=True)])


def _refuse_few_across(change: Adjustment, fold: Fold) -> None:
    """Refuse totals of which, less the groups wholly inside a domain, the values of fewer than k are left."""
    plan = change.masker.plan
    for border in fold(change.across).borders:
        if few := border.few(plan.k):
            raise DataError(
                "few-across-border",
                field="keep_totals",
                number=few,
                domains=border.names,
                k=plan.k,
                counts=plan.counts,
                strata=",".join(border.names),
            )


def adjustment(masker: "BlockMasker", lows: Mapping[str, float], fold: Fold) -> Adjustment:
    """Find the smallest change with which domains keep their totals.

    Parameters
    ----------
    masker
        Of the blocks.
    lows
        The least original value of each attribute.
    fold
        Adds up over the rows of all blocks and what they publish.

    Raises
    ------
    DataError
        No values of these groups keep the totals, or the totals give away values of few records.
    """
    names, count = numbers_of(masker.plan), len(masker.domains or {})
    least = {name: 0.0 if lows[name] >= 0 else -np.inf for name in names}
    best = found = Adjustment(masker, least, {name: np.zeros(count) for name in names})
    _refuse_few_across(best, fold)
    missed = dict.fromkeys(names, np.inf)
    for _ in range(STEPS):
        sums = fold(found.sums).of
        better = {name: each for name, each in sums.items() if each.missed < missed[name]}
        best = Adjustment(masker, least, {**best.multipliers, **{name: found.multipliers[name] for name in better}})
        gained = any(each.missed < 0.5 * missed[name] for name, each in better.items())
        missed |= {name: each.missed for name, each in better.items()}
        if not gained and max(missed.values()) <= PRECISION:
            break
        found = Adjustment(masker, least, {name: found.multipliers[name] + each.step() for name, each in sums.items()})
    if wrong := [name for name in names if missed[name] > PRECISION]:
        groups, domains = sums[wrong[0]].groups, masker.plan.keep_totals
        of: dict[str, Any] = {"columns": wrong, "combinations": count, "domains": domains, "groups": groups}
        raise DataError("totals-infeasible", positive=any(least[name] == 0 for name in wrong), **of)
    return best


@dataclass(frozen=True)
class KeptTotals:
    """The totals that are kept.

    Attributes
    ----------
    domains, combinations
        The attributes, and how many combinations of their values there are.
    changes
        The largest change of what a group publishes, for each attribute.
    spreads
        The standard deviation of each attribute; none where distances are on another scale.
    """

    domains: list[str]
    combinations: int
    changes: dict[str, float]
    spreads: dict[str, float]

    @classmethod
    def of(cls, masker: "BlockMasker", largest: NDArray[np.float64]) -> "KeptTotals":
        """Describe the largest change of each changed attribute."""
        plan, names = masker.plan, numbers_of(masker.plan)
        changes = {name: float(largest[plan.changed.index(name)]) for name in names}
        scales = {name: masker.scales[name] for name in names if plan.standardize == "zscore"}
        spreads = {name: float(np.ldexp(scale.spread, scale.exponent)) for name, scale in scales.items()}
        return cls(plan.keep_totals or [], len(masker.domains or {}), changes, spreads)

    def note(self) -> Message:
        """Describe by how much values changed so that totals are kept."""
        combinations, domains = self.combinations, self.domains
        if not any(self.changes.values()):
            return Message("totals-kept", combinations=combinations, domains=domains, change=None)
        shares = {name: self.changes[name] / spread for name, spread in self.spreads.items() if spread > 0}
        name = max(shares or self.changes, key=lambda name: (shares or self.changes)[name])
        size = float(f"{(shares or self.changes)[name]:.2g}")
        of: dict[str, Any] = {"combinations": combinations, "domains": domains, "column": name}
        return Message("totals-kept", change=size, scaled=bool(shares), **of)

    def summary(self) -> dict[str, Any]:
        """Return it ready for JSON; changes to two digits, since more of them may give a value away."""
        changes = {name: float(f"{change:.2g}") for name, change in self.changes.items()}
        return {"domains": self.domains, "combinations": self.combinations, "largest_change": changes}


# Verification


def wrong_totals(
    database: Database, promise: "Promise", scaled: Callable[[str], tuple[str, float]]
) -> Iterator[Message]:
    """Yield the attributes whose totals are not kept in some domain: a value of an attribute, or a combination.

    `scaled` returns a factor for a number, which lets no sum of it overflow, and how exactly one can be kept.
    """
    plan, columns = promise.plan, []
    for name in numbers_of(plan):
        j = promise.place(name)
        columns.append((f"x{j}", f"k{j}" if promise.is_key(promise.attributes[j]) else f"y{j}", *scaled(name)))
    domains = [*((name,) for name in plan.keep_totals or []), tuple(plan.keep_totals or [])]
    for names in dict.fromkeys(each for each in domains if each):
        counts = _wrong(database, [promise.key(name) for name in names], columns, plan.weights is not None)
        for name, count in zip(numbers_of(plan), counts, strict=True):
            if count:
                yield Message("total-not-kept", column=name, number=count, domains=names)


def _wrong(
    database: Database, keys: Sequence[str], columns: Sequence[tuple[str, str, str, float]], weighted: bool
) -> list[int]:
    """Count the domains that do not keep the total of each attribute, by SQL.

    Parameters
    ----------
    database
        Answers queries on `pairs`.
    keys
        The columns whose combinations are domains.
    columns
        Of each attribute: the columns of its original and published values, a factor that lets no sum overflow, and
        by how much of the sum of absolute values a total may be off.
    weighted
        Whether `pairs` has survey weights, w.
    """
    w = "w * " if weighted else ""
    parts = ", ".join(
        f"sum({w}({x} * {unit})) AS had{j}, sum({w}({y} * {unit})) AS kept{j}, sum({w}abs({x} * {unit})) AS size{j}"
        for j, (x, y, unit, _) in enumerate(columns)
    )
    wrong = ", ".join(
        f"sum(CASE WHEN abs(had{j} - kept{j}) <= {tolerance:.1e} * size{j} THEN 0 ELSE 1 END)"
        for j, (*_, tolerance) in enumerate(columns)
    )
    inside = f"SELECT {parts} FROM pairs GROUP BY {', '.join(keys)}"  # noqa: S608 - no outside text
    [row] = database.rows(f"SELECT {wrong} FROM ({inside}) AS d")  # noqa: S608
    return [int(count) for count in row]

"""risk(): the risk of a file before it is masked, in the population that it was sampled from."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import DataError, PlanError
from shoal.evidence.check import CsvOptions, opened, refuse_unknown_sheet
from shoal.evidence.key_columns import KeyColumn, household_codes, key_column, positive_weights
from shoal.evidence.notebook import figures_html
from shoal.kernels.types import Floats, Integers
from shoal.measures.population_risk import (
    KeyCombinations,
    frequencies,
    frequencies_in,
    household_risk,
    individual_risk,
    k_map,
    key_combinations,
)
from shoal.measures.suda2 import MOST_KEYS, Suda2, key_contributions, level_contributions, suda2
from shoal.messages import Message, by_severity
from shoal.parallel import Progress, quiet
from shoal.pipeline.manifest import manifest_beside
from shoal.pipeline.treatment import refuse_unknown
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.attributes import Level
from shoal.tables.recoding import recoded_table
from shoal.text import counted

FRACTION = 0.01  # of the population that DIS presumes to be sampled where there are no weights, as sdcMicro does
LIMITS = (0.01, 0.05, 0.1, 0.5)  # above which records are counted
RARE = 10  # records: levels that fewer have are not shown one by one
_MANY_VALUES = 100  # of a number: a key variable should be recoded first
_RISKIEST = 20


@dataclass(frozen=True, eq=False, repr=False)
class Risk:
    """The risk of each record of a file that is not masked.

    Attributes
    ----------
    keys : list of str
        The key variables.
    sample_frequency : array of int
        f_k: how many records have the key of each record; a missing value stands for any value.
    population_frequency : array
        F_k: how many people of the population have it, estimated by the weights.
    individual : array
        Individual risk: the probability that the record is re-identified by its key.
    household : array or None
        The probability that at least one member of the record's household is.
    suda, dis : array or None
        SUDA2 and DIS score of each record.
    contributions : dict of str to float
        Percent of all SUDA2 scores that comes from minimal sample uniques with each key.
    level_contributions : dict of str to dict
        For each key, percent of its contribution that comes from records with each level. These are values of the data.
    minimal_sample_uniques : dict of int to int
        How many of them have 1, 2, ... keys.
    fraction : float
        The sampling fraction that DIS is computed with.
    weighted : bool
        Whether F_k is from weights. If not, ``individual`` takes the file for the whole population, and ``dis`` takes
        it for a sample of `fraction`.
    kmap : dict or None
        What `shoal.measures.population_risk.k_map` counts in a population table, with ``frequency``, how many of its
        records have the key of each record.
    notes : list of Message
        What to know, warnings first.
    """

    keys: list[str]
    sample_frequency: Integers
    population_frequency: Floats
    individual: Floats
    combinations: int
    household: Floats | None = None
    households: int | None = None
    suda: Floats | None = None
    dis: Floats | None = None
    contributions: dict[str, float] = field(default_factory=dict)
    level_contributions: dict[str, dict[Level, float]] = field(default_factory=dict)
    level_records: dict[str, dict[Level, int]] = field(default_factory=dict)
    minimal_sample_uniques: dict[int, int] = field(default_factory=dict)
    fraction: float = FRACTION
    weighted: bool = False
    kmap: dict[str, Any] | None = None
    notes: list[Message] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.individual)

    def __repr__(self) -> str:
        return f"<Risk: {counted(len(self), 'record')}, {self.expected:.6g} re-identifications expected>"

    def _repr_html_(self) -> str:
        """Show the figures of the whole file in a notebook, and nothing of single records."""
        return figures_html(self.as_json())

    @cached_property
    def expected(self) -> float:
        """Expected number of re-identifications: the sum of the individual risks."""
        return float(self.individual.sum())

    @property
    def global_risk(self) -> float:
        """Expected re-identifications as a share of the records."""
        return self.expected / len(self)

    @cached_property
    def expected_household(self) -> float | None:
        """Expected number of records of which a member of the household is re-identified."""
        return None if self.household is None else float(self.household.sum())

    @property
    def sample_uniques(self) -> int:
        """Records whose key no other record has."""
        return int((self.sample_frequency == 1).sum())

    def riskiest(self, count: int = _RISKIEST) -> list[dict[str, Any]]:
        """List the records of the highest individual risk, by position (from 1); of equals the highest DIS first."""
        second = np.zeros(len(self)) if self.dis is None else self.dis
        order = np.lexsort((np.arange(len(self)), -second, -self.individual))[:count]
        columns = ("sample_frequency", "population_frequency", "individual", "household", "suda", "dis")
        arrays = {name: getattr(self, name) for name in columns}
        return [
            {"record": int(i) + 1} | {name: array[i].item() for name, array in arrays.items() if array is not None}
            for i in order
        ]

    def as_json(self, *, records: bool = False, levels: bool = False) -> dict[str, Any]:
        """Return the figures of the file for machines.

        With `records`, the riskiest ones by position; with `levels`, contributions of levels that at least ten records
        have by name, and those of rarer ones together.
        """
        found: dict[str, Any] = {
            "records": len(self),
            "keys": self.keys,
            "weighted": self.weighted,
            "combinations": self.combinations,
            "sample_uniques": self.sample_uniques,
            "sample_below": {str(k): int((self.sample_frequency < k).sum()) for k in (3, 5)},
            "expected": self.expected,
            "global_risk": self.global_risk,
            "individual": _spread(self.individual),
        }
        if self.household is not None:
            found |= {
                "household": _spread(self.household) | {"households": self.households},
                "expected_household": self.expected_household,
                "global_risk_household": float(self.household.mean()),
            }
        if self.suda is not None and self.dis is not None:
            found |= {
                "suda": {
                    "records": int((self.suda > 0).sum()),
                    "highest": float(self.suda.max()),
                    "minimal_sample_uniques": {str(m): count for m, count in self.minimal_sample_uniques.items()},
                },
                "dis": _spread(self.dis) | {"fraction": self.fraction},
                "contributions": self.contributions,
            }
            if levels:
                found["level_contributions"] = {name: self.pooled_levels(name) for name in self.keys}
        if self.kmap is not None:
            found["kmap"] = {name: value for name, value in self.kmap.items() if name != "frequency"}
        if records:
            found["riskiest"] = self.riskiest()
        return found | {"notes": [note.as_json() for note in self.notes]}

    def pooled_levels(self, key: str) -> list[dict[str, Any]]:
        """Return contributions of the levels of a key in order; those that fewer than ten records have together."""
        records, percents = self.level_records[key], self.level_contributions[key]
        rare = [level for level, count in records.items() if count < RARE]
        found = [
            {"level": str(level), "records": count, "percent": percents[level]}
            for level, count in records.items()
            if count >= RARE
        ]
        if rare:
            together = {"records": sum(map(records.__getitem__, rare)), "percent": sum(map(percents.__getitem__, rare))}
            found.append({"level": None, "levels": len(rare), **together})
        return found


def risk(
    table: Any,
    keys: Sequence[str],
    weights: str | None = None,
    household: str | None = None,
    population: Any = None,
    *,
    recode: Mapping[str, Any] | None = None,
    fraction: float | None = None,
    suda: bool = True,
    csv: CsvOptions = None,
    sheet: str | None = None,
    progress: Progress = quiet,
) -> Risk:
    """Measure the risk of a file before it is masked, from how often combinations of key variables occur.

    This is not valid for a masked file: values that were changed make keys rare or frequent without making records
    safe. Measure what can be linked then, with `shoal.assess`.

    Parameters
    ----------
    table : dataframe or path
        The original records. A file that has a manifest of Shoal beside it is refused.
    keys : list of str
        The key variables (quasi-identifiers) that an intruder may know, as categories: `recode` numbers.
    weights : str, optional
        The attribute with the sampling weights. Without weights the sample is taken for the whole population.
    household : str, optional
        The attribute with the household of each record.
    population : dataframe or path, optional
        A table of the whole population with the same keys, for k-map.
    recode : mapping, optional
        Keys to recode first, in both tables, as in a plan: ``{"age": [18, 30, 45, 65]}``.
    fraction : float, optional
        The sampling fraction for DIS. If left out, records divided by the sum of the weights; without weights 0.01.
    suda : bool
        Whether SUDA2 and DIS scores are computed, for at most 16 keys.
    csv : Csv or dict, optional
        How CSV files are written, where looking at them is not enough.
    sheet : str, optional
        The sheet of an Excel workbook, if several have data. With several files, one of them at least must have it.
    progress : callable, optional
        Called at the beginning of each step with its name.

    Returns
    -------
    Risk
        With ``individual``, ``household``, ``sample_frequency``, ``population_frequency``, ``suda`` and ``dis``, one
        number for each record; ``expected`` re-identifications, ``contributions`` of keys, and more.

    Examples
    --------
    >>> import shoal, pyarrow as pa
    >>> sample = pa.table({"age": ["20-29", "20-29", "30-39"], "sex": ["f", "f", "m"], "w": [40.0, 60.0, 10.0]})
    >>> found = shoal.risk(sample, keys=["age", "sex"], weights="w")
    >>> found.sample_frequency.tolist(), found.population_frequency.tolist()
    ([2, 2, 1], [100.0, 100.0, 10.0])
    >>> found.individual.round(4).tolist(), round(found.expected, 4)
    ([0.0188, 0.0188, 0.2558], 0.2934)
    """
    plan = _asked(keys, weights, household, fraction, suda, {"recode": recode or {}, "csv": csv, "sheet": sheet})
    _refuse_masked(table)
    refuse_unknown_sheet(plan, table, population)
    progress("read", 0, 1)
    sample = opened(table, plan)
    named = {
        "keys": plan.masked,
        "weights": plan.roles["weights"],
        "household": [] if household is None else [household],
    }
    refuse_unknown(sample, {**named, "recode": list(plan.recode)}, Message("the-table"))
    sample = recoded_table(sample, plan)
    everybody = None if population is None else recoded_table(opened(population, plan), plan)
    progress("risk", 0, 1)
    columns = [key_column(sample, name) for name in plan.masked]
    combined = key_combinations([column.codes for column in columns])
    by_record = None if weights is None else positive_weights(sample, weights)
    f, F = frequencies(combined, by_record)
    individual = individual_risk(f, F)
    found: dict[str, Any] = {"fraction": _fraction(fraction, by_record, len(sample)), "weighted": weights is not None}
    notes = [*_key_notes(columns), *_weight_notes(by_record, weights)]
    if household is not None:
        members = household_codes(sample, household)
        found |= {"household": household_risk(individual, members), "households": int(members.max()) + 1}
        notes += _household_notes(found["households"], len(sample), household)
    if everybody is not None:
        found["kmap"] = _kmap(columns, combined, f, everybody)
        notes += _kmap_notes(found["kmap"])
    if suda:
        scored = suda2(combined, found["fraction"])
        found |= {"suda": scored.score, "dis": scored.dis} | _contributions(scored, combined, columns)
        if fraction is None and weights is None:
            notes.append(Message("two-presumptions"))
    notes.append(Message("before-masking-only"))
    return Risk(plan.masked, f, F, individual, len(combined.size), **found, notes=by_severity(notes))


def _asked(
    keys: Sequence[str],
    weights: str | None,
    household: str | None,
    fraction: float | None,
    suda: bool,
    reading: dict[str, Any],
) -> Plan:
    """Return the request as a plan, or report all that is wrong with it."""
    problems: list[Message] = []
    plan = None
    try:
        own = household if isinstance(household, str) else None
        plan = Plan(k=2, quasi=keys, weights=weights, household=own, **reading)
        if not plan.masked:
            problems.append(Message("names-none", field="keys", what="key variable"))
        left_over = [name for name in plan.recode if name not in plan.masked]
        problems += [Message("recode-not-a-key", field="recode", column=name) for name in left_over]
        if suda and len(plan.masked) > MOST_KEYS:
            problems.append(Message("too-many-keys", field="keys", most=MOST_KEYS))
    except PlanError as error:
        problems += map(_on_keys, error.messages)
    if household is not None and not isinstance(household, str):
        problems.append(Message("household-not-a-name", field="household"))
    if fraction is not None and not (isinstance(fraction, Real) and 0 < fraction <= 1):
        problems.append(Message("fraction-out-of-range", field="fraction"))
    if fraction is not None and not suda:
        problems.append(Message("does-not-apply-with", field="fraction", other="--no-suda"))
    if problems or plan is None:
        raise PlanError(*problems)
    return plan


def _on_keys(problem: Message) -> Message:
    """Return a problem with quasi-identifiers of a plan as one with keys."""
    keys = {"quasi": "keys", "--quasi": "--keys"}
    field, *data = (keys.get(str(each), each) for each in (problem.field, *problem.data.values()))
    return Message(problem.code, field=field, **dict(zip(problem.data, data, strict=True)))


def _refuse_masked(table: Any) -> None:
    """Refuse a file that Shoal has masked."""
    if isinstance(table, str | os.PathLike) and manifest_beside(Path(table)).is_file():
        raise DataError("file-is-masked", file=os.fspath(table))


def _fraction(given: float | None, weights: Floats | None, records: int) -> float:
    if given is not None:
        return given
    return FRACTION if weights is None else min(1.0, records / float(weights.sum()))


def _kmap(columns: Sequence[KeyColumn], combined: KeyCombinations, f: Integers, population: Table) -> dict[str, Any]:
    """Count the keys of the sample in a table of the population."""
    what = Message("the-population-table")
    refuse_unknown(population, {"keys": [column.name for column in columns]}, what)
    if len(population) < len(f):
        raise DataError("population-too-small", records=len(population), sample=len(f))
    found = frequencies_in(combined, key_combinations([column.codes_in(population, what) for column in columns]))
    return {"records": len(population), **k_map(f, found), "frequency": found}


def _contributions(scored: Suda2, combined: KeyCombinations, columns: Sequence[KeyColumn]) -> dict[str, Any]:
    """Return what keys and their levels contribute, and how many records have each level."""
    by_level, records = {}, {}
    for at, column in enumerate(columns):
        levels = column.levels.to_pylist()
        percents = level_contributions(scored, combined, at, len(levels))
        by_level[column.name] = dict(zip(levels, percents.tolist(), strict=True))
        count = np.bincount(column.codes, minlength=len(levels) + 1)[1:]
        records[column.name] = dict(zip(levels, count.tolist(), strict=True))
    names = [column.name for column in columns]
    return {
        "contributions": dict(zip(names, key_contributions(scored).tolist(), strict=True)),
        "level_contributions": by_level,
        "level_records": records,
        "minimal_sample_uniques": {m: int(count) for m, count in enumerate(scored.sizes, start=1)},
    }


def _spread(values: Floats) -> dict[str, Any]:
    """Return the highest of some probabilities, and how many are above limits."""
    return {
        "highest": float(values.max()),
        "above": {str(limit): int((values > limit).sum()) for limit in LIMITS},
    }


def _key_notes(columns: Sequence[KeyColumn]) -> list[Message]:
    notes = []
    records = len(columns[0].codes)
    different = [each.name for each in columns if len(each.levels) == records > 1]
    many = [each.name for each in columns if each.is_number and len(each.levels) > _MANY_VALUES]
    if different:
        notes.append(Message("keys-unique", columns=different, number=len(different)))
    if many := [name for name in many if name not in different]:
        notes.append(Message("keys-of-many-numbers", columns=many, number=len(many), most=_MANY_VALUES))
    if incomplete := [each for each in columns if each.missing.any()]:
        count = int(np.logical_or.reduce([each.missing for each in incomplete]).sum())
        notes.append(Message("missing-keys-match", records=count, columns=[each.name for each in incomplete]))
    return notes


def _weight_notes(weights: Floats | None, name: str | None) -> list[Message]:
    if weights is None:
        return [Message("sample-as-population")]
    below = int((weights < 1).sum())
    return [Message("weights-below-one", column=name, records=below)] if below else []


def _household_notes(households: int, records: int, name: str) -> list[Message]:
    return [] if households < records else [Message("households-of-one", column=name)]


def _kmap_notes(found: dict[str, Any]) -> list[Message]:
    fewer = found["fewer"]
    return [Message("keys-coded-otherwise", fewer=fewer, absent=found["absent"])] if fewer else []

"""Figures that were published from the original: which of them still come out of the masked file.

A CSV file with the columns `statistic` (count, share, mean, total or median), `attribute`, `where` (a condition, as
rules are written in plain text), `value` and `tolerance`, of which `where` and `tolerance` may be left out.
"""

import csv
import io
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.edits.expressions import Rule, attributes_of
from shoal.edits.messages import Location
from shoal.edits.passes import records_of
from shoal.edits.plain_text import parse_rule
from shoal.edits.verification_sql import broken_in_sql
from shoal.errors import FileError, PlanError
from shoal.evidence.check import rule_levels
from shoal.evidence.sides import Side, records_in
from shoal.messages import Message
from shoal.pipeline.treatment import refuse_unknown
from shoal.plan import Plan
from shoal.tables.atomic import read_small

COLUMNS = ("statistic", "attribute", "where", "value", "tolerance")
_LARGEST = 10_000_000  # bytes
_NUMBER = re.compile(r"[-+]?\d+(?:\.(\d+))?")

Vector = NDArray[np.float64]


def _median(values: Vector, weights: Vector) -> float:
    """Return the least value that half of the weight does not exceed; of two in the middle their mean."""
    order = np.argsort(values)
    sums = np.cumsum(weights[order]) / weights.sum()
    low = int(np.searchsorted(sums, 0.5 - 1e-12))
    high = min(int(np.searchsorted(sums, 0.5 + 1e-12)), len(values) - 1)
    return float(values[order][[low, high]].mean())


STATISTICS: dict[str, Callable[[Vector, Vector], float]] = {
    "mean": lambda values, weights: float(values @ weights / weights.sum()),
    "total": lambda values, weights: float(values @ weights),
    "median": _median,
}
COUNTS = ("count", "share")  # of records: they need no attribute


@dataclass(frozen=True)
class Figure:
    """A published figure: what it is, and how far from it counts as the same."""

    statistic: str
    attribute: str
    where: str
    value: float
    tolerance: float
    condition: Rule | None

    @property
    def names(self) -> list[str]:
        """The columns that it needs."""
        own = [self.attribute] if self.attribute else []
        return own + ([] if self.condition is None else [*attributes_of(self.condition.condition)])


def read_published(path: str | os.PathLike[str]) -> list[Figure]:
    """Read a file of published figures; all mistakes are reported together, by line."""
    data = read_small(Path(path), "file of published figures", _LARGEST)
    file = os.fspath(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError("not-utf8", line=data.count(b"\n", 0, error.start) + 1, file=file) from None
    rows = csv.DictReader(io.StringIO(text), restval="")
    header = [name.strip() for name in rows.fieldnames or []]
    if len(header) == 1 and ";" in header[0]:
        raise PlanError("figures-with-semicolons", field="published", file=file)
    problems = [
        Message("figures-without-column", field="published", file=file, column=name)
        for name in ("statistic", "value")
        if name not in header
    ]
    problems += [
        Message("figures-unknown-column", field="published", file=file, column=name, known=COLUMNS)
        for name in header
        if name not in COLUMNS
    ]
    if problems:
        raise PlanError(*problems)
    rows.fieldnames = header
    found: list[Figure] = []
    for row in rows:
        cells = {name: (row.get(name) or "").strip() for name in COLUMNS}
        wrong = partial(Message, field="published", line=rows.line_num, file=file)
        try:
            found.append(_figure(cells, Location(line=rows.line_num), wrong))
        except _Unreadable as error:
            problems.append(error.why)
        except PlanError as error:
            unread = partial(Message, "figure-condition", field="published", file=file)
            problems += [unread(problem=each.about(None)) for each in error.messages]
    if problems:
        raise PlanError(*problems)
    if not found:
        raise PlanError("no-figures", field="published", file=file)
    return found


class _Unreadable(ValueError):
    def __init__(self, why: Message) -> None:
        self.why = why
        super().__init__(why)


def _figure(row: dict[str, str], line: Location, wrong: Callable[..., Message]) -> Figure:
    """Read a line of the file; `wrong` makes a message about it."""
    statistic, attribute = row["statistic"].lower(), row["attribute"]
    if statistic not in (*COUNTS, *STATISTICS):
        raise _Unreadable(wrong("unknown-statistic", known=[*COUNTS, *STATISTICS]))
    if (statistic in COUNTS) == bool(attribute):
        code = "figure-of-records" if attribute else "figure-of-no-attribute"
        raise _Unreadable(wrong(code, statistic=statistic))
    if statistic == "share" and not row["where"]:
        raise _Unreadable(wrong("figure-of-no-condition"))
    value = _number(row["value"])
    if value is None:
        raise _Unreadable(wrong("value-not-a-number"))
    condition = None
    if row["where"]:
        parse_rule(row["where"], line, shown=False)  # so that a mistake is named by its place in the file
        condition = parse_rule(f"not ({row['where']})", line, shown=False)  # broken where the condition is true
    tolerance = _tolerance(row["tolerance"], row["value"], value, wrong)
    return Figure(statistic, attribute, row["where"], value, tolerance, condition)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _tolerance(text: str, written: str, value: float, wrong: Callable[..., Message]) -> float:
    """Return how far from a figure counts as the same: as given, or half a unit of its last digit."""
    if not text:
        digits = _NUMBER.fullmatch(written)
        if digits is None:
            raise _Unreadable(wrong("figure-without-tolerance"))
        return 0.5 * 10.0 ** -len(digits[1] or "")
    share = text.endswith("%")
    number = _number(text.removesuffix("%").strip())
    if number is None or number < 0:
        raise _Unreadable(wrong("tolerance-not-a-number"))
    return number / 100 * abs(value) if share else number


def published_figures(figures: list[Figure], before: Side, after: Side, plan: Plan, fewest: int = 1) -> dict[str, Any]:
    """Compute published figures from both files.

    Returns the ``figures``, each with its ``value`` and ``tolerance``, what it is ``after`` masking, and whether it
    comes out of the original (``in_original``) and of the masked file (``kept``); how many there are that come out of
    the original, how many of these are ``kept``, and their percentage. A figure that needs a column the masked file
    lacks is not kept. ``in_original`` is None where fewer than `fewest` records with a value meet the condition, or do
    not meet it, or make the difference to an earlier figure of the same attribute.
    """
    for figure in figures:
        refuse_unknown(before.table, {"published": figure.names}, Message("the-original"))
        if figure.attribute and before.numbers(figure.attribute) is None:
            of = {"statistic": figure.statistic, "column": figure.attribute}
            raise PlanError("figure-not-a-number", field="published", **of)
    rows: list[dict[str, Any]] = []
    told: dict[str, list[NDArray[np.uint8]]] = {}  # the records behind figures of each attribute
    for figure in figures:
        chosen = _chosen(figure, before, before, plan)
        few = _is_of_few(figure, before, chosen, told.setdefault(figure.attribute, []), fewest)
        own = _computed(figure, before, chosen)
        missing = any(name not in after.table.names for name in figure.names)
        masked = None if missing else _computed(figure, after, _chosen(figure, after, before, plan))
        rows.append(
            {
                "statistic": figure.statistic,
                "attribute": figure.attribute,
                "where": figure.where,
                "value": figure.value,
                "tolerance": figure.tolerance,
                "after": masked,
                "in_original": None if few else _same(own, figure),
                "kept": _same(masked, figure),
            }
        )
    right = [row for row in rows if row["in_original"]]
    kept = sum(row["kept"] for row in right)
    percent = 100 * kept / len(right) if right else None
    return {"figures": rows, "in_original": len(right), "kept": kept, "percent": percent}


def _is_of_few(
    figure: Figure, side: Side, chosen: NDArray[np.bool_], told: list[NDArray[np.uint8]], fewest: int
) -> bool:
    """Whether a figure, or its difference to those that were `told`, is of few records and could be guessed.

    Figures are tried until one comes out of the original. One that is not of few is added to those told.
    """
    values = side.numbers(figure.attribute) if figure.attribute else None
    there = np.ones(len(chosen), dtype=bool) if values is None else ~np.isnan(values)
    own = np.packbits(chosen & there)
    sets = [chosen & there, ~chosen & there]
    sets += [np.unpackbits(own ^ other, count=len(chosen)).astype(bool) for other in told]
    few = any(0 < records_in(each, side.weights) < fewest for each in sets)
    if not few and not any(np.array_equal(own, other) for other in told):
        told.append(own)
    return few


def _same(found: float | None, figure: Figure) -> bool:
    slack = 1e-9 * max(abs(figure.value), figure.tolerance)  # of adding up
    return found is not None and abs(found - figure.value) <= figure.tolerance + slack


def _chosen(figure: Figure, side: Side, original: Side, plan: Plan) -> NDArray[np.bool_]:
    """Return the records of a file that meet the condition of a figure."""
    if figure.condition is None:
        return np.ones(len(side.table), dtype=bool)
    levels = rule_levels(side.table, [figure.condition], original.table, plan)
    [(_, chosen)] = broken_in_sql([figure.condition], records_of(side.table, [figure.condition], None, levels))
    return chosen


def _computed(figure: Figure, side: Side, chosen: NDArray[np.bool_]) -> float | None:
    """Compute a figure from records of a file; None if there are none, or the attribute is not a number."""
    weights = np.ones(len(side.table)) if side.weights is None else side.weights
    if figure.statistic in COUNTS:
        count = float(weights[chosen].sum())
        return count if figure.statistic == "count" else 100 * count / float(weights.sum())
    values = side.numbers(figure.attribute)
    if values is None:
        return None
    chosen = chosen & ~np.isnan(values)
    return STATISTICS[figure.statistic](values[chosen], weights[chosen]) if chosen.any() else None

"""Limits on risk and loss, and which of the rows of a sweep meets them. Light: the page needs it too."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import PlanError

Row = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """What a choice of k must meet: risk and loss in percent at most, and a least k. None is no limit."""

    max_risk: float | None = None
    max_loss: float | None = None
    min_k: int | None = None

    def __post_init__(self) -> None:
        problems = [
            (name, "must be a percentage from 0 to 100, for example 10.")
            for name in ("max_risk", "max_loss")
            if (given := getattr(self, name)) is not None and not _is_percentage(given)
        ]
        if self.min_k is not None and (not isinstance(self.min_k, int) or self.min_k < 2):
            problems.append(("min_k", "must be a whole number of at least 2."))
        if problems:
            raise PlanError(problems)

    def __bool__(self) -> bool:
        return self != Limits()

    def __str__(self) -> str:
        words = {
            "risk at most {:g} %": self.max_risk,
            "loss at most {:g} %": self.max_loss,
            "k at least {:,}": self.min_k,
        }
        return ", ".join(text.format(limit) for text, limit in words.items() if limit is not None)

    def missed(self, row: Row) -> dict[str, float]:
        """Return by how many percentage points a row is above the limits of risk and loss."""
        found = {"risk": (row["risk"], self.max_risk), "loss": (row["IL"] or 0.0, self.max_loss)}
        return {what: value - limit for what, (value, limit) in found.items() if limit is not None and value > limit}

    def chosen(self, rows: Sequence[Row]) -> Row | None:
        """Return the row that meets the limits with the least loss; None if no row does, or there are no limits."""
        meeting = [row for row in self._allowed(rows) if not self.missed(row)]
        return min(meeting, key=lambda row: (row["IL"] or 0.0, row["risk"]), default=None) if self else None

    def nearest(self, rows: Sequence[Row]) -> Row | None:
        """Return, if no row meets the limits, the one that misses them by the fewest percentage points in all.

        Where columns released unchanged make as many records unique for every k, the one that links fewest.
        """
        if not self or self.chosen(rows) is not None:
            return None
        return min(self._allowed(rows), key=self._distance, default=None)

    def _distance(self, row: Row) -> tuple[float, float, float]:
        """Return how far a row is from the limits."""
        return sum(self.missed(row).values()), row["linked"], row["IL"] or 0.0

    def _allowed(self, rows: Sequence[Row]) -> list[Row]:
        return [row for row in rows if row["k"] >= (self.min_k or 2)]  # k = 1 protects nothing

    def verdict(self, rows: Sequence[Row]) -> str:
        """Name the row that meets the limits, or the nearest and what it misses."""
        if (row := self.chosen(rows)) is not None:
            return f"{_named(row)} meets the limits ({self}) with the least loss: {_figures(row)}."
        if (row := self.nearest(rows)) is None:
            return "Set --max-risk or --max-loss to have the k named that meets it."
        missed = self.missed(row)
        what = " and ".join(f"{each} is {by:.1f} points too high" for each, by in missed.items())
        why = ""
        if row["unique"] > row["linked"] and "risk" in missed:
            unique = f"{row['unique']:.1f} % of the records"
            why = f" Columns that are released unchanged make {unique} unique: drop, mask or coarsen them."
        return f"No k meets the limits ({self}). Nearest is {_named(row)} ({_figures(row)}): its {what}.{why}"


def _is_percentage(given: Any) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given) and 0 <= given <= 100


def _named(row: Row) -> str:
    return f"k = {row['k']:,} with {row['method']}"


def _figures(row: Row) -> str:
    return f"loss {row['IL'] or 0.0:.2f} %, risk {row['risk']:.1f} %"

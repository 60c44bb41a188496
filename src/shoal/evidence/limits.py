"""Limits on risk and loss, and which of the rows of a sweep meets them. Light: the page needs it too."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import PlanError
from shoal.messages import Message

Row = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """What a choice of k must meet: risk and loss in percent at most, and a least k. None is no limit."""

    max_risk: float | None = None
    max_loss: float | None = None
    min_k: int | None = None

    def __post_init__(self) -> None:
        problems = [
            *_mistakes("max_risk", self.max_risk, float, 0, 100),
            *_mistakes("max_loss", self.max_loss, float, 0, 100),
            *_mistakes("min_k", self.min_k, int, 2),
        ]
        if problems:
            raise PlanError(*problems)

    def __bool__(self) -> bool:
        return self != Limits()

    @property
    def phrases(self) -> list[Message]:
        """Each limit in words."""
        limits = {"risk": self.max_risk, "loss": self.max_loss}
        found = [
            Message("figure-at-most", figure=name, limit=most) for name, most in limits.items() if most is not None
        ]
        return [*found, *([] if self.min_k is None else [Message("k-at-least", limit=self.min_k)])]

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

    def verdict(self, rows: Sequence[Row]) -> Message:
        """Name the row that meets the limits, or the nearest and what it misses."""
        if (row := self.chosen(rows)) is not None:
            return Message("limits-met", limits=self.phrases, **_figures(row))
        if (row := self.nearest(rows)) is None:
            return Message("no-limits-set")
        missed = self.missed(row)
        above = [Message("figure-too-high", figure=what, points=points) for what, points in missed.items()]
        unique = row["unique"] if row["unique"] > row["linked"] and "risk" in missed else None
        return Message("limits-missed", limits=self.phrases, missed=above, unique=unique, **_figures(row))


def _mistakes(field: str, given: Any, kind: type[float], least: int, most: float = math.inf) -> Iterator[Message]:
    """Yield what is wrong with a limit."""
    if given is None:
        return
    if isinstance(given, bool) or not isinstance(given, int | kind) or (isinstance(given, float) and math.isnan(given)):
        yield Message("not-whole" if kind is int else "not-a-number", field=field)
    elif given < least:
        yield Message("too-small", field=field, limit=least)
    elif given > most:
        yield Message("too-large", field=field, limit=most)


def _figures(row: Row) -> Row:
    return {"k": row["k"], "method": row["method"], "loss": row["IL"] or 0.0, "risk": row["risk"]}

"""What masking cost, added up block by block: as much of it as needs no second look at the original records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.scaling import Matrix
from shoal.tables.attributes import NUMBERS, Attribute


@dataclass(frozen=True)
class Loss:
    """What was lost in some records.

    Attributes
    ----------
    records
        How many miss no number, neither before nor after.
    mean, comoments : (2 m,) and (2 m, 2 m) arrays
        Of these, over the m numbers as they were and then the m numbers as they are published.
    squared : (m,) array
        Sums of squared differences.
    counted, changed : int, (d,) array of int64
        How many records there are in all, and how many publish another code than their own, by attribute.
    """

    records: int
    mean: np.ndarray
    comoments: np.ndarray
    squared: np.ndarray
    counted: int
    changed: np.ndarray

    def __add__(self, other: "Loss") -> "Loss":
        """Add, by the formula of Chan, Golub & LeVeque (1983), in which no digits cancel."""
        records = self.records + other.records
        share = other.records / max(records, 1)
        apart = other.mean - self.mean
        return Loss(
            records,
            self.mean + share * apart,
            self.comoments + other.comoments + self.records * share * np.outer(apart, apart),
            self.squared + other.squared,
            self.counted + other.counted,
            self.changed + other.changed,
        )


def lost(attributes: Sequence[Attribute], codes: Matrix, published: Matrix) -> Loss:
    """Look at the records of a block, before and after."""
    at = [j for j, attribute in enumerate(attributes) if attribute.type in NUMBERS]
    both = np.hstack([codes[:, at], published[:, at]])
    both = both[~np.isnan(both).any(axis=1)]
    mean = both.mean(axis=0) if len(both) else np.zeros(both.shape[1])
    centred = both - mean
    changed = (codes != published) & ~(np.isnan(codes) & np.isnan(published))
    m = len(at)
    squared = ((both[:, :m] - both[:, m:]) ** 2).sum(axis=0)
    return Loss(len(both), mean, centred.T @ centred, squared, len(codes), changed.sum(axis=0))


def described(attributes: Sequence[Attribute], loss: Loss) -> dict[str, Any]:
    """Give the figures of `shoal.costs.costs` that can be added up.

    SSE, SST and IL are those of numbers and dates, on z-scores, over the records that miss none of them; of other
    types it is said how many records publish another category or level than their own.
    """
    names = [attribute.name for attribute in attributes if attribute.type in NUMBERS]
    m = len(names)
    before, after = np.diag(loss.comoments)[:m], np.diag(loss.comoments)[m:]
    varies = before > 0
    spread = np.sqrt(np.where(varies, before, 1.0) / max(loss.records, 1))
    squared = np.where(varies, loss.squared, 0.0) / spread**2
    moved = np.abs(_correlations(loss.comoments[m:, m:]) - _correlations(loss.comoments[:m, :m]))
    rows: dict[str, dict[str, Any]] = {}
    for j, name in enumerate(names):
        rows[name] = {
            "IL": float(100 * loss.squared[j] / before[j]) if varies[j] else None,
            "mean_change": float((loss.mean[m + j] - loss.mean[j]) / spread[j]) if varies[j] else None,
            "variance_ratio": float(after[j] / before[j]) if varies[j] else None,
            "correlation_change": float(moved[j].max()) if m > 1 else None,
        }
    for attribute, changed in zip(attributes, loss.changed, strict=True):
        if attribute.name not in rows:
            rows[attribute.name] = {"IL": None, "changed": float(100 * changed / max(loss.counted, 1))}
        elif rows[attribute.name]["IL"] is None:
            rows[attribute.name]["changed"] = bool(changed)
        rows[attribute.name]["type"] = attribute.type
    sse, sst = float(squared.sum()), float(loss.records * varies.sum())
    found = {
        "SSE": sse,
        "SST": sst,
        "IL": 100 * sse / sst if sst > 0 else None,
        "correlation_change": float(moved.max()) if m > 1 else None,
        "attributes": {attribute.name: rows[attribute.name] for attribute in attributes},
    }
    return found if m == len(attributes) else {**found, "types": _by_type(attributes, names, squared, varies, loss)}


def _correlations(comoments: np.ndarray) -> np.ndarray:
    """Give correlations; zero where an attribute is constant."""
    spread = np.sqrt(np.diag(comoments))
    outer = np.outer(spread, spread)
    return np.divide(comoments, outer, out=np.zeros_like(comoments), where=outer > 0)


def _by_type(
    attributes: Sequence[Attribute], names: list[str], squared: np.ndarray, varies: np.ndarray, loss: Loss
) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for attribute in attributes:
        same = [names.index(each.name) for each in attributes if each.type == attribute.type and each.name in names]
        total = loss.records * int(varies[same].sum())
        found[attribute.type] = float(100 * squared[same].sum() / total) if total > 0 else None
    return found

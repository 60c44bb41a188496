"""What a reader must not overlook: attributes that changed heavily, and levels that no record publishes any more."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.pipeline.notes import MUCH
from shoal.report.distributions import level_text
from shoal.report.figures import Masked, least
from shoal.tables.attributes import Attribute

if TYPE_CHECKING:
    from shoal.release import Release


class Vanished(NamedTuple):
    """Levels that some original record had and no published one has.

    Only levels of at least max(k, 10) original records have a name here. Of the rarer ones nothing is known but
    whether there are any: to name a level that a single record had is to publish it.
    """

    names: list[str]
    rarer: bool

    def __str__(self) -> str:
        named = ", ".join(self.names)
        return f"{named} and rarer levels" if named and self.rarer else named or "rare levels"


def change(row: Mapping[str, Any]) -> tuple[float | None, str]:
    """Return how much an attribute changed, in percent, and what: values if it has levels, else variance."""
    return (row["changed"], "values changed") if "categories_vanished" in row else (row["IL"], "variance lost")


def is_heavy(row: Mapping[str, Any]) -> bool:
    """Whether an attribute changed so much that its users must know."""
    percent, _ = change(row)
    return percent is not None and percent > MUCH


def heavy_text(row: Mapping[str, Any]) -> str:
    """Describe a heavy change."""
    percent, of = change(row)
    return f"heavy change: {percent:.0f} % of its {of}"


def vanished(release: "Release", masked: Masked) -> dict[str, Vanished]:
    """Find the levels that vanished, by attribute; nothing of confidential attributes, and with epsilon of none."""
    plan = release.plan
    if plan.epsilon is not None:
        return {}
    histograms = release.published.losses.histograms(release.published.sums)
    found = {}
    for attribute in masked.attributes:
        if attribute.name not in histograms or attribute.name in plan.confidential:
            continue
        before, after = histograms[attribute.name]
        if len(gone := np.flatnonzero((before > 0) & (after == 0))):
            found[attribute.name] = _named(attribute, masked.one_each, gone.tolist(), least(plan))
    return found


def _named(attribute: Attribute, one_each: NDArray[np.bool_], gone: list[int], fewest: int) -> Vanished:
    """Name the levels of enough records. Records are counted, since weights may make one look like many."""
    codes = attribute.codes[one_each & ~attribute.missing].astype(np.int64)
    levels = [] if attribute.levels is None else attribute.levels.to_pylist()
    counts = np.bincount(codes, minlength=len(levels))
    names = [level_text(levels[level]) for level in gone if counts[level] >= fewest]
    return Vanished(names, len(names) < len(gone))

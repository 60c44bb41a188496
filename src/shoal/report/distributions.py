"""How the values of an attribute are distributed before and after, such that nobody can be told from it.

Of the original values only counts of at least `least` records are used. Ranges of numbers and dates begin and end at
round figures that come from a grid and not from a record, and are open at both ends; levels and categories are named
if at least `least` records have them. A share is rounded to a tenth of a percent, so that the records of one that is
not shown cannot be counted either.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.report.bins import Ranges, moment_ranges, number_ranges
from shoal.tables.attributes import NUMBERS, Attribute, Codes

Counts = NDArray[np.int64]

LEAST = 10  # records behind a bar, or k if that is more
_MOST = 15  # bars


class Distribution(NamedTuple):
    """Shares of the records in percent, bar by bar, before and after masking."""

    name: str
    labels: list[str]
    before: list[float]
    after: list[float]
    gone: list[bool]  # of which nothing is published


class _Pools(NamedTuple):
    """Which values share a bar, and what the bar is called."""

    of: Counts  # the bar of each cell
    labels: list[str]


def distribution(
    attribute: Attribute, masked: Codes, least: int, one_each: NDArray[np.bool_] | None = None
) -> Distribution | None:
    """Compare the values of an attribute before and after; None where two bars of `least` records cannot be made.

    With `one_each`, only these records count as such: one of each unit.
    """
    present = ~attribute.missing
    sure = attribute if one_each is None else replace(attribute, codes=attribute.codes[one_each])
    if (~sure.missing).sum() < 2 * least:
        return None
    ranges = _ranges(sure, least)
    before, after = (_cells(codes, ranges) for codes in (attribute.codes[present], masked[~np.isnan(masked)]))
    cells = len(ranges.edges) + 1 if attribute.levels is None else len(attribute.levels)
    many = np.bincount(_cells(sure.codes[~sure.missing], ranges), minlength=cells)
    pools = _pools(attribute, ranges, many, least)
    bars = [np.bincount(pools.of[places], minlength=len(pools.labels)) for places in (before, after)]
    labels = pools.labels
    if sure.missing.sum() >= least:  # fewer are in no bar, and not in what the shares are of
        bars = [np.append(bar, len(attribute.codes) - bar.sum()) for bar in bars]
        labels = [*labels, "(missing)"]
    if len(labels) < 2:
        return None
    gone = [bool(before) and not after for before, after in zip(*bars, strict=True)]
    before_shares, after_shares = map(_shares, bars)
    return Distribution(attribute.name, told_apart(labels), before_shares, after_shares, gone)


def coarse(shown: Distribution, records: int, least: int) -> Distribution:
    """Round shares so that nobody can count fewer than `least` records by them: of small files to more than 1 %."""
    step = max(1.0, 100 * least / records)
    before, after = ([step * round(share / step) for share in shares] for shares in (shown.before, shown.after))
    return shown._replace(before=before, after=after)


def pooled(counts: Sequence[int] | Counts, least: int) -> Counts:
    """Pool neighbours from left to right until every pool has at least `least` records, or all are one pool."""
    pools, pool, so_far = np.empty(len(counts), dtype=np.int64), 0, 0
    for cell, count in enumerate(counts):
        pools[cell] = pool
        so_far += int(count)
        if so_far >= least:
            pool, so_far = pool + 1, 0
    # What is left at the end is too small for a pool of its own.
    return np.minimum(pools, max(pool - 1, 0))


def pooled_rare(counts: Sequence[int] | Counts, least: int, most: int = _MOST) -> list[int]:
    """Name the categories that get a bar of their own, most frequent first; all others share one.

    The others have at least `least` records together, or there are none.
    """
    frequency = np.asarray(counts)
    order = [int(place) for place in np.argsort(-frequency, kind="stable")]
    own = [place for place in order if frequency[place] >= least]
    if len(own) < len(order) or len(own) > most:
        own = own[: most - 1]
    while own and 0 < frequency.sum() - frequency[own].sum() < least:
        own.pop()
    return own


def told_apart(labels: Sequence[str]) -> list[str]:
    """Add numbers to labels that read alike."""
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found if len(set(found)) == len(found) else told_apart(found)


def _ranges(attribute: Attribute, least: int) -> Ranges:
    if attribute.type not in NUMBERS:
        return Ranges.none()
    if attribute.type == "continuous":
        return number_ranges(attribute.codes, least, whole=pa.types.is_integer(attribute.stored))
    return moment_ranges(attribute, least)


def _cells(codes: Codes, ranges: Ranges) -> Counts:
    """Return the range of each value; levels and categories are their own."""
    if len(ranges.edges):
        return np.searchsorted(ranges.edges, codes, side="right").astype(np.int64)
    return np.asarray(codes, dtype=np.int64) if not ranges.open else np.zeros(len(codes), dtype=np.int64)


def _pools(attribute: Attribute, ranges: Ranges, counts: Counts, least: int) -> _Pools:
    if attribute.levels is None:
        of = pooled(counts, least)
        ends = [np.flatnonzero(of == pool)[[0, -1]] for pool in range(int(of.max()) + 1)]
        return _Pools(of, [ranges.label(int(first), int(last)) for first, last in ends])
    names = [level_text(level) for level in attribute.levels.to_pylist()]
    if attribute.type == "ordinal":
        # Many levels are pooled further, to be read at all.
        of = pooled(counts, max(least, int(counts.sum()) // _MOST if len(counts) > _MOST else 0))
        members = [np.flatnonzero(of == pool) for pool in range(int(of.max()) + 1)]
        return _Pools(of, [_levels_label(names, counts, levels, least) for levels in members])
    own = pooled_rare(counts, least)
    of = np.full(len(counts), len(own), dtype=np.int64)
    of[own] = np.arange(len(own))
    others = [] if len(own) == len(counts) else ["(all others)"]
    return _Pools(of, [names[place] for place in own] + others)


def _levels_label(names: list[str], counts: Counts, levels: Counts, least: int) -> str:
    """Call a pool of levels by those that many records have."""
    common = [names[level] for level in levels if counts[level] >= least]
    if not common:
        return "rare levels"
    if len(common) > 1:
        return f"{common[0]} to {common[-1]}"
    return common[0] if len(levels) == 1 else f"{common[0]} and rarer"


def level_text(level: object) -> str:
    """Write a level or category."""
    if isinstance(level, bool):
        return str(level).lower()
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    return str(level) or "(empty)"


def _shares(counts: Counts) -> list[float]:
    return [round(100 * int(count) / max(int(counts.sum()), 1), 1) for count in counts]

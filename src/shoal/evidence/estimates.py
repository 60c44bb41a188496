"""Means, totals and cross tables with their intervals, and distances of distributions, from both files."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.evidence.sides import Categories, Label, Side, all_of, in_order, records_in, written
from shoal.measures.estimates import Estimate, effective_records, hellinger, mean, share, total, wasserstein
from shoal.messages import Message
from shoal.tables.attributes import NUMBERS

Vector = NDArray[np.float64]

MOST_LEVELS = 50  # of an attribute in a cross table
MOST_TABLES = 45  # of two attributes
MOST_CELLS = 100  # of a table that are listed one by one


def estimates(
    types: Mapping[str, str], unchanged: Sequence[str], before: Side, after: Side, least: int = 1
) -> dict[str, Any]:
    """Estimate what users of a file look at first, from both files.

    `types` has the type of each attribute, `unchanged` those that masking did not touch.

    Returns ``means`` and ``totals`` of the numbers: for each ``before`` and ``after`` a ``value`` with its 95 %
    interval (``low``, ``high``), and the ``overlap`` of both; ``tables`` of categories, of one attribute and of two of
    which at least one was masked: how many ``cells`` the original has, how many of them have ``vanished`` and how many
    are ``new``, the mean ``overlap`` of the intervals of their shares, and the shares of each (``shares``; not of
    tables with more than 100 cells, nor the names of those that vanished); ``distances`` of distributions:
    Wasserstein's in standard deviations for numbers and dates, Hellinger's for categories; and what was ``left_out`` of
    the tables. Missing values count nowhere. Means and totals of fewer than `least` original records are left out;
    of a cell with fewer, ``before`` and the ``overlap`` are None, and of the next larger ones if such cells have
    fewer than `least` records together.
    """
    shared = [name for name in types if name in before.table.names and name in after.table.names]
    numbers = [name for name in shared if types[name] == "continuous"]
    categories = {
        name: (before.categories(name), after.categories(name)) for name in shared if types[name] not in NUMBERS
    }
    found: dict[str, Any] = {"means": {}, "totals": {}, "tables": [], "distances": {}, "left_out": None}
    for name in numbers:
        one, two = _present(before, name), _present(after, name)
        if one is None or two is None or records_in(np.ones(len(one[0]), dtype=bool), one[1]) < least:
            continue
        found["means"][name] = _both(mean(*one), mean(*two))
        found["totals"][name] = _both(total(*one), total(*two))
    for name in [name for name in shared if types[name] in NUMBERS]:
        one, two = _present(before, name, moments=True), _present(after, name, moments=True)
        if one is not None and two is not None:
            weights = None if one[1] is None or two[1] is None else (one[1], two[1])
            found["distances"][name] = {"wasserstein": wasserstein(one[0], two[0], weights)}
    small = [name for name, pair in categories.items() if max(len(each.labels) for each in pair) <= MOST_LEVELS]
    pairs = [pair for pair in combinations(small, 2) if not {*pair} <= {*unchanged}]
    for names in [*((name,) for name in categories), *pairs[:MOST_TABLES]]:
        table = _cross_table(names, [categories[name] for name in names], before, after, least)
        if table is not None:
            found["tables"].append(table)
            if len(names) == 1:
                found["distances"][names[0]] = {"hellinger": table["hellinger"]}
    large = [name for name in categories if name not in small]
    reasons = [Message("of-many-categories", columns=large, most=MOST_LEVELS)] if large else []
    if len(pairs) > MOST_TABLES:
        reasons.append(Message("further-pairs", number=len(pairs) - MOST_TABLES))
    return {**found, "left_out": all_of(reasons)}


def _present(side: Side, name: str, *, moments: bool = False) -> tuple[Vector, Vector | None] | None:
    """Return the values that are there with their weights; None if there are none."""
    try:
        values = side.numbers(name, moments=moments)
    except DataError:  # integers beyond 2^53
        values = None
    if values is None:
        return None
    there = ~np.isnan(values)
    return (values[there], None if side.weights is None else side.weights[there]) if there.any() else None


def _both(before: Estimate, after: Estimate) -> dict[str, Any]:
    return {"before": before._asdict(), "after": after._asdict(), "overlap": before.overlap(after)}


def _cross_table(
    names: Sequence[str], columns: Sequence[tuple[Categories, Categories]], before: Side, after: Side, least: int
) -> dict[str, Any] | None:
    """Compare the shares of the combinations of categories; None if a file has no complete record."""
    places = [{label: at for at, label in enumerate(in_order({*one.labels, *two.labels}))} for one, two in columns]
    counts = [_counts([pair[at] for pair in columns], places, side) for at, side in enumerate((before, after))]
    if any(weight.sum() == 0 for weight, _ in counts):
        return None
    (own, records), (masked, published) = counts
    cells = [
        (at, share(own[at], own.sum(), records), share(masked[at], masked.sum(), published))
        for at in np.flatnonzero((own > 0) | (masked > 0))
    ]
    overlaps = {at: one.overlap(two) for at, one, two in cells}
    found: dict[str, Any] = {
        "attributes": list(names),
        "cells": int((own > 0).sum()),
        "vanished": int(((own > 0) & (masked == 0)).sum()),
        "new": int(((own == 0) & (masked > 0)).sum()),
        "overlap": float(np.mean([overlaps[at] for at in overlaps if own[at] > 0])),
        "hellinger": hellinger(own, masked),
    }
    if len(cells) <= MOST_CELLS:
        members, _ = _counts([pair[0] for pair in columns], places, Side(before.table))
        hidden = _withheld(members, least)
        found["shares"] = [
            {
                "categories": _named(int(at), places) if masked[at] > 0 else None,
                **_both(one, two),
                **({"before": None, "overlap": None} if hidden[at] else {}),
            }
            for at, one, two in cells
        ]
    return found


def _withheld(members: Vector, least: int) -> NDArray[np.bool_]:
    """Return the cells of fewer than `least` records, and further small ones if these are fewer than that together.

    Otherwise their share would be what is missing of 100 %.
    """
    hidden = (members > 0) & (members < least)
    for at in np.argsort(members, kind="stable"):
        if hidden.any() and members[hidden].sum() < least:
            hidden[at] |= members[at] > 0
    return hidden


def _counts(columns: Sequence[Categories], places: Sequence[dict[Label, int]], side: Side) -> tuple[Vector, float]:
    """Return the weight of every combination of categories, and the effective number of records."""
    cell = np.zeros(len(side.table), dtype=np.int64)
    there = np.ones(len(side.table), dtype=bool)
    for column, place in zip(columns, places, strict=True):
        translated = np.array([place[label] for label in column.labels] or [0])
        there &= column.codes >= 0
        cell = cell * len(place) + translated[column.codes]
    weights = np.ones(int(there.sum())) if side.weights is None else side.weights[there]
    size = int(np.prod([len(place) for place in places]))
    counted: Vector = np.bincount(cell[there], weights=weights, minlength=size).astype(np.float64)
    return counted, effective_records(weights) if len(weights) else 0.0


def _named(cell: int, places: Sequence[dict[Label, int]]) -> list[str]:
    """Return the categories of a cell."""
    found = []
    for place in reversed(places):
        cell, at = divmod(cell, len(place))
        found.append(written([*place][at]))
    return found[::-1]

"""From the attributes of a table to the space in which records are near or far.

Distances are balanced: two random records are as far apart in one attribute as in any other, whatever its type. Their
mean squared distance is 2, as it is for z-scores. The literal distances of MDAV-generic are there by name
(``distance = "mdav-generic"``): levels count in shares of their number, categories and missing values count 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, EncodedMatrix
from shoal.kernels.standardize import Matrix, Scale, within_squares
from shoal.plan import AttributeType, Plan
from shoal.plan.aggregates import aggregate_of
from shoal.tables.attributes import CATEGORIES, NUMBERS, Attribute

_AS_IT_IS = Scale(0.0, 1.0)


class Balance(NamedTuple):
    """What makes the mean squared distance of two random records 2: `unit` times a squared difference, or `apart`.

    Two categories are `apart`, and so are a missing value and any other.
    """

    unit: float
    apart: float


def balance(type_: AttributeType, counts: NDArray[np.float64], variance: float | None = None) -> Balance:
    """Return what balances an attribute.

    Parameters
    ----------
    type_
        Of the attribute.
    counts
        How many records have each level or category, and last how many miss the value; for a number, how many have one
        and how many miss it.
    variance
        Of a number; of an ordinal attribute it is that of the places of its levels.
    """
    shares = counts / max(counts.sum(), 1e-300)
    if type_ in CATEGORIES:
        differ = 1.0 - float(shares @ shares)
        return Balance(2.0 / differ, 2.0 / differ) if differ > 1e-12 else Balance(1.0, 1.0)
    missing = float(shares[-1])
    if variance is None:
        known, places = counts[:-1] / max(counts[:-1].sum(), 1e-300), np.arange(len(counts) - 1)
        variance = float(known @ (places - known @ places) ** 2)
    pairs = (1 - missing) ** 2 * (variance > 0) + 2 * missing * (1 - missing)
    factor = 1.0 / pairs if pairs > 0 else 1.0
    return Balance(factor / variance if variance > 0 else 1.0, 2.0 * factor)


@dataclass(frozen=True)
class Counts:
    """For each attribute, the records that have each level or category, or a number, and last those that miss it."""

    counts: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, rows: Matrix, attributes: Sequence[Attribute]) -> "Counts":
        """Count some rows."""
        return cls(tuple(_counted(rows[:, j], attribute) for j, attribute in enumerate(attributes)))

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(tuple(one + two for one, two in zip(self.counts, other.counts, strict=True)))

    def scales(
        self, attributes: Sequence[Attribute], numbers: Mapping[str, Scale], *, balanced: bool
    ) -> dict[str, Scale]:
        """Return the scale of every attribute, given those of numbers and dates."""
        found = {}
        for attribute, counts in zip(attributes, self.counts, strict=True):
            given = numbers.get(attribute.name)
            if not balanced:
                found[attribute.name] = given or Scale(0.0, float(len(attribute.levels or [0])))
                continue
            varies = None if given is None else float(given.spread > 0)
            unit, apart = balance(attribute.type, counts.astype(np.float64), varies)
            scale = given or Scale(0.0, 1.0)
            found[attribute.name] = scale._replace(spread=scale.spread / np.sqrt(unit), apart=apart)
        return found


def _counted(codes: NDArray[np.float64], attribute: Attribute) -> NDArray[np.int64]:
    missing = np.isnan(codes)
    if attribute.levels is None:
        return np.array([len(codes) - missing.sum(), missing.sum()], dtype=np.int64)
    places = np.where(missing, len(attribute.levels), codes).astype(np.int64)
    return np.bincount(places, minlength=len(attribute.levels) + 1)


def space_of(attributes: Sequence[Attribute], plan: Plan, scales: Mapping[str, Scale]) -> EncodedMatrix:
    """Scale attributes so that each counts in distances by its type and its weight.

    Numbers and dates are brought to the common scale by `scales`, unless the plan asks for none.
    """
    weights = np.array([plan.attribute_weights.get(attribute.name, 1.0) for attribute in attributes])
    levels = np.array([0 if each.levels is None else len(each.levels) for each in attributes], dtype=np.int64)
    kinds = np.array([_kind(attribute, plan) for attribute in attributes], dtype=np.int64)
    spreads = np.array([scales[attribute.name].spread or 1.0 for attribute in attributes])
    ordinal = (kinds == MEDIAN) | (kinds == CONVEX_MEDIAN)
    steps = np.where(ordinal, np.sqrt(weights) / spreads, 1.0)
    values = np.empty((len(attributes[0].codes), len(attributes)))
    for j, attribute in enumerate(attributes):
        if attribute.type in NUMBERS:
            scale = scales[attribute.name] if plan.standardize != "none" else _AS_IT_IS
            values[:, j] = np.sqrt(weights[j]) * scale.apply(attribute.codes)
        else:
            values[:, j] = attribute.codes * steps[j]
    if plan.standardize == "none" and (kinds == MEAN).all():
        values = within_squares(values)
    apart = weights * [scales[attribute.name].apart for attribute in attributes]
    return EncodedMatrix(values, kinds, apart, steps, levels)


def _kind(attribute: Attribute, plan: Plan) -> int:
    if attribute.type in NUMBERS:
        return MEAN
    if attribute.type != "ordinal":
        return MODE
    return CONVEX_MEDIAN if aggregate_of(attribute.name, plan) == "convex_median" else MEDIAN

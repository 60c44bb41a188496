"""From the attributes of a table to the space in which records are near or far."""

from collections.abc import Mapping, Sequence

import numpy as np

from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, EncodedMatrix
from shoal.kernels.standardize import Scale, within_squares
from shoal.plan import Plan
from shoal.plan.aggregates import aggregate_of
from shoal.tables.attributes import NUMBERS, Attribute

_AS_IT_IS = Scale(0.0, 1.0)


def space_of(attributes: Sequence[Attribute], plan: Plan, scales: Mapping[str, Scale]) -> EncodedMatrix:
    """Put attributes on one scale, so that each counts in distances as its type and its weight say.

    Numbers and dates are brought to the common scale by `scales`, unless the plan asks for none.
    """
    weights = np.array([plan.attribute_weights.get(attribute.name, 1.0) for attribute in attributes])
    levels = np.array([0 if each.levels is None else len(each.levels) for each in attributes], dtype=np.int64)
    kinds = np.array([_kind(attribute, plan) for attribute in attributes], dtype=np.int64)
    ordinal = (kinds == MEDIAN) | (kinds == CONVEX_MEDIAN)
    steps = np.where(ordinal, np.sqrt(weights) / np.maximum(levels, 1), 1.0)
    values = np.empty((len(attributes[0].codes), len(attributes)))
    for j, attribute in enumerate(attributes):
        if attribute.type in NUMBERS:
            scale = scales[attribute.name] if plan.standardize != "none" else _AS_IT_IS
            values[:, j] = np.sqrt(weights[j]) * scale.apply(attribute.codes)
        else:
            values[:, j] = attribute.codes * steps[j]
    if plan.standardize == "none" and (kinds == MEAN).all():
        values = within_squares(values)
    return EncodedMatrix(values, kinds, weights, steps, levels)


def _kind(attribute: Attribute, plan: Plan) -> int:
    if attribute.type in NUMBERS:
        return MEAN
    if attribute.type != "ordinal":
        return MODE
    return CONVEX_MEDIAN if aggregate_of(attribute.name, plan) == "convex_median" else MEDIAN

"""From the attributes of a table to the space in which records are near or far."""

from collections.abc import Mapping

import numpy as np

from shoal.errors import DataError
from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, EncodedMatrix
from shoal.kernels.standardize import Matrix, Scale, standardize, within_squares
from shoal.plan import Plan
from shoal.plan.aggregates import aggregate_of
from shoal.tables import Table
from shoal.tables.attributes import NUMBERS, Attribute, Codes, encode
from shoal.tables.numbers import misses


def encode_all(table: Table, plan: Plan) -> list[Attribute]:
    """Turn the attributes that the method looks at into numbers, by the types of a settled plan.

    Raises
    ------
    DataError
        With a sentence for each column that cannot be; missing values are a mistake where the plan says so.
    """
    attributes, problems = [], []
    for name in plan.used:
        try:
            attribute = encode(table, name, plan.types[name], plan.levels.get(name))
        except DataError as error:
            problems.append(str(error))
            continue
        if plan.missing == "error" and attribute.missing.any():
            record = int(np.argmax(attribute.missing)) + 1
            problems.append(misses(name, record, int(attribute.missing.sum())))
        attributes.append(attribute)
    if problems:
        raise DataError("\n".join(problems))
    return attributes


def space_of(attributes: list[Attribute], plan: Plan, scales: Mapping[str, Scale] | None = None) -> EncodedMatrix:
    """Put attributes on one scale, so that each counts in distances as its type and its weight say.

    Numbers and dates are standardised by their own values, or by `scales` where the records are part of more.
    """
    weights = np.array([plan.attribute_weights.get(attribute.name, 1.0) for attribute in attributes])
    levels = np.array([0 if each.levels is None else len(each.levels) for each in attributes], dtype=np.int64)
    kinds = np.array([_kind(attribute, plan) for attribute in attributes], dtype=np.int64)
    ordinal = (kinds == MEDIAN) | (kinds == CONVEX_MEDIAN)
    steps = np.where(ordinal, np.sqrt(weights) / np.maximum(levels, 1), 1.0)
    values = np.empty((len(attributes[0].codes), len(attributes)))
    for j, attribute in enumerate(attributes):
        if attribute.type in NUMBERS:
            codes = attribute.codes
            scaled = _standardized(codes, plan) if scales is None else scales[attribute.name].apply(codes)
            values[:, j] = np.sqrt(weights[j]) * scaled
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


def _standardized(codes: Codes, plan: Plan) -> Codes:
    """Standardise by the values that are there."""
    present = ~np.isnan(codes)
    scaled = np.full(len(codes), np.nan)
    scaled[present] = standardize(codes[present, None], plan.standardize)[:, 0]
    return scaled


def numbers(attributes: list[Attribute]) -> Matrix:
    """Give attributes as a matrix in their own units, NaN where values are missing."""
    return np.column_stack([attribute.codes for attribute in attributes])

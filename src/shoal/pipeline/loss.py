"""What a release costs, attribute by attribute according to its type, and for all of them together."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal import measures
from shoal.kernels.encoded import MEAN, MEDIAN, MODE, EncodedMatrix
from shoal.kernels.standardize import Matrix
from shoal.measures.loss import on_one_scale
from shoal.tables.attributes import CATEGORIES, NUMBERS, Attribute, Codes


def costs(attributes: Sequence[Attribute], masked: Sequence[Codes], weights: Codes | None = None) -> dict[str, Any]:
    """Measure the loss of a release.

    Numbers and dates are measured as in `shoal.measures.loss`. If there are other types, or missing values, ``SSE``,
    ``SST`` and ``IL`` are sums of the squared distances of MDAV-generic, each attribute counting alike: see
    `shoal.kernels.encoded.EncodedMatrix`. Then ``types`` has the IL of each type.

    Returns
    -------
    dict
        As `shoal.measures.loss`, with the ``type`` of each attribute; for ordinal and nominal attributes what
        `shoal.measures.ordinal_loss` and `shoal.measures.nominal_loss` give.
    """
    at = [j for j, attribute in enumerate(attributes) if attribute.type in NUMBERS]
    X = _matrix([attributes[j].codes for j in at], len(masked[0]))
    Y = _matrix([masked[j] for j in at], len(masked[0]))
    found = measures.loss(X, Y, [attributes[j].name for j in at], weights) if at else _nothing()
    rows = found["attributes"]
    for attribute, codes in zip(attributes, masked, strict=True):
        if attribute.type == "ordinal":
            levels = 0 if attribute.levels is None else len(attribute.levels)
            rows[attribute.name] = {"IL": None, **measures.ordinal_loss(attribute.codes, codes, levels, weights)}
        elif attribute.type in CATEGORIES:
            rows[attribute.name] = {"IL": None, **measures.nominal_loss(attribute.codes, codes, weights)}
        rows[attribute.name]["type"] = attribute.type
    found["attributes"] = {attribute.name: rows[attribute.name] for attribute in attributes}
    if len(at) < len(attributes) or any(np.isnan(codes).any() for codes in (*masked, X)):
        found |= _distances(attributes, masked, weights, found["attributes"])
    return found


def _matrix(columns: list[Codes], records: int) -> Matrix:
    return np.column_stack(columns) if columns else np.empty((records, 0))


def _nothing() -> dict[str, Any]:
    return {"SSE": 0.0, "SST": 0.0, "IL": None, "correlation_change": None, "attributes": {}}


def _distances(
    attributes: Sequence[Attribute], masked: Sequence[Codes], weights: Codes | None, rows: dict[str, Any]
) -> dict[str, Any]:
    """Sum up squared distances over attributes of all types, and give each of the `rows` its IL."""
    original, published = _spaces(attributes, masked, weights)
    squared = measures.squared_loss(original, published, weights)
    total = measures.total(original, weights)
    squared[total == 0] = 0.0  # what is constant has no scale on which to count
    return by_type(attributes, squared, total, rows)


def by_type(attributes: Sequence[Attribute], squared: Codes, total: Codes, rows: dict[str, Any]) -> dict[str, Any]:
    """Give each of the `rows` its IL, and what all attributes, and those of a type, have together.

    Parameters
    ----------
    attributes
        The attributes, in the order of the next two.
    squared, total
        For each attribute, its sum of squared distances to the original, and that of the original to its average.
    rows
        What is known of each attribute, by its name.
    """
    types: dict[str, float | None] = {}
    for j, attribute in enumerate(attributes):
        rows[attribute.name]["IL"] = percent(squared[j], total[j])
        same = [i for i, each in enumerate(attributes) if each.type == attribute.type]
        types[attribute.type] = percent(squared[same].sum(), total[same].sum())
    return {
        "SSE": float(squared.sum()),
        "SST": float(total.sum()),
        "IL": percent(squared.sum(), total.sum()),
        "types": types,
    }


def percent(squared: float, total: float) -> float | None:
    """Give 100 SSE / SST; nothing for what is constant."""
    return float(100 * squared / total) if total > 0 else None


def _spaces(
    attributes: Sequence[Attribute], masked: Sequence[Codes], weights: Codes | None
) -> tuple[EncodedMatrix, EncodedMatrix]:
    """Give the original and the published records as points, every attribute with the same weight."""
    X, Y = _matrix([attribute.codes for attribute in attributes], 0), _matrix(list(masked), 0)
    d = len(attributes)
    kinds, levels, steps = np.full(d, MODE), np.zeros(d, np.int64), np.ones(d)
    for j, attribute in enumerate(attributes):
        levels[j] = 0 if attribute.levels is None else len(attribute.levels)
        if attribute.type in NUMBERS:
            kinds[j] = MEAN
            X[:, [j]], Y[:, [j]] = on_one_scale(X[:, [j]], Y[:, [j]], weights)
        elif attribute.type == "ordinal":
            kinds[j], steps[j] = MEDIAN, 1 / levels[j]
            X[:, j], Y[:, j] = X[:, j] * steps[j], Y[:, j] * steps[j]
    original = EncodedMatrix(np.ascontiguousarray(X), kinds.astype(np.int64), np.ones(d), steps, levels)
    return original, original._replace(values=np.ascontiguousarray(Y))

"""The noise of Muralidhar-Sarathy, wherever records are: two passes add up products, then each block is on its own."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike

from shoal.errors import DataError
from shoal.kernels.standardize import Matrix, Scale, refuse_exponents
from shoal.masking.muralidhar_sarathy import Gram, Mixture, Regression, beside_one, gram, regress
from shoal.measures.hybrid import SAME
from shoal.messages import Message
from shoal.pipeline.hybrid_parts import Made, Parts, in_names, matrix_of
from shoal.pipeline.verify_hybrid import EXACT, ROUNDING, Claim
from shoal.plan import Plan
from shoal.tables.attributes import Codes

Scales = Mapping[str, Scale]


def standardized(parts: Parts, scales: Scales) -> tuple[Matrix, Matrix]:
    """Return Y and X in standard deviations of the whole file."""
    Y, X = (
        [scales[each.name].apply(each.codes) for each in attributes] for attributes in (parts.others, parts.synthetic)
    )
    records = len(parts.synthetic[0].codes)
    return np.column_stack(Y) if Y else np.empty((records, 0)), np.column_stack(X)


def products_of(parts: Parts, scales: Scales) -> Gram:
    """Add up what the regression of X on Y is made from."""
    return gram(beside_one(*standardized(parts, scales)))


def regression_of(found: Gram, parts: Parts, plan: Plan, scales: Scales) -> Regression:
    """Regress X on Y once all records were looked at; refuse an alpha that leaves no room for noise."""
    own = [scales[each.name] for each in parts.synthetic]
    deviation, exponents = np.array([each.spread for each in own]), np.array([each.exponent for each in own], np.int32)
    try:
        refuse_exponents(exponents, "X")
        return regress(found, len(parts.others), _alpha(plan, parts), deviation, exponents)
    except DataError as error:
        raise DataError(*in_names(error, parts)) from None


def _alpha(plan: Plan, parts: Parts) -> ArrayLike:
    """Return alpha for attributes in their order, which lists need not be in."""
    alpha = plan.alpha if plan.alpha is not None else 0.0
    if isinstance(alpha, float):
        return alpha
    if isinstance(alpha, dict):
        return [alpha[attribute.name] for attribute in parts.synthetic]
    at = [plan.confidential.index(attribute.name) for attribute in parts.synthetic]
    given = np.asarray(alpha)
    return given[at] if given.ndim == 1 else given[np.ix_(at, at)]


def noisy(mixture: Mixture, parts: Parts, scales: Scales, units: Scales, drawn: Matrix, records: int) -> Made:
    """Mix some of so many records with noise.

    Parameters
    ----------
    mixture
        Of all records.
    parts
        The attributes with the codes of these records.
    scales, units
        Means with standard deviations, and ranges, of the whole file.
    drawn
        Random numbers, one row a record.
    records
        How many there are in all.
    """
    Zy, Zx = standardized(parts, scales)
    change = mixture.change(Zy, Zx, drawn)
    X = matrix_of(parts.synthetic)
    values, unchanged, equal = X.copy(), np.empty(X.shape, dtype=bool), []
    for j, attribute in enumerate(parts.synthetic):
        scale, near = scales[attribute.name], np.ldexp(X[:, j], -scales[attribute.name].exponent)
        moved = change[:, j] * scale.spread
        values[:, j] = np.ldexp(near - moved, scale.exponent)
        unchanged[:, j] = np.abs(moved) <= SAME * np.maximum(np.abs(near), units[attribute.name].spread)
        equal.append(np.full(len(X), scale.spread == 0))
    room = mixture.regression.room(Zy, Zx, records)
    return Made(values, unchanged, np.zeros(len(X), np.int64), room, mixture.regression.left, equal)


def drift_of(parts: Parts, read: Mapping[str, Codes], scales: Scales) -> Matrix:
    """Add up by how much values, and their products with all others, moved, in standard deviations."""
    Zy, before = standardized(parts, scales)
    after = np.column_stack([scales[each.name].apply(read[each.name]) for each in parts.synthetic])
    moved: Matrix = after.T @ beside_one(after, Zy) - before.T @ beside_one(before, Zy)
    return moved


def moved_in_file(drift: Matrix, claim: Claim, parts: Parts, scales: Scales, units: Scales) -> Iterator[Message]:
    """Yield the attributes whose mean in the file, or covariance with another, has moved.

    Parameters
    ----------
    drift
        Mean of `drift_of` over all records.
    claim
        Names the attributes whose moments are kept.
    parts
        The attributes.
    scales, units
        Means with standard deviations, and ranges, of the whole file.
    """
    names = [each.name for each in (*parts.synthetic, *parts.others)]
    # What rounding the published values may do, if they are large beside their differences.
    largest = {
        name: max(abs(units[name].shift), abs(units[name].shift + units[name].spread)) / (scales[name].spread or 1.0)
        for name in names
    }
    for row, name in zip(drift, names, strict=False):
        if name not in claim.kept or not scales[name].spread:
            continue
        if not abs(row[0]) <= EXACT * max(1.0, abs(scales[name].shift) / scales[name].spread):
            yield Message("mean-not-kept", column=name)
        for moved, other in zip(row[1:], names, strict=True):
            coarse = largest[name] + largest[other] + ROUNDING * largest[name] * largest[other]
            if other in (*claim.kept, *claim.others) and not abs(moved) <= EXACT + ROUNDING * coarse:
                yield Message("covariance-not-kept", column=name, other=other)

"""An original and a masked table on the scales by which intruders compare them, attributes of every type."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.standardize import Scale
from shoal.measures.linkage_spaces import BEYOND, LinkageSpaces, neutral, of_numbers
from shoal.pipeline.encode import Counts, space_of
from shoal.pipeline.loss import scale_of
from shoal.plan import Plan
from shoal.tables.attributes import CATEGORIES, NUMBERS, Attribute, Codes


def linkage_spaces(attributes: Sequence[Attribute], masked: Sequence[Codes], plan: Plan) -> LinkageSpaces:
    """Return the spaces of attributes of the original and the codes that the masked table has for them."""
    before, after = (np.ascontiguousarray(np.column_stack(columns)) for columns in (_codes(attributes), masked))
    nominal = np.array([each.type in CATEGORIES for each in attributes])
    if all(each.type in NUMBERS for each in attributes) and not (np.isnan(before).any() or np.isnan(after).any()):
        return of_numbers(before, after)
    numbers, common = _number_scales(attributes), _balanced_scales(attributes)
    own = {name: _own(common[name], numbers[name], scale_of(codes)) for name, codes in _numbers(attributes, masked)}
    original, masking = balanced_spaces(attributes, [masked], plan)
    scaled = _space(attributes, masked, plan, {**common, **own})
    return LinkageSpaces(
        before,
        after,
        nominal,
        own=(original, scaled),
        masking=(original, masking),
        neutral=neutral(before, after, nominal),
    )


def balanced_spaces(
    attributes: Sequence[Attribute], others: Sequence[Sequence[Codes]], plan: Plan
) -> list[EncodedMatrix]:
    """Return the records of the original, and others with the same attributes, by the distance that masks.

    All are on the balanced scale of the original: see `shoal.pipeline.encode`.
    """
    scales = _balanced_scales(attributes)
    return [_space(attributes, codes, plan, scales) for codes in (_codes(attributes), *others)]


def _balanced_scales(attributes: Sequence[Attribute]) -> dict[str, Scale]:
    counts = Counts.of(np.column_stack(_codes(attributes)), attributes)
    return counts.scales(attributes, _number_scales(attributes), balanced=True)


def _number_scales(attributes: Sequence[Attribute]) -> dict[str, Scale]:
    return {each.name: scale_of(each.codes) for each in attributes if each.type in NUMBERS}


def _codes(attributes: Sequence[Attribute]) -> list[Codes]:
    return [each.codes for each in attributes]


def _numbers(attributes: Sequence[Attribute], masked: Sequence[Codes]) -> list[tuple[str, Codes]]:
    return [(each.name, codes) for each, codes in zip(attributes, masked, strict=True) if each.type in NUMBERS]


def _own(common: Scale, original: Scale, masked: Scale) -> Scale:
    """Return the scale of the masked numbers by themselves, balanced like that of the original."""
    factor = common.spread / original.spread if original.spread > 0 else 1.0
    return masked._replace(spread=masked.spread * factor, apart=common.apart)


def _space(
    attributes: Sequence[Attribute], codes: Sequence[Codes], plan: Plan, scales: dict[str, Scale]
) -> EncodedMatrix:
    typed = plan.model_copy(update={"types": {each.name: each.type for each in attributes}})
    records = [replace(each, codes=column) for each, column in zip(attributes, codes, strict=True)]
    with np.errstate(over="ignore"):
        space = space_of(records, typed, scales)
    return space._replace(values=np.ascontiguousarray(np.clip(space.values, -BEYOND, BEYOND)))

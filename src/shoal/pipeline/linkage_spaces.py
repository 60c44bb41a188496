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
    plan = plan.model_copy(update={"types": {each.name: each.type for each in attributes}})
    numbers = _number_scales(attributes)
    common = Counts.of(before, attributes).scales(attributes, numbers, balanced=True)
    own = {name: _own(common[name], numbers[name], scale_of(codes)) for name, codes in _numbers(attributes, masked)}
    published = [replace(each, codes=codes) for each, codes in zip(attributes, masked, strict=True)]
    original, masking = (_space(each, plan, common) for each in (attributes, published))
    scaled = _space(published, plan, {**common, **own})
    return LinkageSpaces(
        before,
        after,
        nominal,
        own=(original, scaled),
        masking=(original, masking),
        neutral=neutral(before, after, nominal),
    )


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


def _space(attributes: Sequence[Attribute], plan: Plan, scales: dict[str, Scale]) -> EncodedMatrix:
    with np.errstate(over="ignore"):
        space = space_of(attributes, plan, scales)
    return space._replace(values=np.ascontiguousarray(np.clip(space.values, -BEYOND, BEYOND)))

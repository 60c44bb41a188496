"""The attributes of a table by what hybrid data make of them, and the new values."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.standardize import Matrix
from shoal.messages import Message
from shoal.plan import Plan
from shoal.tables.attributes import NUMBERS, Attribute, Codes

Labels = NDArray[np.int64]


class Parts(NamedTuple):
    """The attributes of a table by what hybrid data make of them."""

    synthetic: list[Attribute]  # X: confidential numbers and dates
    dealt: list[Attribute]  # confidential categories, permuted
    others: list[Attribute]  # Y: numbers and dates among the quasi-identifiers, if they are published as they are
    quasi: list[Attribute]


class Made(NamedTuple):
    """New values of X, in the groups that they were made in."""

    values: Matrix
    unchanged: NDArray[np.bool_]
    labels: Labels
    room: Codes  # of each record: the share of a residual that could be changed
    left: Codes  # of each attribute: the share of its variance that the quasi-identifiers leave
    equal: list[NDArray[np.bool_]]  # of each confidential attribute: who shares its value with the whole group
    fused: int = 0


def parts_of(attributes: list[Attribute], plan: Plan) -> Parts:
    """Sort attributes by name into synthetic, dealt and unchanged ones, whatever their order in the plan."""
    quasi = [attribute for attribute in attributes if attribute.name in plan.masked]
    named = sorted(attributes, key=lambda attribute: attribute.name)
    confidential = [attribute for attribute in named if attribute.name in plan.confidential]
    return Parts(
        synthetic=[attribute for attribute in confidential if attribute.type in NUMBERS],
        dealt=[attribute for attribute in confidential if attribute.type not in NUMBERS],
        others=[] if plan.mask_quasi else [each for each in named if each.name in plan.masked and each.type in NUMBERS],
        quasi=quasi,
    )


def matrix_of(attributes: Sequence[Attribute], records: int = 0) -> Matrix:
    """Return the codes of attributes as columns of a matrix with `records` rows, even if there are no attributes."""
    return np.column_stack([each.codes for each in attributes]) if attributes else np.empty((records, 0))


def xy(parts: Parts) -> tuple[Matrix, Matrix]:
    """Return X, what is regenerated, and Y, what it is regressed on."""
    records = len((*parts.synthetic, *parts.dealt)[0].codes)
    return matrix_of(parts.synthetic, records), matrix_of(parts.others, records)


def in_names(error: DataError, parts: Parts) -> list[Message]:
    """Return what is wrong with a matrix, with names of columns for their numbers."""
    attributes = {"X": parts.synthetic, "Y": parts.others}
    return [
        Message(each.code, column=attributes[each.data["matrix"]][each.data["number"] - 1].name)
        if each.code == "column-too-extreme"
        else each
        for each in error.messages
    ]

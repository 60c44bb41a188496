"""A differentially private release of a table: every value published has noise, and no row tells whose it is."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import CheckFailed
from shoal.masking.insensitive import BITS, noise_scale, private_means, sensitivity
from shoal.messages import Message
from shoal.pipeline.classes import classes
from shoal.plan import Plan
from shoal.tables import Table
from shoal.tables.arrow import Array
from shoal.tables.attributes import Attribute, Codes

Labels = NDArray[np.int64]


class Private(NamedTuple):
    """What is published, and how it was made."""

    columns: dict[str, Array]
    labels: Labels  # the group of each published row
    order: Labels  # the record that each row comes from: known here, and never published
    figures: dict[str, Any]  # of the noise, all public


def private_data(attributes: Sequence[Attribute], plan: Plan) -> Private:
    """Mask all attributes with epsilon-differential privacy, by insensitive microaggregation and noise.

    Rows come out in the order of the groups, for their order in the original is somebody's too.
    """
    bounds = np.array([plan.bounds[attribute.name] for attribute in attributes])
    made = private_means(np.column_stack([each.codes for each in attributes]), bounds, plan.k, plan.epsilon or 0.0)
    labels = np.repeat(np.arange(len(made.sizes)), made.sizes)
    columns = {
        attribute.name: attribute.decode(_whole(attribute, means, plan)[labels], whole=True)
        for attribute, means in zip(attributes, made.means.T, strict=True)
    }
    return Private(columns, labels, made.order, figures(len(made.order), plan))


def _whole(attribute: Attribute, means: Codes, plan: Plan) -> Codes:
    """Where whole numbers are to be published, keep them within bounds that may be none."""
    if not pa.types.is_integer(attribute.stored):
        return means
    low, high = plan.bounds[attribute.name]
    return np.clip(np.rint(means), np.ceil(low), np.floor(high))


def figures(n: int, plan: Plan) -> dict[str, Any]:
    """Return how much noise there is: public figures, which follow from the plan and the number of records.

    Returns
    -------
    dict
        ``epsilon``; ``groups``; ``sensitivity``, by how many ranges (the width of the bounds) the sums of all groups
        and attributes can change together when one record is replaced; and ``noise``, the standard deviation of what
        is added to a mean of k records, for each attribute in its own unit.
    """
    m, d = n // plan.k, len(plan.masked)
    steps = sensitivity(m, d)
    deviation = np.sqrt(2) * noise_scale(steps, plan.epsilon or 0.0) / (2**BITS - 1) / plan.k
    return {
        "epsilon": plan.epsilon,
        "groups": m,
        "sensitivity": steps / (2**BITS - 1),
        "noise": {name: float(deviation * (high - low)) for name, (low, high) in plan.bounds.items()},
    }


def in_rows(original: Table, order: Labels) -> Table:
    """Return the original records in the order of the rows that are published for them, to measure what they lost."""
    return original.publish({name: original.column(name).take(order) for name in original.names})


def verify_private(published: Table, plan: Plan) -> None:
    """Verify that a private release stays within its bounds, and that its rows stand in runs of at least k.

    Raises
    ------
    CheckFailed
        Naming everything that does not hold.
    """
    failures = []
    for name, (low, high) in plan.bounds.items():
        values = published.matrix([name])[:, 0]
        if count := int(((values < low) | (values > high)).sum()):
            failures.append(Message("outside-bounds", column=name, values=count))
    ends = np.flatnonzero(np.diff(classes(published, plan.masked), append=-1))
    if (runs := np.diff(ends, prepend=-1)).min() < plan.k:
        failures.append(Message("runs-below-k", runs=int((runs < plan.k).sum()), k=plan.k))
    if failures:
        raise CheckFailed(failures)


def on_privacy(plan: Plan, found: dict[str, Any]) -> list[Message]:
    """Explain what is promised, by how much noise, and what must not be published beside it."""
    epsilon = plan.epsilon or 0.0
    factor = math.exp(epsilon) if epsilon < 700 else None
    name, (low, high) = next(iter(plan.bounds.items()))
    percent = 100 * found["noise"][name] / (high - low)
    more = [Message("noise-exceeds-single-records", k=plan.k)]
    return [
        Message("epsilon-promise", epsilon=epsilon, factor=factor),
        Message("epsilon-noise", groups=found["groups"], sensitivity=found["sensitivity"], percent=percent),
        *(more if found["sensitivity"] > plan.k * len(plan.masked) else []),
        Message("rows-in-order-of-groups"),
        Message("clamped-to-bounds"),
        Message("noise-of-system"),
        Message("known-without-records"),
    ]
